"""Which columns of a long table say the same in all rows of an id: these are its features.

A column that follows from the codes, such as their texts, is left out: it would say what the row's
own cell says. It follows if equal codes have equal cells, or equal cells equal codes, wherever one
of them occurs in three ids or more, and not all of these cells are the same.
"""

from collections.abc import Sequence

import polars as pl

from cfl_cli.commands.gather.asked import Asked
from cfl_cli.commands.gather.layouts import ticks
from cfl_cli.core.messages import option
from cfl_cli.errors import DataError, Problem
from cfl_cli.tables.frames import has_text

# No column of a table has such a name.
_ID, _ROW, _CODE = "\0id", "\0row", "\0code"
_REPEATED = 3  # ids, from which a code shows that it has a text of its own


class Constants:
    def __init__(self, asked: Asked, columns: Sequence[str], *, name: str) -> None:
        used = {asked.id, asked.code, asked.status, asked.time, *asked.shown}
        used |= {*ticks([*columns], asked.stem)} if asked.stem else set()
        automatic = [one for one in columns if one not in used] if asked.layout != "fhir" else []
        self.asked, self.name = asked, name
        self.columns = [*(automatic if asked.keep is None else asked.keep)]
        self.left_out: dict[str, str] = {}
        self.parts: list[pl.DataFrame] = []

    def add(self, frame: pl.DataFrame, ids: pl.Series, first: int) -> None:
        for one in [one for one in self.columns if not has_text(frame[one].dtype)]:
            self._leave(one, "lists or objects")
        rows = pl.Series(_ROW, range(first, first + frame.height), dtype=pl.Int64)
        cells = [_known(frame[one]).alias(f"c{place}") for place, one in enumerate(self.columns)]
        table = pl.DataFrame([ids.alias(_ID), rows, *cells]).filter(pl.col(_ID).is_not_null())
        self.parts.append(self._grouped(table, [*self.columns]))

    def _grouped(self, table: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
        """Return a line for each id; columns with several cells for one of them are left out."""
        names = [f"c{place}" for place in range(len(columns))]
        grouped = table.group_by(_ID, maintain_order=True)
        several = grouped.agg(
            pl.min(_ROW), *(pl.col(one).drop_nulls().n_unique() > 1 for one in names)
        )
        for name, column in zip(names, columns, strict=True):
            if several[name].any():
                row = several.filter(pl.col(name))[_ROW].min()
                self._leave(column, "several cells for one id", row=row)
        found = grouped.agg(pl.col(one).drop_nulls().first() for one in names)
        found = found.with_columns(several[_ROW])
        return found.rename(dict(zip(names, columns, strict=True))).select(_ID, _ROW, *self.columns)

    def _leave(self, column: str, why: str, *, row: object = None) -> None:
        if self.asked.keep is not None:
            text = "{file}: column {column!r} holds {what}{where}: {remedy}"
            where = "" if row is None else " (first in the rows of row {row})"
            facts = {"what": why, "remedy": f"leave out {option('keep', column, quoted=True)}"}
            problem = Problem(
                "gather-not-constant",
                text.replace("{where}", where),
                file=self.name,
                row=row,
                column=column,
                **facts,
            )
            raise DataError(problem)
        self.left_out[column] = why
        self.columns.remove(column)

    def finish(self, ids: pl.Series, pairs: pl.DataFrame) -> pl.DataFrame:
        """Return the columns of ids, in this order; `pairs` are the codes of all statements."""
        whole = pl.concat([part.select(_ID, _ROW, *self.columns) for part in self.parts])
        columns = [*self.columns]
        whole = whole.rename({one: f"c{place}" for place, one in enumerate(columns)})
        found = self._grouped(whole, columns).drop(_ROW)
        if self.asked.keep is None:
            coded = pairs.rename({"id": _ID, "code": _CODE}).join(found, on=_ID, how="left")
            for column in [*self.columns]:
                if _follows(coded, _CODE, column) or _follows(coded, column, _CODE):
                    self._leave(column, "what follows from the codes")
        table = pl.DataFrame({_ID: ids}).join(found, on=_ID, how="left", maintain_order="left")
        return table.select(self.columns)


def _follows(table: pl.DataFrame, one: str, other: str) -> bool:
    """Return whether equal cells of `one` have equal cells of `other`, and these differ."""
    known = table.select(_ID, one, other).drop_nulls()
    groups = known.group_by(one).agg(
        pl.col(_ID).n_unique().alias("\0ids"),
        pl.n_unique(other).alias("\0n"),
        pl.first(other).alias("\0first"),
    )
    repeated = groups.filter(pl.col("\0ids") >= _REPEATED)
    return bool(
        repeated.height and (repeated["\0n"] == 1).all() and repeated["\0first"].n_unique() > 1
    )


def _known(column: pl.Series) -> pl.Series:
    is_blank = column == "" if column.dtype == pl.String else column.is_null()
    return column.set(is_blank.fill_null(value=False), None)
