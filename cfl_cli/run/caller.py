"""What a caller in Python sees beside the result: progress, and rows as the table counts them."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeAlias

import polars as pl

from cfl_cli.core import Watched
from cfl_cli.core.messages import CALLER, Caller
from cfl_cli.core.progress import Progress
from cfl_cli.encode.findings import MisfitError
from cfl_cli.errors import CflError
from cfl_cli.run import silent
from cfl_cli.schema.model import Schema
from cfl_cli.tables.frames import RowLabels

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
