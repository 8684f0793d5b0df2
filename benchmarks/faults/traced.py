"""A command that runs under strace, with a signal or an error at one call of the system."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

CALLS = (
    *("write", "openat", "fsync", "linkat", "rename", "renameat", "renameat2", "close", "unlink"),
    *("fchmod", "flock", "mkdir", "rmdir", "ftruncate", "lseek", "pwrite64"),
)
TIMEOUT = 120.0  # seconds
HUNG = -99  # instead of an exit code
LINE = re.compile(r"^(?:\d+ +)?(\d+\.\d+) (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Injection:
    """What happens at one call: a signal, or an error instead of the call."""

    call: str
    number: int  # which one of a thread, from 1
    what: str  # SIGINT, ENOSPC …
    path: str | None = None  # only calls that concern this

    @property
    def is_signal(self) -> bool:
        return self.what.startswith("SIG")

    @property
    def options(self) -> list[str]:
        kind = "signal" if self.is_signal else "error"
        given = f"inject={self.call}:{kind}={self.what}:when={self.number}"
        return ["-e", f"trace={self.call}", "-e", given, *(["-P", self.path] if self.path else [])]


@dataclass(frozen=True)
class Ending:
    """How a run ended."""

    code: int
    stderr: str
    happened: bool  # did it make the call?
    seconds: float | None  # from the signal to the end


def traced(command: list[str], folder: Path, injection: Injection) -> Ending:
    """Return how a run ends to which this happens.

    Errors happen to the first thread only: others also write to wake each other.
    """
    threads = ("-f",) if injection.is_signal else ()
    code, stderr, lines = _run([*threads, *injection.options], command, folder)
    if injection.is_signal:
        came = [at for at, text in lines if text.startswith(f"--- {injection.what} ")]
        last = max((at for at, _ in lines), default=0.0)
        return Ending(code, stderr, bool(came), last - min(came) if came else None)
    return Ending(code, stderr, any("(INJECTED)" in text for _, text in lines), None)


def counted(command: list[str], folder: Path, path: str | None = None) -> Counter[str]:
    options = ["-e", f"trace={','.join(CALLS)}", *(["-P", path] if path else [])]
    _, _, lines = _run(options, command, folder)
    return Counter(name[1] for _, text in lines if (name := re.match(r"(\w+)\(", text)))


def _run(
    options: list[str], command: list[str], folder: Path
) -> tuple[int, str, list[tuple[float, str]]]:
    with tempfile.TemporaryDirectory() as made:
        log = Path(made) / "log"
        with subprocess.Popen(
            [shutil.which("strace") or "strace", "-ttt", "-o", str(log), *options, *command],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # so that all can be killed together
        ) as process:
            try:
                _, stderr = process.communicate(timeout=TIMEOUT)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return HUNG, "", []
        noted = LINE.findall(log.read_text(errors="replace"))
    return process.returncode, stderr, [(float(at), text) for at, text in noted]


def code_of(name: str) -> int:
    return 128 + int(signal.Signals[name])
