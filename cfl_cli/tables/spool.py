"""Files without a name, for bytes that have to wait: what came through a pipe, or will go there."""

import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Self

from cfl_cli.core.quick import dataclass
from cfl_cli.tables.files import Raw, reading, standard_input, writing

CHUNK = 1 << 18  # bytes copied at once
NAME = "temporary file"  # what messages call it


@dataclass
class Spool:
    """A file without a name, for what has to wait: gone when it is closed, or with the process."""

    kept: IO[bytes]
    raw: Raw
    file: io.BufferedWriter

    @classmethod
    @contextmanager
    def create(cls, beside: Path | None = None) -> Iterator[Self]:
        """Give a new one on the disk of `beside`, or where the system keeps such files."""
        folder = beside.resolve().parent if beside else None
        with writing(NAME):
            kept = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 — closed below
        with kept:
            raw = Raw(os.dup(kept.fileno()))
            spool = cls(kept, raw, io.BufferedWriter(raw))
            try:
                yield spool
            finally:
                with suppress(OSError):
                    spool.file.close()

    def guarded(self) -> AbstractContextManager[None]:
        """Let an error say that this file could not be written."""
        return writing(NAME, self.raw)

    def finish(self) -> None:
        """See to it that everything is written."""
        self.file.flush()
        self.raw.check()

    def again(self) -> IO[bytes]:
        """Return what was written, to be read from its beginning."""
        with self.guarded():
            self.finish()
        self.kept.seek(0)
        return self.kept


@contextmanager
def opened(path: Path | None) -> Iterator[IO[bytes]]:
    """Give a file, or standard input if there is no path, to be read as often as one likes.

    What comes through a pipe comes once; it is copied to a file without a name.
    """
    with ExitStack() as stack:
        with reading(path):
            if path is not None:
                file: IO[bytes] = stack.enter_context(path.open("rb"))
            else:
                file = standard_input()
            once = path is None or not file.seekable()
        if once:
            spool = stack.enter_context(Spool.create())
            while data := chunk(file, path):
                with spool.guarded():
                    spool.file.write(data)
            file = spool.again()
        yield file


def chunk(file: IO[bytes], path: Path | None) -> bytes:
    """Return the next bytes of an open file, or of standard input if there is no path."""
    with reading(path):
        return file.read(CHUNK)
