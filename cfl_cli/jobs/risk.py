"""What an attacker would learn from a blurred table: the estimate of `impute`, from the other side.

It is run on all rows. Which OFs carry it, and what other ways of blurring would do, takes a run
each: these are made on some rows, drawn from the seed, and compared with a run on the same rows.
"""

import json
from dataclasses import asdict, replace
from typing import Any

from cfl_cli import __version__
from cfl_cli.core.entries import read_by
from cfl_cli.core.kinds import AUTO, Bounds, Whole
from cfl_cli.core.parallel import Workers, available_cores
from cfl_cli.core.quick import dataclass
from cfl_cli.core.settings import Settings
from cfl_cli.core.shown import Shown
from cfl_cli.core.stages import Expected, Progress, Stages
from cfl_cli.errors import UsageError
from cfl_cli.jobs.arguments import OWN, AnySchema, Arguments, Context
from cfl_cli.jobs.learn import Learned, learn
from cfl_cli.jobs.otherwise import Otherwise, Tried, facts_of, prospect_of, try_others
from cfl_cli.jobs.ways import counts_of, plan
from cfl_cli.schema.model import Schema
from cfl_cli.steps.encode import Encoded
from cfl_cli.trust import disclosure
from cfl_cli.trust.better import shares_of_others
from cfl_cli.trust.disclosure import SURE
from cfl_cli.trust.facts import ColumnFacts
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.report import ColumnReport

LEAST_COUNT = 10  # rows that are counted: fewer may point at people
ROWS = Whole(Bounds(least=0))


@dataclass(frozen=True)
class FeatureRisk:
    """How much of the gain is lost if an OF is left out."""

    name: str
    gain_lost: Interval  # below 0: chance, or the attacker does better without it


@dataclass(frozen=True)
class ColumnRisk:
    """What an attacker would learn of one CF. None: not known."""

    name: str
    domain_size: int
    blurred: str | None  # on purpose, as the schema says
    exclusions_per_cell: float
    inferred_right: Interval | None  # share of the rows
    commonest_right: Interval | None  # if the commonest candidate is always answered
    gain: Interval | None  # of the one over the other: what is disclosed
    clearly_more: bool | None  # is it, beyond chance?
    sure_share: float  # of the rows whose value has a confidence of 0.9 or more
    sure_rows: int | None  # how many these are; None: under 10
    sure_right: Interval | None  # share of them that is right
    reason: str | None = None  # why the shares are not known
    features: tuple[FeatureRisk, ...] = ()  # the OFs, the one that carries most first
    otherwise: tuple[Otherwise, ...] = ()  # other ways of blurring


