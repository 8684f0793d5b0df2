"""Gather a long table: from blocks of rows to a table with one row per id, and its schema."""

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from cfl_cli.commands.gather.asked import FHIR, REDCAP, SHOWN, Asked, read_values
from cfl_cli.commands.gather.constants import Constants
from cfl_cli.commands.gather.design import Design
from cfl_cli.commands.gather.layouts import separator_in, text_of, ticks
from cfl_cli.commands.gather.statements import Gathered, Statements
from cfl_cli.core.messages import count, did_you_mean, option, quote
from cfl_cli.errors import CflWarning, DataError, Problem, UsageError
from cfl_cli.run import called
from cfl_cli.schema.model import flow, key
from cfl_cli.tables import frames

Block = tuple[Any, int]  # a frame, and the number of its first row, from 1


@dataclass(frozen=True)
class Wide:
    frame: pl.DataFrame  # a row per id
    found: Gathered
    id: str  # the name of its column
    left_out: Mapping[str, str]  # columns of the long table, and why
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


def check_columns(asked: Asked, columns: Sequence[str], *, name: str) -> None:
    problems = []
    for option_name, needed in asked.columns.items():
        for column in needed:
            if column not in columns:
                text = "{option}: no column {column!r} in the table{near}"
                facts = {"option": option(option_name), "near": did_you_mean(column, columns)}
                problems.append(Problem("no-column", text, column=column, **facts))
    if asked.layout == REDCAP and not ticks([*columns], asked.stem):
        text = "{option}: no column {column!r} in the table"
        facts = {"option": option("stem"), "column": f"{asked.stem}___1"}
        problems.append(Problem("no-column", text, **facts))
    if problems:
        raise UsageError(*problems)
    if asked.layout == FHIR and not {"subject", "code"} <= {*columns}:
        text = "{file}: no Conditions of FHIR, which have {what}: {remedy}"
        facts = {"what": "subject and code", "remedy": "pass NDJSON, one resource on each line"}
        raise DataError(Problem("gather-no-conditions", text, file=name, **facts))


def separated(asked: Asked, blocks: Iterable[Block]) -> Asked:
    """Return what is asked with the sign between options that were shown, if it was not given."""
    if asked.layout != SHOWN or asked.separator is not None or len(asked.shown) > 1:
        return asked
    for frame, _ in blocks:
        if sign := separator_in(frames.as_polars(frame, asked.shown)[asked.shown[0]]):
            return replace(asked, separator=sign)
    return asked


def with_options(asked: Asked, columns: Sequence[str]) -> Asked:
    """Return what is asked with the options of a form as its domain, if none was given."""
    options = [*dict.fromkeys(ticks([*columns], asked.stem).values())] if asked.stem else []
    domain = tuple(one for one in options if one not in asked.none)
    return replace(asked, values=domain) if asked.values is None and len(domain) > 1 else asked


def gathered(
    blocks: Iterable[Block],
    asked: Asked,
    persons: pl.DataFrame | None = None,
    *,
    persons_id: str | None = None,
    name: str = "table",
    persons_name: str = "persons",
) -> Wide:
    """Return the wide table of a long one, whose rows come in blocks."""
    statements, kept = Statements(asked, name=name), None
    kind: Any = pl.String
    for frame, first in blocks:
        table = frames.as_polars(frame, name=name)
        if kept is None:
            check_columns(asked, table.columns, name=name)
            statements.asked = asked = with_options(asked, table.columns)
            kept = Constants(asked, table.columns, name=name)
            kind = table[asked.id].dtype if asked.id in table.columns else kind
        ids = statements.add(table, first)
        kept.add(table, ids, first)
    if kept is None or not statements.rows:
        raise DataError(Problem("table-no-rows", "{file}: the table has no rows", file=name))
    found = statements.finish()
    features = kept.finish(found.ids, found.pairs)
    checked = [*_of_design(found.cells.design, asked)]
    if persons is None:
        first_column = pl.DataFrame({asked.id: _as_before(found.ids, kind)})
        wide, id_name, notes = _beside(first_column, features, asked, name), asked.id, list[str]()
        wide = wide.with_columns(found.cells.texts.alias(asked.cf))
    else:
        wide, id_name, notes = _joined(
            persons, persons_id, found, features, asked, name=persons_name
        )
    several = {column: why for column, why in kept.left_out.items() if column not in wide.columns}
    if several:
        what = ", ".join(f"{quote(column)} ({why})" for column, why in several.items())
        notes = [*notes, f"columns left out: {what}"]
    return Wide(wide, found, id_name, several, (*found.warnings,), (*found.notes, *checked, *notes))


