import json
import os
import stat
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli import tables
from cfl_cli.errors import CflError, ResourceError

BAD = Path(__file__).parent / "bad_tables"
EXPECTED = json.loads((BAD / "expected.json").read_text(encoding="utf-8"))


def test_every_bad_table_has_its_message():
    files = {path.name for path in BAD.iterdir()} - {"expected.json", ".gitattributes"}
    assert files == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_bad_table_is_refused_with_file_line_and_cause(name):
    with pytest.raises(CflError) as error:
        tables.read(BAD / name)
    assert error.value.problems[0].startswith(f"{BAD / name}: {EXPECTED[name]}")


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


@given(
    rows=st.lists(st.tuples(TEXT, TEXT), max_size=8),
    names=st.lists(TEXT.filter(bool), min_size=2, max_size=2, unique=True),
)
def test_nasty_text_survives_csv_and_parquet(tmp_path_factory, rows, names):
    folder = tmp_path_factory.mktemp("t")
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    for name in ("a.csv", "a.tsv", "a.parquet"):
        tables.write(frame, folder / name, report="{}")
        assert tables.read(folder / name).frame.equals(frame)


def test_a_failed_write_leaves_the_old_file_and_no_rubbish(tmp_path):
    target = tmp_path / "out.csv"
    target.write_text("old")

    def broken():
        with tables.replacing(target) as file:
            file.write(b"half")
            raise OSError(28, "No space left on device")

    with pytest.raises(ResourceError, match="No space left"):
        broken()
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.csv"]  # noqa: PTH208 — names are all we want


def test_permissions_of_a_replaced_file_are_kept(tmp_path):
    target = tmp_path / "out.csv"
    target.write_text("old")
    target.chmod(0o640)
    tables.write_text("new", target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_link_stays_a_link_to_the_new_content(tmp_path):
    target, link = tmp_path / "real.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    tables.write_text("new", link)
    assert link.is_symlink()
    assert target.read_text() == "new"
