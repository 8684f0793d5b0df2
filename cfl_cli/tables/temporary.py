"""Files that have a name of ours until they take their places, and what becomes of those left.

    .cfl-new-BOOT-RANDOM       while it is written, where the system has no files without a name
    .cfl-placing-BOOT-RANDOM   for an instant, and only while the folder is locked

Whoever writes a new file holds a lock on it, which goes with the process. So a later run can tell
what a kill has left, and removes it. BOOT is that of the machine: locks of other machines, which
may share the folder, cannot be relied on. What they left goes after a month.
"""

import fcntl
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from time import monotonic, sleep, time

from cfl_cli.core import leaving

NEW = ".cfl-new-"
PLACING = ".cfl-placing-"
OURS = re.compile(rf"(?:{re.escape(NEW)}|{re.escape(PLACING)})(?P<boot>[0-9a-z]+)-[0-9a-f]{{16}}")
PATIENCE = 10.0  # seconds to wait for another run that is placing its files
MONTH = 30 * 86_400.0  # seconds without a change: nobody writes to this any more
BOOT = Path("/proc/sys/kernel/random/boot_id")


def name_in(folder: Path, prefix: str) -> Path:
    """Return a new name in a folder."""
    return folder / f"{prefix}{_boot()}-{secrets.token_hex(8)}"


def create(folder: Path) -> tuple[int, Path]:
    """Open a new file in a folder; it is locked, and goes with the process."""
    with locked(folder), leaving.GATE:
        path = name_in(folder, NEW)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        leaving.remove_at_end(path)
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
                _sweep(folder)
                break
        yield handle
    finally:
        with suppress(OSError):  # nothing was written to it
            os.close(handle)


def _sweep(folder: Path) -> None:
    """Remove what killed runs have left in a folder that is locked."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if found := OURS.fullmatch(entry.name):
                with suppress(OSError):
                    _remove_if_left(Path(entry.path), of_this_boot=found["boot"] == _boot())


def _remove_if_left(path: Path, *, of_this_boot: bool) -> None:
    """Remove a file unless a run that lives has it."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        about = os.fstat(handle)
        is_old = time() - about.st_mtime > MONTH
        if stat.S_ISREG(about.st_mode) and (of_this_boot or is_old):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises if it is locked
            path.unlink()
    finally:
        os.close(handle)


@cache
def _boot() -> str:
    """Return what tells this start of this machine from all others; "unknown" if nothing does."""
    with suppress(OSError):
        return BOOT.read_text().strip().replace("-", "")
    return "unknown"
