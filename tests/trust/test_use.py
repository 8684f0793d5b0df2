"""Whether a CF can be used, for every state that a report can show it in."""

from dataclasses import replace

import pytest
from builders.reports import column, report

from cfl_cli.trust import (
    AUDIT,
    EXACT_CELLS,
    NONE,
    NOT_HIDDEN,
    Grade,
    by_state,
    use_of,
)
from cfl_cli.trust.heldout import Calibration
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.report import BatchFacts, judge_audit

GOOD = {
    "estimated_accuracy": Interval(0.92, 0.9, 0.97),
    "commonest_accuracy": Interval(0.37, 0.3, 0.4),
    "accuracy_basis": "uniform",
    "hidden_cells": 900,
}


def use(**facts):
    one = column("dx", **{**GOOD, **facts})
    return use_of(one, report(one))


def test_a_good_cf_is_to_be_used_with_its_accuracy_in_plain_numbers():
    found, right = use(), "use it. About 92 in 100 answers are right (90 to 97)."
    assert (found.state, found.look_at) == (Grade.USE, ())
    assert found.sentence == f"{right} Always answering the commonest value: 37."
    assert use(commonest_accuracy=None).sentence == right


def test_a_cf_that_nobody_measured_is_not_relied_on():
    found = use(estimated_accuracy=None, accuracy_basis=NONE, accuracy_reason=NOT_HIDDEN)
    assert found.state is Grade.NOT_MEASURED
    assert "no cells were hidden (--folds 0)" in found.sentence
    assert use(estimated_accuracy=None).sentence == "not measured; do not rely on it yet."


def test_where_exclusions_are_not_random_nothing_is_known():
    facts = {"flags": ("exclusions-not-uniform",), "flagged": True}
    found = use(**facts, estimated_accuracy=None)
    assert found.state is Grade.NOT_KNOWN
    assert "cfl audit" in found.sentence
    # … unless something tells that assumes nothing of them.
    for basis, word in ((AUDIT, "the audit's"), (EXACT_CELLS, "exact cells")):
        found = use(**facts, accuracy_basis=basis)
        assert found.state is Grade.CARE
        assert word in found.look_at[0]


def test_what_is_no_better_than_the_commonest_is_not_used_and_says_by_how_much():
    flags = ("no-better-than-commonest",)
    half = Interval(0.47, 0.43, 0.6)
    found = use(flags=flags, flagged=True, estimated_accuracy=half, action="kept")
    assert found.state is Grade.DO_NOT_USE
    assert found.sentence == (
        "do not use it; no better than always answering the commonest value (47 in 100 answers are "
        "right, against 37)."
    )
    assert found.look_at == ("It was left as observed.",)


def test_a_drifted_cf_is_not_used():
    found = use(flags=("drifted",), flagged=True)
    assert found.state is Grade.DO_NOT_USE
    assert "Of this batch about 92 in 100 answers are right (90 to 97)" in found.sentence


OVER = Calibration(0.1, Interval(0.08, 0.05, 0.11), (), "")
AUDITED = judge_audit(
    answers=1000,
    drawn=100,
    checked=100,
    right=80,
    estimate=Interval(0.95, 0.94, 0.96),
    former=(None, None),
    contradicted=None,
)


@pytest.mark.parametrize(
    ("facts", "state", "word"),
    [
        ({"estimated_accuracy": Interval(0.33, 0.3, 0.36)}, Grade.CARE, "--mode soft"),
        ({"hidden_cells": 12}, Grade.CARE, "rests on 12 hidden cells"),
        ({"estimated_accuracy": Interval(0.8, 0.6, 0.95)}, Grade.CARE, "only roughly"),
        ({"calibration": OVER}, Grade.CARE, "too high, by about 8 in 100"),
        ({"fallback_rows": 13}, Grade.CARE, "In 13 rows"),
        ({"fallback_rows": 12}, Grade.USE, "In 12 rows"),  # of 1,234
        ({"flags": ("new-categories",)}, Grade.CARE, "never seen"),
        ({"flags": ("out-of-range",)}, Grade.CARE, "beyond"),
        ({"audit": AUDITED, "accuracy_basis": AUDIT}, Grade.USE, "was too high"),
        ({"audit": AUDITED, "accuracy_basis": AUDIT, "hidden_cells": 3}, Grade.USE, "too high"),
    ],
)
def test_what_to_look_at_first_is_said(facts, state, word):
    found = use(**facts)
    assert found.state is state
    assert any(word in sentence for sentence in found.look_at)


def test_cfs_are_listed_by_state_in_the_order_of_the_report():
    good, bad = column("b", **GOOD), column("a")
    facts = report(bad, good, replace(good, name="c"), batch=BatchFacts(9, {}, {}, "", ""))
    found = {state: [one.name for one in columns] for state, columns in by_state(facts).items()}
    assert found == {Grade.USE: ["b", "c"], Grade.NOT_MEASURED: ["a"]}
