"""A cell that was planted wrong heads the list of suspects."""

import polars as pl
import pytest

from cfl_cli import impute
from cfl_cli.jobs import prepare
from cfl_cli.jobs.suspects import in_words
from cfl_cli.schema.model import Complementary, Ordinary, Schema
from cfl_cli.trust import suspects

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
    found = impute(table(wrong), SCHEMA, k=5, gamma=0, folds=folds).suspects
    assert found.columns == [
        "rank", "row", "cf", "favored", "candidates_mass", "times_as_likely",
    ]  # fmt: skip
    first = found.filter(pl.col("cf") == "cf").row(0, named=True)
    assert first["row"] == WRONG
    # Without hidden rows nobody knows that the priors of the other CF, noise, mean nothing.
    assert first["rank"] == 1 or not folds
    # Of several exclusions, only a prior that was made without them shows which one is at fault.
    assert first["favored"] == ("a" if folds or wrong == "a" else None)
    assert first["candidates_mass"] < (0.2 if folds else 0.5)
    assert found["rank"].to_list() == list(range(1, found.height + 1))
    assert found["times_as_likely"].is_sorted(descending=True)
    assert found["times_as_likely"].min() > 1


def test_a_list_is_summed_up_in_a_line():
    cells = pl.DataFrame({"cf": ["a"] * 1200 + ["b"]})
    assert in_words(cells) == "1,201 suspect cells of 2 CFs, the most suspect first"
    assert in_words(cells.head(1)) == "1 suspect cell of 1 CF, the most suspect first"
    assert in_words(cells.clear()) == "0 suspect cells"


def test_a_table_of_exact_cells_has_no_suspects():
    schema = Schema(
        columns={"x": Ordinary(type="numeric"), "cf": Complementary(values=["a", "b"])},
    )
    frame = pl.DataFrame({"x": [0.0, 1.0, 2.0], "cf": ["a", "b", "a"]})
    found = impute(frame, schema, k=1).suspects
    assert found.height == 0
    assert found.schema["favored"] == pl.String


def test_cells_of_a_mechanism_are_measured_alike_whether_they_were_hidden_or_not(monkeypatch):
    monkeypatch.setattr(prepare, "ONE_FOLD_ABOVE", 10)
    monkeypatch.setattr(suspects, "FEW", 300)
    cf = Complementary(values=["a", "b", "c"], mechanism=[8.0, 1.0, 1.0])
    schema = Schema(columns={"x": Ordinary(type="numeric"), "cf": cf})
    cells = [*"aaaaaaabbc"] * 30
    frame = pl.DataFrame({"x": range(300), "cf": cells})
    found = impute(frame, schema, method="commonest").suspects
    assert found.height > 30
    masses = found.with_columns(cell=pl.Series(cells).gather(found["row"] - 1))
    spread = masses.group_by("cell").agg(pl.max("candidates_mass") - pl.min("candidates_mass"))
    assert spread["candidates_mass"].max() < 0.1
