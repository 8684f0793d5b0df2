"""Why a row got its imputed values, with the names of OFs, CFs, values and rows.

    a row of a table   `learn` as `impute` does, unless the run's report (of graph) or its model (of
                       any method) holds what was learned; then `arrays.explain`
    a new row          explain what a model predicts; no other row is encoded

Unlike a report, an explanation holds cells of the table: those of the row and of its neighbors.
"""

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from operator import index
from time import perf_counter, process_time
from typing import Any, Literal

import numpy as np
import polars as pl

from cfl_cli import __version__, methods
from cfl_cli.cli.progress import in_time
from cfl_cli.commands.explain import arrays
from cfl_cli.commands.explain.arrays import InTable, Question, RunExplained
from cfl_cli.core import Shown, forecast
from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.messages import count, did_you_mean, option, quote
from cfl_cli.core.parallel import Workers, available_cores
from cfl_cli.core.progress import Expected, Progress, Stage, Stages, Work, heard_by
from cfl_cli.core.settings import PLAIN, Auto, Settings
from cfl_cli.encode.cells import Cells
from cfl_cli.encode.encode import Block, Encoded, features_of, named_answers, written
from cfl_cli.encode.findings import Problems
from cfl_cli.errors import DataError, Problem, UsageError
from cfl_cli.methods.blend import FLOOR
from cfl_cli.methods.interface import Estimate, Neighborhood, Origin, PartExplained, Power
from cfl_cli.run import AnySchema, Arguments, Context, ToldProgress, called, refuse_blurred
from cfl_cli.run.cost import check_memory, run_seconds, size_of
from cfl_cli.run.learn import ENCODE, learn
from cfl_cli.run.prepare import hidden_together, prepare, settle_gamma
from cfl_cli.run.result import AnsweredRows, Model
from cfl_cli.tables import frames
from cfl_cli.tables.frames import RowLabels
from cfl_cli.trust.facts import raised_to
from cfl_cli.trust.powers import raised
from cfl_cli.trust.report import ColumnReport, Report, Sources

_VERSION = 1  # of the JSON
LONG = 5.0  # seconds from which on it is said how long it takes
EXPLAIN = Stage("explain", Work.DECODE, "explaining the row")
WALKS = ("graph", "ipal", "auto")  # methods whose walk over the table is repeated
# Settings that need not be those of a report: they choose what is written, not what is answered.
FREE = ("mode", "min_confidence", "keep_flagged", "bias", "budget")
_DIGITS = 12  # of a checksum in a message


@dataclass(frozen=True)
class CfCell:
    kind: str  # exclusions, candidates, exact, empty, or stated: a value that may be wrong
    ruled_out: tuple[str, ...]
    candidates: tuple[str, ...]
    stated: str | None = None
    noisy: bool = False  # do cells of this CF state values that may be wrong?


@dataclass(frozen=True)
class Neighbor:
    """One of the rows that the row leans on, or a point of a model."""

    row: Any  # from 1, or as Python's table calls it; None: a point of a model
    shared: int  # rows of the fitted table at this point; 1 within a table
    weight: float
    distance: float
    apart: dict[str, float]  # share of the squared distance, by OF, and by CF in round two
    position: tuple[float, float]  # in a picture that has the row at (0, 0)
    cells: dict[str, str | None] | None = None  # of the OFs; None: not known of a model


@dataclass(frozen=True)
class Near:
    """The neighbors of the row in one round; those of weight 0 are listed too."""

    round: int
    neighbors: tuple[Neighbor, ...]  # most weight first
    # How far each OF (and CF, in round two) makes them nearer than other rows: share of the squared
    # distance that rows have on average and they have not. Negative: they differ more than others.
    nearness: dict[str, float]
    spread: tuple[float, float]  # share of the squared distances along the axes of a picture
    # How much each OF (and CF) counts in a learned metric: share of the squared distance that rows
    # have on average. None: all count alike, each by its own spread.
    counts: dict[str, float] | None = None


@dataclass(frozen=True)
class Said:
    confidences: tuple[float, ...]  # that it passed on in the last step, in the domain's order
    value: str  # the most confident one
    confidence: float
    ruled_out: tuple[str, ...] | None  # or stated, by its own cell; None: not known of a model


