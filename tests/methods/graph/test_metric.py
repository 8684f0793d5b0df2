"""Learned metrics: relevance by SciPy's χ², what is chosen, and what is fitted by them."""

from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from builders.known import follow, known_of, run, table
from builders.learned import (
    assert_alike,
    assert_no_prior_sees_its_own_cell,
    assert_rows_are_answered_by_themselves,
    broken,
    copied,
    layout_of,
)
from scipy.stats import chi2_contingency

from cfl_cli import SchemaError
from cfl_cli.core.draws import folds
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.settings import Settings
from cfl_cli.core.state import StateError
from cfl_cli.methods.graph import metric
from cfl_cli.methods.graph.metric import BINS, FittedMetric, MetricGraph, binned, relevance, scales
from cfl_cli.methods.interface import TableSize


def noisy(seed=0, n=240, sizes=(4, 3), *, noise=12):
    """Two CFs of which each follows from one OF, beside a dozen OFs that say nothing."""
    rng = np.random.default_rng(seed)
    features = rng.random((n, 2 + noise))
    values = follow(features[:, :2], sizes)
    mechanisms = [Mechanism(size) for size in sizes]
    return known_of(features, values, mechanisms, exclusions=(1,), seed=seed), values


def learned(known, **given):
    dealt = folds(len(known), 3, seed=0)
    return run("graph", known, folds=dealt, **{"k": 8, "metric": "learned", **given})


@pytest.mark.parametrize("grade", [0, 3])
def test_relevance_is_the_excess_of_chi_squared_over_chance(grade):
    known, _ = noisy(n=300)
    cells = known.candidates[:, :4]  # of one exclusion each
    bins = binned(known.features)
    found = relevance(bins, cells, grade)
    for at in range(bins.shape[1]):
        excess = -grade * np.sqrt(2 * 4 * (BINS - 1))
        for value in range(4):
            counts = np.array(
                [
                    [np.sum((bins[:, at] == b) & (cells[:, value] == c)) for b in range(BINS)]
                    for c in (0, 1)
                ]
            )
            excess += chi2_contingency(counts, correction=False).statistic - (BINS - 1)
        assert found[at] == pytest.approx(np.sqrt(max(excess, 0)))
    assert found[0] > 3 * found[1:].max()  # the CF follows from the first OF


def test_cells_that_say_nothing_make_nothing_relevant():
    bins = binned(np.random.default_rng(0).random((40, 3)))
    for cells in (np.ones((40, 4), bool), np.eye(4, dtype=bool)[np.zeros(40, dtype=int)]):
        found = relevance(bins, cells, 1.0)
        np.testing.assert_array_equal(found, 0)
        np.testing.assert_array_equal(scales(found, np.ones(3, bool)), 1)


def test_bins_hold_about_as_many_rows_each_and_equal_numbers_share_one():
    column = np.repeat([0.0, 1.0, 2.0, 3.0], [10, 10, 10, 50])
    bins = binned(np.column_stack([column, np.arange(80)]))
    assert [len({*bins[column == value, 0].tolist()}) for value in range(4)] == [1] * 4
    np.testing.assert_array_equal(np.bincount(bins[:, 1]), [10] * 8)


def test_scales_by_hand():
    found, usable = np.array([3.0, 0.0, 4.0, 9.0]), np.array([True, True, True, False])
    size = np.sqrt(25 / 3)
    np.testing.assert_allclose(scales(found, usable), [3 / size, 0, 4 / size, 0])


def test_ofs_that_say_nothing_no_longer_blur_the_neighbors():
    known, values = noisy()
    plain, own = learned(known, metric="plain"), learned(known)
    assert [origin.metric for origin in plain.origins] == [None, None]
    assert all(origin.metric in metric.GRADES for origin in own.origins)
    for cf, block in enumerate(known.columns):
        before, after = (
            (one.confidences[:, block].argmax(axis=1) == values[:, cf]).mean()
            for one in (plain, own)
        )
        assert after > before + 0.1


