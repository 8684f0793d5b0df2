"""What an attacker would learn from a blurred table: the estimate of `impute`, from the other side.

It is run on all rows. Which OFs carry it, and what other ways of blurring would do, takes a run
each: these are made on some rows, drawn from the seed, and compared with a run on the same rows.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from cfl_cli import __version__, methods
from cfl_cli.commands.risk import disclosure
from cfl_cli.commands.risk.disclosure import SURE, Moved, Prospect
from cfl_cli.core import Shown, draws
from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.parallel import Engine, Workers, available_cores
from cfl_cli.core.progress import Expected, Progress, Stage, Stages, Work
from cfl_cli.core.settings import AUTO, METHODS, Auto, Settings, Whole, read_by
from cfl_cli.encode.columns import FittedCategories
from cfl_cli.encode.encode import Encoded, features_of
from cfl_cli.errors import Problem, UsageError
from cfl_cli.methods.graph import HiddenRuns, is_enough
from cfl_cli.methods.interface import Estimate
from cfl_cli.run import AnySchema, Arguments, Context, ToldProgress, called
from cfl_cli.run.cost import size_of
from cfl_cli.run.learn import Learned, learn
from cfl_cli.run.prepare import run
from cfl_cli.schema.model import Schema
from cfl_cli.trust.facts import ColumnFacts, calibrate
from cfl_cli.trust.heldout import HiddenCells, shares_of_others
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.report import ColumnReport

# What else to try on a table: which OFs to leave out, which other ways of blurring there are.

TRYING = Stage("tried", Work.TRIALS, "trying other ways of blurring")
_MOST_ROWS, FEWEST_ROWS = 10_000, 2_000  # that a run is made on
ALL_ROWS = 150_000  # of all runs together
BOOST_ABOVE = 5_000  # rows
_FOLDS, ONE_FOLD_ABOVE = 5, 5_000
MORE, FEWER = "one exclusion more", "one exclusion fewer"  # in each cell
MORE_DISCLOSED, LESS_DISCLOSED = "discloses more", "discloses less"
NO_CLEAR_CHANGE = "no clear change"
_BINS, MERGED = (8, 4), "rare categories merged"
Altered: TypeAlias = Callable[[Ints, int], Ints]  # the exclusions of cells, of a domain's size
Coarse: TypeAlias = Callable[[Encoded], Floats]


@dataclass(frozen=True, eq=False)
class _Plan:
    rows: Ints
    settings: Settings
    left_out: Mapping[str, slice]  # the features of each OF
    coarse: Mapping[str, Coarse]  # by the way of blurring
    more: bool  # can cells have more exclusions?
    fewer: bool

    @property
    def runs(self) -> int:
        return 1 + len(self.left_out) + len(self.coarse) + 4 * self.more + self.fewer

    def expected(self, encoded: Encoded) -> list[Expected]:
        size = replace(size_of(encoded), rows=len(self.rows))
        folds = _FOLDS if size.rows <= ONE_FOLD_ABOVE else 1
        of_run = methods.load(self.settings.method).stages(size, self.settings, folds=folds)
        return [Expected(TRYING, self.runs * sum(one.seconds for one in of_run))]


def plan_trials(encoded: Encoded, settings: Settings, rows: int | None) -> _Plan | None:
    if rows == 0:
        return None
    ofs = features_of(encoded)
    made = _Plan(
        np.arange(0),
        settings,
        ofs if len(ofs) > 1 else {},
        _coarser_ways(encoded),
        more=not _noisy(encoded) and _can(encoded, disclosure.more),
        fewer=not _noisy(encoded) and _can(encoded, disclosure.fewer),
    )
    most = rows or min(_MOST_ROWS, max(FEWEST_ROWS, ALL_ROWS // made.runs))
    chosen = draws.some(len(encoded.features), most, draws.stream_of("risk"), settings.seed)
    # Of many rows, auto is little better than boost alone; of few, graph's first round is quicker.
    n = len(chosen)
    changed: dict[str, object] = {"k": min(settings.k, max(n // 2, 1)), "budget": None}
    if settings.method == AUTO:
        changed["method"] = "boost" if n > BOOST_ABOVE else "graph"
    if METHODS[str(changed.get("method", settings.method))].second_round:
        changed["gamma"] = 0.0  # a second round does harm where few rows are distinct
    return replace(made, rows=chosen, settings=settings.replaced(changed))


def counts_of(candidates: Mask) -> Ints:
    return np.asarray((~candidates).sum(axis=1))


def is_altered(candidates: Mask, altered: Altered) -> bool:
    counts = counts_of(candidates)
    return bool((altered(counts, candidates.shape[1]) != counts).any())


def with_fewer(encoded: Encoded, seed: int) -> Mask:
    parts = []
    for block in encoded.blocks:
        cells = encoded.candidates[:, block.columns]
        counts = counts_of(cells)
        can = disclosure.fewer(counts, cells.shape[1]) < counts
        stream = draws.stream_of(f"risk fewer {block.name}")
        chance = draws.chances(np.arange(len(cells)), stream, seed)
        place = np.floor(chance * counts)  # of the exclusion that is taken back, among the cell's
        taken = (np.cumsum(~cells, axis=1) - 1 == place[:, None]) & ~cells
        parts.append(cells | (taken & can[:, None]))
    return np.hstack(parts)


def _noisy(encoded: Encoded) -> bool:
    """Return whether some cells state a value: they cannot rule out one more, or one fewer."""
    return any(block.mechanism.noisy for block in encoded.blocks)


def _can(encoded: Encoded, altered: Altered) -> bool:
    return any(is_altered(encoded.candidates[:, one.columns], altered) for one in encoded.blocks)


def _coarser_ways(encoded: Encoded) -> dict[str, Coarse]:
    ofs = features_of(encoded)
    of_texts = {
        name for name, fitted in encoded.ordinary.items() if isinstance(fitted, FittedCategories)
    }

    def in_bins(bins: int) -> Coarse:
        def coarse(of: Encoded) -> Floats:
            features = of.features.copy()
            for name, own in ofs.items():
                if name not in of_texts:
                    features[:, own] = disclosure.binned(of.features[:, own], bins)
            return features

        return coarse

    def without_rare(of: Encoded) -> Floats:
        parts = []
        for name, own in ofs.items():
            part = of.features[:, own]
            merged = disclosure.merged(part) if name in of_texts and part.shape[1] > 1 else None
            parts.append(part if merged is None else merged)
        return np.hstack(parts)

    ways: dict[str, Coarse] = {}
    if len(of_texts) < len(ofs):
        ways |= {f"numbers in {bins} bins": in_bins(bins) for bins in _BINS}
    if without_rare(encoded).shape[1] < encoded.features.shape[1]:
        ways[MERGED] = without_rare
    return ways


# Runs of a method on some rows, with other features or other cells, each judged by hidden cells.
#
# All runs hide the same rows, and take the powers of the first: each its own would differ by chance
# more than the runs do.


class _Trial:
    def __init__(
        self,
        encoded: Encoded,
        settings: Settings,
        engine: Engine,
        *,
        began: Callable[[], None] = lambda: None,
    ) -> None:
        self.encoded, self.settings, self.began = encoded, settings, began
        self.engine, self.runs = engine, 0
        dealt = draws.folds(len(encoded.features), _FOLDS, settings.seed, encoded.groups)
        self.folds = dealt if len(encoded.features) <= ONE_FOLD_ABOVE else dealt[:1]
        first = self._run(self.encoded, self._next())
        if METHODS[settings.method].calibrated:
            first = calibrate(self.encoded, first, jobs=engine.jobs)
        self.first = first
        self._own: HiddenRuns | None = None  # on the rows' own features

    @property
    def now(self) -> list[ColumnFacts]:
        return self._facts(self.first)

    def otherwise(
        self, *, features: Floats | None = None, candidates: Mask | None = None
    ) -> list[ColumnFacts]:
        engine = self._next()
        changed = self.encoded
        if features is not None:
            changed = replace(changed, features=features)
        if candidates is not None:
            changed = replace(changed, candidates=candidates)
        if not is_enough(self.settings):
            hidden = self._run(changed, engine).hidden
        elif features is None:
            self._own = self._own or self._hidden_runs(changed, engine)
            hidden = self._own.predict(changed.known.evidence, name=f"run {self.runs}")
        else:
            hidden = self._hidden_runs(changed, engine).predict(changed.known.evidence, name="run")
        # What the first run says of rows that are not hidden stays, and nobody looks at it.
        return self._facts(replace(self.first, hidden=hidden))

    def _next(self) -> Engine:
        self.began()
        self.runs += 1
        return self.engine.within(f"tried {self.runs}")

    def _run(self, encoded: Encoded, engine: Engine) -> Estimate:
        quiet, folds = lambda *_: None, self.folds
        return run(encoded, self.settings, folds=folds, progress=quiet, engine=engine, fit=False)

    def _hidden_runs(self, encoded: Encoded, engine: Engine) -> HiddenRuns:
        return HiddenRuns.of(encoded.known, self.settings, folds=self.folds, workers=engine)

    def _facts(self, found: Estimate) -> list[ColumnFacts]:
        numbers = range(len(self.encoded.blocks))
        return [ColumnFacts(self.encoded, found, one, calibrated=True) for one in numbers]


# What an attacker would learn without an OF, or if cells and OFs were blurred otherwise.
#
# without an OF, coarser OFs   the method is run again, and judged by the same hidden cells
# fewer exclusions             one is left out of each cell; then as above
# more exclusions              the rows' own cells: as above. What is learned from all of them: values
#                              are drawn from the confidences and blurred both ways


@dataclass(frozen=True)
class Otherwise:
    way: str
    change: Interval  # of the share of rows inferred right
    inferred_right: float

    @property
    def claim(self) -> str:
        """Return what the change shows, beyond the chance that is in two runs.

        Who is given fewer exclusions or coarser OFs learns no more, as anybody can blur further:
        if a method does better on them, that is no disclosure.
        """
        if self.way == MORE:
            return MORE_DISCLOSED if self.change.low > 0 else NO_CLEAR_CHANGE
        return LESS_DISCLOSED if self.change.high < 0 else NO_CLEAR_CHANGE


# The changes: by OF that is left out, per CF; and per CF, by another way of blurring.
_Tried: TypeAlias = tuple[Mapping[str, Sequence[Interval]], Sequence[Mapping[str, Interval]]]


def try_others(learned: Learned, plan: _Plan, *, engine: Engine, progress: Progress) -> _Tried:
    begun = iter(range(plan.runs))
    trial = _Trial(
        learned.encoded.some(plan.rows),
        plan.settings,
        engine,
        began=lambda: progress(TRYING, next(begun, plan.runs), plan.runs),
    )
    now = trial.now
    prospects = [prospect_of(facts) for facts in now]

    def changes(
        then: Sequence[ColumnFacts], altered: Altered | None = None, cells: Mask | None = None
    ) -> list[Interval]:
        return [
            disclosure.change(
                _hidden(facts), one, prospect_of(other, altered, cells), rows=len(plan.rows)
            )
            for facts, one, other in zip(now, prospects, then, strict=True)
        ]

    without = {}
    for name, own in plan.left_out.items():
        features = np.ascontiguousarray(np.delete(trial.encoded.features, own, axis=1))
        without[name] = changes(trial.otherwise(features=features))
    ways: dict[str, list[Interval | None]] = {}
    if plan.more:
        ways[MORE] = _with_more(trial, learned, plan.rows)
    if plan.fewer:
        cells = with_fewer(trial.encoded, plan.settings.seed)
        found = changes(trial.otherwise(candidates=cells), disclosure.fewer, cells)
        ways[FEWER] = [
            change if is_altered(facts.candidates, disclosure.fewer) else None
            for facts, change in zip(now, found, strict=True)
        ]
    for way, coarse in plan.coarse.items():
        ways[way] = [*changes(trial.otherwise(features=coarse(trial.encoded)))]
    progress(TRYING, plan.runs, plan.runs)
    otherwise = [
        {way: change for way, of in ways.items() if (change := of[cf]) is not None}
        for cf in range(len(now))
    ]
    return without, otherwise


def _with_more(trial: _Trial, learned: Learned, rows: Ints) -> list[Interval | None]:
    found: list[Interval | None] = []
    drawn, confidences = list[Ints](), learned.estimate.confidences[rows]
    for block in trial.encoded.blocks:
        stream = draws.stream_of(f"risk {block.name}")
        chance = draws.chances(np.arange(len(confidences)), stream, trial.settings.seed)
        up_to = np.cumsum(confidences[:, block.columns], axis=1)
        drawn.append((up_to > chance[:, None] * up_to[:, -1:]).argmax(axis=1))
    hard = _learning(trial, drawn)
    easy = _learning(trial, [facts.answers for facts in trial.now])
    for number, effects in enumerate(zip(hard, easy, strict=True)):
        facts = _facts_of(learned, number)
        if facts.hidden_cells is None or not is_altered(facts.candidates, disclosure.more):
            found.append(None)
            continue
        hidden, n = facts.hidden_cells, len(facts.candidates)
        here, there = prospect_of(facts), prospect_of(facts, disclosure.more)
        moved = Moved.by_more(hidden, here, there)
        own = disclosure.change(hidden, here, there, rows=n, moved=moved)
        found.append(disclosure.with_learning(own, effects, share=len(rows) / n))
    return found


def _learning(trial: _Trial, values: Sequence[Ints]) -> list[float]:
    """Return, for each CF, what is learned from a further exclusion in each cell of all rows.

    It is the change of the share of rows inferred right beyond what the rows' own cells change,
    if these were the values: they are blurred both ways.
    """
    blocks, seed = trial.encoded.blocks, trial.settings.seed
    places = np.arange(len(trial.encoded.features))

    def facts(altered: Altered) -> list[ColumnFacts]:
        cells = []
        for block, true in zip(blocks, values, strict=True):
            own = trial.encoded.candidates[:, block.columns]
            stream, size = draws.stream_of(f"risk {block.name}") + 1, own.shape[1]
            chances = np.column_stack(
                [draws.chances(places, stream + place, seed) for place in range(size)]
            )
            cells.append(block.mechanism.draw(true, altered(counts_of(own), size), chances))
        return trial.otherwise(candidates=np.hstack(cells))

    def right(facts: ColumnFacts, true: Ints) -> float:
        found, hidden = prospect_of(facts, disclosure.more).right, facts.estimate.hidden
        assert hidden is not None
        return float(found[np.arange(len(found)), true[hidden.rows]].mean())

    now, then = facts(lambda counts, _: counts), facts(disclosure.more)
    return [
        right(there, true) - right(here, true)
        for here, there, true in zip(now, then, values, strict=True)
    ]


def _facts_of(learned: Learned, number: int) -> ColumnFacts:
    return ColumnFacts(learned.encoded, learned.estimate, number, calibrated=True)


def prospect_of(
    facts: ColumnFacts, altered: Altered | None = None, cells: Mask | None = None
) -> Prospect:
    """Return what hidden rows are answered, with other numbers of exclusions or other cells."""
    hidden, counts = _hidden(facts), counts_of(facts.candidates)
    if altered is not None:
        counts = altered(counts, facts.candidates.shape[1])
    own = hidden.cells
    if cells is not None and facts.estimate.hidden is not None:
        own = cells[facts.estimate.hidden.rows, facts.block.columns]
    return disclosure.prospect(hidden, counts, own, rule=facts.rule)


def _hidden(facts: ColumnFacts) -> HiddenCells:
    cells = facts.hidden_cells
    assert cells is not None
    return cells


LEAST_COUNT = 10  # rows that are counted: fewer may point at people
ROWS = Whole(least=0)


@dataclass(frozen=True)
class FeatureRisk:
    name: str
    gain_lost: Interval  # below 0: chance, or the attacker does better without it


@dataclass(frozen=True)
class ColumnRisk:
    """What an attacker would learn of one CF. None: not known."""

    name: str
    domain_size: int
    blurred: str | None  # on purpose, as the schema says
    exclusions_per_cell: float
    inferred_right: Interval | None  # share of the rows
    commonest_right: Interval | None  # if the commonest candidate is always answered
    gain: Interval | None  # of the one over the other: what is disclosed
    clearly_more: bool | None  # is it, beyond chance?
    # Of all rows, those whose cell does not state the value itself, and whose value has a
    # confidence of 0.9 or more.
    sure_share: float
    sure_rows: int | None  # how many these are; None: under 10
    sure_right: Interval | None  # share of them that is right
    reason: str | None = None  # why the shares are not known
    features: tuple[FeatureRisk, ...] = ()  # the OFs, the one that carries most first
    otherwise: tuple[Otherwise, ...] = ()  # other ways of blurring
    open_rows: int = 0  # whose cell states the value, so that there is nothing to infer

    @property
    def assessed(self) -> bool:
        return self.inferred_right is not None and self.clearly_more is not None


@dataclass(frozen=True)
class Risk(Shown):
    """What an attacker would learn from a table."""

    rows: int
    method: str
    columns: tuple[ColumnRisk, ...]
    tried_rows: int = 0  # on which OFs and other ways of blurring were tried; 0: they were not
    tried_method: str | None = None
    warnings: tuple[str, ...] = ()
    sure_confidence: float = SURE
    cfl_version: str = __version__
    version: int = 1

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, indent=2, allow_nan=False)


def risk(
    frame: Any,
    schema: AnySchema,
    *,
    method: str | None = None,
    k: int | None = None,
    iterations: int | Auto | None = None,
    gamma: float | Auto | None = None,
    metric: Literal["plain", "learned"] | None = None,
    ridge: float | None = None,
    seed: int | None = None,
    folds: int | Auto | None = None,
    calibration: bool | None = None,
    neighbors: Literal["auto", "exact"] | None = None,
    correction: bool | None = None,
    budget: float | None = None,
    jobs: int | None = None,
    max_memory: int | str | None = None,
    rows: int | None = None,
    name: str = "table",
    progress: ToldProgress = True,
) -> Risk:
    """Estimate what an attacker would learn from a table with exclusions.

    Parameters
    ----------
    frame, schema
        As in `impute`.
    method, k, iterations, gamma, metric, ridge, seed, folds, calibration, neighbors, correction,
    budget, jobs, max_memory
        As in `impute`.
    rows : int, optional
        Number of rows on which OFs are left out and other ways of blurring are tried; 0: none.
        Default: 10,000, or fewer if there are many OFs.
    name, progress
        As in `impute`.

    The default of `method` is "auto", because an attacker takes the best method. The schema's
    method is ignored.

    Returns
    -------
    Risk

    Raises
    ------
    UsageError
        An argument is wrong, or `folds` is 0, because risk is estimated on held-out cells.

    Examples
    --------
    With `table` and `schema` as in `impute`:

    >>> found = cfl_cli.risk(table, schema, k=5, method="commonest", rows=0)
    >>> round(found.columns[0].inferred_right.value, 3)
    0.675
    """
    asked = read_by({"rows": ROWS}, {} if rows is None else {"rows": rows}).get("rows")
    given = Arguments.of_call(locals() | {"method": method or AUTO})
    with called(frame, progress, schema=given.schema) as told:
        return risk_frame(frame, given, Context(name, told), rows=asked)


def risk_frame(frame: Any, given: Arguments, context: Context, *, rows: int | None) -> Risk:
    if given.settings.folds == 0:
        text = "folds: risk is estimated by held-out cells: {remedy}"
        raise UsageError(Problem("option-out-of-range", text, remedy="it needs folds other than 0"))
    stages, threads = Stages(context.progress), given.limits.jobs or available_cores()

    def afterwards(encoded: Encoded, settings: Settings) -> list[Expected]:
        made = plan_trials(encoded, settings, rows)
        return made.expected(encoded) if made else []

    with Workers(threads) as engine:
        learned = learn(
            frame,
            given,
            Context(name=context.name),
            stages=stages,
            engine=engine,
            fit=False,
            then=afterwards,
        )
        known = any(column.estimated_accuracy is not None for column in learned.report.columns)
        made = plan_trials(learned.encoded, learned.settings, rows) if known else None
        tried = try_others(learned, made, engine=engine, progress=stages) if made else None
    return Risk(
        rows=learned.report.rows,
        method=learned.settings.method,
        columns=tuple(
            _column(number, one, learned, given.schema, tried)
            for number, one in enumerate(learned.report.columns)
        ),
        tried_rows=len(made.rows) if made else 0,
        tried_method=made.settings.method if made else None,
        warnings=learned.report.warnings,
    )


def _column(
    number: int, column: ColumnReport, learned: Learned, schema: Schema, tried: _Tried | None
) -> ColumnRisk:
    known, facts = column.estimated_accuracy, _facts_of(learned, number)
    rows = len(facts.candidates)
    is_open = facts.block.mechanism.leaves(facts.candidates).sum(axis=1) == 1
    count = int(((facts.answer_confidences >= SURE) & ~is_open).sum())
    sure = next(one for one in column.coverage if one.min_confidence == SURE)
    sure_right = disclosure.of_others(sure.accuracy, count / rows, float(is_open.mean()))
    features: list[FeatureRisk] = []
    otherwise: list[Otherwise] = []
    if tried and known:
        changes = {name: of[number] for name, of in tried[0].items()}
        features = [
            FeatureRisk(name, Interval(-change.value, -change.high, -change.low).as_change)
            for name, change in changes.items()
        ]
        features.sort(key=lambda one: -one.gain_lost.value)
        otherwise = [
            Otherwise(way, change.as_change, min(max(known.value + change.value, 0.0), 1.0))
            for way, change in tried[1][number].items()
        ]
    # The report's shares with intervals that hold those of the table's own rows. The gain is the
    # change from answers that know of no OF.
    inferred, commonest, gain = known, column.commonest_accuracy, column.gain
    hidden = facts.hidden_cells
    others = None if hidden is None else shares_of_others(hidden.cells, hidden.mechanism)
    if not (inferred is None or commonest is None or hidden is None or others is None):
        knows = prospect_of(facts)
        knows_nothing = disclosure.prospect(
            replace(hidden, prior=others[0][others[1]]), counts_of(facts.candidates), hidden.cells
        )
        inferred = disclosure.in_these_rows(inferred, hidden, knows, rows=rows)
        commonest = disclosure.in_these_rows(commonest, hidden, knows_nothing, rows=rows)
        gain = disclosure.change(hidden, knows_nothing, knows, rows=rows)
    return ColumnRisk(
        name=column.name,
        domain_size=column.domain_size,
        blurred=schema.blurred.get(column.name),
        exclusions_per_cell=column.exclusions_per_cell,
        inferred_right=inferred,
        commonest_right=commonest,
        gain=None if gain is None else gain.as_change,
        clearly_more=column.clearly_better,
        sure_share=count / rows,
        sure_rows=count if count >= LEAST_COUNT or count == 0 else None,
        sure_right=sure_right,
        reason=column.accuracy_reason,
        features=tuple(features),
        otherwise=tuple(otherwise),
        open_rows=int(is_open.sum()),
    )
