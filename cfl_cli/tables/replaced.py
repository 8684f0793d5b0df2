"""What was in the place of new files, so that all go back if one of them cannot be placed.

An old file keeps a second name until all files of a run are in their places.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path

from cfl_cli.core.quick import dataclass
from cfl_cli.tables import temporary


@dataclass
class Replaced:
    """The places that new files have taken, in order."""

    old: dict[Path, Path | None] = field(default_factory=dict)  # None: nothing was there

    @contextmanager
    def replacing(self, target: Path) -> Iterator[None]:
        """Let a new file take the place of a target; a folder cannot go back."""
        name = None
        if target.is_file():
            name = temporary.name_in(target.parent, temporary.PLACING)
            try:
                os.link(target, name)
            except OSError:  # a file system without links, or somebody else's file
                yield
                return
        elif target.exists():
            yield
            return
        try:
            yield
        except BaseException:
            if name is not None:
                with suppress(OSError):
                    name.unlink()
            raise
        self.old[target] = name

    def put_back(self) -> None:
        """Let what was there before take its place again, as far as the system allows."""
        for target, name in reversed(self.old.items()):
            with suppress(OSError):
                target.unlink() if name is None else name.replace(target)
        self.old.clear()

    def forget(self) -> None:
        """Remove what was there before."""
        for name in filter(None, self.old.values()):
            with suppress(OSError):
                name.unlink()


@contextmanager
def together() -> Iterator[Replaced]:
    """Give what remembers old files; they are back if the block does not end well."""
    replaced = Replaced()
    try:
        yield replaced
    except BaseException:
        replaced.put_back()
        raise
    replaced.forget()
