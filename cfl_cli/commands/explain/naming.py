"""From arrays that explain one row to an explanation with names: OFs, CFs, values, rows."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from cfl_cli.commands.explain import arrays
from cfl_cli.commands.explain.arrays import RunExplained, answered
from cfl_cli.core import Shown
from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.parallel import Workers
from cfl_cli.encode.encode import Block, Encoded, written
from cfl_cli.methods.blend import FLOOR
from cfl_cli.methods.interface import Estimate, Moves, Neighborhood, PartExplained, Power
from cfl_cli.texts.matching import as_text
from cfl_cli.trust.facts import raised_to
from cfl_cli.trust.powers import raised

# Why one row is answered so, as plain data: what a page, a program or a picture needs.
#
# Unlike a report, it holds cells of the table: those of the row and of its neighbors.

VERSION = 1


@dataclass(frozen=True)
class Cell:
    """What the row's cell of one CF says."""

    kind: str  # exclusions, exact or empty
    ruled_out: tuple[str, ...]
    candidates: tuple[str, ...]


@dataclass(frozen=True)
class Neighbor:
    """One of the rows that the row leans on, or a point of a model."""

    row: int | None  # from 1; None: a point of a model, of which nobody knows whose it is
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


@dataclass(frozen=True)
class Said:
    """What one neighbor says of one CF."""

    confidences: tuple[float, ...]  # that it passed on in the last step, in the domain's order
    value: str  # the most confident one
    confidence: float
    ruled_out: tuple[str, ...] | None  # by its own cell; None: not known of a model


@dataclass(frozen=True)
class Round:
    """What one round of the graph says of one CF."""

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
class Part:
    """One method that the answer is blended from."""

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
class CfExplained:
    """Why one CF of the row is answered so."""

    name: str
    values: tuple[str, ...]
    cell: Cell
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
    parts: tuple[Part, ...]
    cautious: bool  # are the parts blended as if hidden cells could hardly choose?
    rounds: tuple[Round, ...]  # of the graph
    decisive: Decisive | None  # None: no three were found that do, or there are no neighbors
    start: tuple[float, ...] | None  # scores before anything moved them; None: nothing does
    contributions: tuple[Contribution, ...]  # largest first


