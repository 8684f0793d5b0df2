"""How much memory this process used at its peak."""

import sys


def peak_mb() -> float | None:
    """Return the peak of the process's resident memory in MB, None where nothing tells it."""
    try:
        import resource  # noqa: PLC0415 — Unix only
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6, 1)
