"""Memory of arrays that were let go, kept by this process for the next ones.

A kernel has large arrays for a moment, again and again. Where malloc returns their memory to the
system each time, the next ones are fresh memory, which the system must clear and map page by page:
dealing points to lists then takes four times as long.
"""

import ctypes
import os
from contextlib import suppress

KEPT = 32 << 20  # bytes of an array whose memory is kept: malloc's own upper bound
TRIM, MAP = -1, -3  # what mallopt calls the thresholds
BY_DASK = "MALLOC_TRIM_THRESHOLD_"  # which sets it for its workers, whether users want it or not
BY_USERS = ("MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


def keep_freed_memory(*, of_dask: bool = False) -> None:
    """Let malloc keep such memory from now on, where it can and users do not set it themselves.

    In a worker `of_dask` the variable that Dask sets is not the user's word.
    """
    if any(name in os.environ for name in (*BY_USERS, *([] if of_dask else [BY_DASK]))):
        return
    with suppress(OSError, AttributeError):  # not every C library has it
        libc = ctypes.CDLL(None)
        libc.mallopt(ctypes.c_int(TRIM), ctypes.c_int(2 * KEPT))
        libc.mallopt(ctypes.c_int(MAP), ctypes.c_int(KEPT))
