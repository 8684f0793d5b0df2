"""What an attacker would learn without an OF, or if cells and OFs were blurred otherwise.

without an OF, coarser OFs   the method is run again, and judged by the same hidden cells
fewer exclusions             one is left out of each cell; then as above
more exclusions              the rows' own cells: as above. What is learned from all of them: values
                             are drawn from the confidences and blurred both ways
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from cfl_cli.core import draws
from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.parallel import Engine
from cfl_cli.core.quick import dataclass
from cfl_cli.core.stages import Progress
from cfl_cli.jobs.learn import Learned
from cfl_cli.jobs.trial import Trial
from cfl_cli.jobs.ways import FEWER, MORE, TRYING, Altered, Plan, counts_of, is_altered, with_fewer
from cfl_cli.trust import disclosure
from cfl_cli.trust.disclosure import Moved, Prospect
from cfl_cli.trust.facts import CalibratedFacts, ColumnFacts
from cfl_cli.trust.hidden_cells import HiddenCells
from cfl_cli.trust.intervals import Interval


@dataclass(frozen=True)
class Otherwise:
    """What another way of blurring would do."""

    way: str
    change: Interval  # of the share of rows inferred right
    inferred_right: float


@dataclass(frozen=True)
class Tried:
    """What was tried, for each CF."""

    rows: int
    method: str
    without: Mapping[str, Sequence[Interval]]  # by OF: the change, per CF
    otherwise: Sequence[Mapping[str, Interval]]  # per CF, by the way of blurring: the change


def try_others(learned: Learned, plan: Plan, *, engine: Engine, progress: Progress) -> Tried:
    """Return what leaving out and blurring otherwise would change."""
    trial = Trial(
        learned.encoded.some(plan.rows),
        plan.settings,
        engine,
        began=_counted(progress, plan.runs),
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

    def without_of(own: slice) -> list[Interval]:
        features = np.ascontiguousarray(np.delete(trial.encoded.features, own, axis=1))
        return changes(trial.otherwise(features=features))

    without = {name: without_of(own) for name, own in plan.left_out.items()}
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
    return Tried(len(plan.rows), plan.settings.method, without, otherwise)


def _with_more(trial: Trial, learned: Learned, rows: Ints) -> list[Interval | None]:
    """Return what a further exclusion in each cell would change; None: no cell has room for it."""
    found: list[Interval | None] = []
    hard = _learning(trial, _drawn(trial, learned.estimate.confidences[rows]))
    easy = _learning(trial, [facts.answers for facts in trial.now])
    for number, effects in enumerate(zip(hard, easy, strict=True)):
        facts = facts_of(learned, number)
        if facts.hidden_cells is None or not is_altered(facts.candidates, disclosure.more):
            found.append(None)
            continue
        hidden, n = facts.hidden_cells, len(facts.candidates)
        here, there = prospect_of(facts), prospect_of(facts, disclosure.more)
        moved = Moved.by_more(hidden, here, there)
        own = disclosure.change(hidden, here, there, rows=n, moved=moved)
        found.append(disclosure.with_learning(own, effects, share=len(rows) / n))
    return found


def _drawn(trial: Trial, confidences: Floats) -> list[Ints]:
    """Return values of each CF, drawn from the confidences of all."""
    values = []
    for block in trial.encoded.blocks:
        stream = draws.stream_of(f"risk {block.name}")
        chance = draws.chances(np.arange(len(confidences)), stream, trial.settings.seed)
        up_to = np.cumsum(confidences[:, block.columns], axis=1)
        values.append((up_to > chance[:, None] * up_to[:, -1:]).argmax(axis=1))
    return values


def _learning(trial: Trial, values: Sequence[Ints]) -> list[float]:
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

    now, then = facts(lambda counts, _: counts), facts(disclosure.more)
    return [
        _right(there, true, trial) - _right(here, true, trial)
        for here, there, true in zip(now, then, values, strict=True)
    ]


def _right(facts: ColumnFacts, true: Ints, trial: Trial) -> float:
    """Return the share of hidden rows inferred right with a further exclusion in their cells."""
    right = prospect_of(facts, disclosure.more).right
    return float(right[np.arange(len(right)), true[trial.rows_of(facts)]].mean())


def facts_of(learned: Learned, number: int) -> ColumnFacts:
    """Return what a run on all rows shows of a CF."""
    kind = ColumnFacts if learned.estimate.powers is None else CalibratedFacts
    return kind(learned.encoded, learned.estimate, number)


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
    assert cells is not None  # noqa: S101 — every run here hides rows
    return cells


def _counted(progress: Progress, runs: int) -> Callable[[], None]:
    """Return what tells the progress, called when each run begins."""
    begun = iter(range(runs))
    return lambda: progress(TRYING, next(begun, runs), runs)
