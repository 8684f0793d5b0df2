import json
import math
import platform
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from builders.encoding import encoded
from builders.reports import column, report, without_checksums

from cfl_cli import Schema, impute
from cfl_cli.core.exclusions import Mechanism, Uniformity
from cfl_cli.encode.encode import Block, Encoded
from cfl_cli.methods.interface import Estimate, Hidden, Null, Origin
from cfl_cli.schema.model import Complementary
from cfl_cli.trust import (
    AUDIT,
    EXACT_CELLS,
    NONE,
    NOT_HIDDEN,
    NOT_RANDOM,
    NOTHING_SAID,
    REASONS,
    Verdict,
    by_verdict,
    heading,
    verdict,
    verdict_on,
)
from cfl_cli.trust.facts import ColumnFacts
from cfl_cli.trust.heldout import Calibration
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.report import BatchFacts, Report, judge_audit
from cfl_cli.trust.verdict import THRESHOLDS, build, doubts, versions, without_truth


def built(candidates, confidences, *, fell_back=None, keep_flagged=False, mass=None, **judged):
    candidates = np.array(candidates, dtype=bool)
    rows, size = candidates.shape
    block = Block("cf", tuple("abcdefghijklmnop"[:size]), 0, 1.5, 2, 3)
    encoded = Encoded(np.zeros((rows, 1)), candidates, (block,), ("beware",))
    fell = np.zeros((rows, 1), dtype=bool) if fell_back is None else np.array(fell_back)[:, None]
    allowed = np.ones((rows, 1)) if mass is None else np.array(mass)[:, None]
    origin = judged.pop("origin", Origin("graph", round=2, iterations=8))
    min_confidence, bias = judged.pop("min_confidence", 0.0), judged.pop("bias", 1.0)
    found = build(
        encoded,
        Estimate(
            np.array(confidences), fell, allowed, (origin,), rescued_rows=4, steps=(9, 8), **judged
        ),
        cfl_version="9",
        settings={"k": 1},
        k=1,
        always_second_round=False,
        keep_flagged=keep_flagged,
        min_confidence=min_confidence,
        bias=bias,
    )
    assert (found.rows, found.warnings, found.rescued_rows) == (rows, ("beware",), 4)
    return found.columns[0]


def test_the_facts_of_a_cf_are_those_worked_by_hand():
    found = built([[1, 1, 0], [1, 1, 1]], [[0.5, 0.5, 0.0], [0.7, 0.2, 0.1]])
    start = (math.log(2) + math.log(3)) / 2
    end = (math.log(2) + 0.801819) / 2
    assert found.entropy_start == pytest.approx(start)
    assert found.entropy_end == pytest.approx(end, abs=1e-6)
    assert found.entropy_reduction == pytest.approx(1 - end / start, abs=1e-6)
    assert found.mean_confidence == pytest.approx((0.5 + 0.7) / 2)
    assert (found.domain_size, found.exclusions_per_cell) == (3, 1.5)
    assert (found.exact_cells, found.empty_cells) == (2, 3)
    assert found.flags == ("small-entropy-reduction",)


def test_the_report_says_where_a_blend_is_a_cautious_one():
    cells, confidences = [[1, 1, 0], [1, 1, 1]], [[0.5, 0.5, 0.0], [0.7, 0.2, 0.1]]
    found = built(cells, confidences, origin=Origin("auto", cautious=True))
    assert found.cautious_blend
    assert (found.accuracy_basis, found.accuracy_reason) == ("none", NOT_RANDOM)
    assert "exclusions-not-uniform" in found.flags  # by what the parts said
    assert not built(cells, confidences, origin=Origin("auto")).cautious_blend


def test_a_cf_that_was_certain_from_the_start_is_reduced_in_full_and_not_flagged():
    found = built([[1, 0], [0, 1]], [[1.0, 0.0], [0.0, 1.0]])
    assert (found.entropy_start, found.entropy_end, found.entropy_reduction) == (0, 0, 1)
    assert (found.flags, found.flagged, found.mean_confidence) == ((), False, 1)


def test_entropy_that_grew_counts_as_no_reduction_and_none_is_below_0():
    grown = built([[1, 1, 0]], [[0.4, 0.3, 0.3]])  # without correction, exclusions come back
    assert grown.entropy_end > grown.entropy_start
    assert grown.entropy_reduction == 0
    rounded = built([[1, 1, 0]], [[1.0000000000000002, 0.0, 0.0]])
    assert f"{rounded.entropy_end:.2f}" == "0.00"
    assert rounded.entropy_reduction == pytest.approx(1)


@pytest.mark.parametrize(("left", "flagged"), [(9, True), (7, False)])
def test_a_reduction_under_a_quarter_is_flagged(left, flagged):
    # From 16 values alike to `left` values alike: 1 − ln 9 / ln 16 = 0.21, 1 − ln 7 / ln 16 = 0.30.
    confidences = [[1 / left] * left + [0.0] * (16 - left)]
    found = built([[1] * 16], confidences)
    assert found.flagged == flagged
    assert found.flags == (("small-entropy-reduction",) if flagged else ())


