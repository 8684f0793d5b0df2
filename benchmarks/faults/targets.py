"""What is attacked: commands on a small table, and the files that they should leave."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

OLD = b"what was here before"
HISTORY = "history.jsonl"  # of batches; without a line it is as good as none
SCHEMA = """\
version: 1
columns:
  age: {role: ordinary, type: numeric}
  town: {role: ordinary, type: categorical}
  job: {role: complementary, values: [a, b, c]}
settings: {k: 2, iterations: 3, folds: 0, jobs: 1, overwrite: true, quiet: true}
"""
ROWS = [f"{age},{'nse'[age % 7 % 3]},{'abc'[age % 3]}" for age in range(60)]
FORMS = ("csv", "tsv", "parquet", "arrow", "jsonl", "csv.gz", "csv.zst")
Files = dict[str, bytes]


@dataclass(frozen=True)
class Target:
    """A command, which writes below `out`."""

    name: str
    arguments: tuple[str, ...]

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-m", "cfl_cli", *self.arguments]


def targets() -> list[Target]:
    """Return all commands, as they are run in a folder with `in` and `out`."""
    given = ("in/data.csv", "--schema", "in/schema.yml")
    impute = ("impute", *given)
    judged = ("--folds", "2", "--out", "out/o.csv")
    later = ("in/new.csv", "--model", "in/model.cfl", "--out", "out/o.csv", "--overwrite", "-q")
    page = ("in/imputed.parquet", "--out", "out/o.html", "--overwrite")
    return [
        *(Target(f"impute {form}", (*impute, "--out", f"out/o.{form}")) for form in FORMS),
        Target("impute folder", (*impute, "--out", "out/o/")),
        Target("impute boost", (*impute, "--method", "boost", *judged)),
        Target("impute auto", (*impute, "--method", "auto", *judged)),
        Target("fit", ("fit", *given, "--model", "out/o.cfl")),
        Target("apply", ("apply", *later)),
        Target("apply history", ("apply", *later, "--history", f"out/{HISTORY}")),
        Target("report html", ("report", *page)),
        Target("mask", ("mask", "in/exact.csv", *given[1:], "--out", "out/o.csv")),
    ]


def prepare(folder: Path) -> None:
    (folder / "in").mkdir(parents=True)
    (folder / "out").mkdir()
    (folder / "in" / "schema.yml").write_text(SCHEMA)
    header = "age,town,job\n"
    for name, rows in {"data": ROWS, "new": ROWS[:20], "exact": ROWS}.items():
        (folder / "in" / f"{name}.csv").write_text(header + "\n".join(rows) + "\n")
    given = ("in/data.csv", "--schema", "in/schema.yml")
    for arguments in (
        ("impute", *given, "--out", "in/imputed.parquet"),
        ("fit", *given, "--model", "in/model.cfl"),
    ):
        run(folder, [sys.executable, "-m", "cfl_cli", *arguments])


def run(folder: Path, command: list[str]) -> None:
    """Run a command that must not fail."""
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def contents(folder: Path) -> Files:
    root = folder / "out"
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and (path.name != HISTORY or path.stat().st_size)
    }


def clear(folder: Path) -> None:
    shutil.rmtree(folder / "out")
    (folder / "out").mkdir()


def put(folder: Path, files: Mapping[str, bytes]) -> None:
    """Let `out` hold these files and nothing else."""
    clear(folder)
    for name, data in files.items():
        path = folder / "out" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def leftovers(folder: Path, allowed: set[str]) -> list[str]:
    """Return what is in `out` and has no business there, empty folders too."""
    top = {HISTORY, *(Path(name).parts[0] for name in allowed)}
    return sorted({path.name for path in (folder / "out").iterdir()} - top)


def older(new: Files) -> Files:
    """Return what an earlier run may have left where these files will be."""
    kept = {name: data if "/" in name else OLD for name, data in new.items()}
    return {name: data for name, data in kept.items() if name != HISTORY}


def same(found: Files, wanted: Files) -> bool:
    """Return whether files are those that a run makes; reports have times that differ."""
    return found.keys() == wanted.keys() and all(
        found[name] == data or (name.endswith(".json") and _same_report(found[name], data))
        for name, data in wanted.items()
    )


def _same_report(one: bytes, other: bytes) -> bool:
    try:
        found, wanted = json.loads(one), json.loads(other)
    except ValueError:
        return False
    differing = ("timings", "peak_memory_mb", "report_sha256")  # the last is of the others, too
    for facts in (found, wanted):
        for name in differing:
            facts.pop(name, None)
    return bool(found == wanted)
