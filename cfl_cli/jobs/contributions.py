"""How far OFs, other CFs and neighbors moved the scores of one CF's values, by their names."""

from collections.abc import Mapping

import numpy as np

from cfl_cli.core.arrays import Floats
from cfl_cli.core.quick import dataclass
from cfl_cli.estimators.blend import FLOOR
from cfl_cli.estimators.explained import Moves
from cfl_cli.estimators.row_explained import RunExplained
from cfl_cli.jobs.explanation import Contribution


@dataclass(frozen=True)
class MoveNames:
    """Which features belong to an OF, and which confidences to a CF."""

    ofs: Mapping[str, slice]
    cfs: Mapping[str, slice]

    def gather(self, moves: Moves) -> dict[tuple[str, str], Floats]:
        """Return how far each moved the scores, K each, by its kind and name."""
        by_of = {
            ("ordinary", name): moves.of_features[own].sum(axis=0) for name, own in self.ofs.items()
        }
        by_cf = {
            ("complementary", name): moves.of_others[own].sum(axis=0)
            for name, own in self.cfs.items()
        }
        return by_of | by_cf


def contributions_of(
    run: RunExplained, cf: int, names: MoveNames, confidences: Floats, answer: int
) -> tuple[tuple[float, ...] | None, tuple[Contribution, ...]]:
    """Return the scores to begin with, and how far each thing moved them, largest first.

    Parts of a blend count by their weights: geometric means add logarithms. There is nothing to
    return where a part that counts cannot be taken apart. `confidences` are those of the CF, K.
    """
    block = run.row.columns[cf]
    weights = np.ones(1) if run.recipe is None else run.recipe.weights[:, cf]
    parts = [one for one in zip(run.parts, weights.tolist(), strict=True) if one[1] > 0]
    if not any(part.moves for part, _ in parts):
        return None, ()
    start, moved = np.zeros(block.stop - block.start), dict[tuple[str, str], Floats]()
    for part, weight in parts:
        moves = part.moves[cf] if part.moves else None
        if moves is not None:
            start = start + weight * moves.base
            for key, own in names.gather(moves).items():
                moved[key] = moved.get(key, 0.0) + weight * own
        elif part.neighborhoods or part.name == "commonest":
            kind = "neighbors" if part.neighborhoods else "shares"
            logs = np.log(np.maximum(part.prior[block], FLOOR))
            moved[kind, part.name] = weight * (logs - logs.mean())
        else:
            return None, ()
    found = [
        Contribution(kind, name, floats(own), _without(confidences, own, answer))
        for (kind, name), own in moved.items()
        if own.any()
    ]
    found.sort(key=lambda one: -np.ptp(one.moves))
    return floats(start), tuple(found)


def floats(numbers: Floats) -> tuple[float, ...]:
    """Return numbers as Python has them."""
    return tuple(np.asarray(numbers, dtype=float).tolist())


def _without(confidences: Floats, move: Floats, answer: int) -> float:
    """Return the confidence of the answer had the scores not been moved so."""
    left = confidences * np.exp(move.max() - move)
    return float(left[answer] / left.sum())
