"""How much memory the machine has, and how much of it this process used at its peak."""

import os
import sys


def peak_mb() -> float | None:
    """Return the peak of the process's resident memory in MB, None where it is not known."""
    try:
        import resource  # noqa: PLC0415 — Unix only
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6, 1)


def available() -> int:
    """Return how many bytes of memory the machine has, or the process may use (`ulimit -v`)."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        import resource  # noqa: PLC0415 — Unix only
    except ImportError:
        return machine
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    return machine if allowed == resource.RLIM_INFINITY else min(machine, allowed)