@dataclass(frozen=True)
class Round:
    round: int
    near: int  # place in `Explanation.near`
    steps: int | None  # of propagation; None: a model, which has none
    prior: tuple[float, ...]
    confidences: tuple[float, ...]  # before calibration
    value: str  # that they favor
    said: tuple[Said, ...]  # by the neighbors, in their order
    taken: bool  # is this the round that answers?


@dataclass(frozen=True)
class Decisive:
    """The few neighbors without which the answer would be another, the others weighed anew."""

    neighbors: tuple[int, ...]  # places in `Near.neighbors`, from 0
    value: str  # that would be answered
    confidence: float


@dataclass(frozen=True)
class BlendPart:
    name: str
    weight: float
    prior: tuple[float, ...]
    confidences: tuple[float, ...]


@dataclass(frozen=True)
class Contribution:
    """How far one thing moved the scores of the values, of which softmax makes the prior."""

    kind: str  # ordinary, complementary, neighbors or shares
    name: str
    moves: tuple[float, ...]  # in the domain's order
    without: float  # the confidence that the answer would have without it


@dataclass(frozen=True)
class Together:
    """The imputed value where no cell tells it from others: all of them, and their confidence."""

    values: str
    confidence: float


@dataclass(frozen=True)
class CfExplained:
    name: str
    values: tuple[str, ...]
    cell: CfCell
    prior: tuple[float, ...]  # what is said without the row's own cell
    allowed: float  # share of the prior that the cell leaves; 0: all candidates are alike
    raw: tuple[float, ...]  # confidences before calibration
    power: float | None  # to which they are raised; None: they are not
    confidences: tuple[float, ...]  # as they are written
    value: str  # the answer
    confidence: float | None  # None: kept as observed
    written: str | None  # the answer as it is written; None: left empty
    left_empty: str | None  # why: flagged, or below min_confidence
    method: str
    parts: tuple[BlendPart, ...]
    cautious: bool  # are the parts blended as if hidden cells could hardly choose?
    rounds: tuple[Round, ...]  # of the graph
    decisive: Decisive | None  # None: no three were found that do, or there are no neighbors
    start: tuple[float, ...] | None  # scores before anything moved them; None: nothing does
    contributions: tuple[Contribution, ...]  # largest first
    together: Together | None = None  # None: its values are told apart


@dataclass(frozen=True)
class Explanation(Shown):
    """Why one row got its imputed values."""

    cfl_version: str
    row: Any  # from 1, or as Python's table calls it
    key: str | None  # by which it was asked for, such as patient=17
    cells: dict[str, str | None]  # of the row's OFs
    method: str
    source: str  # table: a row of the table that was learned from; model: a new row
    fitted_rows: int
    near: tuple[Near, ...]
    cfs: tuple[CfExplained, ...]
    warnings: tuple[str, ...] = ()
    version: int = _VERSION

    def __repr__(self) -> str:
        answers = ", ".join(f"{cf.name} {cf.value}" for cf in self.cfs)
        return f"Explanation(row {self.row}, {answers})"

    def as_dict(self) -> dict[str, Any]:
        facts = asdict(self)
        for near in facts["near"]:
            if near["counts"] is None:
                del near["counts"]
        return {"version": facts.pop("version"), **facts}

    def to_json(self) -> str:
        return json.dumps(
            self.as_dict(), ensure_ascii=False, indent=2, allow_nan=False, default=str
        )


