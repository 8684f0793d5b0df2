"""The field: how its cells come about, and what its measurements print."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from builders.reports import column

from benchmarks.field import audit, bias, calibration
from benchmarks.field.holds import calibration_gap
from benchmarks.field.mechanisms import MECHANISMS, with_exact
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
        "| people | 3 | 1 | 1 | 0 | 1 | 0 of 0 | 0 of 0 |",
        "| twice as often | 4 or more | 4 | 1 | 2 | 3 | 1 of 2 | 2 of 3 |",
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
