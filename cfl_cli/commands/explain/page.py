"""The page of an explanation: for each CF the answer, the neighbors and what moved it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import exp
from typing import Any, TypeAlias

from cfl_cli.cli.pages.page import Dot, Page, Section, Surroundings
from cfl_cli.cli.pages.page import Field as AnyField
from cfl_cli.commands.explain.job import (
    CfCell,
    CfExplained,
    Contribution,
    Explanation,
    Near,
    Neighbor,
    Said,
)
from cfl_cli.core.messages import count, either, printable

# The neighbors of an explained row: whom it leans on, what they say, and their OFs beside its.

SHOWN = 10  # neighbors, at most; JSON has all
BESIDE = 3  # neighbors whose cells are shown beside the row's …
SPARE = 3  # … and so many more where there is room
LEAST = 0.05  # of a distance, to be named


@dataclass(frozen=True)
class NeighborLine:
    """One neighbor, and what it says of a CF."""

    number: int  # from 1, most weight first
    neighbor: Neighbor
    said: Said


NeighborField: TypeAlias = AnyField[NeighborLine]


def neighbors_section(cf: CfExplained, explained: Explanation) -> Iterator[Section[Any]]:
    """Yield the neighbors that a CF's answer comes from, if there are any."""
    taken = next((one for one in cf.rounds if one.taken), None)
    if taken is None:
        return
    near = explained.near[taken.near]
    lines = [
        NeighborLine(number, *pair)
        for number, pair in enumerate(zip(near.neighbors, taken.said, strict=True), start=1)
        if pair[0].weight > 0
    ]
    which = f" in round {taken.round}" if len(cf.rounds) > 1 else ""
    what = "neighbor" if explained.source == "table" else "nearest fitted point"
    yield Section(
        title=f"{count(len(near.neighbors), what)}{which}, most weight first",
        fields=[*_neighbor_fields(near, cf)],
        facts=lines[:SHOWN],
        notes=[*_neighbor_notes(cf, near, lines)],
        picture=Surroundings([_dot(line, cf) for line in lines], cf.value, near.spread),
    )


def _dot(line: NeighborLine, cf: CfExplained) -> Dot:
    neighbor = line.neighbor
    name = f"{neighbor.row:,}" if neighbor.row is not None else f"{line.number}"
    return Dot(
        name, neighbor.position, neighbor.weight, line.said.value, line.said.value == cf.value
    )


def _neighbor_fields(near: Near, cf: CfExplained) -> Iterator[NeighborField]:
    if near.neighbors[0].row is None:
        yield NeighborField("", lambda line: f"{line.number}", right=True)
        yield NeighborField("rows", lambda line: f"{line.neighbor.shared:,}", right=True)
    else:
        yield NeighborField("row", lambda line: f"{line.neighbor.row:,}", right=True)
    yield NeighborField(
        "weight",
        lambda line: f"{line.neighbor.weight:.3f}",
        right=True,
        share=lambda line: line.neighbor.weight,
    )
    yield NeighborField("distance", lambda line: f"{line.neighbor.distance:.3f}", right=True)
    if near.neighbors[0].row is not None:
        yield NeighborField("rules out", lambda line: _ruled_out(line.said, cf), folds=True)
    yield NeighborField(
        "says",
        lambda line: f"{printable(line.said.value)} {line.said.confidence:.2f}",
        folds=True,
    )
    yield NeighborField("differs most in", lambda line: _apart(line.neighbor, 0), folds=True)
    yield NeighborField("and in", lambda line: _apart(line.neighbor, 1), spare=True)


def _ruled_out(said: Said, cf: CfExplained) -> str:
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


def _neighbor_notes(cf: CfExplained, near: Near, lines: list[NeighborLine]) -> Iterator[str]:
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
    return AnyField[str](
        f"row {neighbor.row or 0:,}",
        lambda name: _cell(neighbor.cells or {}, name),
        folds=True,
        spare=spare,
    )


def _cell(cells: Mapping[str, str | None], name: str) -> str:
    text = cells.get(name)
    return "missing" if text is None or text == "" else printable(text)


HAVE_NEIGHBORS = ("graph", "ipal")
CONTRIBUTIONS = 12  # shown, at most; JSON has all
SHOWN_DIGITS = 2  # of a confidence in a sentence
RANKED = 12  # values of a large domain that are shown, at most