@dataclass(frozen=True, eq=False)
class _Row:
    rows: AnsweredRows
    encoded: Encoded  # that row alone
    runs: tuple[RunExplained, ...]
    takes: Ints  # per CF: which run
    workers: Workers

    @cached_property
    def estimate(self) -> Estimate:
        blocks = [block.columns for block in self.encoded.blocks]
        taken = [*zip((self.runs[run] for run in self.takes), blocks, strict=True)]
        answers = None
        if all(run.answers is not None for run in self.runs):
            own = [run.answers[cf] for cf, (run, _) in enumerate(taken) if run.answers]
            answers = np.array([own])
        nothing = np.zeros((1, len(blocks)))
        confidences = np.hstack([run.confidences[block] for run, block in taken])[None]
        made = Estimate(confidences, nothing > 0, nothing, (), answers=answers)
        powers = self.rows.powers
        return made if powers is None else raised_to(powers, self.encoded, made)

    @cached_property
    def near(self) -> dict[tuple[int, int], tuple[Near, Ints]]:
        found = {}
        for run in dict.fromkeys(self.takes.tolist()):
            parts = (part.neighborhoods for part in self.runs[run].parts if part.neighborhoods)
            for place, one in enumerate(next(parts, ())):
                found[run, place] = self._near(one)
        return found

    def cf(self, number: int) -> CfExplained:
        block, run = self.encoded.blocks[number], self.runs[self.takes[number]]
        estimate, values, rows = self.estimate, block.values, self.rows
        given = self.encoded.candidates[:, block.columns]
        candidates = block.mechanism.leaves(given)
        own = written(estimate.confidences, self.encoded.candidates, block, rows.as_observed)[0]
        left, raw = candidates[0], estimate.confidences if estimate.raw is None else estimate.raw
        power = None if estimate.powers is None else estimate.powers[number]
        confidences = estimate.confidences[0, block.columns]
        if estimate.answers is not None:
            place = int(estimate.answers[0, number])
        else:
            place = int(np.where(candidates[0], confidences, -1).argmax())
        observed, cautious = block.name in rows.as_observed, rows.origins[number].cautious
        places = np.array([place])
        named, sure = named_answers(own[None], candidates, places, block)
        low = not observed and bool(sure[0] < rows.settings.min_confidence)
        evidence = run.row.evidence[0, block.columns]
        prior = run.prior[block.columns]
        # The mean that a cautious blend is made of does not add up.
        start, contributions = (
            (None, ())
            if cautious
            else self._contributions(run, number, confidences, place, power.value if power else 1.0)
        )
        weights = _weights(run, number)
        return CfExplained(
            name=block.name,
            values=values,
            cell=_cell(block, given[0], left),
            prior=floats(prior),
            allowed=float(np.sum(prior * (evidence / evidence.max()))),
            raw=floats(raw[0, block.columns]),
            power=None if power is None else power.value,
            confidences=floats(own),
            value=values[place],
            confidence=None if observed else float(own[place]),
            written=None if observed or low else named[0],
            together=None if named[0] == values[place] else Together(named[0], float(sure[0])),
            left_empty="flagged" if observed else "min_confidence" if low else None,
            method=rows.settings.method,
            parts=tuple(
                BlendPart(
                    part.name,
                    weight,
                    floats(part.prior[block.columns]),
                    floats(part.confidences[block.columns]),
                )
                for part, weight in zip(run.parts, weights, strict=True)
            ),
            cautious=cautious,
            rounds=self._rounds(run, number),
            decisive=self._decisive(run, number, place, power),
            start=start,
            contributions=contributions,
        )

    def _contributions(
        self, run: RunExplained, cf: int, confidences: Floats, answer: int, power: float
    ) -> tuple[tuple[float, ...] | None, tuple[Contribution, ...]]:
        """Return the scores to begin with, and how far each thing moved them, largest first.

        Parts of a blend count by their weights: geometric means add logarithms. There is nothing to
        return where a part that counts cannot be taken apart.
        """
        block = run.row.columns[cf]
        parts = [one for one in zip(run.parts, _weights(run, cf), strict=True) if one[1] > 0]
        if not any(part.moves for part, _ in parts):
            return None, ()
        start, moved = np.zeros(block.stop - block.start), dict[tuple[str, str], Floats]()
        for part, weight in parts:
            moves = part.moves[cf] if part.moves else None
            if moves is not None:
                start = start + weight * moves.base
                own = {
                    ("ordinary", name): moves.of_features[features].sum(axis=0)
                    for name, features in features_of(self.encoded).items()
                } | {
                    ("complementary", one.name): moves.of_others[one.columns].sum(axis=0)
                    for one in self.encoded.blocks
                }
                for key, move in own.items():
                    moved[key] = moved.get(key, 0.0) + weight * move
            elif part.neighborhoods or part.name == "commonest":
                kind = "neighbors" if part.neighborhoods else "shares"
                logs = np.log(np.maximum(part.prior[block], FLOOR))
                moved[kind, part.name] = weight * (logs - logs.mean())
            else:
                return None, ()
        found = []
        for (kind, name), move in moved.items():
            if move.any():
                # Had the scores not been moved so: those of calibrated confidences are `power` times
                # as large.
                left = confidences * np.exp(power * (move.max() - move))
                without = float(left[answer] / left.sum())
                found.append(Contribution(kind, name, floats(move), without))
        found.sort(key=lambda one: -np.ptp(one.moves))
        return floats(start), tuple(found)

    def _graph(self, run: RunExplained, cf: int) -> PartExplained | None:
        parts = zip(run.parts, _weights(run, cf), strict=True)
        return next((part for part, weight in parts if part.neighborhoods and weight > 0), None)

    def _rounds(self, run: RunExplained, cf: int) -> tuple[Round, ...]:
        part, block = self._graph(run, cf), self.encoded.blocks[cf]
        if part is None:
            return ()
        places, origin, steps = [*self.near], self.rows.origins[cf], tuple[int, ...]()
        if self.rows.table is not None:
            of_graph = (one.stops for one in origin.parts if one.name == "graph")
            steps = origin.stops or next(of_graph, ())
        candidates = block.mechanism.leaves(self.encoded.candidates[:, block.columns])[0]
        rounds = []
        for place, of_part in enumerate(part.of_cf(cf)):
            one, at = part.neighborhoods[of_part], (int(self.takes[cf]), of_part)
            confidences = one.confidences[block.columns]
            _, order = self.near[at]
            rounds.append(
                Round(
                    round=one.round,
                    near=places.index(at),
                    steps=steps[place] if place < len(steps) else None,
                    prior=floats(one.prior[block.columns]),
                    confidences=floats(confidences),
                    value=block.values[int(np.where(candidates, confidences, -1).argmax())],
                    said=tuple(self._said(one, block, int(neighbor)) for neighbor in order),
                    taken=one.round == part.rounds[cf],
                )
            )
        return tuple(rounds)

    def _said(self, one: Neighborhood, block: Block, neighbor: int) -> Said:
        said, ruled_out = one.said[neighbor, block.columns], None
        if one.rows is not None and self.rows.table is not None:
            cell = self.rows.table.candidates[one.rows[neighbor : neighbor + 1], block.columns]
            ruled_out = _named(block, ~cell[0])
        top = int(said.argmax())
        return Said(floats(said), block.values[top], float(said[top]), ruled_out)

    def _decisive(
        self, run: RunExplained, cf: int, place: int, power: Power | None
    ) -> Decisive | None:
        part, block = self._graph(run, cf), self.encoded.blocks[cf]
        left = block.mechanism.leaves(self.encoded.candidates[:, block.columns])
        if part is None or left.sum() == 1:
            return None
        at = part.of_cf(cf)[-1]
        plain = arrays.answered(run, cf)

        def calibrated(said: Floats) -> tuple[Ints, Floats]:
            answers, confidences = plain(said)
            return answers, raised(confidences, power.value) if power else confidences

        near = part.neighborhoods[at]
        found = arrays.decisive_set(near, block.columns, place, calibrated, self.workers)
        if found is None:
            return None
        neighbors, answer, confidence = found
        _, order = self.near[int(self.takes[cf]), at]
        places = tuple(sorted(order.tolist().index(one) for one in neighbors))
        return Decisive(places, block.values[answer], confidence)

    def _near(self, one: Neighborhood) -> tuple[Near, Ints]:
        order = np.lexsort((one.distances, -one.weights))
        gaps, width = one.gaps, self.encoded.features.shape[1]
        groups = dict(features_of(self.encoded))
        if gaps.shape[1] > width:
            groups |= {
                block.name: slice(width + block.columns.start, width + block.columns.stop)
                for block in self.encoded.blocks
            }
        by_name = np.column_stack([gaps[:, own].sum(axis=1) for own in groups.values()])
        usual = np.array([one.usual[own].sum() for own in groups.values()])
        nearer = usual - one.weights @ by_name
        total = by_name.sum(axis=1, keepdims=True)
        shares = by_name / np.where(total > 0, total, 1)
        positions, spread = _positions(one.differences)
        distances = one.distances
        cells = None if one.rows is None else self.cells(one.rows.tolist())
        neighbors = tuple(
            Neighbor(
                row=None if one.rows is None else int(one.rows[at]) + 1,
                shared=int(one.shared[at]),
                weight=float(one.weights[at]),
                distance=float(distances[at]),
                apart=dict(zip(groups, shares[at].tolist(), strict=True)),
                position=(float(positions[at, 0]), float(positions[at, 1])),
                cells=None if cells is None else cells[at],
            )
            for at in order
        )
        sum_nearer = float(nearer.sum())
        share = nearer / sum_nearer if sum_nearer > 0 else np.zeros(len(nearer))
        nearness = dict(zip(groups, share.tolist(), strict=True))
        counts = None
        if one.cf is not None:
            counts = dict(zip(groups, (usual / max(usual.sum(), 1e-300)).tolist(), strict=True))
        return Near(one.round, neighbors, nearness, spread, counts), order

    def cells(self, rows: Sequence[int]) -> list[dict[str, str | None]]:
        """Return the OFs of rows as text, None where the schema counts a cell as missing."""
        some, names = self.rows.cells[rows], [*features_of(self.encoded)]
        texts = [Cells.of(some[name], self.rows.schema).text.to_list() for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*texts, strict=True)]


