"""Data frames of any kind, polars, pandas or pyarrow, without importing the latter two."""

import os
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from polars.exceptions import PanicException, PolarsError

from cfl_cli.core.messages import quote, type_name_of
from cfl_cli.core.settings import as_python
from cfl_cli.errors import DataError, Problem, UsageError

# What polars can take of Arrow's types, without importing pyarrow before there is such a table.

_FIRST_DAY, _LAST_DAY = -719162, 2932896  # of the years 1 and 9999, counted from 1970


def pyarrow() -> Any:
    import pyarrow as pa  # takes a while, and most tables need none of it

    return pa


def in_calendar(column: Any) -> bool:
    """Return whether dates and moments lie in the years 1 to 9999; polars panics at others."""
    kind, types = column.type, pyarrow().types
    if not (types.is_date(kind) or types.is_timestamp(kind)):
        return True
    from pyarrow import compute

    unit = {"day": 1, "s": 86400, "ms": 86400e3, "us": 86400e6, "ns": 86400e9}
    days = unit["day" if types.is_date32(kind) else "ms" if types.is_date64(kind) else kind.unit]
    numbers = column.cast("int32" if types.is_date32(kind) else "int64")
    extremes = compute.min_max(numbers).as_py()
    numbers = (one for one in extremes.values() if one is not None)
    return all(_FIRST_DAY <= one / days < _LAST_DAY + 1 for one in numbers)


def shared(kind: Any) -> bool:
    """Return whether polars, which panics at the others, has this Arrow type."""
    types = pyarrow().types
    inner = [kind.field(number).type for number in range(kind.num_fields)]
    if types.is_dictionary(kind):
        inner = [kind.value_type]
    if types.is_interval(kind) or (types.is_dictionary(kind) and types.is_dictionary(inner[0])):
        return False
    # Primitive are numbers, truth values, dates and times.
    simple = "primitive null decimal128 dictionary list large_list fixed_size_list struct map"
    simple += " string large_string string_view binary large_binary binary_view fixed_size_binary"
    is_simple = any(getattr(types, f"is_{one}")(kind) for one in simple.split())
    return is_simple and all(shared(one) for one in inner)


DUPLICATE, RENAME = "{file}: duplicate column {column!r}: {remedy}", "rename one of them"
READERS = {
    ".parquet": "read_parquet(…)",
    ".arrow": "read_ipc(…)",
    ".feather": "read_ipc(…)",
    ".jsonl": "read_ndjson(…)",
    ".xlsx": "read_excel(…)",
    ".csv": "read_csv(…, infer_schema=False)",
}
_LISTS = (list, tuple, set, frozenset, np.ndarray)  # that a cell of pandas may be
FLAT = {"bool", "float", "double", "string", "large_string", "int8", "int16", "int32", "int64"}
PORTABLE = pl.CompatLevel.oldest()  # Arrow types that every reader knows


def names(frame: Any) -> list[Any]:
    return list(frame.column_names if is_arrow(frame) else frame.columns)


def height(frame: Any) -> int:
    return len(frame) if hasattr(frame, "__len__") else 0


def as_polars(
    frame: Any, columns: Collection[str] | None = None, *, name: str = "table"
) -> pl.DataFrame:
    """Return `frame` as a polars frame; with `columns`, all others come without their cells.

    `name` is what messages call the table.
    """
    if isinstance(frame, pl.DataFrame):
        return frame
    if not (is_arrow(frame) or _is_pandas(frame)):
        facts = {"found": type_name_of(frame), "remedy": _made(frame)}
        text = "expected a polars, pandas or pyarrow table, found {found}{remedy}"
        raise UsageError(Problem("table-expected", text, **facts))
    columns_there = names(frame)
    if (levels := getattr(frame.columns, "nlevels", 1)) > 1:
        how = "table.columns = ['_'.join(map(str, one)) for one in table.columns]"
        do = f"join their names, as in {how}"
        text = "{file}: its columns have {levels} levels, a MultiIndex of pandas: {remedy}"
        raise DataError(Problem("column-levels", text, file=name, levels=levels, remedy=do))
    if len(set(columns_there)) < len(columns_there):
        column = str(next(one for one in columns_there if columns_there.count(one) > 1))
        facts = {"column": column, "remedy": RENAME}
        raise DataError(Problem("duplicate-column", DUPLICATE, file=name, **facts))
    arrow = is_arrow(frame)
    return pl.DataFrame(
        {
            column: (_from_arrow(frame, column, name) if arrow else _from_pandas(frame, column))
            if columns is None or column in columns
            else pl.Series([None]).new_from_index(0, len(frame))
            for column in columns_there
            if isinstance(column, str)
        }
    )


