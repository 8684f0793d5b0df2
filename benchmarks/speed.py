"""Measure speed and memory, and write `speed.json`, `speed.md` and `speed.svg`.

    python -m benchmarks.speed --out DIR [--data DIR] [--quick] [--only NAME ...] [--fresh]

`cfl` is measured as its command: a Parquet table in, a Parquet table out, in a process of its own.
Whatever it is compared with is timed without starting, reading and writing (`tasks.py`). Tables are
measured one by one, so that what is compared is run together. An interrupted run goes on where it
stopped: what was measured is kept after every measurement.
"""

import argparse
import compileall
import importlib.util
import json
import math
import sys
import tempfile
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import groupby, product
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks import measure
from benchmarks.machine import Facts, machine

LIMIT = 120.0  # seconds that scikit-learn's tools may take
ALTERNATIVES = ("spreading", "imputer")  # scikit-learn's


@dataclass(frozen=True)
class Measurement:
    """A tool on a table of some length; what is repeated takes turns with what it is beside."""

    tool: str
    table: str
    rows: int
    repeats: int = 1

    @property
    def name(self) -> str:
        return f"{self.tool}-{self.table}-{self.rows}"


def _all(tools: tuple[str, ...], table: str, *sizes: int, repeats: int = 1) -> list[Measurement]:
    return [Measurement(tool, table, rows, repeats) for rows in sizes for tool in tools]


FULL = [
    *_all(("cfl", "plain", *ALTERNATIVES), "bank", 1000, 2000, 5000),
    *_all(("cfl",), "bank", 11_303, repeats=3),
    *_all(("tree", "cfl"), "bank", 45_211, repeats=3),
    *_all(("weights", *ALTERNATIVES), "bank", 45_211),
    *_all(("tree", "cfl"), "adult", 48_842, repeats=3),
    *_all(ALTERNATIVES, "adult", 48_842),
    *_all(("cfl", *ALTERNATIVES), "generated", 100_000, 300_000, 1_000_000),
]
QUICK = [
    *_all(("cfl", "plain"), "generated", 100),
    *_all(("cfl", *ALTERNATIVES), "generated", 1000),
    *_all(("cfl", "tree", "weights"), "generated", 10_000),
    *_all(("cfl",), "generated", 20_000),
]


def choose(plan: list[Measurement], patterns: list[str]) -> list[Measurement]:
    """Return the measurements whose name fits a pattern such as `cfl-bank-*`; all, given none."""
    return [
        one for one in plan if not patterns or any(fnmatchcase(one.name, fit) for fit in patterns)
    ]


GROWN = 10_000  # rows; below this the time to start hides how the work grows


@dataclass
class Results:
    """Facts by the name of their measurement; one that was skipped holds only the reason."""

    path: Path
    machine: Facts
    measurements: dict[str, Facts] = field(default_factory=dict)

    @classmethod
    def resume(cls, path: Path, machine: Facts) -> "Results":
        """Return what the file holds, or raise if another machine or other code wrote it."""
        if not path.exists():
            return cls(path, machine)
        held = json.loads(path.read_text())
        changed = [key for key, value in machine.items() if held["machine"].get(key) != value]
        if changed:
            raise ValueError(
                f"{path} was measured with another {', '.join(changed)}: "
                "start again with --fresh, or choose another --out"
            )
        return cls(path, machine, held["measurements"])

    def save(self) -> None:
        facts = {
            "machine": self.machine,
            "measurements": self.measurements,
            "comparisons": [each._asdict() for each in self.comparisons()],
        }
        draft = self.path.with_suffix(".part")
        draft.write_text(json.dumps(facts, indent=1) + "\n")
        draft.replace(self.path)

    def turns(self, name: str) -> float:
        facts = self.measurements.get(name, {"runs": []})
        return math.inf if "skipped" in facts else len(facts["runs"])

    def add(self, name: str, facts: Facts) -> None:
        """Keep one more turn of a measurement; the quickest one's facts count."""
        held = self.measurements.get(name)
        runs = [*(held["runs"] if held else []), facts.get("seconds")]
        best = held if held and held["seconds"] < facts["seconds"] else facts
        self.measurements[name] = best if "skipped" in best else best | {"runs": runs}
        self.save()

    def of(self, tool: str, table: str | None = None) -> list[Facts]:
        found = [
            facts
            for facts in self.measurements.values()
            if facts["tool"] == tool and table in (None, facts["table"]) and "skipped" not in facts
        ]
        return sorted(found, key=lambda facts: facts["rows"])

    def foresee(self, tool: str, rows: int, what: str) -> float | None:
        """Return a tool's seconds or memory by a line through two tables it was run on, log-log.

        They are the longest, and the longest of at most half its rows: nearer ones say little.
        """
        known = {facts["rows"]: facts[what] for facts in self.of(tool)}
        many = max(known, default=0)
        few = max((each for each in known if each <= many / 2), default=0)
        if not few:
            return None
        less, more = known[few], known[many]
        return float(more * (rows / many) ** exponent(few, less, many, more))

    def comparisons(self) -> "list[Comparison]":
        """Return every ratio and exponent that the measurements allow."""
        found = []
        for tree, ours in self._pairs("tree"):
            # Turn by turn, since a busy machine slows what runs at the same time.
            turns = zip(ours["runs"], tree["runs"], strict=False)
            name = f"`cfl` against one k-d tree query, {tree['table']}, {tree['rows']:,} rows"
            wanted = {"bank": "≤ 12", "adult": "≤ 24"}.get(tree["table"], "")
            found.append(Comparison(name, median(one / other for one, other in turns), wanted))
        for plain, ours in self._pairs("plain"):
            place = f"{plain['table']}, {plain['rows']:,} rows"
            wanted = "≥ 60" if (plain["table"], plain["rows"]) == ("bank", 2000) else ""
            # The rounds alone are what the recipe is timed by.
            for what, seconds in {"": ours["seconds"], " once started": rounds(ours)}.items():
                name = f"the plain recipe against `cfl`{what}, {place}"
                found.append(Comparison(name, plain["seconds"] / seconds, wanted))
        for facts in self.of("weights"):
            per_row = facts["per_row"]
            place = f"weights on one core, {facts['table']}, {facts['rows']:,} rows"
            for solver, wanted in (("SLSQP", "≥ 100"), ("SLSQP, gradient given", "")):
                ratio = per_row[solver] / per_row["cfl, one thread"]
                found.append(Comparison(f"{solver} against `cfl`, {place}", ratio, wanted))
        for table in ("bank", "generated"):
            long = [facts for facts in self.of("cfl", table) if facts["rows"] >= GROWN]
            if len(long) > 1:
                few, many = long[0], long[-1]
                power = exponent(few["rows"], few["seconds"], many["rows"], many["seconds"])
                name = f"growth exponent of `cfl`, {table}, {few['rows']:,} → {many['rows']:,} rows"
                found.append(Comparison(name, power, ""))
        return found

    def _pairs(self, tool: str) -> list[tuple[Facts, Facts]]:
        return [
            (theirs, ours)
            for theirs in self.of(tool)
            for ours in self.of("cfl", theirs["table"])
            if ours["rows"] == theirs["rows"]
        ]