@pytest.mark.parametrize(("keep", "action"), [(True, "kept"), (False, "imputed")])
def test_only_a_flagged_cf_is_kept_and_only_if_asked(keep, action):
    useless, useful = [[1 / 3] * 3], [[1.0, 0.0, 0.0]]
    assert built([[1, 1, 1]], useless, keep_flagged=keep).action == action
    assert built([[1, 1, 1]], useful, keep_flagged=keep).action == "imputed"


def test_rows_that_fell_back_are_counted_and_do_not_flag_alone():
    certain = [[1.0, 0.0, 0.0]] * 3
    found = built([[1, 1, 1]] * 3, certain, fell_back=[True, False, True])
    assert (found.fallback_rows, found.flags, found.flagged) == (2, ("fallback-rows",), False)


def test_the_commonest_share_is_that_of_exact_cells_within_0_and_1_or_not_known():
    assert built([[1, 1, 1]] * 4, [[1 / 3] * 3] * 4).commonest_share is None
    exact = np.eye(3)[[0, 2, 2, 1, 2]]
    found = built(exact, exact)
    assert found.commonest_share == pytest.approx(3 / 5)
    assert found.commonest_share_interval.low < 0.6 < found.commonest_share_interval.high
    never = built([[1, 1, 0], [1, 1, 0]], [[0.5, 0.5, 0.0]] * 2)
    assert never.commonest_share == 1  # 1 − 2 · 0/2; the third would be 1 − 2 · 2/2 = −1


def cells(rng, truth, size):
    excluded = (truth + rng.integers(1, size, len(truth))) % size
    return np.arange(size) != excluded[:, None]


def judged(right, *, n=1500, size=4, skew=0.0, entropy=0.3, shuffled=0.9, hidden=None, **options):
    """Return the report of a CF whose priors are right with a probability, the rest by chance."""
    rng = np.random.default_rng(0)
    shares = np.full(size, (1 - skew) / size) + np.eye(size)[0] * skew
    truth = rng.choice(size, n, p=shares)
    candidates = cells(rng, truth, size)
    top = np.where(rng.random(n) < right, truth, rng.choice(size, n, p=shares))
    prior = 0.9 * np.eye(size)[top] + 0.1 / size
    confidences = prior * candidates / (prior * candidates).sum(axis=1, keepdims=True)
    rows = np.arange(n) if hidden is None else np.arange(hidden)
    found = built(
        candidates,
        confidences,
        hidden=Hidden(rows, prior[rows]),
        null=Null(np.array([entropy]), np.array([shuffled]), n),
        **options,
    )
    return found, (confidences.argmax(axis=1) == truth).mean()


@pytest.mark.parametrize("hidden", [None, 300])
def test_the_accuracy_is_estimated_from_hidden_cells(hidden):
    found, accuracy = judged(0.7, hidden=hidden)
    low, value, high = (getattr(found.estimated_accuracy, end) for end in ("low", "value", "high"))
    assert low < accuracy < high
    assert low < value < high
    assert high - low < (0.3 if hidden else 0.15)
    assert found.hidden_cells == (hidden or 1500)
    assert found.heldout_score < 0
    assert found.gain.low > 0
    assert (found.flags, found.round, found.iterations) == ((), 2, 8)


def test_rows_that_judged_each_other_leave_more_to_chance():
    in_turn, _ = judged(0.7)
    apart, _ = judged(0.7, hidden=1499)
    widths = [
        found.estimated_accuracy.high - found.estimated_accuracy.low for found in (in_turn, apart)
    ]
    assert widths[0] / widths[1] == pytest.approx(2**0.5, rel=0.02)


def test_answers_like_the_commonest_are_flagged():
    found, _ = judged(0.0, skew=0.6)
    assert found.commonest_share == pytest.approx(0.7, abs=0.05)
    assert found.gain.value < 0.05
    assert not found.clearly_better
    assert found.flags == ("no-better-than-commonest",)
    assert found.flagged


def test_whatever_priors_show_nothing_is_clearly_better_without_a_gain(monkeypatch):
    monkeypatch.setattr("cfl_cli.trust.heldout.evidence", lambda _: (0.0, 9.0, 9.0))
    worse, better = judged(0.0, skew=0.6)[0], judged(0.7)[0]
    assert (worse.gain.value < 0, worse.clearly_better) == (True, False)
    assert (better.gain.value > 0, better.clearly_better) == (True, True)


@pytest.mark.parametrize(
    ("entropy", "flagged"), [(0.3, False), (0.75, False), (0.85, True), (0.9, True), (1.0, True)]
)
def test_entropy_that_shuffled_cells_lose_too_is_flagged(entropy, flagged):
    found, _ = judged(0.7, entropy=entropy)
    assert ("small-entropy-reduction" in found.flags) == flagged
    left, null = 1 - found.entropy_reduction, 1 - found.entropy_reduction_null
    assert null == pytest.approx(min(1, left * 0.9 / entropy))


