"""Statements of many rows, held as a line for each id, code and meaning; and what is wrong with them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from cfl_cli.commands.gather.asked import (
    IGNORE,
    NOTHING,
    Asked,
    fold,
)
from cfl_cli.commands.gather.cells import Cells, as_values, cells_of
from cfl_cli.commands.gather.layouts import Read, read
from cfl_cli.core.messages import count, option, quote
from cfl_cli.errors import PROBLEMS_SHOWN, DataError, Problem, UserText
from cfl_cli.texts.dates import days

_FEW = 3  # texts that may be words although each of them occurs once


@dataclass
class _Faults:
    """What is wrong with rows, counted by kind and text."""

    found: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)  # rows, first

    def note(self, kind: str, rows: pl.Series, texts: pl.Series | None = None) -> None:
        """Note rows by their texts; without these, as one fault."""
        frame = pl.DataFrame({"row": rows}).with_columns(
            text=pl.lit("") if texts is None else texts
        )
        grouped = frame.group_by("text", maintain_order=True).agg(pl.len(), pl.min("row"))
        for text, number, row in grouped.iter_rows():
            before, first = self.found.get((kind, text), (0, row))
            self.found[kind, text] = before + number, min(first, row)

    def of(self, kind: str) -> list[tuple[str, int, int]]:
        found = self.found.items()
        listed = [(text, number, row) for (one, text), (number, row) in found if one == kind]
        return sorted(listed, key=lambda entry: entry[2])


@dataclass(frozen=True)
class Gathered:
    ids: pl.Series  # in the order of their first rows
    cells: Cells
    rows: int
    warnings: list[str]
    notes: list[str]
    pairs: pl.DataFrame  # id and code, of all statements


class Statements:
    def __init__(self, asked: Asked, *, name: str = "table") -> None:
        self.asked, self.name, self.rows = asked, name, 0
        self.faults = _Faults()
        self.people: list[pl.DataFrame] = []  # id, row
        self.parts: list[pl.DataFrame] = []  # id, code, meaning, row, time
        self.systems: dict[str, None] = {}
        self.skipped = self.without_code = 0
        self.kinds_of_time: set[str] = set()

    def add(self, frame: pl.DataFrame, first: int) -> pl.Series:
        """Take further rows, the first of which has this number; return the ids of all of them."""
        found, rows = read(frame, self.asked), frame.height
        numbers = pl.Series("row", range(first, first + rows), dtype=pl.Int64)
        counts = pl.repeat(True, rows, eager=True) if found.counts is None else found.counts
        self.rows += rows
        self.skipped += int((~counts).sum())
        self.systems |= dict.fromkeys(found.systems)
        self.faults.note("id", numbers.filter(found.ids.is_null() & counts))
        ids = found.ids.alias("id")
        people = pl.DataFrame([ids, numbers]).filter(counts & ids.is_not_null())
        self.people.append(people.unique("id", keep="first", maintain_order=True))
        self._add_statements(found, frame, ids, numbers)
        return ids.set(~counts, None)

    def _add_statements(
        self, found: Read, frame: pl.DataFrame, ids: pl.Series, numbers: pl.Series
    ) -> None:
        said = found.statements
        at, status = said["at"], said["status"].fill_null("")
        texts = status.unique(maintain_order=True)
        known = [self.asked.meanings.get(fold(text)) for text in texts]
        meaning = status.replace_strict(texts, pl.Series(known, dtype=pl.Int8), default=None)
        times = (
            self._times(frame, numbers)
            if self.asked.time
            else pl.repeat(0.0, frame.height, eager=True)
        )
        made = pl.DataFrame(
            {
                "id": ids.gather(at),
                "code": said["code"],
                "meaning": meaning,
                "row": numbers.gather(at),
                "time": times.gather(at),
                "status": status,
            }
        )
        # A row with neither code nor status is there for its id.
        made = made.filter(pl.col("code").is_not_null() | (pl.col("status") != ""))
        unknown = made.filter(pl.col("meaning").is_null())
        self.faults.note("status", unknown["row"], unknown["status"])
        made = made.filter((pl.col("meaning") != IGNORE) & pl.col("id").is_not_null())
        without = made.filter(pl.col("code").is_null() & (pl.col("meaning") > NOTHING))
        self.without_code += without.height
        made = made.drop_nulls("code")
        self.faults.note("no-time", made.filter(pl.col("time").is_null())["row"])
        self.parts.append(_reduced(made))
        strange = found.strange
        if strange is not None:
            if self.asked.values is not None and self.asked.other == "skip":
                strange = strange.filter(pl.col("code").is_in(self.asked.values))
            self.faults.note("not-shown", numbers.gather(strange["at"]), strange["code"])

    def _times(self, frame: pl.DataFrame, numbers: pl.Series) -> pl.Series:
        """Return when each row was written: days, or numbers; null where it is empty."""
        column = frame[self.asked.time]
        if column.dtype.is_numeric():
            self.kinds_of_time.add("numbers")
            return column.cast(pl.Float64)
        if column.dtype.is_temporal():
            self.kinds_of_time.add("dates")
            return days(column, format=None)
        text = column.cast(pl.String).str.strip_chars()
        text = text.set((text == "").fill_null(value=False), None)
        full = text  # FHIR's dates may be months or years
        if self.asked.layout == "fhir":
            full = text.str.replace(r"^(\d{4})$", "$1-01-01").str.replace(
                r"^(\d{4}-\d\d)$", "$1-01"
            )
        dates = days(full, format=self.asked.time_format)
        others = text.set(dates.is_not_null(), None).cast(pl.Float64, strict=False)
        self.kinds_of_time |= {"dates"} if dates.count() else set()
        self.kinds_of_time |= {"numbers"} if others.count() else set()
        found = dates.fill_null(others)
        wrong = text.is_not_null() & found.is_null()
        self.faults.note("time", numbers.filter(wrong), text.filter(wrong))
        return found.set(wrong, 0.0)

    # The end: what is wrong, and the cell of every id.

    def finish(self) -> Gathered:
        self._raise_faults()
        people = pl.concat(self.people).group_by("id", maintain_order=True).agg(pl.min("row"))
        people = people.sort("row").with_row_index("person")
        said = _reduced(pl.concat(self.parts))
        if self.asked.time:  # the latest status of a code counts
            said = said.filter(pl.col("time") == pl.col("time").max().over("id", "code"))
        values, outside = as_values(said, self.asked)
        if self.asked.other == "error":
            self.faults.note("value", outside["row"], outside["code"])
            self._raise_faults()
        cells = cells_of(values, people, self.asked, name=self.name)
        warnings = [*self._warnings(cells, outside.height)]
        pairs = said.select("id", "code")
        return Gathered(people["id"], cells, self.rows, warnings, [*self._notes(cells)], pairs)

    def _warnings(self, cells: Cells, outside: int) -> Iterator[str]:
        if self.without_code:
            yield f"{count(self.without_code, 'row')} without a code left out"
        if cells.conflicting:
            yield f"{count(cells.conflicting, 'id')} with contradictory rows: cells left empty"
        if outside:
            rows = count(outside, "row")
            yield f"{rows} with codes outside {option('values')} left out"

    def _notes(self, cells: Cells) -> Iterator[str]:
        if self.skipped:
            yield f"{count(self.skipped, 'resource')} other than Condition left out"
        if cells.lone:
            way = option("one_candidate", "exact")
            yield (
                f"{count(cells.lone, 'id')} with a single candidate, which is not used "
                f"({way} makes it the value)"
            )
        if cells.finer:
            way = option("finer", "nothing")
            yield (
                f"{count(cells.finer, 'id')} with exclusions of codes longer than the level, which "
                f"rule out the whole class ({way} leaves them out)"
            )
        if self.asked.values is None:
            yield (
                f"the domain is the {len(cells.domain)} values seen; list all possible values with "
                f"{option('values')} if some are missing"
            )

    def _raise_faults(self) -> None:
        problems = list[Problem]()
        for kind in _FAULTS:
            found = self.faults.of(kind)
            # A list of words comes again and again: other texts may be a column of names.
            is_list = kind in ("value", "not-shown") or any(number > 1 for _, number, _ in found)
            if len(found) > (PROBLEMS_SHOWN if is_list else _FEW):
                number, row = sum(entry[1] for entry in found), found[0][2]
                problems.append(self._problem(kind, "", number, row, different=len(found)))
            else:
                problems += [self._problem(kind, text, n, row) for text, n, row in found]
        if "dates" in self.kinds_of_time and "numbers" in self.kinds_of_time:
            text = "{file}: column {column!r} holds both dates and numbers: {remedy}"
            facts = {"column": self.asked.time, "remedy": option("time_format", "FORMAT")}
            problems.append(Problem("gather-time", text, file=self.name, **facts))
        if len(self.systems) > 1 and not self.asked.system:
            text = "{file}: codes of {count} systems, such as {what}: {remedy}"
            names = " and ".join(map(quote, [*self.systems][:2]))
            facts = {"count": len(self.systems), "what": names, "remedy": option("system", "URL")}
            problems.append(Problem("gather-systems", text, file=self.name, **facts))
        if self.asked.layout == "fhir" and self.rows == self.skipped:
            text = "{file}: no resource is a Condition: {remedy}"
            remedy = "pass the file of Conditions, one on each line"
            problems.append(Problem("gather-no-conditions", text, file=self.name, remedy=remedy))
        if problems:
            raise DataError(*problems)

    def _problem(
        self, kind: str, text: str, number: int, row: int, *, different: int = 0
    ) -> Problem:
        what, column_of, remedy = _FAULTS[kind]
        column = self.asked.column_of(column_of)
        shown = f"{{value!r}} in {{rows}} {what}" if text else f"{{rows}} {what}"
        shown = f"{{different:,}} different texts in {{rows}} {what}" if different else shown
        sentence = f"{{file}}: column {{column!r}}: {shown} (first in row {{row}}): {{remedy}}"
        facts: dict[str, Any] = {"rows": count(number, "row"), "different": different}
        value = UserText(text) if text else None
        return Problem(
            f"gather-{kind}",
            sentence,
            file=self.name,
            row=row,
            column=column,
            value=value,
            remedy=remedy(text),
            **facts,
        )


# By kind of fault: what is wrong, what the column holds, and what to do.
_FAULTS: dict[str, tuple[str, str, Any]] = {
    "id": ("without an id", "id", lambda _: "fill it in, or remove the rows"),
    "status": (
        "without a meaning",
        "status",
        lambda text: (
            f"say what it means, with {option('map', f'{text}=MEANING', quoted=True)}: exclusion, "
            "exact, candidate, nothing or ignore"
        ),
    ),
    "time": (
        "not a date or a number",
        "time",
        lambda _: f"say how dates are written, such as {option('time_format', '%d.%m.%Y')}",
    ),
    "no-time": ("without a time", "time", lambda _: f"fill it in, or leave out {option('time')}"),
    "not-shown": (
        "picked, although it was not shown",
        "code",
        lambda text: (
            f"correct it, or add {option('none', text or 'TEXT', quoted=True)} if it means "
            "none of the options"
        ),
    ),
    "value": (
        "not one of the values",
        "code",
        lambda _: (
            f"add it to {option('values')}, or leave out such rows with {option('other', 'skip')}"
        ),
    ),
}


def _reduced(said: pl.DataFrame) -> pl.DataFrame:
    keys = ["id", "code", "meaning"]
    return said.group_by(keys, maintain_order=True).agg(pl.min("row"), pl.max("time"))
