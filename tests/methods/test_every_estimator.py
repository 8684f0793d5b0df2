from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from builders.cells import skewed
from builders.known import known_of, run, table

from cfl_cli import methods
from cfl_cli.core.dataset import Known
from cfl_cli.core.draws import folds
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.parallel import Workers
from cfl_cli.core.settings import AUTO, METHODS, Settings
from cfl_cli.methods import auto, blend, boost, forest, graph, net
from cfl_cli.methods.graph import metric
from cfl_cli.methods.interface import TableSize, apply_cells

ANY = pytest.mark.parametrize("name", METHODS)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(net, "STEPS", 24)
    monkeypatch.setattr(boost, "MOST_ROUNDS", 8)


def assert_sound(name, known, found, dealt):
    n, cfs = len(known), len(known.blocks)
    for distributions in (found.confidences, found.hidden.priors):
        assert np.isfinite(distributions).all()
        assert (distributions >= 0).all()
        np.testing.assert_allclose(np.add.reduceat(distributions, known.blocks, axis=1), 1)
    assert found.confidences.shape == known.candidates.shape
    np.testing.assert_array_equal(found.hidden.rows, np.concatenate(dealt))
    assert found.hidden.priors.shape == (len(found.hidden.rows), known.candidates.shape[1])
    assert found.fell_back.shape == found.mass.shape == (n, cfs)
    assert ((found.mass >= 0) & (found.mass <= 1 + 1e-6)).all()
    assert [origin.method for origin in found.origins] == [name] * cfs
    if name != "ipal":
        assert (found.confidences[~known.candidates] == 0).all()
    for cf, block in enumerate(known.columns):
        exact = known.candidates[:, block].sum(axis=1) == 1
        value = known.candidates[exact, block].argmax(axis=1)
        if name == "ipal":
            np.testing.assert_array_equal(found.answers[exact, cf], value)
        else:
            np.testing.assert_array_equal(found.confidences[exact, block].max(axis=1), 1)
            np.testing.assert_array_equal(found.confidences[exact, block].argmax(axis=1), value)
    if found.null:
        limit = np.log([how.size for how in known.mechanisms]) + 1e-9
        for entropy in (found.null.entropy, found.null.shuffled):
            assert ((entropy >= 0) & (entropy <= limit)).all()


def made(*given, **more):
    return table(*given, **more)[0]


def with_features(known, features):
    return replace(known, features=features)


def one_cf_empty():
    known = made(12, 40)
    known.candidates[:, :3] = True
    return known


def all_cells_alike():
    cells = np.tile([False, True, True, True, False, True, True], (20, 1))
    return replace(made(14, 20), candidates=cells)


def equal_rows_that_contradict_each_other():
    features = np.repeat([[0.0, 1.0], [1.0, 0.0]], 10, axis=0)
    values = np.column_stack([np.arange(20) % 3, np.arange(20) % 2])
    return known_of(features, values, [Mechanism(3), Mechanism(2)], exclusions=(2,))


ANY_NUMBER = (0, 1, 2, 3)
# A value that is not excluded, and yet impossible: a is ruled out by b alone, and so on.
RING = Mechanism(3, np.roll(np.eye(3), 1, axis=1))
WIDE = np.random.default_rng(0).random((8, 50)).round(1)
TABLES = {
    "ordinary": lambda: made(0, 40),
    "any number of exclusions": lambda: made(1, 40, exclusions=ANY_NUMBER),
    "exclusions at rates": lambda: made(
        2, 40, mechanisms=[skewed(3), Mechanism(4)], exclusions=ANY_NUMBER
    ),
    "rates of zero": lambda: made(3, 40, mechanisms=[RING, skewed(4)]),
    "constant features": lambda: with_features(made(4, 30), np.zeros((30, 2))),
    "two rows": lambda: made(5, 2),
    "five rows": lambda: made(6, 5),
    "more features than rows": lambda: with_features(made(7, 8), WIDE),
    "domains of two": lambda: made(8, 30, sizes=(2, 2), exclusions=(0, 1)),
    "one cf": lambda: made(9, 30, sizes=(3,)),
    "a large domain": lambda: made(10, 30, sizes=(3, 40), exclusions=(1, 30)),
    "all cells empty": lambda: made(11, 20, exclusions=(0,)),
    "one cf empty": one_cf_empty,
    "all cells exact": lambda: made(13, 20, exclusions=(3,)),
    "all cells alike": all_cells_alike,
    "equal rows that contradict each other": equal_rows_that_contradict_each_other,
}


