"""What every estimator is given, and what it returns.

    given      features of the OFs, and what each row's cells say of the CFs' values; the settings
    returned   confidences of all rows; priors of rows whose cells were hidden; and something
               fitted that answers any other rows

A prior is what an estimator says of a row's CF without the row's own cell of that CF. The cells of
some rows are hidden to learn how good such priors are, and to choose by them. That holds for an
estimator however it works: nothing derived from a row's hidden cell of a CF may reach its prior.
So it does for rows that come later: their priors may depend on their features and on their cells of
*other* CFs.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from cfl_cli.core.arrays import Fallback, Floats, Ints, Mask, halves, posterior
from cfl_cli.core.dataset import Known, Rule
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.parallel import Engine, slices
from cfl_cli.core.progress import Expected, Progress
from cfl_cli.core.settings import Settings
from cfl_cli.core.state import State, StateError
from cfl_cli.methods import MIXTURE

Folds: TypeAlias = Sequence[Ints]  # rows that are held out in turn

# Why something is said of one row: what methods tell of it, as arrays.
#
#     neighbors   whom the row leans on, how much, how far away, and what they said (graph, ipal)
#     moves       how far each feature moved the scores of the values (boost, forest, net)
#
# Rows are numbered from 0 here, and features are the encoded ones: `jobs.explain` names them.

# Given what neighbors say of one CF, s × K: the answers, s, and the confidences, s × K.
Answered: TypeAlias = Callable[[Floats], tuple[Ints, Floats]]


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """The neighbors that one row leans on in one round, and what they say."""

    round: int
    rows: Ints | None  # m: rows of the table; None: points of a model, nobody knows whose
    shared: Ints  # m: how many rows share each point (1 within a table)
    differences: Floats  # m × d (round one) or m × (d + ΣK) (round two): neighbor − row
    usual: Floats  # d or d + ΣK: mean squared difference to all rows, feature by feature
    weights: Floats  # m, sum 1; those of weight 0 are listed too
    ridge: float  # by which the weights were found
    said: Floats  # m × ΣK: what each passed on in the last step; of a model: what is said there
    prior: Floats  # ΣK: Σ_j weights_j said_j, per CF at that CF's last step
    confidences: Floats  # ΣK: the prior with the row's own cells applied, before calibration
    cf: int | None = None  # by whose own metric, of which alone it says something; None: of all

    @property
    def gaps(self) -> Floats:
        """Return the squared differences, feature by feature: rows sum to squared distances."""
        return np.asarray(self.differences**2)

    @property
    def distances(self) -> Floats:
        return np.asarray(np.sqrt(self.gaps.sum(axis=1)))


@dataclass(frozen=True, eq=False)
class Moves:
    """How far each feature moved the scores of one CF's values.

    score = base + Σ of_features + Σ of_others, and the prior is softmax(score).
    """

    base: Floats  # K: the score of a row of which nothing is known
    of_features: Floats  # d × K: by encoded feature
    of_others: Floats  # ΣK × K: by the confidence of each value of another CF; 0 for its own


@dataclass(frozen=True, eq=False)
class PartExplained:
    """Why one method says what it says of one row."""

    name: str  # graph, boost, forest, net, ipal, commonest, observed
    prior: Floats  # ΣK
    confidences: Floats  # ΣK
    neighborhoods: tuple[Neighborhood, ...] = ()  # per round
    moves: tuple[Moves | None, ...] = ()  # per CF
    rounds: tuple[int, ...] = ()  # per CF: whose neighborhood its answer comes from
    answers: tuple[int, ...] | None = None  # per CF; None: the most confident candidate
    # Given the row and a CF: what its neighbors would make of it by saying something else.
    answered: Callable[[Known, int], Answered] | None = None  # None: it has no neighbors

    def of_cf(self, cf: int) -> list[int]:
        """Return the places of the neighborhoods that one CF's answer comes from, in their order."""
        owners = [one.cf for one in self.neighborhoods]
        shared = [at for at, owner in enumerate(owners) if owner is None]
        if cf in owners:
            return [shared[0], owners.index(cf)]
        return shared[: self.rounds[cf]]


_SUMS_TO_ONE = 1e-4  # within this: they may be kept in single precision


