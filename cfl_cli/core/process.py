"""How much memory this process may use, and how much it used at its peak.

It may use the least of what the machine has, what the group leaves that it runs in, and what its
own limits leave (`ulimit`). A group that needs more than it may have loses a process, silently.
"""

import os
import re
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cfl_cli.core import system
from cfl_cli.core.system import PROC

# The control groups that this process runs in, and what memory they allow.
#
# A container is such a group. Linux has two versions of them, and some machines have both at once.

# Version 2: more than `max` is not given, and above `high` a process hardly gets on.
_LIMITS = ("memory.high", "memory.max", "memory.limit_in_bytes")
_HELD = ("anon", "total_rss")  # what cannot be dropped, as pages of files can


@dataclass(frozen=True)
class ControlGroup:
    folder: Path
    limit: int | None  # bytes that its processes may hold together; None: it does not say
    held: int  # bytes that its processes hold and that are not pages of files


def own_groups(proc: Path = PROC) -> list[ControlGroup]:
    """Return the groups that have a say in this process's memory, each before the one around it."""
    paths = [line.split(":", 2)[1:] for line in _read(proc / "self/cgroup").splitlines()]
    found = list[ControlGroup]()
    for line in _read(proc / "self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        kind, *_, options = after.split()
        if kind == "cgroup2":
            controller = ""
        elif kind == "cgroup" and "memory" in options.split(","):
            controller = "memory"
        else:
            continue
        root, place = (
            re.sub(r"\\([0-7]{3})", lambda sign: chr(int(sign[1], 8)), text)
            for text in before.split()[3:5]
        )
        mount = Path(place)
        for controllers, path in paths:
            if controller not in controllers.split(","):
                continue
            # Within a container the path may be one of the host, of which nothing is to be seen.
            inner = path.removeprefix(root) if root != "/" else path
            folder = mount / inner.lstrip("/")
            for one in (folder, *folder.parents):
                if mount == one or mount in one.parents:
                    limits = (_read(one / name).strip() for name in _LIMITS)
                    limit = min((int(text) for text in limits if text.isdigit()), default=None)
                    facts = (line.split() for line in _read(one / "memory.stat").splitlines())
                    held = next((int(fact[1]) for fact in facts if fact[0] in _HELD), 0)
                    found.append(ControlGroup(one, limit, held))
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


MACHINE, GROUP = "this machine", "its container or control group"
UNKNOWN = 4_000_000_000  # bytes of memory to reckon with where the system does not say
SPACE, DATA = "ulimit -v", "ulimit -d"
# Address space that packages need and mostly never use: measured, with a thread of polars per core.
RESERVED, RESERVED_A_CORE = 1_600_000_000, 100_000_000


@dataclass(frozen=True)
class Allowance:
    size: int
    whose: str
    limit: int  # the number that they have set; of it some may be in use already


def peak_mb() -> float | None:
    """Return the peak of the process's resident memory in MB, None where it is not known."""
    held = _status().get("VmHWM")
    if held is not None:  # `getrusage` would also count the process that has started this one
        return round(held / 1e6, 1)
    peak = system.peak_memory()
    return None if peak is None else round(peak / 1e6, 1)


def allowance() -> Allowance:
    """Return how many bytes of memory this process may hold, and who says so."""
    machine = system.physical_memory() or UNKNOWN
    found = [Allowance(machine, MACHINE, machine)]
    status = _status()
    own = status.get("RssAnon", 0)
    for group in own_groups():
        if group.limit is not None:
            left = group.limit - max(0, group.held - own)
            found.append(Allowance(max(0, left), GROUP, group.limit))
    space, data = system.limit_of("RLIMIT_AS"), system.limit_of("RLIMIT_DATA")
    if space is not None:  # counts all that is mapped, held or not
        found.append(Allowance(max(0, space - reserved_space()), SPACE, space))
    if data is not None:  # counts what may be written to, held or not
        found.append(Allowance(max(0, data - (status.get("VmData", 0) - own)), DATA, data))
    return min(found, key=lambda one: one.size)


def reserved_space() -> int:
    return RESERVED + system.cores() * RESERVED_A_CORE


def _status() -> dict[str, int]:
    lines = _read(PROC / "self/status").splitlines()
    pairs = (line.split() for line in lines if line.endswith(" kB"))
    return {name.rstrip(":"): 1024 * int(number) for name, number, _ in pairs}


# How a process ends when it is told to from outside: what is half done is removed, and it is gone.
#
# No exception is raised for that. One that a signal raises in the midst of a package's work may be
# lost there: polars swallows it and writes the same bytes again, an import makes another of it. So
# whoever makes something that must not stay says so here, and a thread of its own ends the process,
# whatever the others are doing.

PATIENCE = 10.0  # seconds for files that are taking their places just now
FAREWELL = 0.5  # seconds for all that would be good to do besides

# Held while names of files come and go; whoever ends the process takes it and keeps it.
GATE = threading.RLock()
_half_done: dict[Path, Callable[[], object]] = {}  # and what closes its files
_farewells: dict[object, Callable[[], object]] = {}


def remove_at_end(path: Path, close: Callable[[], object] = lambda: None) -> None:
    """Let a file or folder go with the process; call this where the gate is held.

    `close` closes what is open there, without which Windows removes nothing.
    """
    _half_done[path] = close


def keep(path: Path) -> None:
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
    with GATE:
        pass


def end_process(code: int, *, say: Callable[[], object]) -> None:
    """Remove what is half done, say so, and end the process."""
    GATE.acquire(timeout=PATIENCE)
    for path, close in [*_half_done.items()] * 3:  # threads may still put files into a folder
        if system.WINDOWS:
            with suppress(Exception):
                close()
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()
    actions = [*reversed([*_farewells.values()]), say]

    # A thread, because what another one holds (a lock, a pipe that is full) may never be free.
    def in_turn() -> None:
        for action in actions:
            with suppress(Exception):  # nobody is left to care
                action()

    last = threading.Thread(target=in_turn, daemon=True)
    with suppress(RuntimeError):  # no more threads
        last.start()
        last.join(FAREWELL)
    os._exit(code)


# Signals that wait for the end of a block, where an exception of theirs would do harm.

SIGNALS = tuple(system.ENDS)
_held: list[int] = []  # numbers of signals that came


def _hold(number: int, _frame: object) -> None:
    _held.append(number)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Hold signals back until the block ends; in the first thread, the only one that hears them."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    is_first = threading.current_thread() is threading.main_thread()
    if not is_first or _hold in before.values():
        yield
        return
    ours = {number: handler for number, handler in before.items() if handler is not None}
    for number in ours:  # others were set by something that is not Python
        signal.signal(number, _hold)
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
        came = _held[:]
        _held.clear()
        if came:
            signal.raise_signal(came[0])


def keep_freed_memory() -> None:
    """Let malloc keep arrays of up to 32 MB for the next ones, unless the user tunes malloc.

    Fresh memory is cleared and mapped page by page: neighbors by lists then take four times as long.
    """
    if not {"MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"} & {*os.environ}:
        mallopt = getattr(system.c_library(), "mallopt", None)  # not every C library has it
        for threshold, size in ((-1, 64 << 20), (-3, 32 << 20)):  # to trim, to map
            if mallopt is not None:
                mallopt(threshold, size)
