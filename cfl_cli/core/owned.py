"""Folders that are the user's own, in which nothing leads elsewhere.

A run writes to files whose names others can foresee. If others can also put a link in such a place,
the run would write to the file that the link points to. So a folder that a run uses belongs to its
user, nobody else may write to it, and it holds plain files and folders only.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path

from cfl_cli.core import system


def not_own(path: Path) -> tuple[str, str] | None:
    """Return why a folder, or something in it, may not be used, and what to do; None: it may.

    A folder that does not exist may be used.
    """
    for one in [path, *_within(path)]:
        with suppress(FileNotFoundError):  # another run may be at work
            found = one.lstat()
            where = "it" if one == path else os.fsdecode(os.path.relpath(one, path))
            if system.is_link(found):
                return f"{where} is a link", "name the folder itself, or remove the link"
            if not system.is_own(found):
                return f"{where} belongs to another user", "name a new folder"
            if system.others_write(found):
                return f"others may write to {where}", f"use chmod -R go-w {path}, or name another"
            is_file = stat.S_ISREG(found.st_mode)
            if is_file and found.st_nlink > 1:
                return f"{where} is a link", "remove the link"
            if not is_file and not stat.S_ISDIR(found.st_mode):
                return f"{where} is neither a file nor a folder", "name another folder"
    return None


def _within(path: Path) -> list[Path]:
    if path.is_symlink():
        return []
    return [
        Path(folder, name) for folder, *names in os.walk(path) for some in names for name in some
    ]
