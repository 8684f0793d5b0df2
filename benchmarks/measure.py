"""A command in a process of its own: how long it took, and its peak of memory.

This process must stay small and so imports nothing heavy: a child's peak is at least what its
parent held when it was started.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).parent.parent
UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes


@dataclass(frozen=True)
class Cost:
    """What a process took."""

    seconds: float
    cpu_seconds: float  # of all cores; a busy machine disturbs these less
    peak_mb: float


def run(module: str, *arguments: object, limit: float | None = None, folder: Path = ROOT) -> Cost:
    """Run `python -m module` in a folder; raise TimeoutError after `limit` seconds."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    own = {name: value for name, value in os.environ.items() if not name.startswith("CFL_")}
    began = perf_counter()
    process = subprocess.Popen(command, cwd=folder, env=own)
    late = threading.Event()

    def end() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(limit, end) if limit else None
    if timer:
        timer.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        if timer:
            timer.cancel()
    seconds = perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if late.is_set():
        raise TimeoutError(f"not done after {limit:.0f} s")
    _check(command, process.returncode)
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * UNIT / 1e6)


def _check(command: Sequence[str], code: int) -> None:
    if code:
        raise subprocess.CalledProcessError(code, command)
