"""What is attacked: commands on a small table, and the files that they should leave."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

OLD = b"what was here before"
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
    """A command, and the file or folder that it writes; a report may be beside it."""

    name: str
    arguments: tuple[str, ...]
    out: str

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-m", "cfl_cli", *self.arguments]


def targets() -> list[Target]:
    """Return all commands, as they are run in a folder with `in` and `out`."""
    given = ("in/data.csv", "--schema", "in/schema.yml")
    made = [
        Target(f"impute {form}", ("impute", *given, "--out", f"out/o.{form}"), f"o.{form}")
        for form in FORMS
    ]
    later = ("in/new.csv", "--model", "in/model.cfl")
    return [
        *made,
        Target("impute folder", ("impute", *given, "--out", "out/o/"), "o"),
        Target(
            "impute boost",
            ("impute", *given, "--method", "boost", "--folds", "2", "--out", "out/o.csv"),
            "o.csv",
        ),
        Target(
            "impute auto",
            ("impute", *given, "--method", "auto", "--folds", "2", "--out", "out/o.csv"),
            "o.csv",
        ),
        Target("fit", ("fit", *given, "--model", "out/o.cfl"), "o.cfl"),
        Target("apply", ("apply", *later, "--out", "out/o.csv", "--overwrite", "-q"), "o.csv"),
        Target(
            "report html",
            ("report", "in/imputed.parquet", "--out", "out/o.html", "--overwrite"),
            "o.html",
        ),
        Target("mask", ("mask", "in/exact.csv", *given[1:], "--out", "out/o.csv"), "o.csv"),
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
    """Return the files in `out`, by their paths."""
    root = folder / "out"
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def clear(folder: Path) -> None:
    """Remove everything from `out`."""
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
    top = {Path(name).parts[0] for name in allowed}
    return sorted({path.name for path in (folder / "out").iterdir()} - top)


def older(new: Files) -> Files:
    """Return what an earlier run may have left where these files will be."""
    return {name: data if "/" in name else OLD for name, data in new.items()}


def same(found: Files, wanted: Files) -> bool:
    """Return whether files are those that a run makes; reports have times that differ."""
    if set(found) != set(wanted):
        return False
    return all(
        found[name] == data or (name.endswith(".json") and _same_report(found[name], data))
        for name, data in wanted.items()
    )


def _same_report(one: bytes, other: bytes) -> bool:
    try:
        found, wanted = json.loads(one), json.loads(other)
    except ValueError:
        return False
    for facts in (found, wanted):
        facts.pop("timings", None)
        facts.pop("peak_memory_mb", None)
        facts.pop("report_sha256", None)  # of the two above, too
    return bool(found == wanted)
