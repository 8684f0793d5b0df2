"""Run one table by every engine: whether bytes are the same, and what processes take.

    python -m benchmarks.scale FOLDER --workers 1 2 4 --kills 10

FOLDER is what `benchmarks.tables` wrote. Each run is the command, in processes of its own:

    memory          arrays in memory
    files           arrays in a run directory, in small slices
    dask N          N worker processes
    workers killed  two workers, which are killed one after the other, again and again
    driver killed   the command is killed and resumed by the other engine, again and again
"""

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import psutil

SECONDS = (1.0, 4.0)  # from one kill to the next, at random
OFTEN = 0.25  # seconds from one look at the processes to the next
MB = 1e6


@dataclass
class Used:
    """What the processes of a run took, by their numbers."""

    cpu: dict[int, float] = field(default_factory=dict)  # seconds
    anonymous: dict[int, float] = field(default_factory=dict)  # bytes, at most

    def look(self, root: psutil.Process) -> list[psutil.Process]:
        """Take note of a process and those that it started; return the latter."""
        try:
            children: list[psutil.Process] = root.children(recursive=True)
        except psutil.Error:
            children = []
        for one in (root, *children):
            try:
                times, held = one.cpu_times(), anonymous(one.pid)
            except (psutil.Error, OSError):
                continue
            self.cpu[one.pid] = times.user + times.system
            self.anonymous[one.pid] = max(held, self.anonymous.get(one.pid, 0))
        return children


def anonymous(pid: int) -> float:
    """Return how many bytes a process holds that are not those of files."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


@dataclass(frozen=True)
class Run:
    """One run of the command."""

    name: str
    checksum: str
    used: Used
    driver: int  # the number of its process, the last one if it was killed
    kills: int = 0

    def __str__(self) -> str:
        workers = [held for pid, held in self.used.anonymous.items() if pid != self.driver]
        most = f", workers {max(workers) / MB:.0f} MB" if workers else ""
        own = self.used.anonymous.get(self.driver, 0) / MB
        killed = f", {self.kills} kills" if self.kills else ""
        cpu = sum(self.used.cpu.values())
        return f"{self.name:15} {self.checksum[:16]}  CPU {cpu:.1f} s, {own:.0f} MB{most}{killed}"


class Bench:
    """Runs the command on one table."""

    def __init__(self, table: Path, folder: Path, options: list[str], seed: int) -> None:
        self.table, self.folder, self.options = table, folder, options
        self.random = random.Random(seed)

    def run(
        self, name: str, *options: str, kill: Callable[[float, list[psutil.Process]], int] | None
    ) -> Run:
        used, kills, began = Used(), 0, time.monotonic()
        process = self._start(*options)
        root = psutil.Process(process.pid)
        while process.poll() is None:
            children = used.look(root)
            if kill:
                kills += kill(time.monotonic() - began, children)
            time.sleep(OFTEN)
        if process.returncode:
            raise SystemExit(f"{name}: exit code {process.returncode}")
        return Run(name, self._checksum(), used, process.pid, kills)

    def killing_workers(self, most: int) -> Run:
        due = [self._pause() + 4]
        left = [most]

        def kill(now: float, children: list[psutil.Process]) -> int:
            busy = [one for one in children if one.is_running() and not one.children()]
            if now < due[0] or not left[0] or not busy:
                return 0
            self.random.choice(busy).send_signal(signal.SIGKILL)
            due[0], left[0] = now + self._pause(), left[0] - 1
            return 1

        return self.run("workers killed", "--engine", "dask", "--workers", "2", kill=kill)

    def killing_the_driver(self, most: int) -> Run:
        used, place = Used(), ["--run-dir", str(self.folder / "run"), "--resume"]
        for kills in range(1000):
            dask = ["--engine", "dask", "--workers", "2"] if kills % 2 else []
            process = self._start(*place, *dask)
            root, end = psutil.Process(process.pid), time.monotonic() + 4 + self._pause()
            while process.poll() is None:
                used.look(root)
                if kills < most and time.monotonic() > end:
                    process.kill()
                time.sleep(OFTEN)
            if process.returncode == 0:
                return Run("driver killed", self._checksum(), used, process.pid, kills)
        raise SystemExit("the run never ends")

    def _pause(self) -> float:
        return self.random.uniform(*SECONDS)

    def _start(self, *options: str) -> "subprocess.Popen[bytes]":
        named = ["--schema", str(self.table / "schema.yml"), "--out", str(self._out)]
        data = str(self.table / "data.parquet")
        command = [sys.executable, "-m", "cfl_cli", "impute", data, *named, "--overwrite", "-q"]
        return subprocess.Popen([*command, *self.options, *options])

    @property
    def _out(self) -> Path:
        return self.folder / "out.parquet"

    def _checksum(self) -> str:
        return sha256(self._out.read_bytes()).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    asked, options = parser.parse_known_args()
    options = options or ["--method", "graph", "--folds", "0"]
    folder = Path(tempfile.mkdtemp(dir=asked.table))
    bench = Bench(asked.table, folder, options, asked.seed)
    found = []
    try:
        files = ["--run-dir", str(folder / "run"), "--jobs", "1"]
        for name, *given in (
            ["memory"],
            ["one thread", "--jobs", "1"],
            ["files", *files],
            *([f"dask {n}", "--engine", "dask", "--workers", str(n)] for n in asked.workers),
        ):
            found.append(bench.run(name, *given, kill=None))
            print(found[-1], flush=True)
        if asked.kills:
            for killing in (bench.killing_workers, bench.killing_the_driver):
                found.append(killing(asked.kills))
                print(found[-1], flush=True)
    finally:
        shutil.rmtree(folder)
    print(f"{len({run.checksum for run in found})} different files")


if __name__ == "__main__":
    main()
