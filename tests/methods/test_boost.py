import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest
from builders.cells import skewed
from builders.known import follow, known_of, run, table
from builders.learned import (
    copied,
    layout_of,
    related,
)
from scipy.stats import norm

from cfl_cli.core.dataset import Known
from cfl_cli.core.draws import folds
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.state import StateError
from cfl_cli.errors import UsageError
from cfl_cli.methods import boost
from cfl_cli.methods.boost import (
    SHALLOW,
    BoostObjective,
    BoostTarget,
    Fitter,
    HiddenRounds,
    Trees,
    informative_columns,
)


def test_informative_columns_are_found_and_noise_is_not():
    rng = np.random.default_rng(1)
    columns = rng.random((2000, 6)).astype(np.float32)
    residuals = 0.3 * rng.standard_normal((3, 2000))
    residuals[1] += 0.2 * (columns[:, 4] - 0.5)
    residuals[2] -= 0.5 * (columns[:, 2] - 0.5)
    assert informative_columns(columns, residuals.astype(np.float32)).tolist() == [2, 4]
    nothing = np.zeros((3, 2000), dtype=np.float32)
    assert informative_columns(columns, nothing).tolist() == []


def test_noise_seems_informative_as_often_as_chance_has_it(monkeypatch):
    monkeypatch.setattr(boost, "MOST_COLUMNS", 2000)
    rng = np.random.default_rng(2)
    columns = rng.random((300, 2000)).astype(np.float32)
    residuals = rng.exponential(size=(1, 300)).astype(np.float32) - 1
    expected = 2000 * 2 * norm.sf(boost.CLEAR)  # 25
    assert len(informative_columns(columns, residuals)) == pytest.approx(expected, abs=15)


def test_constant_columns_are_not_informative_however_their_mean_is_rounded():
    columns = np.full((3000, 3), 0.3, dtype=np.float32)
    residuals = np.full((2, 3000), 0.1, dtype=np.float32)
    assert (columns != columns.mean(axis=0)).all()
    assert informative_columns(columns, residuals).tolist() == []


def test_a_cf_that_follows_from_the_ofs_is_recovered():
    known, values = table(0, 500, sizes=(4,))
    dealt = folds(500, 5, seed=0)[:1]
    found = run("boost", known, folds=dealt)
    assert (found.confidences.argmax(axis=1) == values[:, 0]).mean() > 0.93
    hidden = found.hidden.priors.argmax(axis=1)
    assert (hidden == values[found.hidden.rows, 0]).mean() > 0.85
    assert [part.name for part in found.origins[0].parts] == ["shallow", "deep"]


def pair(n, seed=0):
    """The OFs say nothing of a CF; the cells of another CF, mostly exact, say it all."""
    rng = np.random.default_rng(seed)
    values = rng.integers(3, size=n)
    features = rng.random((n, 2))
    first = known_of(features, values[:, None], [Mechanism(3)], exclusions=(1,), seed=1)
    second = known_of(features, values[:, None], [Mechanism(3)], exclusions=(2, 2, 2, 0), seed=2)
    cells = np.hstack([first.candidates, second.candidates])
    return Known(features, cells, np.array([0, 3]), (Mechanism(3), Mechanism(3))), values


def test_what_is_said_of_other_cfs_is_used_where_it_is_informative():
    known, values = pair(400)
    found = run("boost", known, folds=folds(400, 5, seed=0)[:1])
    shallow, _, related = found.origins[0].parts
    assert related.name == "related"
    assert related.score > shallow.score + 0.15  # of log 3/2 that there is to gain
    assert related.weight > 0.7
    assert (found.confidences[:, :3].argmax(axis=1) == values).mean() > 0.8


def test_what_is_said_of_unrelated_cfs_is_left_aside():
    rng = np.random.default_rng(3)
    features = rng.random((300, 2))
    values = np.column_stack([follow(features, (3,))[:, 0], rng.integers(3, size=300)])
    known = known_of(features, values, [Mechanism(3)] * 2, exclusions=(2,))
    found = run("boost", known, folds=folds(300, 5, seed=0)[:1])
    assert "related" not in {part.name for part in found.origins[0].parts if part.weight > 0.5}


