import json
from functools import partial

import numpy as np
import polars as pl
import pytest
from builders.tabulated import true_figures

from cfl_cli import DataError, SchemaError, UsageError, indicators, tabulate
from cfl_cli.commands.tabulate import copied, job, tally
from cfl_cli.commands.tabulate.figures import made as figures_of
from cfl_cli.commands.tabulate.job import asked_of, blocks_of, counted
from cfl_cli.schema.model import Schema

VALUES = ["clerk", "nurse", "farmer"]
SHARES, YES = [0.5, 0.3, 0.2], [0.1, 0.5, 0.3]
JOB = {"role": "complementary", "values": VALUES, "separator": ";", "exact": "="}
COLUMNS = {
    "job": JOB,
    "age": {"role": "ordinary", "type": "numeric"},
    "who": {"role": "identifier"},
}
SCHEMA = {"version": 1, "columns": COLUMNS}


def schema(**keys):
    return {**SCHEMA, "columns": {**COLUMNS, "job": {**JOB, **keys}}}


def made(n=3000, seed=0, exact=0.0):
    """Return rows whose job is not told, and their jobs as places in the domain."""
    random = np.random.default_rng(seed)
    place = random.choice(3, n, p=SHARES)
    wrong = (place + random.integers(1, 3, n)) % 3
    known = random.random(n) < exact
    cells = [
        "=" + VALUES[p] if k else VALUES[w] for p, w, k in zip(place, wrong, known, strict=True)
    ]
    frame = pl.DataFrame(
        {
            "job": cells,
            "age": random.integers(20, 60, n),
            "late": np.where(random.random(n) < np.array(YES)[place], "yes", "no"),
            "income": 1000.0 + 500 * place + random.normal(0, 50, n),
            "who": [f"secret-{row}" for row in range(n)],
        }
    )
    return frame, place


def figure(found, quantity, value, group=None):
    chosen = found.filter(
        pl.col("quantity").eq(quantity),
        pl.col("value").eq(value),
        pl.col("group").eq_missing(group),
    )
    return chosen.row(0, named=True)


def whole(frame, given=SCHEMA, **asked):
    """Return the tabulation itself, as the command gets it."""
    read = Schema.of(given)
    options = {"cfs": ("job",), "by": None, "mean": None, "weight": None, "bias": 1.0, "infer": ()}
    wanted = asked_of(read, **{**options, **asked})
    blocks = partial(blocks_of, frame)
    return figures_of(counted(blocks, read, wanted, "table"), read, wanted)


def test_shares_cross_tables_and_means_hold_the_truth():
    frame, place = made()
    found = tabulate(frame, SCHEMA, cf="job", by="late", mean="income")
    late = (frame["late"] == "yes").to_numpy()
    for quantity, name, group, truth in true_figures(frame, place, VALUES):
        one = figure(found, quantity, name, group)
        assert one["low"] <= truth <= one["high"], one
        assert one["low"] < one["estimate"] < one["high"]
        assert (one["basis"], one["reason"]) == ("cells", None)
        assert one["rows"] == (late.sum() if quantity == "share_of_group" else len(frame))
    assert found.columns == [
        *("cf", "value", "by", "group", "quantity", "rows", "cells", "estimate", "se", "low"),
        *("high", "exact_rows", "basis", "reason"),
    ]
    shares = found.filter(pl.col("quantity") == "share")["estimate"]
    assert shares.sum() == pytest.approx(1)


def test_every_kind_of_frame_gets_the_same_figures_of_its_own_kind():
    pd = pytest.importorskip("pandas")
    frame, _ = made(300)
    found = tabulate(frame, SCHEMA, by="late")
    of_arrow = tabulate(frame.to_arrow(), SCHEMA, by="late")
    of_pandas = tabulate(pd.DataFrame(frame.to_dict(as_series=False)), SCHEMA, by="late")
    assert isinstance(of_pandas, pd.DataFrame)
    assert pl.DataFrame(of_arrow).equals(found)
    assert pl.from_pandas(of_pandas).equals(found)


