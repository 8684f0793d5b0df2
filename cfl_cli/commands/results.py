"""The commands that take a result, as Python's functions; uses: audit, suspects.

A result is a `Result`, or the name of a table that `cfl impute` or `cfl apply` wrote.
"""

import os
from collections.abc import Sequence
from typing import Any, TypeAlias, overload

import polars as pl

from cfl_cli.cli.outputs import diagnosed, report_of, written_as
from cfl_cli.commands.audit import job as audits
from cfl_cli.commands.suspects import job as suspicion
from cfl_cli.core.messages import option
from cfl_cli.errors import Problem, UsageError
from cfl_cli.run import AnySchema
from cfl_cli.run.result import Result
from cfl_cli.schema.model import Schema
from cfl_cli.tables import table as tables
from cfl_cli.trust.report import Report

AnyResult: TypeAlias = Result | str | os.PathLike[str]
_Names: TypeAlias = str | Sequence[str]


def report(result: AnyResult) -> Report:
    """Return the report of a result.

    Parameters
    ----------
    result : Result, str or path
        A result, or a file: a table that `cfl impute` or `cfl apply` wrote, a report, or a model.

    Returns
    -------
    Report

    Raises
    ------
    DataError
        There is no report in the file or beside it.

    Examples
    --------
    With `result` as in `impute`:

    >>> result.report.save("jobs.json")
    >>> cfl_cli.report("jobs.json")
    Report(40 rows, 1 CF)
    """
    return result.report if isinstance(result, Result) else report_of(os.fspath(result))


def suspects(result: AnyResult, *, cf: _Names = ()) -> suspicion.SuspectCells:
    """Return the cells that are most likely wrong, ranked.

    Parameters
    ----------
    result : Result, str or path
        A result, or a table that `cfl impute --diagnostics FILE` wrote. Rows of a file are counted
        from 1.
    cf : str or list of str, optional
        CFs whose cells are ranked, all by default.

    Returns
    -------
    SuspectCells

    Examples
    --------
    With `result` as in `impute`:

    >>> cfl_cli.suspects(result)
    SuspectCells(40 rows, 0 cells)
    """
    if isinstance(result, Result):
        found = result.report, result.diagnostics
    else:
        found = diagnosed(os.fspath(result), None)
    return suspicion.suspects(*found, cfs=_several(cf))


@overload
def audit(
    result: AnyResult,
    checked: Any,
    *,
    cf: _Names = (),
    schema: AnySchema | None = None,
) -> audits.Audited: ...
@overload
def audit(
    result: AnyResult,
    *,
    draw: int,
    seed: int = 0,
    cf: _Names = (),
    key: _Names = (),
    show_answers: bool = False,
    schema: AnySchema | None = None,
) -> pl.DataFrame: ...
def audit(
    result: AnyResult,
    checked: Any = None,
    *,
    draw: int | None = None,
    seed: int = 0,
    cf: _Names = (),
    key: _Names = (),
    show_answers: bool = False,
    schema: AnySchema | None = None,
) -> audits.Audited | pl.DataFrame:
    """Draw rows for a person to check, or measure the accuracy from checked rows.

    Parameters
    ----------
    result : Result, str or path
        A result, or a table that `cfl impute` wrote.
    checked : data frame, or list of them
        The drawn rows, with true values filled in.
    draw : int
        Number of rows to draw at random. Give either `draw` or `checked`.
    seed : int, default 0
        Another seed draws other rows. With the same seed, a larger draw includes the smaller one.
    cf : str or list of str, optional
        CFs to check, all by default.
    key : str or list of str, optional
        With `draw`: columns of the result by which a person finds the rows.
    show_answers : bool, default False
        With `draw`: also show the imputed values. Seeing them may bias the check.
    schema : Schema, dict, str or path, optional
        Adds values that were never imputed, and which cells count as missing.

    Returns
    -------
    polars.DataFrame or Audited
        With `draw`, the rows to check. Their column `cfl_row` counts from 1, as in a file of the table;
        `cfl_draw` must stay unchanged. With `checked`, the result of the audit.

    Raises
    ------
    UsageError, DataError
        An argument is wrong, or the tables do not belong together.

    Examples
    --------
    With `result` as in `impute`:

    >>> rows = cfl_cli.audit(result, draw=10)
    >>> true = rows["cfl_row"] <= 20  # looked up by a person
    >>> found = cfl_cli.audit(result, rows.with_columns(job=true.replace_strict(
    ...     {True: "student", False: "retired"})))
    >>> found.audits["job"].accuracy.value
    1.0
    """
    if (draw is None) == (checked is None):
        text = "give either {one} or {other}: draw rows, fill them in, then pass them"
        given = {"one": option("draw"), "other": option("checked")}
        raise UsageError(Problem("option-conflict", text, **given))
    known = None if schema is None else Schema.of(schema)
    output = _output(result, known)
    if draw is not None:
        named: dict[str, Any] = {"cfs": _several(cf), "keys": _several(key)}
        rows = audits.draw(output, draw, show_answers=show_answers, seed=seed, **named)
        return rows.frame
    tables_of = [*checked] if isinstance(checked, list | tuple) else [checked]
    called = {f"checked[{at}]" if at else "checked": one for at, one in enumerate(tables_of)}
    missing = audits.no_more_missing if known is None else known.missing_in
    return audits.audit(output, called, cfs=_several(cf), missing_in=missing)


def _output(result: AnyResult, schema: Schema | None) -> audits.Output:
    if isinstance(result, Result):
        return audits.read_answers(result.frame, result.report, schema)
    name = os.fspath(result)
    place = tables.Place.to_read(name, None)
    report_read = report_of(name)
    frame = tables.read(place, **written_as(place, report_read)).frame
    return audits.read_answers(frame, report_read, schema, name=place.name)


def _several(names: _Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
