from math import sqrt

import numpy as np
import pytest
from scipy.stats import binomtest, hypergeom

from cfl_cli.trust.intervals import NORMAL, Interval
from cfl_cli.trust.report import WIDTH, agree, ends, judge_audit, more_rows, share


def accepted(right, checked, answers):
    """Return the shares that a score test of the hypergeometric mean and variance accepts."""
    for true in range(answers + 1):
        p = true / answers
        variance = p * (1 - p) / checked * (answers - checked) / (answers - 1)
        if abs(right / checked - p) <= NORMAL * sqrt(variance) + 1e-12:
            yield p


@pytest.mark.parametrize("right", [0, 1, 30, 83, 99, 100])
@pytest.mark.parametrize("answers", [101, 150, 3000])
def test_the_interval_is_that_of_the_score_test_rounded_outward_to_whole_rows(right, answers):
    inside = [*accepted(right, 100, answers)]
    found = share(right, 100, answers)
    assert found.value == right / 100
    step = 1.001 / answers
    if inside:
        assert min(inside) - step <= found.low <= min(inside)
        assert max(inside) <= found.high <= max(inside) + step
    for end in (found.low, found.high):
        assert end * answers == pytest.approx(round(end * answers))


def test_a_table_without_end_has_the_interval_of_the_textbook():
    textbook = binomtest(83, 100).proportion_ci(method="wilson")
    assert ends(0.83, 100, 10**12) == pytest.approx((textbook.low, textbook.high), abs=1e-5)


@pytest.mark.parametrize(("answers", "checked"), [(3000, 100), (400, 100), (60, 20), (25, 24)])
def test_about_95_of_100_intervals_hold_the_truth_whatever_it_is(answers, checked):
    counts = np.arange(checked + 1)
    found = [share(int(right), checked, answers) for right in counts]
    low, high = np.array([(one.low, one.high) for one in found]).T
    held = []
    for true in range(0, answers + 1, max(answers // 150, 1)):
        p = true / answers
        chances = hypergeom(answers, true, checked).pmf(counts)
        held.append(chances @ ((low <= p + 1e-12) & (p - 1e-12 <= high)))
    assert np.mean(held) > 0.95
    assert min(held) > 0.92
    if answers == 3000:
        assert np.mean(held) < 0.96


def test_a_width_is_a_sixth_for_a_hundred_rows_and_left_open_by_rows_not_checked_alone():
    found = share(75, 100, 45_000)
    assert found.high - found.low == pytest.approx(0.166, abs=0.002)
    assert share(7, 10, 10) == Interval(0.7, 0.7, 0.7)
    assert more_rows(7, 10, 10) == 0
    assert share(9, 9, 10) == Interval(1.0, 0.9, 1.0)


@pytest.mark.parametrize(
    ("right", "checked", "answers"), [(83, 100, 3000), (20, 20, 90), (1, 2, 9)]
)
def test_the_rows_that_are_still_to_be_checked_are_found_by_a_scan(right, checked, answers):
    for more in range(answers - checked + 1):
        low, high = ends(right / checked, checked + more, answers)
        if high - low <= WIDTH:
            break
    assert more_rows(right, checked, answers) == more


def audited(**changed):
    plain = {
        "answers": 3000,
        "drawn": 100,
        "checked": 96,
        "right": 80,
        "estimate": Interval(0.9, 0.85, 0.95),
        "former": (Interval(0.9, 0.85, 0.95), "uniform"),
        "contradicted": None,
    }
    return judge_audit(**{**plain, **changed})


def test_rows_left_empty_are_counted_as_wrong_and_as_right():
    found = audited()
    assert (found.empty, found.accuracy) == (4, share(80, 96, 3000))
    assert (found.if_empty_wrong, found.if_empty_right) == (
        share(80, 100, 3000),
        share(84, 100, 3000),
    )
    whole = audited(checked=100)
    assert (whole.empty, whole.if_empty_wrong, whole.if_empty_right) == (0, None, None)


def test_an_estimate_holds_if_it_differs_by_no_more_than_chance_or_was_too_high_or_too_low():
    for changed, held, was in (
        ({}, True, None),
        ({"right": 50}, False, "too high"),
        ({"right": 50, "estimate": Interval(0.2, 0.1, 0.3)}, False, "too low"),
        ({"estimate": None}, None, None),
    ):
        found = audited(**changed)
        assert (found.estimate_held, found.estimate_was) == (held, was)


@pytest.mark.parametrize("turned", [False, True])
def test_intervals_that_only_touch_do_not_agree(turned):
    audit, estimate = Interval(0.67, 0.60, 0.72), Interval(0.77, 0.72, 0.89)
    pair = (estimate, audit) if turned else (audit, estimate)
    assert not agree(*pair)
    assert agree(audit, Interval(0.74, 0.69, 0.86))


def test_of_two_audits_of_the_same_table_95_in_100_agree():
    rng = np.random.default_rng(0)
    counts = rng.binomial(400, 0.7, size=(4000, 2))
    held = [agree(*(share(int(right), 400, 10**9) for right in pair)) for pair in counts]
    assert np.mean(held) == pytest.approx(0.95, abs=0.012)