def test_blocks_of_any_size_say_the_same(monkeypatch):
    frame, _ = made(500, exact=0.2)
    given = {**SCHEMA, "group": "age"}
    found = whole(frame, given, by="late", mean="income").to_json()
    for rows in (7, 100):
        monkeypatch.setattr(job, "ROWS_AT_ONCE", rows)
        monkeypatch.setattr(tally, "_LINES", 20)
        again = json.loads(whole(frame, given, by="late", mean="income").to_json())
        for one, other in zip(again["figures"], json.loads(found)["figures"], strict=True):
            numbers = {name: it for name, it in other.items() if isinstance(it, float)}
            assert {name: one[name] for name in numbers} == pytest.approx(numbers, rel=1e-6)
            assert {**one, **numbers} == other


def test_imputed_values_are_counted_beside_the_estimates():
    frame, _ = made(200)
    frame = frame.with_columns(job_imputed=pl.Series(["clerk"] * 150 + ["nurse"] * 50))
    found = tabulate(frame, SCHEMA, by="late", mean="income")
    assert figure(found, "share", "clerk")["imputed"] == 0.75
    yes = frame.filter(late="yes")
    assert figure(found, "share_of_group", "clerk", "yes")["imputed"] == pytest.approx(
        (yes["job_imputed"] == "clerk").mean()
    )
    clerks = frame.filter(job_imputed="clerk")
    share = figure(found, "share_of_value", "clerk", "yes")["imputed"]
    assert share == pytest.approx((clerks["late"] == "yes").mean())
    assert figure(found, "mean", "clerk")["imputed"] == pytest.approx(clerks["income"].mean())
    assert figure(found, "mean", "farmer")["imputed"] is None


def test_two_cfs_are_crossed_with_each_other():
    frame, place = made(4000)
    random = np.random.default_rng(9)
    ward = np.where(random.random(4000) < 0.8, place, (place + 1) % 3)
    wrong = (ward + random.integers(1, 3, 4000)) % 3
    frame = frame.with_columns(ward=pl.Series([VALUES[one] for one in wrong]))
    given = {"version": 1, "columns": {**COLUMNS, "ward": JOB}}
    found = tabulate(frame, given, cf=["job", "ward"])
    same = found.filter(pl.col("by") == "ward")
    assert same.equals(tabulate(frame, given, cf="job", by="ward").filter(pl.col("by") == "ward"))
    for quantity, rows in (
        ("share", np.ones(4000, dtype=bool)),
        ("share_of_group", ward == 1),
        ("share_of_value", place == 1),
    ):
        one = figure(same, quantity, "nurse", "nurse")
        truth = ((place == 1) & (ward == 1))[rows].mean()
        assert one["low"] <= truth <= one["high"]


def test_weights_stand_for_rows():
    frame, _ = made(400)
    weight = pl.Series("weight", [1, 2] * 200)
    repeated = frame[np.repeat(np.arange(400), weight)]
    found = tabulate(frame.with_columns(weight), SCHEMA, weight="weight", mean="income")
    again = tabulate(repeated, SCHEMA, mean="income")
    assert found["estimate"].to_list() == pytest.approx(again["estimate"].to_list())
    assert found["se"].to_list() == pytest.approx(again["se"].to_list(), rel=0.02)  # of copies
    with pytest.raises(DataError) as error:
        tabulate(frame.with_columns(weight=-1), SCHEMA, weight="weight")
    assert error.value.code == "tabulate-weight"


def test_random_exact_cells_count_more_and_others_count_alike():
    frame, place = made(2000, exact=0.2)
    alike = figure(tabulate(frame, SCHEMA), "share", "clerk")
    more = figure(tabulate(frame, schema(exact_cells="random")), "share", "clerk")
    assert more["se"] < alike["se"]
    assert more["low"] <= (place == 0).mean() <= more["high"]


