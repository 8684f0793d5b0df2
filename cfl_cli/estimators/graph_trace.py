"""What one round of the graph says of hidden rows, step by step, and how well it predicts cells."""

from collections.abc import Mapping, Sequence

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.blocks import columns
from cfl_cli.core.log_score import log_scores
from cfl_cli.estimators.interface import Tried
from cfl_cli.steps.propagate import Watch


class Trace:
    """One round's priors of hidden rows, step by step."""

    def __init__(
        self, evidence: Floats | Mask, blocks: Ints, folds: Sequence[Ints], steps: Sequence[int]
    ) -> None:
        self.evidence, self.blocks, self.folds, self.steps = evidence, blocks, folds, steps
        self.priors: list[dict[int, Floats]] = [{} for _ in folds]
        self.scores: list[dict[int, Floats]] = [{} for _ in folds]  # sums over a fold, per CF

    def watch(self, fold: int) -> Watch:
        """Return the watch over one fold's rows."""

        def see(step: int, priors: Floats) -> bool:
            self.priors[fold][step] = priors.astype(np.float32) if len(self.steps) > 1 else priors
            self.scores[fold][step] = self._logs(priors, self.folds[fold]).sum(axis=0)
            return len(self.steps) > 1 and bool((2 * _best(self.scores[fold]) <= step).all())

        return Watch(self.folds[fold], self.steps, see)

    def best(self) -> Ints:
        """Return the number of steps after which each CF's hidden cells are predicted best."""
        common = set.intersection(*(set(scores) for scores in self.scores))
        return _best(
            {step: np.sum([scores[step] for scores in self.scores], 0) for step in sorted(common)}
        )

    def tried(self, number: int, cf: int) -> Tried:
        """Return how well one CF's hidden cells were predicted, step by step of this round."""
        steps = sorted(set.intersection(*(set(scores) for scores in self.scores)))
        cells = sum(map(len, self.folds))
        sums = (sum(float(scores[step][cf]) for scores in self.scores) for step in steps)
        return Tried(number, tuple(steps), tuple(total / cells for total in sums))

    def at(self, stops: Ints) -> Floats:
        """Return the priors of all hidden rows when each CF stops after its number of steps."""
        width = self.evidence.shape[1]
        parts = []
        for priors in self.priors:
            last = [max(step for step in priors if step <= stop) for stop in stops]
            blocks = zip(last, columns(self.blocks, width), strict=True)
            parts.append(np.hstack([priors[step][:, block] for step, block in blocks]))
        return np.vstack(parts).astype(float, copy=False)

    def score(self, priors: Floats) -> Floats:
        """Return the mean log score of the hidden cells, per CF."""
        return np.asarray(self._logs(priors, np.concatenate(self.folds)).mean(axis=0))

    def _logs(self, priors: Floats, rows: Ints) -> Floats:
        return log_scores(priors, self.evidence[rows], over=self.blocks)


def _best(scores: Mapping[int, Floats]) -> Ints:
    """Return the step with the best score for each CF, the first of equals."""
    return np.asarray(np.array([*scores])[np.argmax([*scores.values()], axis=0)])
