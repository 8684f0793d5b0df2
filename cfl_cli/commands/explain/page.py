"""The page of an explanation: for each CF the answer, the neighbors and what moved it."""

from collections.abc import Iterator, Mapping
from functools import partial
from math import exp
from typing import Any, TypeAlias

from cfl_cli.cli.pages import Dot, Field, Page, Section, Surroundings
from cfl_cli.commands.explain.job import (
    CfExplained,
    Contribution,
    Explanation,
    Near,
    Neighbor,
    Said,
)
from cfl_cli.core.messages import count, either, printable, row_name

HAVE_NEIGHBORS = ("graph", "ipal")
NEIGHBORS = 10  # shown, at most; JSON has all
_BESIDE = 3  # neighbors whose cells are shown beside the row's …
SPARE = 3  # … and so many more where there is room
_LEAST = 0.05  # of a distance, to be named
CONTRIBUTIONS = 12  # shown, at most; JSON has all
RANKED = 12  # values of a large domain that are shown, at most

Numbered: TypeAlias = tuple[int, Neighbor, Said]  # a neighbor from 1, most weight first
NumberedField: TypeAlias = Field[Numbered]


def page(explained: Explanation) -> Page[int]:
    more: list[Section[Any]] = []
    for cf in explained.cfs:
        more += [_answer(cf, explained), *neighbors_section(cf, explained)]
        if cf.contributions:
            more.append(_moved(cf, explained))
    begin, *more = more
    return Page(
        title=begin.title,
        fields=begin.fields,
        facts=begin.facts,
        notes=begin.notes,
        lead=begin.lead,
        more=[*more, *(cells_section(explained) if explained.source == "table" else ())],
        records=[
            {
                "row": explained.row,
                "cf": cf.name,
                "value": value,
                "ruled_out": str(value in cf.cell.ruled_out).lower(),
                "prior": cf.prior[at],
                "raw": cf.raw[at],
                "confidence": cf.confidences[at],
                "answer": str(value == cf.value).lower(),
            }
            for cf in explained.cfs
            for at, value in enumerate(cf.values)
        ],
        json=explained.to_json(),
    )


def _answer(cf: CfExplained, explained: Explanation) -> Section[int]:
    places = range(len(cf.values))
    ranked = sorted(places, key=lambda at: (-cf.confidences[at], -cf.prior[at], at))
    shown = [*places] if len(ranked) <= RANKED else ranked[:RANKED]
    left_out = len(ranked) - len(shown)
    rest = [f"Not shown: {count(left_out, 'value')} with lower confidence."] if left_out else []
    key = f" ({printable(explained.key)})" if explained.key else ""
    value, sure = cf.value, cf.confidence
    if cf.together is not None:
        value, sure = cf.together.values, cf.together.confidence
    confidence = "" if sure is None else f", confidence {sure:.2f}"
    answer = {
        "flagged": "none, because the column is flagged and was not filled in",
        "min_confidence": f"none, below the minimum confidence ({printable(value)}{confidence})",
    }.get(cf.left_empty or "", f"{printable(value)}{confidence}")
    if cf.cell.kind == "empty":
        cell = "empty, so any value is possible"
    elif cf.cell.kind == "exact":
        cell = f"leaves one value, {printable(cf.cell.candidates[0])}"
    elif cf.cell.kind == "stated":
        cell = f"states {printable(cf.cell.stated or '')}, which may be wrong"
    elif cf.cell.kind == "candidates":
        cell = f"leaves {either([*map(printable, cf.cell.candidates)], 'or')}"
    else:
        cell = f"rules out {either([*map(printable, cf.cell.ruled_out)], 'and')}"
    return Section(
        title=f"row {row_name(explained.row)}{key}: {printable(cf.name)}",
        lead=f"Cell: {cell}\nImputed value: {answer}",
        fields=[*_fields(cf)],
        facts=shown,
        notes=[*rest, *_notes(cf, explained)],
    )


def _fields(cf: CfExplained) -> Iterator[Field[int]]:
    def style(at: int) -> str:
        return "bold" if cf.values[at] == cf.value else ""

    def share(numbers: tuple[float, ...], at: int) -> str:  # never one above 0 as 0
        return "<0.001" if 0 < numbers[at] < 0.0005 else f"{numbers[at]:.3f}"

    yield Field[int]("value", lambda at: printable(cf.values[at]), folds=True, style=style)
    yield Field[int]("cell", lambda at: "ruled out" if cf.values[at] in cf.cell.ruled_out else "")
    if len(cf.parts) > 1:
        for part in cf.parts:
            heading = f"{part.name} ({part.weight:.2f})"
            yield Field[int](heading, partial(share, part.prior), right=True)
    if cf.start is not None:
        powers = [exp(score - max(cf.start)) for score in cf.start]  # softmax
        begun = tuple(power / sum(powers) for power in powers)
        yield Field[int]("at the start", partial(share, begun), right=True)
    if len(cf.rounds) > 1:
        yield Field[int]("round 1", partial(share, cf.rounds[0].prior), right=True)
    heading = "from neighbors" if cf.method in HAVE_NEIGHBORS else "without the cell"
    yield Field[int](heading, partial(share, cf.prior), right=True, share=lambda at: cf.prior[at])
    if cf.power is not None and cf.power != 1:
        yield Field[int]("with the cell", partial(share, cf.raw), right=True)
    yield Field[int](
        "confidence",
        partial(share, cf.confidences),
        right=True,
        share=lambda at: cf.confidences[at],
        style=style,
    )


