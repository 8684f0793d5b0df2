"""A new folder that is written under a hidden name beside its place, and takes it as a whole.

Its name begins with `.cfl-set-`, and it is locked as long as the run lives: what a killed run left
is not locked, and is removed by the next run that writes beside it.
"""

import ctypes
import fcntl
import hashlib
import io
import os
import secrets
import shutil
from contextlib import AbstractContextManager, suppress
from dataclasses import field
from pathlib import Path
from typing import Any, Self

from cfl_cli.core import leaving
from cfl_cli.core.quick import dataclass
from cfl_cli.errors import UsageError
from cfl_cli.tables import folder
from cfl_cli.tables.files import Raw, writing
from cfl_cli.tables.temporary import locked

PREFIX, OLD = ".cfl-set-", ".cfl-old-"
AT_CWD, EXCHANGE = -100, 2  # of renameat2 on Linux


class Counted(Raw):
    """An open file that knows how many bytes were written, and their checksum."""

    def __init__(self, handle: int) -> None:
        super().__init__(handle)
        self.size = 0
        self.made = hashlib.sha256()

    def write(self, data: Any) -> int:
        """Write, and return how many bytes were taken."""
        taken = super().write(data)
        self.made.update(memoryview(data)[:taken])
        self.size += taken
        return taken


@dataclass
class FolderFile:
    """A new file in a new folder."""

    raw: Counted
    file: io.BufferedWriter

    def finish(self) -> None:
        """Write everything to disk, and close the file."""
        self.file.flush()
        self.raw.check()
        os.fsync(self.raw.handle)
        self.file.close()


@dataclass
class StagedFolder:
    """A new folder on its way to its place."""

    path: Path  # as the user wrote it
    target: Path  # the folder that a link points to
    hidden: Path  # where it is until then
    handle: int  # of the hidden folder, which is locked by it
    open: list[FolderFile] = field(default_factory=list)

    @classmethod
    def create(cls, path: Path) -> Self:
        """Make a hidden folder beside the target."""
        target = path.resolve()
        with writing(path), locked(target.parent):
            _sweep(target)
            hidden = target.parent / f"{PREFIX}{secrets.token_hex(8)}"
            with leaving.GATE:
                hidden.mkdir()
                leaving.remove_at_end(hidden)
            handle = os.open(hidden, os.O_RDONLY)
            with suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return cls(path, target, hidden, handle)

    def guarded(self) -> AbstractContextManager[None]:
        """Let an error name the folder, and why it could not be written."""
        return writing(self.path, self.open[-1].raw if self.open else None)

    def begin(self, relative: str) -> FolderFile:
        """Open a new file in the folder."""
        path = self.hidden / relative
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with leaving.GATE:  # or it might make the folder again that was just removed
            path.parent.mkdir(parents=True, exist_ok=True)
            raw = Counted(os.open(path, flags, 0o666))
        file = FolderFile(raw, io.BufferedWriter(raw))
        self.open[:] = [file]
        return file

    def finish(self) -> None:
        """Write the names of all files to disk."""
        for path, _, _ in os.walk(self.hidden):
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def place(self) -> None:
        """Take the target's place in one step; an older folder there must be ours."""
        if not self.target.exists() or not any(self.target.iterdir()):
            self.hidden.rename(self.target)
            leaving.keep(self.hidden)
            return
        if why := folder.in_the_way(self.target):
            raise UsageError(f"{self.path}: {why}: name another")
        self.hidden.chmod(self.target.stat().st_mode & 0o777)
        if not _exchanged(self.hidden, self.target):
            old = self.target.parent / f"{OLD}{self.target.name}"
            self.target.rename(old)
            self.hidden.rename(self.target)
            leaving.keep(self.hidden)
            self.hidden = old
        shutil.rmtree(self.hidden, ignore_errors=True)

    def discard(self) -> None:
        """Let go of the folder, and remove it if it is not in its place."""
        for file in self.open:
            with suppress(OSError):
                file.file.close()
        shutil.rmtree(self.hidden, ignore_errors=True)
        leaving.keep(self.hidden)
        with suppress(OSError):
            os.close(self.handle)


def _sweep(target: Path) -> None:
    """Remove what runs left beside a folder when they were killed."""
    for path in target.parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            handle = os.open(path, os.O_RDONLY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(handle)
    old = target.parent / f"{OLD}{target.name}"
    if old.exists() and not target.exists():  # killed between two names: it was whole
        with suppress(OSError):
            old.rename(target)
    elif old.exists():
        shutil.rmtree(old, ignore_errors=True)


def _exchanged(one: Path, other: Path) -> bool:
    """Let two folders take each other's name in one step; return whether the system can."""
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError):
        return False
    names = os.fsencode(one), os.fsencode(other)
    return bool(rename(AT_CWD, names[0], AT_CWD, names[1], EXCHANGE) == 0)
