"""Why one row is answered so, as plain data: what a page, a program or a picture needs.

Unlike a report, it holds cells of the table: those of the row and of its neighbors.
"""

import json
from dataclasses import asdict
from typing import Any

from cfl_cli.core.quick import dataclass
from cfl_cli.core.shown import Shown

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
