"""What a run costs: its memory and its time, estimated before it starts.

Memory is added up from the arrays that live at the same time. Time is that of a table of measured
costs; see core/forecast.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from cfl_cli import methods
from cfl_cli.core import draws, forecast, process
from cfl_cli.core.messages import command, option
from cfl_cli.core.parallel import COMPILED_ROWS, available_cores
from cfl_cli.core.settings import AUTO, METHODS, PLAIN, RunSettings, Settings
from cfl_cli.encode.encode import Encoded
from cfl_cli.encode.findings import Finding
from cfl_cli.errors import Problem, ResourceError
from cfl_cli.large import is_in_memory, open_engine
from cfl_cli.methods.interface import TableSize
from cfl_cli.run.prepare import hidden_together, prepare, settle_gamma
from cfl_cli.schema.model import Schema
from cfl_cli.tables import frames
from cfl_cli.tables.codec import is_loading

REPORT_BYTES = 3000  # of a model's texts, for each CF and once more
_BYTES_A_ROW = 200  # that are held at once where arrays are files, beside a row's features
MANY_ROWS = 100_000  # of which a part is enough to learn from
# What Python and its packages hold before there is any table: half of it pages of their files. Some
# are loaded only for tables that are not small; compiled code for large ones.
PACKAGES, MORE_PACKAGES, COMPILED = 215e6, 25e6, 105e6
NOT_SMALL = 10_000  # rows
SLACK = 1.3  # malloc holds more than is asked for, and some of it for longer


# `auto` is the method to begin with. It took 2 to 6 times as long as `graph` on Bank, so ten times as
# long is out of the ordinary; and for ten minutes a run can be left alone. Beyond both, graph is
# proposed instead.
MANY_TIMES, LONG = 10, 600  # seconds


@dataclass(frozen=True)
class Cost:
    """What a run takes with one method."""

    seconds: float
    memory_mb: float


def graph_is_advised(auto: float, graph: float) -> bool:
    """Return whether auto takes so much longer, in seconds, that graph is the one to begin with."""
    return auto > LONG and auto > MANY_TIMES * graph


@dataclass(frozen=True)
class Plan:
    rows: int
    distinct_rows: int  # by their OFs
    ofs: int
    features: int
    cfs: int
    confidences: int
    memory_mb: float
    seconds: float
    model_mb: float | None  # of the file that `fit` would write; None: the method learns nothing
    warnings: tuple[str, ...]
    findings: tuple[Finding, ...] = ()  # the same with cells of the table
    factor: float = 1.0  # most runs take at most so many times as long, or as short
    others: Mapping[str, Cost] = field(default_factory=dict)  # graph and auto, if not the method


def plan_run(
    frame: Any,
    schema: Schema,
    settings: Settings | None = None,
    run_settings: RunSettings | None = None,
    *,
    name: str = "table",
    near: Path | None = None,
) -> Plan:
    """Return the plan of a run, or raise with everything that would keep it from working.

    Arrays that are too large for memory are files in `near` for a while.
    """
    limits = run_settings or schema.run
    rows = frames.height(frame)
    looking = limits.replaced({"engine": "local", "run_dir": None, "resume": False})
    with open_engine(looking, rows=rows, identity={}, near=near) as engine:
        empty = engine.within("table").empty
        given = settings or schema.settings
        encoded = prepare(frame, schema, given, name=name, jobs=limits.jobs, empty=empty)
        settings, warnings = settle_gamma(encoded, given)
        few = (Finding("few-distinct", it, "", warning=True) for it in warnings)
        jobs, rows, size = limits.jobs, len(encoded.features), size_of(encoded)
        table = 0 if is_loading(frame) else frames.size(frame)
        held: dict[str, Any] = {"table": table, "jobs": jobs}
        held["in_memory"] = is_in_memory(limits, rows)
        check_memory(encoded, settings, max_memory=limits.max_memory, **held)
        model = None
        if METHODS[settings.method].learns:
            fitted = methods.load(settings.method).model_bytes(size, settings)
            report = REPORT_BYTES * (1 + len(size.domains))
            model = fitted + report + len(schema.plain_text.encode())
        return Plan(
            rows=rows,
            distinct_rows=len(np.unique(draws.hash_rows(encoded.features))),
            ofs=len(schema.ordinary),
            features=encoded.features.shape[1],
            cfs=len(encoded.blocks),
            confidences=encoded.candidates.shape[1],
            memory_mb=peak_bytes(size, settings, **held) / 1e6,
            seconds=run_seconds(encoded, settings, jobs=jobs),
            model_mb=None if model is None else model / 1e6,
            warnings=(*encoded.warnings, *warnings),
            findings=(*encoded.findings, *few),
            factor=forecast.factor(settings.method),
            others=costs_of_others(encoded, given, max_memory=limits.max_memory, **held),
        )


def costs_of_others(
    encoded: Encoded, settings: Settings, *, max_memory: int | None, **held: Any
) -> dict[str, Cost]:
    """Return what graph and auto would take instead, as far as settings and memory allow them."""
    others, allowed = {}, max_memory or process.allowance().size
    for name in ("graph", AUTO):
        other = settings.replaced({"method": name})
        if name != settings.method and not other.contradictions():
            needed = peak_bytes(size_of(encoded), other, **held)
            if needed <= allowed:
                others[name] = Cost(run_seconds(encoded, other, jobs=held["jobs"]), needed / 1e6)
    return others


def size_of(encoded: Encoded) -> TableSize:
    n, d = encoded.features.shape
    return TableSize(n, d, tuple(len(block.values) for block in encoded.blocks))


def peak_bytes(
    size: TableSize,
    settings: Settings,
    *,
    table: int,
    jobs: int | None = None,
    in_memory: bool = True,
) -> float:
    """Return about how many bytes a run holds at its peak; `table` is the size of the table."""
    estimator, threads = methods.load(settings.method), jobs or available_cores()
    held = estimator.memory(size, settings, jobs=threads)
    may_be_files = METHODS[settings.method].arrays_may_be_files and settings.metric == PLAIN
    if not in_memory and may_be_files:
        held = size.rows * (_BYTES_A_ROW + 8 * size.features)
    more = MORE_PACKAGES * min(1, size.rows / NOT_SMALL)
    compiled = size.rows >= COMPILED_ROWS and find_spec("numba") is not None
    packages = PACKAGES + more + (COMPILED if compiled else 0)
    return packages + 3 * table + SLACK * held


def check_memory(
    encoded: Encoded,
    settings: Settings,
    *,
    table: int,
    jobs: int | None = None,
    max_memory: int | None = None,
    in_memory: bool = True,
) -> int:
    """Return how many threads may work; raise if one would need more memory than there may be.

    If the engine's arrays are not `in_memory`, they are files where the method has it so.
    """
    needed_by = partial(peak_bytes, size_of(encoded), settings, table=table, in_memory=in_memory)
    threads, found = jobs or available_cores(), process.allowance()
    allowed = max_memory or found.size
    while threads > 1 and needed_by(jobs=threads) > allowed:
        threads -= 1
    needed = needed_by(jobs=threads)
    if needed > allowed:
        limit, size = (max_memory, max_memory) if max_memory else (found.limit, found.size)
        traits, fewer = METHODS[settings.method], "fewer rows"
        if settings.sample is not None:
            fewer = f"a smaller {option('sample')}"
        elif len(encoded.features) > MANY_ROWS and traits.learns:
            fit, rest = command("fit"), command("apply", python="Model.apply")
            fewer = f"a part of the rows ({fit} with {option('sample')}, then {rest} for all rows)"
        ways = [fewer, *traits.saves_memory]
        facts = {
            "whose": option("max_memory") if max_memory else found.whose,
            "left": f", of which {_amount(size)} are left" if size < limit else "",
            "remedy": [way if isinstance(way, str) else option(*way) for way in ways],
        }
        text = (
            "the run needs about {needed:,.0f} MB of memory, and {whose} allows {limit}{left}: use "
            "{remedy}"
        )
        amounts = {"needed": needed / 1e6, "limit": _amount(limit)}
        raise ResourceError(Problem("memory-short", text, **amounts, **facts))
    return threads


def _amount(size: int) -> str:
    return f"{size / 1e6:,.0f} MB" if size >= 1e6 else f"{size:,} bytes"


def why_graph(size: TableSize, *, table: int) -> str:
    """Return why graph, not auto, is the method to begin with on a table, in words; empty: it is not.

    Times are those of the machine where costs were measured, as a draft must not depend on a clock.
    """
    graph, auto = (Settings().replaced({"method": name}) for name in ("graph", AUTO))
    found = process.allowance()
    needed, other = (peak_bytes(size, one, table=table, jobs=1) for one in (auto, graph))
    if needed > found.size and other < needed:
        return f"auto needs about {needed / 1e6:,.0f} MB of memory, more than {found.whose} allows"
    folds = len(hidden_together(size.rows, graph))
    how: dict[str, Any] = {"folds": folds, "threads": 1, "speed": 1.0}
    seconds, quick = (forecast.run_seconds(one.method, size, one, **how) for one in (auto, graph))
    if graph_is_advised(seconds, quick):
        return f"auto takes about {seconds / quick:.0f} times as long"
    return ""


def run_seconds(encoded: Encoded, settings: Settings, *, jobs: int | None = None) -> float:
    """Return about how long a run takes on this machine, from the start of the program to its end."""
    size = size_of(encoded)
    folds = len(hidden_together(size.rows, settings, encoded.groups))
    runs = 2 if any(block.to_be_fitted for block in encoded.blocks) else 1
    how: dict[str, Any] = {"folds": folds, "threads": jobs, "runs": runs}
    return forecast.run_seconds(settings.method, size, settings, **how)
