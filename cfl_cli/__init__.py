"""Estimates the values behind exclusions: columns that only say what a value is not.

    schema.py       YAML → Schema: which columns are OFs, which are CFs
    tables.py       file or stream ↔ table, with a module for each kind of format:
                    separated.py (CSV, TSV), jsonl.py, columnar.py (Parquet, Arrow), packing.py
    files.py        bytes in, and out whole or not at all
    encode.py       step 1  table + schema → features, candidates, blocks
    neighbors.py    step 2  features → k nearest rows; index.py finds what is near
    weights.py      step 3  a small quadratic programme per row → weights
    propagate.py    step 4  confidences flow along the weights
    estimators/     graph.py: steps 2 to 4, twice, the paper's Algorithm 1; and other methods
    methods.py      what the settings say of a method, and which rows are hidden to judge it
    exclusions.py   how exclusions arise: what a cell says about the value behind it
    heldout.py      what hidden cells tell about the answers
    decode.py       step 5  confidences → columns
    verdict.py      which CFs can be trusted → report.py
    imputation.py   all of it, for a data frame: `impute`
    tuning.py       which settings hidden cells favor: `tune`; rewrite.py puts them into a schema
    masking.py      true values → exclusions, for experiments: `mask`; truth.py reads them
    evaluation.py   answers against the truth: `evaluate`; scores.py says how good they are
    outputs.py      what a run leaves behind: the table, its report, records set aside
    cli.py          all of it, for the command line: `cfl`

OF: ordinary feature. CF: complementary feature.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cfl_cli.errors import CflError, DataError, ResourceError, SchemaError, UsageError
    from cfl_cli.jobs.evaluate import Evaluation, evaluate
    from cfl_cli.jobs.impute import Result, impute
    from cfl_cli.jobs.mask import Masked, mask
    from cfl_cli.schema.model import Schema, Settings
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
    "Evaluation": "evaluation",
    "Masked": "masking",
    "Report": "report",
    "Result": "imputation",
    "Schema": "schema",
    "Settings": "schema",
    "evaluate": "evaluation",
    "impute": "imputation",
    "mask": "masking",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that `cfl --help` stays quick."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 — as late as the rest

    return getattr(import_module(f"{__name__}.{_HOME.get(name, 'errors')}"), name)