class Comparison(NamedTuple):
    """One number that follows from others, and what the project wants of it."""

    name: str
    value: float
    wanted: str


def rounds(facts: Facts) -> float:
    """Return the seconds of both rounds, without starting, reading, reporting and writing."""
    stages = facts["stages"].items()
    return float(sum(seconds for stage, seconds in stages if stage.startswith("round ")))


def exponent(few: int, less: float, many: int, more: float) -> float:
    """Return a, where the cost grows as rows to the power of a."""
    return math.log(more / less) / math.log(many / few)


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
    chosen = choose(QUICK if asked.quick else FULL, asked.only)
    if not chosen:
        sys.exit(f"nothing is called {' or '.join(asked.only)}: see FULL in benchmarks/speed.py")
    todo = [one for one in chosen if results.turns(one.name) < one.repeats]
    data = asked.data.resolve() if asked.data else None
    for (table, rows), group in groupby(todo, key=lambda one: (one.table, one.rows)):
        if table != "generated" and not (data and (data / f"{table}.csv").exists()):
            say(f"{table}: no {table}.csv in --data, left out")
            continue
        with tempfile.TemporaryDirectory(prefix="cfl-speed-") as place:
            where = ["--data", data] if data else []
            measure.run("benchmarks.tables", table, "--rows", rows, "--to", place, *where)
            some = list(group)
            for turn, one in product(range(max(one.repeats for one in some)), some):
                if turn >= one.repeats or results.turns(one.name) > turn:
                    continue
                if one.tool in ALTERNATIVES and not importlib.util.find_spec("sklearn"):
                    say(f"{one.name}: scikit-learn is not installed (extra [bench]), left out")
                    continue
                facts = take(one, Path(place), results)
                results.add(one.name, facts)
                (asked.out / "speed.md").write_text(page(results))
                taken = f"{facts.get('seconds', 0):.2f} s, {facts.get('peak_mb', 0):,.0f} MB"
                skipped = f"skipped: {facts.get('skipped')}"
                say(f"{one.name}: {skipped if 'skipped' in facts else taken}")
    results.save()
    (asked.out / "speed.md").write_text(page(results))
    if importlib.util.find_spec("matplotlib"):
        draw(results, asked.out / "speed.svg")
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


def take(one: Measurement, folder: Path, results: Results) -> Facts:
    facts: Facts = {"tool": one.tool, "table": one.table, "rows": one.rows}
    reason = too_much(one, results) if one.tool in ALTERNATIVES else None
    if reason:
        return facts | {"skipped": reason}
    try:
        return facts | (command(folder) if one.tool == "cfl" else task(one, folder))
    except TimeoutError as error:
        return facts | {"skipped": str(error)}


def too_much(one: Measurement, results: Results) -> str | None:
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
    data, out, report = folder / "data.parquet", folder / "out.parquet", folder / "report.json"
    options = ["--schema", folder / "schema.yml", "--out", out, "--report", report, "--overwrite"]
    cost = measure.run("cfl_cli", "impute", data, *options, "--folds", "0", "-q")
    facts = json.loads(report.read_text())
    measure.run("benchmarks.tasks", "score", folder)
    scored = json.loads((folder / "result.json").read_text())
    return {**vars(cost), "stages": facts["timings"], **scored}