def test_a_small_reduction_is_shown_but_not_flagged_where_answers_are_clearly_better():
    found, _ = judged(0.7, entropy=0.9)
    assert (found.flags, found.flagged) == (("small-entropy-reduction",), False)
    assert found.clearly_better
    unknown = built([[1, 1, 1]], [[1 / 3] * 3])
    assert (unknown.flags, unknown.flagged) == (("small-entropy-reduction",), True)
    assert unknown.clearly_better is None


def test_in_a_small_table_entropy_must_differ_by_more():
    assert "small-entropy-reduction" not in judged(0.7, n=1500, entropy=0.75)[0].flags
    assert "small-entropy-reduction" in judged(0.7, n=60, entropy=0.75)[0].flags


def test_exclusions_that_cannot_be_uniform_are_reported_by_place():
    rng = np.random.default_rng(0)
    truth = rng.choice(3, 600, p=[0.5, 0.3, 0.2])
    excluded = np.where(truth == 1, 0, 1)  # the second value is ruled out wherever it can be
    candidates = np.arange(3) != excluded[:, None]
    found = built(candidates, candidates / 2)
    assert "exclusions-not-uniform" in found.flags
    assert found.flagged
    assert found.impossible_values == (2,)
    assert (found.commonest_share, found.commonest_share_interval) == (None, None)
    assert found.accuracy_reason == "exclusions are not random (audit it)"


