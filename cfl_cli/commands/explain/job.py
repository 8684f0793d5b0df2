"""Why a row of a table is answered so by what was learned from that table."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from cfl_cli import __version__, methods
from cfl_cli.commands.explain.arrays import Asked, Features, InTable
from cfl_cli.commands.explain.arrays import explain as explain_arrays
from cfl_cli.commands.explain.naming import Explanation, Named, cells_of
from cfl_cli.core.arrays import Floats
from cfl_cli.core.messages import count, did_you_mean, option, quote
from cfl_cli.core.parallel import Workers, available_cores
from cfl_cli.core.progress import Expected, Progress, Stages, announce
from cfl_cli.core.settings import AUTO, METHODS, RunSettings, Settings
from cfl_cli.encode.cells import Cells
from cfl_cli.encode.encode import Encoded, features_of
from cfl_cli.encode.findings import Problems
from cfl_cli.errors import DataError, UsageError
from cfl_cli.methods import graph
from cfl_cli.methods.interface import Origin, Power
from cfl_cli.run.arguments import OWN, AnySchema, Arguments, refuse_blurred
from cfl_cli.run.cost import check_memory, size_of
from cfl_cli.run.learn import ENCODE, JUDGE, JUDGE_SECONDS, judged, refit
from cfl_cli.run.model import Kept
from cfl_cli.run.prepare import hidden_together, prepare, run, settle_gamma
from cfl_cli.run.result import FinishedRun, RowFiller, without_fitted_points
from cfl_cli.schema.model import Schema
from cfl_cli.tables import frames
from cfl_cli.trust.facts import calibrate
from cfl_cli.trust.report import Report, Sources

if TYPE_CHECKING:
    from cfl_cli.methods.interface import PartExplained

# Why a model answers a new row so; no other row is encoded, and nothing is learned.


def explain_new(
    kept: Kept,
    frame: Any,
    settings: Settings,
    *,
    row: int,
    cfs: Collection[str] | None = None,
    key: str | None = None,
    name: str = "table",
    jobs: int | None = None,
) -> Explanation:
    """Return why a model answers a new row so; `frame` holds that row alone, which is row `row`."""
    with Workers(jobs or available_cores()) as workers:
        filler = RowFiller(kept, settings, workers, name=name)
        cells = frames.as_polars(frame, filler.used, name=name)
        encoded = filler.encoded(cells, first_row=row)
        ofs = features_of(encoded)
        features = Features(tuple(ofs.values()), blank(encoded, kept.schema))
        method = kept.settings.method
        asked = Asked(features, workers, cfs=numbers_of(encoded, cfs))
        runs, takes = explain_arrays(method, kept.fitted, encoded.known, asked)
        named = Named(
            encoded,
            runs,
            takes,
            ofs,
            kept.powers,
            filler.as_observed,
            settings.min_confidence,
            method,
            tuple(origin.cautious for origin in kept.origins),
            (),
        )
        return explanation(
            named,
            workers,
            row=row,
            key=key,
            cfs=cfs,
            cells=cells_of(cells, ofs, 0),
            fitted_rows=kept.report.rows,
            warnings=tuple(encoded.warnings),
        )


def explanation(
    named: Named,
    workers: Workers,
    *,
    row: int,
    key: str | None,
    cfs: Collection[str] | None,
    cells: dict[str, str | None],
    fitted_rows: int,
    warnings: tuple[str, ...],
) -> Explanation:
    """Return why some CFs of a row are answered so, all if `cfs` is None."""
    return Explanation(
        __version__,
        row,
        key,
        cells,
        named.method,
        "model" if named.cells is None else "table",
        fitted_rows,
        named.all_near(),
        tuple(named.cf(number, workers) for number in numbers_of(named.encoded, cfs)),
        warnings,
    )


def numbers_of(encoded: Encoded, cfs: Collection[str] | None) -> list[int]:
    """Return the numbers of CFs, all if `cfs` is None."""
    return [
        number for number, block in enumerate(encoded.blocks) if cfs is None or block.name in cfs
    ]


def blank(encoded: Encoded, schema: Schema) -> Floats:
    """Return the features of a row whose OFs are all missing, d."""
    problems = Problems("", schema, model=True)
    found = []
    for name, fitted in encoded.ordinary.items():
        empty = Cells.of(pl.Series(name, [None], dtype=pl.String), schema)
        features = fitted.features(empty, problems)
        if features is None:  # an empty cell is always understood
            raise TypeError(name)
        found.append(features[0][0])
    return np.concatenate(found)


def check_row(row: Any, rows: int, name: str) -> int:
    """Return the number of a row, from 1, or raise unless a table has it."""
    number = None if isinstance(row, bool) or not hasattr(row, "__index__") else index(row)
    if number is None or not 1 <= number <= rows:
        raise UsageError(f"{option('row', row)}: {name} has {count(rows, 'row')}, numbered from 1")
    return number


def chosen_cfs(
    asked: str | Sequence[str] | None, cfs: Sequence[str], name: str
) -> tuple[str, ...] | None:
    """Return the CFs that were asked for, or raise if a name is not one of a CF; None: all."""
    if asked is None or asked in ((), []):
        return None
    chosen = (asked,) if isinstance(asked, str) else tuple(asked)
    problems = [
        f"{option('cf', one, quoted=True)}: not a CF of {name}{did_you_mean(one, cfs)}"
        if did_you_mean(one, cfs)
        else f"{option('cf', one, quoted=True)}: not a CF of {name}, which has "
        f"{', '.join(map(quote, cfs))}"
        for one in chosen
        if one not in cfs
    ]
    if problems:
        raise UsageError(*problems)
    return chosen


# What is kept of a run so that any of its rows can be explained, and the least work to get it.
#
# Explaining a row repeats the walk of graph and ipal over the whole table, but without hidden rows.
# What these decided is needed: the steps after which each CF stopped, the powers of calibration, the
# trees of boost. So rows are hidden only where something was chosen by them, and not even then if
# the report of the run says what was chosen.

# Settings that need not be those of a report: they choose what is written, not what is answered.
FREE = ("mode", "min_confidence", "keep_flagged", "bias", "budget")
DIGITS = 12  # of a checksum in a message


@dataclass(frozen=True)
class Recorded:
    """The report of a run, its name, and what is known of the files that are explained now."""

    report: Report
    name: str
    sources: Sources


def learn_again(
    frame: Any,
    schema: Schema,
    settings: Settings,
    limits: RunSettings,
    *,
    row: int,
    name: str,
    stages: Stages,
    recorded: Recorded | None = None,
) -> FinishedRun:
    """Return what explaining a row takes, numbered from 0, with the least work that is exact."""
    threads, asked = limits.jobs or available_cores(), settings
    stages(ENCODE, 0, 1)
    by_report = recorded is not None and settings.method == "graph"
    hides = settings.folds != 0 and not by_report and _chooses(settings, schema)
    quick = settings if hides else settings.replaced({"folds": 0})
    encoded = prepare(frame, schema, quick, name=name, jobs=threads)
    settings, _ = settle_gamma(encoded, asked)
    hides = hides and _chooses(settings, schema)  # γ may have been left open
    check_memory(
        encoded,
        settings,
        table=frames.size(frame),
        jobs=threads,
        max_memory=limits.max_memory,
    )
    more: tuple[str, ...] = ()
    if recorded is not None:
        check_recorded(recorded, settings)
        if by_report:
            found = _by_report(recorded.report, settings)
            announce(expected(encoded, settings, folds=0), stages.progress)
            return FinishedRun(schema, encoded, settings, *found, frame, name, threads)
        more = (
            f"{recorded.name} cannot be reused for method {settings.method}, which is fitted again",
        )
    folds = hidden_together(len(encoded.features), settings, encoded.groups) if hides else []
    announce(expected(encoded, settings, folds=len(folds)), stages.progress)
    # Whether a CF is kept as observed is a verdict, which takes a run.
    if settings.method in ("graph", "observed") and not folds and not settings.keep_flagged:
        origins = _unjudged(settings, len(encoded.blocks))
        nothing = frozenset[str]()
        runs = (origins,)
        return FinishedRun(
            schema, encoded, settings, runs, origins, None, None, nothing, frame, name, threads
        )
    on_the_way: dict[int, PartExplained] = {}
    if settings.method == "graph" and not any(block.to_be_fitted for block in encoded.blocks):
        from cfl_cli.commands.explain import arrays  # noqa: PLC0415 — few results need it

        with Workers(threads) as workers:
            estimate, on_the_way[row] = arrays.estimate(
                encoded.known, settings, row=row, folds=folds, workers=workers, progress=stages
            )
    else:
        estimate = run(encoded, settings, folds=folds, jobs=threads, progress=stages)
    refitted = refit(encoded, estimate, settings, folds=folds, jobs=threads, progress=stages)
    encoded, estimate = refitted.encoded, refitted.estimate
    stages(JUDGE, 0, 1)
    if settings.calibration and METHODS[settings.method].calibrated:
        estimate = calibrate(encoded, estimate, jobs=threads)
    kept = frozenset[str]()
    if settings.keep_flagged:
        report = judged(encoded, estimate, settings, fitted=refitted.fitted, jobs=threads)
        kept = frozenset(report.kept)
    return FinishedRun(
        schema,
        encoded,
        settings,
        refitted.origins,
        estimate.origins,
        without_fitted_points(estimate.fitted),
        estimate.powers,
        kept,
        frame,
        name,
        threads,
        more,
        on_the_way,
    )


def expected(encoded: Encoded, settings: Settings, *, folds: int) -> list[Expected]:
    """Return what is to come until a row is explained; the table is encoded."""
    size, estimator = size_of(encoded), methods.load(settings.method)
    runs = 2 if any(block.to_be_fitted for block in encoded.blocks) and folds else 1
    again = methods.load("graph").stages(size, settings, folds=0)
    # Whether a CF is kept as observed is a verdict, which takes a run.
    if settings.method in ("graph", "observed") and not folds and not settings.keep_flagged:
        return again if settings.method == "graph" else []
    fits = any(block.to_be_fitted for block in encoded.blocks)
    repeats = settings.method in ("ipal", AUTO) or (settings.method == "graph" and fits)
    repeated = again if repeats else []
    return [
        *estimator.stages(size, settings, folds=folds) * runs,
        Expected.of(JUDGE, size.rows, JUDGE_SECONDS * len(size.domains) * folds),
        *repeated * runs,
    ]


def _chooses(settings: Settings, schema: Schema) -> bool:
    """Return whether hidden cells decide anything of the answers."""
    traits = METHODS[settings.method]
    return (
        traits.needs_hidden_rows
        or (traits.calibrated and settings.calibration)
        or (settings.method == "graph" and graph.chooses(settings))
        or settings.keep_flagged
        or any(cf.mechanism == "fit" for cf in schema.complementary.values())
    )


def _unjudged(settings: Settings, cfs: int) -> tuple[Origin, ...]:
    """Return how each CF's answers come about where nothing is chosen."""
    if settings.method != "graph":
        return (Origin(settings.method),) * cfs
    from cfl_cli.methods import graph  # noqa: PLC0415 — other methods need none

    choice = graph.unjudged(settings, cfs)
    return choice.origins(len(choice.stops))


