"""What a run would take, foretold without running it.

How much memory it takes is told in footprint.py. Time is measured: a few thousand
rows, evenly spaced, go through the whole method, and each stage is scaled by how it grows.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cfl_cli.core import draws
from cfl_cli.core.methods import METHODS
from cfl_cli.core.settings import RunSettings, Settings
from cfl_cli.estimators.graph import STOPS
from cfl_cli.estimators.methods import PARTS, hidden_together
from cfl_cli.jobs import footprint
from cfl_cli.jobs.impute import Stages, prepare, run
from cfl_cli.schema.model import Schema
from cfl_cli.steps.encode import Encoded
from cfl_cli.tables import frames

PILOT_STEPS = 20  # of propagation


@dataclass(frozen=True)
class Plan:
    """The sizes of a run, and about what it takes."""

    rows: int
    distinct_rows: int  # by their OFs
    ofs: int
    features: int
    cfs: int
    confidences: int
    memory_mb: float
    seconds: float
    warnings: tuple[str, ...]


def plan(
    frame: Any,
    schema: Schema,
    settings: Settings | None = None,
    run_settings: RunSettings | None = None,
    *,
    name: str = "table",
) -> Plan:
    """Return the plan of a run, or raise with everything that would keep it from working."""
    settings, limits = settings or schema.settings, run_settings or schema.run
    encoded = prepare(frame, schema, settings, name=name)
    table = frames.size(frame)
    jobs = limits.jobs
    footprint.check(encoded, settings, table=table, jobs=jobs, max_memory=limits.max_memory)
    return Plan(
        rows=len(encoded.features),
        distinct_rows=len(np.unique(encoded.features, axis=0)),
        ofs=len(schema.ordinary),
        features=encoded.features.shape[1],
        cfs=len(encoded.blocks),
        confidences=encoded.candidates.shape[1],
        memory_mb=footprint.peak_bytes(encoded, settings, table=table, jobs=jobs) / 1e6,
        seconds=seconds(encoded, settings, jobs=jobs),
        warnings=encoded.warnings,
    )


def seconds(encoded: Encoded, settings: Settings, *, jobs: int | None = None) -> float:
    """Return about how long a run takes here, from running a part of it."""
    n = len(encoded.features)
    traits = METHODS[settings.method]
    tried = max(traits.pilot_rows, settings.k + 1)
    rows = np.unique(np.linspace(0, n - 1, tried).astype(int))
    stages = Stages(lambda *_: None)
    some = replace(encoded, features=encoded.features[rows], candidates=encoded.candidates[rows])
    walked = STOPS[-1] if settings.iterations == "auto" else settings.iterations
    steps = walked if traits.chooses_steps else min(walked, PILOT_STEPS)
    folds = draws.folds(len(rows), PARTS, settings.seed)[: len(hidden_together(n, settings))]
    run(some, settings.override(iterations=steps), folds=folds, jobs=jobs, progress=stages)
    growth = n / len(rows)
    return float(
        sum(
            time
            * growth ** _power(stage)
            * (walked / steps if stage.endswith("propagation") else 1)
            for stage, time in stages.seconds().items()
        )
    )


def _power(stage: str) -> float:
    """Return with which power of the rows the time of a stage grows.

    That of neighbors was measured from 11,000 to 45,000 rows of real tables (0.9 to 1.0), and to
    a million rows that fill ten dimensions evenly (1.2). Boosting grows as many trees for few rows
    as for many, and the network learns from more rows at a time where there are more.
    """
    if stage.endswith("neighbors"):
        return 1.1
    return 0.5 if stage.startswith(("boosting", "network")) else 1.0


def describe(plan: Plan) -> str:
    """Return the plan in words, a line each."""
    lines = [
        f"rows           {plan.rows:,} ({plan.distinct_rows:,} distinct by their OFs)",
        f"OFs            {plan.ofs} in {plan.features} features",
        f"CFs            {plan.cfs} with {plan.confidences} domain values",
        f"memory, about  {_round(plan.memory_mb):,.0f} MB",
        f"time, about    {_round(plan.seconds):,g} s with these settings",
        *(f"warning: {warning}" for warning in plan.warnings),
        "no problems found",
    ]
    return "\n".join(lines)


def _round(number: float) -> float:
    """Return the number to two digits, which is all that an estimate is good for."""
    return float(f"{number:.1e}")