@dataclass(frozen=True)
class Hidden:
    """What is said of rows whose cells were hidden."""

    rows: Ints  # m; none twice
    priors: Floats  # m × ΣK
    rules: tuple[Rule, ...] | None = None  # per CF; None: the most confident candidate answers
    # Per CF, K: how common values are by the cells that the priors come from, if these are of other
    # rows than the table's. None: rows of the table that were hidden from the rest of it.
    shares: tuple[Floats, ...] | None = None


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
    halves: tuple[float, float]  # by either half of the hidden rows: `core.arrays.halves`


@dataclass(frozen=True)
class Part:
    """One of the methods whose predictions are blended for a CF."""

    name: str
    score: float  # mean log-likelihood of the held-out cells, up to a constant
    weight: float
    round: int | None = None  # round of the graph, if the part is a graph
    stops: tuple[int, ...] = ()  # number of steps after which each round of the graph stopped
    # Grade of the CF's learned metric in round two; None if its distances are plain.
    metric: float | None = None


@dataclass(frozen=True)
class Tried:
    """How well held-out cells were predicted after each number of steps of one round."""

    round: int  # round of the graph
    steps: tuple[int, ...]
    scores: tuple[float, ...]  # mean log-likelihood of the held-out cells, up to a constant


@dataclass(frozen=True)
class Origin:
    """How one CF's answer came about."""

    method: str
    parts: tuple[Part, ...] = ()  # that it was chosen among or blended from
    round: int | None = None  # of the graph
    iterations: int | None = None  # of propagation in that round
    cautious: bool = False  # were parts blended as if hidden cells could hardly choose?
    stops: tuple[int, ...] = ()  # steps after which each round of the graph stopped
    tried: tuple[Tried, ...] = ()  # what its hidden cells chose from; none: nothing was chosen
    metric: float | None = None  # grade of the CF's own metric in round two; None: the plain one


@dataclass(frozen=True)
class Answer:
    """What something fitted says of m rows, whether or not it was fitted to them."""

    priors: Floats  # m × ΣK: of each CF without the rows' own cells of it
    confidences: Floats  # m × ΣK
    fell_back: Mask  # m × CFs: does the prior rule out what the cell leaves?
    mass: Floats  # m × CFs: how much of its prior a row's cell allows
    answers: Ints | None = None  # m × CFs, places in the domain; None: the most confident candidate


@dataclass(frozen=True)
class Layout:
    """What something fitted must fit: the sizes of the table, and how its exclusions arise."""

    features: int
    mechanisms: tuple[Mechanism, ...]  # per CF

    @property
    def domains(self) -> tuple[int, ...]:
        return tuple(mechanism.size for mechanism in self.mechanisms)

    @property
    def width(self) -> int:
        return sum(self.domains)


class Fitted:
    """What an estimator has learned from a table: it answers any rows that are encoded like it.

    What it says of a row depends on that row alone, to the bit: neither on the rows beside it nor
    on its number.
    """

    @property
    def rules(self) -> tuple[Rule, ...] | None:
        """Return how each CF's rows are answered; None: by the most confident candidate."""
        return None

    def answer(self, rows: Known, workers: Engine) -> Answer:
        """Return the predictions for some rows."""
        raise NotImplementedError

    def state(self) -> State:
        """Return all that has to be kept; the estimator's `restore` makes the same of it again."""
        raise NotImplementedError

    def without_points(self) -> Self:
        """Return the same without points that new rows lean on, if it holds any.

        It explains rows of its own table, but answers none.
        """
        return self

    def of_table(self, known: Known, folds: Sequence[Ints], seed: int) -> Self:
        """Return what a model has kept as it was in the run on its own table, without points.

        `known` are that table's rows, and `folds` those that were held out together.
        """
        return self.without_points()


@runtime_checkable
class Moving(Protocol):
    """What was fitted, if it can say how far each feature moved what it says."""

    def moves(
        self, row: Known, *, blank: Floats, ofs: Sequence[slice], cfs: Collection[int] | None
    ) -> tuple[Moves | None, ...]:
        """Return for each CF what moved its scores, of one row.

        `blank` are the features of a row of which nothing is known, d, and `ofs` those of each OF.
        CFs that are not among `cfs` have None; if it is None, all are.
        """


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
    solver: str | None = None  # what solved the weights; None: this method has no graph
    steps: tuple[int, ...] = ()  # of propagation, in each round
    warnings: tuple[str, ...] = ()
    powers: tuple[Power | None, ...] | None = None  # per CF; None: hidden cells say nothing of it
    raw: Floats | None = None  # n × ΣK: before they were raised to powers; None: they were not
    fitted: Fitted | None = None  # None: this method learns nothing


