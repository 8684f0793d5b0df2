"""What every estimator is given, and what it returns.

    given      features of the OFs, and what each row's cells say of the CFs' values
    returned   confidences of all rows; and priors of rows whose cells were hidden

A prior is what an estimator says of a row's CF without the row's own cell of that CF. The cells of
some rows are hidden to learn how good such priors are, and to choose by them. That holds for an
estimator however it works: nothing derived from a row's hidden cell of a CF may reach its prior.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np

from cfl_cli.arrays import Floats, Ints, Mask, Singles
from cfl_cli.blocks import columns, normalise, spread
from cfl_cli.draws import SAMPLE, order, shuffled
from cfl_cli.exclusions import Mechanism
from cfl_cli.heldout import Rule
from cfl_cli.parallel import Workers
from cfl_cli.propagate import start

Progress = Callable[[str, int, int], None]  # stage, done, total

LARGE = 20_000  # rows; a quarter is enough to compare cells with shuffled ones
LEAST_MASS = 1e-12  # of a hidden cell's candidates: one impossible cell must not decide everything


@dataclass(frozen=True)
class Known:
    """What is known of a table's rows."""

    features: Floats  # n × d
    candidates: Mask  # n × ΣK
    blocks: Ints  # the first column of each CF
    mechanisms: tuple[Mechanism, ...]  # how each CF's exclusions arise

    def __len__(self) -> int:
        return len(self.features)

    @cached_property
    def evidence(self) -> Floats | Mask:
        """Return how likely each cell is under each value, n × ΣK, up to a factor of its own."""
        if all(mechanism.rates is None for mechanism in self.mechanisms):
            return self.candidates
        cells = zip(self.mechanisms, self.columns, strict=True)
        return np.hstack([how.likelihood(self.candidates[:, block]) for how, block in cells])

    @cached_property
    def columns(self) -> list[slice]:
        """Return the columns of each CF."""
        return columns(self.blocks, self.candidates.shape[1])

    def some(self, rows: Ints) -> Self:
        """Return what is known of some of the rows."""
        return replace(self, features=self.features[rows], candidates=self.candidates[rows])

    def sample(self, seed: int) -> Self:
        """Return some of the rows of a large table, all of a small one."""
        n = len(self)
        return self if n <= LARGE else self.some(np.sort(order(n, SAMPLE, seed)[: LARGE // 4]))

    def shuffled(self, seed: int) -> Self:
        """Return the same rows with every CF's cells shuffled over them."""
        mixed: Any = shuffled(self.candidates, self.blocks, seed)
        return replace(self, candidates=mixed)

    def shares(self, rows: Mask | slice = slice(None)) -> list[Floats]:
        """Return how common each CF's values are, estimated from the cells of some rows."""
        cells = self.candidates[rows]
        found = (
            mechanism.shares(cells[:, block])
            for mechanism, block in zip(self.mechanisms, self.columns, strict=True)
        )
        return [
            np.full(mechanism.size, 1 / mechanism.size) if shares is None else shares.prior
            for mechanism, shares in zip(self.mechanisms, found, strict=True)
        ]


@dataclass(frozen=True)
class Method:
    """How an estimator is run; each takes what concerns it."""

    name: str = "graph"
    k: int = 20
    iterations: int | None = 100  # None: as hidden cells favor, CF by CF …
    longest: int = 400  # … but no more than this
    gamma: float = 0.25  # 0: no second round
    ridge: float = 0.3
    seed: int = 0
    choose_round: bool = False  # does every CF take the round that its hidden cells favor?
    correction: bool = True
    exact: bool = False  # is a search of neighbors that may miss some forbidden?
    budget: float | None = None  # seconds that the parts of a blend may take


@dataclass(frozen=True)
class Hidden:
    """What is said of rows whose cells were hidden."""

    rows: Ints  # m; none twice
    priors: Floats  # m × ΣK
    rules: tuple[Rule, ...] | None = None  # per CF; None: the most confident candidate answers


@dataclass(frozen=True)
class Null:
    """What becomes of some rows' cells, and of the same cells shuffled over the rows."""

    entropy: Floats  # per CF, mean over the rows
    shuffled: Floats
    rows: int  # that were compared


@dataclass(frozen=True)
class Part:
    """One of the answers that a CF's answer is blended from."""

    name: str
    score: float  # mean log-likelihood of the hidden cells, up to a constant
    weight: float


@dataclass(frozen=True)
class Origin:
    """How one CF's answer came about."""

    method: str
    parts: tuple[Part, ...] = ()  # that it was chosen among or blended from
    round: int | None = None  # of the graph
    iterations: int | None = None  # of propagation in that round


@dataclass(frozen=True)
class Estimate:
    """The confidences, and what the report should know of how they came about."""

    confidences: Floats  # n × ΣK
    fell_back: Mask  # n × CFs: does the prior rule out what the cell leaves?
    mass: Floats  # n × CFs: how much of its prior a row's cell allows
    origins: tuple[Origin, ...]  # per CF
    hidden: Hidden | None = None
    null: Null | None = None
    answers: Ints | None = None  # n × CFs, places in the domain; None: the most confident candidate
    rescued_rows: int = 0  # rows whose weights OSQP could not settle, over all rounds
    recall: float = 1.0  # share of the true neighbors that were found, in the round with fewest
    steps: tuple[int, ...] = ()  # of propagation, in each round
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Size:
    """The size of a table, for what an estimator's memory comes to."""

    rows: int
    features: int
    domains: tuple[int, ...]  # how many values each CF has

    @property
    def width(self) -> int:
        """Return how many confidences a row has."""
        return sum(self.domains)


class Estimator(Protocol):
    """Estimates the values behind all cells; the rows of each of the `folds` are hidden in turn."""

    def __call__(
        self,
        known: Known,
        method: Method,
        *,
        folds: Sequence[Ints],
        workers: Workers,
        progress: Progress,
    ) -> Estimate:
        """Return the estimate."""


class Module(Protocol):
    """What a module must have to be an estimator."""

    estimate: Estimator

    def memory(self, size: Size, method: Method, *, jobs: int) -> float:
        """Return about how many bytes are held at the peak, those of the table left aside."""


def apply_cells(priors: Floats, known: Known) -> tuple[Floats, Mask, Floats]:
    """Return confidences, n × ΣK, which rows fell back, and how much each cell allows, n × CFs."""
    confidences = priors * known.evidence
    mass = normalise(confidences, known.blocks, out=confidences)
    empty = mass == 0
    if empty.any():
        lost = spread(empty, known.blocks, priors.shape[1])
        confidences = np.where(lost, start(known.evidence, known.blocks), confidences)
    return confidences, empty, mass


def logs(
    priors: Floats | Singles, evidence: Floats | Singles | Mask, axis: int = 1
) -> Floats | Singles:
    """Return how well priors tell cells: the log of the mass that each cell allows."""
    mass = np.einsum("ij,ij->i" if axis else "ij,ij->j", priors, evidence)
    return np.asarray(np.log(np.maximum(mass, LEAST_MASS)))


def all_but(rows: Ints, n: int) -> Mask:
    """Return which of n rows are not among some."""
    seen = np.ones(n, dtype=bool)
    seen[rows] = False
    return seen
