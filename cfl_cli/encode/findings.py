"""What is found in a table: one line per column and cause, with the count and the way out.

    column 'dx': 1,144 cells like 'flu;cold' (rows 3, 5, 8 …) hold ';' between values: set …
                 count       example           first rows      what                     way out

A problem keeps a run from working, a warning does not. `patch`, if there is one, is the piece of
schema that mends it, as a JSON merge patch (RFC 7396): a key with null is removed.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import polars as pl

from cfl_cli.core.arrays import Mask
from cfl_cli.core.messages import quote
from cfl_cli.errors import DataError
from cfl_cli.schema.model import Schema

ROWS_SHOWN = 3
Patch: TypeAlias = Mapping[str, Any]
OF_A_COLUMN = ("is", "holds", "looks")  # verbs whose subject is the column itself
VERBS = {"are": "is", "have": "has", "do": "does"}
_THINGS = re.compile(r"\b(number|date|bound|confidence)s\b")
_QUOTED = re.compile(
    r"""((?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"))"""
)  # not that of column's


@dataclass(frozen=True)
class Cause:
    """Why cells are wrong, and the ways out: by the schema, by the table, or both.

    `what` follows the cells and begins with its verb: "hold ';' between values".
    """

    key: str
    what: str
    change: str = ""  # of the schema, such as 'set separator: ";"'
    correct: str = ""  # of the table, such as "correct them"
    patch: Patch | None = None
    texts: Collection[str] | None = None  # of the cells; None: all that no earlier cause has

    def fix(self, number: int, *, model: bool) -> str:
        """Return the way out for so many cells; a model cannot change its schema."""
        if not model:
            fix = " or ".join(way for way in (self.correct, self.change) if way)
        else:
            correct = self.correct or "correct them"
            fix = f"{correct}, or {self.change} and fit again" if self.change else correct
        return fix if number > 1 else _beside_quotes(fix, lambda said: said.replace(" them", " it"))


@dataclass(frozen=True)
class Finding:
    """One cause in one column, or in the table as a whole."""

    cause: str  # a key that stays the same, for programs
    what: str
    fix: str
    column: str | None = None
    count: int = 0  # cells, or rows
    rows: tuple[int, ...] = ()  # the first of them, counted from 1
    example: str | None = None  # the first of them
    patch: Patch | None = None
    warning: bool = False
    brief: str = ""  # the same without cells of the table, for a report
    share: float = field(default=1.0, repr=False)  # of the cells: the largest is mended first

    @property
    def text(self) -> str:
        """Return it in words, without the table's name."""
        return f"{self._where}{self._cells}{self.what}{': ' if self.fix else ''}{self.fix}"

    @property
    def for_report(self) -> str:
        """Return it in words that hold no cell of the table."""
        return f"{self._where}{self.brief or self.what}"

    @property
    def _where(self) -> str:
        if self.column is None:
            return ""
        of_column = not self.rows and self.what.partition(" ")[0] in OF_A_COLUMN
        return f"column {quote(self.column)}{' ' if of_column else ': '}"

    @property
    def _cells(self) -> str:
        if not self.count or not self.rows:
            return ""
        if self.count == 1:
            cell = quote(self.example) if self.example else "an empty cell"
            return f"{cell} (row {self.rows[0]}) "
        more = " …" if self.count > len(self.rows) else ""
        cells = f"cells like {quote(self.example)}" if self.example else "empty cells"
        return f"{self.count:,} {cells} (rows {', '.join(map(str, self.rows))}{more}) "

    def as_dict(self) -> dict[str, Any]:
        """Return what programs read."""
        return {
            "column": self.column,
            "cause": self.cause,
            "count": self.count,
            "rows": list(self.rows),
            "example": self.example,
            "what": self.what,
            "fix": self.fix,
            "patch": self.patch,
            "text": self.text,
        }


class MisfitError(DataError):
    """A table that does not fit its schema, with what was found in it."""

    def __init__(
        self, name: str, findings: Iterable[Finding], warnings: Iterable[Finding] = ()
    ) -> None:
        self.findings, self.warnings = in_order(findings), tuple(warnings)
        super().__init__(*(f"{name}: {finding.text}" for finding in self.findings))


class Problems:
    """What is wrong with a table, or with a block of new rows for a model.

    `first_row` is the number of its first row, counted from 1.
    """

    def __init__(
        self, name: str, schema: Schema, *, first_row: int = 1, model: bool = False
    ) -> None:
        self.name = name
        self.schema = schema
        self.first_row = first_row
        self.model = model
        self._found: list[Finding] = []
        self.warnings: list[Finding] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    @property
    def found(self) -> tuple[Finding, ...]:
        """Return all, those first that are to be mended first."""
        return in_order(self._found)

    def add(
        self,
        key: str,
        what: str,
        fix: str = "",
        *,
        column: str | None = None,
        patch: Patch | None = None,
    ) -> None:
        """Note a problem of the whole table, or of a whole column."""
        patch = None if self.model else patch
        self._found.append(Finding(key, what, fix, column, patch=patch))

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
        cells = _different(column, wrong, self.first_row)
        causes = [diagnose] if isinstance(diagnose, Cause) else diagnose(list(cells))
        for cause in causes:
            texts = cells if cause.texts is None else [one for one in cause.texts if one in cells]
            taken = {text: cells.pop(text) for text in list(texts)}
            if not taken:
                continue
            number = sum(one.count for one in taken.values())
            rows = sorted(row for one in taken.values() for row in one.rows)[:ROWS_SHOWN]
            example = next(text for text, one in taken.items() if one.rows[0] == rows[0])
            self._found.append(
                Finding(
                    cause.key,
                    cause.what if number > 1 else singular(cause.what),
                    cause.fix(number, model=self.model),
                    column.name,
                    number,
                    tuple(rows),
                    example,
                    None if self.model else cause.patch,
                    share=number / max(len(column), 1),
                )
            )

    @property
    def lines(self) -> tuple[str, ...]:
        """Return all in words, a line each."""
        return tuple(f"{self.name}: {finding.text}" for finding in self.found)

    def warn(self, warnings: Iterable[Finding]) -> None:
        """Note warnings, unless a model was fitted already: then they come too late."""
        if not self.model:
            self.warnings += warnings

    def raise_if_any(self) -> None:
        """Raise a DataError if anything was noted."""
        if self:
            raise MisfitError(self.name, self._found, self.warnings)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings, those first that are to be mended first.

    The table, then whole columns, then cells by their share, then warnings.
    """
    return tuple(
        sorted(
            findings,
            key=lambda it: (it.warning, it.column is not None, bool(it.rows), -it.share),
        )
    )


def ignoring(name: str, schema: Schema) -> Patch | None:
    """Return the change by which a column is ignored; None if none like it would be left."""
    alike = schema.ordinary if name in schema.ordinary else schema.complementary
    if name not in alike or len(alike) < 2:
        return None
    keys = schema.columns[name].model_dump(exclude_none=True)
    return {"columns": {name: dict.fromkeys(keys) | {"role": "ignore"}}}


def singular(what: str) -> str:
    """Return what is said of several cells, said of one."""
    verb, _, rest = what.partition(" ")
    one = VERBS.get(verb) or f"{verb}{'es' if verb.endswith('ch') else 's'}"
    thing = _beside_quotes(rest, lambda said: _THINGS.sub(r"a \1", said))
    return f"{one} {thing}".strip()


def _beside_quotes(text: str, change: Callable[[str], str]) -> str:
    """Return a text with a change of its words, but none of what it quotes of cells or values."""
    pieces = _QUOTED.split(text)
    return "".join(piece if place % 2 else change(piece) for place, piece in enumerate(pieces))


@dataclass(frozen=True)
class _Same:
    """Cells with the same text."""

    count: int
    rows: tuple[int, ...]  # the first


def _different(column: pl.Series, wrong: Mask, first_row: int) -> dict[str, _Same]:
    """Return the different texts of the cells that are marked, in order of first appearance."""
    marked = pl.Series(wrong)
    texts = column.filter(marked).cast(pl.String).fill_null("").rename("text")
    frame = pl.DataFrame([texts, marked.arg_true().cast(pl.Int64).alias("row") + first_row])
    groups = frame.group_by("text", maintain_order=True).agg(
        pl.len().alias("count"), pl.col("row").head(ROWS_SHOWN)
    )
    return {text: _Same(number, tuple(rows)) for text, number, rows in groups.iter_rows()}
