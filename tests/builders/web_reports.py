"""Reports and histories with everything that a page can show, of any number of CFs and values."""

from dataclasses import replace
from math import log

import polars as pl
from builders.reports import column
from builders.tables import table

from cfl_cli import Schema, impute
from cfl_cli.commands.risk.job import ColumnRisk, FeatureRisk, Otherwise, Risk
from cfl_cli.methods.interface import Part, Tried
from cfl_cli.schema.model import Complementary, Ordinary
from cfl_cli.trust.drift import DriftCourse
from cfl_cli.trust.heldout import Bin, Calibration
from cfl_cli.trust.history import CfLine, History, Line
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.report import Audit, Coverage, Report, Sources, ValueShare

SHA = "0123456789abcdef" * 4
STEPS = (1, 2, 5, 10, 20, 50, 100)
HOSTILE = (
    "<script>window.cracked = 1</script>",
    "</script><img src=x onerror=window.cracked=2>",
    "\"'><svg/onload=window.cracked=3>",
    "<!-- --!> {{ 7*7 }} {% raw %}",
    *("👩‍⚕️ naïve 👍🏽", "תשובה נכונה", "safe\u202eexe.txt", "nul\0bell\a\u2028"),
    "lone \ud800 surrogate",
    "long " * 60,
)


def interval(value, by=0.03):
    return Interval(value, max(value - by, 0.0), min(value + by, 1.0))


def values(labels):
    weights = [1 / (place + 1) for place in range(len(labels))]
    shares = [weight / sum(weights) for weight in weights]
    rest = len(labels) - 1 if len(labels) < 90 else None
    return tuple(
        ValueShare(label, share if share >= 0.01 else None, rest and (1 - share) / rest)
        for label, share in zip(labels, shares, strict=True)
    )


def full_column(name="job", labels=("nurse", "farmer", "clerk", "teacher"), right=0.9, **facts):
    cells = {0.45: 12, 0.55: 40, 0.65: 90, 0.75: 160, 0.85: 300, 0.95: 900}
    bins = tuple(
        Bin(round(at - 0.05, 2), round(at + 0.05, 2), n, at, interval(at, 4 / n**0.5))
        for at, n in cells.items()
    )
    above = [interval(min(right + 0.01 * step, 1)) for step in range(9)]
    coverage = tuple(
        Coverage(round(0.5 + 0.05 * step, 2), round(0.98 - 0.07 * step, 2), share)
        for step, share in enumerate([*above, None])
    )
    first = Tried(1, STEPS, (-0.9, -0.7, -0.5, -0.42, -0.40, -0.41, -0.44))
    second = Tried(2, STEPS, (-0.85, -0.6, -0.45, -0.38, -0.34, -0.31, -0.33))
    plain = {
        "domain_size": len(labels), "entropy_start": log(len(labels)),
        "entropy_end": 0.3 * log(len(labels)), "entropy_reduction": 0.7,
        "entropy_reduction_null": 0.12, "heldout_score": -0.31, "hidden_cells": 1502,
        "estimated_accuracy": interval(right), "commonest_accuracy": interval(0.5, 0.04),
        "gain": Interval(right - 0.5, right - 0.55, right - 0.45), "clearly_better": True,
        "accuracy_basis": "uniform", "coverage": coverage, "values": values(labels),
        "break_even_bias": 9.2, "unnoticed_bias": 2.2,
        "calibration": Calibration(0.02, Interval(0.002, -0.01, 0.014), bins, ""),
        "confidence_shares": (0, 0, 0, 0.01, 0.02, 0.04, 0.08, 0.15, 0.25, 0.45),
        "stops": (20, 50), "round": 2, "iterations": 50, "tried": (first, second),
        "parts": (Part("graph", -0.34, 0.25, round=2), Part("boost", -0.31, 0.75)),
    }  # fmt: skip
    return column(name, **{**plain, **facts})


AUDITED = Audit(
    answers=3000, drawn=100, checked=98, empty=2, right=90, accuracy=interval(0.92, 0.05),
    if_empty_wrong=interval(0.9, 0.05), if_empty_right=interval(0.93, 0.05), more_rows=300,
    estimate=interval(0.9), estimate_held=True, former_accuracy=interval(0.9),
    former_basis="uniform", contradicted=1,
)  # fmt: skip


def poor(name="coat_rack", **facts):
    plain = {
        "right": 0.48, "gain": Interval(-0.02, -0.07, 0.03), "flagged": True,
        "flags": ("small-entropy-reduction", "no-better-than-commonest"),
        "clearly_better": False, "entropy_reduction": 0.05, "entropy_end": 0.95 * log(4),
    }  # fmt: skip
    return full_column(name, **{**plain, **facts})


