"""Bytes in and out: files that appear complete or not at all, and the standard streams.

A new file has no name while it is written, where the system allows that, so that not even a kill
leaves anything behind. When all files of a run are complete and on disk, they take their places one
right after the other, while no other run places files in the same directory.
"""

import fcntl
import io
import os
import secrets
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import IO, Any, Protocol, Self

from cfl_cli.core.messages import STDOUT_CLOSED
from cfl_cli.core.wording import option
from cfl_cli.errors import DataError, ResourceError, UsageError

PREFIX = ".cfl-"
PLACING = ".cfl-placing-"  # for an instant, and only while the directory is locked
SIGNALS = (signal.SIGINT, signal.SIGTERM)
PATIENCE = 10.0  # seconds to wait for another run that is placing its files
OPEN_FILES = Path("/proc/self/fd")  # where Linux lets a nameless file be named


def read(path: Path | None) -> bytes:
    """Return the content of a file, or of standard input if there is no path."""
    with reading(path):
        return path.read_bytes() if path is not None else standard_input().read()


def standard_input() -> IO[bytes]:
    """Return standard input, as bytes."""
    if sys.stdin is None:
        raise DataError("standard input: it is closed")
    os.set_blocking(sys.stdin.fileno(), True)
    return sys.stdin.buffer


@contextmanager
def reading(path: Path | None) -> Iterator[None]:
    """Let an error name the file that cannot be read; standard input if there is no path."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise DataError(f"{path or 'standard input'}: cannot be read: {_cause(error)}") from error


def exists(path: Path) -> bool:
    """Return whether the file is there; a name that no file can have is not."""
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
        raise ResourceError(STDOUT_CLOSED)
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
        raise ResourceError(f"standard output: cannot be written: {raw.cause(error)}") from error
    finally:
        os.dup2(raw.handle, 1)
        with suppress(OSError):
            stream.close()


class Raw(io.RawIOBase):
    """An open file that remembers why it could not be written.

    Polars and pyarrow write to it through Python, and make of an error what they like.
    """

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.failure: OSError | None = None

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> int:
        """Write, and return how many bytes were taken."""
        try:
            return os.write(self.handle, data)
        except OSError as error:
            self.failure = error
            raise

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            os.close(self.handle)
        super().close()

    def check(self) -> None:
        """Raise if any write has failed, also one whose error was swallowed on the way."""
        if self.failure is not None:
            raise self.failure

    def cause(self, error: Exception) -> str:
        """Return in a few words why it could not be written."""
        return _cause(self.failure or error)


@dataclass
class Staged:
    """A new file on its way to its place."""

    path: Path  # as the user wrote it
    target: Path  # the file that a link points to
    raw: Raw
    file: io.BufferedWriter
    name: Path | None  # its name until it is in place, if it has one

    @classmethod
    def create(cls, path: Path) -> Self:
        """Open a new file in the directory of the target."""
        target = path.resolve()
        handle, name = cls._open(target)
        raw = Raw(handle)
        return cls(path, target, raw, io.BufferedWriter(raw), name)

    @staticmethod
    def _open(target: Path) -> tuple[int, Path | None]:
        if hasattr(os, "O_TMPFILE") and OPEN_FILES.is_dir():
            with suppress(OSError):  # not on every file system
                return os.open(target.parent, os.O_TMPFILE | os.O_RDWR, 0o600), None
        handle, name = tempfile.mkstemp(prefix=PREFIX, dir=target.parent)
        return handle, Path(name)

    def guarded(self) -> AbstractContextManager[None]:
        """Let an error name the file, and why it could not be written."""
        return writing(self.path, self.raw)

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
        """Take the target's place in one step."""
        if self.name is None and not self.target.exists():
            self._link(self.target)
            return
        if self.name is None:
            name = self.target.parent / f"{PLACING}{secrets.token_hex(8)}"
            self._link(name)
            self.name = name
        self.name.replace(self.target)
        self.name = None

    def discard(self) -> None:
        """Close the file, and remove it if it has a name of its own."""
        with suppress(OSError):
            self.file.close()
        if self.name is not None:
            with suppress(OSError):
                self.name.unlink(missing_ok=True)

    def _link(self, name: Path) -> None:
        # The link is followed only with a directory's handle, which an absolute path leaves unused.
        source = OPEN_FILES / str(self.raw.handle)
        os.link(source, name, src_dir_fd=self.raw.handle, follow_symlinks=True)


class Placeable(Protocol):
    """A new file, or a folder of them, that is complete and waits to take its place."""

    path: Path
    target: Path

    def place(self) -> None:
        """Take the target's place in one step."""

    def discard(self) -> None:
        """Close it, and remove what is not in its place."""


class Staging:
    """New files that take their places together when the `with` block ends well."""

    def __init__(self, *, overwrite: bool) -> None:
        self.overwrite = overwrite
        self.staged: list[Placeable] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._place()
        finally:
            for staged in self.staged:
                staged.discard()

    @contextmanager
    def file(self, path: Path) -> Iterator[IO[bytes]]:
        """Give a new file that will be at `path`. Files take their places in this order."""
        staged = self.begin(path)
        with staged.guarded():
            yield staged.file
            staged.finish()

    def begin(self, path: Path) -> Staged:
        """Return a new file that will be at `path`, if its `finish` is called before the end."""
        with writing(path):
            staged = Staged.create(path)
        self.staged.append(staged)
        return staged

    def put_last(self, staged: "Placeable") -> None:
        """Let a file take its place after all others."""
        self.staged.remove(staged)
        self.staged.append(staged)

    def give_up(self) -> None:
        """Leave everything as it was."""
        for staged in self.staged:
            staged.discard()
        self.staged.clear()

    def _place(self) -> None:
        folders = sorted({staged.target.parent for staged in self.staged})
        with ExitStack() as stack:
            stack.enter_context(undisturbed())
            handles = [stack.enter_context(locked(folder)) for folder in folders]
            if not self.overwrite:
                refuse_existing([staged.path for staged in self.staged])
            for staged in self.staged:
                with writing(staged.path):
                    staged.place()
            for folder, handle in zip(folders, handles, strict=True):
                with writing(folder):
                    os.fsync(handle)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Hold back interrupts until the block ends."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        signal.signal(number, lambda number, _: held.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if held:
            signal.raise_signal(held[0])


def refuse_existing(paths: list[Path]) -> None:
    """Raise if one of the files exists."""
    for path in paths:
        if path.exists() and not (path.is_dir() and not any(path.iterdir())):
            way_out = option("overwrite", value=True)
            raise UsageError(f"{path}: already exists: add {way_out}, or name another file")


@contextmanager
def locked(folder: Path) -> Iterator[int]:
    """Keep other runs from placing files in the directory; give its handle."""
    with writing(folder):
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
                _sweep(folder)
                break
        yield handle
    finally:
        os.close(handle)


def _sweep(folder: Path) -> None:
    """Remove what a run left that was killed in the instant of placing a file."""
    for path in folder.glob(f"{PLACING}*"):
        with suppress(OSError):
            path.unlink()


@contextmanager
def writing(path: Path | str, raw: Raw | None = None) -> Iterator[None]:
    """Let an error name the file that cannot be written."""
    try:
        yield
    except OSError as error:
        cause = raw.cause(error) if raw else _cause(error)
        raise ResourceError(f"{path}: cannot be written: {cause}") from error


def _cause(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
