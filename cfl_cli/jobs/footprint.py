"""How much memory a run holds at its peak, added up from the arrays that live at the same time."""

from cfl_cli import estimators
from cfl_cli.core import budget as memory
from cfl_cli.core.methods import METHODS
from cfl_cli.core.parallel import available_cores
from cfl_cli.core.settings import Settings
from cfl_cli.errors import ResourceError
from cfl_cli.estimators.interface import Size
from cfl_cli.estimators.methods import method
from cfl_cli.steps.encode import Encoded

PACKAGES = 200e6  # what Python and its packages hold before there is any table


def peak_bytes(
    encoded: Encoded, settings: Settings, *, table: int, jobs: int | None = None
) -> float:
    """Return about how many bytes a run holds at its peak; `table` is the size of the table."""
    n, d = encoded.features.shape
    size = Size(n, d, tuple(len(block.values) for block in encoded.blocks))
    threads = jobs or available_cores()
    held = estimators.load(settings.method).memory(size, method(settings), jobs=threads)
    return PACKAGES + 3 * table + held


def check(
    encoded: Encoded,
    settings: Settings,
    *,
    table: int,
    jobs: int | None = None,
    max_memory: int | None = None,
) -> None:
    """Raise if a run would need more memory than it may have."""
    needed = peak_bytes(encoded, settings, table=table, jobs=jobs)
    allowed = max_memory or memory.available()
    if needed > allowed:
        whose = "--max-memory" if max_memory else "this machine"
        *ways_out, last = "fewer rows", *METHODS[settings.method].saves_memory
        either = f"{', '.join(ways_out)} or {last}" if ways_out else last
        raise ResourceError(
            f"about {needed / 1e6:,.0f} MB of memory are needed, and {whose} allows "
            f"{allowed / 1e6:,.0f} MB: use {either}"
        )
