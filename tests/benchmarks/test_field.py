from itertools import product
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from builders.reports import column

from benchmarks.field import audit, bias, calibration, copies
from benchmarks.field.holds import calibration_gap
from benchmarks.field.mechanisms import MECHANISMS, with_exact
from benchmarks.risk.__main__ import QUICK, run, summary
from benchmarks.risk.cases import FAMILIES, Case, made
from cfl_cli.trust.intervals import Interval


def looks(n, size, seed=0):
    rng = np.random.default_rng(seed)
    plausible = rng.dirichlet(np.ones(size), n)
    return rng.integers(size, size=n), plausible, rng


@pytest.mark.parametrize("name", [name for name in MECHANISMS if "wrong" not in name])
def test_no_mechanism_rules_out_the_true_value(name):
    truth, plausible, rng = looks(400, 5)
    assert MECHANISMS[name](truth, plausible, rng)[np.arange(400), truth].all()


@pytest.mark.parametrize(("name", "share"), [("3 % wrong", 0.03), ("10 % wrong", 0.1)])
def test_wrong_cells_are_as_many_as_their_name_says(name, share):
    truth, plausible, rng = looks(20_000, 5)
    wrong = ~MECHANISMS[name](truth, plausible, rng)[np.arange(20_000), truth]
    assert wrong.mean() == pytest.approx(share, abs=0.01)


def test_the_likeliest_wrong_value_goes_first_and_exact_cells_leave_the_true_one():
    truth, plausible, rng = looks(300, 4)
    cells = MECHANISMS["likeliest first"](truth, plausible, rng)
    wrong = np.where(np.arange(4) == truth[:, None], -1, plausible)
    assert (cells.argmin(axis=1) == wrong.argmax(axis=1)).all()
    exact = with_exact(cells, truth, 0.2, rng)
    alone = exact.sum(axis=1) == 1
    assert 0.1 < alone.mean() < 0.3
    assert (exact[alone].argmax(axis=1) == truth[alone]).all()


def test_the_calibration_gap_by_hand():
    confidences = np.array([[0.95, 0.05], [0.91, 0.09], [0.55, 0.45], [0.55, 0.45]])
    assert calibration_gap(confidences, np.array([0, 1, 0, 0])) == pytest.approx(
        (abs(1 - 1.86) + abs(2 - 1.1)) / 4
    )


@pytest.mark.parametrize("shares", [(0.6, 0.2, 0.2), (0.25, 0.25, 0.25, 0.25), (0.6, 0.3, 0.1)])
def test_what_shares_explain_is_what_an_enumeration_of_values_and_cells_gives(shares):
    size = len(shares)
    left = 0.0
    for value, excluded in product(range(size), repeat=2):
        if value != excluded:
            posterior = np.array([share for place, share in enumerate(shares) if place != excluded])
            posterior /= posterior.sum()
            left -= shares[value] / (size - 1) * (posterior * np.log(posterior)).sum()
    assert calibration.explained_by(np.array(shares)) == pytest.approx(1 - left / np.log(size - 1))


def test_cfs_are_counted_by_what_is_said_and_what_is_true():
    known = {"estimated_accuracy": Interval(0.6, 0.5, 0.7), "domain_size": 4}
    cfs = [
        bias.Judged(
            "twice as often", column(**known, break_even_bias=2.5), 0.65, 0.4
        ),  # kept its word
        bias.Judged("twice as often", column(**known, break_even_bias=2.5), 0.45, 0.5),  # broke it
        bias.Judged(
            "twice as often", column(**known, unnoticed_bias=1.5), 0.6, 0.4
        ),  # would notice?
        bias.Judged("twice as often", column(domain_size=4), 0.6, 0.4),
        bias.Judged("people", column(domain_size=3), 0.6, 0.4),
    ]
    assert list(bias.table(cfs))[2:] == [
        "| people | 3 | 1 | 1 | 0 | 1 | 1 | 0 of 0 | 0 of 0 |",
        "| twice as often | 4 or more | 4 | 1 | 2 | 3 | 4 | 1 of 2 | 2 of 3 |",
    ]


