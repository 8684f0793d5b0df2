"""Columns of any Arrow type that nobody asked about pass through, or are refused by name."""

import pyarrow as pa
import pytest
from builders.arrow_types import as_file, columns, twice_coded, with_interval
from builders.command_line import cfl

BASE = {"x": pa.array(map(float, range(7))), "cf": pa.array([*"abcabca"])}
SCHEMA = """\
version: 1
columns:
  x: {role: ordinary, type: numeric}
  cf: {role: complementary, values: [a, b, c]}
settings: {method: commonest, folds: 0, quiet: true}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.yml").write_text(SCHEMA)
    return tmp_path


def run(folder, data):
    (folder / "data.arrow").write_bytes(data)
    return cfl("impute", "data.arrow", "-s", "schema.yml", "--out", "out.arrow", "--overwrite")


def cells(table, name):
    """Return a column in Python; dates, of which Python has not all, as numbers."""
    column = table.column(name)
    return (column.cast("int32") if name == "date" else column).to_pylist()


def test_ignored_columns_of_every_type_pass_through(folder):
    strange = columns()
    table = pa.table({**strange, **BASE})
    for stream in (False, True):
        done = run(folder, as_file(table, stream=stream))
        assert done.exit_code == 0, done.output
        found = pa.ipc.open_file((folder / "out.arrow").read_bytes()).read_all()
        for name in strange:
            assert cells(found, name) == cells(table, name), name
        assert cfl("report", "out.arrow", "--verify").exit_code == 0


@pytest.mark.parametrize("unit", [0, 1])
def test_intervals_that_pyarrow_has_no_arrays_of_are_refused_by_name(folder, unit):
    table = pa.table({"c": columns()["interval"], **BASE})
    refused = run(folder, with_interval(table, unit))
    assert refused.exit_code == 1, refused.output
    assert "column 'c' holds" in refused.stderr
    assert "Traceback" not in refused.output


def test_a_dictionary_of_dictionaries_is_refused(folder):
    refused = run(folder, as_file(pa.table({"c": twice_coded(), **BASE})))  # written wrong
    assert (refused.exit_code, "Traceback" in refused.output) == (1, False)
    assert "data.arrow: " in refused.stderr