def test_exact_cells_that_favor_a_value_do_no_harm():
    frame, place = made(6000)
    random = np.random.default_rng(3)
    known = random.random(6000) < np.where(place == 0, 0.5, 0.1)
    cells = [
        "=" + VALUES[p] if k else c for p, k, c in zip(place, known, frame["job"], strict=True)
    ]
    one = figure(tabulate(frame.with_columns(job=pl.Series(cells)), SCHEMA), "share", "clerk")
    assert one["low"] <= (place == 0).mean() <= one["high"]


def test_where_the_mechanism_is_to_be_fitted_only_random_exact_cells_count():
    frame, _ = made(1000, exact=0.3)
    found = whole(frame, schema(exact_cells="random", mechanism="fit"))
    exact = frame.filter(pl.col("job").str.starts_with("="))["job"]
    assert found.figures[0].estimate == pytest.approx((exact == "=clerk").mean())
    assert found.columns[0].exact_only


def refuted(n=900, where=None):
    """Return rows all of which rule out the same value, or half of those `where` late is so."""
    frame, _ = made(n)
    if where is None:
        return frame.with_columns(job=pl.lit("clerk"))
    half = (pl.col("late") == where) & (pl.int_range(pl.len()) % 2 == 0)
    return frame.with_columns(job=pl.when(half).then(pl.lit("nurse")).otherwise(pl.col("job")))


def test_a_refuted_mechanism_leaves_nothing_known():
    found = whole(refuted(), by="late", mean="income")
    assert {one.reason for one in found.figures} == {"tabulate-refuted"}
    assert {one.estimate for one in found.figures} == {None}
    (problem,) = found.problems
    assert "ruled out more often" in str(problem)
    with pytest.raises(DataError) as error:
        indicators(refuted(), SCHEMA)
    assert error.value.code == "tabulate-refuted"


def test_random_exact_cells_stand_in_for_a_refuted_mechanism():
    frame, place = made(3000, exact=0.3)
    cells = (
        pl.when(pl.col("job").str.starts_with("=")).then(pl.col("job")).otherwise(pl.lit("clerk"))
    )
    found = tabulate(frame.with_columns(job=cells), schema(exact_cells="random"))
    one = figure(found, "share", "clerk")
    assert one["low"] <= (place == 0).mean() <= one["high"]


def test_a_mechanism_that_is_refuted_within_a_group_refuses_that_group_and_what_needs_it():
    frame = refuted(3000, where="yes")
    found = tabulate(frame, SCHEMA, by="late")
    reasons = {
        (one["quantity"], one["group"]): one["reason"] for one in found.iter_rows(named=True)
    }
    assert reasons["share_of_group", "no"] is None
    assert reasons["share_of_group", "yes"] == "tabulate-refuted"
    assert reasons["share_of_value", "no"] == "tabulate-refuted"


def test_a_mechanism_that_tells_no_values_apart_is_refused():
    rates = [[0, 0.5, 0.5], [1, 0, 0], [1, 0, 0]]  # nurse and farmer rule out clerk alone
    frame = pl.DataFrame({"job": ["clerk", "nurse", "farmer"] * 40, "age": range(120)})
    found = tabulate(frame, {**schema(mechanism=rates)}, cf="job")
    assert set(found["reason"]) == {"tabulate-not-invertible"}


def test_a_domain_that_is_not_listed_is_refused():
    frame, _ = made(100)
    columns = {**COLUMNS, "job": {"role": "complementary"}}
    with pytest.raises(SchemaError) as error:
        tabulate(frame, {"version": 1, "columns": columns})
    assert error.value.code == "tabulate-domain"


def test_few_cells_say_nothing_and_small_groups_are_not_shown():
    frame, _ = made(400)
    groups = pl.Series("late", ["few"] * 40 + ["tiny"] * 9 + ["many"] * 351)
    found = whole(frame.with_columns(groups), by="late")
    reasons = {(one.quantity, one.group): one.reason for one in found.figures}
    assert reasons["share_of_group", "few"] == reasons["share_of_value", "few"]
    assert reasons["share_of_group", "few"] == "tabulate-few-cells"
    assert reasons["share_of_group", "many"] is None
    assert "tiny" not in {one.group for one in found.figures}
    assert found.withheld_groups == 1
    assert "tiny" not in found.to_json()
    assert {*tabulate(frame[:49], SCHEMA)["reason"]} == {"tabulate-few-cells"}