def floats(numbers: Floats) -> tuple[float, ...]:
    return tuple(np.asarray(numbers, dtype=float).tolist())


def _weights(run: RunExplained, cf: int) -> list[float]:
    return [1.0] if run.recipe is None else run.recipe.weights[:, cf].tolist()


def _cell(block: Block, cell: Mask, left: Mask) -> CfCell:
    """Return what a cell says; `left` are the values that it leaves possible."""
    stated = None
    if cell.all():
        kind = "empty"
    elif left.sum() == 1:
        kind = "exact"
    elif block.mechanism.noisy:
        kind, (stated,) = "stated", _named(block, ~cell)
    else:
        kind = block.cells
    noisy = block.mechanism.noisy
    return CfCell(kind, _named(block, ~left), _named(block, left), stated, noisy)


def _named(block: Block, chosen: Mask) -> tuple[str, ...]:
    return tuple(value for value, so in zip(block.values, chosen, strict=True) if so)


def _positions(differences: Floats) -> tuple[Floats, tuple[float, float]]:
    """Return where neighbors lie along the two axes that hold most of their distances, m × 2.

    The row lies at 0, and an axis points to where its largest part is positive.
    """
    _, lengths, axes = np.linalg.svd(differences, full_matrices=False)
    positions, spread = np.zeros((len(differences), 2)), [0.0, 0.0]
    total = float((lengths**2).sum())
    for number, axis in enumerate(axes[:2]):
        if lengths[number] > 0:
            sign = np.sign(axis[np.abs(axis).argmax()])
            positions[:, number] = differences @ (sign * axis)
            spread[number] = float(lengths[number] ** 2) / total
    return positions, (spread[0], spread[1])


