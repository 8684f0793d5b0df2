"""Estimates the values behind exclusions: columns that only say what a value is not.

The map of the house. A room imports only rooms above it:

    core/        what everybody may know: arrays, blocks, exclusions (the model of a cell), known
                 (what is known of the rows), draws, parallel, settings, stages, messages,
                 budget
    tables/      bytes ↔ data frame: files, formats, encodings, compression, csv, jsonl, columnar
                 (Parquet and Arrow), frames (polars, pandas, pyarrow), table (all of it)
    schema/      YAML ↔ Schema: yaml_text, validation, model, mechanism, for_editors, draft, edit
    steps/       the paper's five steps: encode, neighbors, weights, propagate, decode
    estimators/  the methods: graph (the paper's), boost, net, ipal, observed, commonest, auto
    trust/       how good the answers are: heldout, intervals, verdict, report; scores by the truth
    jobs/        one file per job on a data frame: impute, cost, tune (+ search, trials), mask,
                 evaluate
    cli/         the command line: app, streams, options, outputs, log, progress, commands/, show/

OF: ordinary feature. CF: complementary feature.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cfl_cli.core.settings import RunSettings, Settings
    from cfl_cli.errors import CflError, DataError, ResourceError, SchemaError, UsageError
    from cfl_cli.jobs.evaluate import Evaluation, evaluate
    from cfl_cli.jobs.impute import Result, impute
    from cfl_cli.jobs.mask import Masked, mask
    from cfl_cli.schema.model import Schema
    from cfl_cli.trust.report import Report

__version__ = "0.1.0"
__all__ = [
    "CflError",
    "DataError",
    "Evaluation",
    "Masked",
    "Report",
    "ResourceError",
    "Result",
    "RunSettings",
    "Schema",
    "SchemaError",
    "Settings",
    "UsageError",
    "__version__",
    "evaluate",
    "impute",
    "mask",
]

_HOME = {
    "Evaluation": "jobs.evaluate",
    "Masked": "jobs.mask",
    "Report": "trust.report",
    "Result": "jobs.impute",
    "Schema": "schema.model",
    "RunSettings": "core.settings",
    "Settings": "core.settings",
    "evaluate": "jobs.evaluate",
    "impute": "jobs.impute",
    "mask": "jobs.mask",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that `cfl --help` stays quick."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 — as late as the rest

    return getattr(import_module(f"{__name__}.{_HOME.get(name, 'errors')}"), name)