Found: TypeAlias = tuple[
    tuple[tuple[Origin, ...], ...],
    tuple[Origin, ...],
    None,
    tuple[Power | None, ...] | None,
    frozenset[str],
]


def _by_report(report: Report, settings: Settings) -> Found:
    """Return what the report of a run of graph says of it, in the order of `FinishedRun`."""
    origins = tuple(
        Origin(one.method, round=one.round, iterations=one.iterations, stops=one.stops)
        for one in report.columns
    )
    powers = tuple(
        None if (power := one.calibration_power) is None else Power(power, (power, power))
        for one in report.columns
    )
    calibrated = settings.calibration and settings.folds != 0
    kept = frozenset(one.name for one in report.columns if one.flagged and settings.keep_flagged)
    return (origins,), origins, None, powers if calibrated else None, kept


def check_recorded(recorded: Recorded, settings: Settings) -> None:
    """Raise unless a report is that of a run on this table, with this schema and these settings."""
    report, name, now = recorded.report, recorded.name, recorded.sources
    was = report.sources or Sources()
    for what, before, after in (
        ("table", was.table_sha256, now.table_sha256),
        ("schema", was.schema_sha256, now.schema_sha256),
    ):
        if before is None or before != after:
            recorded_as = f"{before[:DIGITS]}…" if before else "not recorded"
            raise DataError(
                f"{name}: not the report of a run on this {what} (SHA-256 "
                f"{(after or 'unknown')[:DIGITS]}…, recorded {recorded_as}): pass the {what} that "
                f"it was made from, or leave {option('report')} out"
            )
    if report.batch is not None:
        raise DataError(
            f"{name}: the report of new rows that a model answered: pass the model, or leave "
            f"{option('report')} out"
        )
    if report.cfl_version != __version__:
        raise DataError(
            f"{name}: written by cfl {report.cfl_version}, and this is {__version__}: impute "
            f"again, or leave {option('report')} out"
        )
    for setting, value in settings.as_dict().items():
        if setting not in FREE and report.settings.get(setting) != value:
            raise UsageError(
                f"{name}: was made with {option(setting, report.settings.get(setting))}, not with "
                f"{option(setting, value)}: "
                f"give the settings of that run, or leave {option('report')} out"
            )
    lacking = [one.name for one in report.columns if one.method == "graph" and not one.stops]
    fitted = [one.name for one in report.columns if one.fitted_mechanism is not None]
    if lacking and settings.method == "graph":
        raise DataError(
            f"{name}: does not record when column {quote(lacking[0])} stopped: impute again, or "
            f"leave {option('report')} out"
        )
    if fitted:
        raise DataError(
            f"{name}: the mechanism of column {quote(fitted[0])} was fitted in a second run, which "
            f"a report does not hold: leave {option('report')} out"
        )


