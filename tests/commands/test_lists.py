import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from builders.audits import SCHEMA, facts, filled, table, truth

from cfl_cli import Schema, evaluate, impute
from cfl_cli.commands.audit.job import audit, draw, read_answers, write_back
from cfl_cli.errors import DataError
from cfl_cli.tables import table as tables
from cfl_cli.tables.formats import Place


def listed(frame):
    cells = [[text] if text else [] for text in frame["job"]]
    return frame.with_columns(job=pl.Series(cells, dtype=pl.List(pl.String)))


def test_an_output_with_lists_is_scored_as_one_with_text():
    true = pl.DataFrame({"job": truth(40), "pet": ["cat"] * 40})
    assert evaluate(listed(table()), true, SCHEMA) == evaluate(table(), true, SCHEMA)


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_checked_values_become_lists_of_one_exact_cell(kind):
    output = read_answers(listed(table()), facts(40), SCHEMA, name="out.parquet")
    drawn = draw(output, 10, cfs=["job"]).frame
    checked = audit(output, {"f": filled(drawn)}).checked
    data = listed(table()).select("id", "age", "job", "pet")
    form = {"polars": lambda x: x, "pandas": as_pandas, "pyarrow": pl.DataFrame.to_arrow}[kind]
    written, _ = write_back(form(data), output, checked, SCHEMA)
    cells = {"polars": pl.Series.to_list, "pandas": list, "pyarrow": pa.ChunkedArray.to_pylist}
    expected = data["job"].to_list()
    for row in drawn["cfl_row"]:
        expected[row - 1] = [f"={truth(40)[row - 1]}"]
    assert [list(cell) for cell in cells[kind](written["job"])] == expected


def as_pandas(frame):
    return pd.DataFrame({name: frame[name].to_list() for name in frame.columns})


LINES = b"""\
{"x": 1, "job": ["a",  "b"], "note": [1, 2]}
{"x": 2, "job": [ ], "note": null}
{"x": 3.50, "job": ["=c"], "note": [3]}
{"x": 9, "job": null}
"""
LETTERS = Schema.parse("""\
version: 1
columns:
  x: {role: ordinary, type: numeric}
  job: {role: complementary, values: [a, b, c], exact: "="}
settings: {folds: 0, k: 1}
""")


@pytest.fixture
def read(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(LINES)
    return tables.read(Place.to_read(str(path)))


def test_lines_with_lists_keep_their_bytes(read, tmp_path):
    result = impute(read.frame, LETTERS)
    out = Place.to_write(str(tmp_path / "out.jsonl"))
    tables.write(result.frame, out, report=None, source=read)
    for before, after in zip(LINES.splitlines(), out.path.read_bytes().splitlines(), strict=True):
        assert after.startswith(before[:-1])
    assert result.frame["job_imputed"][0] == "c" == result.frame["job_imputed"][2]


def test_exact_cells_are_written_into_lines_as_lists(read, tmp_path):
    cells = [["=c"], *read.frame["job"][1:]]
    changed = read.frame.with_columns(job=pl.Series(cells, dtype=pl.List(pl.String)))
    out = Place.to_write(str(tmp_path / "out.jsonl"))
    tables.write(changed, out, report=None, source=read)
    assert out.path.read_bytes() == LINES.replace(b'["a",  "b"]', b'["=c"]')


def test_lists_of_lines_fit_into_parquet_and_not_into_csv(read, tmp_path):
    out = Place.to_write(str(tmp_path / "out.parquet"))
    tables.check_holds(read, out)
    tables.write(read.frame, out, report=None, source=read)
    assert pl.read_parquet(out.path)["job"].to_list() == read.frame["job"].to_list()
    with pytest.raises(DataError, match=r"column 'job' holds List\(String\), which .*\.csv cannot"):
        tables.check_holds(read, Place.to_write(str(tmp_path / "out.csv")))