def by_plausibility(n=1500, size=4):
    """Return cells that rule out the least likely wrong value, and the priors that show it."""
    rng = np.random.default_rng(0)
    prior = rng.dirichlet(np.ones(size), size=n)
    truth = (prior.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    looks = np.where(np.arange(size) == truth[:, None], np.inf, prior)
    return np.arange(size) != looks.argmin(axis=1)[:, None], prior


def test_where_hidden_priors_refute_uniform_exclusions_nothing_that_rests_on_them_is_said():
    candidates, prior = by_plausibility()
    confidences = prior * candidates / (prior * candidates).sum(axis=1, keepdims=True)
    found = built(
        candidates, confidences, hidden=Hidden(np.arange(1500), prior), min_confidence=0.5
    )
    assert found.impossible_values == ()  # the shares alone do not show it
    assert found.flagged
    assert "exclusions-not-uniform" in found.flags
    assert "no-better-than-commonest" not in found.flags  # nobody knows
    assert found.accuracy_basis == "none"
    assert found.accuracy_reason == "exclusions are not random (audit it)"
    unknown = (found.estimated_accuracy, found.commonest_accuracy, found.gain, found.calibration)
    assert unknown == (None,) * 4
    assert (found.commonest_share, found.confident.accuracy) == (None, None)
    assert (found.break_even_bias, found.unnoticed_bias, found.accuracy_under_bias) == (None,) * 3
    assert found.confident.share > 0
    assert found.heldout_score < 0


def test_an_accuracy_that_is_clearly_above_1_before_it_is_clipped_is_not_known():
    # Of six values, cells rule out the last three only, a third of the rows each: too few rows to
    # accuse one of them. But neither of the first two is ever ruled out: 1 + 1/5 would be right.
    prior = np.tile([0.3, 0.25, 0.2, 0.15, 0.06, 0.04], (160, 1))
    candidates = np.arange(6) != 3 + np.arange(160)[:, None] % 3
    confidences = prior * candidates / (prior * candidates).sum(axis=1, keepdims=True)
    found = built(candidates, confidences, hidden=Hidden(np.arange(160), prior))
    assert found.impossible_values == ()
    assert not Uniformity(prior, candidates, Mechanism(6), mutual=True).refuted
    assert found.accuracy_basis == "none"
    assert "exclusions-not-uniform" in found.flags


def test_an_accuracy_says_what_it_rests_on_and_what_it_is_worth_under_bias():
    found, _ = judged(0.9, bias=1.5)
    assert (found.accuracy_basis, found.accuracy_reason) == ("uniform", None)
    assert 1 < found.break_even_bias < 100
    assert found.unnoticed_bias > 1
    band, accuracy = found.accuracy_under_bias, found.estimated_accuracy
    assert band.low < accuracy.low < accuracy.high <= band.high
    assert judged(0.9)[0].accuracy_under_bias is None
    assert judged(0.0, skew=0.6)[0].break_even_bias is None  # no better than the commonest


def test_cells_below_the_least_confidence_are_counted_and_the_rest_is_judged():
    found, _ = judged(0.7, min_confidence=0.5)
    every, _ = judged(0.7)
    assert 0 < found.low_confidence_cells < 1500
    assert found.confident.share == pytest.approx(1 - found.low_confidence_cells / 1500)
    assert found.confident.accuracy.low < found.confident.accuracy.value
    assert (every.low_confidence_cells, every.confident) == (0, None)


def test_cells_whose_candidates_get_under_1_percent_are_counted():
    certain = [[1.0, 0.0, 0.0]] * 3
    assert built([[1, 1, 0]] * 3, certain, mass=[0.001, 0.5, 1.0]).suspect_cells == 1


def test_the_share_of_wrong_cells_is_bounded_where_rows_were_hidden():
    found, _ = judged(0.95)  # of 4 values, and no cell is wrong
    assert 0 < found.wrong_cells_most < 0.1
    chance, most = 1 / 4, found.wrong_cells_most
    said = most * math.log(most / chance) + (1 - most) * math.log((1 - most) / (1 - chance))
    assert found.wrong_cells_cost == pytest.approx(1 + said / math.log(1 - chance))
    unknown = built([[1, 1, 0]], [[1.0, 0.0, 0.0]])
    assert (unknown.wrong_cells_most, unknown.wrong_cells_cost) == (None, None)


def test_calibration_is_reported_in_bins_and_as_a_plot():
    found, accuracy = judged(0.7)
    calibration = found.calibration
    assert len(calibration.plot) == 10
    assert {place for place, sign in enumerate(calibration.plot) if sign != " "} == {
        round(part.low * 10) for part in calibration.bins
    }
    assert sum(part.cells for part in calibration.bins) == pytest.approx(1500, abs=5)
    gap = found.mean_confidence - accuracy
    assert calibration.overconfidence.low < gap < calibration.overconfidence.high


def test_without_hidden_cells_nothing_is_estimated():
    found = built([[1, 1, 0]] * 3, [[1.0, 0.0, 0.0]] * 3)
    nothing = (found.heldout_score, found.estimated_accuracy, found.entropy_reduction_null)
    assert nothing == (None, None, None)
    assert (found.calibration, found.gain, found.commonest_accuracy) == (None, None, None)
    assert found.accuracy_basis == "none"
    assert found.accuracy_reason == NOT_HIDDEN


def test_hidden_cells_that_are_all_empty_say_nothing():
    empty, alike = np.ones((3, 3)), np.full((3, 3), 1 / 3)
    found = built(empty, alike, hidden=Hidden(np.arange(3), alike))
    assert (found.accuracy_basis, found.accuracy_reason) == ("none", NOTHING_SAID)


def with_marks(*, at_random, marked=300, n=1500, size=4):
    """Return the report of a CF whose first value is ruled out wherever it is wrong, some exact."""
    rng = np.random.default_rng(0)
    truth = rng.integers(size, size=n)
    candidates = np.arange(size) != np.where(truth == 0, 1, 0)[:, None]
    marks = np.arange(n) < marked
    candidates[marks] = np.eye(size, dtype=bool)[truth[marks]]
    prior = np.tile([0.4, 0.3, 0.2, 0.1], (n, 1))
    confidences = prior * candidates / (prior * candidates).sum(axis=1, keepdims=True)
    block = Block("cf", tuple("abcd"), 0, 1, marked, 0, marked=marks, marked_at_random=at_random)
    hidden = Hidden(np.arange(n), prior)
    none, all_of_it = np.zeros((n, 1), dtype=bool), np.ones((n, 1))
    found = build(
        Encoded(np.zeros((n, 1)), candidates, (block,), ()),
        Estimate(confidences, none, all_of_it, (Origin("graph"),), hidden=hidden),
        cfl_version="9",
        settings={},
        k=1,
        always_second_round=False,
    ).columns[0]
    right = confidences.argmax(axis=1) == truth
    return found, right[~marks].mean(), right.mean()


def test_exact_cells_are_the_headline_only_if_the_schema_says_that_they_are_a_random_sample():
    said, right, right_in_all = with_marks(at_random=True)
    unsaid, _, _ = with_marks(at_random=False)
    assert said.exact_accuracy == unsaid.exact_accuracy
    assert said.exact_accuracy.low < right < said.exact_accuracy.high
    assert said.hidden_exact_cells == 300
    assert (said.accuracy_basis, unsaid.accuracy_basis) == ("exact-cells", "none")
    assert said.estimated_accuracy.low < right_in_all < said.estimated_accuracy.high
    assert unsaid.estimated_accuracy is None  # its cells are not random


def test_too_few_exact_cells_leave_the_headline_as_it_is():
    found, _, _ = with_marks(at_random=True, marked=49)
    assert (found.exact_accuracy, found.hidden_exact_cells) == (None, 0)
    assert found.accuracy_basis == "none"


# How common values are and how sure answers, counted by hand; what is rare has no number.


ABC = {"values": ["a", "b", "c"], "separator": ";", "exact": "="}


def facts(cells, confidences, **cf):
    table = encoded(cells, Complementary(**cf))
    n, m = len(cells), np.ones((len(cells), 1))
    estimate = Estimate(np.array(confidences), np.zeros((n, 1), bool), m, (Origin("graph"),))
    return ColumnFacts(table, estimate, 0)


def test_shares_come_from_the_cells_beside_mean_confidences_and_how_often_values_are_ruled_out():
    # 60 cells rule out a and b, 10 each one value, 10 are exact (=b) and 20 empty.
    cells = ["a;b"] * 60 + ["c", "a", "b"] * 10 + ["=b"] * 10 + [""] * 20
    confidences = [[0, 0, 1.0]] * 60 + [[0.5, 0.5, 0], [0, 0.5, 0.5], [0.5, 0, 0.5]] * 10
    confidences += [[0, 1.0, 0]] * 10 + [[0.6, 0.3, 0.1]] * 20
    a, b, c = without_truth(facts(cells, confidences, **ABC), None)["values"]
    assert [one.label for one in (a, b, c)] == ["a", "b", "c"]
    means = [one.mean_confidence for one in (a, b, c)]
    assert means == pytest.approx([22 / 120, 26 / 120, 72 / 120])
    # One exclusion of three counts −1 for its value and 1 for the others; two leave one value.
    shares = [one.estimated for one in (a, b, c)]
    assert shares == pytest.approx([10 / 100, (10 + 10) / 100, (60 + 10) / 100])
    assert a.estimated_low < a.estimated < a.estimated_high
    assert (a.ruled_out, b.ruled_out, c.ruled_out) == pytest.approx((70 / 90, 70 / 90, 10 / 90))


def test_what_is_under_ten_rows_or_one_per_cent_has_no_number():
    cells = ["a"] * 9 + ["b"] * 1191
    confidences = [[0, 0.5, 0.5]] * 9 + [[0.995, 0, 0.005]] * 1191
    a, b, c = without_truth(facts(cells, confidences, **ABC), None)["values"]
    assert a.ruled_out is None  # nine rows
    assert (b.mean_confidence, c.mean_confidence) == (None, None)  # 4.5 rows; 0.9 %
    # A value in 99 % of the cells is ruled out too often.
    assert (b.estimated, b.estimated_high) == (None, None)
    assert b.ruled_out == pytest.approx(1191 / 1200)


def test_a_rare_value_that_no_schema_lists_has_no_label():
    cells = ["common"] * 50 + ["usual"] * 50 + ["Jane Doe, born 1970"]
    confidences = [[0, 0, 1.0]] * 50 + [[0, 1.0, 0]] * 50 + [[0, 0.5, 0.5]]
    rare, *others = without_truth(facts(cells, confidences), None)["values"]
    assert (rare.label, rare.estimated, rare.ruled_out) == (None, None, None)
    assert [one.label for one in others] == ["common", "usual"]


def test_answers_are_counted_by_tenths_of_confidence_and_exact_cells_are_not():
    confidences = [[0.55, 0.45, 0], [0.55, 0.45, 0], [0.05, 0.95, 0], [0, 0, 1.0]]
    found = facts(["c", "c", "c", "=c"], confidences, **ABC)
    shares = without_truth(found, None)["confidence_shares"]
    assert shares == pytest.approx([0] * 5 + [2 / 3] + [0] * 3 + [1 / 3])
    exact = facts(["=a", "=b"], np.eye(3)[:2], **ABC)
    assert without_truth(exact, None)["confidence_shares"] == ()


def test_thresholds_leave_the_answers_that_are_as_confident():
    confidences = [[0.55, 0.45, 0], [0.7, 0.3, 0], [0.05, 0.95, 0], [0, 0, 1.0]]
    found = without_truth(facts(["c", "c", "c", "=c"], confidences, **ABC), None)["coverage"]
    shares = {one.min_confidence: one.share for one in found}
    assert [*shares] == [*THRESHOLDS]
    assert [shares[x] for x in (0.5, 0.55, 0.6, 0.7, 0.75, 0.95)] == [1, 1, 0.75, 0.75, 0.5, 0.5]
    assert all(one.accuracy is None for one in found)


# A run warns where hidden cells make answers look better than they are.


COLUMNS = {
    "x": {"role": "ordinary", "type": "numeric"},
    "y": {"role": "ordinary", "type": "numeric"},
    "cf": {"role": "complementary", "values": ["a", "b", "c"]},
}


def table(n, *, levels=None):
    rng = np.random.default_rng(0)
    x, y = rng.random((2, n)) if levels is None else rng.integers(levels, size=(2, n)) * 1.0
    excluded = ((x + y) / max((x + y).max(), 1e-9) * 2.99).astype(int) + rng.integers(1, 3, n)
    return pl.DataFrame({"x": x, "y": y, "cf": np.array(list("abc"))[excluded % 3]})


def warnings(frame, **settings):
    return impute(frame, Schema(columns=COLUMNS), k=5, iterations=10, **settings).report.warnings


def test_an_honest_table_is_not_doubted():
    assert warnings(table(300)) == ()


def test_a_second_round_over_few_distinct_rows_is_doubted_if_it_was_asked_for():
    few = table(300, levels=3)
    for asked, instead in (
        ({"gamma": 0.25}, "--gamma auto, or --gamma 0"),
        ({"folds": 0}, "--gamma 0"),  # without hidden cells nothing can be chosen
    ):
        [warning] = warnings(few, **asked)
        assert warning == (
            "only 9 rows are distinct by their OFs. A second round often makes such tables worse, "
            f"and held-out cells don't show it: try {instead}"
        )
    assert warnings(few, gamma=0.0) == ()
    assert warnings(few, gamma="auto") == ()


def test_over_few_distinct_rows_hidden_cells_choose_the_round_unless_gamma_was_asked_for():
    few = table(300, levels=3)
    left_open, chosen, asked = (
        impute(few, Schema(columns=COLUMNS), k=5, iterations=10, **gamma)
        for gamma in ({}, {"gamma": "auto"}, {"gamma": 0.25})
    )
    assert left_open.report.settings == chosen.report.settings
    assert left_open.frame.equals(chosen.frame)
    assert asked.report.settings["gamma"] == 0.25
    [warning] = left_open.report.warnings
    assert warning == (
        "only 9 rows have distinct OFs, where a second round often lowers the accuracy, so gamma "
        "is auto: a second round only for CFs whose held-out cells it predicts better; --gamma 0.25 "
        "makes one for all CFs"
    )
    in_schema = Schema(columns=COLUMNS, settings={"gamma": 0.25})
    report = impute(few, in_schema, k=5, iterations=10).report
    assert report.settings["gamma"] == 0.25


def test_with_many_distinct_rows_gamma_is_the_papers():
    settings = impute(table(300), Schema(columns=COLUMNS), k=5, iterations=10).report.settings
    assert settings["gamma"] == 0.25


def test_a_mechanism_whose_cells_do_not_distinguish_the_values_is_named():
    rates = np.array([[0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5], [0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0]])
    block = Block("cf", tuple("abcd"), 0, 1.0, 0, 0, rates)
    encoded = Encoded(np.arange(3.0)[:, None], np.ones((3, 4), dtype=bool), (block,), ())
    assert list(doubts(encoded, None, k=1, always_second_round=True)) == [
        (
            "column 'cf': under its mechanism, exclusions can't tell some values apart, so its "
            "accuracy can't be estimated"
        )
    ]


def test_too_few_exact_cells_that_are_said_to_be_a_random_sample_are_counted_in_a_warning():
    marked = np.arange(80) < 60
    block = Block("cf", tuple("abc"), 0, 1.0, 60, 0, marked=marked, marked_at_random=True)
    encoded = Encoded(np.arange(80.0)[:, None], np.ones((80, 3), dtype=bool), (block,), ())
    asked = {"k": 1, "always_second_round": False}
    assert list(doubts(encoded, np.arange(80), **asked)) == []
    assert list(doubts(encoded, np.arange(49), **asked)) == [
        "column 'cf': 49 held-out exact cells, and `exact_cells: random` needs 50 or more"
    ]
    assert list(doubts(encoded, None, **asked)) == []


def test_versions_are_those_that_packages_name_themselves():
    found = versions()
    assert found["python"] == platform.python_version()
    assert found["numpy"] == np.__version__
    assert [*found] == ["python", *verdict.DECIDING]


GOOD = {
    "estimated_accuracy": Interval(0.92, 0.9, 0.97),
    "commonest_accuracy": Interval(0.37, 0.3, 0.4),
    "accuracy_basis": "uniform",
    "hidden_cells": 900,
    "domain_size": 5,
    "break_even_bias": 9.0,
    "unnoticed_bias": 2.2,
}


def use(**facts):
    one = column("dx", **{**GOOD, **facts})
    return verdict_on(one, 1234)


def test_a_good_cf_is_to_be_used_with_its_accuracy_in_plain_numbers():
    found, right = use(), "use it. About 92 in 100 imputed values are correct (90 to 97)."
    assert (found.verdict, found.look_at) == (Verdict.USE, ())
    assert found.sentence == (
        f"{right} The baseline, the most common value that each cell allows, is correct in 37."
    )
    assert use(commonest_accuracy=None).sentence == right


def test_a_cf_that_nobody_measured_is_not_relied_on():
    found = use(estimated_accuracy=None, accuracy_basis=NONE, accuracy_reason=NOT_HIDDEN)
    assert found.verdict is Verdict.NOT_KNOWN
    assert "no cells were held out (--folds 0)" in found.sentence
    earlier = use(
        estimated_accuracy=None,
        accuracy_basis=NONE,
        accuracy_reason="no cells were hidden (--folds 0)",
    )
    assert earlier.reasons == found.reasons
    assert (found.reasons, found.next) == (("no-held-out-cells",), "--folds auto")
    found = use(estimated_accuracy=None)
    assert found.sentence == "its accuracy is not known. Do not rely on it yet."
    assert (found.reasons, found.next) == (("not-measured",), None)


def test_where_exclusions_are_not_random_nothing_is_known():
    facts = {"flags": ("exclusions-not-uniform",), "flagged": True}
    found = use(**facts, estimated_accuracy=None)
    assert found.verdict is Verdict.NOT_KNOWN
    assert "cfl audit" in found.sentence
    assert found.reasons == ("exclusions-not-uniform",)
    assert found.next == "cfl audit OUT --draw 100 --out rows.csv"
    # … unless something tells that assumes nothing of them.
    for basis, word in ((AUDIT, "by audit"), (EXACT_CELLS, "exact cells")):
        found = use(**facts, accuracy_basis=basis)
        assert found.verdict is Verdict.CARE
        assert word in found.look_at[0]


def test_what_is_no_better_than_the_commonest_is_not_used_and_says_by_how_much():
    flags = ("no-better-than-commonest",)
    half = Interval(0.47, 0.43, 0.6)
    found = use(flags=flags, flagged=True, estimated_accuracy=half, action="kept")
    assert found.verdict is Verdict.DO_NOT_USE
    assert found.sentence == (
        "do not use it. In cross-validation it does not beat the baseline, the most common value "
        "that each cell allows (47 in 100 imputed values are correct, baseline: 37)."
    )
    assert (found.reasons, found.next) == (flags, None)
    assert use(flags=flags, flagged=True).next == "--keep-flagged"
    assert found.look_at == ("It was left as observed.",)


def test_a_drifted_cf_is_not_used():
    found = use(flags=("drifted",), flagged=True)
    assert found.verdict is Verdict.DO_NOT_USE
    assert "still ruled out at random: about 92 in 100 imputed values are correct" in found.sentence


OVER = Calibration(0.1, Interval(0.08, 0.05, 0.11), (), "")
AUDITED = judge_audit(
    answers=1000,
    drawn=100,
    checked=100,
    right=80,
    estimate=Interval(0.95, 0.94, 0.96),
    former=(None, None),
    contradicted=None,
)


@pytest.mark.parametrize(
    ("facts", "state", "word"),
    [
        ({"estimated_accuracy": Interval(0.33, 0.3, 0.36)}, Verdict.CARE, "--mode soft"),
        ({"hidden_cells": 12}, Verdict.CARE, "rests on only 12 held-out cells"),
        ({"estimated_accuracy": Interval(0.8, 0.6, 0.95)}, Verdict.CARE, "only roughly"),
        ({"calibration": OVER}, Verdict.CARE, "too high, by about 8 in 100"),
        ({"fallback_rows": 13}, Verdict.CARE, "In 13 rows"),
        ({"fallback_rows": 12}, Verdict.USE, "In 12 rows"),  # of 1,234
        ({"flags": ("new-categories",)}, Verdict.CARE, "never seen"),
        ({"flags": ("out-of-range",)}, Verdict.CARE, "outside the range"),
        ({"audit": AUDITED, "accuracy_basis": AUDIT}, Verdict.USE, "was too high"),
        ({"audit": AUDITED, "accuracy_basis": AUDIT, "hidden_cells": 3}, Verdict.USE, "too high"),
    ],
)
def test_what_to_look_at_first_is_said(facts, state, word):
    found = use(**facts)
    assert found.verdict is state
    assert any(word in sentence for sentence in found.look_at)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"domain_size": 3}, "three-values"),
        ({"break_even_bias": None}, "small-bias-misleads"),
        ({"break_even_bias": 1.9}, "small-bias-misleads"),
        ({"break_even_bias": 9.0, "unnoticed_bias": 9.1}, "bias-goes-unnoticed"),
        ({"break_even_bias": 9.0, "unnoticed_bias": None}, "bias-goes-unnoticed"),
    ],
)
def test_what_a_bias_could_undo_is_used_only_if_exclusions_were_drawn_at_random(facts, reason):
    found = use(**facts)
    assert (found.verdict, found.reasons) == (Verdict.IF_RANDOM, (reason,))
    assert found.next == "cfl audit OUT --draw 100 --out rows.csv"
    assert use(**facts, hidden_cells=12).verdict is Verdict.IF_RANDOM  # the condition comes first
    # … unless something shows the accuracy whatever the exclusions, or the schema's author knows.
    for known in ({"accuracy_basis": AUDIT}, {"accuracy_basis": EXACT_CELLS}):
        assert use(**facts, **known).verdict is Verdict.USE
    assert use(**facts, drawn="at-random").verdict is Verdict.USE


