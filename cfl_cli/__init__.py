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

from cfl_cli.core import Shown

# Not from `typing`, which takes a while: `cfl` cannot listen to Ctrl-C before it has this.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfl_cli.commands.check.job import Checked, check
    from cfl_cli.commands.evaluate.job import Evaluation, Masked, evaluate, mask
    from cfl_cli.commands.init.draft import draft
    from cfl_cli.commands.risk.job import Risk, risk
    from cfl_cli.commands.tabulate.job import indicators, tabulate
    from cfl_cli.commands.tune.job import Tuning, tune
    from cfl_cli.core.settings import RunSettings, Settings
    from cfl_cli.errors import CflError, DataError, ResourceError, SchemaError, UsageError
    from cfl_cli.run.fit import fit
    from cfl_cli.run.impute import impute
    from cfl_cli.run.result import Model, Result
    from cfl_cli.schema.model import Schema
    from cfl_cli.trust.report import Report

__version__ = "0.2.0"
__all__ = [
    "CflError",
    "Checked",
    "DataError",
    "Evaluation",
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
    "Tuning",
    "UsageError",
    "__version__",
    "check",
    "draft",
    "evaluate",
    "fit",
    "impute",
    "indicators",
    "mask",
    "risk",
    "tabulate",
    "tune",
]

_HOME = {
    "commands.check.job": ("Checked", "check"),
    "commands.evaluate.job": ("Evaluation", "Masked", "evaluate", "mask"),
    "commands.init.draft": ("draft",),
    "commands.risk.job": ("Risk", "risk"),
    "commands.tabulate.job": ("indicators", "tabulate"),
    "commands.tune.job": ("Tuning", "tune"),
    "core.settings": ("RunSettings", "Settings"),
    "run.fit": ("fit",),
    "run.impute": ("impute",),
    "run.result": ("Model", "Result"),
    "schema.model": ("Schema",),
    "trust.report": ("Report",),
}


def _rendered(thing: Shown, form: str) -> str:
    from cfl_cli.cli.pages import show_in_python  # as late as the rest

    return show_in_python(thing, form)


Shown.rendered = _rendered


def __getattr__(name: str) -> "Any":
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # as late as the rest

    home = next((module for module, names in _HOME.items() if name in names), "errors")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
