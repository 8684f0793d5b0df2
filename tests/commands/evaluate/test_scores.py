"""Scores are those of a plain loop, and of examples worked by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.commands.evaluate.job import (
    CLIP,
    accuracy,
    calibration_error,
    cross_entropy,
    macro_f1,
    share_in_truth,
)

PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30)
CONFIDENCES = st.floats(0, 1) | st.sampled_from([n / 10 for n in range(11)])


def test_scores_worked_by_hand():
    truth, answers = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 1])
    assert accuracy(truth, answers) == 0.5
    # F1 of 0: 2·1/(2+1); of 1: 2·1/(1+3); of 2: 0.
    assert macro_f1(truth, answers) == pytest.approx((2 / 3 + 1 / 2 + 0) / 3)
    assert cross_entropy(np.array([0.5, 0.25])) == pytest.approx(1.5 * math.log(2))
    # In (0.6, 0.7] one right of two at 0.65 on average; in (0.9, 1] one right of one at 1.
    right, confidence = np.array([True, False, True]), np.array([0.7, 0.6000001, 1.0])
    assert calibration_error(right, confidence) == pytest.approx((2 * 0.15 + 0) / 3, abs=1e-6)


def test_a_confidence_of_0_in_the_truth_costs_as_much_as_the_clip():
    assert cross_entropy(np.array([0.0])) == pytest.approx(10 * math.log(10))
    assert cross_entropy(np.array([CLIP / 7])) == cross_entropy(np.array([0.0]))


def test_the_confidence_in_what_is_true_is_picked_row_by_row():
    confidences = np.array([[0.1, 0.9], [0.3, 0.7]])
    assert share_in_truth(np.array([1, 0]), confidences).tolist() == [0.9, 0.3]


@given(PAIRS)
def test_macro_f1_is_that_of_precision_and_recall_value_by_value(pairs):
    found = []
    for value in range(5):
        true = sum(y == value for y, _ in pairs)
        answered = sum(a == value for _, a in pairs)
        hits = sum(y == a == value for y, a in pairs)
        if true or answered:
            precision = hits / answered if answered else 0
            recall = hits / true if true else 0
            both = precision + recall
            found.append(2 * precision * recall / both if both else 0)
    truth, answers = np.array(pairs).T
    assert macro_f1(truth, answers) == pytest.approx(sum(found) / len(found))


@given(st.lists(st.tuples(st.booleans(), CONFIDENCES), min_size=1, max_size=30))
def test_calibration_error_is_that_of_ten_bins_one_by_one(answers):
    total = 0.0
    for number in range(10):
        low, high = number / 10, (number + 1) / 10
        inside = [
            (right, confidence)
            for right, confidence in answers
            if low < confidence <= high or (number == 0 and confidence == 0)
        ]
        if inside:
            share = sum(right for right, _ in inside) / len(inside)
            mean = sum(confidence for _, confidence in inside) / len(inside)
            total += len(inside) / len(answers) * abs(share - mean)
    right, confidence = (np.array(part) for part in zip(*answers, strict=True))
    assert calibration_error(right, confidence) == pytest.approx(total, abs=1e-12)
