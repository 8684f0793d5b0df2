"""Measure speed and memory, and write `speed.json`, `speed.md` and `speed.svg`.

    python -m benchmarks.speed --out DIR [--data DIR] [--quick] [--only NAME ...] [--fresh]

`cfl` is measured as its command: a Parquet table in, a Parquet table out, in a process of its own.
Whatever it is compared with is timed without starting, reading and writing. An interrupted run
goes on where it stopped.
"""

import argparse
import compileall
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

from benchmarks import measure, plan, show
from benchmarks.machine import machine
from benchmarks.plan import Measurement
from benchmarks.results import Facts, Results

LIMIT = 120.0  # seconds that scikit-learn's tools may take


def main() -> None:
    asked = arguments()
    asked.out.mkdir(parents=True, exist_ok=True)
    compileall.compile_dir(measure.ROOT / "cfl_cli", quiet=1)  # as installers do
    path = asked.out / "speed.json"
    if asked.fresh:
        path.unlink(missing_ok=True)
    try:
        results = Results.resume(path, machine())
    except ValueError as error:
        sys.exit(str(error))
    chosen = plan.choose(plan.QUICK if asked.quick else plan.FULL, asked.only)
    if not chosen:
        sys.exit(f"nothing is called {' or '.join(asked.only)}: see benchmarks/plan.py for names")
    todo = [one for one in chosen if results.turns(one.name) < one.repeats]
    data = asked.data.resolve() if asked.data else None
    for (table, rows), group in groupby(todo, key=lambda one: (one.table, one.rows)):
        if table != "generated" and not (data and (data / f"{table}.csv").exists()):
            say(f"{table}: no {table}.csv in --data, left out")
            continue
        with made(table, rows, data) as folder:
            for turn, one in in_turns(list(group)):
                if results.turns(one.name) > turn:
                    continue
                if one.tool in plan.ALTERNATIVES and not importlib.util.find_spec("sklearn"):
                    say(f"{one.name}: scikit-learn is not installed (extra [bench]), left out")
                    continue
                facts = take(one, folder, results)
                results.add(one.name, facts)
                (asked.out / "speed.md").write_text(show.page(results))
                say(f"{one.name}: {brief(facts)}")
    results.save()
    (asked.out / "speed.md").write_text(show.page(results))
    if importlib.util.find_spec("matplotlib"):
        show.draw(results, asked.out / "speed.svg")
    else:
        say("speed.svg: matplotlib is not installed (extra [bench]), left out")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Measure the speed and memory of cfl and of what it is compared with."
    )
    parser.add_argument("--data", type=Path, help="folder with bank.csv and adult.csv")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--quick", action="store_true", help="a minute, generated tables only")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="such as 'cfl-bank-*'"
    )
    parser.add_argument("--fresh", action="store_true", help="forget what was measured before")
    return parser.parse_args()


def in_turns(group: list[Measurement]) -> Iterator[tuple[int, Measurement]]:
    """Yield every measurement as often as it is repeated, all once before any twice."""
    for turn in range(max(one.repeats for one in group)):
        for one in group:
            if turn < one.repeats:
                yield turn, one


@contextmanager
def made(table: str, rows: int, data: Path | None) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="cfl-speed-"))
    try:
        where = ["--data", data] if data else []
        measure.run("benchmarks.tables", table, "--rows", rows, "--to", folder, *where)
        yield folder
    finally:
        shutil.rmtree(folder)


def take(one: Measurement, folder: Path, results: Results) -> Facts:
    facts: Facts = {"tool": one.tool, "table": one.table, "rows": one.rows}
    reason = too_much(one, results) if one.tool in plan.ALTERNATIVES else None
    if reason:
        return facts | {"skipped": reason}
    try:
        return facts | (command(folder) if one.tool == "cfl" else task(one, folder))
    except TimeoutError as error:
        return facts | {"skipped": str(error)}


def too_much(one: Measurement, results: Results) -> str | None:
    """Return why a tool should not be run on so many rows, None if it may."""
    for known in results.measurements.values():
        if known["tool"] == one.tool and "skipped" in known and known["rows"] <= one.rows:
            return f"{known['rows']:,} rows were too many"
    seconds = results.foresee(one.tool, one.rows, "seconds")
    if seconds and seconds > LIMIT:
        return f"about {seconds:,.0f} s expected, more than {LIMIT:.0f} s"
    peak = results.foresee(one.tool, one.rows, "peak_mb")
    if peak and peak > 1000 * results.machine["memory_gb"]:
        return f"about {peak:,.0f} MB expected, more than there are"
    return None


def command(folder: Path) -> Facts:
    """Return the cost of `cfl impute`, its stages and its accuracy."""
    data, out, report = folder / "data.parquet", folder / "out.parquet", folder / "report.json"
    options = ["--schema", folder / "schema.yml", "--out", out, "--report", report, "--overwrite"]
    cost = measure.run("cfl_cli", "impute", data, *options, *without_folds(), "-q")
    facts = json.loads(report.read_text())
    measure.run("benchmarks.tasks", "score", folder)
    scored = json.loads((folder / "result.json").read_text())
    return {**vars(cost), "stages": facts["timings"], **scored}


def without_folds() -> list[str]:
    """Return the option that leaves the held-out score out, if this `cfl` has one."""
    help_text = subprocess.run(
        [sys.executable, "-m", "cfl_cli", "impute", "--help"],
        capture_output=True,
        text=True,
        check=True,
        cwd=measure.ROOT,
    ).stdout
    return ["--folds", "0"] if "--folds" in help_text else []


def task(one: Measurement, folder: Path) -> Facts:
    """Return the cost of one of `benchmarks.tasks`: its own seconds, its process's memory."""
    limit = LIMIT if one.tool in plan.ALTERNATIVES else None
    cost = measure.run("benchmarks.tasks", one.tool, folder, limit=limit)
    facts: Facts = json.loads((folder / "result.json").read_text())
    return {"peak_mb": cost.peak_mb, **facts}


def brief(facts: Facts) -> str:
    if "skipped" in facts:
        return f"skipped: {facts['skipped']}"
    return f"{facts['seconds']:.2f} s, {facts['peak_mb']:,.0f} MB"


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("interrupted: the same command goes on from here")
