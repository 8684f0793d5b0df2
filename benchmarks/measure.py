"""A command in a process of its own: how long it took, and its peak of memory.

This process must stay small and so imports nothing heavy: a child's peak is at least what its
parent held when it was started.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

ROOT = Path(__file__).parent.parent
UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes


@dataclass(frozen=True)
class Cost:
    """What a process took."""

    seconds: float
    cpu_seconds: float  # of all cores; a busy machine disturbs these less
    peak_mb: float


def run(module: str, *arguments: object, limit: float | None = None) -> Cost:
    """Run `python -m module`; raise TimeoutError after `limit` seconds."""
    return start([sys.executable, "-m", module, *map(str, arguments)], limit=limit)


def start(
    command: Sequence[str],
    *,
    limit: float | None = None,
    folder: Path = ROOT,
    environment: Mapping[str, str] | None = None,
    **streams: Any,
) -> Cost:
    """Run a command to its end; CFL_ variables from outside do not reach it."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("CFL_")}
    began = perf_counter()
    process = subprocess.Popen(command, cwd=folder, env={**own, **(environment or {})}, **streams)
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
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * UNIT / 1e6)