def test_another_cf_that_says_more_than_all_ofs_counts_in_a_metric():
    rng = np.random.default_rng(1)
    values = np.repeat(rng.integers(4, size=300)[:, None], 2, axis=1)  # one CF equals the other
    known = known_of(rng.random((300, 4)), values, [Mechanism(4)] * 2, exclusions=(1, 2, 3))
    for gamma, width in ((0.25, 4 + 8), (0.0, 4)):
        own = learned(known, gamma=gamma, iterations=30)
        for cf, scaled in own.fitted.scaled.items() if gamma else ():
            others = slice(8, 12) if cf == 0 else slice(4, 8)
            assert scaled.scales[others].min() > scaled.scales[:4].max()
            np.testing.assert_array_equal(
                scaled.scales[slice(4, 8) if cf == 0 else slice(8, 12)], 0
            )
            assert len(scaled.scales) == width
        assert (gamma > 0) <= isinstance(own.fitted, FittedMetric)


@pytest.fixture
def always(monkeypatch):
    """Take the metric of grade 1, whatever held-out cells say."""
    monkeypatch.setattr(metric, "GRADES", (1.0,))
    scores = count()  # each is better than those before
    monkeypatch.setattr(metric, "scored", lambda rows, _: np.full(len(rows), float(next(scores))))


def test_each_part_of_the_held_out_rows_takes_the_grade_that_the_others_favor():
    known, _ = noisy(n=40)
    dealt = [np.arange(20), np.arange(20, 40)]
    alone = metric.of_cf(known, known.features, 0, Settings(), 10)
    even = np.full((40, 4), 0.25)
    right = alone.known.candidates / alone.known.candidates.sum(axis=1, keepdims=True)
    first, second = even.copy(), even.copy()
    first[:20], second[20:] = right[:20], 0.9 * right[20:] + 0.1 * even[20:]
    best, priors = alone.favored([even, first, second], dealt)
    assert best == 1  # by all cells
    np.testing.assert_array_equal(priors[:20], second[:20])
    np.testing.assert_array_equal(priors[20:], first[20:])


def test_a_gain_is_told_from_noise_by_its_standard_error_and_groups_count_as_one():
    gains = np.array([1.0, 3.0, 1.0, 3.0])
    assert metric.clear_gain(gains, None) == pytest.approx(2 - np.sqrt(4) / 4)
    assert metric.clear_gain(gains, np.array([0, 1, 0, 1])) == pytest.approx(2 - np.sqrt(8) / 4)


def test_a_score_is_that_of_the_best_power():
    priors, cells = np.array([[0.9, 0.1]] * 4), np.array([[1, 0]] * 2 + [[0, 1]] * 2, dtype=bool)
    smallest = 0.9**0.2 / (0.9**0.2 + 0.1**0.2)  # half of the cells contradict: be less sure
    logs = np.log([smallest] * 2 + [1 - smallest] * 2)
    np.testing.assert_allclose(metric.scored(priors, cells), logs)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("cf", [0, 1])
@pytest.mark.parametrize("gamma", [0.0, 0.25])
def test_nothing_of_a_hidden_cell_reaches_the_prior_of_its_row(cf, gamma):
    known, _ = table(0, 60)
    block, dealt = known.columns[cf], folds(60, 3, seed=0)[:1]
    cells = known.candidates.copy()
    cells[np.ix_(dealt[0], range(block.start, block.stop))] = np.roll(
        known.candidates[dealt[0], block], 1, axis=1
    )
    given = {"metric": "learned", "folds": dealt, "gamma": gamma}
    one, two = (run("graph", k, **given) for k in (known, replace(known, candidates=cells)))
    assert [origin.metric for origin in one.origins] == [1.0, 1.0]
    np.testing.assert_array_equal(one.hidden.priors[:, block], two.hidden.priors[:, block])
    # The test could have failed: other rows' cells do change these priors.
    seen = known.candidates.copy()
    rows = np.setdiff1d(np.arange(60), dealt[0])
    seen[np.ix_(rows, range(block.start, block.stop))] = np.roll(
        known.candidates[rows, block], 1, axis=1
    )
    three = run("graph", replace(known, candidates=seen), **given)
    assert (one.hidden.priors[:, block] != three.hidden.priors[:, block]).any()


