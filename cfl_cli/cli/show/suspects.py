"""The page of the cells that are most likely wrong, and how many of them are expected to be."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from cfl_cli.cli.show.page import Field as AnyField
from cfl_cli.cli.show.page import Page
from cfl_cli.core.messages import count, printable
from cfl_cli.core.wording import Caller, caller
from cfl_cli.jobs.suspects import Errors, SuspectCells

MOST_TIMES = 1000  # as likely; more is shown as more than that
SHOWN = 20  # cells of a table, unless another number is asked for
Line: TypeAlias = Mapping[str, Any]  # a row of `SuspectCells.cells`
Field: TypeAlias = AnyField[Line]


def _number(name: str, form: str) -> Any:
    return lambda line: "-" if line[name] is None else format(line[name], form)


def _times(times: float | None) -> str:
    """Return how many times as likely, without digits that mean nothing."""
    if times is None:
        return "-"
    return f"> {MOST_TIMES:,}" if times > MOST_TIMES else f"{times:,.1f}"


FIELDS = (
    Field("rank", _number("rank", ","), right=True),
    Field("row", _number("row", ","), right=True),
    Field("CF", lambda line: printable(line["cf"]), folds=True, style=lambda _: "bold"),
    Field(
        "rules out",
        lambda line: "-" if line["value"] is None else printable(line["value"]),
        folds=True,
    ),
    Field("mass left", _number("candidates_mass", ".3f"), right=True),
    Field("times", lambda line: _times(line["times_as_likely"]), right=True),
    Field("P(wrong)", _number("probability_wrong", ".2f"), right=True),
    Field("expected", _number("errors_expected", ",.1f"), right=True),
    Field("at most", _number("errors_most", ","), right=True),
)


def page(found: SuspectCells, *, top: int | None = None) -> Page[Line]:
    """Return what there is to show of suspect cells: `top` of them; else 20 in tables, all in data.

    The number of errors at each length of the list is that of the whole list.
    """
    shown = found.cells.head(SHOWN if top is None else top).to_dicts()
    return Page(
        title=_title(found, len(shown)),
        fields=FIELDS,
        facts=shown,
        notes=[*_notes(found, len(shown))],
        records=(found.cells if top is None else found.cells.head(top)).to_dicts(),
        json=found.to_json(top),
    )


def _title(found: SuspectCells, shown: int) -> str:
    """Return the sentence on top: how many of the cells that are shown are wrong."""
    listed = found.cells.height
    if listed == 0:
        return f"{count(found.rows, 'row')}, no cell is suspect"
    errors = found.errors(shown)
    if errors is None:
        why = "it is not known" if found.recorded else "it is not recorded"
        return f"{count(listed, 'cell')} that fit least; {why} how many of them are wrong"
    return (
        f"Best guess: of the first {errors.length:,} of {count(listed, 'cell')} that fit least, "
        f"about {errors.expected:,.0f} (0 to {errors.at_most:,}) "
        f"{'is' if round(errors.expected) == 1 else 'are'} wrong"
    )


def _notes(found: SuspectCells, shown: int) -> Iterator[str]:
    """Yield what the numbers mean, and what is left out."""
    if found.cells.height == 0:
        return
    if found.known:
        yield f"Wrong, by the best guess: {'; '.join(map(_of_length, found.by_length))}."
        yield from _supposed(found.errors(shown))
        yield (
            "It is a guess because wrong cells look like right ones of values that are hard to "
            "predict: it rests as much on how often cells are wrong elsewhere as on this table, "
            "and none of them need be wrong. At most: if as many cells are wrong as hidden cells "
            "allow. Look before you correct."
        )
    if not found.recorded:
        yield (
            "How likely cells are wrong is not recorded: an older cfl wrote the diagnostics; "
            "impute again."
        )
    elif found.unknown_cfs:
        names = ", ".join(map(printable, found.unknown_cfs))
        yield (
            f"{names}: how likely cells are wrong is not known, because the report has no upper "
            "limit of wrong cells; they come last."
        )
    yield (
        "Rules out: the value that the cell rules out and the row's neighbors favor. Mass left: "
        "what they leave to its candidates. Times: as likely if the cell is wrong as if it is "
        "right. Expected, at most: wrong ones among the cells down to this one."
    )
    if shown < found.cells.height:
        left = found.cells.height - shown
        way = f"--top {found.cells.height}, or --format csv or json"
        in_python = caller() is Caller.PYTHON
        yield f"{count(left, 'more cell')}: {'`.cells` has all' if in_python else way}."


def _of_length(errors: Errors) -> str:
    return f"{errors.expected:,.0f} of the first {errors.length:,} (0 to {errors.at_most:,})"


def _supposed(errors: Errors | None) -> Iterator[str]:
    """Yield what would be expected if the share of wrong cells were known."""
    if errors is None:
        return
    parts = [
        (f"{100 * share:g} %", f"{number:,.0f}")
        for share, number in errors.supposed.items()
        if number is not None
    ]
    if parts:
        (share, number), *others = parts
        first = f"If {share} of all cells are wrong, {number} of the first {errors.length:,} are"
        yield f"{'; '.join([first, *(f'if {share}, {number}' for share, number in others)])}."
