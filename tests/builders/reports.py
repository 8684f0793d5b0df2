"""Reports to test with, and reports of any content."""

from hypothesis import strategies as st

from cfl_cli.trust.heldout import Bin, Calibration
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.report import ColumnReport, Confident, Report

FLAGS = ("small-entropy-reduction", "fallback-rows")
CONTRACT_COLUMN = {
    "name", "domain_size", "exclusions_per_cell", "exact_cells", "empty_cells", "entropy_start",
    "entropy_end", "entropy_reduction", "entropy_reduction_null", "mean_confidence",
    "commonest_share", "heldout_score", "estimated_accuracy", "flags", "flagged", "action",
    "fallback_rows", "low_confidence_cells",
}  # fmt: skip


def without_checksums(facts):
    """Return what a report's JSON holds as an older cfl wrote it, so that tests may change it."""
    return {key: fact for key, fact in facts.items() if key not in {"content", "report_sha256"}}


def column(name="job", **facts):
    plain = {
        "domain_size": 3, "exclusions_per_cell": 1.0, "exact_cells": 0, "empty_cells": 0,
        "entropy_start": 0.69, "entropy_end": 0.23, "entropy_reduction": 2 / 3,
        "entropy_reduction_null": None, "mean_confidence": 0.9, "commonest_share": 0.5,
        "heldout_score": None, "estimated_accuracy": None, "flags": (), "flagged": False,
        "action": "imputed", "fallback_rows": 0, "low_confidence_cells": 0,
    }  # fmt: skip
    return ColumnReport(name, **{**plain, **facts})


def report(*columns, **facts):
    return Report("0.1.0", 1234, {"k": 20}, columns, **facts)


FINITE = st.floats(allow_nan=False, allow_infinity=False)
COUNT = st.integers(0, 2**70)
ESTIMATED = st.builds(Interval, FINITE, FINITE, FINITE)
BINS = st.lists(st.builds(Bin, FINITE, FINITE, COUNT, FINITE, ESTIMATED), max_size=2).map(tuple)
KINDS_OF_FACTS = {  # of a column
    COUNT: "domain_size exact_cells empty_cells fallback_rows low_confidence_cells",
    FINITE: "exclusions_per_cell entropy_start entropy_end mean_confidence",
    st.none() | FINITE: "entropy_reduction_null commonest_share heldout_score",
    st.none() | ESTIMATED: "estimated_accuracy gain",
}
COLUMNS = st.builds(
    ColumnReport,
    name=st.text(),
    entropy_reduction=st.floats(0, 1),
    flags=st.lists(st.sampled_from(FLAGS)).map(tuple),
    flagged=st.booleans(),
    action=st.sampled_from(["imputed", "kept"]),
    confident=st.none() | st.builds(Confident, FINITE, st.none() | ESTIMATED),
    calibration=st.none() | st.builds(Calibration, FINITE, ESTIMATED, BINS, st.text()),
    impossible_values=st.lists(COUNT, max_size=2).map(tuple),
    **{name: kind for kind, names in KINDS_OF_FACTS.items() for name in names.split()},
)
SETTINGS = st.none() | st.booleans() | st.integers() | FINITE | st.text()
REPORTS = st.builds(
    Report,
    cfl_version=st.text(),
    rows=COUNT,
    settings=st.dictionaries(st.text(), SETTINGS),
    columns=st.lists(COLUMNS, max_size=3).map(tuple),
    warnings=st.lists(st.text()).map(tuple),
    rescued_rows=COUNT,
    timings=st.dictionaries(st.text(), FINITE),
    peak_memory_mb=st.none() | FINITE,
)
