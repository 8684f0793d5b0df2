"""Estimates the values behind exclusions: columns that only say what a value is not.

The map of the house. A room imports only rooms above it:

    core/        what everybody may know: arrays, blocks (the columns of each CF), exclusions (what
                 a cell says), uniformity (whether cells are so), known (what is known of the
                 rows), groups, posterior, log_score, brent (searches along a line); draws,
                 parallel, portable (kernels that other hosts may run), team (who works), compiled,
                 quick (types, made in less time), freed (memory), stages, budget (+
                 control_groups); undisturbed, leaving (how signals wait, and end a run); state
                 (what is kept of something fitted); settings (+ run_settings, entries, kinds),
                 methods; messages (+ wording, as whoever calls writes it), shown, versions
    engines/     where a large run's work is done and its arrays are: maps (arrays that are files),
                 marks (what is done), run_directory (+ run_identity), stored (the engine of these);
                 cluster (Dask; + scheduler, shift, dashboard, on_workers, quiet); abroad (other
                 hosts; + parcels, remembered); opened (which one a run has)
    texts/       what the texts of a column look like: tally (the different ones with their counts);
                 numbers, dates, booleans, matching (which value a text means), columns (of any
                 type, as text); missing_codes, number_readings, date_formats, scales (+
                 scale_words), degrees, bands, sentinels, wild_numbers, ids, private (by their
                 names); lists, list_literals (as programs write them), marks, negations; spellings;
                 words
    tables/      bytes ↔ data frame, strictly: place, files (+ temporary, replaced), spool, source,
                 formats, foreign (what else a file may be), encodings (+ guess_encoding,
                 nul_bytes), compression; codec, csv (+ csv_choices, csv_dialect, csv_header,
                 csv_sheets, csv_records, csv_scan, csv_lines, csv_escapes, csv_trim, sep_line,
                 csv_hints, csv_ways, csv_width_hints), sniff (how a text table is written), jsonl
                 (+ json_census, json_columns), columnar (+ columnar_writer; Parquet, Arrow), excel
                 (+ excel_archive, excel_xlsx, excel_ods, excel_formats, excel_grid, excel_table);
                 usual (written so, whatever a schema says); frames (+ arrow_kinds), loading,
                 blocks, stored (cells on disk), table_writer, checksum, trial, table; content (all
                 cells as checksums; + raw_cells), written (what a report says of them), unchanged
                 (whether that is still so); data sets: folder (its files), data_set,
                 staged_folder, folder_writer
    schema/      YAML ↔ Schema: yaml_text, validation, model, columns, file, settings, mechanism,
                 group, domain, given (by Python), for_editors; draft (+ guess, context,
                 column_guess, number_guess, pair_guess, category_guess, cf_guess), edit,
                 written
    steps/       the paper's five steps: encode (+ cells, encoding, ordinary, fences, dated,
                 unusual; findings, causes (+ cf_causes, number_causes, type_causes), pitfalls,
                 number_pitfalls), neighbors (+ near, near_lists, near_scan, near_others,
                 distances), weights (+ support), flow (along weights), propagate (+ walk_kernels),
                 decode; compiled (+ compiled_scan, compiled_support, compiled_posterior)
    estimators/  the methods: interface; graph (+ graph_rounds, graph_settings, graph_stages,
                 graph_trace, graph_fitted, graph_brief, graph_hidden), boost (+ boost_objective,
                 boost_trees, boost_fitted, boosted_cf, forest, compiled_forest), net (+
                 net_inputs, net_fitted), ipal, observed, commonest; auto (+ auto_fitted), blend;
                 mixture; why a row is answered so: explained (as arrays), row_explained (by any
                 method), graph_explained, decisive (few neighbors), net_explained, boost_moves,
                 tree_shap
    models/      what was fitted ↔ one safe file: content (what a model holds), safe_file (arrays
                 and facts ↔ bytes; + header, json_text)
    trust/       how good the answers are: hidden_cells, possible_cells, intervals, calibration,
                 better, heldout, bias, basis, powers, wrong_cells, suspects, exact_cells,
                 fitted_mechanism; clusters, copies; facts, shares, doubts, verdict, calibrate,
                 report, use; losses, reference, detector, drift (whether new cells are predicted
                 worse; + drift_figures), batch, history; scores (by the truth), audit (by rows
                 checked); disclosure (to an attacker), coarser (OFs)
    jobs/        one file per job on a data frame: arguments (what callers give), blurred (on
                 purpose); draft; check; learn (+ prepare, scaling, refit); impute (+
                 impute_stored, diagnostics, confidences), fit (+ drawn), model (+ kept,
                 row_filler, answering, batch, sample), explain (+ explainers, ran, explain_new,
                 name_row, contributions, explanation, which_row), cost, tune (+ search, trials),
                 mask, evaluate (+ truth, keys), suspects, audit (+ answers, checked, write_back),
                 risk (+ ways, trial, otherwise)
    cli/         the command line: app, within_limits (of memory), unwanted, usage, signals,
                 streams, log; given, options, inputs, other_names, discreet, outputs, written,
                 imputes, fits, checks, applies, explains (+ explains_table), audits, reports,
                 verified, summary; progress (+ outlook); help, manual, completion; commands/ (a
                 file each); show/ (page, layout; report (+ notes, batch), explain (+ neighbors),
                 rows, suspects, history, scores, trials, findings, audit, risk; html; web/ (for
                 browsers: environment, names, numbers; report, overview, details, made; sections;
                 charts, plots, courses, neighborhood; templates))

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

from cfl_cli.core import Shown

# Not from `typing`, which takes a while: `cfl` cannot listen to Ctrl-C before it has this.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfl_cli.commands.check.job import Checked, check
    from cfl_cli.commands.evaluate.job import Evaluation, evaluate
    from cfl_cli.commands.evaluate.masking import Masked, mask
    from cfl_cli.commands.init.draft import draft
    from cfl_cli.commands.risk.job import Risk, risk
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
    "mask",
    "risk",
    "tune",
]

_HOME = {
    "Checked": "commands.check.job",
    "check": "commands.check.job",
    "Evaluation": "commands.evaluate.job",
    "Masked": "commands.evaluate.masking",
    "Model": "run.result",
    "Report": "trust.report",
    "Result": "run.result",
    "Schema": "schema.model",
    "RunSettings": "core.settings",
    "Settings": "core.settings",
    "Tuning": "commands.tune.job",
    "draft": "commands.init.draft",
    "evaluate": "commands.evaluate.job",
    "fit": "run.fit",
    "impute": "run.impute",
    "mask": "commands.evaluate.masking",
    "Risk": "commands.risk.job",
    "risk": "commands.risk.job",
    "tune": "commands.tune.job",
}


def _rendered(thing: Shown, form: str) -> str:
    """Return a result as text; what draws it is imported only now."""
    from cfl_cli.cli.pages import shown  # noqa: PLC0415 — as late as the rest

    return shown(thing, form)


Shown.rendered = _rendered


def __getattr__(name: str) -> "Any":
    """Import a public name when it is first asked for, so that `cfl --help` stays quick."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 — as late as the rest

    return getattr(import_module(f"{__name__}.{_HOME.get(name, 'errors')}"), name)


def __dir__() -> list[str]:
    """Return all names, also those that nobody has asked for."""
    return sorted({*globals(), *__all__})
