"""How much memory a run holds at its peak, added up from the arrays that live at the same time."""

from cfl_cli import memory
from cfl_cli.encode import Encoded
from cfl_cli.errors import ResourceError
from cfl_cli.parallel import available_cores
from cfl_cli.schema import Settings
from cfl_cli.weights import rows_at_once

PACKAGES = 200e6  # what Python and its packages hold before there is any table


def peak_bytes(encoded: Encoded, settings: Settings, *, table: int) -> float:
    """Return about how many bytes a run holds at its peak; `table` is the size of the table."""
    n, d = encoded.features.shape
    width, k = encoded.candidates.shape[1], settings.k
    points = d + (width if settings.gamma else 0)
    features = 8 * n * (d + 2 * points)  # the OFs'; the last round's, and its distinct rows
    index = 4 * n * points + 8 * n + 4 * n  # offsets from the centers; members; centers' reach
    graph = n * k * (8 + 8 + 16)  # neighbors, weights, and both again as a sparse matrix
    confidences = n * width * (1 + 4 * 8)  # the mask; before, after, round one's, the output's
    # Every thread holds differences to neighbors, and k × k matrices on the way to the weights.
    thread = 8 * rows_at_once(k, points) * k * (2 * points + 6 * k)
    jobs = settings.jobs or available_cores()
    return float(PACKAGES + 3 * table + features + max(index, confidences) + graph + jobs * thread)


def check(encoded: Encoded, settings: Settings, *, table: int) -> None:
    """Raise if a run would need more memory than it may have."""
    needed = peak_bytes(encoded, settings, table=table)
    allowed = settings.max_memory or memory.available()
    if needed > allowed:
        whose = "--max-memory" if settings.max_memory else "this machine"
        raise ResourceError(
            f"about {needed / 1e6:,.0f} MB of memory are needed, and {whose} allows "
            f"{allowed / 1e6:,.0f} MB: use fewer rows, a smaller k or --gamma 0"
        )