class RowLabels:
    """How a table in memory counts its rows: by the index of pandas, else by position from 0.

    An index of the name of an identifier finds rows, and is not shown: `identifiers` are such names.
    """

    def __init__(self, frame: Any, identifiers: Collection[str] = ()) -> None:
        self.index = frame.index if _is_pandas(frame) else None
        self.shown = self.index is not None and {*self.index.names}.isdisjoint(identifiers)
        self.rows = height(frame)

    def label(self, number: int) -> Any:
        """Return what a row is called; `number` counts from 1."""
        if self.index is None or not self.shown:
            return number - 1
        return as_python(self.index[number - 1])

    def number(self, label: Any) -> int | None:
        """Return the number of the one row with a label, from 1; None: no row has it, or several."""
        if self.index is not None:
            try:
                place = self.index.get_loc(label)
            except (KeyError, TypeError):
                return None
        else:
            place = None if isinstance(label, bool) or not hasattr(label, "__index__") else label
        if not hasattr(place, "__index__") or not 0 <= place < self.rows:  # a slice, or a mask
            return None
        return int(place) + 1

    def column(self, numbers: pl.Series) -> pl.Series:
        """Return a column of labels in the place of one with numbers from 1."""
        if self.index is None or not self.shown:
            return numbers - 1
        labels = [as_python(one) for one in self.index.take((numbers - 1).to_numpy())]
        plain = all(isinstance(one, int | str) for one in labels)
        return pl.Series(numbers.name, labels if plain else map(str, labels), strict=False)


def snapshot(frame: Any, columns: Collection[str], *, name: str = "table") -> pl.DataFrame:
    """Return some columns of a table as they are now: those of pandas may be changed in place."""
    copied = frame.copy() if _is_pandas(frame) else frame
    return as_polars(copied, columns, name=name).select(pl.col([*columns]))


def _made(thing: Any) -> str:
    if isinstance(thing, pl.LazyFrame):
        return ": call its collect() first"
    if isinstance(thing, str | os.PathLike):
        name = os.fspath(thing)
        calls = (call for end, call in READERS.items() if end in name.lower())
        call = next(calls, READERS[".csv"])
        return f" {quote(name)}: read the file first, such as by polars.{call}"
    if isinstance(thing, Mapping | list | np.ndarray):
        return ": make a table of it first, such as by polars.DataFrame"
    return "; the schema comes second" if hasattr(thing, "settings") else ""


def from_array(array: npt.NDArray[Any], names: Sequence[str]) -> pl.DataFrame:
    columns = zip(names, array.T, strict=True)
    return pl.DataFrame([_from_objects(name, column) for name, column in columns])


def of_array(array: npt.NDArray[Any], names: Sequence[str], *, like: Any) -> Any:
    """Return a matrix as a table of the kind of `like`, with its index if it is pandas'."""
    if _is_pandas(like):
        import pandas as pd

        return pd.DataFrame(array, columns=list(names), index=like.index)
    columns = zip(names, array.T, strict=True)
    table = pl.DataFrame({name: np.ascontiguousarray(column) for name, column in columns})
    return as_arrow(table) if is_arrow(like) else table


def alike(table: pl.DataFrame, like: Any, *, same_rows: bool = False) -> Any:
    """Return a table as one of the kind of `like`; with `same_rows` it has the index of pandas'."""
    if _is_pandas(like):
        found = table.to_pandas()
        return found.set_index(like.index) if same_rows else found
    return as_arrow(table) if is_arrow(like) else table


def bare(frame: Any) -> Any:
    if is_arrow(frame):
        return frame.select([])
    return frame[[]] if _is_pandas(frame) else pl.DataFrame()