def test_boosting_ends_when_the_workers_have_been_stopped(workers):
    known, _ = table(1, 60, sizes=(3,))
    fitter = Fitter(known, folds(60, 3, seed=0), 0, workers, lambda *_: None)
    workers.stopped = True
    ((fitted,),) = fitter.from_ofs("boosting", ["shallow"])
    np.testing.assert_array_equal(fitted.priors, 0)


@pytest.mark.parametrize("times", [1, 10_000])
def test_where_no_of_varies_the_priors_stay_half_way_to_what_is_clear_of_the_shares(times, workers):
    cells = ~np.eye(3, dtype=bool)[([0] * 16 + [1] * 14 + [2] * 10) * times]
    known = Known(np.zeros((40 * times, 2)), cells, np.array([0]), (Mechanism(3),))
    fitter = Fitter(known, [np.arange(40 * times)[::4]], 0, workers, lambda *_: None)
    ((fitted,),) = fitter.from_ofs("boosting", ["shallow"])
    # 1 − 2 · share of the cells that rule a value out; of 40 cells none is clear of chance
    shares = np.array([0.2, 0.3, 0.5]) if times > 1 else np.ones(3)
    expected = np.sqrt(shares) / np.sqrt(shares).sum()
    np.testing.assert_allclose(fitted.priors[:, 0], expected, rtol=1e-6 if times == 1 else 2e-3)
    np.testing.assert_array_equal(np.ptp(fitted.priors, axis=1), 0)


@pytest.mark.parametrize(
    ("error", "way_out"),
    [
        (
            ImportError("no such package"),
            "which is not installed: reinstall cfl-cli (pip install --force-reinstall cfl-cli)",
        ),
        (
            OSError("libgomp.so.1: cannot open shared object file"),
            "install the OpenMP runtime, which is the package libgomp1 on Debian and libomp on macOS",
        ),
    ],
)
def test_without_lightgbm_one_line_says_how_to_get_it(error, way_out, monkeypatch):
    def fail(name):
        raise error

    monkeypatch.setattr(boost, "import_module", fail)
    known, _ = table(0, 20)
    with pytest.raises(UsageError, match="method boost needs LightGBM") as caught:
        run("boost", known, folds=folds(20, 2, seed=0))
    (line,) = str(caught.value).splitlines()
    assert way_out in line
    assert caught.value.__suppress_context__


@pytest.fixture(scope="module")
def related_rows():
    return related()


@pytest.fixture(scope="module")
def estimate(related_rows):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boost, "MOST_ROUNDS", 6)
        patch.setattr(boost, "CLEAR", 0.0)  # or nothing would seem related in so few rows
        return run("boost", related_rows, folds=folds(len(related_rows), 3, seed=0)[:2])


def test_a_forest_may_not_see_the_cells_of_its_own_cf(related_rows, estimate):
    state = copied(estimate.fitted.state())
    columns = state.parts["0"].arrays["columns"].copy()
    columns[0] = 3
    state.parts["0"].arrays["columns"] = columns
    with pytest.raises(StateError, match="of the CF that is predicted"):
        boost.BoostMethod().restore(state, layout_of(related_rows))


def test_features_that_do_not_vary_leave_no_trees_and_the_start(workers):
    known = related(20)
    known.features[:] = 1
    found = run("boost", known, folds=folds(20, 2, seed=0))
    answer = found.fitted.answer(known, workers)
    np.testing.assert_array_equal(answer.confidences, found.confidences)


