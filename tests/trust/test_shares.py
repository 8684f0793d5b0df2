"""How common values are and how sure answers, counted by hand; what is rare has no number."""

import numpy as np
import pytest
from builders.encoding import encoded

from cfl_cli.methods.interface import Estimate, Origin
from cfl_cli.schema.model import Complementary
from cfl_cli.trust.facts import ColumnFacts
from cfl_cli.trust.verdict import THRESHOLDS, confidence_shares, coverage, value_shares

ABC = {"values": ["a", "b", "c"], "separator": ";", "exact": "="}


def facts(cells, confidences, **cf):
    table = encoded(cells, Complementary(**cf))
    n, m = len(cells), np.ones((len(cells), 1))
    estimate = Estimate(np.array(confidences), np.zeros((n, 1), bool), m, (Origin("graph"),))
    return ColumnFacts(table, estimate, 0)


def test_shares_are_mean_confidences_and_shares_of_the_cells_that_rule_a_value_out():
    # 60 cells rule out a and b, 30 rule out c, 10 are exact (=b) and 20 empty: 90 list exclusions.
    cells = ["a;b"] * 60 + ["c"] * 30 + ["=b"] * 10 + [""] * 20
    confidences = [[0, 0, 1.0]] * 60 + [[0.5, 0.5, 0]] * 30 + [[0, 1.0, 0]] * 10
    confidences += [[0.6, 0.3, 0.1]] * 20
    a, b, c = value_shares(facts(cells, confidences, **ABC))
    assert [one.label for one in (a, b, c)] == ["a", "b", "c"]
    assert (a.estimated, b.estimated) == pytest.approx(((15 + 12) / 120, (15 + 10 + 6) / 120))
    assert c.estimated == pytest.approx(62 / 120)
    assert (a.ruled_out, b.ruled_out, c.ruled_out) == pytest.approx((60 / 90, 60 / 90, 30 / 90))


def test_what_is_under_ten_rows_or_one_per_cent_has_no_number():
    cells = ["a"] * 9 + ["b"] * 1191
    confidences = [[0, 0.5, 0.5]] * 9 + [[0.995, 0, 0.005]] * 1191
    a, b, c = value_shares(facts(cells, confidences, **ABC))
    assert a.ruled_out is None  # nine rows
    assert (b.estimated, c.estimated) == (None, None)  # 4.5 rows; 0.9 %
    assert b.ruled_out == pytest.approx(1191 / 1200)


def test_a_rare_value_that_no_schema_lists_has_no_label():
    cells = ["common"] * 50 + ["usual"] * 50 + ["Jane Doe, born 1970"]
    confidences = [[0, 0, 1.0]] * 50 + [[0, 1.0, 0]] * 50 + [[0, 0.5, 0.5]]
    rare, *others = value_shares(facts(cells, confidences))
    assert (rare.label, rare.estimated, rare.ruled_out) == (None, None, None)
    assert [one.label for one in others] == ["common", "usual"]


def test_answers_are_counted_by_tenths_of_confidence_and_exact_cells_are_not():
    confidences = [[0.55, 0.45, 0], [0.55, 0.45, 0], [0.05, 0.95, 0], [0, 0, 1.0]]
    found = facts(["c", "c", "c", "=c"], confidences, **ABC)
    assert confidence_shares(found) == pytest.approx([0] * 5 + [2 / 3] + [0] * 3 + [1 / 3])
    assert confidence_shares(facts(["=a", "=b"], np.eye(3)[:2], **ABC)) == ()


def test_thresholds_leave_the_answers_that_are_as_confident():
    confidences = [[0.55, 0.45, 0], [0.7, 0.3, 0], [0.05, 0.95, 0], [0, 0, 1.0]]
    found = coverage(facts(["c", "c", "c", "=c"], confidences, **ABC), None)
    shares = {one.min_confidence: one.share for one in found}
    assert [*shares] == [*THRESHOLDS]
    assert [shares[x] for x in (0.5, 0.55, 0.6, 0.7, 0.75, 0.95)] == [1, 1, 0.75, 0.75, 0.5, 0.5]
    assert all(one.accuracy is None for one in found)
