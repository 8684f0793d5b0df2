"""How long a method takes on this machine: measured seconds, fitted by a sum of terms.

    seconds = speed · Σ_term coefficient(method, term) · amount(term) · (serial + (1 − serial) / threads)

The coefficients, none below 0, and the serial share of each method were fitted to seconds of
processor time with one thread, on real tables of many shapes: `python -m benchmarks.costs` measures
them again, with all methods, and writes `costs.json`. The speed is how long a fixed small job takes
here, divided by what it took where they were measured. How long boosting goes on depends on how much
there is to learn, which no size tells. So each method has a factor within which four in five of the
tables were foreseen, by a fit to the others.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from time import thread_time
from typing import TYPE_CHECKING, Any

import numpy as np

from cfl_cli.core.parallel import available_cores
from cfl_cli.core.settings import AUTO, PLAIN, Settings

if TYPE_CHECKING:
    from cfl_cli.methods.interface import TableSize

AROUND = "around"  # in the table like a method: encoding, judging and decoding, as every run does
USUAL_STEPS = 100  # of propagation, where they are chosen
DRAWN = 2000  # rows from which a forest learns, at most
# Exact cells of a CF: `auto` learns metrics of those that say less than the second, but more than
# the first, below which metrics were never worth their time …
METRIC_FROM, LITTLE = 40, 500
METRIC_ROWS = 2000  # … of tables that are no longer: beyond, they take too much time
TRIES = 3  # of the fixed job, of which the quickest counts


def terms(size: "TableSize", settings: Settings, *, folds: int) -> Mapping[str, float]:
    """Return what seconds may be proportional to.

    A method learns from all rows, and once more for each fold. The graph has a second round for
    each, unless gamma is 0, and one more for each of some metrics if these are learned.
    """
    rows, features, values = size.rows, size.features, sum(size.domains)
    k, steps = settings.k, settings.iterations
    runs = folds + 1
    rounds = runs + 1 if settings.gamma != 0 else 1
    own = folds * len(own_metrics(size, settings))
    walked = USUAL_STEPS if steps == AUTO else steps
    judged = folds * len(size.domains)
    return {
        "run": 1,
        "runs": runs,
        "values": runs * values,
        "rows": rows,
        "rows by columns": rows * (features + len(size.domains)),
        "rows by values": rows * values,
        "rows by judged CFs": rows * judged,
        "rows by runs": runs * rows,
        "rows by runs and features": runs * rows * features,
        "rows by runs and values": runs * rows * values,
        "rows by runs, features and values": runs * rows * features * values,
        "neighbors": rounds * rows * (rows / 1e4) ** 0.2,
        "weights": rounds * rows * k**2,
        "steps": (2 * runs + rounds) * rows * walked * k * values,
        "metrics": own * rows * k**2,
        "drawn rows by runs and CFs": runs * min(rows, DRAWN) * len(size.domains),
        "drawn rows by runs and values": runs * min(rows, DRAWN) * values,
    }


def own_metrics(size: "TableSize", settings: Settings) -> tuple[int, ...]:
    """Return which CFs may have a metric of their own, if each cell holds one exclusion."""
    if settings.metric != PLAIN:
        return tuple(range(len(size.domains)))
    if settings.method != AUTO or settings.budget is not None or size.rows > METRIC_ROWS:
        return ()
    exact = [size.rows / max(values - 1, 1) for values in size.domains]
    return tuple(cf for cf, own in enumerate(exact) if METRIC_FROM <= own < LITTLE)


@cache
def measured() -> Mapping[str, Any]:
    """Return the table of costs."""
    found: Mapping[str, Any] = json.loads(files(__package__).joinpath("costs.json").read_text())
    return found


def seconds(
    method: str,
    size: "TableSize",
    settings: Settings,
    *,
    folds: int,
    threads: int | None = None,
    speed: float | None = None,
) -> float:
    """Return about how long a method takes by itself, on an idle machine.

    `speed` is how many times as long as there everything takes here, measured if it is left out.
    """
    cost = measured()["methods"][method]
    amounts, serial = terms(size, settings, folds=folds), float(cost["serial"])
    alone = sum(each * amounts[name] for name, each in cost["seconds"].items())
    cores = min(threads or available_cores(), available_cores())
    speed = machine_speed() if speed is None else speed
    return float(speed * alone * (serial + (1 - serial) / cores))


def run_seconds(
    method: str,
    size: "TableSize",
    settings: Settings,
    *,
    folds: int,
    threads: int | None = None,
    speed: float | None = None,
    runs: int = 1,
) -> float:
    """Return about how long a command takes, from its start to its end, if it runs a method once.

    Or more often, if `runs` says so.
    """
    speed = machine_speed() if speed is None else speed
    how: dict[str, Any] = {"folds": folds, "threads": threads, "speed": speed}
    begun = speed * float(measured()["methods"][method]["start"])
    around, own = (seconds(name, size, settings, **how) for name in (AROUND, method))
    return begun + around + runs * own


def factor(method: str) -> float:
    """Return how many times as long, or as short, a method takes than foreseen, in most cases."""
    return float(measured()["methods"][method]["factor"])


@cache
def machine_speed() -> float:
    """Return how many times as long as where costs were measured everything takes here."""
    return fixed_job() / float(measured()["fixed_job"])


def fixed_job() -> float:
    """Return how many seconds of one core a small job takes: what methods do, in miniature.

    It fills arrays that are there already, as how long new ones take depends on what ran before.
    """
    random = np.random.default_rng(0)
    points, few = random.random((10_000, 10)), random.random((64, 64))
    places, rows = random.integers(0, len(points), len(points)), np.empty_like(points)
    sums, some = np.empty(len(points)), np.empty_like(few)
    took = []
    for _ in range(TRIES):
        began = thread_time()
        for _ in range(20):
            np.take(points, places, axis=0, out=rows)
            np.exp(rows, out=rows)
            rows.sum(axis=1, out=sums)
            sums.sort()
        for _ in range(300):
            np.matmul(few, few, out=some)
            np.maximum(some, 0.5, out=some)
        took.append(thread_time() - began)
    return min(took)
