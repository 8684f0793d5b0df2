"""The neighbors of an explained row: whom it leans on, what they say, and their OFs beside its."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from cfl_cli.cli.show.page import Dot, Section, Surroundings
from cfl_cli.cli.show.page import Field as AnyField
from cfl_cli.core.messages import count, printable
from cfl_cli.core.quick import dataclass
from cfl_cli.jobs.explanation import CfExplained, Explanation, Near, Neighbor, Said

SHOWN = 10  # neighbors, at most; JSON has all
BESIDE = 3  # neighbors whose cells are shown beside the row's …
SPARE = 3  # … and so many more where there is room
LEAST = 0.05  # of a distance, to be named


@dataclass(frozen=True)
class Line:
    """One neighbor, and what it says of a CF."""

    number: int  # from 1, most weight first
    neighbor: Neighbor
    said: Said


Field: TypeAlias = AnyField[Line]


def neighbors_section(cf: CfExplained, explained: Explanation) -> Iterator[Section[Any]]:
    """Yield the neighbors that a CF's answer comes from, if there are any."""
    taken = next((one for one in cf.rounds if one.taken), None)
    if taken is None:
        return
    near = explained.near[taken.near]
    lines = [
        Line(number, *pair)
        for number, pair in enumerate(zip(near.neighbors, taken.said, strict=True), start=1)
        if pair[0].weight > 0
    ]
    which = f" in round {taken.round}" if len(cf.rounds) > 1 else ""
    what = "neighbor" if explained.source == "table" else "nearest fitted point"
    yield Section(
        title=f"{count(len(near.neighbors), what)}{which}, most weight first",
        fields=[*_fields(near, cf)],
        facts=lines[:SHOWN],
        notes=[*_notes(cf, near, lines)],
        picture=Surroundings([_dot(line, cf) for line in lines], cf.value, near.spread),
    )


def _dot(line: Line, cf: CfExplained) -> Dot:
    """Return a neighbor in a picture."""
    neighbor = line.neighbor
    name = f"{neighbor.row:,}" if neighbor.row is not None else f"{line.number}"
    return Dot(
        name, neighbor.position, neighbor.weight, line.said.value, line.said.value == cf.value
    )


def _fields(near: Near, cf: CfExplained) -> Iterator[Field]:
    """Yield the columns of the table of neighbors."""
    if near.neighbors[0].row is None:
        yield Field("", lambda line: f"{line.number}", right=True)
        yield Field("rows", lambda line: f"{line.neighbor.shared:,}", right=True)
    else:
        yield Field("row", lambda line: f"{line.neighbor.row:,}", right=True)
    yield Field(
        "weight",
        lambda line: f"{line.neighbor.weight:.3f}",
        right=True,
        share=lambda line: line.neighbor.weight,
    )
    yield Field("distance", lambda line: f"{line.neighbor.distance:.3f}", right=True)
    if near.neighbors[0].row is not None:
        yield Field("rules out", lambda line: _ruled_out(line.said, cf), folds=True)
    yield Field(
        "says",
        lambda line: f"{printable(line.said.value)} {line.said.confidence:.2f}",
        folds=True,
    )
    yield Field("differs most in", lambda line: _apart(line.neighbor, 0), folds=True)
    yield Field("and in", lambda line: _apart(line.neighbor, 1), spare=True)


def _ruled_out(said: Said, cf: CfExplained) -> str:
    """Return what a neighbor's cell rules out, in few words."""
    ruled_out = said.ruled_out or ()
    if 1 < len(ruled_out) == len(cf.values) - 1:
        return f"all but {next(printable(one) for one in cf.values if one not in ruled_out)}"
    return ", ".join(map(printable, ruled_out)) or "-"


def _apart(neighbor: Neighbor, place: int) -> str:
    """Return what has the largest share of a distance, or the next one."""
    ranked = sorted(neighbor.apart.items(), key=lambda one: -one[1])[place : place + 1]
    named = [f"{printable(name)} {_percent(share)}" for name, share in ranked if share >= LEAST]
    return "".join(named) or ("" if place else "nothing")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _notes(cf: CfExplained, near: Near, lines: list[Line]) -> Iterator[str]:
    """Yield what the table of neighbors does not say."""
    rest = lines[SHOWN:]
    without = len(near.neighbors) - len(lines)
    more = []
    if rest:
        weight = sum(line.neighbor.weight for line in rest)
        more.append(f"{count(len(rest), 'neighbor')} more, of weight {weight:.3f} together")
    if without:
        more.append(f"{without} of weight 0")
    if more:
        yield f"Not shown: {' and '.join(more)}."
    ranked = sorted(near.nearness.items(), key=lambda one: -one[1])
    named = [f"{printable(name)} ({_percent(share)})" for name, share in ranked[:3] if share > 0]
    if named:
        yield f"What makes them nearer than other rows, most: {', '.join(named)}."
    yield _decisive(cf, near)


def _decisive(cf: CfExplained, near: Near) -> str:
    """Return which neighbors decide the answer."""
    if cf.cell.kind == "exact":
        return "The cell alone decides the answer, whatever neighbors say."
    found = cf.decisive
    if found is None:
        return "No set of up to three neighbors was found that decides the answer."
    names = [
        f"{near.neighbors[at].row:,}" if near.neighbors[at].row is not None else f"{at + 1}"
        for at in found.neighbors
    ]
    noun = "row" if near.neighbors[0].row is not None else "neighbor"
    *others, last = names
    who = f"{noun}s {', '.join(others)} and {last}" if others else f"{noun} {last}"
    return (
        f"Without {who} the answer would be {printable(found.value)}, confidence "
        f"{found.confidence:.2f}."
    )


def cells_section(explained: Explanation) -> Iterator[Section[Any]]:
    """Yield the OFs of the row beside those of its neighbors of most weight."""
    cf = next((one for one in explained.cfs if one.rounds), None)
    taken = next((one for one in cf.rounds if one.taken), None) if cf else None
    if taken is None:
        return
    near = explained.near[taken.near]
    nearest = [one for one in near.neighbors if one.weight > 0][: BESIDE + SPARE]
    fields = [
        AnyField[str]("OF", printable, folds=True),
        AnyField[str](
            f"row {explained.row:,}",
            lambda name: _cell(explained.cells, name),
            folds=True,
            style=lambda _: "bold",
        ),
        *(_beside(one, spare=place >= BESIDE) for place, one in enumerate(nearest)),
    ]
    yield Section(
        title="Its ordinary features beside those of the neighbors of most weight",
        fields=fields,
        facts=[*explained.cells],
        notes=[],
    )


def _beside(neighbor: Neighbor, *, spare: bool) -> AnyField[str]:
    """Return the column with one neighbor's cells."""
    return AnyField[str](
        f"row {neighbor.row or 0:,}",
        lambda name: _cell(neighbor.cells or {}, name),
        folds=True,
        spare=spare,
    )


def _cell(cells: Mapping[str, str | None], name: str) -> str:
    text = cells.get(name)
    return "missing" if text is None or text == "" else printable(text)
