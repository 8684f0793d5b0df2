"""What is found in a table: one line per column and cause, with the count and the fix.

    column 'dx': 1,144 cells like 'flu;cold' (rows 3, 5, 8 …) hold ';' between values: set …
                 count       example           first rows      what                     fix

A problem keeps a run from working, a warning does not. `patch`, if there is one, is the piece of
schema that fixes it, as a JSON merge patch (RFC 7396): a key with null is removed.

Texts are templates: `{sign!r}` is one of the `facts`, and `[hold|holds]` is what to say of several
cells, and of one.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import polars as pl

from cfl_cli.core.arrays import Mask
from cfl_cli.core.messages import filled_in
from cfl_cli.errors import DataError, Problem, UserText, Warned
from cfl_cli.schema.model import Schema

ROWS_SHOWN = 3
Patch: TypeAlias = Mapping[str, Any]
_ABOUT_THE_COLUMN = ("no-column", "column-type", "constant", "id-as-of")  # it is their subject
_FORMS = re.compile(r"\[([^|\]]*)\|([^\]]*)\]")


def _in_number(template: str, number: int) -> str:
    return _FORMS.sub(r"\1" if number > 1 else r"\2", template)


@dataclass(frozen=True)
class Cause:
    """Why cells are wrong, and how to fix them: by the schema, by the table, or both."""

    code: str
    what: str  # follows the cells: "[hold|holds] {sign!r} between values"
    change: str = ""  # of the schema, such as "set separator: {sign}"
    correct: str = ""  # of the table, such as "correct [them|it]"
    patch: Patch | None = None
    texts: Collection[str] | None = None  # of the cells; None: all that no earlier cause has
    facts: Mapping[str, object] = field(default_factory=dict)  # that the templates name

    def fix(self, number: int, *, model: bool) -> str:
        """Return the fix for so many cells; a model cannot change its schema."""
        ways = [way for way in (self.correct, self.change) if way]
        if not model:
            fix = " or ".join(ways)
        else:
            fix = self.correct or "correct [them|it]"
            fix += f", or {self.change} and fit again" if self.change else ""
        return filled_in(_in_number(fix, number), self.facts)


@dataclass(frozen=True)
class Finding:
    code: str  # stable, for programs
    what: str  # a template if there are `facts`
    fix: str
    column: str | None = None
    count: int = 0  # cells, or rows
    rows: tuple[Any, ...] = ()  # the first of them: numbers from 1, or as the caller's index has it
    example: str | None = None  # the first of them
    patch: Patch | None = None
    warning: bool = False
    brief: str = ""  # the same without cells of the table, for a report
    share: float = field(default=1.0, repr=False)  # of the cells: the largest is fixed first
    facts: Mapping[str, Any] = field(default_factory=dict)
    source: Problem | None = None  # if it was found while a file was read

    def problem(self, file: str = "") -> Problem:
        if self.source is not None:
            return self.source
        what = self.what if self.facts else self.what.replace("{", "{{").replace("}", "}}")
        cells, several = "", ""
        if self.rows and self.count == 1:
            cells = f"{'{value!r}' if self.example else 'an empty cell'} (row {{row}}) "
        elif self.rows and self.count:
            several = ", ".join(map(str, self.rows))
            several += " …" if self.count > len(self.rows) else ""
            like = "cells like {value!r}" if self.example else "empty cells"
            cells = f"{{count:,}} {like} (rows {{rows}}) "
        return Problem(
            self.code,
            f"{'{file}: ' if file else ''}{self._where}{cells}{what}"
            f"{': {remedy}' if self.fix else ''}",
            file=file,
            row=self.rows[0] if self.rows else None,
            column=self.column,
            value=None if self.example is None else UserText(self.example),
            remedy=UserText(self.fix) if self.rows else self.fix,
            count=self.count,
            rows=several,
            **self.facts,
        )

    def renumbered(self, label: Callable[[int], Any]) -> "Finding":
        return replace(self, rows=tuple(label(row) for row in self.rows)) if self.rows else self

    @property
    def text(self) -> str:
        return str(self.problem())

    @property
    def for_report(self) -> Warned:
        text = filled_in(self._where, {"column": self.column}) + (self.brief or self.said)
        return Warned(text, self.code, self.column)

    @property
    def said(self) -> str:
        return filled_in(self.what, self.facts) if self.facts else self.what

    @property
    def _where(self) -> str:
        if self.column is None:
            return ""
        return "column {column!r} " if self.code in _ABOUT_THE_COLUMN else "column {column!r}: "

    def as_dict(self) -> dict[str, Any]:
        of = self.problem().as_dict()
        return {
            "column": self.column,
            "cause": self.code,
            "count": self.count,
            "rows": list(self.rows),
            "example": self.example,
            "what": self.said,
            "fix": self.fix,
            "patch": self.patch,
            "text": of["text"],
            **{key: of[key] for key in ("code", "place", "value", "remedy")},
        }


class MisfitError(DataError):
    def __init__(
        self, name: str, findings: Iterable[Finding], warnings: Iterable[Finding] = ()
    ) -> None:
        self.name, self.findings, self.warnings = name, in_order(findings), tuple(warnings)
        super().__init__(*(finding.problem(name) for finding in self.findings))

    def renumbered(self, label: Callable[[int], Any]) -> "MisfitError":
        """Return the same error with other names for its rows than their numbers from 1."""
        found, warnings = (
            [one.renumbered(label) for one in some] for some in (self.findings, self.warnings)
        )
        return MisfitError(self.name, found, warnings)


@dataclass(eq=False)
class Problems:
    name: str
    schema: Schema
    first_row: int = 1  # the number of its first row, counted from 1
    model: bool = False
    _found: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self._found)

    @property
    def found(self) -> tuple[Finding, ...]:
        return in_order(self._found)

    def add(
        self,
        code: str,
        what: str,
        fix: str = "",
        *,
        column: str | None = None,
        patch: Patch | None = None,
        **facts: object,
    ) -> None:
        patch = None if self.model else patch
        self._found.append(Finding(code, what, fix, column, patch=patch, facts=facts))

    def add_cells(
        self,
        cells_of: pl.Series | Callable[[], pl.Series],
        wrong: Mask,
        diagnose: Cause | Callable[[Sequence[str]], Iterable[Cause]],
    ) -> None:
        """Note the cells of a column that `wrong` marks, each under the first cause that it has.

        `cells_of` is the column as messages show it, or what makes it, which is called only if need
        be. `diagnose(texts)` gives the causes of these different texts, in order of first
        appearance.
        """
        if not wrong.any():
            return
        column = cells_of if isinstance(cells_of, pl.Series) else cells_of()
        marked = pl.Series(wrong)
        texts = column.filter(marked).cast(pl.String).fill_null("").rename("text")
        numbers = marked.arg_true().cast(pl.Int64).alias("row") + self.first_row
        groups = (
            pl.DataFrame([texts, numbers])
            .group_by("text", maintain_order=True)
            .agg(pl.len().alias("count"), pl.col("row").head(ROWS_SHOWN))
        )
        cells = {text: (number, rows) for text, number, rows in groups.iter_rows()}
        causes = [diagnose] if isinstance(diagnose, Cause) else diagnose(list(cells))
        for cause in causes:
            of = cells if cause.texts is None else [one for one in cause.texts if one in cells]
            taken = {text: cells.pop(text) for text in list(of)}
            if not taken:
                continue
            number = sum(count for count, _ in taken.values())
            rows = sorted(row for _, some in taken.values() for row in some)[:ROWS_SHOWN]
            facts = {
                name: UserText(fact) if isinstance(fact, str) else fact
                for name, fact in cause.facts.items()
            }
            self._found.append(
                Finding(
                    cause.code,
                    _in_number(cause.what, number),
                    cause.fix(number, model=self.model),
                    column.name,
                    number,
                    tuple(rows),
                    next(text for text, (_, some) in taken.items() if some[0] == rows[0]),
                    None if self.model else cause.patch,
                    share=number / max(len(column), 1),
                    facts=facts,
                )
            )

    def as_problems(self, label: Callable[[int], Any] = int) -> tuple[Problem, ...]:
        return tuple(finding.renumbered(label).problem(self.name) for finding in self.found)

    def warn(self, warnings: Iterable[Finding]) -> None:
        """Note warnings, unless a model was fitted already: then they come too late."""
        if not self.model:
            self.warnings += warnings

    def raise_if_any(self) -> None:
        if self._found:
            raise MisfitError(self.name, self._found, self.warnings)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings, those first that are to be fixed first.

    The table, then whole columns, then cells by their share, then warnings.
    """
    return tuple(
        sorted(
            findings, key=lambda it: (it.warning, it.column is not None, bool(it.rows), -it.share)
        )
    )


def ignoring(name: str, schema: Schema) -> Patch | None:
    """Return the change by which a column is ignored; None if none like it would be left."""
    alike = schema.ordinary if name in schema.ordinary else schema.complementary
    if name not in alike or len(alike) < 2:
        return None
    keys = schema.columns[name].model_dump(exclude_none=True)
    return {"columns": {name: dict.fromkeys(keys) | {"role": "ignore"}}}
