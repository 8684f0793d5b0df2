"""Files of rows to check, as a person fills them in: their layout, and how they are read back.

    cfl_row, keys…, a column for each CF, cfl_draw

`cfl_draw` says which draw a line belongs to: `seed 0 rows 100 of 5f1c2ab9` is the first 100 rows
of the output whose answers have this fingerprint, in the random order of seed 0. So lines may be
sorted, deleted, or joined with those of other draws, and a line that was not drawn is noticed. The
order depends on the answers too: rows whose values were learned from are not drawn again.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Self

import numpy as np
import polars as pl

from cfl_cli.core import draws
from cfl_cli.core.arrays import Ints, Mask
from cfl_cli.core.messages import did_you_mean, meant, quote
from cfl_cli.core.quick import dataclass
from cfl_cli.core.wording import command, option
from cfl_cli.errors import DataError, ProblemList
from cfl_cli.jobs.answers import GivenAnswers, Output
from cfl_cli.tables import frames

ROW, DRAW = "cfl_row", "cfl_draw"
NUMBER = re.compile(r"([0-9]{1,18})(\.0*)?")  # spreadsheets write 12 as 12.0, some of them
RECORD = re.compile(r"seed ([0-9]{1,19}) rows ([0-9]{1,18}) of ([0-9a-f]{8})")


@dataclass(frozen=True)
class Draw:
    """The first rows of an output, in the random order of a seed."""

    seed: int
    first: int
    fingerprint: str  # of the output's answers

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the draw that a cell names, or None."""
        found = RECORD.fullmatch(text.strip())
        if found is None or int(found[1]) >= 2**63:
            return None
        return cls(int(found[1]), int(found[2]), found[3])

    def __str__(self) -> str:
        return f"seed {self.seed} rows {self.first} of {self.fingerprint}"

    def rows(self, n: int) -> Mask:
        """Return which of n rows were drawn."""
        drawn = np.zeros(n, dtype=bool)
        drawn[order(n, self.seed, self.fingerprint)[: self.first]] = True
        return drawn


def order(n: int, seed: int, fingerprint: str) -> Ints:
    """Return n rows in the random order in which they are drawn."""
    return draws.order(n, draws.stream_of(f"audit of {fingerprint}"), seed)


@dataclass(frozen=True, eq=False)
class Checked:
    """What was found out about one CF."""

    answers: GivenAnswers
    drawn: Mask  # n: by any draw in the files that have a column for this CF
    draws: tuple[Draw, ...]  # these draws
    places: Ints  # n: of the true values among `answers.values`, −1 where not found out

    @cached_property
    def known(self) -> Mask:
        """Return of which rows the true value is known."""
        return self.places >= 0


def no_more_missing(cf: str) -> tuple[str, ...]:  # noqa: ARG001 — as a schema has it
    """Return that only empty cells count as empty."""
    return ("",)


def read(
    files: Mapping[str, pl.DataFrame],
    output: Output,
    cfs: Sequence[str] = (),
    missing_in: Callable[[str], Collection[str]] = no_more_missing,
) -> list[Checked]:
    """Return what was found out, or raise one DataError with all that is wrong with the files.

    `cfs` are those to look at, all if none is named; `missing_in` gives the cells of one that count
    as empty.
    """
    wanted, problems = output.of(cfs), ProblemList()
    lines = [_Lines.of(file, name, output, problems) for name, file in files.items()]
    found = []
    for answers in wanted:
        parts = [one for one in lines if one is not None and answers.cf in one.frame.columns]
        if parts:
            found.append(_joined(parts, answers, output.table.height, missing_in, problems))
    problems.raise_if_any()
    if not found:
        titles = ", ".join(quote(answers.cf) for answers in wanted)
        raise DataError(f"{', '.join(files)}: no column for a CF: expected {titles}")
    if not any(one.known.any() for one in found):
        raise DataError(
            f"{', '.join(files)}: nothing is filled in: write the true values into the columns of "
            "the CFs"
        )
    return found


