"""What every estimator is given, and what it returns.

    given      features of the OFs, and what each row's cells say of the CFs' values; the settings
    returned   confidences of all rows; and priors of rows whose cells were hidden

A prior is what an estimator says of a row's CF without the row's own cell of that CF. The cells of
some rows are hidden to learn how good such priors are, and to choose by them. That holds for an
estimator however it works: nothing derived from a row's hidden cell of a CF may reach its prior.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.known import Known, Rule
from cfl_cli.core.parallel import Workers
from cfl_cli.core.posterior import Fallback, posterior
from cfl_cli.core.settings import Settings
from cfl_cli.core.stages import Expected, Progress


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
class Power:
    """The power to which one CF's confidences are raised, found by hidden cells."""

    value: float  # by all of them; 1 leaves confidences as they are
    halves: tuple[float, float]  # by either half of the hidden rows: `core.groups.halves`


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
    cautious: bool = False  # were parts blended as if hidden cells could hardly choose?


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
    powers: tuple[Power | None, ...] | None = None  # per CF; None: hidden cells say nothing of it
    raw: Floats | None = None  # n × ΣK: before they were raised to powers; None: they were not


@dataclass(frozen=True)
class Size:
    """The size of a table, for the memory and time that an estimator needs."""

    rows: int
    features: int
    domains: tuple[int, ...]  # how many values each CF has

    @property
    def width(self) -> int:
        """Return how many confidences a row has."""
        return sum(self.domains)


class Module(Protocol):
    """What a module must have to be an estimator."""

    def estimate(
        self,
        known: Known,
        settings: Settings,
        *,
        folds: Sequence[Ints],
        workers: Workers,
        progress: Progress,
    ) -> Estimate:
        """Estimate the values behind all cells; the rows of each of the `folds` are hidden in turn.

        Each estimator takes of the settings what concerns it.
        """

    def memory(self, size: Size, settings: Settings, *, jobs: int) -> float:
        """Return about how many bytes are held at the peak, those of the table left aside."""

    def stages(self, size: Size, settings: Settings, *, folds: int) -> list[Expected]:
        """Return what `estimate` is going to do, and about how long each stage takes."""


def apply_cells(priors: Floats, known: Known) -> tuple[Floats, Mask, Floats]:
    """Return confidences, n × ΣK, which rows fell back, and how much each cell allows, n × CFs."""
    confidences, mass = posterior(priors, known.evidence, over=known.blocks, fallback=Fallback.CELL)
    return confidences, mass == 0, mass