_BUDGET = "with a budget, the blend depends on the speed of the machine, so the run may have used a different blend"


def explain_row(
    rows: AnsweredRows,
    row: int,
    *,
    cfs: Collection[str] | None = None,
    key: str | None = None,
    progress: Progress = lambda *_: None,
) -> Explanation:
    first = rows.first_row
    row = check_row(row, first - 1 + frames.height(rows.frame), rows.name)
    encoded, table = rows.encoded_row(row), None
    if rows.table is not None:
        table = InTable(rows.table.known, rows.settings, row - 1, rows.runs, progress)
    numbers = [at for at, block in enumerate(encoded.blocks) if cfs is None or block.name in cfs]
    problems, blank = Problems("", rows.schema, model=True), []
    for name, fitted in encoded.ordinary.items():
        empty = Cells.of(pl.Series(name, [None], dtype=pl.String), rows.schema)
        features = fitted.features(empty, problems)
        if features is None:  # an empty cell is always understood
            raise TypeError(name)
        blank.append(features[0][0])
    warnings = encoded.warnings
    if table is not None:
        warnings = () if rows.settings.budget is None else (_BUDGET,)
    ofs = tuple(features_of(encoded).values())
    with Workers(rows.jobs or available_cores()) as workers:
        question = Question(ofs, np.concatenate(blank), workers, table, numbers)
        found = arrays.explain(rows.settings.method, rows.fitted, encoded.known, question)
        named = _Row(rows, encoded, *found, workers)
        explained = []
        for done, number in enumerate(numbers):
            progress(EXPLAIN, done, len(numbers))
            explained.append(named.cf(number))
        return Explanation(
            __version__,
            row,
            key,
            named.cells([row - first])[0],
            rows.settings.method,
            "model" if table is None else "table",
            rows.fitted_rows,
            tuple(near for near, _ in named.near.values()),
            tuple(explained),
            (*rows.warnings, *warnings),
        )


