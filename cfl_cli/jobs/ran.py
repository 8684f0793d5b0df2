"""What is kept of a run so that any of its rows can be explained, and the least work to get it.

Explaining a row repeats the walk of graph and ipal over the whole table, but without hidden rows.
What these decided is needed: the steps after which each CF stopped, the powers of calibration, the
trees of boost. So rows are hidden only where something was chosen by them, and not even then if
the report of the run says what was chosen.
"""

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from cfl_cli import __version__, estimators
from cfl_cli.core.kinds import AUTO
from cfl_cli.core.messages import quote
from cfl_cli.core.methods import METHODS
from cfl_cli.core.parallel import Workers, available_cores
from cfl_cli.core.quick import dataclass
from cfl_cli.core.settings import RunSettings, Settings
from cfl_cli.core.stages import Expected, Stages, announce
from cfl_cli.core.wording import option
from cfl_cli.errors import DataError, UsageError
from cfl_cli.estimators import graph_settings
from cfl_cli.estimators.interface import Fitted, Origin, Power, without_points
from cfl_cli.jobs.cost import check_memory, size_of
from cfl_cli.jobs.learn import ENCODE, JUDGE, JUDGE_SECONDS, Learned, judged
from cfl_cli.jobs.prepare import hidden_together, prepare, run, settle_gamma
from cfl_cli.jobs.refit import refit
from cfl_cli.schema.model import Schema
from cfl_cli.steps.cells import used_columns
from cfl_cli.steps.encode import Encoded
from cfl_cli.tables import frames
from cfl_cli.trust.calibrate import calibrate
from cfl_cli.trust.report import Report, Sources

if TYPE_CHECKING:
    from cfl_cli.estimators.explained import PartExplained

# Settings that need not be those of a report: they choose what is written, not what is answered.
FREE = ("mode", "min_confidence", "keep_flagged", "bias", "budget")
DIGITS = 12  # of a checksum in a message


@dataclass(frozen=True, eq=False)
class Ran:
    """A table, and what decided the answers to its rows."""

    schema: Schema
    encoded: Encoded  # with the mechanisms that were settled on
    settings: Settings  # with a γ that was settled on
    runs: tuple[tuple[Origin, ...], ...]  # of each run, per CF: one, or two with `mechanism: fit`
    origins: tuple[Origin, ...]  # per CF, of the run that it takes
    fitted: Fitted | None  # without points; None: nothing was, or graph as a report has it
    powers: tuple[Power | None, ...] | None
    as_observed: frozenset[str]  # CFs that are kept so
    frame: Any  # the table, which nobody changes
    name: str
    jobs: int
    warnings: tuple[str, ...] = ()
    found: Mapping[int, "PartExplained"] = field(default_factory=dict)  # by row, from 0

    @cached_property
    def cells(self) -> pl.DataFrame:
        """Return the table with the columns that are used."""
        return frames.as_polars(self.frame, used_columns(self.schema), name=self.name)

    @classmethod
    def of(cls, learned: Learned, frame: Any, schema: Schema, *, name: str, jobs: int) -> "Ran":
        """Return what is kept of a run that `impute` made."""
        estimate = learned.estimate
        return cls(
            schema,
            learned.encoded,
            learned.settings,
            learned.runs,
            estimate.origins,
            _kept(estimate.fitted),
            estimate.powers,
            frozenset(learned.report.kept),
            frames.snapshot(frame, used_columns(schema), name=name),
            name,
            jobs,
        )


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
) -> Ran:
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
            return Ran(schema, encoded, settings, *found, frame, name, threads)
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
        return Ran(
            schema, encoded, settings, runs, origins, None, None, nothing, frame, name, threads
        )
    on_the_way: dict[int, PartExplained] = {}
    if settings.method == "graph" and not any(block.to_be_fitted for block in encoded.blocks):
        from cfl_cli.estimators import graph_explained  # noqa: PLC0415 — few results need it

        with Workers(threads) as workers:
            estimate, on_the_way[row] = graph_explained.estimate(
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
    return Ran(
        schema,
        encoded,
        settings,
        refitted.origins,
        estimate.origins,
        _kept(estimate.fitted),
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
    size, estimator = size_of(encoded), estimators.load(settings.method)
    runs = 2 if any(block.to_be_fitted for block in encoded.blocks) and folds else 1
    again = estimators.load("graph").stages(size, settings, folds=0)
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


def _kept(fitted: Fitted | None) -> Fitted | None:
    """Return what is needed of it: the walk of graph and ipal is repeated, their points are not."""
    return None if fitted is None else without_points(fitted)


def _chooses(settings: Settings, schema: Schema) -> bool:
    """Return whether hidden cells decide anything of the answers."""
    traits = METHODS[settings.method]
    return (
        traits.needs_hidden_rows
        or (traits.calibrated and settings.calibration)
        or (settings.method == "graph" and graph_settings.chooses(settings))
        or settings.keep_flagged
        or any(cf.mechanism == "fit" for cf in schema.complementary.values())
    )


def _unjudged(settings: Settings, cfs: int) -> tuple[Origin, ...]:
    """Return how each CF's answers come about where nothing is chosen."""
    if settings.method != "graph":
        return (Origin(settings.method),) * cfs
    from cfl_cli.estimators import graph_rounds  # noqa: PLC0415 — other methods need none

    choice = graph_rounds.unjudged(settings, cfs)
    return choice.origins(len(choice.stops))


Found: TypeAlias = tuple[
    tuple[tuple[Origin, ...], ...],
    tuple[Origin, ...],
    None,
    tuple[Power | None, ...] | None,
    frozenset[str],
]


def _by_report(report: Report, settings: Settings) -> Found:
    """Return what the report of a run of graph says of it, in the order of `Ran`."""
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