def test_no_bias_that_could_be_is_strong_enough_for_some_answers():
    assert use(break_even_bias=100.0, unnoticed_bias=None).verdict is Verdict.USE


def test_of_cells_by_people_answers_are_used_with_care_if_they_withstand_the_bias():
    by_people = {"drawn": "by-people", "assumed_bias": 3.0}
    assert use(**by_people).reasons == ("drawn-by-people",)
    assert use(**by_people).verdict is Verdict.CARE
    assert use(**by_people, break_even_bias=2.9).verdict is Verdict.NOT_KNOWN
    assert use(**by_people, accuracy_basis=AUDIT, break_even_bias=None).verdict is Verdict.USE


def test_cfs_are_listed_by_verdict_in_the_order_of_the_report():
    good, bad = column("b", **GOOD), column("a")
    facts = report(bad, good, replace(good, name="c"), batch=BatchFacts(9, {}, {}, "", ""))
    found = {one: [cf.name for cf in columns] for one, columns in by_verdict(facts).items()}
    assert found == {Verdict.USE: ["b", "c"], Verdict.NOT_KNOWN: ["a"]}


def test_a_reports_cfs_hold_the_verdict_and_are_found_by_name():
    facts = report(column("a"), column("b", **GOOD))
    assert [*facts] == ["a", "b"]
    assert (facts["b"].verdict, facts["b"].reasons, facts["b"].next) == ("use", (), None)
    assert facts["a"].verdict == "not-known"
    with pytest.raises(KeyError, match=r"no CF 'A'.*did you mean 'a'"):
        facts["A"]


