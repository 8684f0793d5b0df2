"""What runs in a cluster's processes: tasks of kernels, and what the driver asks of workers."""

import asyncio
import io
import mmap
import os
import pickle
import platform
import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from cfl_cli import __version__
from cfl_cli.core.parallel import Lasting
from cfl_cli.core.process import keep_freed_memory
from cfl_cli.large.arrays import Mapped, forget_removed, packed, plain_view, reference_to, unpacked
from cfl_cli.large.stored import run_parts, run_task

# Things on their way to another host: sealed at home, sent in chunks, opened there.
#
# Large arrays in them lie beside the pickled rest, so that whoever opens a parcel that is a mapped
# file has them where they are, not copied. What is lasting is left out, and named by a key: that of
# an array which is a file is the checksum of its content, so that it cannot be taken for another.

CHUNK = 16 << 20  # bytes that travel at once
LARGE = 1 << 16  # bytes of an array that lies beside the rest
ALIGNED = 64  # where each such array begins


@dataclass(frozen=True)
class Sealed:
    """Something as bytes, and what they leave out."""

    sizes: list[int]  # of the pickled part, and of each array beside it
    parts: list[memoryview]
    lasting: dict[str, Lasting]

    def chunks(self) -> Iterator[tuple[int, bytes]]:
        """Yield all bytes, in chunks, and where each begins."""
        for begin, part in zip(starts(self.sizes), self.parts, strict=True):
            for at in range(0, len(part), CHUNK):
                yield begin + at, bytes(part[at : at + CHUNK])


def seal(thing: Any, keys: dict[Any, str] | None = None) -> Sealed:
    """Return something as bytes; what is lasting is left out.

    `keys` gets those of arrays that are files, which must not change while it is used; None: such
    arrays travel too.
    """
    target, found = io.BytesIO(), Sealed([], [], {})
    _Pickler(target, found, keys).dump(thing)
    found.parts.insert(0, target.getbuffer())
    found.sizes.extend(len(part) for part in found.parts)
    return found


class _Pickler(pickle.Pickler):
    """Leaves out what is lasting, and lays large arrays beside the rest."""

    def __init__(self, target: io.BytesIO, found: Sealed, keys: dict[Any, str] | None) -> None:
        super().__init__(target, protocol=5, buffer_callback=self._is_small)
        self.found, self.keys = found, keys

    def _is_small(self, buffer: pickle.PickleBuffer) -> bool:
        content = buffer.raw()
        if len(content) < LARGE:
            return True
        self.found.parts.append(content)
        return False

    def persistent_id(self, thing: Any) -> str | None:
        if isinstance(thing, np.ndarray) and self.keys is not None and thing.nbytes >= LARGE:
            thing = _lasting(thing, self.keys)
        if not isinstance(thing, Lasting):
            return None
        self.found.lasting[thing.key] = thing
        return thing.key

    def reducer_override(self, thing: Any) -> Any:
        return plain_view(thing).__reduce_ex__(5) if isinstance(thing, Mapped) else NotImplemented


def _lasting(array: npt.NDArray[Any], keys: dict[Any, str]) -> Lasting | None:
    """Return an array that is a file as something lasting."""
    reference = reference_to(array)
    if reference is None or not array.flags.c_contiguous:
        return None
    plain, place = array.view(np.ndarray), reference[1]
    if place not in keys:
        content = sha256(f"{plain.dtype.str} {plain.shape} ".encode())
        content.update(plain.reshape(-1).view(np.uint8).data)
        keys[place] = content.hexdigest()
    return Lasting(lambda: plain, keys[place])


class _Unpickler(pickle.Unpickler):
    def __init__(
        self, head: memoryview, parts: list[memoryview], find: Callable[[str], Any]
    ) -> None:
        super().__init__(io.BytesIO(head), buffers=parts)
        self.find = find

    def persistent_load(self, key: str) -> Any:
        return self.find(key)


def open_sealed(content: Any, sizes: list[int], find: Callable[[str], Any]) -> Any:
    """Return what was sealed; only for bytes of a run's own processes."""
    view = memoryview(content).toreadonly()
    places = zip(starts(sizes), sizes, strict=True)
    head, *parts = (view[begin : begin + size] for begin, size in places)
    return _Unpickler(head, parts, find).load()


def starts(sizes: list[int]) -> list[int]:
    """Return where parts of these sizes begin."""
    found, at = [], 0
    for size in sizes:
        found.append(at)
        at += -(-size // ALIGNED) * ALIGNED
    return found


def total(sizes: list[int]) -> int:
    """Return how many bytes parts of these sizes take."""
    return starts(sizes)[-1] + sizes[-1]


# What a worker on another host was sent: parcels, and what it remembers for those to come.
#
# It is in nameless files in the worker's folder, mapped into memory: so it can leave memory, and is
# gone with the process. What no parcel of the last stages has needed is let go.

FORSAKEN = 3600.0  # seconds without a word from a run; one that is alive sends anew
STAGES = 8  # for which something is remembered that is not needed


@dataclass
class Content:
    """Something that was sent, or is just being sent."""

    sizes: list[int]
    memory: mmap.mmap
    missing: int  # bytes
    stage: int = 0  # that needed it last
    opened: Any = None


@dataclass
class Remembered:
    """What one run has sent to this process."""

    contents: dict[str, Content] = field(default_factory=dict)
    stage: int = 0
    asked: float = field(default_factory=monotonic)

    def lacks(self, stage: int, keys: Sequence[str]) -> list[str]:
        """Return which keys of a parcel mean nothing here yet; let go of what is long unused."""
        self.stage, self.asked = max(stage, self.stage), monotonic()
        for key in keys:
            if key in self.contents:
                self.contents[key].stage = self.stage
        for key, content in list(self.contents.items()):
            if content.stage + STAGES < self.stage:
                del self.contents[key]
        return [key for key in keys if key not in self.contents or self.contents[key].missing]

    def receive(self, key: str, sizes: list[int], at: int, chunk: bytes, folder: str) -> None:
        """Take some bytes of something."""
        if at == 0:
            memory = _nameless(max(1, total(sizes)), folder)
            self.contents[key] = Content(sizes, memory, sum(sizes), self.stage)
        content = self.contents[key]
        content.memory[at : at + len(chunk)] = chunk
        content.missing -= len(chunk)

    def open(self, key: str) -> Any:
        """Return what was sent by this key, always the same thing."""
        content = self.contents[key]
        if content.opened is None:
            content.opened = open_sealed(content.memory, content.sizes, self.open)
        return content.opened

    @property
    def is_forsaken(self) -> bool:
        """Return whether its run seems to have ended without a word."""
        return monotonic() - self.asked > FORSAKEN

    def take(self, key: str) -> Any:
        """Return what was sent by this key, and let go of it."""
        thing = self.open(key)
        del self.contents[key]
        return thing


def _nameless(size: int, folder: str) -> mmap.mmap:
    """Return the memory of a new file that has no name; OSError: the disk is full."""
    with tempfile.TemporaryFile(dir=folder) as file:
        if hasattr(os, "posix_fallocate"):  # a full disk would end the process without a word
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.truncate(size)
        return mmap.mmap(file.fileno(), size)


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
    keep_freed_memory()


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
