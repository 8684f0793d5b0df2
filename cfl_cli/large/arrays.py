"""Arrays that are files: a `.npy` file mapped into memory, which travels as a reference.

Whoever unpickles such an array, or any view of it, in another process has the same bytes in sight,
not a copy; what one process writes, all on that host read. A process maps a file once.
"""

import io
import json
import mmap
import os
import pickle
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from math import prod
from pathlib import Path
from typing import Any, Self
from zlib import crc32

import numpy as np
import numpy.typing as npt

from cfl_cli.core.parallel import slices
from cfl_cli.errors import DataError, file_problem


def unusable(path: Path, what: str = "cannot be read") -> DataError:
    remedy = "remove the run's folder to start again"
    return DataError(file_problem("run-dir-unusable", path, what, remedy))


# Names of files can be foreseen, so others could put a link in such a place: it is not followed.
NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC
FOLDER = os.O_RDONLY | os.O_DIRECTORY | NO_LINK
DATA = 4096  # where the data begin: at a page, so that no page holds both header and data
MOST_BY_VALUE = 64_000_000  # bytes of an array in memory that may travel with a kernel


@dataclass(frozen=True, eq=False)
class OpenMap:
    path: str
    memory: mmap.mmap
    address: int
    size: int

    def flush(self) -> None:
        """Return when all that any process of this host has written to it is on the disk."""
        self.memory.flush()

    def checksum(self) -> int:
        with memoryview(self.memory) as content:
            return crc32(content)

    def remove(self) -> None:
        Path(self.path).unlink(missing_ok=True)


# Every map that is in use; and, in a process that is sent references, also those that were, because
# mapping a file again would cost a page fault for every page.
_OPEN: "weakref.WeakValueDictionary[tuple[str, int, int], OpenMap]" = weakref.WeakValueDictionary()
_SENT: dict[str, OpenMap] = {}


class Mapped(np.memmap[Any, Any]):
    """An array that is a file, or a view of one; results of arithmetic are arrays in memory."""

    source: OpenMap | None

    def __new__(
        cls,
        source: OpenMap,
        shape: tuple[int, ...],
        kind: npt.DTypeLike,
        *,
        offset: int = DATA,
        strides: tuple[int, ...] | None = None,
    ) -> Self:
        made = np.ndarray.__new__(cls, shape, kind, source.memory, offset, strides)
        made.source = source
        return made

    def __array_finalize__(self, obj: Any) -> None:
        source: OpenMap | None = getattr(obj, "source", None)
        if source is not None and not np.may_share_memory(self, obj):
            source = None
        self.source = source
        self._mmap = None if source is None else source.memory  # what its class looks for

    def __getitem__(self, index: Any) -> Any:
        found = np.ndarray.__getitem__(self, index)
        if isinstance(found, Mapped) and found.source is None:
            return found.view(np.ndarray)
        return found

    def __array_wrap__(
        self, array: npt.NDArray[Any], context: Any = None, return_scalar: bool = False
    ) -> Any:
        if array is self:
            return self
        return array[()] if return_scalar else array.view(np.ndarray)

    def flush(self) -> None:
        if self.source is not None:
            self.source.flush()

    @property
    def path(self) -> Path | None:
        return Path(self.source.path) if self.source is not None else None

    def __reduce_ex__(self, protocol: Any) -> Any:
        return reference_to(self) or np.asarray(self).__reduce_ex__(protocol)

    def __reduce__(self) -> Any:
        return self.__reduce_ex__(2)


def create_map(path: Path, shape: tuple[int, ...], kind: npt.DTypeLike) -> Mapped:
    """Return a new array of zeros, whose file has its full size and is on the disk.

    The space is taken at once where the file system can: writing to a map on a full disk would
    end the process without a word. Raise OSError if the file exists or the disk is full.
    """
    dtype = np.dtype(kind)
    size = DATA + max(1, dtype.itemsize * int(np.prod(shape, dtype=np.int64)))
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        described = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False}
        text = repr({**described, "shape": tuple(map(int, shape))}).encode("latin-1")
        start = np.lib.format.magic(1, 0) + (DATA - 10).to_bytes(2, "little")
        os.write(handle, start + text.ljust(DATA - 11) + b"\n")
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(handle, 0, size)
        else:
            os.ftruncate(handle, size)
        os.fsync(handle)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)
    return open_map(path)


