"""From arrays that explain one row to an explanation with names: OFs, CFs, values, rows."""

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import polars as pl

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.parallel import Workers
from cfl_cli.core.quick import dataclass
from cfl_cli.estimators import decisive
from cfl_cli.estimators.explained import Neighborhood, PartExplained
from cfl_cli.estimators.interface import Estimate, Power
from cfl_cli.estimators.row_explained import RunExplained, answered
from cfl_cli.jobs.contributions import MoveNames, contributions_of, floats
from cfl_cli.jobs.explanation import (
    Cell,
    CfExplained,
    Decisive,
    Near,
    Neighbor,
    Part,
    Round,
    Said,
)
from cfl_cli.steps.decode import written
from cfl_cli.steps.encode import Block, Encoded
from cfl_cli.texts.columns import as_text
from cfl_cli.trust.calibrate import raised_to
from cfl_cli.trust.powers import raised


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

        found = decisive.find(near, block.columns, place, calibrated, workers)
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


def features_of(encoded: Encoded) -> dict[str, slice]:
    """Return the features of each OF."""
    widths = [fitted.width for fitted in encoded.ordinary.values()]
    ends = np.cumsum(widths).tolist()
    return {
        name: slice(end - width, end)
        for name, width, end in zip(encoded.ordinary, widths, ends, strict=True)
    }


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
