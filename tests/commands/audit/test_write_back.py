"""Checked values become exact cells; everything else stays."""

import polars as pl
import pyarrow as pa
import pytest
from builders.audits import SCHEMA, filled, output, table, truth

from cfl_cli.commands.audit.job import audit, draw, write_back
from cfl_cli.errors import DataError, SchemaError

OUTPUT = output()
DATA = table().select("id", "age", "job", "pet")
DRAWN = draw(OUTPUT, 10, cfs=["job"]).frame
CHECKED = audit(OUTPUT, {"f": filled(DRAWN)}).checked
ROWS = [row - 1 for row in DRAWN["cfl_row"]]


def expected():
    cells = DATA["job"].to_list()
    for row in ROWS:
        cells[row] = f"={truth(40)[row]}"
    return DATA.with_columns(job=pl.Series(cells))


def test_types_of_arrow_tables_stay_and_numbers_equal_their_text():
    arrow = DATA.with_columns(pl.col("age").cast(pl.Float32)).to_arrow()
    written, _ = write_back(arrow, OUTPUT, CHECKED, SCHEMA)
    assert isinstance(written, pa.Table)
    assert written.schema == arrow.schema
    assert written.column("job").to_pylist() == expected()["job"].to_list()
    texts = DATA.cast(pl.String)
    assert write_back(texts, OUTPUT, CHECKED, SCHEMA)[0].equals(expected().cast(pl.String))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (DATA.head(39), "39 rows, but out.csv has 40"),
        (DATA.reverse(), "row 1, column 'id' differs: rows are matched by their order"),
        (
            DATA.with_columns(age=DATA["age"] + (pl.int_range(40, eager=True) == 6)),
            "row 7, column 'age'",
        ),
        (DATA.rename({"age": "years"}), "its column 'years' is not in out.csv"),
        (DATA.drop("job"), "it has no column 'job'"),
    ],
)
def test_another_table_is_refused_without_showing_its_cells(data, words):
    with pytest.raises(DataError, match=r"^d: not the table that out\.csv was made from") as error:
        write_back(data, OUTPUT, CHECKED, SCHEMA, name="d")
    assert words in str(error.value)
    assert "P0" not in str(error.value)


def test_the_output_itself_is_refused_with_the_way_out():
    words = r"^o: has answers, in column 'job_imputed': pass the table that out\.csv was made from"
    with pytest.raises(DataError, match=words):
        write_back(table(), OUTPUT, CHECKED, SCHEMA, name="o")


def test_a_cf_without_a_mark_for_exact_cells_is_refused_with_the_ways_out():
    both = audit(OUTPUT, {"f": filled(draw(OUTPUT, 10).frame)}).checked
    with pytest.raises(SchemaError, match="column 'pet' has no mark for exact cells: add `exact`"):
        write_back(DATA, OUTPUT, both, SCHEMA)