@dataclass(frozen=True)
class Explanation(Shown):
    """Why one row is answered so."""

    cfl_version: str
    row: int  # from 1
    key: str | None  # by which it was asked for, such as patient=17
    cells: dict[str, str | None]  # of the row's OFs
    method: str
    source: str  # table: a row of the table that was learned from; model: a new row
    fitted_rows: int
    near: tuple[Near, ...]
    cfs: tuple[CfExplained, ...]
    warnings: tuple[str, ...] = ()
    version: int = VERSION

    def __repr__(self) -> str:
        """Return what it is about, in a line."""
        answers = ", ".join(f"{cf.name} {cf.value}" for cf in self.cfs)
        return f"Explanation(row {self.row}, {answers})"

    def as_dict(self) -> dict[str, Any]:
        """Return everything as dicts, lists, texts and numbers."""
        facts = asdict(self)
        return {"version": facts.pop("version"), **facts}

    def to_json(self) -> str:
        """Return it as JSON text, one object."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=2, allow_nan=False)


# How far OFs, other CFs and neighbors moved the scores of one CF's values, by their names.


@dataclass(frozen=True)
class MoveNames:
    """Which features belong to an OF, and which confidences to a CF."""

    ofs: Mapping[str, slice]
    cfs: Mapping[str, slice]

    def gather(self, moves: Moves) -> dict[tuple[str, str], Floats]:
        """Return how far each moved the scores, K each, by its kind and name."""
        by_of = {
            ("ordinary", name): moves.of_features[own].sum(axis=0) for name, own in self.ofs.items()
        }
        by_cf = {
            ("complementary", name): moves.of_others[own].sum(axis=0)
            for name, own in self.cfs.items()
        }
        return by_of | by_cf


def contributions_of(
    run: RunExplained, cf: int, names: MoveNames, confidences: Floats, answer: int
) -> tuple[tuple[float, ...] | None, tuple[Contribution, ...]]:
    """Return the scores to begin with, and how far each thing moved them, largest first.

    Parts of a blend count by their weights: geometric means add logarithms. There is nothing to
    return where a part that counts cannot be taken apart. `confidences` are those of the CF, K.
    """
    block = run.row.columns[cf]
    weights = np.ones(1) if run.recipe is None else run.recipe.weights[:, cf]
    parts = [one for one in zip(run.parts, weights.tolist(), strict=True) if one[1] > 0]
    if not any(part.moves for part, _ in parts):
        return None, ()
    start, moved = np.zeros(block.stop - block.start), dict[tuple[str, str], Floats]()
    for part, weight in parts:
        moves = part.moves[cf] if part.moves else None
        if moves is not None:
            start = start + weight * moves.base
            for key, own in names.gather(moves).items():
                moved[key] = moved.get(key, 0.0) + weight * own
        elif part.neighborhoods or part.name == "commonest":
            kind = "neighbors" if part.neighborhoods else "shares"
            logs = np.log(np.maximum(part.prior[block], FLOOR))
            moved[kind, part.name] = weight * (logs - logs.mean())
        else:
            return None, ()
    found = [
        Contribution(kind, name, floats(own), _without(confidences, own, answer))
        for (kind, name), own in moved.items()
        if own.any()
    ]
    found.sort(key=lambda one: -np.ptp(one.moves))
    return floats(start), tuple(found)


def floats(numbers: Floats) -> tuple[float, ...]:
    """Return numbers as Python has them."""
    return tuple(np.asarray(numbers, dtype=float).tolist())


def _without(confidences: Floats, move: Floats, answer: int) -> float:
    """Return the confidence of the answer had the scores not been moved so."""
    left = confidences * np.exp(move.max() - move)
    return float(left[answer] / left.sum())


@dataclass(frozen=True, eq=False)
class Named:
    """One row with what was found of it, and what its numbers are called."""

    encoded: Encoded  # that row alone
    runs: tuple[RunExplained, ...]
    takes: Ints  # per CF: which run
    ofs: Mapping[str, slice]  # features of each OF
    powers: tuple[Power | None, ...] | None
    as_observed: frozenset[str]  # CFs that are kept so
    min_confidence: float
    method: str
    cautious: tuple[bool, ...]  # per CF
    steps: tuple[tuple[int, ...], ...]  # per CF: after which each round stopped; (): a model
    candidates: Mask | None = None  # n × ΣK, of the neighbors' table; None: a model
    cells: pl.DataFrame | None = None  # of the neighbors' table; None: a model

    @cached_property
    def estimate(self) -> Estimate:
        """Return the row's confidences as they are written, but for CFs kept as observed."""
        values = [self.runs[run] for run in self.takes]
        blocks = [block.columns for block in self.encoded.blocks]
        confidences = np.hstack(
            [run.confidences[block] for run, block in zip(values, blocks, strict=True)]
        )[None]
        answers = None
        if all(run.answers is not None for run in self.runs):
            own = [run.answers[cf] for cf, run in enumerate(values) if run.answers]
            answers = np.array([own])
        nothing = np.zeros((1, len(blocks)))
        made = Estimate(confidences, nothing > 0, nothing, (), answers=answers)
        return made if self.powers is None else raised_to(self.powers, self.encoded, made)

    @cached_property
    def near(self) -> dict[tuple[int, int], tuple[Near, Ints]]:
        """Return the neighbors by run and place of the round, and the order they are in."""
        used = dict.fromkeys(self.takes.tolist())
        return {
            (run, place): self._near(one)
            for run in used
            for place, one in enumerate(self.neighborhoods(run))
        }

    def neighborhoods(self, run: int) -> tuple[Neighborhood, ...]:
        """Return the neighborhoods of a run, round by round."""
        return next((part.neighborhoods for part in self.runs[run].parts if part.neighborhoods), ())

    def all_near(self) -> tuple[Near, ...]:
        """Return the neighbors of all rounds."""
        return tuple(near for near, _ in self.near.values())

    def cf(self, number: int, workers: Workers) -> CfExplained:
        """Return why one CF is answered so."""
        block, run = self.encoded.blocks[number], self.runs[self.takes[number]]
        estimate, values = self.estimate, block.values
        candidates = self.encoded.candidates[:, block.columns]
        own = written(estimate.confidences, self.encoded.candidates, block, self.as_observed)[0]
        raw = estimate.confidences if estimate.raw is None else estimate.raw
        power = None if estimate.powers is None else estimate.powers[number]
        if estimate.answers is not None:
            place = int(estimate.answers[0, number])
        else:
            place = int(
                np.where(candidates[0], estimate.confidences[0, block.columns], -1).argmax()
            )
        observed = block.name in self.as_observed
        low = not observed and bool(own[place] < self.min_confidence)
        evidence = run.row.evidence[0, block.columns]
        prior = run.prior[block.columns]
        names = MoveNames(self.ofs, {one.name: one.columns for one in self.encoded.blocks})
        confidences = estimate.confidences[0, block.columns]
        moved = contributions_of(run, number, names, confidences, place)
        # The mean that a cautious blend is made of does not add up.
        start, contributions = (None, ()) if self.cautious[number] else moved
        return CfExplained(
            name=block.name,
            values=values,
            cell=_cell(block, candidates[0]),
            prior=floats(prior),
            allowed=float(np.sum(prior * (evidence / evidence.max()))),
            raw=floats(raw[0, block.columns]),
            power=None if power is None else power.value,
            confidences=floats(own),
            value=values[place],
            confidence=None if observed else float(own[place]),
            written=None if observed or low else values[place],
            left_empty="flagged" if observed else "min_confidence" if low else None,
            method=self.method,
            parts=self._parts(run, number),
            cautious=self.cautious[number],
            rounds=self._rounds(run, number),
            decisive=self._decisive(run, number, place, power, workers),
            start=start,
            contributions=contributions,
        )

    def _parts(self, run: RunExplained, cf: int) -> tuple[Part, ...]:
        block = self.encoded.blocks[cf].columns
        weights = np.ones(1) if run.recipe is None else run.recipe.weights[:, cf]
        return tuple(
            Part(part.name, weight, floats(part.prior[block]), floats(part.confidences[block]))
            for part, weight in zip(run.parts, weights.tolist(), strict=True)
        )

    def _graph(self, run: RunExplained, cf: int) -> PartExplained | None:
        """Return the part that has neighbors, if it counts for a CF."""
        weights = np.ones(1) if run.recipe is None else run.recipe.weights[:, cf]
        parts = zip(run.parts, weights, strict=True)
        return next((part for part, weight in parts if part.neighborhoods and weight > 0), None)

    def _rounds(self, run: RunExplained, cf: int) -> tuple[Round, ...]:
        part, block = self._graph(run, cf), self.encoded.blocks[cf]
        if part is None:
            return ()
        places = [*self.near]
        steps = self.steps[cf] if self.steps else ()
        candidates = self.encoded.candidates[0, block.columns]
        rounds = []
        for place, one in enumerate(part.neighborhoods[: part.rounds[cf]]):
            at = (int(self.takes[cf]), place)
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
        if one.rows is not None and self.candidates is not None:
            cell = self.candidates[one.rows[neighbor], block.columns]
            ruled_out = _named(block, ~cell)
        top = int(said.argmax())
        return Said(floats(said), block.values[top], float(said[top]), ruled_out)

    def _decisive(
        self, run: RunExplained, cf: int, place: int, power: Power | None, workers: Workers
    ) -> Decisive | None:
        part, block = self._graph(run, cf), self.encoded.blocks[cf]
        if part is None or self.encoded.candidates[0, block.columns].sum() == 1:
            return None
        at = part.rounds[cf] - 1
        near, plain = part.neighborhoods[at], answered(run, cf)

        def calibrated(said: Floats) -> tuple[Ints, Floats]:
            answers, confidences = plain(said)
            return answers, raised(confidences, power.value) if power else confidences

        found = arrays.find(near, block.columns, place, calibrated, workers)
        if found is None:
            return None
        _, order = self.near[int(self.takes[cf]), at]
        places = tuple(sorted(order.tolist().index(one) for one in found.neighbors))
        return Decisive(places, block.values[found.answer], found.confidence)

    def _near(self, one: Neighborhood) -> tuple[Near, Ints]:
        order = np.lexsort((one.distances, -one.weights))
        gaps, width = one.gaps, self.encoded.features.shape[1]
        groups = dict(self.ofs)
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
        neighbors = tuple(
            Neighbor(
                row=None if one.rows is None else int(one.rows[at]) + 1,
                shared=int(one.shared[at]),
                weight=float(one.weights[at]),
                distance=float(distances[at]),
                apart=dict(zip(groups, shares[at].tolist(), strict=True)),
                position=(float(positions[at, 0]), float(positions[at, 1])),
                cells=None
                if one.rows is None or self.cells is None
                else cells_of(self.cells, self.ofs, int(one.rows[at])),
            )
            for at in order
        )
        sum_nearer = float(nearer.sum())
        share = nearer / sum_nearer if sum_nearer > 0 else np.zeros(len(nearer))
        return Near(
            one.round, neighbors, dict(zip(groups, share.tolist(), strict=True)), spread
        ), order


def cells_of(table: pl.DataFrame, columns: Mapping[str, object], row: int) -> dict[str, str | None]:
    """Return the cells of a row, as text, in some columns; None is a cell without content."""
    return {name: as_text(table[name][row : row + 1])[0] for name in columns}


def _cell(block: Block, candidates: Mask) -> Cell:
    kind = "empty" if candidates.all() else "exact" if candidates.sum() == 1 else "exclusions"
    return Cell(kind, _named(block, ~candidates), _named(block, candidates))


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
