"""What a worker on another host was sent: parcels, and what it remembers for those to come.

It is in nameless files in the worker's folder, mapped into memory: so it can leave memory, and is
gone with the process. What no parcel of the last stages has needed is let go.
"""

import mmap
import os
import tempfile
from collections.abc import Sequence
from dataclasses import field
from time import monotonic
from typing import Any

from cfl_cli.core.quick import dataclass
from cfl_cli.engines.parcels import open_sealed, total

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
