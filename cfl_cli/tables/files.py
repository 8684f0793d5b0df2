"""Bytes in and out: files that appear complete or not at all, and the standard streams.

A new file has no name while it is written, where the system allows that, so that not even a kill
leaves anything behind. When all files of a run are complete and on disk, they take their places one
right after the other, while no other run places files in the same directory.
"""

import fcntl
import io
import os
import re
import secrets
import stat
import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from time import monotonic, sleep, time
from typing import IO, Any, Protocol, Self

from cfl_cli.core import process
from cfl_cli.core.messages import STDOUT_CLOSED, option
from cfl_cli.core.process import undisturbed
from cfl_cli.errors import (
    CflWarning,
    DataError,
    Problem,
    ResourceError,
    UsageError,
    system_problem,
    unreadable,
)

# Files that have a name of ours until they take their places, and what becomes of those left.
#
#     .cfl-new-BOOT-RANDOM       while it is written, where the system has no files without a name
#     .cfl-placing-BOOT-RANDOM   for an instant, and only while the folder is locked
#
# Whoever writes a new file holds a lock on it, which goes with the process. So a later run can tell
# what a kill has left, and removes it. BOOT is that of the machine: locks of other machines, which
# may share the folder, cannot be relied on. What they left goes after a month.

NEW = ".cfl-new-"
PLACING = ".cfl-placing-"
OURS = re.compile(rf"(?:{re.escape(NEW)}|{re.escape(PLACING)})(?P<boot>[0-9a-z]+)-[0-9a-f]{{16}}")
PATIENCE = 10.0  # seconds to wait for another run that is placing its files
MONTH = 30 * 86_400.0  # seconds without a change: nobody writes to this any more
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def name_in(folder: Path, prefix: str) -> Path:
    return folder / f"{prefix}{_boot()}-{secrets.token_hex(8)}"


def create_file(folder: Path) -> tuple[int, Path]:
    """Open a new file in a folder; it is locked, and goes with the process."""
    with locked(folder), process.GATE:
        path = name_in(folder, NEW)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        process.remove_at_end(path)
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return handle, path


@contextmanager
def locked(folder: Path) -> Iterator[int]:
    """Keep other runs from placing files in the directory; give its handle."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        deadline = monotonic() + PATIENCE
        while monotonic() < deadline:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                sleep(0.01)
            except OSError:  # a file system without locks
                break
            else:
                with suppress(OSError), os.scandir(folder) as entries:
                    for entry in entries:
                        if found := OURS.fullmatch(entry.name):
                            _remove_if_left(Path(entry.path), found["boot"])
                break
        yield handle
    finally:
        with suppress(OSError):  # nothing was written to it
            os.close(handle)


def _remove_if_left(path: Path, boot: str) -> None:
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            about = os.fstat(handle)
            is_old = time() - about.st_mtime > MONTH
            if stat.S_ISREG(about.st_mode) and (boot == _boot() or is_old):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises if it is locked
                path.unlink()
        finally:
            os.close(handle)


@cache
def _boot() -> str:
    with suppress(OSError):
        return _BOOT.read_text().strip().replace("-", "")
    return "unknown"


# An old file keeps a second name until all files of a run are in their places, so that all go back
# if one of them cannot be placed.


@contextmanager
def _replacing(target: Path, old: dict[Path, Path | None]) -> Iterator[None]:
    """Let a new file or folder take the place of a target, and note that it did."""
    name = None
    if target.is_file():
        name = name_in(target.parent, PLACING)
        try:
            os.link(target, name)
        except OSError:  # a file system without links, or somebody else's file
            yield
            return
    try:
        yield
    except BaseException:
        if name is not None:
            with suppress(OSError):
                name.unlink()
        raise
    old[target] = name


OPEN_FILES = Path("/proc/self/fd")  # where Linux lets a nameless file be named


def read(path: Path | None) -> bytes:
    with read_errors(path):
        return path.read_bytes() if path is not None else standard_input().read()


def standard_input() -> IO[bytes]:
    if sys.stdin is None:
        raise DataError(Problem("stdin-closed", "standard input is closed"))
    os.set_blocking(sys.stdin.fileno(), True)
    return sys.stdin.buffer


@contextmanager
def read_errors(path: Path | None) -> Iterator[None]:
    """Let an error name the file that cannot be read; standard input if there is no path."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise unreadable(path or "standard input", error) from error


def exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


@contextmanager
def standard_output() -> Iterator[IO[bytes]]:
    """Give standard output for data alone; what others print there goes to stderr.

    OSQP prints from within, without asking Python.
    """
    if sys.stdout is None:
        raise ResourceError(Problem("stdout-closed", STDOUT_CLOSED))
    sys.stdout.flush()
    raw = Raw(os.dup(1))
    os.set_blocking(raw.handle, True)
    stream = io.BufferedWriter(raw)
    os.dup2(2, 1)
    try:
        yield stream
        stream.flush()
        raw.check()
    except OSError as error:
        if isinstance(raw.failure, BrokenPipeError):
            raise raw.failure from error  # the reader went away, which is not an error
        problem = system_problem("standard output", "written", raw.cause(error))
        raise ResourceError(problem) from error
    finally:
        os.dup2(raw.handle, 1)
        with suppress(OSError):
            stream.close()


@dataclass(eq=False)
class Raw(io.RawIOBase):
    """An open file that remembers why it could not be written, and then takes nothing more.

    Polars and pyarrow write to it through Python, and make of an error what they like; some of
    them send the same bytes again.
    """

    handle: int
    failure: BaseException | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.check()
        try:
            return os.write(self.handle, data)
        except BaseException as error:
            self.failure = error
            raise

    def close(self) -> None:
        if not self.closed:
            os.close(self.handle)
        super().close()

    def check(self) -> None:
        """Raise if any write has failed, also one whose error was swallowed on the way."""
        if self.failure is not None:
            raise self.failure

    def cause(self, error: Exception) -> Exception:
        return self.failure if isinstance(self.failure, Exception) else error


@dataclass
class Staged:
    path: Path  # as the user wrote it
    target: Path  # the file that a link points to
    raw: Raw
    file: io.BufferedWriter
    name: Path | None  # its name until it is in place, if it has one

    @classmethod
    def create(cls, path: Path) -> Self:
        target, handle, name = path.resolve(), None, None
        if hasattr(os, "O_TMPFILE") and OPEN_FILES.is_dir():
            with suppress(OSError):  # not on every file system
                handle = os.open(target.parent, os.O_TMPFILE | os.O_RDWR, 0o600)
        if handle is None:
            handle, name = create_file(target.parent)
        raw = Raw(handle)
        return cls(path, target, raw, io.BufferedWriter(raw), name)

    def guarded(self) -> AbstractContextManager[None]:
        return write_errors(self.path, self.raw)

    def finish(self) -> None:
        """Write everything to disk, with the permissions that the file will have."""
        self.file.flush()
        self.raw.check()
        handle = self.raw.handle
        if self.target.exists():
            old = self.target.stat()
            with suppress(PermissionError):  # only root gives files away
                os.fchown(handle, old.st_uid, old.st_gid)
            os.fchmod(handle, old.st_mode & 0o777)
        else:
            mask = os.umask(0)
            os.umask(mask)
            os.fchmod(handle, 0o666 & ~mask)
        os.fsync(handle)

    def place(self) -> None:
        if self.name is None:
            is_new = not self.target.exists()
            name = self.target if is_new else name_in(self.target.parent, PLACING)
            # Followed only with a directory's handle, which an absolute path leaves unused.
            handle = self.raw.handle
            os.link(OPEN_FILES / str(handle), name, src_dir_fd=handle, follow_symlinks=True)
            if is_new:
                return
            self.name = name
        self.name.replace(self.target)
        process.keep(self.name)
        self.name = None

    def take_back(self, old: Path | None) -> None:
        if old is None:
            self.target.unlink()
        else:
            old.replace(self.target)

    def discard(self) -> None:
        with suppress(OSError):
            self.file.close()
        if self.name is not None:
            with suppress(OSError):
                self.name.unlink(missing_ok=True)
                process.keep(self.name)


class Placeable(Protocol):
    """A new file, or a folder of them, that is complete and waits to take its place."""

    path: Path
    target: Path

    def place(self) -> None:
        """Take the target's place in one step."""

    def take_back(self, old: Path | None) -> None:
        """Leave the target's place again, to what was there; a file has it under a second name."""

    def discard(self) -> None:
        """Close it, and remove what is not in its place."""