def open_map(path: Path | str) -> Mapped:
    """Return the array of a file; raise ValueError or OSError if it is none that can be mapped."""
    source = _opened(str(path))
    head = io.BytesIO(source.memory[:DATA])
    try:
        np.lib.format.read_magic(head)
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(head)
    except Exception as error:  # whatever a damaged head makes of Python's own parser
        raise ValueError(f"{path}: not an array of a run") from error
    size = dtype.itemsize * prod(shape)
    if min(shape, default=0) < 0 or DATA + size > source.size:
        raise ValueError(f"{path}: not an array of a run")
    if fortran or head.tell() != DATA or dtype.hasobject:
        raise ValueError(f"{path}: not an array of a run")
    return Mapped(source, shape, dtype)


def _opened(path: str) -> OpenMap:
    handle = os.open(path, os.O_RDWR | NO_LINK)
    try:
        facts = os.fstat(handle)
        key = (path, facts.st_dev, facts.st_ino)
        known = _OPEN.get(key)
        if known is not None and known.size == facts.st_size:
            return known
        memory = mmap.mmap(handle, facts.st_size)
    finally:
        os.close(handle)
    address = np.frombuffer(memory, np.uint8).__array_interface__["data"][0]
    return _OPEN.setdefault(key, OpenMap(path, memory, address, facts.st_size))


def _rebuilt(
    path: str, shape: tuple[int, ...], kind: str, offset: int, strides: tuple[int, ...]
) -> npt.NDArray[Any]:
    _SENT[path] = source = _opened(path)
    return plain_view(Mapped(source, shape, kind, offset=offset, strides=strides))


def plain_view(array: Mapped) -> npt.NDArray[Any]:
    """Return the same as a plain array, whose arithmetic is quicker; `pickled` still knows it."""
    return array.view(np.ndarray)


def _source(array: npt.NDArray[Any]) -> OpenMap | None:
    base: Any = array
    while isinstance(base, np.ndarray):
        source = getattr(base, "source", None)
        if source is not None:
            return source  # type: ignore[no-any-return]  # it is
        base = base.base
    return None


def reference_to(array: npt.NDArray[Any]) -> Any:
    """Return how to rebuild an array that is in a file, None for others."""
    source = _source(array)
    if source is None or array.dtype.names is not None:
        return None
    offset = array.__array_interface__["data"][0] - source.address
    if not 0 <= offset <= source.size:
        return None
    return _rebuilt, (source.path, array.shape, array.dtype.str, offset, array.strides)


class _Pickler(pickle.Pickler):
    """Sends every view of a map as a reference, also plain arrays, and refuses huge copies."""

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, np.ndarray):
            reference = reference_to(thing)
            if reference is not None:
                return reference
            if thing.nbytes > MOST_BY_VALUE:
                raise TypeError(
                    f"an array of {thing.nbytes:,} bytes in memory cannot travel with a kernel: "
                    "make it by `engine.empty`"
                )
        return NotImplemented


def pickled(thing: Any) -> bytes:
    """Return something as bytes, in which arrays that are files are references."""
    target = io.BytesIO()
    _Pickler(target, protocol=5).dump(thing)
    return target.getvalue()


def unpickled(content: bytes) -> Any:
    """Return what `pickled` was given; only for bytes of a run's own processes."""
    return pickle.loads(content)  # noqa: S301 — from processes of the run, never a file


def forget_removed() -> None:
    """Let go of files that are no longer there, so that the disk has their space again."""
    for path in [path for path in _SENT if not os.path.exists(path)]:  # noqa: PTH110 — quicker
        del _SENT[path]