NOISY = (
    "A cell that may be wrong must not count twice, so `cfl impute` used the prediction of a "
    "run that held this row out. It may differ a little from the one shown here."
)


def _notes(cf: CfExplained, explained: Explanation) -> Iterator[str]:
    if cf.allowed == 0:
        yield (
            "Without the cell, every value that it allows would have confidence 0, so all of "
            "these values get the same confidence. Check whether an exclusion is wrong."
        )
    if cf.together is not None:
        yield "No cell tells some values apart, so they are imputed together."
    if (
        cf.cell.kind == "stated"
        and explained.near
        and explained.near[0].neighbors[0].row is not None
    ):
        yield NOISY
    if cf.cautious:
        yield (
            "Exclusions are not random as the schema assumes, so the blend was made more cautious. "
            "The effects of single OFs do not add up to it."
        )
    if len(cf.rounds) > 1:
        one, two = cf.rounds[0], cf.rounds[-1]
        before = one.confidences[cf.values.index(one.value)]
        after = two.confidences[cf.values.index(two.value)]
        counts = explained.near[two.near].counts
        how = "also compares the predictions of round 1 for all CFs"
        if counts is not None:
            how = f"compares rows by a metric learned for {printable(cf.name)}"
        yield (
            f"Round 1 compares only OFs and predicts {printable(one.value)} ({before:.2f}). Round 2 "
            f"{how} and predicts {printable(two.value)} ({after:.2f})."
        )
        if counts is not None:
            ranked = sorted(counts.items(), key=lambda part: -part[1])
            most = [
                f"{printable(name)} {100 * part:.0f} %" for name, part in ranked if part >= _LEAST
            ]
            rest = [part for _, part in ranked if part < _LEAST]
            less = f"; {count(len(rest), 'other')} together {100 * sum(rest):.0f} %" if rest else ""
            yield f"Shares of the average squared distance: {', '.join(most)}{less}."
    if cf.power not in (None, 1) and cf.left_empty != "flagged" and cf.cell.kind != "exact":
        at = cf.values.index(cf.value)
        yield (
            f"Calibration raises confidences to the power {cf.power:.2f}, chosen on held-out cells: "
            f"{cf.raw[at]:.2f} becomes {cf.confidences[at]:.2f}. The imputed value stays the same."
        )


def neighbors_section(cf: CfExplained, explained: Explanation) -> Iterator[Section[Any]]:
    """Yield the neighbors that a CF's answer comes from, if there are any."""
    taken = next((one for one in cf.rounds if one.taken), None)
    if taken is None:
        return
    near = explained.near[taken.near]
    lines = [
        (number, one, said)
        for number, (one, said) in enumerate(zip(near.neighbors, taken.said, strict=True), start=1)
        if one.weight > 0
    ]
    which = f" in round {taken.round}" if len(cf.rounds) > 1 else ""
    what = "neighbor" if explained.source == "table" else "nearest fitted point"
    dots = [
        Dot(
            row_name(number if neighbor.row is None else neighbor.row),
            neighbor.position,
            neighbor.weight,
            said.value,
            said.value == cf.value,
        )
        for number, neighbor, said in lines
    ]
    yield Section(
        title=f"{count(len(near.neighbors), what)}{which}, by weight",
        fields=[*_neighbor_fields(near, cf)],
        facts=lines[:NEIGHBORS],
        notes=[*_neighbor_notes(cf, near, lines)],
        picture=Surroundings(dots, cf.value, near.spread),
    )


def _neighbor_fields(near: Near, cf: CfExplained) -> Iterator[NumberedField]:
    of_model = near.neighbors[0].row is None
    if of_model:
        yield NumberedField("", lambda line: f"{line[0]}", right=True)
        yield NumberedField("rows", lambda line: f"{line[1].shared:,}", right=True)
    else:
        yield NumberedField("row", lambda line: row_name(line[1].row), right=True)
    yield NumberedField(
        "weight", lambda it: f"{it[1].weight:.3f}", right=True, share=lambda it: it[1].weight
    )
    yield NumberedField("distance", lambda line: f"{line[1].distance:.3f}", right=True)
    if not of_model:
        heading = "states" if cf.cell.noisy else "rules out"
        yield NumberedField(heading, lambda line: _ruled_out(line[2], cf), folds=True)
    yield NumberedField(
        "predicts", lambda line: f"{printable(line[2].value)} {line[2].confidence:.2f}", folds=True
    )
    yield NumberedField("differs most in", lambda line: _apart(line[1], 0), folds=True)
    yield NumberedField("and in", lambda line: _apart(line[1], 1), spare=True)


