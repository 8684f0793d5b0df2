"""From a table to answers and a report: learn, impute, fit, apply a model.

Here is what callers give a job: a schema in any form, and settings by their names.
"""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeAlias

import polars as pl

from cfl_cli.core import Watched
from cfl_cli.core.messages import CALLER, Caller, command, did_you_mean, option, options
from cfl_cli.core.progress import Progress
from cfl_cli.core.settings import SETTINGS, RunSettings, Settings, entries
from cfl_cli.encode.findings import MisfitError
from cfl_cli.errors import CflError, Problem, SchemaError, UsageError
from cfl_cli.schema.model import Schema
from cfl_cli.tables.frames import RowLabels
from cfl_cli.trust.report import Report, Sources

AnySchema: TypeAlias = Schema | Mapping[str, Any] | str | os.PathLike[str]
_DECIDES = {one.name for one in entries(Settings)}
_RUN = {one.name for one in entries(RunSettings) if one.in_python}


def silent(*_: object) -> None:
    """Show no progress."""


@dataclass(frozen=True)
class Context:
    """What a job knows of its table and of who waits for it, beside schema and settings."""

    name: str = "table"  # what errors call the table
    progress: Progress = silent
    sources: Sources | None = None  # the files that table and schema came from
    near: Path | None = None  # where files may be for a while; None: where temporary ones are
    reference: Any = None  # a data frame of other rows whose values are known


@dataclass(frozen=True)
class Arguments:
    """A schema, and the settings that it and the caller ask for: what every job takes.

    The command line makes it of values that its options have read, Python by `read`; nothing
    checks a setting again.
    """

    schema: Schema
    settings: Settings
    limits: RunSettings

    @classmethod
    def of_call(cls, given: Mapping[str, Any]) -> Self:
        """Return what a function of Python was given: its `locals()`, None where nothing was."""
        schema = Schema.of(given["schema"])
        asked = {name: one for name, one in given.items() if name in SETTINGS and one is not None}
        how = {name: asked[name] for name in asked if name in _RUN}
        decides = {name: asked[name] for name in asked if name in _DECIDES}
        return cls(schema, schema.settings.override(**decides), schema.run.override(**how))

    def changed(self, **values: Any) -> Self:
        return replace(self, settings=self.settings.replaced(values))


# CFs that were blurred for privacy: what they hide is inferred only where a run asks by name.


def refuse_blurred(
    schema: Schema, infer: Sequence[str], *, cfs: Collection[str] | None = None
) -> None:
    """Raise if a CF was blurred for privacy and `infer` does not name it; `cfs`: of these alone."""
    if (infer or schema.blurred) and (problems := refusals(schema, infer, cfs=cfs)):
        raise SchemaError(*problems)


def refusals(
    schema: Schema, infer: Sequence[str], *, cfs: Collection[str] | None = None
) -> list[Problem]:
    """Return the CFs that may not be inferred; raise if `infer` names what was not blurred."""
    blurred = [*schema.blurred]
    problems = []
    for name in infer:
        if name in blurred:
            continue
        if name in schema.complementary:
            what = "column {column!r} is not marked `blurred: privacy`, so it is filled in without this option"
        elif name in schema.columns:
            what = "column {column!r} is not a CF"
        else:
            what = "the schema has no column {column!r}{near}"
        ways = "name {names}, or leave it out" if blurred else "leave it out"
        problems.append(
            Problem(
                "column-not-blurred",
                f"{{option}}: {what}: {ways}",
                option=option("infer"),
                column=name,
                near=did_you_mean(name, blurred or [*schema.complementary]),
                names=options("infer", blurred),
            )
        )
    if problems:
        raise UsageError(*problems)
    return [
        Problem(
            "blurred",
            "column {column!r} was blurred for {reason} (`blurred: {reason}` in the schema), so it "
            "is not filled in: add {remedy} if you are allowed to, or mark it `role: ignore`; {risk} shows "
            "what could be inferred",
            column=name,
            reason=reason,
            remedy=option("infer", name, pasted=True),
            risk=command("risk", python="risk"),
        )
        for name, reason in schema.blurred.items()
        if name not in infer and (cfs is None or name in cfs)
    ]


def recorded(report: Report, schema: Schema) -> Report:
    """Return the report, which says of CFs that were blurred on purpose that they were inferred."""
    columns = (replace(one, blurred=schema.blurred.get(one.name)) for one in report.columns)
    return replace(report, columns=tuple(columns))


# What a caller in Python sees beside the result: progress, and rows as the table counts them.

ToldProgress: TypeAlias = bool | Progress  # True: a bar where there is somebody to see it


@contextmanager
def called(
    frame: Any, progress: ToldProgress = False, *, schema: Schema | None = None
) -> Iterator[Progress]:
    """Show the progress of a call; its errors name rows as `frame` does.

    The command line, which calls some of the same functions, counts rows from 1.
    """
    labels = labels_of(frame, schema)
    with _shown(progress) as told:
        try:
            yield told
        except CflError as error:
            if labels is None:
                raise
            raise _relabelled(error, labels.label) from None


def label_of(frame: Any, schema: Schema) -> Callable[[int], Any]:
    """Return what says how the caller calls a row of a table; it is given a number from 1."""
    return int if (labels := labels_of(frame, schema)) is None else labels.label


def labels_of(frame: Any, schema: Schema | None) -> RowLabels | None:
    identifiers = schema.identifiers if schema else ()
    return RowLabels(frame, identifiers) if CALLER.get() is Caller.PYTHON else None


def labelled(diagnostics: pl.DataFrame, labels: RowLabels | None) -> pl.DataFrame:
    """Return the list of cells to look at with rows as the table counts them."""
    return (
        diagnostics
        if labels is None
        else diagnostics.with_columns(labels.column(diagnostics["row"]))
    )


def _shown(progress: ToldProgress) -> AbstractContextManager[Progress]:
    if progress is True:
        return Watched.display()
    return nullcontext(progress or silent)


def _relabelled(error: CflError, label: Callable[[int], Any]) -> CflError:
    if isinstance(error, MisfitError):
        return error.renumbered(label)
    problems = (
        one if one.place.row is None else one.changed(row=label(one.place.row))
        for one in error.problems
    )
    return type(error)(*problems, more=error.more)
