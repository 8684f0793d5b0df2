"""Small kernels, which other processes can import, and what they should compute."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cfl_cli.core.parallel import Engine
from cfl_cli.errors import DataError, Problem


@dataclass(frozen=True)
class Squares:
    numbers: npt.NDArray[np.float64]
    out: npt.NDArray[np.float64]
    seconds: float = 0.0  # that each slice takes

    def __call__(self, part: slice) -> int:
        time.sleep(self.seconds)
        self.out[part] = self.numbers[part] ** 2
        return part.stop - part.start

    def written(self, part: slice) -> list[npt.NDArray[np.float64]]:
        return [self.out[part]]


@dataclass(frozen=True)
class Averages:
    before: npt.NDArray[np.float64]
    after: npt.NDArray[np.float64]

    def __call__(self, part: slice) -> float:
        rows = np.arange(part.start, part.stop)
        n = len(self.before)
        mean = (self.before[rows - 1] + self.before[rows] + self.before[(rows + 1) % n]) / 3
        self.after[part] = mean
        return float(np.abs(mean - self.before[part]).max())


@dataclass(frozen=True)
class Deadly:
    """Kills its process at the slice that has a row, as often as `times` says."""

    out: npt.NDArray[np.float64]
    row: int
    folder: Path
    times: int

    def __call__(self, part: slice) -> None:
        died = len(list(self.folder.glob("died-*")))
        if part.start <= self.row < part.stop and died < self.times:
            (self.folder / f"died-{died}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        self.out[part] = 1


@dataclass(frozen=True)
class Wrong:
    """Raises an error that the user should see."""

    row: int

    def __call__(self, part: slice) -> None:
        if part.start <= self.row < part.stop:
            raise DataError(Problem("wrong-row", "row {row}: wrong", row=self.row), more=2)


@dataclass(frozen=True)
class Counted:
    folder: Path
    out: npt.NDArray[np.float64]
    fails_at: int = -1
    kills: bool = False  # the whole process, instead of failing

    def __call__(self, part: slice) -> list[float]:
        if part.start <= self.fails_at < part.stop:
            if self.kills:
                os.kill(os.getpid(), signal.SIGKILL)
            raise DataError("stopped here")
        self.out[part] = np.sqrt(np.arange(part.start, part.stop))
        (self.folder / f"{part.start}-{time.monotonic_ns()}").touch()
        return [float(self.out[part].sum()), 0.1]


def smooth(engine: Engine, n: int, *, at_once: int, steps: int = 3) -> npt.NDArray[np.float64]:
    numbers = engine.empty("numbers", (n,), float)
    numbers[:] = np.random.default_rng(0).random(n)
    pair = [engine.empty(name, (n,), float) for name in ("one", "other")]
    for _ in engine.rows("squares", Squares(numbers, pair[0]), n, at_once=at_once):
        pass
    for _ in range(steps):
        moved = engine.rows("step", Averages(*pair), n, at_once=at_once, marked=False)
        assert max(size for _, size in moved) > 0
        pair.reverse()
    return pair[0]
