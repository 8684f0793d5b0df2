"""A run of a small kernel in a process of its own, which tests kill.

python driver.py RUN_DIR SEEN ENGINE SECONDS
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from time import sleep

import numpy as np
from builders.kernels import Counted

from cfl_cli.core.settings import RunSettings
from cfl_cli.large import open_engine

ROWS, AT_ONCE = 400, 10


@dataclass(frozen=True)
class Slow(Counted):
    """Takes its time."""

    seconds: float = 0.0

    def __call__(self, part: slice) -> list[float]:
        sleep(self.seconds)
        return super().__call__(part)


def drive(run: Path, seen: Path, engine: str, seconds: float) -> bytes:
    limits = RunSettings(run_dir=str(run), resume=True, engine=engine, jobs=2)
    with open_engine(limits, rows=ROWS, identity={"cfl": "1"}) as opened:
        out = opened.empty("out", (ROWS,), float)
        (seen / "begun").touch()
        kernel = Slow(seen, out, seconds=seconds)
        sums = [result for _, result in opened.rows("roots", kernel, ROWS, at_once=AT_ONCE)]
        assert np.isclose(sum(one for one, _ in sums), np.sqrt(np.arange(ROWS)).sum())
        return out.tobytes()


if __name__ == "__main__":
    drive(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], float(sys.argv[4]))
