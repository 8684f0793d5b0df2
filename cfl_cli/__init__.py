"""Estimates the values behind exclusions: columns that only say what a value is not.

The map of the house. A room imports only rooms above it:

    core/        what everybody may know: arrays, blocks (the columns of each CF), exclusions (what
                 a cell says), uniformity (whether cells are so), known (what is known of the
                 rows), groups, posterior, log_score; draws, parallel, stages, budget; settings (+
                 entries, kinds), methods, messages
    tables/      bytes ↔ data frame, strictly: files, formats, encodings, compression; codec, csv
                 (+ csv_scan), jsonl (+ json_columns), columnar (Parquet, Arrow); frames, table
    schema/      YAML ↔ Schema: yaml_text, validation, model, settings, mechanism, group, domain,
                 for_editors; draft, edit
    steps/       the paper's five steps: encode (+ cells), neighbors (+ near, near_lists,
                 distances), weights, propagate, decode
    estimators/  the methods: interface; graph (+ graph_settings, graph_stages,
                 graph_brief), boost (+ boost_objective, boost_trees), net, ipal, observed,
                 commonest; auto, blend
    trust/       how good the answers are: hidden_cells, possible_cells, intervals, calibration,
                 better, heldout, bias, basis, powers, wrong_cells, suspects, exact_cells,
                 fitted_mechanism; clusters, copies; facts, doubts, verdict, calibrate, report;
                 scores (by the truth), audit (by rows checked)
    jobs/        one file per job on a data frame: impute (+ prepare, refit, suspects), cost, tune
                 (+ search, trials), mask, evaluate (+ truth), audit (+ answers, checked,
                 write_back)
    cli/         the command line: app, usage, signals, streams, log; given, options, inputs,
                 outputs, audits, summary; progress (+ outlook); help, manual, completion;
                 commands/ (a file each); show/ (page, layout; report (+ notes), scores, trials,
                 plan, audit)

Where does it go?

    a new setting         core/settings: one entry
    a new output format   tables/: an entry in formats, and a module beside the others
    a new estimator       estimators/: a module, and its entry in core/methods
    a new report figure   trust/: a field in report, filled in verdict; cli/show/report shows it
    a new command         jobs/ and cli/commands/: a file each

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
