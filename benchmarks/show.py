"""Results as a Markdown page and as a log-log plot that survives a grayscale printer."""

from pathlib import Path
from typing import Any

from benchmarks.results import Facts, Results

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
    machine = results.machine
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    facts = (
        f"{machine['cores']} cores ({machine['processor']}), {machine['memory_gb']} GB, "
        f"{machine['system']}, Python {machine['python']}; {versions}."
    )
    parts = [HEAD, facts, _tools(results), _stages(results), _comparisons(results)]
    return "\n\n".join(parts) + "\n"


def _tools(results: Results) -> str:
    lines = []
    known = results.measurements.values()
    for facts in sorted(known, key=lambda each: (each["table"], each["rows"])):
        place = f"| {facts['table']} | {facts['rows']:,} | {NAMES[facts['tool']]} |"
        if "skipped" in facts:
            lines.append(f"{place} skipped: {facts['skipped']} | | |")
            continue
        lines.append(
            f"{place} {_seconds(facts['seconds'])} | {facts['peak_mb']:,.0f} | {_accuracy(facts)} |"
        )
    head = "| table | rows | tool | seconds | peak MB | mean accuracy |"
    return "\n".join([head, "| --- | ---: | --- | ---: | ---: | ---: |", *lines])


def _stages(results: Results) -> str:
    lines = []
    for tool in ("cfl", "plain"):
        for facts in results.of(tool):
            known = [facts["stages"].get(stage, 0.0) for stage in STAGES]
            cells = [_seconds(each) for each in (*known, facts["seconds"] - sum(known))]
            place = f"{facts['table']} | {facts['rows']:,} | {NAMES[tool]}"
            lines.append(f"| {place} | {' | '.join(cells)} |")
    head = "| table | rows | tool | " + " | ".join([*STAGES, "all else"]) + " |"
    return "\n".join([head, "| --- | ---: | --- |" + " ---: |" * (len(STAGES) + 1), *lines])


def _comparisons(results: Results) -> str:
    lines = [
        f"| {each.name} | {each.value:,.2f} | {each.wanted} |" for each in results.comparisons()
    ]
    return "\n".join(["| comparison | measured | wanted |", "| --- | ---: | --- |", *lines])


def _seconds(seconds: float) -> str:
    digits = 0 if seconds >= 100 else 1 if seconds >= 1 else 2
    return f"{seconds:,.{digits}f}"


def _accuracy(facts: Facts) -> str:
    found = facts.get("accuracy", {}).values()
    return f"{sum(found) / len(found):.3f}" if found else ""


def draw(results: Results, path: Path) -> None:
    """Draw rows against seconds."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "cfl", "font.size": 10}):
        figure = Figure(figsize=(7, 4.6), layout="constrained")
        axes = figure.add_subplot(xscale="log", yscale="log")
        for tool, tables, label, color, line, marker in SERIES:
            style: dict[str, Any] = {
                "color": color,
                "linestyle": line,
                "marker": marker,
                "markersize": 6,
            }
            lines = [results.of(tool, table) for table in tables]
            for number, points in enumerate(filter(None, lines)):
                axes.plot(
                    [facts["rows"] for facts in points],
                    [facts["seconds"] for facts in points],
                    label=None if number else label,
                    **style,
                )
        axes.set_xlabel("rows")
        axes.set_ylabel("seconds")
        axes.xaxis.set_major_formatter(lambda rows, _: f"{rows:,.0f}")
        axes.yaxis.set_major_formatter(lambda seconds, _: f"{seconds:,g}")
        axes.grid(which="major", color="#d9d9d9", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        figure.savefig(path, metadata={"Date": None})