@ANY
@pytest.mark.parametrize("which", TABLES)
def test_whatever_the_table_confidences_and_priors_are_sound_and_nothing_is_printed(
    name, which, capfd
):
    known = TABLES[which]()
    dealt = folds(len(known), 3, seed=0)
    assert_sound(name, known, run(name, known, folds=dealt), dealt)
    assert capfd.readouterr() == ("", "")


@ANY
@pytest.mark.parametrize(("hidden", "seed"), [(5, 2**63 - 1), (1, 0)])
def test_one_hidden_fold_is_enough_and_the_largest_seed_as_good_as_any_other(name, hidden, seed):
    known, _ = table(0, 40)
    dealt = folds(40, 5, seed=seed)[:hidden]
    assert_sound(name, known, run(name, known, folds=dealt, seed=seed), dealt)


@pytest.mark.parametrize("name", ["graph", "ipal", "observed", "commonest"])
def test_without_folds_the_confidences_are_the_same(name):
    known, _ = table(0, 40)
    judged, alone = (run(name, known, folds=dealt) for dealt in (folds(40, 3, seed=0), []))
    np.testing.assert_array_equal(judged.confidences, alone.confidences)
    assert (alone.hidden, alone.null) == (None, None)


@ANY
def test_threads_and_repetition_do_not_change_a_bit(name):
    known, _ = table(1, 40, exclusions=(0, 1, 2, 3))
    dealt = folds(40, 3, seed=0)
    one, again, many = (run(name, known, folds=dealt, jobs=jobs) for jobs in (1, 1, 3))
    for other in (again, many):
        np.testing.assert_array_equal(other.confidences, one.confidences)
        np.testing.assert_array_equal(other.hidden.priors, one.hidden.priors)
        np.testing.assert_array_equal(other.mass, one.mass)
        assert other.origins == one.origins
        assert (other.null is None) == (one.null is None)
        if one.null:
            np.testing.assert_array_equal(other.null.shuffled, one.null.shuffled)


@ANY
def test_the_table_is_left_as_it_was(name):
    known, _ = table(2, 30, mechanisms=[skewed(3), Mechanism(4)])
    given = known.features.copy(), known.candidates.copy(), known.evidence.copy()
    run(name, known, folds=folds(30, 3, seed=0))
    for before, after in zip(
        given, (known.features, known.candidates, known.evidence), strict=True
    ):
        np.testing.assert_array_equal(after, before)


def related(seed=0, n=60):
    """Two CFs; the second has the same values as the first, and the OFs tell them half."""
    rng = np.random.default_rng(seed)
    features = rng.random((n, 3))
    values = ((features[:, 0] + 0.5 * rng.random(n)) / 1.5 * 3).astype(int)
    mechanisms = [Mechanism(3), Mechanism(4)]
    return known_of(features, np.column_stack([values, values]), mechanisms, exclusions=(1, 2))


def with_other_cells(known, rows, cf):
    """The table with other cells of one CF in some rows, none of which stays what it was."""
    candidates = known.candidates.copy()
    block = known.columns[cf]
    size = block.stop - block.start
    exact = np.eye(size, dtype=bool)[rows % size]
    other = np.where(np.arange(len(rows))[:, None] % 2, exact, ~exact)
    same = (other == candidates[rows, block]).all(axis=1)
    candidates[rows, block] = np.where(same[:, None], np.ones(size, dtype=bool), other)
    assert (candidates != known.candidates)[rows].any(axis=1).all()
    return Known(known.features, candidates, known.blocks, known.mechanisms)


@pytest.fixture
def choices_are_fixed(monkeypatch):
    """Take from hidden cells what they may decide: when to stop, and what parts are blended how."""

    def of_parts(trace, _=None, *, number=0):
        return np.full((sum(map(len, trace.parts)), len(trace.rounds.blocks)), number)

    def best(trace):
        fives = of_parts(trace, number=5)
        return fives[0], fives

    monkeypatch.setattr(graph, "_best", lambda scores: 0 * next(iter(scores.values())) + 5)
    monkeypatch.setattr(graph.Trace, "best", best)
    monkeypatch.setattr(graph.Trace, "score", of_parts)
    monkeypatch.setattr(metric.OfCf, "favored", lambda _, of_grades, folds: (1, of_grades[1]))
    monkeypatch.setattr(auto, "METRIC_FROM", 0)
    monkeypatch.setattr(net, "LOOKS", 1)
    monkeypatch.setattr(forest, "GROWTHS", 1)
    rounds = count()
    monkeypatch.setattr(boost, "log_scores", lambda *_, **__: np.array([float(next(rounds))]))
    monkeypatch.setattr(boost, "CLEAR", 0.0)
    monkeypatch.setattr(blend, "_weights", lambda parts, *_: np.full(len(parts), 1 / len(parts)))


