"""Statements of many rows become one cell per id, held as a line for each id, code and meaning.

With E the values that an id's rows rule out, C those that they name as candidates (what is ruled
out is none) and V the domain, the cell of the id is

    =v                    if v is confirmed
    E                     if C holds fewer than two values: one suspicion is not knowledge
    V \\ C, which holds E  if C holds two or more: the value is one of them

Statements contradict each other if a value is both confirmed and ruled out, if two values are
confirmed, or if all values are ruled out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from cfl_cli.commands.gather.asked import (
    CANDIDATE,
    EXACT,
    EXCLUSION,
    FINER,
    IGNORE,
    NOTHING,
    SHOWN,
    Asked,
    fold,
)
from cfl_cli.commands.gather.design import Design, design
from cfl_cli.commands.gather.layouts import Read, read
from cfl_cli.core.messages import count, option, quote
from cfl_cli.errors import PROBLEMS_SHOWN, DataError, Problem, UserText
from cfl_cli.texts.dates import days

_ROWS = 3  # of a message
_MOST = 100_000_000  # names in all cells of candidates; a cell with few of them is long
_MARKS, _SIGNS = ("=", "!", "exact:"), (";", "|", ",", "/", "&", "+")


@dataclass
class _Faults:
    """What is wrong with rows, counted by kind and text."""

    found: dict[tuple[str, str], list[int]] = field(default_factory=dict)  # count, first row

    def note(self, kind: str, texts: pl.Series, rows: pl.Series) -> None:
        if not len(rows):
            return
        frame = pl.DataFrame({"text": texts, "row": rows})
        grouped = frame.group_by("text", maintain_order=True).agg(
            pl.len().alias("n"), pl.min("row")
        )
        for text, number, row in grouped.iter_rows():
            entry = self.found.setdefault((kind, text), [0, row])
            entry[0] += number
            entry[1] = min(entry[1], row)

    def of(self, kind: str) -> list[tuple[str, int, int]]:
        found = self.found.items()
        listed = [(text, number, row) for (one, text), (number, row) in found if one == kind]
        return sorted(listed, key=lambda entry: entry[2])


@dataclass
class Gathered:
    ids: pl.Series  # in the order of their first rows
    cells: pl.Series  # null: nothing is known
    domain: tuple[str, ...]
    separator: str
    exact: str
    rows: int
    counts: dict[str, int]  # ids by what their cell is: exact, exclusions, candidates, empty
    warnings: list[str]
    notes: list[str]
    design: Design | None = None
    pairs: pl.DataFrame | None = None  # id and code, of all statements


class Statements:
    def __init__(self, asked: Asked, *, name: str = "table") -> None:
        self.asked, self.name, self.rows = asked, name, 0
        self.faults = _Faults()
        self.people: list[pl.DataFrame] = []  # id, row
        self.parts: list[pl.DataFrame] = []  # id, code, meaning, row, time
        self.systems: dict[str, None] = {}
        self.skipped = self.without_code = self.outside = 0
        self.kinds_of_time: set[str] = set()

    def add(self, frame: pl.DataFrame, first: int) -> pl.Series:
        """Take further rows, the first of which has this number; return the ids of all of them."""
        found, rows = read(frame, self.asked), frame.height
        numbers = pl.Series("row", range(first, first + rows), dtype=pl.Int64)
        counts = pl.Series([True], dtype=pl.Boolean).new_from_index(0, rows)
        counts = counts if found.counts is None else found.counts
        self.rows += rows
        self.skipped += int((~counts).sum())
        self.systems |= dict.fromkeys(found.systems)
        nameless = found.ids.is_null() & counts
        self.faults.note(
            "id", pl.Series([""]).new_from_index(0, int(nameless.sum())), numbers.filter(nameless)
        )
        ids = found.ids.alias("id")
        people = pl.DataFrame([ids, numbers]).filter(counts & ids.is_not_null())
        self.people.append(people.unique("id", keep="first", maintain_order=True))
        self._add_statements(found, frame, ids, numbers)
        return ids.set(~counts, None)

    def _add_statements(
        self, found: Read, frame: pl.DataFrame, ids: pl.Series, numbers: pl.Series
    ) -> None:
        said = found.statements
        at = said["at"]
        status = said["status"].fill_null("")
        texts = status.unique(maintain_order=True)
        known = [self.asked.meanings.get(fold(text)) for text in texts]
        meaning = status.replace_strict(texts, pl.Series(known, dtype=pl.Int8), default=None)
        moments = self._times(frame, numbers) if self.asked.time else None
        time = (
            pl.Series([0.0]).new_from_index(0, len(at)) if moments is None else moments.gather(at)
        )
        made = pl.DataFrame(
            {
                "id": ids.gather(at),
                "code": said["code"],
                "meaning": meaning,
                "row": numbers.gather(at),
                "time": time,
                "status": status,
            }
        )
        silent = made["code"].is_null()
        says = ~(silent & (made["status"] == ""))
        self.without_code += int((silent & says & (made["meaning"] > NOTHING)).sum())
        unknown = made.filter(made["meaning"].is_null() & says)
        self.faults.note("status", unknown["status"], unknown["row"])
        made = made.filter(~silent & made["meaning"].is_not_null() & made["id"].is_not_null())
        made = made.filter(pl.col("meaning") != IGNORE)
        timeless = made.filter(pl.col("time").is_null())
        self.faults.note(
            "no-time",
            timeless["status"].clear().extend(pl.Series([""] * timeless.height, dtype=pl.String)),
            timeless["row"],
        )
        self.parts.append(_reduced(made))
        if found.strange is not None:
            rows = numbers.gather(found.strange["at"])
            strange, other = found.strange, self.asked.other == "skip" and self.asked.values
            if other:
                known_code = strange["code"].is_in(list(self.asked.values or ()))
                strange, rows = strange.filter(known_code), rows.filter(known_code)
            self.faults.note("not-shown", strange["code"], rows)

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
        plain = text.filter(dates.is_null() & text.is_not_null()).cast(pl.Float64, strict=False)
        others = text.set(dates.is_not_null(), None).cast(pl.Float64, strict=False)
        self.kinds_of_time |= {"dates"} if dates.count() else set()
        self.kinds_of_time |= {"numbers"} if plain.count() else set()
        found = dates.fill_null(others)
        wrong = text.is_not_null() & found.is_null()
        self.faults.note("time", text.filter(wrong), numbers.filter(wrong))
        return found.set(wrong, 0.0)

    # The end: what is wrong, and the cell of every id.

    def finish(self) -> Gathered:
        self._raise_faults()
        people = pl.concat(self.people).group_by("id", maintain_order=True).agg(pl.min("row"))
        people = people.sort("row").with_row_index("person")
        said = _reduced(pl.concat(self.parts))
        if self.asked.time:  # the latest status of a code counts
            said = said.filter(pl.col("time") == pl.col("time").max().over("id", "code"))
        pairs = said.select("id", "code")
        said = self._as_values(said)
        domain = self._domain(said)
        places = {value: place for place, value in enumerate(domain)}
        said = said.join(people.select("person", "id"), on="id", how="left").with_columns(
            value=pl.col("code").replace_strict(places, return_dtype=pl.Int64)
        )
        return self._cells(said, people, domain, pairs)

    def _as_values(self, said: pl.DataFrame) -> pl.DataFrame:
        """Return statements of values: codes cut to the level, and those outside left out."""
        level = self.asked.level
        if level is not None:
            cut = r"^((?:[.\s]*[^.\s]){" + str(level) + r"}).*$"
            short = pl.col("code").str.replace(cut, "${1}")
            # The very code both ruled out and confirmed is a contradiction at any level.
            confirmed = (pl.col("meaning") == EXACT).any().over("id", "code")
            is_finer = (short != pl.col("code")) & (pl.col("meaning") == EXCLUSION) & ~confirmed
            finer = FINER if self.asked.finer == "exclusion" else NOTHING
            said = said.with_columns(
                meaning=pl.when(is_finer).then(finer).otherwise("meaning").cast(pl.Int8), code=short
            )
        said = said.filter(pl.col("meaning") > NOTHING)
        if self.asked.values is None:
            return said
        outside = said.filter(~pl.col("code").is_in(self.asked.values))
        if outside.height and self.asked.other == "error":
            self.faults.note("value", outside["code"], outside["row"])
            self._raise_faults()
        self.outside = outside.height
        return said.filter(pl.col("code").is_in(self.asked.values))

    def _domain(self, said: pl.DataFrame) -> tuple[str, ...]:
        domain = self.asked.values or tuple(sorted(said["code"].unique().to_list()))
        if len(domain) < 2:
            text = "{file}: {values} with a meaning seen, but a domain has two or more: {remedy}"
            facts = {"values": count(len(domain), "value"), "remedy": option("values")}
            raise DataError(Problem("gather-domain", text, file=self.name, **facts))
        return domain

    def _cells(
        self, said: pl.DataFrame, people: pl.DataFrame, domain: tuple[str, ...], pairs: pl.DataFrame
    ) -> Gathered:
        separator, exact = _signs(domain, self.name)
        is_ = {name: pl.col("meaning") == one for name, one in _STRENGTH.items()}
        per = said.group_by("person", "value").agg(
            pl.max("meaning"),
            *(
                pl.col(name).filter(is_[kind]).max().alias(f"{name}_{kind}")
                for name in ("time", "row")
                for kind in ("exact", "exclusion")
            ),
        )
        per = per.sort("person", "value")
        per, conflicts = self._settled(per, domain)
        empty = self._conflicts(conflicts)
        per = per.filter(~pl.col("person").is_in(empty))
        known = per.filter(pl.col("meaning") == EXACT)
        per = per.filter(~pl.col("person").is_in(known["person"].to_list()))
        maybe = per.filter(pl.col("meaning") == CANDIDATE)
        maybe = maybe.group_by("person", maintain_order=True).agg("value")
        alone = maybe.filter(pl.col("value").list.len() == 1)
        several = maybe.filter(pl.col("value").list.len() > 1)
        if self.asked.one_candidate == "exact":
            one = alone.with_columns(pl.col("value").list.first())
            known = pl.concat([known.select("person", "value"), one])
        texts = {place: f"{exact}{value}" for place, value in enumerate(domain)}
        confirmed = known.select(
            "person", cell=pl.col("value").replace_strict(texts, return_dtype=pl.String)
        )
        blocks = _complements(several, domain, separator, self.name)
        out = per.filter(pl.col("meaning").is_in([EXCLUSION, FINER]))
        done = [*confirmed["person"], *several["person"]]
        names = dict(enumerate(domain))
        ruled = (
            out.filter(~pl.col("person").is_in(done))
            .group_by("person", maintain_order=True)
            .agg(pl.col("value").replace_strict(names, return_dtype=pl.String).str.join(separator))
            .rename({"value": "cell"})
        )
        found = pl.concat([confirmed, blocks, ruled])
        cells = people.join(
            found.with_columns(pl.col("person").cast(pl.UInt32)),
            on="person",
            how="left",
            maintain_order="left",
        )["cell"]
        counts = {
            "exact": confirmed.height,
            "exclusions": ruled.height,
            "candidates": blocks["cell"].count(),
            "empty": cells.null_count(),
        }
        lone = 0 if self.asked.one_candidate == "exact" else alone.height
        facts = {"lone": lone, "conflicting": len(empty), "finer": self._finer(per)}
        warnings, notes = [*self._warnings(facts)], [*self._notes(facts, domain)]
        asked = replace(self.asked, values=domain)
        form = None if self.outside else _form(said, asked)
        return Gathered(
            people["id"],
            cells.set((cells == "").fill_null(value=False), None),
            domain,
            separator,
            exact,
            self.rows,
            counts,
            warnings,
            notes,
            form,
            pairs,
        )

    def _finer(self, per: pl.DataFrame) -> int:
        return per.filter(pl.col("meaning") == FINER)["person"].n_unique()

    def _settled(
        self, per: pl.DataFrame, domain: tuple[str, ...]
    ) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
        """Return the lines of each id and value without those that a later one replaces, and conflicts."""
        both = pl.col("row_exact").is_not_null() & pl.col("row_exclusion").is_not_null()
        if self.asked.conflict == "latest":
            later = pl.col("time_exclusion") > pl.col("time_exact")
            earlier = pl.col("time_exclusion") < pl.col("time_exact")
            per = per.with_columns(
                meaning=pl.when(both & later).then(EXCLUSION).otherwise("meaning").cast(pl.Int8),
                row_exact=pl.when(both & later).then(None).otherwise("row_exact"),
                row_exclusion=pl.when(both & earlier).then(None).otherwise("row_exclusion"),
            )
            is_exact = pl.col("meaning") == EXACT
            last = pl.col("time_exact").filter(is_exact).max().over("person")
            per = per.filter(~is_exact | (pl.col("time_exact") == last))
        contradicted = per.filter(both)
        exact = per.filter(pl.col("meaning") == EXACT)
        two = exact.filter(pl.len().over("person") > 1).filter(
            ~pl.col("person").is_in(contradicted["person"].to_list())
        )
        out = per.filter(pl.col("meaning").is_in([EXCLUSION, FINER]))
        none = out.filter(pl.len().over("person") == len(domain))
        return per, {"both": contradicted, "two-exact": two, "all-excluded": none}

    def _conflicts(self, found: Mapping[str, pl.DataFrame]) -> list[int]:
        """Return the persons whose cells stay empty, or raise one problem for each kind."""
        problems, remedy = [], f"correct the rows, or add {option('conflict', 'empty')}"
        if not self.asked.time:
            remedy += f", or {option('time', 'COLUMN')} so that the latest status counts"
        for kind, lines in found.items():
            if not lines.height:
                continue
            people = lines["person"].unique(maintain_order=True)
            first = lines.filter(pl.col("person") == people[0])
            rows = sorted(
                {row for name in ("row_exact", "row_exclusion") for row in first[name].drop_nulls()}
            )
            ids = count(len(people), "id")
            text = "{file}: {ids}: {what} (first in {rows}): {remedy}"
            facts = {"what": CONFLICTS[kind], "rows": _row_list(rows), "ids": ids}
            problems.append(
                Problem(
                    f"gather-{kind}",
                    text,
                    file=self.name,
                    row=rows[0] if rows else None,
                    column=self.asked.column_of("code"),
                    remedy=remedy,
                    **facts,
                )
            )
        if problems and self.asked.conflict != "empty":
            raise DataError(*problems)
        return sorted({person for lines in found.values() for person in lines["person"]})

    def _warnings(self, facts: Mapping[str, int]) -> Iterator[str]:
        if self.without_code:
            yield f"{count(self.without_code, 'row')} without a code left out"
        if facts["conflicting"]:
            yield f"{count(facts['conflicting'], 'id')} with contradictory rows: cells left empty"
        if self.outside:
            rows = count(self.outside, "row")
            yield f"{rows} with codes outside {option('values')} left out"

    def _notes(self, facts: Mapping[str, int], domain: tuple[str, ...]) -> Iterator[str]:
        if self.skipped:
            yield f"{count(self.skipped, 'resource')} other than Condition left out"
        if facts["lone"]:
            way = option("one_candidate", "exact")
            yield (
                f"{count(facts['lone'], 'id')} with a single candidate: a suspicion is not a finding, "
                f"so only their exclusions count ({way} takes it for the value)"
            )
        if facts["finer"]:
            way = option("finer", "nothing")
            yield (
                f"{count(facts['finer'], 'id')} with exclusions of codes finer than the level, taken "
                f"to rule out the whole class ({way} leaves them out)"
            )
        if self.asked.values is None:
            yield (
                f"the {len(domain)} values seen are taken for the domain; name others that are "
                f"possible with {option('values')}"
            )

    def _raise_faults(self) -> None:
        problems, more = list[Problem](), 0
        for kind in _FAULTS:
            found = self.faults.of(kind)
            if len(found) > PROBLEMS_SHOWN:  # not a list of words: it may be another column
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
            raise DataError(*problems, more=more)

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


_STRENGTH = {"exact": EXACT, "exclusion": EXCLUSION}
CONFLICTS = {
    "both": "a value is both ruled out and confirmed",
    "two-exact": "two values are confirmed",
    "all-excluded": "every value is ruled out",
}
# By kind of fault: what is wrong, what the column holds, and what to do.
_FAULTS: dict[str, tuple[str, str, Any]] = {
    "id": ("without an id", "id", lambda _: "fill it in, or remove the rows"),
    "status": (
        "without a meaning",
        "status",
        lambda text: (
            f"add {option('map', f'{text}=exclusion', quoted=True)}, or =exact, =candidate, "
            "=nothing or =ignore"
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
            f"add it to {option('values')}, or leave such rows out with {option('other', 'skip')}"
        ),
    ),
}


def _reduced(said: pl.DataFrame) -> pl.DataFrame:
    keys = ["id", "code", "meaning"]
    return said.group_by(keys, maintain_order=True).agg(pl.min("row"), pl.max("time"))


def _row_list(rows: list[int]) -> str:
    shown = ", ".join(f"{row:,}" for row in rows[:_ROWS])
    return f"row{'s' if len(rows) > 1 else ''} {shown}{' …' if len(rows) > _ROWS else ''}"


def _signs(domain: tuple[str, ...], name: str) -> tuple[str, str]:
    """Return a separator that no value holds, and an exact mark with which none begins."""
    separator = next((one for one in _SIGNS if not any(one in value for value in domain)), None)
    exact = next((one for one in _MARKS if not any(v.startswith(one) for v in domain)), None)
    if separator is None or exact is None:
        text = "{file}: no sign is left to separate the values, which hold all of {signs}: {remedy}"
        facts = {"signs": " ".join(_SIGNS), "remedy": "rename a value"}
        raise DataError(Problem("gather-separator", text, file=name, **facts))
    return separator, exact


def _complements(
    several: pl.DataFrame, domain: tuple[str, ...], separator: str, name: str
) -> pl.DataFrame:
    """Return for each person with candidates all other values, as exclusions."""
    sizes = several["value"].list.len()
    if len(domain) * several.height - int(sizes.sum()) > _MOST:
        text = "{file}: cells of candidates would rule out {names:,} values in all: {remedy}"
        names = len(domain) * several.height - int(sizes.sum())
        remedy = f"{option('level', 'N')} or {option('values')} for fewer values"
        raise DataError(Problem("gather-too-long", text, file=name, names=names, remedy=remedy))
    cells: dict[tuple[int, ...], str] = {}
    made = []
    for candidates in several["value"].to_list():
        key = tuple(candidates)
        if key not in cells:
            left = {*key}
            others = (value for place, value in enumerate(domain) if place not in left)
            cells[key] = separator.join(others)
        made.append(cells[key] or None)
    return pl.DataFrame({"person": several["person"], "cell": pl.Series(made, dtype=pl.String)})


def _form(said: pl.DataFrame, asked: Asked) -> Design | None:
    """Return how a form chose its options, if these are such: each id has some, and picks one or none."""
    sure = said.filter(pl.col("meaning").is_in([EXCLUSION, EXACT]))
    per = sure.group_by("person", maintain_order=True).agg(
        pl.col("value").unique().sort(), picked=(pl.col("meaning") == EXACT).any()
    )
    picked = per.filter("picked")
    if asked.layout != SHOWN:
        drawn = asked.drawn == "at-random" and picked.height
        if not drawn or picked["value"].list.len().min() == 1:
            return None
    sets = {tuple(codes): n for codes, n in per.group_by("value", maintain_order=True).len().rows()}
    return design(sets, picked.height, len(asked.values or ())) if sets else None
