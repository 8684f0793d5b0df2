import numpy as np
import polars as pl
import pytest

from cfl_cli import DataError, Schema, impute
from cfl_cli.core.settings import Settings
from cfl_cli.run.prepare import hidden_together, prepare
from cfl_cli.trust import COPIES_MISSED, NONE


@pytest.mark.parametrize(
    ("folds", "n", "expected"),
    [
        ("auto", 20_000, [4000] * 5),
        ("auto", 20_001, [4001]),
        ("auto", 3, [1, 1, 1]),
        (0, 100, []),
        (2, 50_001, [25_001, 25_000]),
    ],
)
def test_five_parts_are_hidden_in_turn_or_one_of_five_of_a_large_table(folds, n, expected):
    dealt = hidden_together(n, Settings(folds=folds))
    assert [len(fold) for fold in dealt] == expected
    rows = np.concatenate([[], *dealt])
    assert len(set(rows)) == len(rows)


@pytest.mark.parametrize(("largest", "folds"), [(2, 1), (300, 1), (301, 5), (12_000, 5)])
def test_one_fold_of_a_large_table_is_enough_only_where_no_group_is_a_large_part(largest, folds):
    groups = np.maximum(np.arange(30_000) - largest + 1, 0)
    dealt = hidden_together(30_000, Settings(), groups)
    assert len(dealt) == folds
    assert any(set(range(largest)) <= set(fold) for fold in dealt)


