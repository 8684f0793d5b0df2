"""What `auto` has learned: its parts, and how each CF blends them.

A CF's prior is the blend of its parts' priors, and its confidences are that of their confidences,
for which each part has applied the row's cell by itself; what the cell rules out has none. Where a
blend is cautious (see `blend`), there is one more part: even confidences in the prior, and the bare
cell in the confidences.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Self

import numpy as np

from cfl_cli.core.arrays import Floats, Mask
from cfl_cli.core.blocks import normalise, start
from cfl_cli.core.known import Known
from cfl_cli.core.parallel import Engine
from cfl_cli.core.quick import dataclass
from cfl_cli.core.state import State, StateError
from cfl_cli.estimators import blend, load
from cfl_cli.estimators.interface import Answer, Fitted, Layout, without_points

PARTS = ("graph", "boost", "net", "commonest")  # of which a blend may be made


@dataclass(frozen=True, eq=False)
class Recipe:
    """How each CF blends the parts that have weight in any."""

    weights: Floats  # parts × CFs
    cautious: Mask  # per CF
    among: int  # parts, with those that have no weight

    def confidences(self, parts: Sequence[Floats], rows: Known) -> Floats:
        """Return the blend of the parts' confidences, n × ΣK."""
        confidences = np.hstack(
            [
                self.of_cf(cf, [part[:, block] for part in parts], rows.evidence[:, block])
                for cf, block in enumerate(rows.columns)
            ]
        )
        normalise(confidences, rows.blocks, out=confidences)
        return confidences

    def of_cf(self, cf: int, parts: Sequence[Floats], evidence: Floats | Mask) -> Floats:
        """Return the blend of one CF's confidences, n × K each; they need not sum to 1 yet."""
        mixed = self._blend(cf, parts, start(evidence, 1))
        return np.where(evidence == 0, 0.0, mixed)

    def priors(self, parts: Sequence[Floats], rows: Known) -> Floats:
        """Return the blend of the parts' priors, n × ΣK."""
        blends = []
        for cf, (block, how) in enumerate(zip(rows.columns, rows.mechanisms, strict=True)):
            even = np.full((len(rows), how.size), 1 / how.size)
            blends.append(self._blend(cf, [part[:, block] for part in parts], even))
        return np.hstack(blends)

    def fell_back(self, parts: Sequence[Mask]) -> Mask:
        """Return where all parts that count fell back, n × CFs."""
        counting = zip(parts, self.weights, strict=True)
        return np.asarray(np.all([part | (own == 0) for part, own in counting], axis=0))

    def mean(self, parts: Sequence[Floats]) -> Floats:
        """Return the mean of what the parts have per CF, by their weights."""
        return np.asarray(sum(part * own for part, own in zip(parts, self.weights, strict=True)))

    def _blend(self, cf: int, parts: Sequence[Floats], bare: Floats) -> Floats:
        weights = self.weights[:, cf]
        if self.cautious[cf]:
            return blend.with_bare(parts, weights, bare, among=self.among)
        return blend.blended(parts, weights)


@dataclass(frozen=True, eq=False)
class FittedAuto:
    """The parts that count, and the recipe."""

    parts: Mapping[str, Fitted]  # in the recipe's order
    recipe: Recipe
    rules: None = None

    def answer(self, rows: Known, workers: Engine) -> Answer:
        """Return what is said of some rows."""
        answers = [part.answer(rows, workers) for part in self.parts.values()]
        return Answer(
            self.recipe.priors([part.priors for part in answers], rows),
            self.recipe.confidences([part.confidences for part in answers], rows),
            self.recipe.fell_back([part.fell_back for part in answers]),
            self.recipe.mean([part.mass for part in answers]),
        )

    def without_points(self) -> Self:
        """Return the same without points; see `interface.Pointed`."""
        return replace(
            self, parts={name: without_points(part) for name, part in self.parts.items()}
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