def explain(
    frame: Any,
    schema: AnySchema,
    row: int,
    *,
    cf: str | Sequence[str] | None = None,
    name: str = "table",
    progress: Progress = lambda *_: None,
    jobs: int | None = None,
    max_memory: int | None = None,
    key: str | None = None,
    recorded: Recorded | None = None,
    **settings: Any,
) -> Explanation:
    """Return why a row of a table, numbered from 1, is answered as `impute` answers it.

    The other arguments are those of `impute`. `cf` names the CFs to explain, all if it is left out;
    `key` is by what the row was looked for. With the report of the run, `recorded`, nothing that
    the run has chosen need be chosen again by graph.
    """
    own = (*OWN, "row", "cf", "key", "recorded")
    given = Arguments.read(schema, settings, jobs=jobs, max_memory=max_memory, own=own, infers=True)
    asked = chosen_cfs(cf, [*given.schema.complementary], name)
    refuse_blurred(given.schema, given.limits.infer, cfs=asked)
    check_row(row, frames.as_polars(frame, (), name=name).height, name)
    stages = Stages(progress)
    ran = learn_again(
        frame,
        given.schema,
        given.settings,
        given.limits,
        row=row - 1,
        name=name,
        stages=stages,
        recorded=recorded,
    )
    return explain_row(ran, row, cfs=asked, key=key, progress=stages)