@dataclass(frozen=True)
class TableSize:
    """The size of a table, for the memory and time that an estimator needs."""

    rows: int
    features: int
    domains: tuple[int, ...]  # how many values each CF has

    @property
    def width(self) -> int:
        return sum(self.domains)


@dataclass(frozen=True)
class Method:
    """An estimator: what it takes of a run, and how it learns. Defaults are those of a light one.

    Names, summaries and what a method needs stand in `core.settings.METHODS`, which help reads.
    """

    fit: bool = True  # should anything come of it for rows that come later?
    compared: bool = True  # should it learn from shuffled cells too, if that takes time? (`Null`)

    def estimate(
        self, known: Known, settings: Settings, *, folds: Folds, workers: Engine, progress: Progress
    ) -> Estimate:
        """Estimate the values behind all cells; the rows of each of the `folds` are held out in turn.

        Each method takes of the settings what concerns it.
        """
        raise NotImplementedError

    def restore(self, state: State, layout: Layout) -> Fitted:
        raise NotImplementedError

    def model_bytes(self, size: TableSize, settings: Settings) -> float:
        """Return about how many bytes a model file holds of what is fitted."""
        return 0.0

    def memory(self, size: TableSize, settings: Settings, *, jobs: int) -> float:
        """Return about how many bytes are held at the peak, without those of the table."""
        return float(size.rows * (8 * size.features + 33 * size.width))

    def stages(self, size: TableSize, settings: Settings, *, folds: int) -> list[Expected]:
        """Return the stages of `estimate`, and about how long each takes."""
        return []


def apply_cells(priors: Floats, known: Known) -> tuple[Floats, Mask, Floats]:
    """Return confidences, n × ΣK, which rows fell back, and how much each cell allows, n × CFs."""
    confidences, mass = posterior(priors, known.evidence, over=known.blocks, fallback=Fallback.CELL)
    return confidences, mass == 0, mass


ROWS_AT_ONCE = 1024  # of which priors are computed


def answer_in_blocks(priors: Callable[[slice], Floats], rows: Known, workers: Engine) -> Answer:
    """Return the answer that the priors of some rows at a time and the rows' own cells give."""
    blocks = slices(len(rows), ROWS_AT_ONCE) or [slice(0, 0)]
    return answer_by(np.vstack([*workers.map(priors, blocks)]), rows)


def answer_by(priors: Floats, rows: Known) -> Answer:
    """Return the answer that priors and the rows' own cells give."""
    return Answer(priors, *apply_cells(priors, rows))


def check_distributions(name: str, rows: npt.NDArray[np.floating], layout: Layout) -> None:
    """Raise StateError unless every row's every CF has confidences that sum to 1, m × ΣK."""
    starts = np.cumsum((0, *layout.domains[:-1]))
    fits = ((rows >= 0) & (rows <= 1 + _SUMS_TO_ONE)).all()
    if fits and len(rows):
        sums = np.add.reduceat(rows, starts, axis=1, dtype=float)
        fits = (np.abs(sums - 1) <= _SUMS_TO_ONE).all()
    if not fits:
        raise StateError(f"array {name!r} holds confidences that are negative or do not sum to 1")


# Which round of learning is taken: the one that is best for held-out cells of other rows.
#
# Cells that choose a round must not judge it as well, or pure noise would seem to be predicted: of
# many rounds, one fits any cells by chance. So held-out rows are dealt into parts, and each takes the
# round that is best for the cells of all other parts. With several folds, each is a part; a single one
# has two halves. What is fitted to all rows takes the round that is best for all parts together.


def parts_of(folds: Folds, groups: Ints | None) -> list[tuple[int, Ints]]:
    """Return the parts of the held-out rows, in their order: their fold, and which rows of it.

    `groups` are the numbers of all rows: no half may hold a part of a group.
    """
    if len(folds) != 1:
        return [(number, np.arange(len(fold))) for number, fold in enumerate(folds)]
    (fold,) = folds
    one = halves(len(fold), None if groups is None else groups[fold])
    return [(0, np.flatnonzero(half)) for half in (one, ~one)]


