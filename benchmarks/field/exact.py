"""What exact cells are good for: python -m benchmarks.field.exact [--tables N] [--seeds N].

With a tenth of the cells exact, drawn at random: whether the audit by exact cells holds under each
mechanism, beside the estimate that takes exclusions for uniform; and what `mechanism: fit` makes of
the answers, taken always and taken where exact cells show it to be clearly better. On a busy
machine set OMP_NUM_THREADS=1: the model behind `plausible` waits for its threads otherwise.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from benchmarks.field import mechanisms
from benchmarks.field.cases import Case, make, markdown, show
from benchmarks.field.tables import TABLES, read
from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.dataset import LEAST_EXACT
from cfl_cli.run.learn import with_weights
from cfl_cli.run.prepare import hidden_together, run
from cfl_cli.trust.facts import ColumnFacts
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.mechanism import fit_weights

EXACT = 0.1  # of the cells
PEOPLE = "people, two or more"  # left by every cell that is not exact: those would be the easy ones
TRIED = (
    *("uniform", "twice as often", "three times as often", "likeliest first, half"),
    *("least likely first", PEOPLE),
)
HEADINGS = (
    *("mechanism", "CFs", "uniform holds", "width", "audit holds", "width", "audit − truth"),
    *("right", "fitted, always", "fitted, where better", "taken", "worst change"),
)
FORMS = {
    "uniform_held": ".0%",
    "uniform_width": ".2f",
    "audit_held": ".0%",
    "audit_width": ".2f",
    "audit_error": "+.3f",
}


@dataclass(frozen=True)
class Outcome:
    """What came of one CF: shares of right answers are of the cells that are not exact."""

    uniform_held: bool  # the interval that takes exclusions for uniform
    uniform_width: float
    audit_held: bool
    audit_width: float
    audit_error: float  # estimate − truth
    right: float
    right_fitted: float  # all fitted mechanisms taken
    taken: bool


def people(truth: Ints, plausible: Floats, rng: np.random.Generator) -> Mask:
    candidates = mechanisms.people(truth, plausible, rng)
    alone = np.flatnonzero(candidates.sum(axis=1) == 1)
    looks = plausible[alone].copy()
    looks[np.arange(len(alone)), truth[alone]] = -1
    candidates[alone, looks.argmax(axis=1)] = True
    return candidates


def outcomes(case: Case) -> Iterator[Outcome]:
    encoded = replace(
        case.encoded,
        blocks=tuple(
            replace(block, marked=case.encoded.candidates[:, block.columns].sum(axis=1) == 1)
            for block in case.encoded.blocks
        ),
    )
    weights = {}
    for cf, block in enumerate(encoded.blocks):
        marked = np.asarray(block.marked)
        found = fit_weights(encoded.candidates[:, block.columns], marked)
        if found is not None and marked.sum() >= LEAST_EXACT:
            weights[cf] = found
    changed, second = with_weights(encoded, weights), case.estimate
    if weights:
        folds = hidden_together(len(encoded.features), case.settings)
        second = run(changed, case.settings, folds=folds, progress=lambda *_: None)
    for cf, block in enumerate(encoded.blocks):
        first, fitted = ColumnFacts(encoded, case.estimate, cf), ColumnFacts(changed, second, cf)
        audit, audit_fitted = first.exact_audit, fitted.exact_audit
        judged = first.judged()
        if audit is None or audit_fitted is None or judged is None:
            continue
        hits, others = first.answers == case.truth[:, cf], ~np.asarray(block.marked)
        pooled, right = first.stretched(judged), float(hits[others].mean())
        yield Outcome(
            uniform_held=_holds(pooled, float(hits.mean())),
            uniform_width=pooled.high - pooled.low,
            audit_held=_holds(audit.accuracy, right),
            audit_width=audit.accuracy.high - audit.accuracy.low,
            audit_error=audit.accuracy.value - right,
            right=right,
            right_fitted=float((fitted.answers == case.truth[:, cf])[others].mean()),
            taken=cf in weights and audit_fitted.clearly_better_than(audit),
        )


def _holds(interval: Interval, value: float) -> bool:
    return interval.low <= value <= interval.high


def line(mechanism: str, found: list[Outcome]) -> list[object]:
    right, fitted, taken = (
        np.array([getattr(one, name) for one in found])
        for name in ("right", "right_fitted", "taken")
    )
    chosen = np.where(taken, fitted, right)
    return [
        mechanism,
        len(found),
        *(
            f"{np.mean([getattr(one, name) for one in found]):{form}}"
            for name, form in FORMS.items()
        ),
        *(f"{numbers.mean():.3f}" for numbers in (right, fitted, chosen)),
        taken.sum(),
        f"{(chosen - right).min():+.3f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--on", choices=[*TABLES], default="tuned")
    parser.add_argument("--tables", type=int, help="the first so many of them")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rows", type=int, default=2000)
    asked = parser.parse_args()
    mechanisms.MECHANISMS[PEOPLE] = people
    show(markdown(HEADINGS, lines(asked)))


def lines(asked: argparse.Namespace) -> Iterator[list[object]]:
    for mechanism in TRIED:
        found: list[Outcome] = []
        for name in islice(TABLES[asked.on], asked.tables):
            for seed in range(asked.seeds):
                table = read(name, rows=asked.rows, seed=seed)
                found += outcomes(make(table, mechanism, seed, exact=EXACT))
        if found:
            yield line(mechanism, found)


if __name__ == "__main__":
    main()