def check_row(row: Any, rows: int, name: str) -> int:
    """Return the number of a row, from 1, or raise unless a table has it."""
    number = None if isinstance(row, bool) or not hasattr(row, "__index__") else index(row)
    if number is None or not 1 <= number <= rows:
        text, asked = "{option}: {file} has {rows}, numbered from 1", option("row", row)
        many = count(rows, "row")
        raise UsageError(Problem("option-row", text, file=name, option=asked, rows=many))
    return number


def chosen_cfs(
    asked: str | Sequence[str] | None, cfs: Sequence[str], name: str
) -> tuple[str, ...] | None:
    if asked is None or asked in ((), []):
        return None
    chosen = (asked,) if isinstance(asked, str) else tuple(asked)
    problems, text = [], "{option}: not a CF of {file}{near}"
    for one in chosen:
        if one not in cfs:
            near = did_you_mean(one, cfs) or f", which has {', '.join(map(quote, cfs))}"
            named = option("cf", one, quoted=True)
            problems.append(Problem("option-cf", text, file=name, option=named, near=near))
    if problems:
        raise UsageError(*problems)
    return chosen


def explain(
    frame: Any,
    schema: AnySchema,
    row: Any,
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
    min_confidence: float | None = None,
    keep_flagged: bool | None = None,
    budget: float | None = None,
    jobs: int | None = None,
    max_memory: int | str | None = None,
    infer: str | Sequence[str] | None = None,
    cf: str | Sequence[str] | None = None,
    name: str = "table",
    progress: ToldProgress = True,
) -> Explanation:
    """Explain the imputed values of one row of a table.

    The method is fitted again. If you have a result, `Result.explain` is quicker.

    Parameters
    ----------
    frame, schema
        As in `impute`.
    row : label
        The label of the row in a pandas index, otherwise its number, counted from 0.
    method, k, iterations, gamma, metric, ridge, seed, folds, calibration, neighbors, correction,
    min_confidence, keep_flagged, budget, jobs, max_memory, infer
        As in `impute`.
    cf : str or list of str, optional
        CFs to explain, all by default.
    name, progress
        As in `impute`.

    Returns
    -------
    Explanation
        The explanation holds cells of the row and of its neighbors.

    Raises
    ------
    UsageError
        An argument is wrong, or the table has no such row or CF.

    Examples
    --------
    With `table` and `schema` as in `impute`:

    >>> cfl_cli.explain(table, schema, 39, k=5)
    Explanation(row 39, job retired)
    """
    given = Arguments.of_call(locals())
    labels = RowLabels(frame, given.schema.identifiers)
    cfs = chosen_cfs(cf, [*given.schema.complementary], name)
    frames.as_polars(frame, (), name=name)  # raises if it is no table
    number = number_of(row, labels, name)
    with called(frame, progress, schema=given.schema) as told:
        found = explain_frame(frame, given, Context(name, told), number, cfs=cfs)
    return relabelled(found, labels)


