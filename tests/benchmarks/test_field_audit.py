"""The benchmark of audits, on a case made by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.field.audit import Audits, audits, right, table


def case(answers):
    """Return a case of 200 rows with two CFs; the first half of the first one's values is 1."""
    truth = np.zeros((200, 2), dtype=int)
    truth[:100, 0] = 1
    candidates = np.ones((200, 4), dtype=bool)
    confidences = np.tile([0.9, 0.1, 0.2, 0.8], (200, 1))
    candidates[:50, 3] = False  # the second CF's answer is 0 there, and 1 elsewhere
    blocks = [SimpleNamespace(columns=slice(0, 2)), SimpleNamespace(columns=slice(2, 4))]
    return SimpleNamespace(
        table="made",
        mechanism="by hand",
        truth=truth,
        encoded=SimpleNamespace(blocks=blocks, candidates=candidates),
        estimate=SimpleNamespace(answers=answers, confidences=confidences),
    )


def test_answers_are_those_of_the_estimate_or_the_most_confident_candidates():
    assert right(case(None)).mean(axis=0).tolist() == [0.5, 0.25]
    assert right(case(np.zeros((200, 2), dtype=int))).mean(axis=0).tolist() == [0.5, 1.0]


def test_most_audits_hold_the_truth_and_all_of_them_where_every_row_is_checked():
    some = [*audits(case(None), rows=50, times=200)]
    assert [one.accuracy for one in some] == [0.5, 0.25]
    assert all(one.held > 0.9 for one in some)
    assert some[0].width == pytest.approx(0.235, abs=0.02)
    assert {(one.held, one.width) for one in audits(case(None), rows=200, times=3)} == {(1.0, 0.0)}


def test_the_page_has_a_line_for_each_mechanism_and_one_for_all():
    lines = [*table({"uniform": [Audits(0.5, 0.96, 0.2), Audits(0.7, 0.94, 0.1)]}, times=10)]
    assert lines[2] == "| uniform | 2 | 0.50 to 0.70 | 95.0% of 20 | 0.150 |"
    assert lines[3].startswith("| all | 2 |")
