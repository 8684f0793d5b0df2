"""Boosting on small wide tables: how long it takes, and how well it predicts hidden cells.

    python -m benchmarks.small_wide [--rows 1000] [--ofs 100] [--values 16] [--only NAME ...]

Each table is boosted as it is, and with the bins and steps of a large table. Times are of the
processor, in one thread; the score is the mean log score of the hidden cells, higher is better.
The tables are made, and so are their exclusions:

    factor   OFs follow a few hidden factors, and so does the value
    trees    the value follows pairs of OFs that are both high
    skewed   a few long-tailed OFs count, and some values are rare
"""

import argparse
from time import process_time

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, log_scores
from cfl_cli.core.dataset import Known
from cfl_cli.core.draws import folds
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.parallel import Workers
from cfl_cli.core.settings import Settings
from cfl_cli.methods import boost

EXCLUSIONS = {"factor": 4, "trees": 8, "skewed": 1}  # of a cell


def main() -> None:
    """Print a line for each table."""
    parser = argparse.ArgumentParser(description="Boosting on small wide tables.")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--ofs", type=int, default=100)
    parser.add_argument("--values", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=EXCLUSIONS, default=[*EXCLUSIONS])
    asked = parser.parse_args()
    for name in asked.only:
        known = table(name, asked.rows, asked.ofs, asked.values, seed=asked.seed)
        usual = boosted(known)
        boost.WIDE, wide = known.features.shape[1] + 1_000, boost.WIDE
        other = boosted(known)
        boost.WIDE = wide
        print(
            f"{name}: {usual[0]:.1f} s, score {usual[1]:.4f}; as a large table {other[0]:.1f} s "
            f"({usual[0] / other[0]:.2f}), score {other[1]:.4f}",
            flush=True,
        )


def table(name: str, rows: int, ofs: int, values: int, *, seed: int) -> Known:
    """Return a table of one CF."""
    rng = np.random.default_rng(seed)
    features, pull = _made(name, rows, ofs, values, rng)
    odds = np.exp(pull - pull.max(axis=1, keepdims=True))
    chances = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    truth = (chances > rng.random((rows, 1))).argmax(axis=1)
    span = np.ptp(features, axis=0)
    scaled = (features - features.min(axis=0)) / np.where(span > 0, span, 1)
    cells = excluded(truth, values, EXCLUSIONS[name], rng)
    return Known(scaled, cells, np.array([0]), (Mechanism(values),))


def _made(
    name: str, rows: int, ofs: int, values: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return OFs, and how far they pull towards each value."""
    if name == "factor":
        factors = rng.standard_normal((rows, 6))
        features = factors @ rng.standard_normal((6, ofs)) + 0.7 * rng.standard_normal((rows, ofs))
        return features, 1.5 * factors @ rng.standard_normal((6, values))
    if name == "trees":
        features = rng.random((rows, ofs))
        pairs = rng.integers(ofs, size=(12, 2))
        both = (features[:, pairs] > 0.5).all(axis=2)
        return features, 2 * both @ rng.standard_normal((12, values))
    logs = rng.standard_normal((rows, ofs))
    rarer = np.linspace(2, -2, values)
    return np.exp(logs), logs[:, :8] @ rng.standard_normal((8, values)) + rarer


def excluded(truth: Ints, values: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return candidates, n × K: each cell rules out some values, all but the true one alike."""
    ranks = rng.random((len(truth), values))
    ranks[np.arange(len(truth)), truth] = 2
    return np.argsort(np.argsort(ranks, axis=1), axis=1) >= count


def boosted(known: Known) -> tuple[float, float]:
    """Return the processor time of boosting with five folds, and the score."""
    began = process_time()
    with Workers(1) as workers:
        found = boost.BoostMethod().estimate(
            known,
            Settings(method="boost"),
            folds=folds(len(known), 5, 0),
            workers=workers,
            progress=lambda *_: None,
        )
    seconds = process_time() - began
    if found.hidden is None:
        raise ValueError("boosting hides rows")
    cells = known.evidence[found.hidden.rows]
    return seconds, float(log_scores(found.hidden.priors, cells, over=known.blocks).mean())


if __name__ == "__main__":
    main()
