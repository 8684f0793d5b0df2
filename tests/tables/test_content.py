"""The checksum of a table depends on its cells alone, for every type that a table can have."""

import datetime as dt

import polars as pl
import pyarrow as pa
import pytest
from builders.arrow_types import as_file, columns, twice_coded

from cfl_cli.tables import table as tables
from cfl_cli.tables.checksums import ColumnsChecksum, ContentChecksum
from cfl_cli.tables.formats import KINDS

TYPES = columns() | {"dictionary of dictionary": twice_coded()}
PLAIN = pl.DataFrame(
    {
        "text": ["a", "", None, 'q"\n,', "\x1f"],
        "number": [1, -2, None, 2**53 + 1, 0],
        "float": [0.1, 1e16, None, 1e-7, -0.0],
        "truth": [True, None, False, True, True],
        "day": [dt.date(2024, 1, day) for day in range(1, 6)],
    }
)
MOMENTS = PLAIN.with_columns(
    at=pl.Series([1, None, 10**15 + 7, -1, 0], dtype=pl.Int64).cast(pl.Datetime("us")),
    time=pl.Series([dt.time(1, 2, 3, 4), None] * 2 + [dt.time(0)]),
)


def of(*parts, kind="arrow"):
    made = ContentChecksum(KINDS[kind])
    for part in parts:
        made.add(part)
    return made.content()


@pytest.mark.parametrize("name", TYPES)
def test_blocks_do_not_count_and_cells_do(name):
    table = pa.table({"c": TYPES[name]})
    whole = of(table)
    assert whole == of(table[:2], table[2:2], table[2:])
    assert whole == of(pa.concat_tables([table[:3], table[3:]]))
    if name != "null":
        assert whole.sha256 != of(pa.concat_tables([table[3:], table[:3]])).sha256


@pytest.mark.parametrize("name", columns())
def test_what_an_arrow_file_gives_back_is_the_same(tmp_path, name):
    table = pa.table({"c": TYPES[name]})
    path = tmp_path / "t.arrow"
    path.write_bytes(as_file(table))
    assert of(tables.read(tables.Place.to_read(str(path))).frame) == of(table)


@pytest.mark.parametrize("name", ["t.csv", "t.tsv.zst", "t.jsonl.gz", "t.parquet", "t.arrow"])
@pytest.mark.parametrize("frame", [PLAIN, MOMENTS], ids=["plain", "moments"])
def test_what_a_format_gives_back_is_the_same(tmp_path, name, frame):
    place = tables.Place.to_write(str(tmp_path / name))
    (tmp_path / name).write_bytes(tables.to_bytes(frame, place))
    kind = place.format.kind.name
    before, back = of(frame, kind=kind), of(tables.read(place).frame, kind=kind)
    assert (back.sha256, back.columns, back.rows) == (before.sha256, before.columns, before.rows)
    if kind not in {"csv", "tsv"}:
        assert back == before


def test_formats_do_not_count():
    found = {of(PLAIN, kind=kind).sha256 for kind in ("csv", "jsonl", "parquet", "arrow")}
    assert len(found) == 1


def test_cells_do_not_run_into_each_other_and_null_is_told_from_empty_text():
    one, other = pl.DataFrame({"c": ["ab", "c"]}), pl.DataFrame({"c": ["a", "bc"]})
    assert of(one).sha256 != of(other).sha256
    null, empty = pl.DataFrame({"c": [None, "c"]}), pl.DataFrame({"c": ["", "c"]})
    assert of(null).sha256 == of(empty).sha256
    assert of(null).nulls_sha256 != of(empty).nulls_sha256


# Some columns, of text and of numbers.

FRAME = pl.DataFrame(
    {
        "a": ["x", None, "y,\n", "ü"],
        "b": [0.1, None, 1 / 3, 1e-300],
        "none": pl.Series([None] * 4, dtype=pl.String),
    }
)


def columns_of(*parts):
    made = ColumnsChecksum()
    for part in parts:
        made.add(part.get_columns())
    return made.hexdigest()


def test_of_columns_blocks_do_not_count_and_every_cell_name_and_place_does():
    whole = columns_of(FRAME)
    assert whole == columns_of(FRAME[:1], FRAME[1:1], FRAME[1:])
    others = [
        FRAME.with_columns(a=pl.Series(["x", None, "y,\n", "u"])),
        FRAME.with_columns(a=pl.Series([None, "x", "y,\n", "ü"])),
        FRAME.with_columns(b=pl.Series([0.1, None, 0.3333333333333333, 2e-300])),
        *(FRAME.rename({"a": "c"}), FRAME.select("b", "a", "none"), FRAME[:3]),
    ]
    assert len({whole, *map(columns_of, others)}) == 1 + len(others)


@pytest.mark.parametrize("name", ["t.csv", "t.tsv.gz", "t.jsonl", "t.parquet", "t.arrow"])
def test_columns_that_a_format_gives_back_have_the_same_checksum(tmp_path, name):
    place = tables.Place.to_write(str(tmp_path / name))
    (tmp_path / name).write_bytes(tables.to_bytes(FRAME, place))
    frame = tables.read(place).frame
    back = pl.DataFrame(frame if isinstance(frame, pl.DataFrame) else pl.from_arrow(frame))
    assert columns_of(
        back.cast({"a": pl.String, "b": pl.Float64, "none": pl.String})
    ) == columns_of(FRAME)
