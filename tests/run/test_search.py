import numpy as np
import pytest

from cfl_cli.core.settings import Settings
from cfl_cli.encode.encode import Block, Encoded
from cfl_cli.run.search import Folds, confirm, gain, is_clear, row_scores, search

CHOICES = {"iterations": ("auto",), "k": (5, 10, 20), "gamma": (0.0, 1.0)}
NOISE = np.random.default_rng(0).normal(size=(1000, 1))  # one CF
NOISE -= NOISE.mean()


def peak(k, gamma, *, noise=0.0):
    """Return a score that is best at some k and gamma; `noise` is on the scores, row by row."""

    def score(settings):
        miss = abs(np.log(settings.k / k)) + abs(settings.gamma - gamma)
        return -miss + NOISE + noise * NOISE[::-1] * miss

    return score


def test_the_search_climbs_to_the_best_settings_one_at_a_time():
    start = Settings(k=20, gamma=0.0, iterations=100)
    found = search(start, CHOICES, peak(5, 1.0))
    assert found.complete
    assert [(step.k, step.gamma) for step in found.path] == [(5, 0.0), (5, 1.0)]
    assert found.path[-1].iterations == 100  # auto was no better
    assert next(iter(found.tried)) == start
    assert found.trials[0].gain.value == 0
    stays = search(Settings(k=10, gamma=0.0), CHOICES, peak(5, 0.0, noise=1000.0))
    assert (stays.complete, stays.path) == (True, ())  # where differences are noise


def test_trials_to_come_are_those_of_this_pass_and_of_the_next_if_it_moved():
    heard = []
    search(
        Settings(k=20, gamma=0.0), CHOICES, peak(5, 1.0), progress=lambda *one: heard.append(one)
    )
    counts = [(done, total) for _, done, total in heard]
    assert counts[0] == (0, 5)  # the start, and the other choices around it
    assert all(done < total for done, total in counts[:-2])  # it moved: never nearly done
    assert counts[-1][0] == counts[-1][1]
    stays = []
    search(Settings(k=5, gamma=1.0), CHOICES, peak(5, 1.0), progress=lambda *one: stays.append(one))
    assert {total for _, _, total in stays} == {5}  # the start is one of the choices, twice


def test_the_end_of_the_path_is_taken_or_moves_before_it_until_one_is_better_on_other_rows():
    start, better = Settings(k=20, gamma=0.25), Settings(k=5, gamma=0.25)
    ((settings, found, passed),) = confirm(start, [better], peak(5, 0.25))
    assert (settings, passed) == (better, True)
    assert found.value == pytest.approx(np.log(4))
    worse = Settings(k=5, gamma=3.0)
    tests = confirm(start, [better, worse], peak(5, 0.25))
    assert [(settings, passed) for settings, _, passed in tests] == [(worse, False), (better, True)]
    assert confirm(start, [better, worse], peak(5, 0.25), may=lambda: False) == tests[:1]
    assert confirm(start, [], peak(5, 0.25)) == []


def test_chance_passes_a_test_seldom():
    random = np.random.default_rng(0)
    start, path = Settings(k=20), [Settings(k=k) for k in (5, 6, 7, 8)]
    passed = sum(
        confirm(start, path, lambda _: random.standard_t(5, size=(400, 1)))[-1][2]
        for _ in range(400)
    )
    assert passed <= 0.04 * 400


def test_a_gain_on_few_rows_is_never_clear_and_rows_hidden_in_turn_count_for_less():
    found = gain(np.ones((20, 1)), np.zeros((20, 1)))
    assert found.value == 1
    assert not is_clear(found, rows=20)
    assert is_clear(found, rows=400)
    alone, mutual = gain(NOISE, 0 * NOISE), gain(NOISE, 0 * NOISE, mutual=True)
    assert mutual.error == pytest.approx(np.sqrt(2) * alone.error)
    assert mutual.value == alone.value


def test_no_group_is_both_searched_on_and_tested_by():
    groups = np.arange(100) // 3
    dealt = np.random.default_rng(0).permutation(100)
    folds = Folds.of(dealt, groups)
    parts = [folds.searching, *folds.confirming]
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(100))
    assert sum(len(set(groups[part])) for part in parts) == len(set(groups))
    plain, alone = Folds.of(dealt), Folds.of(dealt, np.arange(100)[::-1])
    np.testing.assert_array_equal(plain.searching, alone.searching)


def test_a_group_has_one_score_and_the_mean_stays():
    rng = np.random.default_rng(1)
    cells = np.arange(3) != rng.integers(3, size=(12, 1))
    encoded = Encoded(rng.random((12, 1)), cells, (Block("cf", tuple("abc"), 0, 1.0, 0, 0),), ())
    grouped = Encoded(encoded.features, cells, encoded.blocks, (), np.arange(12) // 2)
    priors = rng.dirichlet(np.ones(3), 12)
    rows = np.arange(12)
    plain, summed = (row_scores(it, rows, priors) for it in (encoded, grouped))
    assert summed.shape == (6, 1)
    assert summed.mean() == pytest.approx(plain.mean())
    np.testing.assert_allclose(summed, (plain[::2] + plain[1::2]) / 2)