def explain_frame(
    frame: Any,
    given: Arguments,
    context: Context,
    row: int,
    *,
    cfs: Sequence[str] | None = None,
    key: str | None = None,
    recorded: tuple[Report, str, Sources] | None = None,
    model: Model | None = None,
) -> Explanation:
    """Return why a row of a table, numbered from 1, is imputed as `impute` does it.

    `cfs` are the CFs to explain, all if it is None; `key` is by what the row was looked for. With
    `recorded`, the report of the run, its name and what is known of the files that are explained
    now, nothing that graph has chosen is chosen again; with the `model` that the run wrote, too, no
    method is fitted again.
    """
    name, progress = context.name, context.progress
    refuse_blurred(given.schema, given.limits.infer, cfs=cfs)
    stages, method = Stages(progress), given.settings.method
    threads = given.limits.jobs or available_cores()
    told: tuple[str, ...] = ()
    then = _announced(progress, threads)
    if recorded is not None and (method == "graph" or model is not None):
        rows = _by_report(frame, given, recorded, model, name=name, threads=threads, stages=stages)
        return explain_row(rows, row, cfs=cfs, key=key, progress=stages)
    if recorded is not None:
        check_report(*recorded, given.settings)
        told = (f"method {method} was fitted again, because no model of this run was found",)
    with Workers(threads) as engine:
        context = Context(name, progress)
        learned = learn(frame, given, context, stages=stages, engine=engine, fit=False, then=then)
    rows = AnsweredRows.of_run(learned, frame, given.schema, name=name, jobs=threads, warnings=told)
    return explain_row(rows, row, cfs=cfs, key=key, progress=stages)


def number_of(row: Any, labels: RowLabels, name: str) -> int:
    """Return the number of a row, from 1, or raise unless its label names one row of a table."""
    if (number := labels.number(row)) is not None:
        return number
    text, asked = "{option}: names no row of {file}, or several rows: {remedy}", option("row", row)
    remedy: object = "give a unique label of the index"
    if labels.index is None:
        remedy = f"its rows are counted from 0 to {labels.rows - 1}"
    raise UsageError(Problem("option-row", text, file=name, option=asked, remedy=remedy))


def relabelled(found: Explanation, labels: RowLabels) -> Explanation:
    """Return an explanation whose rows are called as the table calls them, not by numbers from 1."""
    near = (
        replace(
            one,
            neighbors=tuple(
                it if it.row is None else replace(it, row=labels.label(it.row))
                for it in one.neighbors
            ),
        )
        for one in found.near
    )
    return replace(found, row=labels.label(found.row), near=tuple(near))


def _announced(
    progress: Progress, threads: int
) -> Callable[[Encoded, Settings], Sequence[Expected]]:
    """Return what foresees the walks, and says first how long it takes to fit again, if long.

    On a machine that is busy with other work, everything takes as many times longer as the encoding.
    """
    wall, cpu = perf_counter(), process_time()

    def then(encoded: Encoded, settings: Settings) -> list[Expected]:
        walks = _walks(encoded, settings)
        busy = max(1.0, (perf_counter() - wall) / max(process_time() - cpu, 1e-3))
        most = run_seconds(encoded, settings, jobs=threads) * forecast.factor(settings.method)
        most = busy * (most + sum(walk.seconds for walk in walks))
        if most >= LONG:
            how = (
                " and a model that `cfl impute --model` wrote" if settings.method != "graph" else ""
            )
            heard_by(progress, "tell")(
                f"fitting method {settings.method} again takes up to about {in_time(most)}; with its "
                f"output{how}, `cfl explain OUT` need not fit it"
            )
        return walks

    return then


def _walks(encoded: Encoded, settings: Settings) -> list[Expected]:
    if settings.method not in WALKS:
        return []
    runs = 2 if any(block.to_be_fitted for block in encoded.blocks) else 1
    return methods.load("graph").stages(size_of(encoded), settings, folds=0) * runs


