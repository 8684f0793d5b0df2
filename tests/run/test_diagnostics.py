import polars as pl
import pytest

from cfl_cli import impute
from cfl_cli.errors import DataError
from cfl_cli.run import prepare
from cfl_cli.run.diagnostics import in_words, read
from cfl_cli.schema.model import Complementary, Ordinary, Schema
from cfl_cli.trust import wrong_cells

SCHEMA = Schema(
    columns={
        "x": Ordinary(type="numeric"),
        "cf": Complementary(values=["a", "b", "c", "d"], separator=";"),
        "other": Complementary(values=["a", "b", "c", "d"]),
    }
)
WRONG = 17  # the row, from 1


def table(wrong):
    """Return rows of two groups, in which cf is a and b, and one cell that rules that out."""
    cells = [["b", "c", "d"], ["a", "c", "d"]]
    groups = [row // 30 for row in range(60)]
    cf = [cells[group][row % 3] for row, group in enumerate(groups)]
    cf[WRONG - 1] = wrong
    x = [10 * group + row / 100 for row, group in enumerate(groups)]
    return pl.DataFrame({"x": x, "cf": cf, "other": ["abcd"[row % 4] for row in range(60)]})


@pytest.mark.parametrize("folds", [0, 5])
@pytest.mark.parametrize("wrong", ["a", "a;d"])
def test_a_wrong_cell_is_listed_first_with_the_value_that_its_neighbors_favor(wrong, folds):
    found = impute(table(wrong), SCHEMA, k=5, gamma=0, folds=folds).diagnostics
    assert found.columns == [
        "rank", "row", "cf", "why", "value", "candidates_mass", "estimate_mass", "times_as_likely",
        "probability_wrong", "probability_wrong_most", "probability_wrong_if_1_percent",
        "probability_wrong_if_3_percent", "probability_wrong_if_10_percent",
    ]  # fmt: skip
    found = found.filter(pl.col("why").is_in(["suspect-cell", "doubtful-cell"]))
    first = found.filter(pl.col("cf") == "cf").row(0, named=True)
    assert first["row"] == WRONG - 1
    # Without hidden rows nobody knows that the priors of the other CF, noise, mean nothing.
    assert first["rank"] == 1 or not folds
    # Of several exclusions, only a prior that was made without them shows which one is at fault.
    assert first["value"] == ("a" if folds or wrong == "a" else None)
    assert first["candidates_mass"] < (0.2 if folds else 0.5)
    assert found["rank"].to_list() == list(range(1, found.height + 1))
    known = found["probability_wrong"].is_not_null()
    assert known.is_sorted(descending=True)  # what is not known comes last
    assert found["probability_wrong"].is_sorted(descending=True, nulls_last=True)
    assert found.filter(~known)["times_as_likely"].is_sorted(descending=True)
    assert found.filter(pl.col("why") == "doubtful-cell")["times_as_likely"].min() > 1


def test_what_is_listed_is_what_the_report_counts():
    # b is ruled out nearly everywhere, and one row rules out a.
    rows = 200
    cf = ["b" if row % 20 else "c" for row in range(rows)]
    cf[7] = "a"
    other = ["abcd"[row % 4] for row in range(rows)]
    frame = pl.DataFrame({"x": [row % 9 for row in range(rows)], "cf": cf, "other": other})
    result = impute(frame, SCHEMA, k=5, method="commonest")
    for column in result.report.columns:
        own = result.diagnostics.filter(pl.col("cf") == column.name)
        suspect = own.filter(pl.col("why") == "suspect-cell")
        assert suspect.height == column.suspect_cells
        assert (suspect["estimate_mass"] < 0.01).all()
        assert own.filter(pl.col("why") == "fallback").height == column.fallback_rows
        for place in column.impossible_values:
            value = "abcd"[place - 1]
            listed = own.filter((pl.col("why") == "impossible-value") & (pl.col("value") == value))
            ruled_out = [row for row in range(rows) if frame[column.name][row] == value]
            assert listed["row"].to_list() == ruled_out
    [cf_report, _] = result.report.columns
    assert cf_report.impossible_values == (2,)
    assert result.diagnostics["why"].n_unique() > 1


def test_what_a_file_gave_back_is_what_was_written():
    found = impute(table("a"), SCHEMA, k=5, gamma=0).diagnostics
    texts = found.with_columns(pl.all().cast(pl.String).fill_null(""))
    assert read(texts, name="cells.csv").equals(found)
    earlier = read(texts.select(found.columns[:8]), name="cells.csv")  # of an earlier version
    assert earlier.select(found.columns[:8]).equals(found.select(found.columns[:8]))
    assert earlier["probability_wrong"].null_count() == found.height
    for other in (
        found.drop("why"),
        found.with_columns(why=pl.lit("x")),
        texts.with_columns(row=pl.lit("x")),
    ):
        with pytest.raises(DataError, match=r"cells.csv: `impute"):
            read(other, name="cells.csv")


def test_a_list_is_summed_up_in_a_line():
    whys = ["suspect-cell"] * 1200 + ["fallback"]
    cells = pl.DataFrame({"cf": ["a"] * 1200 + ["b"], "why": whys})
    assert in_words(cells) == "1,200 suspect cells, 1 fallback row of 2 CFs"
    assert in_words(cells.head(1)) == "1 suspect cell of 1 CF"
    assert in_words(cells.clear()) == "no cells to review"
    doubtful = pl.DataFrame({"cf": ["a"] * 12, "why": ["doubtful-cell"] * 12})
    assert in_words(doubtful) == "the 12 cells that fit least of 1 CF, the least plausible first"
    assert in_words(pl.concat([cells.head(2), doubtful.head(1)])) == (
        "2 suspect cells of 1 CF; of the other cells, the cell that fits least"
    )


def test_exact_cells_are_listed_as_the_report_counts_them_and_never_as_likely_wrong():
    schema = Schema(columns={"x": Ordinary(type="numeric"), "cf": Complementary(values=["a", "b"])})
    frame = pl.DataFrame({"x": [0.0, 1.0, 2.0], "cf": ["a", "b", "a"]})
    result = impute(frame, schema, k=1)
    found = result.diagnostics
    assert {*found["why"]} <= {"suspect-cell", "fallback"}
    assert found["rank"].count() == result.report.columns[0].suspect_cells > 0
    assert found["times_as_likely"].null_count() == found.height
    assert found.schema["value"] == pl.String


def test_cells_of_a_mechanism_are_measured_alike_whether_they_were_hidden_or_not(monkeypatch):
    monkeypatch.setattr(prepare, "ONE_FOLD_ABOVE", 10)
    monkeypatch.setattr(wrong_cells, "FEW", 300)
    cf = Complementary(values=["a", "b", "c"], mechanism=[8.0, 1.0, 1.0])
    schema = Schema(columns={"x": Ordinary(type="numeric"), "cf": cf})
    cells = [*"aaaaaaabbc"] * 30
    frame = pl.DataFrame({"x": range(300), "cf": cells})
    found = impute(frame, schema, method="commonest").diagnostics
    assert found.height > 30
    masses = found.with_columns(cell=pl.Series(cells).gather(found["row"]))
    spread = masses.group_by("cell").agg(pl.max("candidates_mass") - pl.min("candidates_mass"))
    assert spread["candidates_mass"].max() < 0.1


def test_a_result_without_diagnostics_is_otherwise_the_same():
    frame = table("a")
    with_list, without = (impute(frame, SCHEMA, diagnostics=wanted) for wanted in (True, False))
    assert with_list.frame.equals(without.frame)
    assert without.diagnostics.schema == with_list.diagnostics.schema
    assert (without.diagnostics.height, with_list.diagnostics.height > 0) == (0, True)
