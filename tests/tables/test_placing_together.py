"""Files of a run that are placed together go back together when one of them cannot be placed."""

from pathlib import Path

import pytest

from cfl_cli.errors import ResourceError
from cfl_cli.tables import files


def placed(paths, data):
    """Place files with the same content together, in their order."""
    with files.Staging(overwrite=True) as staging:
        for path in paths:
            with staging.file(path) as file:
                file.write(data)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("report", [b"old report", None])
def test_a_report_goes_back_if_its_table_cannot_take_its_place(tmp_path, monkeypatch, report):
    table, beside = tmp_path / "out.csv", tmp_path / "out.csv.report.json"
    table.write_bytes(b"old table")
    if report:
        beside.write_bytes(report)
    replace = Path.replace

    def sticky(self, target):
        if Path(target).name == "out.csv":  # somebody else's, in a folder with the sticky bit
            raise PermissionError(1, "Operation not permitted")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", sticky)
    with pytest.raises(ResourceError, match=r"out\.csv: cannot be written"):
        placed([beside, table], b"new")
    assert table.read_bytes() == b"old table"
    assert names(tmp_path) == (["out.csv", "out.csv.report.json"] if report else ["out.csv"])
    if report:
        assert beside.read_bytes() == report


def test_what_was_there_leaves_no_trace_when_all_are_in_place(tmp_path):
    for turn in (b"first", b"second"):
        placed([tmp_path / "a", tmp_path / "b"], turn)
    assert names(tmp_path) == ["a", "b"]
    assert (tmp_path / "a").read_bytes() == b"second"