@dataclass(kw_only=True)
class Staging(AbstractContextManager["Staging"]):
    """New files that take their places together when the `with` block ends well."""

    overwrite: bool
    staged: list[Placeable] = field(default_factory=list)
    # Done when all files are in their places; if it fails, they go back. A signal waits for it.
    then: Callable[[], object] | None = None
    updated: Collection[Path] = ()  # files that take the place of older ones in any case

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # The places that were taken, with the second name of the old file, if there was one.
        old: dict[Path, Path | None] = {}
        with ExitStack() as stack:
            stack.callback(self.give_up)
            if kind is not None:
                return
            handles: dict[Path, int] = {}
            for folder in sorted({staged.target.parent for staged in self.staged}):
                with write_errors(folder):
                    handles[folder] = stack.enter_context(locked(folder))
            stack.enter_context(undisturbed())
            stack.enter_context(process.GATE)
            if not self.overwrite:
                places = (staged.path for staged in self.staged)
                refuse_existing([path for path in places if path not in self.updated])
            try:
                for staged in self.staged:
                    # Nothing can fail after the last one.
                    is_last = staged is self.staged[-1] and self.then is None
                    before = nullcontext() if is_last else _replacing(staged.target, old)
                    with write_errors(staged.path), before:
                        staged.place()
                if self.then is not None:
                    self.then()
            except BaseException:  # what was there takes its place again, as far as that is allowed
                for staged in reversed(self.staged):
                    if staged.target in old:
                        with suppress(OSError):
                            staged.take_back(old[staged.target])
                raise
            for name in filter(None, old.values()):
                with suppress(OSError):
                    name.unlink()
            for folder, handle in handles.items():  # to the disk; that cannot undo anything
                try:
                    os.fsync(handle)
                except OSError as error:
                    cause = error.strerror or error
                    message = f"{folder}: everything was written, but a power cut could still undo it: {cause}"
                    warnings.warn(message, CflWarning, stacklevel=2)

    @contextmanager
    def file(self, path: Path) -> Iterator[IO[bytes]]:
        """Give a new file that will be at `path`. Files take their places in this order."""
        staged = self.begin(path)
        with staged.guarded():
            yield staged.file
            staged.finish()

    def begin(self, path: Path) -> Staged:
        with write_errors(path):
            staged = Staged.create(path)
        self.staged.append(staged)
        return staged

    def give_up(self) -> None:
        for staged in self.staged:
            staged.discard()
        self.staged.clear()


def refuse_existing(paths: list[Path]) -> None:
    for path in paths:
        if path.exists() and not (path.is_dir() and not any(path.iterdir())):
            text = "{file}: already exists: add {remedy}, or choose another name"
            remedy = option("overwrite", value=True)
            raise UsageError(Problem("out-exists", text, file=str(path), remedy=remedy))


@contextmanager
def write_errors(path: Path | str, raw: Raw | None = None) -> Iterator[None]:
    """Let an error name the file that cannot be written, and why."""
    try:
        yield
    except OSError as error:
        cause = raw.cause(error) if raw else error
        raise ResourceError(system_problem(path, "written", cause)) from error


# Whether a file can be written, tried before the work that is to go there.

TRIAL = 1 << 12  # bytes that are written to see whether that is possible


def try_to_write(path: Path) -> None:
    """Raise the error of the system unless some bytes can be written where a file is to be.

    They go to a file that has no name, or loses it at once, so that nothing is left behind.
    """
    staged = Staged.create(path)
    try:
        if staged.name is not None:
            staged.name.unlink()
        rest = bytes(TRIAL)
        while rest:  # a full disk may take a part
            rest = rest[os.write(staged.raw.handle, rest) :]
        os.fsync(staged.raw.handle)  # which a full disk far away may only notice now
    finally:
        staged.discard()


def try_to_replace(path: Path) -> None:
    """Raise the error of the system unless what is at a place may be replaced.

    It may not if it is immutable, or somebody else's in a folder where everybody keeps their own.
    Linux answers that to whoever asks to remove a file as if it were a folder, or a folder as if it
    were a file, before it answers that it is not: so nothing is removed.
    """
    target = path.resolve()
    if sys.platform != "linux" or not target.exists():
        return
    with suppress(NotADirectoryError, IsADirectoryError, FileNotFoundError):
        if target.is_dir():
            target.unlink()
        else:
            target.rmdir()
