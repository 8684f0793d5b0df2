"""Estimates the values behind exclusions: columns that only say what a value is not.

The spine, in order; a folder imports only what stands above it:

    errors, core/    problems as data; arrays, draws, settings, progress, messages
    large/           arrays as files, and which engine does the work
    texts/           what the texts of a column mean: numbers, dates, lists, words
    tables/          bytes ↔ data frame, strictly: formats, encodings, CSV, Parquet, Excel
    schema/          YAML ↔ Schema
    encode/          cells and columns → arrays
    methods/         graph (the paper's), boost, forest, net, auto, baselines
    models/          what was fitted ↔ one safe file
    trust/           how good the answers are: held-out cells, calibration, drift, the report
    run/             from a table to answers and a report: learn, impute, fit, apply a model
    cli/             the command line: options, inputs, outputs, pages

The slices, which import the spine and the slices that their first line names:

    commands/        a folder per command, with its mathematics, job, page and options
    cluster/         Dask
    sklearn          a transformer for scikit-learn

A new input format goes to tables/, a new method to methods/, a new flag of the report to trust/, a
new way to blur to commands/risk/, and an error is worded where it is raised.

OF: ordinary feature, whose cells say what a value is. CF: complementary feature.
"""

from cfl_cli.core import Shown, Watched

# Not from `typing`, which takes a while: `cfl` cannot listen to Ctrl-C before it has this.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Any

    from cfl_cli.commands.audit.job import Audited
    from cfl_cli.commands.check.job import Checked, check
    from cfl_cli.commands.evaluate.job import Evaluation, Masked, evaluate, mask
    from cfl_cli.commands.explain.job import Explanation, explain
    from cfl_cli.commands.gather.job import gather
    from cfl_cli.commands.init.draft import draft as draft
    from cfl_cli.commands.init.draft import init
    from cfl_cli.commands.results import audit, report, suspects
    from cfl_cli.commands.risk.job import Risk, risk
    from cfl_cli.commands.suspects.job import SuspectCells
    from cfl_cli.commands.tabulate.job import indicators, tabulate
    from cfl_cli.commands.tune.job import Tuning, tune
    from cfl_cli.core.settings import RunSettings, Settings
    from cfl_cli.errors import CflError, DataError, ResourceError, SchemaError, UsageError
    from cfl_cli.run.fit import fit
    from cfl_cli.run.impute import impute
    from cfl_cli.run.result import Model, Result
    from cfl_cli.schema.model import Schema
    from cfl_cli.trust.pool import pool
    from cfl_cli.trust.report import Report

__version__ = "0.2.0"
__all__ = [
    "Audited",
    "CflError",
    "Checked",
    "DataError",
    "Evaluation",
    "Explanation",
    "Masked",
    "Model",
    "Report",
    "ResourceError",
    "Result",
    "Risk",
    "RunSettings",
    "Schema",
    "SchemaError",
    "Settings",
    "SuspectCells",
    "Tuning",
    "UsageError",
    "__version__",
    "audit",
    "check",
    "evaluate",
    "explain",
    "fit",
    "gather",
    "impute",
    "indicators",
    "init",
    "mask",
    "pool",
    "report",
    "risk",
    "suspects",
    "tabulate",
    "tune",
]

_HOME = {
    "commands.audit.job": ("Audited",),
    "commands.check.job": ("Checked", "check"),
    "commands.evaluate.job": ("Evaluation", "Masked", "evaluate", "mask"),
    "commands.explain.job": ("Explanation", "explain"),
    "commands.gather.job": ("gather",),
    "commands.init.draft": ("draft", "init"),  # two names of the same function
    "commands.results": ("audit", "report", "suspects"),
    "commands.risk.job": ("Risk", "risk"),
    "commands.suspects.job": ("SuspectCells",),
    "commands.tabulate.job": ("indicators", "tabulate"),
    "commands.tune.job": ("Tuning", "tune"),
    "core.settings": ("RunSettings", "Settings"),
    "errors": ("CflError", "DataError", "ResourceError", "SchemaError", "UsageError"),
    "run.fit": ("fit",),
    "run.impute": ("impute",),
    "run.result": ("Model", "Result"),
    "schema.model": ("Schema",),
    "trust.pool": ("pool",),
    "trust.report": ("Report",),
}


def _rendered(thing: Shown, form: str) -> "Any":
    from cfl_cli.cli.pages import show_in_python  # as late as the rest

    return show_in_python(thing, form)


def _display() -> "AbstractContextManager[Any]":
    from cfl_cli.cli.progress import progress_in_python  # as late as the rest

    return progress_in_python()


Shown.rendered, Watched.display = _rendered, _display


def __getattr__(name: str) -> "Any":
    home = next((module for module, names in _HOME.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # as late as the rest

    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