def case(answers):
    """Return a case of 200 rows with two CFs; the first half of the first one's values is 1."""
    truth = np.zeros((200, 2), dtype=int)
    truth[:100, 0] = 1
    candidates = np.ones((200, 4), dtype=bool)
    confidences = np.tile([0.9, 0.1, 0.2, 0.8], (200, 1))
    candidates[:50, 3] = False  # the second CF's answer is 0 there, and 1 elsewhere
    blocks = [SimpleNamespace(columns=slice(0, 2)), SimpleNamespace(columns=slice(2, 4))]
    return SimpleNamespace(
        table="made",
        mechanism="by hand",
        truth=truth,
        encoded=SimpleNamespace(blocks=blocks, candidates=candidates),
        estimate=SimpleNamespace(answers=answers, confidences=confidences),
    )


def test_answers_are_those_of_the_estimate_or_the_most_confident_candidates():
    assert audit.right(case(None)).mean(axis=0).tolist() == [0.5, 0.25]
    assert audit.right(case(np.zeros((200, 2), dtype=int))).mean(axis=0).tolist() == [0.5, 1.0]


def test_most_audits_hold_the_truth_and_all_of_them_where_every_row_is_checked():
    some = [*audit.audits(case(None), rows=50, times=200)]
    assert [one.accuracy for one in some] == [0.5, 0.25]
    assert all(one.held > 0.9 for one in some)
    assert some[0].width == pytest.approx(0.235, abs=0.02)
    assert {(one.held, one.width) for one in audit.audits(case(None), rows=200, times=3)} == {
        (1.0, 0.0)
    }


# Of all figures at 95 %, those of a table not being independent: two tables' worth of luck.
LEAST_HELD = 0.88


@pytest.fixture
def four():
    excluded = np.array([[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [1, 1, 1, 0]], dtype=bool)
    ofs = {"x": pl.Series("x", [4.0, 1.0, None, 3.0]), "t": pl.Series("t", ["p", "p", "q", "r"])}
    return Case("four", ofs, {"cf": np.array([0, 3, 1, 3])}, {"cf": excluded})


def test_cells_are_written_as_the_schema_has_them(four):
    assert four.frame["cf"].to_list() == ["v1|v2", "v2", "", "v0|v1|v2"]
    assert four.schema.complementary["cf"].separator == "|"


def test_a_further_exclusion_is_never_the_true_value(four):
    for seed in range(20):
        more = four.with_more(np.random.default_rng(seed)).excluded["cf"]
        assert more.sum(axis=1).tolist() == [3, 2, 0, 3]  # the last one is exact already
        assert not more[np.arange(4), four.truth["cf"]].any()
        assert (more | four.excluded["cf"]).sum() == more.sum()


def test_one_exclusion_fewer_only_where_there_are_several(four):
    fewer = four.with_fewer(np.random.default_rng(0)).excluded["cf"]
    assert fewer.sum(axis=1).tolist() == [1, 1, 0, 3]
    assert not (fewer & ~four.excluded["cf"]).any()


def test_a_made_table_is_the_same_for_the_same_seed():
    one, other = made(3, seed=5), made(3, seed=5)
    assert one.frame.equals(other.frame)
    assert not one.frame.equals(made(3, seed=6).frame)


@pytest.mark.slow
def test_nearly_all_figures_hold_on_a_table_of_each_family():
    tables = (made(number, seed=77, rows=400) for number in range(len(FAMILIES)))
    lines = run(tables, **QUICK)
    assert len(lines) > 100
    assert np.mean([line.holds for line in lines]) >= LEAST_HELD, [*summary(lines)]


@pytest.mark.parametrize("kind", copies.KINDS)
def test_copies_of_every_kind_keep_cells_that_leave_the_truth(kind):
    table = copies.survey("survey of 3 OFs", seed=0)
    frame, schema, truth = copies.copied(table, kind, 0)
    assert frame.height == len(truth)
    assert (copies.KEY in frame.columns) == (kind == "six years, cells carried forward")
    for name, right in zip(table.domains, truth.T, strict=True):
        values = schema.complementary[name].values
        cells = zip(frame[name], right, strict=True)
        assert not any(cell == values[true] for cell, true in cells)


def test_honest_tables_of_every_sort_have_no_warning_of_copies():
    assert [*copies.false_warnings(range(5))] == ["0 of 5 tables without copies have a warning"]