@pytest.mark.usefixtures("choices_are_fixed")
@ANY
@pytest.mark.parametrize(("number", "cf"), [(0, 0), (1, 0), (2, 0), (1, 1)])
def test_nothing_of_a_hidden_cell_reaches_the_prior_of_its_row(name, number, cf):
    known = related()
    fold = folds(60, 3, seed=0)[number]
    other = with_other_cells(known, fold, cf)
    one, two = (run(name, cells, folds=[fold], iterations=AUTO) for cells in (known, other))
    block = known.columns[cf]
    np.testing.assert_array_equal(one.hidden.priors[:, block], two.hidden.priors[:, block])
    # The test could have failed: cells that are not hidden change what is said of hidden rows.
    if name != "observed" and (number, cf) == (0, 0):
        seen = with_other_cells(known, np.setdiff1d(np.arange(60), fold), cf)
        three = run(name, seen, folds=[fold], iterations=AUTO)
        assert (one.hidden.priors[:, block] != three.hidden.priors[:, block]).any()


@pytest.mark.parametrize("cf", [0, 1])
def test_what_boosting_sees_of_other_cfs_has_nothing_of_the_cfs_own_cells(cf, monkeypatch):
    known = related()
    other = with_other_cells(known, np.arange(60), cf)
    seen = []
    choose = boost.informative_columns

    def listen(columns, residuals):
        seen[-1].setdefault(len(residuals), columns)
        return choose(columns, residuals)

    monkeypatch.setattr(boost, "informative_columns", listen)
    for cells in (known, other):
        seen.append({})
        run("boost", cells, folds=folds(60, 3, seed=0))
    size, rest = known.mechanisms[cf].size, known.mechanisms[1 - cf].size
    assert seen[0][size].shape == (60, rest)
    np.testing.assert_array_equal(seen[0][size], seen[1][size])
    assert (seen[0][rest] != seen[1][rest]).any()


@ANY
def test_a_table_twice_as_long_takes_up_to_twice_the_memory(name):
    memory = methods.load(name).memory
    small, large = (
        memory(TableSize(rows, 10, (3, 12)), Settings(name), jobs=2) for rows in (10**6, 2 * 10**6)
    )
    assert 1.5 * small < large <= 2 * small


@pytest.mark.parametrize("name", ["graph", "net", "boost", "forest"])
def test_cells_that_follow_from_the_ofs_lose_more_entropy_than_shuffled_ones(name, monkeypatch):
    monkeypatch.setattr(net, "STEPS", 400)
    known, _ = table(3, 400, sizes=(3,))
    null = run(name, known, folds=folds(400, 5, seed=0)[:1]).null
    assert null.rows == (80 if name == "forest" else 400)
    assert (null.entropy < 0.8 * null.shuffled).all()


@pytest.mark.parametrize("name", ["observed", "commonest"])
def test_what_cells_alone_tell_by_hand(name):
    features = np.zeros((8, 1))
    cells = ~np.eye(3, dtype=bool)[[0, 0, 0, 0, 1, 1, 1, 2]]
    cells[7] = True  # an empty cell
    known = Known(features, cells, np.array([0]), (Mechanism(3),))
    found = run(name, known, folds=[np.array([6, 7])], k=2)
    # 1 − 2 · share of the cells that rule a value out: −1/7, 1/7, 1; of the first six −1/3, 1/3, 1
    shares = {"observed": [1 / 3] * 3, "commonest": [0, 1 / 8, 7 / 8]}
    without = {"observed": [1 / 3] * 3, "commonest": [0, 1 / 4, 3 / 4]}
    np.testing.assert_allclose(found.hidden.priors, [without[name]] * 2)
    np.testing.assert_allclose(found.confidences[7], shares[name])
    row = np.array(shares[name]) * cells[4]
    np.testing.assert_allclose(found.confidences[4], row / row.sum())
    np.testing.assert_allclose(found.mass[[4, 7], 0], [row.sum(), 1])


EXACT = np.eye(2, dtype=bool)


def exact(values):
    return Known(np.zeros((len(values), 1)), EXACT[values], np.array([0]), (Mechanism(2),))


def test_a_value_that_no_other_row_has_has_no_share():
    known = exact([0, 0, 0, 1])
    priors = run("commonest", known, folds=[np.array([3])], k=1).hidden.priors
    np.testing.assert_allclose(priors, [[1, 0]])