@pytest.mark.usefixtures("always")
def test_threads_do_not_change_a_bit():
    known, _ = noisy(n=60)
    one, many = (learned(known, jobs=jobs) for jobs in (1, 3))
    np.testing.assert_array_equal(one.confidences, many.confidences)
    np.testing.assert_array_equal(one.hidden.priors, many.hidden.priors)
    np.testing.assert_array_equal(one.null.shuffled, many.null.shuffled)
    assert [own.origins for own in (one, many)] == [one.origins] * 2


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("gamma", [0.0, 0.25])
def test_what_is_fitted_answers_each_row_by_itself_and_no_prior_sees_its_own_cell(gamma, workers):
    known, new = noisy(n=90)[0], noisy(1, n=30)[0]
    fitted = learned(known, gamma=gamma).fitted
    assert isinstance(fitted, FittedMetric)
    assert_rows_are_answered_by_themselves(fitted, new, workers)
    assert assert_no_prior_sees_its_own_cell(fitted, new, workers) == (gamma > 0)


@pytest.mark.usefixtures("always")
def test_new_rows_are_answered_by_the_metric_too(workers):
    known, new = noisy(n=400)[0], noisy(1)
    right = []
    for name in ("plain", "learned"):
        answer = learned(known, metric=name).fitted.answer(new[0], workers)
        top = np.column_stack([answer.confidences[:, b].argmax(axis=1) for b in known.columns])
        right.append((top == new[1]).mean(axis=0))
    assert (right[1] > right[0] + 0.1).all()


def restored(state, known):
    made = MetricGraph().restore(state, layout_of(known))
    state.refuse_surplus()
    return made


@pytest.mark.usefixtures("always")
def test_a_state_is_restored_to_the_bit_and_a_broken_one_refused(workers):
    known, new = noisy(n=60, noise=2)[0], noisy(1, n=12, noise=2)[0]
    fitted = learned(known).fitted
    kept = copied(fitted.state())
    assert_alike(restored(kept, known).answer(new, workers), fitted.answer(new, workers))
    assert fitted.without_points().scaled[0].graph.rounds[0].points.shape[0] == 0
    one, parts = kept.parts["0"], kept.parts
    shallow = [other for _, other in broken(replace(kept, parts={}))]
    states = [replace(other, parts=parts) for other in shallow]
    for _, other in broken(replace(one, parts={})):
        states.append(replace(kept, parts=parts | {"0": replace(other, parts=one.parts)}))
    for name in parts:
        rest = {key: own for key, own in parts.items() if key != name}
        states.append(replace(kept, parts=rest))
    twice = kept.parts["plain"].parts["first"]
    of_two = replace(one.parts["graph"], parts={"first": twice, "second": twice})
    states.append(replace(kept, parts=parts | {"0": replace(one, parts={"graph": of_two})}))
    assert len(states) > 15
    for other in states:
        with pytest.raises(StateError):
            restored(other, known)


def test_metrics_of_one_model_scale_the_same_features(workers):
    known = noisy(noise=4)[0]
    kept, of_ofs = (copied(learned(known, gamma=gamma).fitted.state()) for gamma in (0.25, 0.0))
    assert {"0", "1"} <= {*kept.parts} & {*of_ofs.parts}
    assert restored(kept, known)
    with pytest.raises(StateError, match="different lengths"):
        restored(replace(kept, parts=kept.parts | {"1": of_ofs.parts["1"]}), known)


def test_a_learned_metric_needs_held_out_cells_and_is_foreseen():
    with pytest.raises(SchemaError, match="held-out cells"):
        Settings(metric="learned", folds=0)
    size, method = TableSize(3000, 12, (4, 9)), MetricGraph()
    plain, own = Settings(), Settings(metric="learned")
    assert method.memory(size, own, jobs=1) > method.memory(size, plain, jobs=1)
    assert method.model_bytes(size, own) > method.model_bytes(size, plain)
    seconds = [sum(at.seconds for at in method.stages(size, one, folds=5)) for one in (plain, own)]
    assert seconds[1] > seconds[0]


def test_a_plain_metric_is_left_out_of_what_is_recorded():
    assert "metric" not in Settings().recorded()
    assert Settings(metric="learned").recorded()["metric"] == "learned"