def maps_of(*things: Any) -> list[OpenMap]:
    """Return the files that arrays in these things are views of, each once."""
    return list({id(source): source for source in _maps(things)}.values())


def _maps(thing: Any) -> Iterator[OpenMap]:
    if isinstance(thing, np.ndarray):
        source = _source(thing)
        if source is not None:
            yield source
    elif isinstance(thing, (tuple, list)):
        for one in thing:
            yield from _maps(one)
    elif isinstance(thing, dict):
        yield from _maps(list(thing.values()))
    elif is_dataclass(thing) and not isinstance(thing, type):
        for field in fields(thing):
            yield from _maps(getattr(thing, field.name, None))
    elif hasattr(thing, "__dict__") and type(thing).__module__.startswith("scipy.sparse"):
        yield from _maps(vars(thing))


# Which parts of a stage are done, as lines of JSON: first how the rows are cut, then the marks.
#
#     a line: {"rows": 100000, "at_once": 4096, "slices": 3}
#     a line: {"first": 0, "last": 12288, "results": [null, null, null], "checksum": 907060870}
#
# A mark is written after its data, and is on the disk when `add` returns. The checksum is of the
# results and of what the kernel says it has written; whoever reads a mark compares it. A last line
# that a kill or a power cut has torn does not count, nor does anything after it.


@dataclass(frozen=True)
class StageCut:
    """How the rows of a stage are cut: into slices, and these into tasks."""

    rows: int
    at_once: int  # rows of a slice
    slices: int  # of a task

    @property
    def is_valid(self) -> bool:
        sizes = (self.rows, self.at_once, self.slices)
        return all(type(one) is int for one in sizes) and self.rows >= 0 < min(sizes[1:])

    def tasks(self) -> list[list[slice]]:
        parts = slices(self.rows, self.at_once)
        return [parts[at : at + self.slices] for at in range(0, len(parts), self.slices)]


@dataclass(frozen=True)
class Marks:
    path: Path
    cut: StageCut
    done: dict[int, list[Any]]  # the results of tasks that are done, by their first row
    sums: dict[int, int]  # their checksums

    @classmethod
    def opened(cls, path: Path, cut: StageCut) -> Self:
        """Return the marks that are there, with the cut of those; otherwise begin with `cut`."""
        lines, size = _whole_lines(path)
        if not lines:
            made = cls(path, cut, {}, {})
            _write(path, {"rows": cut.rows, "at_once": cut.at_once, "slices": cut.slices}, at=0)
            return made
        with path.open("r+b") as file:
            file.truncate(size)
        try:
            before = StageCut(**lines[0])
            done = {mark["first"]: mark["results"] for mark in lines[1:]}
            sums = {mark["first"]: mark["checksum"] for mark in lines[1:]}
            if not before.is_valid:
                raise TypeError
        except (TypeError, KeyError) as error:
            raise unusable(path, "not what a run has written") from error
        if before.rows != cut.rows:
            raise unusable(path, f"its stage has {before.rows:,} rows, now {cut.rows:,}")
        return cls(path, before, done, sums)

    def add(self, task: list[slice], results: list[Any], checksum: int) -> None:
        first, last = task[0].start, task[-1].stop
        mark = {"first": first, "last": last, "results": results, "checksum": checksum}
        _write(self.path, mark)
        self.done[first], self.sums[first] = results, checksum


def _write(path: Path, line: dict[str, Any], *, at: int | None = None) -> None:
    how = os.O_WRONLY | os.O_CREAT | os.O_APPEND | NO_LINK
    with os.fdopen(os.open(path, how, 0o600), "ab") as file:
        if at is not None:
            file.truncate(at)
        file.write(f"{json.dumps(line)}\n".encode())
        file.flush()
        os.fsync(file.fileno())


def _whole_lines(path: Path) -> tuple[list[Any], int]:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return [], 0
    found: list[Any] = []
    size = 0
    for line in content.splitlines(keepends=True):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            break
        if not line.endswith(b"\n") or not isinstance(value, dict):
            break
        found.append(value)
        size += len(line)
    return found, size
