"""What `auto` has learned: its parts, and how each CF blends them.

A CF's prior is the blend of its parts' priors, and its confidences are that of their confidences,
for which each part has applied the row's cell by itself; what the cell rules out has none. Where a
blend is cautious (see `blend`), there is one more part: even confidences in the prior, and the bare
cell in the confidences.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cfl_cli.core.arrays import Floats, Mask
from cfl_cli.core.blocks import normalise, start
from cfl_cli.core.known import Known
from cfl_cli.core.parallel import Workers
from cfl_cli.core.state import State, StateError
from cfl_cli.estimators import blend, load
from cfl_cli.estimators.interface import Answer, Fitted, Layout

PARTS = ("graph", "boost", "net", "commonest")  # of which a blend may be made


@dataclass(frozen=True, eq=False)
class Recipe:
    """How each CF blends the parts that have weight in any."""

    weights: Floats  # parts × CFs
    cautious: Mask  # per CF
    among: int  # parts, with those that have no weight

    def confidences(self, parts: Sequence[Floats], rows: Known) -> Floats:
        """Return the blend of the parts' confidences, n × ΣK."""
        bare = [start(rows.evidence[:, block], 1) for block in rows.columns]
        confidences = self._blend(parts, rows, bare)
        confidences[rows.evidence == 0] = 0
        normalise(confidences, rows.blocks, out=confidences)
        return confidences

    def priors(self, parts: Sequence[Floats], rows: Known) -> Floats:
        """Return the blend of the parts' priors, n × ΣK."""
        even = [np.full((len(rows), how.size), 1 / how.size) for how in rows.mechanisms]
        return self._blend(parts, rows, even)

    def fell_back(self, parts: Sequence[Mask]) -> Mask:
        """Return where all parts that count fell back, n × CFs."""
        counting = zip(parts, self.weights, strict=True)
        return np.asarray(np.all([part | (own == 0) for part, own in counting], axis=0))

    def mean(self, parts: Sequence[Floats]) -> Floats:
        """Return the mean of what the parts have per CF, by their weights."""
        return np.asarray(sum(part * own for part, own in zip(parts, self.weights, strict=True)))

    def _blend(self, parts: Sequence[Floats], rows: Known, bare: Sequence[Floats]) -> Floats:
        blends = []
        for cf, block in enumerate(rows.columns):
            own, weights = [part[:, block] for part in parts], self.weights[:, cf]
            if self.cautious[cf]:
                blends.append(blend.with_bare(own, weights, bare[cf], among=self.among))
            else:
                blends.append(blend.blended(own, weights))
        return np.hstack(blends)


@dataclass(frozen=True, eq=False)
class FittedAuto:
    """The parts that count, and the recipe."""

    parts: Mapping[str, Fitted]  # in the recipe's order
    recipe: Recipe
    rules: None = None

    def answer(self, rows: Known, workers: Workers) -> Answer:
        """Return what is said of some rows."""
        answers = [part.answer(rows, workers) for part in self.parts.values()]
        return Answer(
            self.recipe.priors([part.priors for part in answers], rows),
            self.recipe.confidences([part.confidences for part in answers], rows),
            self.recipe.fell_back([part.fell_back for part in answers]),
            self.recipe.mean([part.mass for part in answers]),
        )

    def state(self) -> State:
        """Return all that has to be kept."""
        recipe = self.recipe
        return State(
            {"weights": recipe.weights, "cautious": recipe.cautious.astype(np.uint8)},
            {"parts": list(self.parts), "among": recipe.among},
            {name: part.state() for name, part in self.parts.items()},
        )


def restore(state: State, layout: Layout) -> FittedAuto:
    """Return what was fitted, or raise StateError if it cannot have had this state."""
    names, among = state.fact("parts", list), state.fact("among", int)
    possible = [name for name in PARTS if name in names]
    if sorted(possible) != sorted(map(str, names)) or not 1 <= len(names) <= among <= len(PARTS):
        raise StateError("fact 'parts' does not list parts that auto can have")
    cfs = len(layout.mechanisms)
    weights = state.array("weights", np.float64, len(names), cfs)
    for of_cf in weights.T:
        blend.check_weights("weights", of_cf)
    cautious = state.array("cautious", np.uint8, cfs)
    if not weights.any(axis=1).all() or (cautious > 1).any():
        raise StateError("array 'weights' or 'cautious' is that of no blend")
    parts = {name: load(name).restore(state.part(name), layout) for name in names}
    return FittedAuto(parts, Recipe(weights, cautious.astype(bool), among))