@dataclass(frozen=True)
class Risk(Shown):
    """What an attacker would learn of a table."""

    rows: int
    method: str
    columns: tuple[ColumnRisk, ...]
    tried_rows: int = 0  # on which OFs and other ways of blurring were tried; 0: they were not
    tried_method: str | None = None
    warnings: tuple[str, ...] = ()
    sure_confidence: float = SURE
    cfl_version: str = __version__
    version: int = 1

    def to_json(self) -> str:
        """Return it as JSON text, one object."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=2, allow_nan=False)


def risk(
    frame: Any,
    schema: AnySchema,
    *,
    name: str = "table",
    rows: int | None = None,
    progress: Progress = lambda *_: None,
    jobs: int | None = None,
    max_memory: int | None = None,
    **settings: Any,
) -> Risk:
    """Return what an attacker would learn from `frame`, a polars, pandas or pyarrow table.

    The arguments are those of `impute`. `method` is auto unless it is given, whatever the schema
    says: an attacker takes what does best. `rows` is on how many rows OFs and other ways of
    blurring are tried, 0: on none; left out, on some 10,000 or fewer where there are many OFs.
    """
    asked = read_by({"rows": ROWS}, {} if rows is None else {"rows": rows}).get("rows")
    settings = {**settings, "method": settings.get("method") or AUTO}
    given = Arguments.read(schema, settings, jobs=jobs, max_memory=max_memory, own=(*OWN, "rows"))
    if given.settings.folds == 0:
        raise UsageError("folds: risk is estimated by hidden cells: it needs folds other than 0")
    stages, threads = Stages(progress), given.limits.jobs or available_cores()

    def afterwards(encoded: Encoded, settings: Settings) -> list[Expected]:
        made = plan(encoded, settings, asked)
        return made.expected(encoded) if made else []

    with Workers(threads) as engine:
        learned = learn(
            frame,
            given,
            Context(name=name),
            stages=stages,
            engine=engine,
            fit=False,
            then=afterwards,
        )
        known = any(column.estimated_accuracy is not None for column in learned.report.columns)
        made = plan(learned.encoded, learned.settings, asked) if known else None
        tried = try_others(learned, made, engine=engine, progress=stages) if made else None
    return Risk(
        rows=learned.report.rows,
        method=learned.settings.method,
        columns=tuple(
            _column(number, one, learned, given.schema, tried)
            for number, one in enumerate(learned.report.columns)
        ),
        tried_rows=tried.rows if tried else 0,
        tried_method=tried.method if tried else None,
        warnings=learned.report.warnings,
    )


def _column(
    number: int, column: ColumnReport, learned: Learned, schema: Schema, tried: Tried | None
) -> ColumnRisk:
    """Return what is said of one CF."""
    sure = next(one for one in column.coverage if one.min_confidence == SURE)
    known = column.estimated_accuracy
    count = round(sure.share * learned.report.rows)
    features: list[FeatureRisk] = []
    otherwise: list[Otherwise] = []
    if tried and known:
        lost = [FeatureRisk(name, _negated(of[number])) for name, of in tried.without.items()]
        features = sorted(lost, key=lambda one: -one.gain_lost.value)
        otherwise = [
            Otherwise(way, change, _share(known.value + change.value))
            for way, change in tried.otherwise[number].items()
        ]
    shares = _in_these_rows(column, facts_of(learned, number))
    return ColumnRisk(
        name=column.name,
        domain_size=column.domain_size,
        blurred=schema.blurred.get(column.name),
        exclusions_per_cell=column.exclusions_per_cell,
        inferred_right=shares.inferred,
        commonest_right=shares.commonest,
        gain=shares.gain,
        clearly_more=column.clearly_better,
        sure_share=sure.share,
        sure_rows=count if count >= LEAST_COUNT or count == 0 else None,
        sure_right=sure.accuracy,
        reason=column.accuracy_reason,
        features=tuple(features),
        otherwise=tuple(otherwise),
    )


@dataclass(frozen=True)
class _Shares:
    """Shares of right answers, and the gain of the first over the second."""

    inferred: Interval | None
    commonest: Interval | None
    gain: Interval | None


def _in_these_rows(column: ColumnReport, facts: ColumnFacts) -> _Shares:
    """Return the report's shares with intervals that hold those of the table's own rows.

    The gain is the change from answers that know of no OF.
    """
    inferred, commonest = column.estimated_accuracy, column.commonest_accuracy
    hidden, rows = facts.hidden_cells, len(facts.candidates)
    others = None if hidden is None else shares_of_others(hidden.cells, hidden.mechanism)
    if inferred is None or commonest is None or hidden is None or others is None:
        return _Shares(inferred, commonest, column.gain)
    knows = prospect_of(facts)
    knows_nothing = disclosure.prospect(
        replace(hidden, prior=others[0][others[1]]), counts_of(facts.candidates), hidden.cells
    )
    return _Shares(
        disclosure.in_these_rows(inferred, hidden, knows, rows=rows),
        disclosure.in_these_rows(commonest, hidden, knows_nothing, rows=rows),
        disclosure.change(hidden, knows_nothing, knows, rows=rows),
    )


def _negated(change: Interval) -> Interval:
    return Interval(-change.value, -change.high, -change.low)


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0)
