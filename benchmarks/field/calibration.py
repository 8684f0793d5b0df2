"""Measure calibration by the truth: python -m benchmarks.field.calibration --data DIR.

Prints Markdown: for every CF the power that hidden cells chose, expected calibration error and
cross entropy before and after; then what becomes of the entropy of CFs of pure noise, balanced and
skewed. Tables are R's (`--tables`), and parts of Bank and Adult if the folder that holds them is
named. Cases that `python -m benchmarks.field --to FOLDER` has kept are not run again with
`--cases FOLDER`.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np
import polars as pl

from benchmarks import tables
from benchmarks.field.cases import Case, kept, make, markdown, path_of, show
from benchmarks.field.tables import TABLES, read
from cfl_cli import Schema, impute
from cfl_cli.commands.evaluate.job import calibration_error, cross_entropy, share_in_truth
from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.settings import Settings
from cfl_cli.run.prepare import hidden_together, prepare, run, settle_gamma
from cfl_cli.trust.facts import ColumnFacts, calibrate

MECHANISMS = ("uniform", "uniform, one to three")
NOISE_DOMAINS = (3, 4, 6, 12)
SKEWED = 0.6  # the share of one value
Pair = tuple[float, float]  # before calibration, and after


@dataclass(frozen=True)
class Line:
    """What calibration did to one CF."""

    table: str
    cf: str
    rows: int
    values: int
    power: float
    error: Pair
    cross_entropy: Pair


@dataclass(frozen=True)
class Noise:
    """What became of the entropy of a CF that nothing can be known of but its shares."""

    values: int
    commonest: float
    reduction: Pair
    explained: float  # by its true shares alone


def of_case(case: Case) -> Iterator[Line]:
    calibrated = calibrate(case.encoded, case.estimate)
    for number, truth in enumerate(case.truth.T):
        facts = ColumnFacts(case.encoded, calibrated, number)
        before, after = (
            _scores(confidences, facts.answers, truth)
            for confidences in (facts.raw_confidences, facts.confidences)
        )
        yield Line(
            f"{case.table}, {case.mechanism}, seed {case.seed}",
            facts.block.name,
            len(truth),
            len(facts.block.values),
            facts.power.value if facts.power else 1.0,
            (before[0], after[0]),
            (before[1], after[1]),
        )


def _scores(confidences: Floats, answers: Ints, truth: Ints) -> Pair:
    own = confidences[np.arange(len(truth)), answers]
    return calibration_error(answers == truth, own), cross_entropy(
        share_in_truth(truth, confidences)
    )


def slice_of(name: str, data: Path, *, rows: int, seed: int) -> Case:
    table = tables.read(name, data, rows=rows, seed=seed)
    settings = Settings(seed=seed)
    encoded = prepare(table.masked, Schema.parse(table.schema), settings, name=name)
    settings, _ = settle_gamma(encoded, settings)
    folds = hidden_together(len(encoded.features), settings)
    estimate = run(encoded, settings, folds=folds, progress=lambda *_: None)
    return Case(name, "uniform", seed, settings, encoded, estimate, table.places)


def noise(values: int, commonest: float, *, rows: int, seed: int) -> Noise:
    """Run a CF that has nothing to do with the OFs beside it."""
    rng = np.random.default_rng(seed)
    shares = np.full(values, (1 - commonest) / (values - 1))
    shares[0] = commonest
    exact = rng.choice(values, rows, p=shares)
    ruled_out = (exact + rng.integers(1, values, rows)) % values
    domain = [f"v{place}" for place in range(values)]
    table = tables.generated(rows, seed=seed)
    frame = table.truth.select(*table.ofs).with_columns(noise=pl.Series(domain).gather(ruled_out))
    columns: dict[str, dict[str, object]] = {
        name: {"role": "ordinary", "type": kind} for name, kind in table.ofs.items()
    }
    columns["noise"] = {"role": "complementary", "values": domain}
    schema = Schema.model_validate({"version": "1", "columns": columns})
    [column] = impute(frame, schema, seed=seed).report.columns
    raw = 1 - (column.entropy_end_raw or 0.0) / column.entropy_start
    return Noise(values, commonest, (raw, column.entropy_reduction), explained_by(shares))


def explained_by(shares: Floats) -> float:
    """Return the entropy reduction of cells that leave a row what the shares say, one exclusion."""
    left = 0.0
    for excluded in range(len(shares)):
        others = np.delete(shares, excluded)
        chance = others.sum() / (len(shares) - 1)  # that a cell rules this value out
        others = others / others.sum()
        left += chance * float(-(others @ np.log(others)))
    return max(float(1 - left / np.log(len(shares) - 1)), 0.0)  # a hair below it by rounding


def report(lines: Sequence[Line]) -> Iterator[str]:
    head = ("table", "CF", "rows", "values", "power", "calibration error", "cross entropy")
    rows: list[tuple[object, ...]] = [
        (
            *(line.table, line.cf, f"{line.rows:,}", line.values, f"{line.power:.2f}"),
            *(_change(line.error), _change(line.cross_entropy)),
        )
        for line in lines
    ]
    errors, entropies = (
        _change((fmean(pair[0] for pair in pairs), fmean(pair[1] for pair in pairs)))
        for pairs in ([line.error for line in lines], [line.cross_entropy for line in lines])
    )
    mean = ("mean", f"{len(lines)} CFs", "", "", "", errors, entropies)
    yield from markdown(head, [*rows, mean], texts=2)
    worst = max(line.cross_entropy[1] - line.cross_entropy[0] for line in lines)
    yield f"\nLargest increase of a cross entropy: {worst:.4f}.\n"


def noise_report(lines: Iterable[Noise]) -> Iterator[str]:
    head = ("values", "commonest share", "entropy reduction", "explained by shares alone")
    rows = (
        (
            line.values,
            f"{line.commonest:.0%}",
            f"{line.reduction[0]:.1%} → {line.reduction[1]:.1%}",
            f"{line.explained:.1%}",
        )
        for line in lines
    )
    return markdown(head, rows)


def _change(pair: Pair) -> str:
    return f"{pair[0]:.3f} → {pair[1]:.3f}"


def _cases(asked: argparse.Namespace) -> Iterator[Case]:
    for seed in range(asked.seeds):
        for name in TABLES.get(asked.tables, ()):
            for mechanism in MECHANISMS:
                path = path_of(asked.cases, name, mechanism, seed) if asked.cases else None
                if path and path.exists():
                    yield kept(path)
                else:
                    yield make(read(name, seed=seed), mechanism, seed)
        for name in ("bank", "adult") if asked.data else ():
            yield slice_of(name, asked.data, rows=asked.rows, seed=seed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure calibration by the truth.")
    parser.add_argument("--data", type=Path, help="the folder that holds bank.csv and adult.csv")
    parser.add_argument("--rows", type=int, default=6000, help="of Bank and of Adult")
    parser.add_argument("--tables", choices=["tuned", "seen", "none"], default="tuned")
    parser.add_argument("--cases", type=Path, help="a folder of kept cases")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--noise-rows", type=int, default=3000)
    asked = parser.parse_args()
    if found := [line for case in _cases(asked) for line in of_case(case)]:
        show(report(found))
    show(
        noise_report(
            noise(values, share, rows=asked.noise_rows, seed=seed)
            for values in NOISE_DOMAINS
            for share in (1 / values, SKEWED)
            for seed in range(asked.seeds)
        )
    )
