"""Whether a file can be written, tried before the work that is to go there."""

import os
import sys
from contextlib import suppress
from pathlib import Path

from cfl_cli.tables.files import Staged

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
