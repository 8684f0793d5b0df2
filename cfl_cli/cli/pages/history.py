"""The page of a history: a line for each CF, with the course of its loss as a line of signs."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TypeAlias

from cfl_cli import __version__
from cfl_cli.cli.pages import Field as AnyField
from cfl_cli.cli.pages import Page, name_field
from cfl_cli.core.messages import count, printable
from cfl_cli.trust import DRIFTED, NOT_UNIFORM
from cfl_cli.trust.heldout import HEIGHTS
from cfl_cli.trust.history import CfLine, History, Line

ASCII = "_.-:=+*#"  # where the output's encoding lacks the signs
MARK = "^"  # below a batch that was predicted worse
PART = 10  # batches of a column of signs
PARTS = 18  # columns of signs, at most: a terminal of 250 has room for them
_LONGEST = 20  # of a CF's name that is not folded, for how many columns there is room
BESIDES = 38  # taken by the columns of figures
RUNS = 1  # of batches that were predicted worse, at most, in the column of a CF


@dataclass(frozen=True)
class CfCourse:
    batches: tuple[CfLine, ...]
    first: int  # number of the first batch

    @property
    def name(self) -> str:
        return self.batches[-1].name

    @property
    def judged(self) -> list[CfLine]:
        return [line for line in self.batches if line.loss is not None]

    @property
    def drifted_since(self) -> int | None:
        return self.batches[-1].course.drifted_since

    @property
    def worse(self) -> list[tuple[int, int]]:
        """Return the first and last numbers of batches in a row that were predicted worse."""
        runs: list[tuple[int, int]] = []
        for number, line in enumerate(self.batches, start=self.first):
            if DRIFTED in line.flags:
                follows = bool(runs) and runs[-1][1] == number - 1
                runs = [*runs[:-1], (runs[-1][0], number)] if follows else [*runs, (number, number)]
        return runs

    @property
    def last_is_worse(self) -> bool:
        return DRIFTED in self.batches[-1].flags

    @property
    def sentence(self) -> str | None:
        """Return when there was drift, and whether it is over; None: there was none."""
        runs = self.worse
        if not runs:
            return None
        since, known = self.drifted_since, self.first <= (self.drifted_since or 0)
        began = since if since and known else runs[-1][0]
        alarm = self.batches[began - self.first]
        facts = (
            f"loss {_number(alarm.loss)}, limit {_number(alarm.limit)}, "
            f"evidence {odds(alarm.evidence or 0.0)}."
        )
        if self.last_is_worse:
            return (
                f"cells have been predicted worse than those at fitting since batch {began} "
                f"({facts[:-1]})."
            )
        when = f"drift in {_batches_named(runs)} ({facts[:-1]})."
        clears = self.batches[-1].course.clears_after
        if clears is None:
            return f"{when} It is over. The last batch is predicted as well as at fitting."
        more = "one more such batch" if clears == 1 else f"{clears} more such batches"
        return f"{when} The last batch is predicted as well as at fitting. The history clears after {more}."

    def signs(self, number: int, signs: str) -> str:
        """Return a sign for each of the batches from a number on, and marks below if any drifted.

        It is as high as the loss, from 0 to the largest loss or limit of all batches; blank where
        none is known.
        """
        top = max([x for line in self.judged for x in (line.loss, line.limit) if x], default=1.0)
        part = self.batches[max(number - self.first, 0) :][:PART]
        heights = "".join(
            " " if line.loss is None else signs[round(line.loss / top * (len(signs) - 1))]
            for line in part
        )
        marks = "".join(MARK if DRIFTED in line.flags else " " for line in part).rstrip()
        return f"{heights}\n{marks}" if marks else heights


_Field: TypeAlias = AnyField[CfCourse]


def page(history: History, *, encoding: str | None = "utf-8") -> Page[CfCourse]:
    last = history.of_model(history.lines[-1].model) if history.lines else ()
    courses = courses_of(last)
    drifted = sum(course.last_is_worse for course in courses)
    verdict = f"{drifted} drifted" if drifted else "none drifted"
    if any(course.worse for course in courses):
        verdict += " in the last batch"
    batches = [asdict(line) for line in history.lines]
    facts = {"version": 1, "cfl_version": __version__, "batches": batches}
    return Page(
        title=f"{_batches(len(last))}, {count(len(courses), 'CF')}, {verdict}",
        fields=[*FIGURES, *_drawings(courses, len(last), encoding)],
        facts=courses,
        notes=[*_notes(history, last, courses)],
        records=[_record(line, cf) for line in history.lines for cf in line.columns],
        json=json.dumps(facts, ensure_ascii=False, indent=2, allow_nan=False),
    )


def courses_of(lines: Sequence[Line]) -> list[CfCourse]:
    names = [column.name for column in lines[-1].columns] if lines else []
    cfs = [cf for line in lines for cf in line.columns]
    first = lines[0].batch if lines else 0
    return [CfCourse(tuple(cf for cf in cfs if cf.name == name), first) for name in names]


def _drawings(courses: Sequence[CfCourse], batches: int, encoding: str | None) -> Iterator[_Field]:
    if not courses:
        return
    signs = HEIGHTS
    try:
        signs.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        signs = ASCII
    names = min(max(len(printable(course.name)) for course in courses), _LONGEST)
    starts = range(1, batches + 1, PART)[-PARTS:]
    for place, number in enumerate(starts):
        newer = len(starts) - 1 - place
        yield _Field(
            f"batch {number}",
            lambda course, number=number: course.signs(number, signs),  # type: ignore[misc]  # mypy infers no default
            from_width=names + BESIDES + (PART + 1) * (newer + 1) if newer else 0,
            drawing=True,
        )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _last(course: CfCourse) -> str:
    last = course.batches[-1]
    if DRIFTED in last.flags:
        return "worse"
    if NOT_UNIFORM in last.flags:
        return "not known"
    return "-" if last.loss is None else "fine"


def _runs(runs: Sequence[tuple[int, int]]) -> str:
    return ", ".join(f"{one}" if one == other else f"{one}–{other}" for one, other in runs)


def _batches_named(runs: Sequence[tuple[int, int]]) -> str:
    several = len(runs) > 1 or runs[0][0] != runs[0][1]
    return f"batch{'es' if several else ''} {_runs(runs)}"


def _drift(course: CfCourse) -> str:
    runs = course.worse
    if not runs:
        return "-"
    more = "… " if len(runs) > RUNS else ""
    if not course.last_is_worse:
        return f"in {more}{_runs(runs[-RUNS:])}"
    return f"since {course.drifted_since or runs[-1][0]}"


FIGURES: tuple[_Field, ...] = (
    name_field(lambda course: course.name),
    _Field(
        "last batch",
        _last,
        style=lambda course: "" if _last(course) == "fine" else "yellow",
    ),
    _Field("loss", lambda course: _number(course.batches[-1].loss), right=True),
    _Field("limit", lambda course: _number(course.batches[-1].limit), right=True),
    _Field("drift", _drift, style=lambda course: "yellow" if course.drifted_since else "dim"),
)


def _notes(history: History, last: Sequence[Line], courses: Sequence[CfCourse]) -> Iterator[str]:
    for course in courses:
        if told := course.sentence:
            yield f"{printable(course.name)}: {told}"
        elif not course.judged:
            yield f"{printable(course.name)}: drift can't be evaluated."
    if last:
        drifted = any(course.worse for course in courses)
        yield (
            "The height of a sign is the loss of a batch, from 0 to the largest loss or limit."
            + (f" {MARK} marks batches that were predicted worse." if drifted else "")
        )
    yield from others(history, last)


def others(history: History, last: Sequence[Line]) -> Iterator[str]:
    models = {line.model for line in history.lines} - {line.model for line in last}
    if models:
        batches = _batches(len(history.lines) - len(last))
        whose = count(len(models), "other model")
        yield f"{batches} of {whose} not shown. To see all, use --format csv or json."


def odds(evidence: float) -> str:
    return f"1 : {evidence:,.0f}" if evidence < 1e9 else f"1 : {evidence:.0e}"


def _batches(number: int) -> str:
    return f"{number:,} batch{'es' if number != 1 else ''}"


def _record(line: Line, cf: CfLine) -> dict[str, object]:
    accuracy = cf.accuracy
    return {
        "model": line.model,
        "batch": line.batch,
        "checksum": line.checksum,
        "file": line.name,
        "rows": line.rows,
        "name": cf.name,
        "cells": cf.cells,
        "score": cf.score,
        "accuracy_value": accuracy.value if accuracy else None,
        "accuracy_low": accuracy.low if accuracy else None,
        "accuracy_high": accuracy.high if accuracy else None,
        "loss": cf.loss,
        "limit": cf.limit,
        "evidence": cf.evidence,
        "drifted": str(cf.drifted).lower(),
        "drifted_since": cf.course.drifted_since,
        "flags": ";".join(cf.flags),
    }
