"""Two installed versions on clean tables: how long reading takes, and whether results are the same.

    python -m benchmarks.messy speed --old PYTHON --new PYTHON [--old-path DIR] [--data DIR]

A path is put before the interpreter's own, so that a checkout can be measured with any interpreter.
The two take turns, because a machine that others use is not the same from minute to minute.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from benchmarks import tables
from benchmarks.measure import ROOT

TIMED = """
import sys, time
from pathlib import Path
from cfl_cli.schema.model import Schema
from cfl_cli.encode.encode import encode
from cfl_cli.tables import frames
from cfl_cli.tables import table as tables
path, schema, times = sys.argv[1], Schema.load(Path(sys.argv[2])), int(sys.argv[3])
best = [float("inf"), float("inf")]
for _ in range(times):
    began = time.process_time()
    frame = tables.read(tables.Place.to_read(path, None)).frame
    read = time.process_time()
    encode(frames.as_polars(frame), schema)
    best = [min(best[0], read - began), min(best[1], time.process_time() - read)]
print(*best)
"""
METHODS, MODES, KINDS = ("graph", "boost"), ("hard", "soft"), ("csv", "parquet")


@dataclass(frozen=True)
class Version:
    """An installed version."""

    python: str
    path: str | None

    def run(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run the interpreter with these arguments."""
        environment = {**os.environ, **({"PYTHONPATH": self.path} if self.path else {})}
        command = [self.python, *(str(part) for part in arguments)]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, cwd="/"
        )

    def home(self) -> str:
        """Return the folder that the package is imported from."""
        ended = self.run("-c", "import cfl_cli; print(cfl_cli.__file__)")
        return ended.stdout.strip() or ended.stderr.strip().splitlines()[-1]


def lay_out(folder: Path, data: Path | None, rows: int | None) -> list[str]:
    """Write clean tables as CSV and Parquet with their schemas, and return their names."""
    names = ["generated"] + (["bank", "adult"] if data else [])
    for name in names:
        most = rows or (300_000 if name == "generated" else None)
        made = tables.make(name, rows=most, data=data, seed=0)
        (folder / f"{name}.yml").write_text(made.schema)
        made.masked.write_csv(folder / f"{name}.csv")
        made.masked.write_parquet(folder / f"{name}.parquet")
    return names


def times(old: Version, new: Version, folder: Path, names: list[str], turns: int) -> Iterator[str]:
    """Yield the ratio of processor seconds, new to old, of reading and encoding."""
    yield "| table | read, old | new | ratio | encode, old | new | ratio |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for name in names:
        for kind in KINDS:
            taken: dict[Version, list[list[float]]] = {old: [], new: []}
            for turn in range(turns):
                for version in (old, new) if turn % 2 else (new, old):
                    path = folder / f"{name}.{kind}"
                    ended = version.run("-c", TIMED, path, folder / f"{name}.yml", 3)
                    if ended.returncode:
                        raise RuntimeError(ended.stderr)
                    taken[version].append([float(text) for text in ended.stdout.split()])
            yield _times(f"{name}.{kind}", taken[old], taken[new])


def _times(name: str, old: list[list[float]], new: list[list[float]]) -> str:
    cells = [name]
    for stage in (0, 1):
        before = statistics.median(turn[stage] for turn in old)
        after = statistics.median(turn[stage] for turn in new)
        cells += [f"{before:.3f} s", f"{after:.3f} s", f"{after / before:.2f}"]
    return f"| {' | '.join(cells)} |"


def answers(old: Version, new: Version, folder: Path, names: list[str]) -> Iterator[str]:
    """Yield whether `cfl impute` writes the same, run by run."""
    yield "| table | method | mode | csv | parquet |"
    yield "| --- | --- | --- | --- | --- |"
    for name in names:
        for method in METHODS:
            for mode in MODES:
                cells = [_same(old, new, folder, name, kind, method, mode) for kind in KINDS]
                yield f"| {name} | {method} | {mode} | {' | '.join(cells)} |"


def _same(
    old: Version, new: Version, folder: Path, name: str, kind: str, method: str, mode: str
) -> str:
    written = []
    for place, version in enumerate((old, new)):
        out = folder / f"out-{place}.{kind}"
        ended = version.run(
            *("-m", "cfl_cli", "impute", folder / f"{name}.{kind}", "--schema"),
            *(folder / f"{name}.yml", "--out", out, "--overwrite", "--quiet"),
            *("--method", method, "--mode", mode),
        )
        if ended.returncode:
            return f"{('old', 'new')[place]}: {ended.stderr.strip().splitlines()[-1]}"
        written.append(out)
    one, other = written
    if kind == "csv":
        return "same bytes" if one.read_bytes() == other.read_bytes() else "DIFFERS"
    left, right = pl.read_parquet(one), pl.read_parquet(other)
    same = left.schema == right.schema and left.equals(right, null_equal=True)
    return "same columns" if same else "DIFFERS"


def compare(asked: argparse.Namespace) -> None:
    """Print both tables."""
    old = Version(asked.old, asked.old_path)
    new = Version(asked.new, asked.new_path)
    print(f"old: {old.home()}\nnew: {new.home()}\n")
    with tempfile.TemporaryDirectory(prefix="cfl-versions-") as place:
        folder = Path(place)
        names = lay_out(folder, asked.data, asked.rows)
        for line in times(old, new, folder, names, asked.turns):
            print(line, flush=True)
    print()
    with tempfile.TemporaryDirectory(prefix="cfl-versions-") as place:
        folder = Path(place)
        names = [*lay_out(folder, asked.data, asked.slice), "triage"]
        for suffix in ("csv", "yml"):
            sample = (ROOT / "sample_data" / f"triage.{suffix}").read_bytes()
            (folder / f"triage.{suffix}").write_bytes(sample)
        pl.read_csv(folder / "triage.csv", infer_schema=False).write_parquet(
            folder / "triage.parquet"
        )
        for line in answers(old, new, folder, names):
            print(line, flush=True)
