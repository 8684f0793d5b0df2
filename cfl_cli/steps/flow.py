"""H, the n × n matrix of weights, along which confidences flow.

A product with it waits for memory more than for arithmetic: every row reads the confidences of its
neighbors. So rows are laid out near those that are near them, and neighbors without weight are left
out. Neither changes a bit of a product: a row's sum runs over its neighbors, nearest first.
"""

from dataclasses import field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from cfl_cli.core.arrays import Floats, Ints, Places, Singles
from cfl_cli.core.parallel import Engine, filled
from cfl_cli.core.portable import Own, leaned_on
from cfl_cli.core.quick import dataclass

if TYPE_CHECKING:
    import scipy.sparse as sp

CELLS_AT_ONCE = 1 << 18  # a block of confidences that stays in a core's cache
SMALL = 4000  # rows that are in the cache in whatever order and precision

Part = tuple[int, int, str]


@dataclass(frozen=True, eq=False)
class Graph:
    """H, row by row in the order in which rows are laid out."""

    order: Ints  # n: the row at each place
    place: Places  # n: the place of each row
    ends: Ints  # n + 1: where the neighbors of each place begin
    neighbors: Places  # their places
    weights: Floats
    singles: Singles  # the weights once more, of a large table
    faintest: float  # the smallest weight
    cut: "Own[Part, sp.csr_array]" = field(default_factory=Own)  # parts that were asked for

    @classmethod
    def of(cls, neighbors: Places | Ints, weights: Floats, order: Ints, *, workers: Engine) -> Self:
        """Lay the rows out in an order, given every row's neighbors and their weights, n × k."""
        n, k = neighbors.shape
        at_once = max(1, CELLS_AT_ONCE // k)
        place = np.empty(n, dtype=np.int32)
        place[order] = np.arange(n, dtype=np.int32)
        place = workers.share("place", place)
        counts = workers.empty("counts", (n,), np.int32)
        filled(workers.rows("count", Count(weights, order, counts), n, at_once=at_once))
        ends = workers.share("ends", np.append(0, np.cumsum(counts, dtype=np.int64)))
        workers.drop(counts)
        total = int(ends[-1])
        near = workers.empty("near", (total,), np.int32)
        doubles = workers.empty("doubles", (total,), np.float64)
        singles = workers.empty("singles", (total if n > SMALL else 0,), np.float32)
        lay = LayOut(neighbors, weights, order, place, ends, near, doubles, singles)
        least = [least for _, least in workers.rows("lay out", lay, n, at_once=at_once)]
        return cls(order, place, ends, near, doubles, singles, min(least))

    def keep(self, workers: Engine, facts: Any) -> None:
        """Keep it for a run that is resumed, and facts beside it."""
        own = {"total": len(self.neighbors), "faintest": self.faintest, "facts": facts}
        workers.keep("graph", own, *self._arrays)

    @classmethod
    def kept(cls, n: int, workers: Engine) -> tuple[Self, Any] | None:
        """Return what was kept of n rows, and the facts beside it; None: nothing was."""
        facts = workers.kept("graph")
        if facts is None:
            return None
        total = facts["total"]
        graph = cls(
            workers.empty("order", (n,), np.int64),
            workers.empty("place", (n,), np.int32),
            workers.empty("ends", (n + 1,), np.int64),
            workers.empty("near", (total,), np.int32),
            workers.empty("doubles", (total,), np.float64),
            workers.empty("singles", (total if n > SMALL else 0,), np.float32),
            facts["faintest"],
        )
        return graph, facts["facts"]

    @property
    def _arrays(self) -> tuple[npt.NDArray[Any], ...]:
        return self.order, self.place, self.ends, self.neighbors, self.weights, self.singles

    def __len__(self) -> int:
        return len(self.order)

    @property
    def is_large(self) -> bool:
        """Return whether single precision saves anything."""
        return len(self.singles) > 0

    def part(self, rows: slice, kind: npt.DTypeLike) -> "sp.csr_array":
        """Return some rows of H, with numbers of the given kind."""
        import scipy.sparse as sp  # noqa: PLC0415 — slow to import, and of no use to new rows

        key = rows.start, rows.stop, np.dtype(kind).name
        if key not in self.cut:
            numbers = self.singles if kind == np.float32 else self.weights
            own = slice(self.ends[rows.start], self.ends[rows.stop])
            ends = (self.ends[rows.start : rows.stop + 1] - own.start).astype(np.int32)
            shape = (rows.stop - rows.start, len(self))
            self.cut[key] = sp.csr_array((numbers[own], self.neighbors[own], ends), shape=shape)
        return self.cut[key]

    def beyond(self, rows: slice) -> Ints | Places:
        """Return the places beyond some rows that these lean on, ascending."""
        return leaned_on(rows, self._near(rows))[0]

    def piece(self, rows: slice, kind: npt.DTypeLike) -> "Graph":
        """Return some rows of H by themselves: its columns are these, then those beyond."""
        beyond, near = leaned_on(rows, self._near(rows))
        own = slice(self.ends[rows.start], self.ends[rows.stop])
        none = np.empty(0)
        return Graph(
            np.concatenate([np.arange(rows.start, rows.stop), beyond]),
            none.astype(np.int32),
            self.ends[rows.start : rows.stop + 1] - own.start,
            near,
            none if kind == np.float32 else self.weights[own],
            self.singles[own] if kind == np.float32 else none.astype(np.float32),
            self.faintest,
        )

    def _near(self, rows: slice) -> Places:
        return self.neighbors[self.ends[rows.start] : self.ends[rows.stop]]

    def flow(self, confidences: Floats, workers: Engine) -> Floats:
        """Return P = H Q, the rows in the order of the table."""
        laid_out = workers.share("laid out", confidences[self.order])
        prior = workers.empty("flow", laid_out.shape, np.float64)
        at_once = max(1, CELLS_AT_ONCE // confidences.shape[1])
        flow = Flow(self, laid_out, prior)
        filled(workers.rows("flow", flow, len(self), at_once=at_once, marked=False))
        return np.asarray(prior[self.place])


@dataclass(frozen=True)
class Count:
    """A kernel: how many neighbors with weight the row at each place has."""

    weights: Floats
    order: Ints
    counts: Places  # to be filled

    def __call__(self, part: slice) -> None:
        """Count those of some places."""
        self.counts[part] = (self.weights[self.order[part]] != 0).sum(axis=1)

    def written(self, part: slice) -> tuple[Places, ...]:
        """Return what was written for some places."""
        return (self.counts[part],)


@dataclass(frozen=True)
class LayOut:
    """A kernel: the neighbors with weight, row by row."""

    neighbors: Places | Ints
    weights: Floats
    order: Ints
    place: Places
    ends: Ints
    near: Places  # these three are to be filled; the last only if it is not empty
    doubles: Floats
    singles: Singles

    def __call__(self, part: slice) -> float:
        """Lay out the rows at some places; return their smallest weight."""
        rows = self.order[part]
        weights = self.weights[rows]
        some = weights != 0
        here = self._here(part)
        self.near[here] = self.place[self.neighbors[rows][some]]
        self.doubles[here] = kept = weights[some]
        if len(self.singles):
            self.singles[here] = kept
        return float(kept.min())

    def written(self, part: slice) -> tuple[Places, Floats, Singles]:
        """Return what was written for some places."""
        here = self._here(part)
        return self.near[here], self.doubles[here], self.singles[here]

    def _here(self, part: slice) -> slice:
        return slice(self.ends[part.start], self.ends[part.stop])


@dataclass(frozen=True)
class Flow:
    """A kernel: a product with H."""

    graph: Graph
    laid_out: Floats
    prior: Floats  # to be filled

    def __call__(self, part: slice) -> None:
        """Multiply some rows."""
        self.prior[part] = self.graph.part(part, np.float64) @ self.laid_out