@dataclass(frozen=True, eq=False)
class _Lines:
    """The lines of one file, each with the row that it is about."""

    name: str
    frame: pl.DataFrame
    rows: Ints  # from 0
    draws: tuple[Draw, ...]

    @classmethod
    def of(
        cls, frame: pl.DataFrame, name: str, output: Output, problems: ProblemList
    ) -> Self | None:
        """Return the lines of a file, or None and note why they cannot be used."""
        others = [title for title in frame.columns if title not in {ROW, DRAW}]
        absent = [title for title in (ROW, DRAW) if title not in frame.columns]
        for title in absent:
            problems.note(
                f"{name}: no column {quote(title)}{did_you_mean(title, others)}: pass a "
                f"file that {command('audit --draw', python='draw')} wrote, with this column as "
                "it was"
            )
        _note_misspelled(frame, name, output, problems)
        if absent:
            return None
        texts = frame.with_columns(_text(frame[title]) for title in (ROW, DRAW))
        # Spreadsheets leave lines of empty cells behind.
        blank = np.logical_and.reduce([_text(column) == "" for column in texts])
        lines, places = texts.filter(~blank), (np.flatnonzero(~blank) + 1).tolist()
        named = [Draw.parse(text) for text in lines[DRAW]]
        numbers = [NUMBER.fullmatch(text) for text in lines[ROW]]
        before = problems.shown.copy()
        for line, text, number, draw in zip(places, lines[ROW], numbers, named, strict=True):
            fault = _fault(text, number, draw, output)
            if fault:
                problems.note(f"{name}: row {line}, {fault}")
            elif draw and draw.fingerprint != output.fingerprint:
                problems.note(
                    f"{name}: drawn from other answers than those in {output.name}: pass the "
                    "output that it was drawn from, or draw again"
                )
                return None
        if problems.shown != before:
            return None
        rows = np.array([int(number[1]) - 1 for number in numbers if number], dtype=np.int64)
        known = tuple(draw for draw in named if draw)
        drawn = {draw: draw.rows(output.table.height) for draw in dict.fromkeys(known)}
        first: dict[int, int] = {}
        for line, row, draw in zip(places, rows.tolist(), known, strict=True):
            if not drawn[draw][row]:
                problems.note(
                    f"{name}: {ROW} {row + 1} was not drawn: remove the line, or correct its "
                    f"{ROW}: only rows drawn at random say something of all of them"
                )
            if first.setdefault(row, line) != line:
                problems.note(
                    f"{name}: {ROW} {row + 1} is there twice, in rows {first[row]} and {line} of "
                    "the file: remove one"
                )
        return cls(name, lines, rows, tuple(drawn))


def _fault(
    text: str, number: re.Match[str] | None, draw: Draw | None, output: Output
) -> str | None:
    """Return what is wrong with a line's row or draw, if anything is."""
    if number is None:
        found = quote(text) if text else "an empty cell"
        return f"column {quote(ROW)}: {found} is not a row number: restore it, or remove the line"
    if not 1 <= int(number[1]) <= output.table.height:
        return (
            f"column {quote(ROW)}: {output.name} has no row {number[1]}: restore the number, or "
            "remove the line"
        )
    if draw is None:
        return (
            f"column {quote(DRAW)}: does not say how the row was drawn: copy the cell from another "
            "line of the same draw"
        )
    return None


def _note_misspelled(frame: pl.DataFrame, name: str, output: Output, problems: ProblemList) -> None:
    """Note columns that are nearly named like a CF that the file lacks; others are ignored."""
    absent = [answers.cf for answers in output.answers if answers.cf not in frame.columns]
    for title in frame.columns:
        strange = title not in {ROW, DRAW, *output.table.columns}
        if strange and (near := did_you_mean(title, absent)):
            problems.note(f"{name}: column {quote(title)}: not a CF{near}: rename it, or remove it")


def _text(column: pl.Series) -> pl.Series:
    """Return a column as text without blanks around; null becomes empty."""
    if not frames.has_text(column.dtype):
        return pl.Series(column.name, [frames.type_name(column.dtype)] * len(column))
    return column.cast(pl.String).fill_null("").str.strip_chars()


def _joined(
    parts: Sequence[_Lines],
    answers: GivenAnswers,
    n: int,
    missing_in: Callable[[str], Collection[str]],
    problems: ProblemList,
) -> Checked:
    """Return what all files say of a CF; a row that two of them answer alike counts once."""
    drawn, places = np.zeros(n, dtype=bool), np.full(n, -1)
    spellings, missing = _Spellings(answers.values), {"", *missing_in(answers.cf)}
    for part in parts:
        for draw in part.draws:
            drawn |= draw.rows(n)
        before = places.copy()  # a row that is twice in one file was said to be
        for row, text in zip(part.rows.tolist(), _text(part.frame[answers.cf]), strict=True):
            if text in missing:
                continue
            place = spellings.place(text)
            where = f"{part.name}: {ROW} {row + 1}, column {quote(answers.cf)}"
            if place < 0:
                problems.note(f"{where}: {quote(text)} {_not_a_value(text, answers)}")
            elif before[row] >= 0 and before[row] != place:
                problems.note(f"{where}: another file has another value for it: correct one")
            else:
                places[row] = place
    draws_of = dict.fromkeys(draw for part in parts for draw in part.draws)
    return Checked(answers, drawn & answers.given, tuple(draws_of), places)


class _Spellings:
    """The values of a domain as people write them: case matters only where it must."""

    def __init__(self, values: Sequence[str]) -> None:
        self.exact = self._clear([value.strip() for value in values])
        self.folded = self._clear([value.strip().casefold() for value in values])

    def place(self, text: str) -> int:
        """Return the place of the value that a text means, −1 if that is not clear."""
        return self.exact.get(text, self.folded.get(text.casefold(), -1))

    @staticmethod
    def _clear(texts: Sequence[str]) -> dict[str, int]:
        return {text: place for place, text in enumerate(texts) if texts.count(text) == 1}


def _not_a_value(text: str, answers: GivenAnswers) -> str:
    near = meant(text, answers.values)
    if answers.is_whole:
        return f"is not a value of it{near}: correct it, or leave the cell empty"
    return f"is not among the values of its answers{near}: correct it, or add {option('schema')}"
