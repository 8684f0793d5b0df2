"""The main job: a table and a schema in, the table with imputed columns and a report out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from cfl_cli import __version__, estimators
from cfl_cli.core import budget as memory
from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.methods import METHODS
from cfl_cli.core.parallel import Workers, available_cores
from cfl_cli.core.settings import Settings
from cfl_cli.errors import DataError
from cfl_cli.estimators.interface import Estimate, Progress
from cfl_cli.estimators.methods import hidden_together, method
from cfl_cli.jobs import footprint
from cfl_cli.schema.model import Schema
from cfl_cli.steps.decode import clashes, decode
from cfl_cli.steps.encode import Encoded, encode
from cfl_cli.tables import frames
from cfl_cli.trust import verdict
from cfl_cli.trust.report import Report


@dataclass(frozen=True)
class Result:
    """The table with its new columns, the confidences behind them, and the report."""

    frame: Any  # of the kind that was given: polars, pandas or pyarrow
    confidences: dict[str, Floats]  # per CF: n × K, columns in the domain's order
    report: Report


def impute(
    frame: Any,
    schema: Schema,
    *,
    name: str = "table",
    progress: Progress = lambda *_: None,
    jobs: int | None = None,
    max_memory: int | None = None,
    **settings: Any,
) -> Result:
    """Estimate the value behind every exclusion in `frame`, a polars, pandas or pyarrow table.

    `settings` are the fields of `Settings` and win over the schema's; so do `jobs`, how many
    threads work, and `max_memory`, how many bytes may be used (also as text: "2GB"). `name` is what
    errors call the table. `progress` hears the stage, how much of it is done and how much there is.
    """
    chosen = schema.settings.override(**settings)
    run_settings = schema.run.override(jobs=jobs, max_memory=max_memory)
    threads = run_settings.jobs or available_cores()
    stages = Stages(progress)
    stages("encode", 0, 1)
    encoded = prepare(frame, schema, chosen, name=name)
    footprint.check(
        encoded,
        chosen,
        table=frames.size(frame),
        jobs=threads,
        max_memory=run_settings.max_memory,
    )
    folds = hidden_together(len(encoded.features), chosen)
    found = run(encoded, chosen, folds=folds, jobs=threads, progress=stages)
    stages("judge", 0, 1)
    facts = verdict.build(
        encoded,
        found,
        cfl_version=__version__,
        settings=chosen.as_dict(),
        k=chosen.k,
        always_second_round=METHODS[chosen.method].second_round and chosen.gamma not in (0, "auto"),
        keep_flagged=chosen.keep_flagged,
        min_confidence=chosen.min_confidence,
        jobs=threads,
    )
    stages("decode", 0, 1)
    columns = decode(
        found.confidences,
        encoded.candidates,
        encoded.blocks,
        answers=found.answers,
        mode=chosen.mode,
        kept=facts.kept,
        min_confidence=chosen.min_confidence,
    )
    return Result(
        frames.append(frame, columns),
        {block.name: found.confidences[:, block.columns] for block in encoded.blocks},
        replace(facts, timings=stages.seconds(), peak_memory_mb=memory.peak_mb()),
    )


def prepare(frame: Any, schema: Schema, settings: Settings, *, name: str) -> Encoded:
    """Return the encoded table, or raise with everything that would keep a run from working."""
    k, mode = settings.k, settings.mode
    table = frames.as_polars(frame, [*schema.ordinary, *schema.complementary])
    too_many = (
        f"{name}: k = {k} needs more than {k} rows, and the table has {table.height}: "
        f"set k (--k) to {table.height - 1} or less"
    )
    needs_neighbors = METHODS[settings.method].needs_neighbors
    problems = [too_many] if needs_neighbors and 1 < table.height <= k else []
    taken = frames.names(frame)
    try:
        encoded = encode(table, schema, name=name)
    except DataError as error:
        listed = {cf: column.values or () for cf, column in schema.complementary.items()}
        problems += clashes(taken, listed, mode=mode, name=name)
        raise DataError(*error.problems, *problems, more=error.more) from None
    domains = {block.name: block.values for block in encoded.blocks}
    problems += clashes(taken, domains, mode=mode, name=name)
    if problems:
        raise DataError(*problems)
    return encoded


def run(
    encoded: Encoded,
    settings: Settings,
    *,
    folds: Sequence[Ints],
    jobs: int | None = None,
    progress: Progress,
) -> Estimate:
    """Run the method on an encoded table; `jobs` is how many threads work, all cores if None."""
    with Workers(jobs or available_cores()) as workers:
        return estimators.load(settings.method).estimate(
            encoded.known, method(settings), folds=folds, workers=workers, progress=progress
        )


class Stages:
    """A progress callback that also takes the time of every stage."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.began: list[tuple[str, float]] = []

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Note when `stage` began, and pass the news on."""
        if not self.began or self.began[-1][0] != stage:
            self.began.append((stage, perf_counter()))
        self.progress(stage, done, total)

    def seconds(self) -> dict[str, float]:
        """Return how long each stage took, if there was any; the last one ends now."""
        ends = [*(moment for _, moment in self.began), perf_counter()][1:]
        times: dict[str, float] = {}
        for (stage, moment), end in zip(self.began, ends, strict=True):
            times[stage] = times.get(stage, 0.0) + end - moment
        return {stage: round(time, 3) for stage, time in times.items()}