def test_the_verdict_is_that_of_the_figures_however_the_report_came_about():
    facts = report(column("a", **GOOD), column("b", **GOOD))
    fewer = replace(facts["a"], hidden_cells=12)
    changed = replace(facts, columns=(fewer, facts["b"]))
    assert changed["a"].verdict == "use-with-care"
    assert changed["a"].reasons == ("few-held-out-cells",)
    older = json.loads(changed.to_json())
    for one in older["columns"]:
        for name in ("verdict", "reasons", "next"):
            del one[name]
    text = json.dumps(without_checksums(older))
    assert Report.from_json(text, name="old") == changed


def test_every_reason_that_decides_a_verdict_has_a_meaning():
    kinds = [
        {"estimated_accuracy": None},
        {"estimated_accuracy": Interval(0.33, 0.1, 0.36), "calibration": OVER, "fallback_rows": 99},
        {"flags": ("new-categories", "out-of-range", "exclusions-not-uniform")},
        {"flags": ("small-entropy-reduction",), "flagged": True},
        *({"accuracy_basis": "uniform", "break_even_bias": least} for least in (None, 1.9, 2.1)),
        {"accuracy_basis": "uniform", "domain_size": 3},
        {"accuracy_basis": "uniform", "drawn": "by-people"},
    ]
    for facts in kinds:
        reasons = use(**{"accuracy_basis": AUDIT, **facts}).reasons
        assert reasons
        assert {*reasons} <= {*REASONS}


