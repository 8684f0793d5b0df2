"""Runs to which something happens, and whether they ended as they should."""

import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.faults import targets
from benchmarks.faults.targets import Files, Target

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


SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
ERRORS = ("ENOSPC", "EIO", "EACCES", "EROFS", "EINTR", "EDQUOT")
AT_ONCE = 1.0  # seconds from a signal to the end
FEW = 25  # calls of a kind that are all tried
KEPT = {0, 1, 2, 4}  # exit codes of a run to which an error happens
# Errors of calls that look for packages are those of another attack.
FAULTY = (
    *("write", "fsync", "linkat", "rename", "renameat", "renameat2", "fchmod", "flock", "mkdir"),
    *("unlink", "rmdir", "ftruncate"),
)


class Outcome(NamedTuple):
    """What happened, and what was wrong with how it ended; nothing if all was well."""

    injection: Injection
    ending: Ending
    problems: tuple[str, ...]
    state: str  # of the files: old, new, mixed


class Attacked:
    """A command, the files that it makes, and how often it makes which calls."""

    def __init__(self, target: Target, folder: Path) -> None:
        self.command, self.folder = target.command, folder
        targets.clear(folder)
        targets.run(folder, self.command)
        self.new: Files = targets.contents(folder)
        targets.clear(folder)
        self.calls = counted(self.command, folder)
        self.in_out = counted(self.command, folder, str(folder / "out"))

    def attack(self, injection: Injection, *, over_old: bool) -> Outcome:
        before = targets.older(self.new) if over_old else {}
        targets.put(self.folder, before)
        ending = traced(self.command, self.folder, injection)
        found = targets.contents(self.folder)
        state = self._state(found, before)
        problems = [*_said_wrong(injection, ending), *self._left_wrong(found, before)]
        if state == "new" and not targets.same(found, self.new):
            problems.append("a file is not what a run makes")
        if ending.code == 0 and state != "new":
            problems.append("exit code 0, but not all files are new")
        if targets.HISTORY in found and state != "new":
            problems.append("a line of the history without all files of its batch")
        return Outcome(injection, ending, tuple(problems), state)

    def _left_wrong(self, found: Files, before: Files) -> Iterator[str]:
        if left := targets.leftovers(self.folder, {*self.new}):
            yield f"left: {', '.join(left)}"
        for name, data in found.items():
            if name not in self.new or data == before.get(name):
                continue
            if not targets.same({name: data}, {name: self.new[name]}):
                yield f"{name} is neither old nor new"

    def _state(self, found: Files, before: Files) -> str:
        complete = found.keys() == self.new.keys()
        changed = {name for name in self.new if found.get(name) != before.get(name)}
        if (found == before and not complete) or (not changed and before != self.new):
            return "old"
        in_folder = any("/" in name for name in before)
        all_new = changed == {*self.new} or before == self.new or in_folder
        return "new" if complete and all_new else "mixed"


def _said_wrong(injection: Injection, ending: Ending) -> Iterator[str]:
    if "Traceback" in ending.stderr:
        yield "a traceback"
    if not ending.happened:
        if ending.code:
            yield f"nothing happened, and exit code {ending.code}"
        return
    if injection.is_signal:
        wanted = 128 + int(signal.Signals[injection.what])
        if ending.code not in {0, wanted, 128 - wanted}:
            yield f"exit code {ending.code}"
        if ending.seconds is not None and ending.seconds > AT_ONCE:
            yield f"{ending.seconds:.2f} s after the signal"
        return
    if ending.code not in KEPT:
        yield f"exit code {ending.code}"
    if ending.code and len(ending.stderr.splitlines()) != 1:
        yield "not one line"
    if ending.code and "standard output" in ending.stderr and injection.call != "write":
        yield "standard output is blamed"


def signals(attacked: Attacked, *, runs: int, rng: random.Random) -> Iterator[Outcome]:
    calls = {name: times for name, times in attacked.calls.items() if times}
    points = [
        (name, number)
        for name, times in calls.items()
        if name not in {"openat", "close", "lseek"}
        for number in range(1, min(times, FEW) + 1)
    ]
    rng.shuffle(points)
    late = [
        (name, rng.randint(1, calls[name]))
        for name in rng.choices(["openat", "close", "lseek"], [4, 1, 1], k=runs)
        if calls.get(name)
    ]
    chosen = points[: (runs + 1) // 2]
    for call, number in [*chosen, *late][:runs]:
        injection = Injection(call, number, rng.choice(SIGNALS))
        yield attacked.attack(injection, over_old=rng.random() < 0.5)


def errors(attacked: Attacked, *, runs: int, rng: random.Random) -> Iterator[Outcome]:
    """Let calls fail: all that write, and those that open or close what is in `out`."""
    points = [
        (Injection(name, number, error))
        for name in FAULTY
        for number in range(1, min(attacked.calls[name], FEW) + 1)
        for error in ERRORS
    ]
    out = str(attacked.folder / "out")
    points += [
        Injection(name, number, error, out)
        for name in ("openat", "close")
        for number in range(1, attacked.in_out[name] + 1)
        for error in ERRORS
    ]
    rng.shuffle(points)
    for injection in points[:runs]:
        yield attacked.attack(injection, over_old=rng.random() < 0.5)
