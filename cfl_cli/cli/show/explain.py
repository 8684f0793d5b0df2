"""The page of an explanation: for each CF the answer, the neighbors and what moved it."""

from collections.abc import Iterator
from math import exp
from typing import Any, TypeAlias

from cfl_cli.cli.show.neighbors import cells_section, neighbors_section
from cfl_cli.cli.show.page import Field as AnyField
from cfl_cli.cli.show.page import Page, Section
from cfl_cli.core.messages import count, either, printable
from cfl_cli.core.quick import dataclass
from cfl_cli.jobs.explanation import Cell, CfExplained, Contribution, Explanation

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
    """Yield what follows the answer."""
    yield from neighbors_section(cf, explained)
    if cf.contributions:
        yield _moved(cf, explained)


def _answer(cf: CfExplained, explained: Explanation) -> Section[Line]:
    """Return the values of the domain, and what is said of each."""
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
    """Yield what the cell says, and the answer."""
    yield _of_cell(cf.cell)
    confidence = "" if cf.confidence is None else f", confidence {cf.confidence:.2f}"
    match cf.left_empty:
        case "flagged":
            yield "Answer: none, as the CF is flagged and kept as observed"
        case "min_confidence":
            yield f"Answer: none, as {printable(cf.value)} has too little{confidence}"
        case _:
            yield f"Answer: {printable(cf.value)}{confidence}"


def _of_cell(cell: Cell) -> str:
    if cell.kind == "empty":
        return "Cell: empty, so that any value may be the one"
    if cell.kind == "exact":
        return f"Cell: leaves one candidate, {printable(cell.candidates[0])}"
    return f"Cell: rules out {_listed(cell.ruled_out)}"


def _listed(values: tuple[str, ...]) -> str:
    return either([printable(value) for value in values], "and")


def _fields(cf: CfExplained) -> Iterator[Field]:
    """Yield the columns of the table of values."""
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
    """Return what scores say."""
    powers = [exp(score - max(scores)) for score in scores]
    return [power / sum(powers) for power in powers]


def _share(number: float) -> str:
    """Return a share in few digits, but never one above 0 as 0."""
    return "<0.001" if 0 < number < 0.0005 else f"{number:.3f}"


def _notes(cf: CfExplained) -> Iterator[str]:
    """Yield what the table of values does not say."""
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
    """Return what moved the scores."""

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
    """Yield what speaks most for the answer, and what most against it."""
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
    """Return one value of one CF as a record."""
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
