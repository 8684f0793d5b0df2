"""The checksum of columns depends on what they hold, not on blocks or formats."""

import polars as pl
import pytest

from cfl_cli.tables import table
from cfl_cli.tables.checksums import ColumnsChecksum

FRAME = pl.DataFrame(
    {
        "a": ["x", None, "y,\n", "ü"],
        "b": [0.1, None, 1 / 3, 1e-300],
        "none": pl.Series([None] * 4, dtype=pl.String),
    }
)


def of(*parts):
    made = ColumnsChecksum()
    for part in parts:
        made.add(part.get_columns())
    return made.hexdigest()


def test_blocks_do_not_count_and_every_cell_name_and_place_does():
    whole = of(FRAME)
    assert whole == of(FRAME[:1], FRAME[1:1], FRAME[1:])
    others = [
        FRAME.with_columns(a=pl.Series(["x", None, "y,\n", "u"])),
        FRAME.with_columns(a=pl.Series([None, "x", "y,\n", "ü"])),
        FRAME.with_columns(b=pl.Series([0.1, None, 0.3333333333333333, 2e-300])),
        FRAME.rename({"a": "c"}),
        FRAME.select("b", "a", "none"),
        FRAME[:3],
    ]
    assert len({whole, *map(of, others)}) == 1 + len(others)


@pytest.mark.parametrize("name", ["t.csv", "t.tsv.gz", "t.jsonl", "t.parquet", "t.arrow"])
def test_what_a_format_gives_back_has_the_same_checksum(tmp_path, name):
    place = table.Place.to_write(str(tmp_path / name))
    (tmp_path / name).write_bytes(table.to_bytes(FRAME, place))
    frame = table.read(place).frame
    back = pl.DataFrame(frame if isinstance(frame, pl.DataFrame) else pl.from_arrow(frame))
    assert of(back.cast({"a": pl.String, "b": pl.Float64, "none": pl.String})) == of(FRAME)
