import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from cfl_cli import __version__, fit, impute
from cfl_cli.core import process
from cfl_cli.errors import DataError, ResourceError
from cfl_cli.run import cost
from cfl_cli.schema.model import Complementary, Ordinary, Schema

SIZES = {"two": 2, "three": 3, "five": 5}
DOMAINS = {name: [f"{name[0]}{number}" for number in range(size)] for name, size in SIZES.items()}
SCHEMA = Schema(
    columns={
        "x": Ordinary(type="numeric"),
        "y": Ordinary(type="categorical"),
        **{
            name: Complementary(values=values, separator=";", exact="=")
            for name, values in DOMAINS.items()
        },
    }
)


def cell(values):
    some = st.sets(st.sampled_from(values), max_size=len(values) - 1)
    return some.map(lambda out: ";".join(sorted(out))) | st.sampled_from(values).map("={}".format)


@st.composite
def tables(draw):
    """Draw a table of 2 to 12 rows whose OFs are not all constant."""
    rows = draw(st.integers(2, 12))

    def column(cells):
        return draw(st.lists(cells, min_size=rows, max_size=rows))

    return pl.DataFrame(
        {
            "five": column(cell(DOMAINS["five"])),
            "note": column(st.none() | st.text(max_size=3)),
            "x": [0, *column(st.integers(0, 3))[1:-1], 9],
            "two": column(cell(DOMAINS["two"])),
            "y": column(st.sampled_from("pqr")),
            "three": column(cell(DOMAINS["three"])),
        }
    )


def possible(text, values):
    if text.startswith("="):
        return [value for value in values if value == text[1:]]
    return [value for value in values if value not in text.split(";")]


@given(
    table=tables(),
    gamma=st.sampled_from([0.0, 0.25, 4.0]),
    iterations=st.integers(1, 30),
    data=st.data(),
)
def test_confidences_are_distributions_over_the_candidates_and_the_table_stays_as_it_was(
    table, gamma, iterations, data
):
    k = data.draw(st.integers(1, table.height - 1), label="k")
    before = table.clone()
    result = impute(table, SCHEMA, mode="both", k=k, gamma=gamma, iterations=iterations)
    assert_frame_equal(table, before)
    assert_frame_equal(result.frame.select(table.columns), before)
    assert result.frame.columns[: table.width] == table.columns
    for name, values in DOMAINS.items():
        confidences = result.confidences.arrays[name]
        soft = result.frame.select(f"{name}__{value}" for value in values).to_numpy()
        np.testing.assert_array_equal(confidences, soft)
        np.testing.assert_allclose(confidences.sum(axis=1), 1, atol=1e-12)
        assert (confidences >= 0).all()
        hard = zip(
            table[name],
            confidences.tolist(),
            result.frame[f"{name}_imputed"],
            result.frame[f"{name}_confidence"],
            strict=True,
        )
        for text, row, imputed, confidence in hard:
            candidates = possible(text, values)
            of = dict(zip(values, row, strict=True))
            assert all(of[value] == 0 for value in values if value not in candidates)
            assert imputed == max(candidates, key=of.__getitem__)  # of equals, the first
            assert confidence == of[imputed]
            if len(candidates) == 1:
                assert confidence == 1


@pytest.mark.slow
@given(table=tables())
def test_without_correction_the_imputed_value_is_still_a_candidate(table):
    result = impute(table, SCHEMA, mode="both", k=1, correction=False)
    for name, values in DOMAINS.items():
        np.testing.assert_allclose(result.confidences.arrays[name].sum(axis=1), 1, atol=1e-9)
        for text, imputed in zip(table[name], result.frame[f"{name}_imputed"], strict=True):
            assert imputed in possible(text, values)
    assert all(0 <= column.entropy_reduction <= 1 for column in result.report.columns)


