"""What boosting has learned: forests for each CF, and how they are blended.

    shallow, deep   forests of the OFs: priors by softmax(start + scores)
    first           their blend; with the rows' own cells applied, it says what other CFs are told
    related         a forest of the OFs and of that, for other CFs' values: it starts a quarter of
                    the way to what shallow says
    prior           the blend of the three

So the prior of a CF depends on a row's OFs and its cells of other CFs.
"""

from collections.abc import Collection, Sequence

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask, Singles
from cfl_cli.core.blocks import columns
from cfl_cli.core.known import Known
from cfl_cli.core.parallel import Engine, slices
from cfl_cli.core.posterior import Fallback, posterior
from cfl_cli.core.quick import dataclass
from cfl_cli.core.state import State, StateError
from cfl_cli.estimators import blend, forest
from cfl_cli.estimators.boost_moves import moves_of
from cfl_cli.estimators.boosted_cf import BoostedCf, Related
from cfl_cli.estimators.explained import Moves
from cfl_cli.estimators.interface import Answer, Layout, answer_by

FURTHEST = np.float32(1e3)  # of a start from 0: they are halves of logarithms of shares
ROWS_AT_ONCE = 1024


@dataclass(frozen=True, eq=False)
class FittedBoost:
    """What was fitted for all CFs."""

    cfs: tuple[BoostedCf, ...]
    rules: None = None

    def answer(self, rows: Known, workers: Engine) -> Answer:
        """Return what is said of some rows."""
        evidence = rows.evidence

        def priors(some: slice) -> Floats:
            return self._said(rows.features[some], evidence[some], rows.blocks)[1]

        blocks = slices(len(rows), ROWS_AT_ONCE) or [slice(0, 0)]
        return answer_by(np.vstack([*workers.map(priors, blocks)]), rows)

    def _said(
        self, features: Floats, evidence: Floats | Mask, blocks: Ints
    ) -> tuple[Floats, Floats]:
        """Return what other CFs are told, and the priors, n × ΣK each."""
        parts = [of_cf.from_ofs(features) for of_cf in self.cfs]
        first = beside(parts, [of_cf.first for of_cf in self.cfs])
        confidences, _ = posterior(first, evidence, over=blocks, fallback=Fallback.CELL)
        parts = [
            own + of_cf.from_others(features, confidences, own[0])
            for of_cf, own in zip(self.cfs, parts, strict=True)
        ]
        return confidences, beside(parts, [of_cf.weights for of_cf in self.cfs])

    def moves(
        self,
        row: Known,
        *,
        blank: Floats | None = None,  # noqa: ARG002 — as all have it: trees know what they expect
        ofs: Sequence[slice] = (),  # noqa: ARG002 — as all have it: features are told apart
        cfs: Collection[int] | None = None,
    ) -> tuple[Moves | None, ...]:
        """Return for each CF how far each OF and each other CF moved what is said of one row.

        None for those that are not among `cfs`; see `interface.Moving`.
        """
        confidences, priors = self._said(row.features, row.evidence, row.blocks)
        return tuple(
            moves_of(of_cf, row.features[0], confidences[0], priors[0, block])
            if cfs is None or cf in cfs
            else None
            for cf, (of_cf, block) in enumerate(zip(self.cfs, row.columns, strict=True))
        )

    def state(self) -> State:
        """Return all that has to be kept."""
        return State(parts={f"{cf}": own.state() for cf, own in enumerate(self.cfs)})


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