def test_a_value_that_is_too_rare_is_said_to_be_so():
    frame, _ = made(300)
    frame = frame.with_columns(job=pl.Series(["clerk", "farmer"] * 150))
    found = tabulate(
        frame.with_columns(job=pl.Series(["clerk", "nurse", "farmer"] * 100)), SCHEMA, mean="income"
    )
    assert {*found.filter(quantity="share")["reason"]} == {None}
    rare = tabulate(frame, SCHEMA, mean="income")  # all are nurses
    assert figure(rare, "mean", "nurse")["reason"] is None
    assert figure(rare, "mean", "clerk")["reason"] == "tabulate-too-rare"


def test_two_cfs_whose_cells_depend_on_each_other_are_refused():
    frame, _ = made(3000)
    given = {"version": 1, "columns": {**COLUMNS, "ward": JOB}}
    same = frame.with_columns(ward=pl.col("job"))  # the same exclusion, of independent values
    found = tabulate(same, given, cf=["job", "ward"]).filter(pl.col("by").is_not_null())
    assert {*found["reason"]} == {"tabulate-not-independent"}


def test_cfs_that_were_blurred_for_privacy_need_to_be_asked_for():
    frame, _ = made(200)
    with pytest.raises(SchemaError) as error:
        tabulate(frame, schema(blurred="privacy"))
    assert error.value.code == "blurred"
    assert len(tabulate(frame, schema(blurred="privacy"), infer="job"))


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"cf": "age"}, "tabulate-not-a-cf"),
        ({"by": "nothing"}, "tabulate-no-column"),
        ({"by": "who"}, "tabulate-identifier"),
        ({"bias": 0.5}, "setting-wrong"),
    ],
)
def test_what_cannot_be_asked_is_refused(asked, code):
    with pytest.raises(UsageError) as error:
        tabulate(made(60)[0], SCHEMA, **asked)
    assert error.value.code == code


def test_columns_of_too_many_groups_and_means_of_texts_are_refused():
    frame, _ = made(1200)
    with pytest.raises(DataError) as error:
        tabulate(frame, SCHEMA, by="income")
    assert error.value.code == "tabulate-groups"
    with pytest.raises(DataError) as error:
        tabulate(frame, SCHEMA, mean="late")
    assert error.value.code == "not-a-number"


def test_a_bias_adds_a_band_to_shares():
    frame, _ = made()
    found = tabulate(frame, SCHEMA, by="late", bias=1.2)
    shares = found.filter(pl.col("quantity") != "mean")
    assert (shares["bias_low"] <= shares["low"]).all()
    assert (shares["bias_high"] >= shares["high"]).all()


def test_means_of_indicators_are_the_shares_in_any_rows():
    frame, _ = made(exact=0.1)
    frame = frame.with_columns(job=pl.when(pl.col("age") < 25).then(pl.lit("")).otherwise("job"))
    found, table = indicators(frame, SCHEMA), tabulate(frame, SCHEMA, by="late")
    assert found.columns == [f"job_is_{value}" for value in VALUES]
    assert found["job_is_clerk"].null_count() == (frame["age"] < 25).sum()
    share = figure(table, "share", "clerk")["estimate"]
    assert found["job_is_clerk"].mean() == pytest.approx(share)
    late = found.filter(frame["late"] == "yes")["job_is_nurse"].mean()
    assert late == pytest.approx(figure(table, "share_of_group", "nurse", "yes")["estimate"])


def test_indicators_keep_the_index_of_pandas():
    pd = pytest.importorskip("pandas")
    frame, _ = made(60)
    table = pd.DataFrame(frame.to_dict(as_series=False), index=range(100, 160))
    assert indicators(table, SCHEMA).index.tolist() == table.index.tolist()


