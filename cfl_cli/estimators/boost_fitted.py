"""What boosting has learned: forests for each CF, and how they are blended.

    shallow, deep   forests of the OFs: priors by softmax(start + scores)
    first           their blend; with the rows' own cells applied, it says what other CFs are told
    related         a forest of the OFs and of that, for other CFs' values: it starts a quarter of
                    the way to what shallow says
    prior           the blend of the three

So the prior of a CF depends on a row's OFs and its cells of other CFs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cfl_cli.core.arrays import Floats, Ints, Mask, Singles
from cfl_cli.core.blocks import columns
from cfl_cli.core.known import Known
from cfl_cli.core.parallel import Workers, slices
from cfl_cli.core.posterior import Fallback, posterior
from cfl_cli.core.state import State, StateError
from cfl_cli.estimators import blend, forest
from cfl_cli.estimators.boost_objective import priors_of
from cfl_cli.estimators.forest import Forest
from cfl_cli.estimators.interface import Answer, Layout, answer_by

FURTHER_START = 0.25  # of the way to what shallow trees say from the OFs alone
TINY = np.float32(1e-30)
FURTHEST = np.float32(1e3)  # of a start from 0: they are halves of logarithms of shares
ROWS_AT_ONCE = 1024


@dataclass(frozen=True, eq=False)
class Related:
    """The forest of one CF that sees what is said of others."""

    trees: Forest
    columns: Ints  # of all confidences, those that it sees beside the OFs


@dataclass(frozen=True, eq=False)
class BoostedCf:
    """What was fitted for one CF."""

    start: Singles  # K × 1: where scores begin
    shallow: Forest
    deep: Forest
    first: Floats  # the weights of these two, …
    related: Related | None
    weights: Floats  # … and of all

    def from_ofs(self, features: Floats) -> list[Singles]:
        """Return what the first two say of rows, K × n each."""
        return [
            priors_of(trees.scores(features), self.start) for trees in (self.shallow, self.deep)
        ]

    def from_others(self, features: Floats, confidences: Floats, shallow: Singles) -> list[Singles]:
        """Return what the third says, K × n, if there is one."""
        if self.related is None:
            return []
        others = confidences[:, self.related.columns].astype(np.float32)
        scores = self.related.trees.scores(np.hstack([features, others]))
        return [priors_of(scores, further_start(shallow))]

    def state(self) -> State:
        """Return all that has to be kept."""
        arrays: dict[str, npt.NDArray[Any]] = {
            "start": self.start[:, 0],
            "first": self.first,
            "weights": self.weights,
        }
        parts = {"shallow": self.shallow.state(), "deep": self.deep.state()}
        if self.related is not None:
            arrays["columns"] = self.related.columns
            parts["related"] = self.related.trees.state()
        return State(arrays, parts=parts)


@dataclass(frozen=True, eq=False)
class FittedBoost:
    """What was fitted for all CFs."""

    cfs: tuple[BoostedCf, ...]
    rules: None = None

    def answer(self, rows: Known, workers: Workers) -> Answer:
        """Return what is said of some rows."""
        evidence = rows.evidence

        def priors(some: slice) -> Floats:
            return self._priors(rows.features[some], evidence[some], rows.blocks)

        blocks = slices(len(rows), ROWS_AT_ONCE) or [slice(0, 0)]
        return answer_by(np.vstack([*workers.map(priors, blocks)]), rows)

    def _priors(self, features: Floats, evidence: Floats | Mask, blocks: Ints) -> Floats:
        parts = [of_cf.from_ofs(features) for of_cf in self.cfs]
        first = beside(parts, [of_cf.first for of_cf in self.cfs])
        confidences, _ = posterior(first, evidence, over=blocks, fallback=Fallback.CELL)
        parts = [
            own + of_cf.from_others(features, confidences, own[0])
            for of_cf, own in zip(self.cfs, parts, strict=True)
        ]
        return beside(parts, [of_cf.weights for of_cf in self.cfs])

    def state(self) -> State:
        """Return all that has to be kept."""
        return State(parts={f"{cf}": own.state() for cf, own in enumerate(self.cfs)})


def further_start(shallow: Singles) -> Singles:
    """Return where the scores of `related` begin, K × n, given what shallow trees say."""
    return np.float32(FURTHER_START) * np.log(np.maximum(shallow, TINY))


def beside(parts: Sequence[Sequence[Singles]], weights: Sequence[Floats]) -> Floats:
    """Return the blends of the parts of each CF, K × n each, beside each other: n × ΣK."""
    return np.hstack(
        [
            blend.blended([part.T.astype(float) for part in own], how)
            for own, how in zip(parts, weights, strict=True)
        ]
    )


def restore(state: State, layout: Layout) -> FittedBoost:
    """Return what was fitted, or raise StateError if it cannot have had this state."""
    blocks = np.cumsum([0, *layout.domains[:-1]])
    return FittedBoost(
        tuple(
            _restore_cf(state.part(f"{cf}"), layout, block)
            for cf, block in enumerate(columns(blocks, layout.width))
        )
    )


def _restore_cf(state: State, layout: Layout, own: slice) -> BoostedCf:
    size = own.stop - own.start
    start = state.array("start", np.float32, size)
    if (np.abs(start) > FURTHEST).any():
        raise StateError("array 'start' holds scores that no share can have")
    shallow, deep = (
        forest.restore(state.part(name), values=size, features=layout.features)
        for name in ("shallow", "deep")
    )
    related = None
    if "related" in state.parts:
        used = state.places("columns", layout.width, None)
        if ((used >= own.start) & (used < own.stop)).any():
            raise StateError("array 'columns' holds columns of the CF that is predicted from them")
        trees = forest.restore(
            state.part("related"), values=size, features=layout.features + len(used)
        )
        related = Related(trees, used)
    first = state.array("first", np.float64, 2)
    weights = state.array("weights", np.float64, 2 if related is None else 3)
    for name, array in (("first", first), ("weights", weights)):
        blend.check_weights(name, array)
    return BoostedCf(start[:, None], shallow, deep, first, related, weights)