@dataclass(frozen=True)
class Line:
    """One value of a domain."""

    cf: CfExplained
    place: int

    @property
    def is_answer(self) -> bool:
        """Return whether the row is answered so."""
        return self.cf.values[self.place] == self.cf.value


Field: TypeAlias = AnyField[Line]


def page(explained: Explanation) -> Page[Line]:
    """Return what there is to show of an explanation."""
    first, *others = explained.cfs
    more: list[Section[Any]] = [*_after(first, explained)]
    for cf in others:
        more += [_answer(cf, explained), *_after(cf, explained)]
    if explained.source == "table":
        more += cells_section(explained)
    begin = _answer(first, explained)
    return Page(
        title=begin.title,
        fields=begin.fields,
        facts=begin.facts,
        notes=begin.notes,
        lead=begin.lead,
        more=more,
        records=[_record(explained, Line(cf, at)) for cf in explained.cfs for at in _places(cf)],
        json=explained.to_json(),
    )


def _after(cf: CfExplained, explained: Explanation) -> Iterator[Section[Any]]:
    yield from neighbors_section(cf, explained)
    if cf.contributions:
        yield _moved(cf, explained)


def _answer(cf: CfExplained, explained: Explanation) -> Section[Line]:
    ranked = sorted(_places(cf), key=lambda at: (-cf.confidences[at], -cf.prior[at], at))
    shown = [*_places(cf)] if len(ranked) <= RANKED else ranked[:RANKED]
    left_out = len(ranked) - len(shown)
    rest = [f"{count(left_out, 'value')} with less confidence not shown."] if left_out else []
    return Section(
        title=_title(cf, explained),
        lead="\n".join(_said(cf)),
        fields=[*_fields(cf)],
        facts=[Line(cf, at) for at in shown],
        notes=[*rest, *_notes(cf)],
    )


def _places(cf: CfExplained) -> range:
    return range(len(cf.values))


def _title(cf: CfExplained, explained: Explanation) -> str:
    key = f" ({printable(explained.key)})" if explained.key else ""
    return f"row {explained.row:,}{key}: {printable(cf.name)}"


def _said(cf: CfExplained) -> Iterator[str]:
    yield _of_cell(cf.cell)
    confidence = "" if cf.confidence is None else f", confidence {cf.confidence:.2f}"
    match cf.left_empty:
        case "flagged":
            yield "Answer: none, as the CF is flagged and kept as observed"
        case "min_confidence":
            yield f"Answer: none, as {printable(cf.value)} has too little{confidence}"
        case _:
            yield f"Answer: {printable(cf.value)}{confidence}"


def _of_cell(cell: CfCell) -> str:
    if cell.kind == "empty":
        return "Cell: empty, so that any value may be the one"
    if cell.kind == "exact":
        return f"Cell: leaves one candidate, {printable(cell.candidates[0])}"
    return f"Cell: rules out {_listed(cell.ruled_out)}"


def _listed(values: tuple[str, ...]) -> str:
    return either([printable(value) for value in values], "and")


def _fields(cf: CfExplained) -> Iterator[Field]:
    yield Field(
        "value",
        lambda line: printable(line.cf.values[line.place]),
        folds=True,
        style=lambda line: "bold" if line.is_answer else "",
    )
    yield Field(
        "cell",
        lambda line: "ruled out" if line.cf.values[line.place] in line.cf.cell.ruled_out else "",
    )
    if len(cf.parts) > 1:
        for number, part in enumerate(cf.parts):
            yield Field(
                f"{part.name} ({part.weight:.2f})",
                lambda line, number=number: _share(line.cf.parts[number].prior[line.place]),  # type: ignore[misc]  # bound now
                right=True,
            )
    if cf.start is not None:
        begun = _softmax(cf.start)
        yield Field("at the start", lambda line: _share(begun[line.place]), right=True)
    if len(cf.rounds) > 1:
        yield Field("round 1", lambda line: _share(line.cf.rounds[0].prior[line.place]), right=True)
    heading = "neighbors say" if cf.method in HAVE_NEIGHBORS else "without the cell"
    yield Field(
        heading,
        lambda line: _share(line.cf.prior[line.place]),
        right=True,
        share=lambda line: line.cf.prior[line.place],
    )
    if cf.power is not None and cf.power != 1:
        yield Field("with the cell", lambda line: _share(line.cf.raw[line.place]), right=True)
    yield Field(
        "confidence",
        lambda line: _share(line.cf.confidences[line.place]),
        right=True,
        share=lambda line: line.cf.confidences[line.place],
        style=lambda line: "bold" if line.is_answer else "",
    )