def test_a_likelier_candidate_is_likelier_under_a_mechanism():
    # Of a cell that rules out c: a rules it out in 3 of 4 cases, b in 1 of 4.
    rates = np.array([[0, 0.25, 0.75], [0.75, 0, 0.25], [0.5, 0.5, 0]])
    cells = np.array([[True, True, False]])
    known = Known(np.zeros((1, 1)), cells, np.array([0]), (Mechanism(3, rates),))
    estimate = run("observed", known, folds=[], k=1)
    np.testing.assert_allclose(estimate.confidences, [[0.75, 0.25, 0]])
    assert estimate.hidden is None


def test_cells_are_applied_by_hand():
    cells = ["01 110", "10 011", "11 101", "11 111"]
    candidates = np.array([[c == "1" for c in row.replace(" ", "")] for row in cells])
    mechanisms = (Mechanism(2), Mechanism(3))
    known = Known(np.arange(8.0).reshape(4, 2), candidates, np.array([0, 2]), mechanisms)
    priors = np.array([[0.3, 0.7, 0.5, 0.3, 0.2]] * 4)
    priors[1, 2:] = [1, 0, 0]  # the second row's cell rules it out
    confidences, fell_back, mass = apply_cells(priors, known)
    expected = [
        [0, 1, 0.625, 0.375, 0],
        [1, 0, 0, 0.5, 0.5],
        [0.3, 0.7, 5 / 7, 0, 2 / 7],
        [0.3, 0.7, 0.5, 0.3, 0.2],
    ]
    np.testing.assert_allclose(confidences, expected)
    np.testing.assert_array_equal(fell_back, [[False, False], [False, True], *[[False] * 2] * 2])
    np.testing.assert_allclose(mass, [[0.7, 0.8], [0.3, 0], [1, 0.7], [1, 1]])


def ahead_and_made(name, settings, *, rows=60, hidden=3):
    known, _ = table(0, rows)
    size = TableSize(rows, known.features.shape[1], tuple(how.size for how in known.mechanisms))
    heard = []

    def hear(stage, done, total):
        assert 0 <= done <= total
        if not heard or heard[-1] != stage:
            heard.append(stage)

    with Workers(2) as workers:
        methods.load(name).estimate(
            known, settings, folds=folds(rows, 5, seed=0)[:hidden], workers=workers, progress=hear
        )
    ahead = methods.load(name).stages(size, settings, folds=hidden)
    assert all(one.seconds > 0 for one in ahead)
    return [one.stage for one in ahead], heard


@pytest.mark.parametrize("name", METHODS)
def test_what_is_said_ahead_is_what_is_made(name, monkeypatch):
    monkeypatch.setattr(auto, "WORTH_IT", 2.0)  # no second run of the graph
    monkeypatch.setattr(auto, "NET_FROM", 0)
    told = ahead_and_made(name, Settings(name, k=5, iterations=20))
    # Only held-out cells tell which CFs will have a metric of their own.
    ahead, heard = ([one for one in of if not one.name.startswith("metric")] for of in told)
    assert ahead == heard


@pytest.mark.parametrize("iterations", [AUTO, 20])
@pytest.mark.parametrize("gamma", [0.0, 0.25])
@pytest.mark.parametrize("hidden", [0, 1, 3])
def test_the_graphs_stages_depend_on_rounds_steps_and_folds(iterations, gamma, hidden):
    if hidden or iterations != AUTO:
        settings = Settings(k=5, iterations=iterations, gamma=gamma)
        ahead, heard = ahead_and_made("graph", settings, hidden=hidden)
        assert _without_repeats(ahead) == heard


def _without_repeats(stages):
    return [one for place, one in enumerate(stages) if not place or stages[place - 1] != one]


def test_more_rows_folds_neighbors_and_values_are_expected_to_take_longer():
    def seconds(name, *, rows=6000, domains=(3, 4), hidden=2, **given):
        size = TableSize(rows, 5, domains)
        ahead = methods.load(name).stages(size, Settings(name, **given), folds=hidden)
        return sum(one.seconds for one in ahead)

    for name in ("graph", "boost", "net", "forest", "ipal", "auto"):
        usual = seconds(name)
        assert seconds(name, rows=12_000) > usual
        assert seconds(name, hidden=5) > usual
        assert name == "net" or seconds(name, domains=(3, 4, 9)) > usual
    assert seconds("graph", k=40) > seconds("graph")
    assert seconds("graph", gamma=0.0) < seconds("graph")
    assert seconds("graph", iterations=10) < seconds("graph")
