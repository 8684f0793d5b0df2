"""Which engine a run has: the only place that decides it.

Up to a million rows, or fewer where memory is short, threads over arrays in memory. With more, or
if the run is to be resumed, the arrays are files; with Dask, worker processes share these.
"""

import platform
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cfl_cli import __version__
from cfl_cli.core import process
from cfl_cli.core.messages import option
from cfl_cli.core.parallel import Workers, available_cores
from cfl_cli.core.settings import RunSettings
from cfl_cli.errors import Problem, UsageError

if TYPE_CHECKING:
    from cfl_cli.large.stored import Executor, Stored

IN_MEMORY = 1_000_000  # rows, at most
_BYTES_A_ROW = 4000  # of memory that a run of fewer should have
_MOST = 32  # worker processes, or four for each core


def own_versions() -> dict[str, str]:
    """Return what must be the same for another process to give, or go on with, the same bytes."""
    return {"cfl": __version__, "Python": platform.python_version(), "NumPy": np.__version__}


@contextmanager
def open_engine(
    limits: RunSettings, *, rows: int, identity: Mapping[str, str], near: Path | None = None
) -> "Iterator[Workers | Stored]":
    """Give the engine that a run of some rows asks for.

    `identity` says what the run is of; a run directory of something else is refused. Without one,
    files go into a temporary folder in `near`, or where temporary files are. A run directory is
    left as it is, unless `finish` of the engine says that all is written.
    """
    with ExitStack() as stack:
        threads = stack.enter_context(Workers(limits.jobs or available_cores()))
        if is_in_memory(limits, rows):
            yield threads
            return
        # Runs in memory do without these.
        from cfl_cli.large import run_directory, stored

        if limits.run_dir is None:
            directory = run_directory.RunDirectory.make_temporary(near)
        else:
            directory = run_directory.RunDirectory.begin(
                Path(limits.run_dir), identity, resume=limits.resume
            )
        stack.enter_context(directory)
        executor: Executor = stored.Threads(threads)
        if limits.engine == "dask":
            from cfl_cli import cluster  # other runs need not load asyncio

            if limits.scheduler is None:
                executor = stack.enter_context(cluster.local_cluster(_processes(limits)))
            else:
                running = cluster.running_cluster(limits.scheduler, directory.folder.path)
                executor = stack.enter_context(running)
        durable = not directory.temporary
        yield stored.Stored(
            directory.folder, executor, threads, durable=durable, on_finish=directory.finish
        )


def is_in_memory(limits: RunSettings, rows: int) -> bool:
    if limits.engine != "local" or limits.run_dir is not None:
        return False
    return rows <= min(IN_MEMORY, (limits.max_memory or process.allowance().size) // _BYTES_A_ROW)


def check_engine(limits: RunSettings) -> None:
    """Raise if a run could not have the engine that it asks for; nothing is started or reached."""
    if limits.engine == "local":
        return
    from cfl_cli import cluster  # as above

    cluster.import_dask()
    if limits.scheduler is None:
        _processes(limits)
    else:
        cluster.check_address(limits.scheduler)


def _processes(limits: RunSettings) -> int:
    count, most = limits.workers or available_cores(), max(_MOST, 4 * available_cores())
    if count > most:
        text = "{option}: {count:,} processes would overload this machine: {remedy}"
        named, remedy = option("workers"), f"use {most} or fewer"
        raise UsageError(Problem("option-workers", text, option=named, count=count, remedy=remedy))
    return count


def remove_run(limits: RunSettings) -> None:
    """Remove the run directory of a run whose engine is closed and whose results are written."""
    if limits.run_dir is not None and Path(limits.run_dir).is_dir():
        from cfl_cli.large.run_directory import RunDirectory

        with RunDirectory.reopened(Path(limits.run_dir)) as directory:
            directory.finish()