def test_without_correction_exclusions_come_back():
    table = pl.DataFrame({"x": [0, 1], "y": "p", "two": "", "three": ["t0", "t1"], "five": ""})
    result = impute(table, SCHEMA, k=1, iterations=1, gamma=0, correction=False)
    # Each row takes over what the other one's cell leaves possible.
    assert result.confidences.arrays["three"].tolist() == [[0.5, 0, 0.5], [0, 0.5, 0.5]]
    corrected = impute(table, SCHEMA, k=1, iterations=1, gamma=0)
    assert corrected.confidences.arrays["three"].tolist() == [[0, 0, 1], [0, 0, 1]]


GROUPS = pl.DataFrame(
    {
        "x": [0.0, 0.1, 0.2, 5.0, 5.1, 5.2],
        "job": ["nurse", "clerk", "nurse", "farmer", "clerk", "farmer"],
        "sex": ["f", "f", "m", "m", "f", "m"],
    }
)
TWO_CFS = Schema(
    columns={
        "x": Ordinary(type="numeric"),
        "job": Complementary(values=["clerk", "nurse", "farmer"]),
        "sex": Complementary(values=["f", "m"]),
    },
    settings={"k": 2, "iterations": 50},
)


def test_the_value_that_no_neighbor_rules_out_is_found():
    result = impute(GROUPS, TWO_CFS)
    # Rows 1 to 3 rule out nurse and clerk among them, rows 4 to 6 farmer and clerk.
    assert result.frame["job_imputed"].to_list() == ["farmer"] * 3 + ["nurse"] * 3
    assert result.frame.columns == [
        "x", "job", "sex", "job_imputed", "job_confidence", "sex_imputed", "sex_confidence",
    ]  # fmt: skip
    assert result.report.rows == 6
    assert result.report.cfl_version == __version__


def test_a_cf_of_two_values_comes_out_certain():
    result = impute(GROUPS, TWO_CFS)
    assert result.frame["sex_imputed"].to_list() == ["m", "m", "f", "f", "m", "f"]
    assert result.frame["sex_confidence"].to_list() == [1.0] * 6
    sex = result.report.columns[1]
    assert (sex.name, sex.entropy_reduction, sex.mean_confidence) == ("sex", 1.0, 1.0)
    assert not sex.flagged
    two_rows = impute(GROUPS.head(2), TWO_CFS, k=1)
    assert two_rows.frame["job_imputed"].to_list() == ["farmer", "farmer"]


@pytest.mark.parametrize("k", [6, 7, 10_000])
def test_more_neighbors_than_other_rows_are_refused(k):
    with pytest.raises(DataError) as caught:
        impute(GROUPS, TWO_CFS, k=k, name="data.csv")
    way_out = "use a fitted model (Model.apply), or add rows"
    assert caught.value.texts == (f"data.csv: 6 rows are too few to estimate from: {way_out}",)
    impute(GROUPS, TWO_CFS, k=5)


def test_a_table_that_is_not_small_is_estimated_with_fewer_neighbors():
    table = pl.concat([GROUPS] * 5)
    with pytest.raises(DataError) as caught:
        impute(table, TWO_CFS, k=30, name="data.csv")
    assert caught.value.texts == (
        "data.csv: k = 30 needs more than 30 rows, and the table has 30: set k to 29 or less",
    )


def test_keywords_win_over_the_schema_and_the_rest_stays():
    used = impute(GROUPS, TWO_CFS, iterations=3, mode="soft", seed=None).report.settings
    assert used == {
        "method": "graph",
        "budget": None,
        "sample": None,
        "k": 2,
        "iterations": 3,
        "gamma": 0.25,
        "ridge": 0.3,
        "seed": 0,
        "folds": "auto",
        "bias": 1.0,
        "calibration": True,
        "neighbors": "auto",
        "correction": True,
        "mode": "soft",
        "min_confidence": 0.0,
        "keep_flagged": False,
    }


def test_what_the_accuracy_is_under_bias_is_reported_if_asked():
    plain, asked = (impute(GROUPS, TWO_CFS, bias=bias).report.columns[0] for bias in (1, 2))
    assert plain.accuracy_under_bias is None
    assert asked.accuracy_under_bias.low <= asked.estimated_accuracy.low
    assert asked.accuracy_under_bias.high >= asked.estimated_accuracy.high