def without_each(of_parts: Floats) -> Floats:
    """Return of sums, parts × …, what they come to without each part."""
    rest = [np.delete(of_parts, part, axis=0).sum(axis=0) for part in range(len(of_parts))]
    return np.stack(rest)


class Course:
    """The rounds of one model, as some held-out cells see them, and when to stop."""

    def __init__(self, patience: int, least_gain: float, *, fewest: int, most: int) -> None:
        self.patience, self.least_gain = patience, least_gain
        self.fewest, self.most = fewest, most
        self.scores: list[float] = []
        self.best = 0  # round
        self.ended = False

    def add(self, score: float) -> bool:
        """Add a round by its mean score; return whether it is the best so far."""
        if self.ended:
            return False
        self.scores.append(score)
        done = len(self.scores) - 1
        is_best = done == 0 or score > self.scores[self.best]
        if is_best:
            self.best = done
        before = max(self.scores[: max(done - self.patience, 0) + 1])
        gain = self.scores[self.best] - before
        self.ended = done == self.most or (done >= self.fewest and gain < self.least_gain)
        return is_best


# Two runs of one method, of which each CF takes one, with mechanisms of exclusions of their own.

RUNS = ("one", "other")


@dataclass(frozen=True, eq=False)
class Run:
    """What one run has learned, and how it took exclusions to arise."""

    fitted: Fitted
    mechanisms: tuple[Mechanism, ...]  # per CF

    def answer(self, rows: Known, workers: Engine) -> Answer:
        return self.fitted.answer(replace(rows, mechanisms=self.mechanisms), workers)

    def without_points(self) -> Self:
        return replace(self, fitted=self.fitted.without_points())

    def state(self) -> State:
        rates = {f"{cf}": how.rates for cf, how in enumerate(self.mechanisms)}
        return State(
            {name: table for name, table in rates.items() if table is not None},
            parts={"fitted": self.fitted.state()},
        )


@dataclass(frozen=True, eq=False)
class FittedMixture(Fitted):
    """Two runs, and which CFs take the second one's answers."""

    one: Run
    other: Run
    taken: Mask  # per CF

    @property
    def rules(self) -> tuple[Rule, ...] | None:
        rules, other = self.one.fitted.rules, self.other.fitted.rules
        if rules is None or other is None:
            return None
        return tuple(other[cf] if taken else rules[cf] for cf, taken in enumerate(self.taken))

    def answer(self, rows: Known, workers: Engine) -> Answer:
        one, other = (run.answer(rows, workers) for run in (self.one, self.other))
        values = np.repeat(self.taken, [how.size for how in rows.mechanisms])
        answers = one.answers
        if answers is not None and other.answers is not None:
            answers = np.where(self.taken, other.answers, answers)
        return Answer(
            np.where(values, other.priors, one.priors),
            np.where(values, other.confidences, one.confidences),
            np.where(self.taken, other.fell_back, one.fell_back),
            np.where(self.taken, other.mass, one.mass),
            answers,
        )

    def without_points(self) -> Self:
        return replace(self, one=self.one.without_points(), other=self.other.without_points())

    def state(self) -> State:
        return State(
            {"taken": self.taken.astype(np.uint8)},
            {MIXTURE: True},
            {name: run.state() for name, run in zip(RUNS, (self.one, self.other), strict=True)},
        )


def restore_mixture(
    state: State, layout: Layout, restore_run: Callable[[State, Layout], Fitted]
) -> FittedMixture:
    taken = state.array("taken", np.uint8, len(layout.mechanisms))
    if (taken > 1).any() or not taken.any():
        raise StateError("array 'taken' does not say which CFs take the second run")

    def run(own: State) -> Run:
        mechanisms = []
        for cf, size in enumerate(layout.domains):
            rates = own.array(f"{cf}", np.float64, size, size) if f"{cf}" in own.arrays else None
            try:
                mechanisms.append(Mechanism(size, rates))
            except ValueError as error:
                raise StateError(f"array '{cf}': {error}") from None
        of_run = replace(layout, mechanisms=tuple(mechanisms))
        return Run(restore_run(own.part("fitted"), of_run), tuple(mechanisms))

    one, other = (run(state.part(name)) for name in RUNS)
    return FittedMixture(one, other, taken.astype(bool))