def _softmax(scores: tuple[float, ...]) -> list[float]:
    powers = [exp(score - max(scores)) for score in scores]
    return [power / sum(powers) for power in powers]


def _share(number: float) -> str:
    return "<0.001" if 0 < number < 0.0005 else f"{number:.3f}"


def _notes(cf: CfExplained) -> Iterator[str]:
    if cf.allowed == 0:
        yield (
            "What is said without the cell rules out all that the cell leaves: all candidates "
            "count alike. Look for a wrong exclusion."
        )
    if cf.cautious:
        yield (
            "The parts are blended with caution, by their means and with the bare cell, as "
            "exclusions are not as the schema says: what single OFs did does not add up."
        )
    if len(cf.rounds) > 1:
        one, two = cf.rounds[0], cf.rounds[-1]
        before = one.confidences[cf.values.index(one.value)]
        after = two.confidences[cf.values.index(two.value)]
        yield (
            f"Round 1 compares OFs alone: {printable(one.value)}, {before:.2f}. Round 2 also "
            f"compares what round 1 says of all CFs: {printable(two.value)}, {after:.2f}."
        )
    if cf.power not in (None, 1) and cf.left_empty != "flagged" and cf.cell.kind != "exact":
        at = cf.values.index(cf.value)
        yield (
            f"Calibration: confidences are raised to the power {cf.power:.2f}, which hidden cells "
            f"favor: {cf.raw[at]:.2f} becomes {cf.confidences[at]:.2f}. The answer stays the same."
        )


def _moved(cf: CfExplained, explained: Explanation) -> Section[Contribution]:

    def extreme(one: Contribution, pick: int) -> str:
        mean = sum(one.moves) / len(one.moves)
        move, place = sorted((move, -at) for at, move in enumerate(one.moves))[pick]
        return f"{printable(cf.values[-place])} {move - mean:+.2f}"

    def cell(one: Contribution) -> str:
        if one.kind == "ordinary":
            return printable(explained.cells.get(one.name) or "missing")
        return {"complementary": "another CF", "neighbors": "neighbors"}.get(one.kind, "")

    shown = cf.contributions[:CONTRIBUTIONS]
    left_out = len(cf.contributions) - len(shown)
    notes = [f"{count(left_out, 'smaller one')} not shown."] if left_out else []
    return Section(
        title=f"What moved {printable(cf.name)}, the most first",
        fields=[
            AnyField[Contribution]("feature", lambda one: printable(one.name), folds=True),
            AnyField[Contribution]("cell", cell, folds=True),
            AnyField[Contribution]("speaks for", lambda one: extreme(one, -1), folds=True),
            AnyField[Contribution]("against", lambda one: extreme(one, 0), folds=True),
            AnyField[Contribution]("without it", lambda one: f"{one.without:.2f}", right=True),
        ],
        facts=shown,
        notes=[*notes, *_strongest(cf)],
    )


def _strongest(cf: CfExplained) -> Iterator[str]:
    if cf.confidence is None:
        return
    answer, least = printable(cf.value), 0.5 * 10**-SHOWN_DIGITS
    ranked = sorted(cf.contributions, key=lambda one: one.without)
    for one, words in ((ranked[0], "for"), (ranked[-1], "against")):
        gain = (cf.confidence - one.without) * (1 if words == "for" else -1)
        if (
            gain >= least
            and f"{one.without:.{SHOWN_DIGITS}f}" != f"{cf.confidence:.{SHOWN_DIGITS}f}"
        ):
            yield (
                f"Strongest {words} {answer}: {printable(one.name)}. Without it the confidence "
                f"would be {one.without:.{SHOWN_DIGITS}f} instead of "
                f"{cf.confidence:.{SHOWN_DIGITS}f}."
            )


def _record(explained: Explanation, line: Line) -> dict[str, object]:
    cf, value = line.cf, line.cf.values[line.place]
    return {
        "row": explained.row,
        "cf": cf.name,
        "value": value,
        "ruled_out": str(value in cf.cell.ruled_out).lower(),
        "prior": cf.prior[line.place],
        "raw": cf.raw[line.place],
        "confidence": cf.confidences[line.place],
        "answer": str(line.is_answer).lower(),
    }