def unmeasured(name="blood_group", **facts):
    plain = {
        "estimated_accuracy": None, "break_even_bias": None, "commonest_accuracy": None, "gain": None, "calibration": None,
        "coverage": (), "hidden_cells": 0, "heldout_score": None, "accuracy_basis": "none",
        "accuracy_reason": "no cells were hidden (--folds 0)", "clearly_better": None,
    }  # fmt: skip
    return full_column(name, **{**plain, **facts})


def unknown(name="ward", **facts):
    plain = {
        "flags": ("exclusions-not-uniform",),
        "flagged": True,
        "accuracy_reason": "exclusions are not random (audit it)",
        "impossible_values": (2,),
        "hidden_cells": 1502,
    }
    return unmeasured(name, **{**plain, **facts})


def full_report(*columns, **facts):
    plain = {
        "timings": {"round 1: neighbors": 1.25, "round 1: weights": 0.5},
        "peak_memory_mb": 312.4,
        "steps": (20, 50),
        "warnings": ("column 'age': 3 cells are empty",),
        "sources": Sources("clinic.csv", SHA, "clinic.yml", SHA, {"delimiter": ";"}),
        "answers_sha256": SHA,
        "versions": {"Python": "3.11.2", "numpy": "2.3.1"},
    }
    settings = {"method": "graph", "k": 20, "gamma": 0.25, "budget": None, "calibration": True}
    return Report("0.1.0", 3000, settings, columns, **{**plain, **facts})


def several(cfs, labels=10, **facts):
    domain = tuple(f"value {place}" for place in range(1, labels + 1))
    kinds = (full_column, full_column, poor, full_column, unknown, full_column, unmeasured)
    columns = []
    for place in range(cfs):
        more = {"right": round(0.6 + 0.37 * place / cfs, 3)} if place % 7 in (0, 1, 3) else {}
        make = kinds[place % len(kinds)]
        columns.append(make(f"column_{place + 1}", labels=domain, **more))
    return full_report(*columns, **facts)


def hostile():
    columns = (
        full_column(
            *(name, HOSTILE),
            parts=(Part(name, -0.3, 1.0),),
            method=name,
            flags=(name,),
            action=name,
        )
        for name in HOSTILE
    )
    facts = dict(zip(HOSTILE, HOSTILE, strict=True))
    made = full_report(
        *columns,
        warnings=HOSTILE,
        versions=dict.fromkeys(HOSTILE, HOSTILE[0]),
        timings=dict.fromkeys(HOSTILE, 1.0),
        sources=Sources(HOSTILE[0], HOSTILE[1], HOSTILE[2], HOSTILE[6], facts),
    )
    return replace(made, cfl_version=HOSTILE[1], settings=facts)


def history(name="job", batches=12, drifted_at=8):
    lines = []
    for number in range(1, batches + 1):
        worse = number >= drifted_at
        loss = 0.05 + 0.002 * (number % 3) + (0.06 if worse else 0)
        since = drifted_at if worse else None
        cf = CfLine(
            name, 200, -0.4, interval(0.7 if worse else 0.9, 0.06), loss, 0.08,
            1e6 if worse else 0.1, ("drifted",) if worse else (), DriftCourse(drifted_since=since),
        )  # fmt: skip
        lines.append(
            Line(1, "0.1.0", SHA, number, f"{number:064d}", f"night{number}.csv", 200, (cf,))
        )
    return History(tuple(lines))


def as_old(report):
    """The same as a version wrote it that did not know what pages show."""
    old = (
        replace(one, values=(), confidence_shares=(), coverage=(), stops=(), tried=())
        for one in report.columns
    )
    return replace(report, columns=tuple(old), versions={}, sources=None, answers_sha256=None)


def explained():
    named = dict(zip("pqrs", [HOSTILE[0], HOSTILE[2], HOSTILE[5], HOSTILE[9]], strict=True))
    frame = table(80).with_columns(pl.col("two").replace(named))
    columns = {
        "x": Ordinary(type="numeric"),
        "place": Ordinary(type="categorical"),
        "two": Complementary(values=[*named.values()]),
    }
    return impute(frame, Schema(columns=columns), k=20, iterations=5, folds=0).explain(row=3)


def risked():
    def of_cf(name, **more):
        return ColumnRisk(
            name=name,
            domain_size=4,
            blurred="privacy",
            exclusions_per_cell=1.0,
            inferred_right=interval(0.8),
            commonest_right=interval(0.4),
            gain=interval(0.4),
            clearly_more=True,
            sure_right=interval(0.95),
            sure_share=0.3,
            sure_rows=900,
            features=tuple(FeatureRisk(of, interval(0.2)) for of in ("age", *HOSTILE)),
            otherwise=tuple(
                Otherwise(way, interval(0.1), 0.9)
                for way in ("one exclusion more", "numbers in 8 bins", "rare categories merged")
            ),
            **more,
        )

    cfs = (of_cf("diagnosis"), of_cf(HOSTILE[0]), of_cf(HOSTILE[9]))
    return Risk(rows=3000, method="auto", columns=cfs, tried_rows=3000, tried_method="graph")