def _as_before(ids: pl.Series, kind: pl.DataType) -> pl.Series:
    """Return ids as the numbers that they were, if they were."""
    numbers = ids.cast(kind, strict=False) if kind.is_numeric() else ids
    return ids if numbers.null_count() else numbers


def _beside(left: pl.DataFrame, features: pl.DataFrame, asked: Asked, name: str) -> pl.DataFrame:
    new = [one for one in features.columns if one not in left.columns]
    if asked.cf in {*left.columns, *new}:
        text = "{file}: a column {column!r} exists already: {remedy}"
        facts = {"column": asked.cf, "remedy": f"choose another name with {option('cf')}"}
        raise UsageError(Problem("column-name", text, file=name, **facts))
    return left.with_columns(features.select(new))


def _joined(
    persons: pl.DataFrame,
    id_name: str | None,
    found: Gathered,
    features: pl.DataFrame,
    asked: Asked,
    *,
    name: str,
) -> tuple[pl.DataFrame, str, list[str]]:
    """Return the table of persons with their cells, in its order; others of the long table follow."""
    id_name = id_name or ("id" if asked.layout == FHIR else asked.id)
    if id_name not in persons.columns:
        text = "{option}: no column {column!r} in {file}{near}"
        facts = {"option": option("with_id"), "near": did_you_mean(id_name, persons.columns)}
        raise UsageError(Problem("no-column", text, column=id_name, file=name, **facts))
    nested = [one for one in persons.columns if not frames.has_text(persons[one].dtype)]
    persons = persons.drop(nested)
    ids = text_of(persons[id_name])
    numbered = pl.DataFrame({"id": ids}).with_row_index("row", offset=1)
    nameless = numbered.filter(pl.col("id").is_null())
    twice = numbered.filter(pl.col("id").is_not_null()).filter(pl.len().over("id") > 1)
    for lines, code, what in (
        (nameless, "gather-id", "empty in {rows} (first in row {row})"),
        (twice, "gather-id-twice", "holds the same id in several of its rows (one in row {row})"),
    ):
        if lines.height:
            text = "{file}: column {column!r} " + what + ": {remedy}"
            facts = {
                "rows": count(lines.height, "row"),
                "remedy": "a table of persons has one row per id",
            }
            place = {"file": name, "column": id_name, "row": lines["row"][0]}
            raise DataError(Problem(code, text, **place, **facts))
    cells = pl.DataFrame(
        {"_id": found.ids, "_cell": found.cells.texts, "_at": range(len(found.ids))}
    )
    known = pl.DataFrame({"_id": ids}).join(cells, on="_id", how="left", maintain_order="left")
    extra = cells.filter(~pl.col("_id").is_in(ids.to_list()))
    more = features[known["_at"].to_list()] if features.width else features
    wide = _beside(persons, more, asked, name).with_columns(known["_cell"].alias(asked.cf))
    notes = []
    if nested:
        notes.append(
            f"{name}: columns with lists or objects left out: {', '.join(map(quote, nested))}"
        )
    if without := known["_at"].null_count():
        notes.append(
            f"{name}: {count(without, 'id')} without a row in the long table: cells left empty"
        )
    if extra.height:
        others = features[extra["_at"].to_list()] if features.width else features
        text_ids = extra["_id"].cast(persons[id_name].dtype, strict=False)
        rows = pl.DataFrame({id_name: text_ids}).with_columns(
            others.select(one for one in others.columns if one not in persons.columns)
        )
        rows = rows.with_columns(extra["_cell"].alias(asked.cf))
        wide = pl.concat([wide, rows], how="diagonal")
        notes.append(
            f"{name}: {count(extra.height, 'id')} of the long table without a row here, added at the end"
        )
    return wide, id_name, notes


