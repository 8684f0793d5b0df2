"""What one round of the graph says of hidden rows, step by step, and how well it predicts cells."""

from collections.abc import Mapping, Sequence

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.blocks import columns
from cfl_cli.core.log_score import log_scores
from cfl_cli.core.parallel import Engine
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
        self.restored: set[int] = set()  # folds that a run before this one has seen

    def watch(self, fold: int, engine: Engine) -> Watch:
        """Return the watch over one fold's rows; a run that is resumed has what was kept of it."""

        def see(step: int, priors: Floats) -> bool:
            self.priors[fold][step] = priors.astype(np.float32) if len(self.steps) > 1 else priors
            self.scores[fold][step] = self._logs(priors, self.folds[fold]).sum(axis=0)
            return len(self.steps) > 1 and bool((2 * _best(self.scores[fold]) <= step).all())

        return Watch(self.folds[fold], self.steps, see, has_seen=self._restored(fold, engine))

    def keep(self, fold: int, engine: Engine) -> None:
        """Keep what was seen of a fold, for a run that is resumed."""
        if not engine.keeps or fold in self.restored:
            return
        priors = [engine.share(f"step {step}", one) for step, one in self.priors[fold].items()]
        engine.keep("seen", [*self.scores[fold].items()], *priors)

    def _restored(self, fold: int, engine: Engine) -> bool:
        """Return whether a run before has seen the fold to its end, and take over what it saw."""
        kept = engine.kept("seen")
        if kept is None:
            return False
        shape = len(self.folds[fold]), self.evidence.shape[1]
        kind = np.float32 if len(self.steps) > 1 else np.float64
        for step, scores in kept:
            self.priors[fold][step] = np.array(engine.empty(f"step {step}", shape, kind))
            self.scores[fold][step] = np.array(scores)
        self.restored.add(fold)
        return True

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
