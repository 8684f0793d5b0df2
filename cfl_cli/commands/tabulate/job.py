"""Tabulate CFs: from a frame, or a table in blocks of rows, to figures."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from cfl_cli.commands.tabulate import figures
from cfl_cli.commands.tabulate.audited import Checked
from cfl_cli.commands.tabulate.figures import Tabulation
from cfl_cli.commands.tabulate.tally import ROWS_AT_ONCE, Asked, Tally
from cfl_cli.core.messages import option
from cfl_cli.core.settings import SETTINGS, Names, Switch, read_by
from cfl_cli.errors import Problem, UsageError
from cfl_cli.run import AnySchema, Arguments, Context, refuse_blurred
from cfl_cli.schema.model import Identifier, Schema
from cfl_cli.tables import frames
from cfl_cli.tables.codec import Table

# What is asked, checked against the schema.


def asked_of(
    schema: Schema,
    *,
    cfs: Sequence[str],
    by: str | None,
    mean: str | None,
    weight: str | None,
    bias: float,
    infer: Sequence[str],
    width: float | None = None,
) -> Asked:
    """Return what to tabulate, or raise with what is wrong; without `cfs`, all CFs."""
    known = schema.complementary
    chosen = [*dict.fromkeys(cfs or known)]
    if by in known and by is not None:
        chosen, by = [*dict.fromkeys([*chosen, by])], None
    problems = []
    for name in chosen:
        if name not in known:
            text = "{option}: column {column!r} is not a CF of the schema: {remedy}"
            remedy = f"name one of {', '.join(known)}"
            problems.append(
                Problem("tabulate-not-a-cf", text, option=option("cf"), column=name, remedy=remedy)
            )
    asked = Asked(tuple(chosen), by, mean, weight, bias, width)
    for given, name in asked.columns.items():
        if isinstance(schema.columns.get(name), Identifier):
            text = "{option}: column {column!r} is an identifier, whose cells are never shown"
            problems.append(Problem("tabulate-identifier", text, option=option(given), column=name))
    if problems:
        raise UsageError(*problems)
    refuse_blurred(schema, infer, cfs=chosen)
    return asked


def blocks_of(frame: Any) -> Iterator[Table]:
    """Yield the rows of a frame in blocks."""
    height = frames.height(frame)
    for start in range(0, max(height, 1), ROWS_AT_ONCE):
        rows = min(ROWS_AT_ONCE, height - start)
        part = frame
        if rows < height:
            is_pandas = hasattr(frame, "iloc")
            part = frame.iloc[start : start + rows] if is_pandas else frame.slice(start, rows)
        yield Table(part, first=start)


def counted(
    blocks: Iterable[Table],
    schema: Schema,
    asked: Asked,
    name: str,
    checked: Checked | None = None,
) -> Tally:
    if checked is not None and asked.weight is not None:
        raise UsageError(_not_with_weights("audit"))
    tally = Tally(schema, asked, name=name, checked=checked)
    for block in blocks:
        tally.add(block.frame, block.first + 1)
    if checked is not None:
        checked.within(tally.rows)
    return tally


def _not_with_weights(name: str) -> Problem:
    text = "{option} and {option2} do not go together: {remedy}"
    options = {"option": option(name), "option2": option("weight")}
    return Problem("option-conflict", text, **options, remedy="leave one of them out")


def by_model(
    found: Tabulation, frame: Any, tally: Tally, given: Arguments, context: Context
) -> Tabulation:
    """Return the figures with those of a model in the place of some; it runs on the whole table."""
    if tally.asked.weight is not None:
        raise UsageError(_not_with_weights("with_model"))
    from cfl_cli.commands.tabulate.with_model import with_model  # which loads the methods

    return with_model(found, frame, tally, given, context)


# In Python.

SWITCH = Switch()


def _names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    return () if given is None else Names().read(given)


def tabulate(
    frame: Any,
    schema: AnySchema,
    *,
    cf: str | Sequence[str] | None = None,
    by: str | None = None,
    mean: str | None = None,
    weight: str | None = None,
    bias: float = 1.0,
    infer: str | Sequence[str] | None = None,
    audit: Any = None,
    with_model: bool = False,
    name: str = "table",
) -> Any:
    """Estimate shares, cross tables and means of CFs from their cells, with 95 % intervals.

    Parameters
    ----------
    frame : polars.DataFrame, pandas.DataFrame or pyarrow.Table
        A table with exclusions; it need not be imputed.
    schema : Schema, dict, str or path
        As in `impute`.
    cf : str or list of str, optional
        The CFs to tabulate; all by default. Each pair of several CFs gets a cross table.
    by : str, optional
        A column that divides the rows into groups, for cross tables with each CF.
    mean : str, optional
        A column of numbers whose mean is estimated for each value.
    weight : str, optional
        A column of survey weights.
    bias : float, default 1
        Assume some wrong values are ruled out up to this many times as often as other values. Above
        1, `bias_low` and `bias_high` are the range of the shares.
    infer : str or list of str, optional
        CFs that were blurred for privacy and are tabulated nevertheless.
    audit : polars.DataFrame, pandas.DataFrame or pyarrow.Table, optional
        Rows that a person looked up, drawn at random: `cfl_row`, the number of the row from 1, and
        a column for each CF with the true values. Figures from these rows are valid under any
        mechanism.
    with_model : bool, default False
        Also learn from the OFs. It narrows intervals where tests show that they stay valid, for CFs
        of at most four values. It runs `boost` on the whole table.
    name : str, default "table"
        Name of the table in errors.

    Returns
    -------
    polars.DataFrame, pandas.DataFrame or pyarrow.Table
        A row for each figure, in a table of the same kind as `frame`. If `estimate` is unknown, it
        is null, and `reason` has the code of the problem. It may be below 0, so that sums are
        correct.

    Raises
    ------
    SchemaError
        The schema lists no domain of a CF, or a CF was blurred for privacy.
    DataError
        The table does not fit the schema.
    UsageError
        An argument is wrong.

    Examples
    --------
    With `table` and `schema` as in `impute`:

    >>> found = cfl_cli.tabulate(table, schema, cf="job")
    >>> found.columns[:5]
    ['cf', 'value', 'by', 'group', 'quantity']
    """
    read = Schema.of(schema)
    bias = read_by({"bias": SETTINGS["bias"].kind}, {"bias": bias})["bias"]
    asked = asked_of(
        read, cfs=_names(cf), by=by, mean=mean, weight=weight, bias=bias, infer=_names(infer)
    )
    checked = None if audit is None else Checked.read(audit, read, asked.cfs, name="audit")
    tally = counted(blocks_of(frame), read, asked, name, checked)
    found = figures.made(tally, read, asked)
    if SWITCH.read(with_model):
        given = Arguments(read, read.settings, read.run)
        found = by_model(found, frame, tally, given, Context(name))
    return frames.alike(found.frame, frame)


def indicators(
    frame: Any,
    schema: AnySchema,
    *,
    cf: str | Sequence[str] | None = None,
    infer: str | Sequence[str] | None = None,
    name: str = "table",
) -> Any:
    """Return a column for each value of a CF, whose means are unbiased estimates of its shares.

    The mean of `job_is_nurse` over some rows estimates the share of nurses among them, unless the
    rows were chosen by the cell itself. The columns hold numbers below 0 and above 1. They are for
    averages. As features they are as poor as the cells.

    Parameters
    ----------
    frame, schema, cf, infer, name
        As in `tabulate`.

    Returns
    -------
    polars.DataFrame, pandas.DataFrame or pyarrow.Table
        `<cf>_is_<value>` for every value, row by row as in `frame`; null where a cell is empty.

    Raises
    ------
    DataError
        The exclusions of a CF are not as its mechanism says, or do not tell its values apart.

    Examples
    --------
    With `table` and `schema` as in `impute`:

    >>> cfl_cli.indicators(table, schema, cf="job").columns
    ['job_is_student', 'job_is_clerk', 'job_is_retired']
    """
    read = Schema.of(schema)
    asked = asked_of(
        read, cfs=_names(cf), by=None, mean=None, weight=None, bias=1.0, infer=_names(infer)
    )
    tally = Tally(read, asked, name=name)
    parts: dict[str, list[Any]] = {one: [] for one in asked.cfs}
    for block in blocks_of(frame):
        for one, codes in tally.add(block.frame, block.first + 1).items():
            parts[one].append(codes)
    columns = []
    for one, values in figures.indicators(tally, read, asked).items():
        rows = values[np.concatenate(parts[one])]
        titles = [f"{one}_is_{value}" for value in tally.cfs[one].domain.values]
        columns += [pl.Series(*both) for both in zip(titles, rows.T, strict=True)]
    table = pl.DataFrame(columns).fill_nan(None)
    return frames.alike(table, frame, same_rows=True)
