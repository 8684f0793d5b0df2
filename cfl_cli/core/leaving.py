"""How a process ends when it is told to from outside: what is half done is removed, and it is gone.

No exception is raised for that. One that a signal raises in the midst of a package's work may be
lost there: polars swallows it and writes the same bytes again, an import makes another of it. So
whoever makes something that must not stay says so here, and a thread of its own ends the process,
whatever the others are doing.
"""

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PATIENCE = 10.0  # seconds for files that are taking their places just now
FAREWELL = 0.5  # seconds for all that would be good to do besides

# Held while names of files come and go; whoever ends the process takes it and keeps it.
GATE = threading.RLock()
_half_done: dict[Path, None] = {}
_farewells: dict[object, Callable[[], object]] = {}
_told: list[int] = []  # the pipe to a process that waits for this one's exit code, if one does


def remove_at_end(path: Path) -> None:
    """Let a file or folder go with the process; call this where the gate is held."""
    _half_done[path] = None


def keep(path: Path) -> None:
    """Let it stay: it is in its place, or gone."""
    _half_done.pop(path, None)


@contextmanager
def farewell(action: Callable[[], object]) -> Iterator[None]:
    """Within the block, let an action be tried if the process is to end; it may be cut short."""
    own = object()
    _farewells[own] = action
    try:
        yield
    finally:
        del _farewells[own]


def settle() -> None:
    """Go on, unless the process is about to end: then wait for that."""
    with GATE:
        pass


def say_code_to(pipe: int) -> None:
    """Let the process at the other end of a pipe know when this one leaves by itself."""
    _told[:] = [pipe]


def say_code(code: int) -> None:
    """Say that this process is about to leave by itself, with this code."""
    for pipe in _told:
        with suppress(OSError):
            os.write(pipe, bytes([code]))


def leave(code: int, *, say: Callable[[], object]) -> None:
    """Remove what is half done, say so, and end the process."""
    GATE.acquire(timeout=PATIENCE)
    for path in [*_half_done] * 3:  # threads that are still at work may put files into a folder
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()
    actions = [*reversed([*_farewells.values()]), say]
    # A thread, because what another one holds (a lock, a pipe that is full) may never be free.
    last = threading.Thread(target=_in_turn, args=(actions,), daemon=True)
    with suppress(RuntimeError):  # no more threads
        last.start()
        last.join(FAREWELL)
    say_code(code)
    os._exit(code)


def _in_turn(actions: list[Callable[[], object]]) -> None:
    for action in actions:
        with suppress(Exception):  # nobody is left to care
            action()
