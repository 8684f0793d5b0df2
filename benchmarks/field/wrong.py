"""What wrong cells do, and what is noticed: python -m benchmarks.field.wrong --keep FOLDER.

FOLDER holds cases that `python -m benchmarks.field --to FOLDER` has run. Two tables are printed:
whether the upper limit of wrong cells holds; and, with --rerun, whether answers gain if the
likelihood of a cell leaves a little to what it rules out,

    evidence(v) = ε/(1−ε) · (K−s)/s  instead of 0  for the s values that a cell rules out.
"""

import argparse
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import numpy as np

from benchmarks.field.cases import Case, kept, markdown, show
from cfl_cli.core.arrays import Floats
from cfl_cli.core.dataset import Known
from cfl_cli.core.parallel import Workers
from cfl_cli.methods.graph import GraphMethod
from cfl_cli.trust.wrong_cells import most_wrong

SHARES = {"uniform": 0.0, "3 % wrong": 0.03, "10 % wrong": 0.10}
LEAST = 1e-3  # confidence that a cross entropy counts


def cases(keep: Path, mechanism: str) -> Iterator[Case]:
    yield from map(kept, sorted(keep.glob(f"*-{mechanism.replace(' ', '_')}-0.0-*.pkl")))


class Open(Known):
    """What is known of rows if a cell leaves a little to what it rules out."""

    wrong = 0.0

    @cached_property
    def evidence(self) -> Floats:
        """Return how likely each cell is under each value, n × ΣK."""
        left = np.array(self.candidates, dtype=float)
        for block in self.columns:
            cells = self.candidates[:, block]
            exclusions = (~cells).sum(axis=1)
            size = cells.shape[1]
            little = self.wrong / (1 - self.wrong) * (size - exclusions) / np.maximum(exclusions, 1)
            exact = exclusions == size - 1
            left[:, block] = np.where(cells, 1.0, np.where(exact, 0.0, little)[:, None])
        return left


def limits(keep: Path) -> Iterator[list[object]]:
    for mechanism in SHARES:
        found = []
        for case in cases(keep, mechanism):
            for facts, wrong in zip(case.facts, case.wrong.T, strict=True):
                most = most_wrong(facts.hidden_cells) if facts.hidden_cells else None
                found.append((most, float(wrong.mean())))
        known = [(most, wrong) for most, wrong in found if most is not None]
        hold = np.mean([most >= wrong for most, wrong in known])
        median = np.median([most for most, _ in known])
        yield [mechanism, len(found), len(known), f"{hold:.0%}", f"{median:.3f}"]


def rerun(keep: Path) -> Iterator[list[object]]:
    """Yield what answers gain if cells leave a little to what they rule out, by the truth."""
    for mechanism, share in list(SHARES.items())[1:]:
        rows = []
        for case in cases(keep, mechanism):
            known = case.encoded.known
            opened = Open(known.features, known.candidates, known.blocks, known.mechanisms)
            opened.__dict__["wrong"] = share
            with Workers(1) as workers:
                before, after = (
                    GraphMethod()
                    .estimate(
                        one, case.settings, folds=[], workers=workers, progress=lambda *_: None
                    )
                    .confidences
                    for one in (known, opened)
                )
            for block, truth in zip(known.columns, case.truth.T, strict=True):
                cells, one, other = known.candidates[:, block], before[:, block], after[:, block]
                answers = (one * cells, other * cells, other)
                right = [(guess.argmax(axis=1) == truth).mean() for guess in answers]
                true = (guess[np.arange(len(truth)), truth] for guess in (one, other))
                rows.append([*right, *(-np.log(np.maximum(own, LEAST)).mean() for own in true)])
        yield [mechanism, len(rows), *(f"{number:.3f}" for number in np.mean(rows, axis=0))]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what wrong cells do.")
    parser.add_argument("--keep", type=Path, required=True, help="folder of finished runs")
    parser.add_argument("--rerun", action="store_true")
    asked = parser.parse_args()
    head = ("cells", "CFs", "limit known", "of these, hold", "median limit")
    show(markdown(head, limits(asked.keep)))
    if asked.rerun:
        head = ("cells", "CFs", "accuracy", "left open, candidates alone", "any value")
        show(["", *markdown((*head, "entropy", "then"), rerun(asked.keep))])


if __name__ == "__main__":
    main()
