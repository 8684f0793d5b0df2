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
        "domain_size": 3,
        "exclusions_per_cell": 1.0,
        "exact_cells": 0,
        "empty_cells": 0,
        "entropy_start": 0.69,
        "entropy_end": 0.23,
        "entropy_reduction": 2 / 3,
        "entropy_reduction_null": None,
        "mean_confidence": 0.9,
        "commonest_share": 0.5,
        "heldout_score": None,
        "estimated_accuracy": None,
        "flags": (),
        "flagged": False,
        "action": "imputed",
        "fallback_rows": 0,
        "low_confidence_cells": 0,
    }
    return ColumnReport(name, **{**plain, **facts})


def report(*columns, **facts):
    return Report("0.1.0", 1234, {"k": 20}, columns, **facts)


FINITE = st.floats(allow_nan=False, allow_infinity=False)
COUNT = st.integers(0, 2**70)
ESTIMATED = st.builds(Interval, FINITE, FINITE, FINITE)
REPORTS = st.builds(
    Report,
    cfl_version=st.text(),
    rows=COUNT,
    settings=st.dictionaries(
        st.text(), st.none() | st.booleans() | st.integers() | FINITE | st.text()
    ),
    columns=st.lists(
        st.builds(
            ColumnReport,
            name=st.text(),
            domain_size=COUNT,
            exclusions_per_cell=FINITE,
            exact_cells=COUNT,
            empty_cells=COUNT,
            entropy_start=FINITE,
            entropy_end=FINITE,
            entropy_reduction=st.floats(0, 1),
            entropy_reduction_null=st.none() | FINITE,
            mean_confidence=FINITE,
            commonest_share=st.none() | FINITE,
            heldout_score=st.none() | FINITE,
            estimated_accuracy=st.none() | ESTIMATED,
            flags=st.lists(st.sampled_from(FLAGS)).map(tuple),
            flagged=st.booleans(),
            action=st.sampled_from(["imputed", "kept"]),
            fallback_rows=COUNT,
            low_confidence_cells=COUNT,
            gain=st.none() | ESTIMATED,
            confident=st.none() | st.builds(Confident, FINITE, st.none() | ESTIMATED),
            calibration=st.none()
            | st.builds(
                Calibration,
                FINITE,
                ESTIMATED,
                st.lists(st.builds(Bin, FINITE, FINITE, COUNT, FINITE, ESTIMATED), max_size=2).map(
                    tuple
                ),
                st.text(),
            ),
            impossible_values=st.lists(COUNT, max_size=2).map(tuple),
        ),
        max_size=3,
    ).map(tuple),
    warnings=st.lists(st.text()).map(tuple),
    rescued_rows=COUNT,
    timings=st.dictionaries(st.text(), FINITE),
    peak_memory_mb=st.none() | FINITE,
)
