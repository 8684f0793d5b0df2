"""Estimates the values behind exclusions: columns that only say what a value is not.

The map of the house. A room imports only rooms above it:

    core/        what everybody may know: arrays, blocks (the columns of each CF), exclusions (what
                 a cell says), uniformity (whether cells are so), known (what is known of the
                 rows), groups, posterior, log_score; draws, parallel, stages, budget; state (what
                 is kept of something fitted); settings (+ entries, kinds), methods, messages
    tables/      bytes ↔ data frame, strictly: place, files, spool, source, formats, encodings,
                 compression; codec, csv (+ csv_sheets, csv_scan), jsonl (+ json_census,
                 json_columns), columnar (+ columnar_writer; Parquet, Arrow); frames, blocks,
                 table_writer, table
    schema/      YAML ↔ Schema: yaml_text, validation, model, settings, mechanism, group, domain,
                 for_editors; draft, edit, written
    steps/       the paper's five steps: encode (+ cells, encoding, ordinary, unusual), neighbors
                 (+ near, near_lists, near_others, distances), weights, propagate, decode
    estimators/  the methods: interface; graph (+ graph_settings, graph_stages,
                 graph_fitted, graph_brief), boost (+ boost_objective, boost_trees, boost_fitted,
                 forest), net (+ net_inputs, net_fitted), ipal, observed, commonest; auto (+
                 auto_fitted), blend; mixture
    models/      what was fitted ↔ one safe file: content (what a model holds), safe_file (arrays
                 and facts ↔ bytes; + header, json_text)
    trust/       how good the answers are: hidden_cells, possible_cells, intervals, calibration,
                 better, heldout, bias, basis, powers, wrong_cells, suspects, exact_cells,
                 fitted_mechanism; clusters, copies; facts, doubts, verdict, calibrate, report;
                 losses, reference, detector, drift (whether new cells are predicted worse), batch,
                 history; scores (by the truth), audit (by rows checked)
    jobs/        one file per job on a data frame: learn (+ prepare, refit); impute
                 (+ suspects), fit, model (+ kept, row_filler, batch, sample), cost, tune
                 (+ search, trials), mask, evaluate (+ truth), audit (+ answers, checked,
                 write_back)
    cli/         the command line: app, usage, signals, streams, log; given, options, inputs,
                 outputs, applies, audits, reports, summary; progress (+ outlook); help, manual,
                 completion; commands/ (a file each); show/ (page, layout; report (+ notes,
                 batch), history, scores, trials, plan, audit)

Beside the rooms stand errors, which all may import, and two entrances, which none does: __main__
(the command) and sklearn (a transformer for scikit-learn, an extra).

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
    from cfl_cli.jobs.fit import fit
    from cfl_cli.jobs.impute import impute
    from cfl_cli.jobs.mask import Masked, mask
    from cfl_cli.jobs.model import Model, Result
    from cfl_cli.schema.model import Schema
    from cfl_cli.trust.report import Report

__version__ = "0.1.0"
__all__ = [
    "CflError",
    "DataError",
    "Evaluation",
    "Masked",
    "Model",
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
    "fit",
    "impute",
    "mask",
]

_HOME = {
    "Evaluation": "jobs.evaluate",
    "Masked": "jobs.mask",
    "Model": "jobs.model",
    "Report": "trust.report",
    "Result": "jobs.model",
    "Schema": "schema.model",
    "RunSettings": "core.settings",
    "Settings": "core.settings",
    "evaluate": "jobs.evaluate",
    "fit": "jobs.fit",
    "impute": "jobs.impute",
    "mask": "jobs.mask",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that `cfl --help` stays quick."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 — as late as the rest

    return getattr(import_module(f"{__name__}.{_HOME.get(name, 'errors')}"), name)