def test_settings_change_the_answer():
    def answer(**chosen):
        return impute(GROUPS, TWO_CFS, **chosen).confidences.arrays["job"].tolist()

    usual = answer()
    assert answer(iterations=1) != usual
    assert answer(k=5) != usual
    assert answer(k=5, ridge=100.0) != answer(k=5)
    assert answer(k=4, gamma=0.0) != answer(k=4, gamma=10.0)


def test_the_seed_decides_among_equal_distances():
    alike = pl.concat([GROUPS.with_columns(x=pl.lit(x)) for x in (0.0, 1.0)])

    def answer(seed):
        return impute(alike, TWO_CFS, seed=seed, iterations=2).confidences.arrays["job"].tolist()

    assert answer(7) == answer(7)
    assert len({str(answer(seed)) for seed in range(5)}) > 1


def test_threads_do_not_change_the_answer_or_stand_in_the_report():
    one, three = impute(GROUPS, TWO_CFS, jobs=1), impute(GROUPS, TWO_CFS, jobs=3)
    assert_frame_equal(one.frame, three.frame, check_exact=True)
    assert one.report.settings == three.report.settings
    assert one.report.columns == three.report.columns
    assert "jobs" not in one.report.settings


def test_what_was_filled_in_or_guessed_stands_in_the_warnings():
    table = GROUPS.with_columns(x=pl.Series([0.0, None, 0.2, 5.0, None, 5.2]))
    schema = Schema(columns={"x": Ordinary(type="numeric"), "job": Complementary()})
    warnings = impute(table, schema, k=2).report.warnings
    assert [warning.split(",")[0] for warning in warnings] == [
        "column 'job': the schema lists no values",
        "column 'x': 2 missing cells filled in",
    ]


@pytest.mark.parametrize(("mode", "taken"), [("hard", "job_imputed"), ("soft", "job__nurse")])
def test_a_new_name_that_is_taken_is_refused_in_the_mode_that_adds_it(mode, taken):
    table = GROUPS.with_columns(pl.lit(1).alias(taken))
    with pytest.raises(DataError, match=f"column '{taken}', which the output adds for 'job'"):
        impute(table, TWO_CFS, mode=mode)
    other = {"hard": "soft", "soft": "hard"}[mode]
    assert impute(table, TWO_CFS, mode=other).frame[taken].to_list() == [1] * 6


def test_where_memory_is_short_a_part_of_many_rows_is_proposed(monkeypatch):
    way_out = r"use a part of the rows \(`fit` with sample, then `Model.apply` for all rows\)"
    monkeypatch.setattr(cost, "MANY_ROWS", 5)
    with pytest.raises(ResourceError, match=way_out):
        impute(GROUPS, TWO_CFS, max_memory="1MB")
    with pytest.raises(ResourceError, match="use a smaller sample, a smaller k or"):
        fit(GROUPS, TWO_CFS, max_memory="1MB", sample=len(GROUPS))


def test_a_run_that_needs_more_memory_than_it_may_have_is_refused_with_numbers(monkeypatch):
    with pytest.raises(
        ResourceError, match=r"the run needs about \d+ MB of memory, and max_memory"
    ):
        impute(GROUPS, TWO_CFS, max_memory="1MB")
    assert impute(GROUPS, TWO_CFS, max_memory="1 GiB").report.rows == len(GROUPS)
    found = process.Allowance(1_000_000, process.DATA, 440_000_000)
    monkeypatch.setattr(process, "allowance", lambda: found)
    with pytest.raises(ResourceError, match="ulimit -d allows 440 MB, of which 1 MB are left"):
        impute(GROUPS, TWO_CFS)


def test_the_report_tells_how_many_neighbors_were_found_and_how_many_steps_were_taken():
    report = impute(GROUPS, TWO_CFS, iterations=3).report
    assert report.neighbor_recall == 1.0
    assert report.steps == (3, 3)
    assert impute(GROUPS, TWO_CFS, iterations=3, gamma=0.0).report.steps == (3,)