# What the shown options say of how they were chosen.


def _of_design(form: Design | None, asked: Asked) -> Iterator[str]:
    if form is None:
        return
    shares = [100 * share for share in (form.shares.min(), form.shares.max())]
    sizes = " or ".join(map(str, form.sizes))
    seen = f"respondents saw {sizes} of {form.options} options"
    picked = (
        f"{form.picks:,} of {form.respondents:,} picked one, {form.expected_picks:,.0f} expected"
    )
    why = {
        "same-options": "all saw the same options, so nothing tells the other options apart",
        "not-equally": f"one option was shown to {shares[0]:.0f} % and one to {shares[1]:.0f} %",
        "not-all-sets": "some sets of options were shown more often than others",
        "picks": picked,
        "": f"each about equally often, and {picked}",
    }[form.refuted]
    if form.refuted and asked.drawn == "at-random":
        text = "{option}: {what}: {remedy}"
        facts = {"what": f"{seen}, but {why}", "remedy": "leave it out"}
        named = option("drawn", "at-random")
        raise DataError(Problem("gather-not-drawn", text, option=named, **facts))
    if form.refuted:
        yield f"{seen}, which were not drawn at random: {why}"
    elif asked.drawn is None:
        way = option("drawn", "at-random")
        yield f"{seen}: {why}. If the form drew the options, add {way}"


# The part of a schema that says how to read the wide table.


def entry(wide: Wide, asked: Asked) -> dict[str, object]:
    cells, drawn = wide.found.cells, asked.drawn
    if drawn is None and asked.layout != SHOWN:
        drawn = "by-people"  # somebody gave each code its status
    listed: dict[str, object] = {
        "role": "complementary",
        "values": [*cells.domain],
        "separator": cells.separator,
        "exact": cells.exact,
    }
    random = cells.design is not None and drawn == "at-random"
    listed |= {"exact_cells": "random"} if random else {}
    return listed | ({"drawn": drawn} if drawn else {})


def schema_part(wide: Wide, asked: Asked) -> str:
    return (
        f"  {key(wide.id)}: {flow({'role': 'identifier'})}\n"
        f"  {key(asked.cf)}: {flow(entry(wide, asked))}\n"
    )


# In Python.


