"""How much memory this process may use, and how much it used at its peak.

It may use the least of what the machine has, what the group leaves that it runs in, and what its
own limits leave (`ulimit`). A group that needs more than it may have loses a process, silently.
"""

import os
import sys
from collections.abc import Iterator

from cfl_cli.core.control_groups import PROC, own_groups
from cfl_cli.core.quick import dataclass

MACHINE, GROUP = "this machine", "its container or control group"
SPACE, DATA = "ulimit -v", "ulimit -d"
# Address space that packages need and mostly never use: measured, with a thread of polars per core.
RESERVED, RESERVED_A_CORE = 1_600_000_000, 100_000_000


@dataclass(frozen=True)
class Allowance:
    """How many bytes of memory this process may hold, and who says so."""

    size: int
    whose: str
    limit: int  # the number that they have set; of it some may be in use already


def peak_mb() -> float | None:
    """Return the peak of the process's resident memory in MB, None where it is not known."""
    held = _status().get("VmHWM")
    if held is not None:  # `getrusage` would also count the process that has started this one
        return round(held / 1e6, 1)
    try:
        import resource  # noqa: PLC0415 — Unix only
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6, 1)


def available() -> int:
    """Return how many bytes of memory this process may hold."""
    return allowance().size


def allowance() -> Allowance:
    """Return how many bytes of memory this process may hold, and who says so."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found = [Allowance(machine, MACHINE, machine), *_of_groups(), *_of_limits()]
    return min(found, key=lambda one: one.size)


def limit_of(name: str) -> int | None:
    """Return one of the process's own limits, such as RLIMIT_AS, in bytes; None: there is none."""
    try:
        import resource  # noqa: PLC0415 — Unix only
    except ImportError:
        return None
    allowed, _ = resource.getrlimit(getattr(resource, name))
    return None if allowed == resource.RLIM_INFINITY else allowed


def reserved_space() -> int:
    """Return how many bytes of address space packages need."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    return RESERVED + cores * RESERVED_A_CORE


def _of_groups() -> Iterator[Allowance]:
    """Yield what the groups leave that this process is in."""
    own = _status().get("RssAnon", 0)
    for group in own_groups():
        limit = group.limit
        if limit is not None:
            yield Allowance(max(0, limit - max(0, group.held - own)), GROUP, limit)


def _of_limits() -> Iterator[Allowance]:
    """Yield what the process's own limits leave."""
    status = _status()
    space, data = limit_of("RLIMIT_AS"), limit_of("RLIMIT_DATA")
    if space is not None:  # counts all that is mapped, held or not
        yield Allowance(max(0, space - reserved_space()), SPACE, space)
    if data is not None:  # counts what may be written to, held or not
        reserved = status.get("VmData", 0) - status.get("RssAnon", 0)
        yield Allowance(max(0, data - reserved), DATA, data)


def _status() -> dict[str, int]:
    """Return what the system counts of this process, in bytes; nothing where it does not."""
    try:
        lines = (PROC / "self/status").read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.split() for line in lines if line.endswith(" kB"))
    return {name.rstrip(":"): 1024 * int(number) for name, number, _ in pairs}
