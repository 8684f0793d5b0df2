"""What runs in a cluster's processes: tasks of kernels, and what the driver asks of workers."""

import asyncio
import ctypes
import os
import platform
import socket
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from cfl_cli import __version__
from cfl_cli.engines.maps import forget_removed, packed, unpacked
from cfl_cli.engines.stored import run_task

BOOT = Path("/proc/sys/kernel/random/boot_id")  # the same for all processes under one kernel
TRIM = "MALLOC_TRIM_THRESHOLD_"  # Dask sets it for its workers
KEPT = 32 << 20  # bytes of an array whose memory malloc keeps for the next: its own upper bound
_ended: set[str] = set()  # runs that nobody waits for


def versions() -> dict[str, str]:
    """Return what must be the same everywhere if bytes are to be."""
    return {"cfl": __version__, "Python": platform.python_version(), "NumPy": np.__version__}


def host() -> str:
    """Return what tells this host from others."""
    return _read(BOOT) or socket.gethostname()


def _read(path: Path) -> str:
    """Return what is in a file; nothing if it is not there."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


@cache
def prepare_process() -> None:
    """Let this process, from now on, work as the driver's does; to ask again would cost 2 ms.

    Linear algebra has one thread. Workers that Dask has started return all memory to the system at
    once, so that every large array in a kernel is fresh memory: undo that, where malloc can.
    """
    threadpool_limits(limits=1)
    if TRIM in os.environ:
        with suppress(OSError, AttributeError):  # not every C library has it
            libc = ctypes.CDLL(None)
            libc.mallopt(ctypes.c_int(-1), ctypes.c_int(2 * KEPT))  # M_TRIM_THRESHOLD
            libc.mallopt(ctypes.c_int(-3), ctypes.c_int(KEPT))  # M_MMAP_THRESHOLD


async def about(token: str) -> dict[str, Any]:
    """Return what a worker is, and what it reads in a file of the run."""
    return {"versions": versions(), "host": host(), "token": _read(Path(token))}


async def end(run: str) -> None:
    """Let tasks of a run end at their next slice."""
    _ended.add(run)


async def run(  # what Dask calls in a worker's event loop
    run_id: str, content: bytes, task: list[tuple[int, int]], *, is_flushed: bool, dask_worker: Any
) -> bytes:
    """Return the packed results of a task, or the packed error that it ended with."""

    def work() -> Any:
        prepare_process()
        forget_removed()
        return run_task(
            unpacked(content),
            [slice(*part) for part in task],
            flush=is_flushed,
            stopped=lambda: run_id in _ended,
        )

    loop = asyncio.get_running_loop()
    try:
        results = await loop.run_in_executor(dask_worker.executors["default"], work)
    except Exception as error:  # noqa: BLE001 — raised by the driver
        return _packed_error(error)
    return packed((results, None))


def _packed_error(error: Exception) -> bytes:
    try:
        content = packed(([], error))
        unpacked(content)
    except Exception:  # noqa: BLE001 — whatever an error of another package holds
        return packed(([], RuntimeError(f"{type(error).__name__}: {error}")))
    return content