def test_of_cells_by_people_the_accuracy_is_the_range_under_a_bias_of_three():
    plain, drawn, stated = (
        impute(table(300), Schema(columns={**COLUMNS, "cf": cf}), k=5, iterations=10, bias=bias)
        for cf, bias in (
            (COLUMNS["cf"], 3.0),
            (COLUMNS["cf"] | {"drawn": "by-people"}, 1.0),
            (COLUMNS["cf"] | {"drawn": "by-people"}, 2.0),
        )
    )
    known, found = plain.report["cf"], drawn.report["cf"]
    assert known.accuracy_under_bias == found.accuracy_under_bias == found.estimated_accuracy
    assert (found.assumed_bias, found.drawn) == (3.0, "by-people")
    assert found.break_even_bias == known.break_even_bias
    assert stated.report["cf"].assumed_bias == 2.0
    low, high = (stated.report["cf"].estimated_accuracy.low, found.estimated_accuracy.low)
    assert known.estimated_accuracy.low > low > high


@pytest.mark.parametrize(("rows", "drawn"), [(12, 12), (99, 99), (100, 100), (5000, 100)])
def test_no_more_rows_are_to_be_looked_up_than_there_are(rows, drawn):
    found = verdict_on(column(domain_size=3, estimated_accuracy=Interval(0.9, 0.85, 0.95)), rows)
    assert found.next == f"cfl audit OUT --draw {drawn} --out rows.csv"


@pytest.mark.parametrize("drawn", [None, "by-people"])
def test_cells_that_are_all_exact_are_used_however_they_were_drawn(drawn):
    sure = {"estimated_accuracy": Interval(1, 1, 1), "commonest_accuracy": Interval(1, 1, 1)}
    found = verdict_on(column(domain_size=3, exact_cells=500, drawn=drawn, **sure), 500)
    assert (found.verdict, found.next) == (Verdict.USE, None)


def test_words_above_a_verdict_say_what_cells_hold():
    found = {kind: column(cells=kind) for kind in ("exclusions", "candidates")}
    said = [heading(Verdict.IF_RANDOM, [one]) for one in found.values()]
    assert said == [f"Use if {kind} were drawn at random" for kind in found]
    both = heading(Verdict.IF_RANDOM, [*found.values()])
    assert both == "Use if cells were drawn at random"
    known = replace(found["candidates"], domain_size=3)
    known = replace(known, estimated_accuracy=Interval(0.9, 0.85, 0.95))
    assert "if its candidates were drawn at random" in verdict_on(known, 500).sentence