def test_answering_loads_neither_lightgbm_nor_optimisation():
    slow = "{'lightgbm', 'scipy.optimize', 'scipy.special', 'pandas'}"
    code = (
        "import sys; from cfl_cli.methods import baselines, boost, net; "
        f"print({slow} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def target(known, start=0.0):
    """The first CF of a table, as boosting sees it; all scores begin at `start`."""
    size = known.mechanisms[0].size
    begun = np.full((size, 1), start, dtype=np.float32) * np.arange(size)[:, None]
    return BoostTarget.of(known, 0, [np.exp(begun[:, 0] / boost.HEAD_START)] * 2)


def objective_of(cells, mechanism, fold=None):
    known = Known(np.zeros((len(cells), 1)), cells, np.array([0]), (mechanism,))
    return BoostObjective(target(known, start=0.3), 0, fold)


def probabilities(scores):
    odds = np.exp(scores)
    return odds / odds.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("mechanism", [Mechanism(2), Mechanism(5), skewed(5)])
def test_the_gradient_is_the_slope_of_minus_log_the_mass_that_a_cell_allows(mechanism):
    size = mechanism.size
    rng = np.random.default_rng(0)
    many = np.arange(20) % size  # empty and exact cells among them
    cells = mechanism.draw(rng.integers(size, size=20), many, rng.random((20, size)))
    objective = objective_of(cells, mechanism)
    scores = rng.normal(size=(20, size))
    evidence = mechanism.likelihood(cells)
    begun = 0.3 * np.arange(size)

    def loss(at):
        return -np.log((probabilities(at + begun) * evidence).sum(axis=1))

    found, _ = objective(scores, None)
    for value, step in enumerate(1e-5 * np.eye(size)):
        slope = (loss(scores + step) - loss(scores - step)) / 2e-5
        np.testing.assert_allclose(found[:, value], slope, atol=1e-6)


def expected_squares(p, exclusions):
    """The mean squared gradient over all values and the cells of so many uniform exclusions."""
    size = len(p)
    found = np.zeros(size)
    for value in range(size):
        others = [c for c in range(size) if c != value]
        sets = list(combinations(others, exclusions))
        for excluded in sets:
            left = np.where(np.isin(np.arange(size), excluded), 0, p)
            found += p[value] / len(sets) * (p - left / left.sum()) ** 2
    return found


def curvature(p, exclusions):
    """What boosting takes for the curvature of a cell with so many exclusions."""
    size = len(p)
    cells = np.arange(size)[None] >= exclusions
    objective = objective_of(cells, Mechanism(size))
    _, found = objective(np.log(p)[None] - 0.3 * np.arange(size), None)
    return found[0]


@pytest.mark.parametrize("size", [2, 3, 6])
@pytest.mark.parametrize("kind", ["one exclusion", "exact", "even"])
def test_the_curvature_is_the_expected_squared_gradient(size, kind):
    p = np.random.default_rng(size).dirichlet(np.ones(size))
    if kind == "even":
        for exclusions in range(1, size):
            even = np.full(size, 1 / size)
            found = curvature(even, exclusions)
            np.testing.assert_allclose(found, expected_squares(even, exclusions), rtol=1e-5)
        return
    exclusions = 1 if kind == "one exclusion" else size - 1
    expected = expected_squares(p, exclusions)
    np.testing.assert_allclose(curvature(p, exclusions), expected, rtol=1e-5, atol=1e-6)
    if kind == "exact":
        np.testing.assert_allclose(expected, p * (1 - p))


def test_an_empty_cell_has_no_slope_and_next_to_no_curvature():
    objective = objective_of(np.ones((1, 4), dtype=bool), Mechanism(4))
    gradient, found = objective(np.array([[1.0, 0.0, -1.0, 2.0]]), None)
    np.testing.assert_allclose(gradient, 0, atol=2e-7)  # single precision
    np.testing.assert_array_equal(found, boost.FLATTEST)


def test_probabilities_of_0_leave_no_nan():
    cells = ~np.eye(3, dtype=bool)[[0, 1]]
    objective = objective_of(cells, Mechanism(3))
    gradient, found = objective(np.array([[500.0, 0, 0], [-500.0, 0, -500.0]]), None)
    assert np.isfinite(gradient).all()
    assert np.isfinite(found).all()
    assert (found > 0).all()


def objective_of_values(values):
    cells = np.eye(2, dtype=bool)[values]
    known = Known(np.zeros((len(cells), 1)), cells, np.array([0]), (Mechanism(2),))
    return BoostObjective(BoostTarget.of(known, 0, [np.full(2, 0.5)] * 2), 0, np.arange(0, 200, 5))


def test_one_split_of_one_feature_is_learned(workers):
    values = np.random.default_rng(0).integers(2, size=200)
    objective = objective_of_values(values)
    trees = Trees(0, workers)
    trees.model(objective, trees.bins(values[:, None].astype(float)), SHALLOW).grow(30)
    np.testing.assert_array_equal(objective.priors.argmax(axis=0), values)


def test_sums_by_rows_and_by_columns_grow_the_same_trees(monkeypatch, workers):
    rng = np.random.default_rng(0)
    features = np.hstack([rng.random((200, 3)), rng.random((200, 3)) < 0.05])
    values = (features[:, 0] + rng.random(200) > 1).astype(int)
    trees, priors = Trees(0, workers), []
    plain = trees.lightgbm.Booster
    for by in ("force_row_wise", "force_col_wise"):
        neither = {"force_row_wise": False, "force_col_wise": False}

        def booster(given, data, by=by, neither=neither):
            return plain({**given, **neither, by: True}, data)

        monkeypatch.setattr(trees.lightgbm, "Booster", booster)
        objective = objective_of_values(values)
        trees.model(objective, trees.bins(features), SHALLOW).grow(30)
        priors.append(objective.priors)
    assert np.ptp(priors[0]) > 0.1
    np.testing.assert_array_equal(*priors)


def chosen_rounds(known, dealt, courses):
    """What is taken of priors that were said of all rows round by round, K × n for each fold."""
    hidden = HiddenRounds(BoostTarget.of(known, 0, [np.full(3, 1 / 3)] * 3), dealt, None)
    for of_folds in courses:
        for objective, priors in zip(hidden.objectives, of_folds, strict=True):
            objective.priors = priors.copy()
        hidden.look()
    return hidden, hidden.priors()


@pytest.mark.parametrize("count", [1, 2])
def test_the_cells_of_a_part_do_not_choose_its_round(count):
    rng = np.random.default_rng(0)
    known, _ = table(0, 60, sizes=(3,))
    dealt = folds(60, 3, seed=0)[:count]
    courses = rng.dirichlet(np.ones(3), size=(8, count, 60)).transpose(0, 1, 3, 2)
    courses = courses.astype(np.float32)
    rows = dealt[0] if count == 2 else dealt[0][::2]
    other = known.candidates.copy()
    other[rows] = np.roll(other[rows], 1, axis=1)
    changed = Known(known.features, other, known.blocks, known.mechanisms)
    (one, before), (two, after) = (chosen_rounds(it, dealt, courses) for it in (known, changed))
    np.testing.assert_array_equal(before[0][:, rows], after[0][:, rows])
    assert one.all.scores != two.all.scores
    rest = np.setdiff1d(np.concatenate(dealt), rows)
    assert (np.stack(before)[:, :, rest] != np.stack(after)[:, :, rest]).any()


def near_centers(size, n=1000, seed=0):
    """A CF of many values, each the nearest of so many points; six exclusions in each cell."""
    rng = np.random.default_rng(seed)
    features, centers = rng.random((n, 2)), rng.random((size, 2))
    values = ((features[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)[:, None]
    return known_of(features, values, [Mechanism(size)], exclusions=(6,)), values[:, 0]


def test_boosting_starts_where_a_cf_has_many_values():
    known, values = near_centers(24)
    found = run("boost", known, folds=folds(1000, 5, seed=0))
    assert (found.confidences.argmax(axis=1) == values).mean() > 0.6
    truth = found.confidences[np.arange(1000), values]
    assert -np.log(np.maximum(truth, 1e-6)).mean() < 0.5 * np.log(24)


def test_few_cells_of_many_values_say_nothing_worse_than_even_chances():
    known, values = near_centers(15, n=500)
    one = known_of(known.features, values[:, None], [Mechanism(15)], exclusions=(1,))
    found = run("boost", one, folds=folds(500, 5, seed=0))
    truth = found.confidences[np.arange(500), values]
    assert -np.log(np.maximum(truth, 1e-6)).mean() < 1.02 * np.log(15)