def test_which_rows_are_hidden_depends_on_the_seed_alone():
    one, again, other = (hidden_together(50, Settings(seed=seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


COLUMNS = {
    "x": {"role": "ordinary", "type": "numeric"},
    "y": {"role": "ordinary", "type": "numeric"},
    "cf": {"role": "complementary", "values": ["a", "b", "c"]},
}


def table(n):
    rng = np.random.default_rng(0)
    x, y = rng.random((2, n))
    excluded = ((x + y) / 2 * 2.99).astype(int) + rng.integers(1, 3, n)
    cells = np.array(list("abc"))[excluded % 3]
    homes = [f"h{row // 3}" for row in range(n)]
    return pl.DataFrame({"x": x, "y": y, "cf": cells, "home": homes, "id": np.arange(n)})


def encoded(frame, group=(), **settings):
    schema = Schema(columns=COLUMNS, group=group)
    return prepare(frame, schema, Settings(k=5, **settings), name="t.csv")


def test_rows_of_one_group_are_hidden_in_one_fold():
    known = encoded(table(90), "home")
    for fold in hidden_together(90, Settings(), known.groups):
        assert {row // 3 for row in range(90) if row in fold} == {row // 3 for row in fold}
        assert len(fold) == 18
    assert known.warnings == ()


def test_groups_go_by_all_their_columns_and_a_missing_cell_leaves_a_row_alone():
    homes = ["A", "A", "A", "B", "", ""]
    doors = ["1", "1", "2", "1", "1", "1"]
    frame = table(6).with_columns(home=pl.Series(homes), door=pl.Series(doors))
    groups = encoded(frame, ["home", "door"], method="commonest").groups
    assert groups[0] == groups[1]
    assert len(set(groups)) == 5


def test_a_group_column_that_differs_in_every_row_changes_nothing():
    frame = table(60)
    plain, grouped = encoded(frame), encoded(frame, "id")
    assert grouped.groups is None
    schemas = [Schema(columns=COLUMNS, group=group) for group in ((), "id")]
    one, other = (impute(frame, schema, k=5, iterations=5) for schema in schemas)
    assert one.frame.equals(other.frame)
    assert one.report.columns == other.report.columns
    np.testing.assert_array_equal(plain.features, grouped.features)


def test_groups_that_cannot_be_hidden_are_refused_with_the_way_out():
    frame = table(60).with_columns(all=pl.lit("one"), two=pl.Series(["p", "q"] * 30))
    with pytest.raises(DataError, match=r"all rows belong to one group.*folds=0"):
        encoded(frame, "all")
    assert encoded(frame, "all", folds=0).groups is not None
    with pytest.raises(DataError, match=r"2 groups.*5 folds.*set folds to 2 or less"):
        encoded(frame, "two", folds=5)
    assert len(hidden_together(60, Settings(), encoded(frame, "two").groups)) == 2
    with pytest.raises(DataError, match="column 'flat' is in the schema but not in the table"):
        encoded(frame, "flat")


@pytest.mark.parametrize("times", [2, 4])
def test_copies_are_counted_in_a_warning_and_hidden_together(times):
    found = encoded(pl.concat([table(100)] * times))
    [warning] = found.warnings
    assert warning == (
        f"{100 * (times - 1)} rows are exact or near copies of other rows, and they are held out "
        "together and count as one; remove them if they are a mistake, or name the column that "
        "identifies their owner under `group`"
    )
    np.testing.assert_array_equal(found.groups, np.tile(found.groups[:100], times))
    assert len(set(found.groups)) == 100
    assert encoded(pl.concat([table(100)] * times), folds=0).warnings == ()


def carried(people=60, years=5):
    """Rows of people whose cells are carried forward, though their OFs change."""
    one, rng = table(people).drop("id", "home"), np.random.default_rng(1)
    every = pl.concat([one.with_columns(x=pl.Series(rng.random(people))) for _ in range(years)])
    who = np.tile(np.arange(people), years)
    return every.with_columns(y=pl.Series(rng.random(len(who))), who=pl.Series(who)), who


@pytest.mark.parametrize("role", ["ignore", "identifier", None, "ordinary"])
def test_a_column_whose_rows_share_cells_is_taken_for_the_group(role):
    frame, who = carried()
    kind = {"type": "numeric"} if role == "ordinary" else {}
    entry = {"who": {"role": role, **kind}} if role else {}
    found = prepare(frame, Schema(columns={**COLUMNS, **entry}), Settings(k=5), name="table")
    assert [finding.code for finding in found.findings] == ["shared-cells"]
    assert found.findings[0].patch == {"group": "who"}
    np.testing.assert_array_equal(np.unique(found.groups, return_inverse=True)[1], who)
    grouped = Schema(columns={**COLUMNS, **entry}, group="who")
    assert prepare(frame, grouped, Settings(k=5), name="table").findings == ()


def test_accuracy_is_not_known_where_many_copies_cannot_be_told_until_the_group_is_declared():
    frame = table(500).with_columns(pl.col("x", "y").mul(12).floor()).drop("id", "home")
    twice = pl.concat([frame.with_columns(who=np.arange(500))] * 2)
    columns = {**COLUMNS, "who": {"role": "ignore"}}
    known = prepare(twice.drop("who"), Schema(columns=COLUMNS), Settings(k=5), name="table")
    assert known.copies_missed
    assert "probably there are many more, so the accuracy is unknown" in known.warnings[0]
    how = {"k": 5, "iterations": 5}
    [column] = impute(twice.drop("who"), Schema(columns=COLUMNS), **how).report.columns
    assert (column.accuracy_basis, column.accuracy_reason) == (NONE, COPIES_MISSED)
    assert column.estimated_accuracy is None
    [column] = impute(twice, Schema(columns=columns, group="who"), **how).report.columns
    assert column.estimated_accuracy is not None


def test_rows_of_one_household_with_cells_of_their_own_are_no_group():
    frame = table(300).with_columns(home=pl.Series(np.arange(300) // 3))
    assert encoded(frame).warnings == ()


def test_columns_that_are_left_out_may_hold_anything():
    frame = table(60).to_pandas()
    frame["what"] = [np.zeros(2), object()] * 30
    assert prepare(frame, Schema(columns=COLUMNS), Settings(k=5), name="table").warnings == ()


def test_copies_join_the_groups_of_the_schema():
    groups = encoded(pl.concat([table(99), table(99)]), "home").groups
    assert len(set(groups)) == 33
    np.testing.assert_array_equal(groups[:99], groups[99:])


def test_equal_ofs_with_cells_of_their_own_are_not_copies():
    frame = table(300).with_columns(pl.col("x", "y").mul(4).floor())
    assert encoded(frame).groups is None
    assert encoded(frame).warnings == ()


def test_answers_do_not_depend_on_what_is_hidden_together(monkeypatch):
    frame, schema = pl.concat([table(60)] * 2), Schema(columns=COLUMNS)
    grouped = impute(frame, schema, k=5, iterations=5, mode="both", calibration=False)
    monkeypatch.setattr("cfl_cli.trust.copies.find_copies", lambda *_, **__: None)
    plain = impute(frame, schema, k=5, iterations=5, mode="both", calibration=False)
    assert grouped.frame.equals(plain.frame)
    # Each row's copy gives its hidden cell away: so sure an answer cannot be.
    assert plain.report.columns[0].accuracy_basis == "none"
    assert grouped.report.columns[0].accuracy_basis == "uniform"


def test_answers_that_are_always_the_majority_value_are_never_better_than_it():
    rng = np.random.default_rng(0)
    truth, rows = rng.choice(3, 400, p=[0.7, 0.2, 0.1]), np.arange(400)
    cells = (truth + 1 + (rng.random(400) < 0.5)) % 3
    frame = pl.DataFrame({"x": rows % 7, "cf": np.array(["a", "b", "c"])[cells]})
    schema = """
version: 1
columns:
  x: {role: ordinary, type: numeric}
  cf: {role: complementary, values: [a, b, c]}
"""
    report = impute(frame, schema, method="commonest", progress=False).report
    assert "no-better-than-commonest" in report["cf"].flags