def task(one: Measurement, folder: Path) -> Facts:
    limit = LIMIT if one.tool in ALTERNATIVES else None
    cost = measure.run("benchmarks.tasks", one.tool, folder, limit=limit)
    facts: Facts = json.loads((folder / "result.json").read_text())
    return {"peak_mb": cost.peak_mb, **facts}


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


NAMES = {
    "cfl": "cfl",
    "plain": "the paper's recipe, plainly",
    "tree": "one k-d tree query",
    "weights": "weights alone, one thread",
    "spreading": "LabelSpreading",
    "imputer": "KNNImputer",
}
STAGES = [
    f"round {number}: {step}"
    for number in (1, 2)
    for step in ("neighbors", "weights", "propagation")
]
TABLES = ["bank", "adult", "generated"]
HEAD = """# Speed

Written by `python -m benchmarks.speed`; [benchmarks.md](benchmarks.md) says what was measured.

![Rows against seconds, both logarithmic](speed.svg)"""
# tool, tables, label, color, line, marker; a line never joins different tables
SERIES = [
    ("cfl", ["bank"], "cfl, Bank", "#08306b", "-", "o"),
    ("cfl", ["adult"], "cfl, Adult", "#08306b", "none", "D"),
    ("cfl", ["generated"], "cfl, generated", "#08306b", "--", "s"),
    ("plain", TABLES, "the paper's recipe, plainly", "#b2182b", "-.", "^"),
    ("imputer", TABLES, "KNNImputer", "#7a7a7a", ":", "v"),
    ("spreading", TABLES, "LabelSpreading", "#7a7a7a", "-", "x"),
]


def page(results: Results) -> str:
    known = results.machine
    versions = ", ".join(f"{name} {version}" for name, version in known["versions"].items())
    facts = (
        f"{known['cores']} cores ({known['processor']}), {known['memory_gb']} GB, "
        f"{known['system']}, Python {known['python']}; {versions}."
    )
    comparisons = [
        f"| {each.name} | {each.value:,.2f} | {each.wanted} |" for each in results.comparisons()
    ]
    head = ["| comparison | measured | wanted |", "| --- | ---: | --- |"]
    parts = [HEAD, facts, _tools(results), _stages(results), "\n".join(head + comparisons)]
    return "\n\n".join(parts) + "\n"


def _tools(results: Results) -> str:
    lines = ["| table | rows | tool | seconds | peak MB | mean accuracy |"]
    lines.append("| --- | ---: | --- | ---: | ---: | ---: |")
    known = results.measurements.values()
    for facts in sorted(known, key=lambda each: (each["table"], each["rows"])):
        place = f"| {facts['table']} | {facts['rows']:,} | {NAMES[facts['tool']]} |"
        if "skipped" in facts:
            lines.append(f"{place} skipped: {facts['skipped']} | | |")
            continue
        found = facts.get("accuracy", {}).values()
        accuracy = f"{sum(found) / len(found):.3f}" if found else ""
        cost = f"{_seconds(facts['seconds'])} | {facts['peak_mb']:,.0f}"
        lines.append(f"{place} {cost} | {accuracy} |")
    return "\n".join(lines)


def _stages(results: Results) -> str:
    lines = ["| table | rows | tool | " + " | ".join([*STAGES, "all else"]) + " |"]
    lines.append("| --- | ---: | --- |" + " ---: |" * (len(STAGES) + 1))
    for tool in ("cfl", "plain"):
        for facts in results.of(tool):
            known = [facts["stages"].get(stage, 0.0) for stage in STAGES]
            cells = [_seconds(each) for each in (*known, facts["seconds"] - sum(known))]
            place = f"{facts['table']} | {facts['rows']:,} | {NAMES[tool]}"
            lines.append(f"| {place} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _seconds(seconds: float) -> str:
    digits = 0 if seconds >= 100 else 1 if seconds >= 1 else 2
    return f"{seconds:,.{digits}f}"


def draw(results: Results, path: Path) -> None:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "cfl", "font.size": 10}):
        figure = Figure(figsize=(7, 4.6), layout="constrained")
        axes = figure.add_subplot(xscale="log", yscale="log")
        for tool, tables, label, color, line, marker in SERIES:
            style: Any = {"color": color, "linestyle": line, "marker": marker, "markersize": 6}
            lines = [results.of(tool, table) for table in tables]
            for number, points in enumerate(filter(None, lines)):
                rows, seconds = ([facts[what] for facts in points] for what in ("rows", "seconds"))
                axes.plot(rows, seconds, label=None if number else label, **style)
        axes.set_xlabel("rows")
        axes.set_ylabel("seconds")
        axes.xaxis.set_major_formatter(lambda rows, _: f"{rows:,.0f}")
        axes.yaxis.set_major_formatter(lambda seconds, _: f"{seconds:,g}")
        axes.grid(which="major", color="#d9d9d9", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("interrupted: the same command goes on from here")
