"""Whether a file can be written, tried before the work that is to go there."""

import os
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