def test_empty_tables_few_groups_of_rows_and_huge_numbers_are_no_trouble():
    frame, _ = made(300)
    assert {*tabulate(frame[:0], SCHEMA)["reason"]} == {"tabulate-few-cells"}
    assert len(indicators(frame[:0], SCHEMA)) == 0
    few = frame.with_columns(house=pl.Series([row % 9 for row in range(300)]))
    found = tabulate(few, {**SCHEMA, "group": "house"}, mean="income")
    assert {*found["reason"]} == {"tabulate-few-groups"}
    huge = frame.with_columns(pl.col("income") * 1e150)
    ratio = figure(tabulate(huge, SCHEMA, mean="income"), "mean", "clerk")["high"]
    assert ratio == pytest.approx(
        1e150 * figure(tabulate(frame, SCHEMA, mean="income"), "mean", "clerk")["high"]
    )


def spread(n=600, seed=0):
    """Return rows whose OF tells them apart."""
    return made(n, seed)[0].with_columns(age=pl.Series(range(n)) * 0.1)


def test_copies_count_as_one_with_their_rows():
    frame = spread()
    twice = pl.concat([frame, frame]).with_columns(who=pl.lit("someone"))
    alone = whole(frame, by="late", mean="income")
    found = whole(twice, by="late", mean="income")
    assert (alone.copied_rows, found.copied_rows) == (0, 600)
    for one, other in zip(alone.figures, found.figures, strict=True):
        numbers = [(it.estimate, it.se, it.low, it.high) for it in (one, other)]
        assert one.reason == other.reason
        if one.reason is None:
            assert numbers[0] == pytest.approx(numbers[1], rel=0.02, abs=0.003)
    groups = whole(twice, {**SCHEMA, "group": "age"})
    assert [it.se for it in groups.figures] == pytest.approx([it.se for it in found.figures[:3]])


def test_rows_that_are_equal_by_chance_are_no_copies(monkeypatch):
    monkeypatch.setattr(copied, "AT_ONCE", 500)
    for seed in range(10):
        frame = made(2000, seed)[0].select("job", "late", age=pl.lit(1))
        assert whole(frame, by="late").copied_rows == 0
        by_income = made(2000, seed)[0].with_columns(age=pl.lit(1))  # which no schema names
        assert whole(pl.concat([by_income, by_income])).copied_rows == 2000
        some = made(2000, seed)[0].with_columns(age=pl.Series(range(2000)) // 2)
        assert whole(some).copied_rows == 0


def test_copies_are_found_among_some_of_many_rows(monkeypatch):
    frame = spread(3000)
    found = whole(pl.concat([frame, frame[:900]]))
    assert found.copied_rows == 900
    monkeypatch.setattr(copied, "AT_ONCE", 500)
    monkeypatch.setattr(job, "ROWS_AT_ONCE", 700)
    assert whole(pl.concat([frame, frame[:900]])).copied_rows == 900


def test_copies_that_cannot_be_told_from_others_are_warned_of():
    # Two rows have the same OF. Of these pairs, up to half agree by chance, and two fifths are copies.
    frame = made(3000)[0].select("job", "who", age=pl.Series(range(3000)) // 2)
    cells = frame["job"].to_numpy().copy()
    cells[1:1200:2] = cells[0:1200:2]
    found = whole(frame.with_columns(job=pl.Series(cells)))
    assert found.copied_rows == 0
    assert [one.code for one in found.problems] == ["tabulate-copies"]
    assert "`group`" in str(found.problems[0])


@pytest.mark.parametrize("ordered", [True, False])
def test_candidates_count_as_the_exclusions_that_they_are_the_complement_of(ordered):
    frame, _ = made(exact=0.1)
    others = [
        cell if cell.startswith("=") else ";".join(one for one in VALUES if one != cell)
        for cell in frame["job"]
    ]
    excluded = tabulate(frame, schema(ordered=ordered), cf="job", by="late")
    candidates = frame.with_columns(job=pl.Series(others))
    found = tabulate(candidates, schema(ordered=ordered, cells="candidates"), cf="job", by="late")
    assert found.equals(excluded)