def gather(
    frame: Any,
    *,
    id: str | None = None,
    code: str | None = None,
    status: str | None = None,
    map: Mapping[str, str] | Sequence[str] | None = None,
    preset: str | None = None,
    cf: str | None = None,
    persons: Any = None,
    with_id: str | None = None,
    keep: Sequence[str] | None = None,
    values: Sequence[str] | str | None = None,
    other: str | None = None,
    level: int | None = None,
    finer: str | None = None,
    one_candidate: str | None = None,
    time: str | None = None,
    time_format: str | None = None,
    conflict: str | None = None,
    shown: str | Sequence[str] | None = None,
    none: str | Sequence[str] | None = None,
    separator: str | None = None,
    stem: str | None = None,
    system: str | None = None,
    drawn: str | None = None,
    name: str = "table",
) -> Any:
    """Turn a long table (id, code, status) into a table with one row per id.

    Parameters
    ----------
    frame : polars.DataFrame, pandas.DataFrame or pyarrow.Table
        A row for each statement; with `preset="redcap"` and `shown`, a row for each respondent.
    id, code, status : str
        Columns of ids, codes and statuses. With `shown`, `code` holds the option that was picked.
    map : dict or list of str
        Meaning of each status: exclusion, exact, candidate, nothing or ignore. It adds to `preset`.
    preset : {"icd-10-gm", "fhir", "redcap"}, optional
        A layout with known statuses.
    cf : str, optional
        Name of the new column; by default that of the codes.
    persons : polars.DataFrame, pandas.DataFrame or pyarrow.Table, optional
        A table with one row per id, to which the new column is added.
    with_id : str, optional
        Column of ids in `persons`, if it has another name.
    keep : list of str, optional
        Columns to keep; by default, those that are constant per id and do not follow from the code.
    values : list of str, optional
        The domain; by default the codes seen.
    other : {"error", "skip"}, default "error"
        What to do with other codes.
    level : int, optional
        Number of leading characters of a code to use as its value. 3 turns J10.1 into J10.
    finer : {"exclusion", "nothing"}, default "exclusion"
        What an exclusion of a longer code says about the shorter code.
    one_candidate : {"nothing", "exact"}, default "nothing"
        What a single candidate of an id means.
    time, time_format : str, optional
        Column of dates or numbers, and its format. Only the latest status of each code counts.
    conflict : {"error", "latest", "empty"}, optional
        What to do with an id whose rows contradict each other; by default latest with `time`.
    shown : str or list of str, optional
        Columns with the options that a respondent was shown.
    none : str or list of str, optional
        Answers that mean none of the shown options.
    separator : str, optional
        Character between several options in a cell.
    stem : str, optional
        With `preset="redcap"`: the beginning of the column names, x for x___1.
    system : str, optional
        With `preset="fhir"`: the code system, or the end of its address.
    drawn : {"at-random", "by-people"}, optional
        With `shown`, "at-random" raises if the table refutes it.
    name : str, default "table"
        What errors call the table.

    Returns
    -------
    polars.DataFrame, pandas.DataFrame or pyarrow.Table
        One row per id, in the order of `persons` or of the first rows. It has the id, columns that
        are constant per id, and the new column. In the new column, `A;C` rules out two values, and
        `=B` states one.

    Raises
    ------
    DataError
        A status has no meaning, or rows contradict each other.
    UsageError
        An argument is wrong.

    Examples
    --------
    >>> long = pl.DataFrame(
    ...     {
    ...         "patient": ["p1", "p1", "p2", "p3"],
    ...         "code": ["flu", "cold", "cold", "flu"],
    ...         "status": ["ruled out", "ruled out", "confirmed", "ruled out"],
    ...     }
    ... )
    >>> meanings = {"ruled out": "exclusion", "confirmed": "exact"}
    >>> wide = cfl_cli.gather(
    ...     long, id="patient", code="code", status="status", map=meanings, values=["flu", "cold", "asthma"]
    ... )
    >>> wide["code"].to_list()
    ['flu;cold', '=cold', 'flu']
    """
    given: dict[str, Any] = {
        "id": id, "code": code, "status": status, "map": map, "preset": preset, "cf": cf,
        "keep": keep, "values": read_values(values) if isinstance(values, str) else values,
        "other": other, "level": level, "finer": finer, "one_candidate": one_candidate,
        "time": time, "time_format": time_format, "conflict": conflict, "shown": shown,
        "none": none, "separator": separator, "stem": stem, "system": system, "drawn": drawn,
    }  # fmt: skip
    asked = Asked.of(**given)
    table = frames.as_polars(_without_objects(frame, asked), name=name)
    people = None if persons is None else frames.as_polars(persons, name="persons")
    blocks = [(table, 1)]
    check_columns(asked, table.columns, name=name)
    with called(frame):
        wide = gathered(blocks, separated(asked, blocks), people, persons_id=with_id, name=name)
    for text in wide.warnings:
        warnings.warn(text, CflWarning, stacklevel=2)
    return frames.alike(wide.frame, frame)


def _without_objects(frame: Any, asked: Asked) -> Any:
    """Return a frame whose objects of pandas are JSON."""
    if asked.layout != FHIR or not hasattr(frame, "iloc"):
        return frame
    for column in [one for one in frame.columns if frame[one].dtype == object]:
        cells = [json.dumps(c) if isinstance(c, dict | list) else c for c in frame[column]]
        frame = frame.assign(**{column: cells})
    return frame