def _ruled_out(said: Said, cf: CfExplained) -> str:
    ruled_out = said.ruled_out or ()
    if 1 < len(ruled_out) == len(cf.values) - 1:
        return f"all but {next(printable(one) for one in cf.values if one not in ruled_out)}"
    return ", ".join(map(printable, ruled_out)) or "-"


def _cell(text: str | None) -> str:
    return "missing" if text is None else printable(text) or "empty text"


def _apart(neighbor: Neighbor, place: int) -> str:
    ranked = sorted(neighbor.apart.items(), key=lambda one: -one[1])[place : place + 1]
    named = [f"{printable(name)} {100 * share:.0f} %" for name, share in ranked if share >= _LEAST]
    return "".join(named) or ("" if place else "nothing")


def _neighbor_notes(cf: CfExplained, near: Near, lines: list[Numbered]) -> Iterator[str]:
    rest = lines[NEIGHBORS:]
    without = len(near.neighbors) - len(lines)
    more = []
    if rest:
        weight = sum(neighbor.weight for _, neighbor, _ in rest)
        more.append(f"{count(len(rest), 'neighbor')} with a total weight of {weight:.3f}")
    if without:
        more.append(f"{without} with weight 0")
    if more:
        yield f"Not shown: {' and '.join(more)}."
    ranked = sorted(near.nearness.items(), key=lambda one: -one[1])[:3]
    named = [f"{printable(name)} ({100 * share:.0f} %)" for name, share in ranked if share > 0]
    if named:
        yield f"Most similar in: {', '.join(named)}."
    found = cf.decisive
    if cf.cell.kind == "exact":
        yield "The cell leaves only this value, so neighbors change nothing."
    elif found is None:
        yield "No set of up to three neighbors was found whose removal changes the imputed value."
    else:
        rows = [(near.neighbors[at].row, at + 1) for at in found.neighbors]
        noun = "row" if near.neighbors[0].row is not None else "neighbor"
        *others, last = (f"{place}" if row is None else row_name(row) for row, place in rows)
        who = f"{noun}s {', '.join(others)} and {last}" if others else f"{noun} {last}"
        then = f"{printable(found.value)}, confidence {found.confidence:.2f}"
        yield f"Without {who} the imputed value would be {then}."


def cells_section(explained: Explanation) -> Iterator[Section[Any]]:
    """Yield the OFs of the row beside those of its neighbors of most weight."""
    cf = next((one for one in explained.cfs if one.rounds), None)
    taken = next((one for one in cf.rounds if one.taken), None) if cf else None
    if taken is None:
        return
    near = explained.near[taken.near]
    nearest = [one for one in near.neighbors if one.weight > 0][: _BESIDE + SPARE]

    def cell(cells: Mapping[str, str | None], name: str) -> str:
        return _cell(cells.get(name))

    yield Section(
        title="Feature columns of the row and of the neighbors with most weight",
        fields=[
            Field[str]("OF", printable, folds=True),
            Field[str](
                f"row {row_name(explained.row)}",
                partial(cell, explained.cells),
                folds=True,
                style=lambda _: "bold",
            ),
            *(
                Field[str](
                    f"row {row_name(one.row)}",
                    partial(cell, one.cells or {}),
                    folds=True,
                    spare=place >= _BESIDE,
                )
                for place, one in enumerate(nearest)
            ),
        ],
        facts=[*explained.cells],
        notes=[],
    )


def _moved(cf: CfExplained, explained: Explanation) -> Section[Contribution]:
    def extreme(one: Contribution, pick: int) -> str:
        mean = sum(one.moves) / len(one.moves)
        move, place = sorted((move, -at) for at, move in enumerate(one.moves))[pick]
        return f"{printable(cf.values[-place])} {move - mean:+.2f}"

    def cell(one: Contribution) -> str:
        if one.kind == "ordinary":
            return _cell(explained.cells.get(one.name))
        return {"complementary": "another CF", "neighbors": "neighbors"}.get(one.kind, "")

    shown = cf.contributions[:CONTRIBUTIONS]
    left_out = len(cf.contributions) - len(shown)
    notes = [f"Not shown: {count(left_out, 'smaller effect')}."] if left_out else []
    ranked = sorted(cf.contributions, key=lambda one: one.without)
    for one, sign, words in ((ranked[0], 1, "for"), (ranked[-1], -1, "against")):
        if cf.confidence is None:
            continue
        without, confidence = f"{one.without:.2f}", f"{cf.confidence:.2f}"
        if sign * (cf.confidence - one.without) >= 0.005 and without != confidence:
            notes.append(
                f"Strongest evidence {words} {printable(cf.value)}: {printable(one.name)}. Without it "
                f"the confidence would be {without} instead of {confidence}."
            )
    return Section(
        title=f"What moved the prediction of {printable(cf.name)}, largest effect first",
        fields=[
            Field[Contribution]("feature", lambda one: printable(one.name), folds=True),
            Field[Contribution]("cell", cell, folds=True),
            Field[Contribution]("raises most", lambda one: extreme(one, -1), folds=True),
            Field[Contribution]("lowers most", lambda one: extreme(one, 0), folds=True),
            Field[Contribution]("without it", lambda one: f"{one.without:.2f}", right=True),
        ],
        facts=shown,
        notes=notes,
    )
