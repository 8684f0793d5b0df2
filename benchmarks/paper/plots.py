"""Rows → figures that survive a grayscale printer: markers and lines differ, not colors alone."""

from pathlib import Path
from typing import Any

from benchmarks.paper.summary import Row, Summary

NAMES = {"bank": "Bank", "adult": "Adult", "generated": "generated"}
METRICS = {"accuracy": "mean accuracy", "cross_entropy": "mean cross entropy"}
SETTINGS = {"iterations": "iterations T", "k": "neighbors k", "gamma": "γ"}
# series → how it is drawn; `paper` is what the paper has for its own method
DOTS: dict[str, dict[str, Any]] = {
    "commonest": {"marker": "|", "color": "#7a7a7a", "markersize": 8, "markeredgewidth": 2},
    "ipal": {"marker": "v", "color": "#7a7a7a"},
    "paper": {"marker": "o", "color": "#b2182b", "markerfacecolor": "none", "markersize": 7},
    "graph": {"marker": "s", "color": "#08306b", "markersize": 5},
    "boost": {"marker": "^", "color": "#4292c6", "markerfacecolor": "none"},
    "auto": {"marker": "D", "color": "#4292c6", "markersize": 5},
}
GRID = {"color": "#d9d9d9", "linewidth": 0.6}
LOOKS: Any = {
    "svg.hashsalt": "cfl",
    "font.size": 9,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": GRID["color"],
    "grid.linewidth": GRID["linewidth"],
}
STRIP = 0.8  # how much of a CF's height its methods take
LINES: list[dict[str, Any]] = [
    {"linestyle": "-", "marker": "o", "color": "#08306b"},
    {"linestyle": "--", "marker": "s", "color": "#b2182b"},
    {"linestyle": ":", "marker": "^", "color": "#4d4d4d"},
]


def draw(summary: Summary, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if any(row.part == "estimates" for row in summary.rows):
        most = max(len(_cfs(summary, table)) for table in summary.tables)
        size = (7.5, 1.6 + 0.85 * most)
        _save(folder / "estimates.svg", size, lambda figure: _estimates(figure, summary))
    if any(row.part == "iterations" for row in summary.rows):
        _save(folder / "iterations.svg", (7.5, 5.2), lambda figure: _steps(figure, summary))
    if any(row.part in {"k", "gamma"} for row in summary.rows):
        _save(folder / "settings.svg", (7.5, 5.2), lambda figure: _settings(figure, summary))


def _save(path: Path, size: tuple[float, float], fill: Any) -> None:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(LOOKS):
        figure = Figure(figsize=size, layout="constrained")
        fill(figure)
        figure.savefig(path, metadata={"Date": None})


def _estimates(figure: Any, summary: Summary) -> None:
    """Draw both metrics of every CF: a strip for each, in which each method has its own height."""
    panels = figure.subplots(2, len(summary.tables), squeeze=False)
    for column, table in enumerate(summary.tables):
        for axes, metric in zip(panels[:, column], METRICS, strict=True):
            _strips(axes, summary, table, metric)
        panels[0, column].set_title(NAMES[table])
        panels[0, column].set_xlim(0, 1)
    figure.legend(
        *panels[0, 0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=len(DOTS),
        frameon=False,
    )


def _strips(axes: Any, summary: Summary, table: str, metric: str) -> None:
    found = [row for row in summary.of("estimates", table) if row.metric == metric and row.subject]
    cfs = _cfs(summary, table)
    for place, (series, style) in enumerate(DOTS.items()):
        if series == "paper":
            theirs = ((row.subject, row.paper_mean) for row in found if row.series == "graph")
            dots = {cf: mean for cf, mean in theirs if mean is not None}
        else:
            dots = {row.subject: row.mean for row in found if row.series == series}
        shift = STRIP * (0.5 - (place + 0.5) / len(DOTS))
        heights = [shift - cfs.index(cf) for cf in dots]
        how = {"linestyle": "none", "clip_on": False, **style}
        if dots:
            axes.plot(list(dots.values()), heights, label=series, **how)
    axes.set_yticks(range(0, -len(cfs), -1), cfs)
    axes.set_ylim(0.5 - len(cfs), 0.5)
    axes.set_xlim(left=0)
    for between in range(1, len(cfs)):
        axes.axhline(0.5 - between, **GRID)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(METRICS[metric].removeprefix("mean "))


def _cfs(summary: Summary, table: str) -> list[str]:
    found = (row.subject for row in summary.of("estimates", table))
    return [cf for cf in dict.fromkeys(found) if cf]


def _steps(figure: Any, summary: Summary) -> None:
    """Draw both metrics over iterations: a column for each table, a line for each k."""
    panels = figure.subplots(2, len(summary.tables), squeeze=False, sharex=True)
    for column, table in enumerate(summary.tables):
        for axes, metric in zip(panels[:, column], METRICS, strict=True):
            found = [row for row in summary.of("iterations", table) if row.metric == metric]
            for style, series in zip(LINES, sorted({row.series for row in found}), strict=False):
                _line(axes, [row for row in found if row.series == series], series, style)
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda steps, _: f"{steps:g}")
            axes.set_ylabel(METRICS[metric])
        panels[0, column].set_title(NAMES[table])
        panels[1, column].set_xlabel(SETTINGS["iterations"])
    panels[0, 0].legend(frameon=False)


def _settings(figure: Any, summary: Summary) -> None:
    """Draw both metrics over k and over gamma: a line for each table."""
    panels = figure.subplots(2, 2, sharex="col")
    for column, part in enumerate(("k", "gamma")):
        for axes, metric in zip(panels[:, column], METRICS, strict=True):
            for style, table in zip(LINES, summary.tables, strict=False):
                rows = [row for row in summary.of(part, table) if row.metric == metric]
                _line(axes, rows, NAMES[table], style)
            axes.set_ylabel(METRICS[metric])
        panels[1, column].set_xlabel(SETTINGS[part])
    panels[0, 0].legend(frameon=False)


def _line(axes: Any, rows: list[Row], label: str, style: dict[str, Any]) -> None:
    along = sorted(rows, key=lambda row: row.at or 0.0)
    axes.errorbar(
        [row.at for row in along],
        [row.mean for row in along],
        [row.sd or 0.0 for row in along],
        label=label,
        markersize=5,
        capsize=2,
        **style,
    )