def explain_row(
    ran: FinishedRun,
    row: int,
    *,
    cfs: Collection[str] | None = None,
    key: str | None = None,
    progress: Progress = lambda *_: None,
) -> Explanation:
    """Return why a row of the table that a run learned from is answered so."""
    row = check_row(row, len(ran.encoded.features), ran.name)
    encoded = ran.encoded.some(np.array([row - 1]))
    ofs = features_of(encoded)
    table = InTable(
        ran.encoded.known, ran.settings, row - 1, ran.runs, progress, ran.found.get(row - 1)
    )
    features = Features(tuple(ofs.values()), blank(encoded, ran.schema))
    numbers = numbers_of(encoded, cfs)
    with Workers(ran.jobs) as workers:
        runs, takes = explain_arrays(
            ran.settings.method, ran.fitted, encoded.known, Asked(features, workers, table, numbers)
        )
        named = Named(
            encoded,
            runs,
            takes,
            ofs,
            ran.powers,
            ran.as_observed,
            ran.settings.min_confidence,
            ran.settings.method,
            tuple(origin.cautious for origin in ran.origins),
            tuple(map(_steps, ran.origins)),
            ran.encoded.candidates,
            ran.cells,
        )
        return explanation(
            named,
            workers,
            row=row,
            key=key,
            cfs=cfs,
            cells=cells_of(ran.cells, ofs, row - 1),
            fitted_rows=len(ran.encoded.features),
            warnings=(*ran.warnings, *_of_budget(ran)),
        )


def _steps(origin: Origin) -> tuple[int, ...]:
    """Return after how many steps each round of a CF stopped, also as a part of a blend."""
    parts = [part.stops for part in origin.parts if part.name == "graph"]
    return origin.stops or (parts[0] if parts else ())


def _of_budget(ran: FinishedRun) -> list[str]:
    """Return that another blend may have been written, if the clock had a say in it."""
    if ran.settings.budget is None:
        return []
    return ["with a budget, what is run depends on the clock: another blend may have been written"]