def as_arrow(frame: Any) -> Any:
    return frame if is_arrow(frame) else frame.to_arrow(compat_level=PORTABLE)


def concat(parts: Sequence[Any]) -> Any:
    if not is_arrow(parts[0]):
        return pl.concat(parts, rechunk=True)
    return pyarrow().concat_tables(parts)


def append(frame: Any, columns: Sequence[pl.Series]) -> Any:
    """Return a copy of `frame` with `columns` after its own; its own stay as they are."""
    if isinstance(frame, pl.DataFrame):
        return frame.with_columns(columns)
    if is_arrow(frame):
        for column in columns:
            frame = frame.append_column(column.name, [column.to_arrow(compat_level=PORTABLE)])
        return frame
    extended = frame.reindex(columns=[*frame.columns, *(column.name for column in columns)])
    for column in columns:
        extended[column.name] = column.to_numpy()
    return extended


def replace(frame: Any, columns: Sequence[pl.Series]) -> Any:
    """Return a copy of `frame` with columns of text in the place of those with the same names."""
    if isinstance(frame, pl.DataFrame):
        return frame.with_columns(columns)
    if is_arrow(frame):
        types = pyarrow().types
        kinds = (types.is_string, types.is_large_string, types.is_string_view)
        for column in columns:
            place = frame.column_names.index(column.name)
            field, cells = frame.schema.field(place), column.to_arrow(compat_level=PORTABLE)
            kind = field.type if any(is_one(field.type) for is_one in kinds) else cells.type
            nullable = field.nullable or column.null_count() > 0
            field = field.with_type(kind).with_nullable(nullable)
            frame = frame.set_column(place, field, [cells.cast(kind)])
        return frame
    replaced = frame.copy()
    for column in columns:
        replaced[column.name] = column.to_numpy()
    return replaced


def some_rows(frame: Any, rows: npt.NDArray[np.bool_]) -> Any:
    """Return the rows that an array marks."""
    if not is_arrow(frame):
        return frame.filter(pl.Series(rows))
    return frame.filter(pyarrow().array(rows))


def size(frame: Any) -> int:
    if isinstance(frame, pl.DataFrame):
        return int(frame.estimated_size())
    if is_arrow(frame):  # where the `nbytes` of a union may crash
        return int(sum(column.get_total_buffer_size() for column in frame.columns))
    return int(frame.memory_usage(deep=False).sum())


def is_arrow(frame: Any) -> bool:
    return type_name_of(frame) == "pyarrow.lib.Table"


def has_text(kind: pl.DataType) -> bool:
    """Return whether cells of a Parquet type can be read as text."""
    return not kind.is_nested() and kind not in (pl.Binary, pl.Duration, pl.Object)


def holds_lists(kind: pl.DataType) -> bool:
    return isinstance(kind, pl.List | pl.Array) and has_text(pl.Series(dtype=kind.inner).dtype)


def type_name(kind: pl.DataType) -> str:
    return "a type that cfl does not know" if kind == pl.Object else str(kind)


def _is_pandas(frame: Any) -> bool:
    kinds = ((kind.__module__.partition(".")[0], kind.__name__) for kind in type(frame).__mro__)
    return ("pandas", "DataFrame") in kinds


def _without_metadata(kind: Any) -> Any:
    """Return a type whose fields have no metadata: polars panics at those that are not UTF-8."""
    pa = pyarrow()
    types = pa.types
    inner = [kind.field(number) for number in range(kind.num_fields)]
    fields = [pa.field(one.name, _without_metadata(one.type), one.nullable) for one in inner]
    if types.is_struct(kind):
        return pa.struct(fields)
    if types.is_fixed_size_list(kind):
        return pa.list_(fields[0], kind.list_size)
    if types.is_list(kind) or types.is_large_list(kind):
        return (pa.list_ if types.is_list(kind) else pa.large_list)(fields[0])
    if types.is_map(kind):
        parts = (kind.key_field, kind.item_field)
        key, item = (pa.field(one.name, _without_metadata(one.type), one.nullable) for one in parts)
        return pa.map_(key, item, kind.keys_sorted)
    return kind


