"""What runs in a cluster's processes: tasks of kernels, and what the driver asks of workers."""

import asyncio
import pickle
import platform
import socket
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from cfl_cli import __version__
from cfl_cli.core.freed import keep_freed_memory
from cfl_cli.engines.maps import forget_removed, packed, unpacked
from cfl_cli.engines.remembered import Remembered
from cfl_cli.engines.stored import run_parts, run_task

BOOT = Path("/proc/sys/kernel/random/boot_id")  # the same for all processes under one kernel
_ended: set[str] = set()  # runs that nobody waits for
_sent: dict[str, Remembered] = {}  # by runs whose home is another host


def versions() -> dict[str, str]:
    """Return what must be the same everywhere if bytes are to be."""
    return {"cfl": __version__, "Python": platform.python_version(), "NumPy": np.__version__}


def host() -> str:
    """Return what tells this host from others."""
    return _read(BOOT) or socket.gethostname()


@cache
def arithmetic() -> str:
    """Return a checksum of some results, whose last digits depend on processor and libraries."""
    import scipy.sparse as sp  # noqa: PLC0415 — loads slowly

    draws = np.random.default_rng(0)
    cells = draws.random((64, 20, 37))
    singles = draws.random((257, 41), dtype=np.float32)
    rows = sp.csr_array(np.where(draws.random((50, 257)) < 0.1, draws.random((50, 257)), 0))
    with threadpool_limits(limits=1):
        grams = cells @ cells.transpose(0, 2, 1) + np.eye(20)
        found = [
            grams,
            np.linalg.solve(grams, np.ones((64, 20, 1))),
            np.einsum("bij,bj->bi", grams, cells[:, :, 0]),
            np.einsum("ij,ij->i", cells[0], cells[0]),
            singles @ singles[:83].T,
            rows @ singles.astype(float),
            rows.astype(np.float32) @ singles,
            np.add.reduceat(singles, [0, 7, 20], axis=1),
            cells.sum(axis=2),
            np.exp(cells) + np.log1p(cells) + np.sqrt(cells) / cells.mean(axis=0),
        ]
    return sha256(b"".join(one.tobytes() for one in found)).hexdigest()


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
    once: undo that, unless the user set how memory is kept.
    """
    threadpool_limits(limits=1)
    keep_freed_memory(of_dask=True)


async def about(token: str) -> dict[str, Any]:
    """Return what a worker is, how it computes, and what it reads in a file of the run."""
    return {
        "versions": versions(),
        "host": host(),
        "arithmetic": arithmetic(),
        "token": _read(Path(token)),
    }


async def end(run_id: str) -> None:
    """Let tasks of a run end at their next slice, and forget what it has sent."""
    _ended.add(run_id)
    _sent.pop(run_id, None)


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

    return await _answered(work, dask_worker)


async def lacks(run_id: str, stage: int, keys: Sequence[str]) -> list[str]:
    """Return which of the things that a parcel needs must be sent to this process."""
    for other in [one for one, sent in _sent.items() if one != run_id and sent.is_forsaken]:
        del _sent[other]
    return _sent.setdefault(run_id, Remembered()).lacks(stage, keys)


async def receive(
    run_id: str, key: str, sizes: list[int], at: int, chunk: bytes, *, dask_worker: Any
) -> None:
    """Take some bytes of a parcel, or of what parcels need."""
    _sent[run_id].receive(key, sizes, at, chunk, dask_worker.local_directory)


async def run_parcel(
    run_id: str,
    key: str,
    task: list[tuple[int, int]],
    sizes: list[int],
    chunks: list[tuple[int, bytes]],
    *,
    dask_worker: Any,
) -> bytes:
    """Return what a parcel returns for the slices of a task, packed, or the packed error.

    Unless it was received before, it comes with the question.
    """

    def work() -> Any:
        prepare_process()
        for at, chunk in chunks:
            _sent[run_id].receive(key, sizes, at, chunk, dask_worker.local_directory)
        compute = _sent[run_id].take(key)
        return run_parts(compute, [slice(*part) for part in task], lambda: run_id in _ended)

    return await _answered(work, dask_worker)


async def _answered(work: Callable[[], Any], dask_worker: Any) -> bytes:
    loop = asyncio.get_running_loop()
    try:
        results = await loop.run_in_executor(dask_worker.executors["default"], work)
    except Exception as error:  # noqa: BLE001 — raised by the driver
        return _packed_error(error)
    return pickle.dumps((results, None), protocol=5)


def _packed_error(error: Exception) -> bytes:
    try:
        content = packed(([], error))
        unpacked(content)
    except Exception:  # noqa: BLE001 — whatever an error of another package holds
        return packed(([], RuntimeError(f"{type(error).__name__}: {error}")))
    return content
