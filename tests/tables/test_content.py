"""The checksum of a table depends on its cells alone, for every type that a table can have."""

import datetime as dt

import polars as pl
import pyarrow as pa
import pytest
from builders.arrow_types import as_file, columns, twice_coded

from cfl_cli.tables import table as tables
from cfl_cli.tables.checksums import ContentChecksum
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