def _by_report(
    frame: Any,
    given: Arguments,
    recorded: tuple[Report, str, Sources],
    model: Model | None,
    *,
    name: str,
    threads: int,
    stages: Stages,
) -> AnsweredRows:
    stages(ENCODE, 0, 1)
    quick = given.settings.replaced({"folds": 0})
    how = quick if model is None else given.settings  # forest: copies count as one
    encoded = prepare(frame, given.schema, how, name=name, jobs=threads)
    settings, _ = settle_gamma(encoded, given.settings)
    table, most = frames.size(frame), given.limits.max_memory
    check_memory(encoded, settings, table=table, jobs=threads, max_memory=most)
    check_report(*recorded, settings)
    heard_by(stages.progress, "expect")(_walks(encoded, settings))
    columns = recorded[0].columns
    if model is not None:
        folds = hidden_together(len(encoded.features), settings, encoded.groups)
        fitted = model.fitted.of_table(encoded.known, folds, settings.seed)
        origins, powers = model.origins, model.powers
    else:
        fitted, origins, powers = None, *_recorded(columns, settings)
    return AnsweredRows(
        schema=given.schema,
        settings=settings,
        fitted=fitted,
        powers=powers,
        origins=origins,
        as_observed=frozenset(one.name for one in columns if one.flagged and settings.keep_flagged),
        frame=frame,
        name=name,
        jobs=threads,
        fitted_rows=len(encoded.features),
        table=encoded,
        runs=(origins,),
    )


def _recorded(
    columns: Sequence[ColumnReport], settings: Settings
) -> tuple[tuple[Origin, ...], tuple[Power | None, ...] | None]:
    """Return what the report of a run with method graph says of each CF's rounds and its power."""
    origins = tuple(
        Origin(
            one.method,
            round=one.round,
            iterations=one.iterations,
            stops=one.stops,
            metric=one.metric,
        )
        for one in columns
    )
    powers = tuple(
        None if (power := one.calibration_power) is None else Power(power, (power, power))
        for one in columns
    )
    return origins, powers if settings.calibration and settings.folds != 0 else None


def can_be_reused(report: Report, *, with_model: bool) -> bool:
    """Return whether a report says enough of its run, so that nothing need be chosen again."""
    lacking = any(
        one.fitted_mechanism is not None or (one.method == "graph" and not one.stops)
        for one in report.columns
    )
    known = with_model or report.settings.get("method") == "graph"
    return report.cfl_version == __version__ and known and not lacking


def check_report(report: Report, name: str, now: Sources, settings: Settings) -> None:
    """Raise unless a report is that of a run on this table, with this schema and these settings."""

    def refused(code: str, text: str, **facts: Any) -> DataError:
        out = option("report")
        return DataError(Problem(code, f"{{file}}: {text}{{out}} out", file=name, out=out, **facts))

    was = report.sources or Sources()
    for what, before, after in (
        ("table", was.table_sha256, now.table_sha256),
        ("schema", was.schema_sha256, now.schema_sha256),
    ):
        if before is None or before != after:
            text = (
                "the report belongs to another {what} (SHA-256 {now}…, recorded {before}): pass "
                "the {what} that it was made from, or leave "
            )
            old = f"{before[:_DIGITS]}…" if before else "not recorded"
            new = (after or "unknown")[:_DIGITS]
            raise refused("report-of-another-table", text, what=what, now=new, before=old)
    if report.batch is not None:
        text = "the report belongs to new rows that a model filled in: pass the model, or leave "
        raise refused("report-of-new-rows", text)
    if report.cfl_version != __version__:
        text = "written by cfl {wrote}, and this is {version}: impute again, or leave "
        versions = {"wrote": report.cfl_version, "version": __version__}
        raise refused("report-of-another-version", text, **versions)
    for setting, value in asdict(settings).items():
        recorded = report.settings.get(setting, PLAIN if setting == "metric" else None)
        is_open = setting == "gamma" and value is None
        if setting not in FREE and recorded != value and not is_open:
            text = (
                "{file}: was made with {was}, not with {now}: give the settings of that run, or "
                "leave {out} out"
            )
            facts = {"was": option(setting, recorded), "now": option(setting, value)}
            out = option("report")
            raise UsageError(Problem("report-other-settings", text, file=name, **facts, out=out))
    for one in report.columns:
        if settings.method == "graph" and one.method == "graph" and not one.stops:
            text = "the report does not record the number of steps of column {column!r}: impute again, or leave "
            raise refused("report-lacks-steps", text, column=one.name)
        if one.fitted_mechanism is not None:
            text = (
                "the mechanism of column {column!r} was fitted in a second run, which is not in "
                "the report: leave "
            )
            raise refused("report-fitted-mechanism", text, column=one.name)