def _from_arrow(table: Any, name: str, file: str) -> pl.Series:
    column = table.column(name)
    try:
        if str(column.type) in FLAT:  # for a column alone, polars would load `pyarrow.compute`
            alone = type(table).from_arrays([column], [name])  # and no metadata
            return pl.DataFrame(pl.from_arrow(alone)).to_series().rechunk()
        if shared(column.type) and in_calendar(column):
            if column.type.num_fields:
                column = column.cast(_without_metadata(column.type))
            return pl.Series(name, pl.from_arrow(column))
        types = pyarrow().types
        kind = column.type  # which polars lacks, but pyarrow writes as a reader would
        if types.is_decimal(kind) or types.is_date(kind) or types.is_timestamp(kind):
            return pl.Series(name, column.cast("string").to_pylist(), dtype=pl.String)
    except PanicException as error:
        text = "{file}: column {column!r} holds {type}, at which polars panics: {remedy}"
        facts = {"type": str(column.type), "remedy": "drop the column, or save it as another type"}
        raise DataError(Problem("library-panic", text, file=file, column=name, **facts)) from error
    except (PolarsError, ValueError, NotImplementedError):  # pyarrow's errors are kinds of these
        pass
    return pl.Series(name, [None], dtype=pl.Object).new_from_index(0, len(table))


def _from_objects(name: str, column: npt.NDArray[Any]) -> pl.Series:
    if column.dtype.kind in "biuf":
        return pl.Series(name, np.ascontiguousarray(column))
    cells = [None if _is_missing(cell) else cell for cell in column.tolist()]
    kinds = {np.dtype(type(cell)).kind for cell in cells if cell is not None}
    if kinds and kinds <= {"i", "u", "f"}:
        whole = "f" not in kinds and all(abs(cell or 0) < 2**63 for cell in cells)
        kind = pl.Int64 if whole else pl.Float64
        return pl.Series(name, cells, dtype=kind, strict=False)
    return pl.Series(name, map(_text, cells), dtype=pl.String)


def _is_missing(cell: Any) -> bool:
    return cell is None or type(cell).__name__ == "NAType" or bool(cell != cell)  # noqa: PLR0124 — NaN is not itself


def _from_pandas(frame: Any, name: str) -> pl.Series:
    column = frame[name]
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
        return pl.Series(column.name, column.to_numpy())
    cells = column.astype(object).where(column.notna(), None).to_list()
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds and all(issubclass(kind, _LISTS) for kind in kinds):
        return pl.Series(column.name, map(_texts, cells), dtype=pl.List(pl.String))
    if kinds and all(issubclass(kind, date) for kind in kinds):
        return _from_dates(column.name, cells)
    if kinds and all(issubclass(kind, float | np.floating) for kind in kinds):
        return pl.Series(column.name, cells, dtype=pl.Float64, strict=False)
    return pl.Series(column.name, map(_text, cells), dtype=pl.String)


def _from_dates(name: str, cells: Sequence[Any]) -> pl.Series:
    known = [cell for cell in cells if cell is not None]
    kinds = {isinstance(cell, datetime) and ("aware" if cell.tzinfo else "naive") for cell in known}
    if kinds == {False}:
        return pl.Series(name, cells, dtype=pl.Date)
    if len(kinds) > 1:
        return pl.Series(name, map(_text, cells), dtype=pl.String)
    zone = "UTC" if kinds == {"aware"} else None
    naive = (  # pandas' own kind, which knows nanoseconds, too
        cell and (cell.astimezone(UTC) if zone else cell).replace(tzinfo=None) for cell in cells
    )
    moments = [None if cell is None else np.datetime64(cell, "us") for cell in naive]
    return pl.Series(name, np.array(moments, "M8[us]")).dt.replace_time_zone(zone)


def _texts(cells: Any) -> list[str | None] | None:
    if cells is None:
        return None
    texts = [None if _is_missing(cell) else _text(cell) for cell in cells]
    return sorted(texts, key=str) if isinstance(cells, set | frozenset) else texts


def _text(cell: Any) -> str | None:
    if isinstance(cell, bool | np.bool_):
        return str(cell).lower()
    return None if cell is None else str(cell)
