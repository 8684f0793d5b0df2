import csv
import io
import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli import Schema, evaluate, impute, mask
from cfl_cli.cli.pages import render
from cfl_cli.commands.evaluate.job import (
    CLIP,
    ColumnScores,
    Evaluation,
    Scores,
    accuracy,
    calibration_error,
    cross_entropy,
    macro_f1,
    page,
    share_in_truth,
)
from cfl_cli.errors import DataError, UsageError
from cfl_cli.schema.model import Complementary, Ordinary

SCHEMA = Schema(
    columns={"x": Ordinary(type="numeric"), "cf": Complementary(values=("a", "b", "c"))}
)
# Row by row: what the cell rules out, the confidences, the answer; and the truth.
CELLS = ["a", "b", "c", ""]
CONFIDENCES = [[0.0, 0.75, 0.25], [0.5, 0.0, 0.5], [0.25, 0.75, 0.0], [0.5, 0.25, 0.25]]
ANSWERS = ["b", "a", "b", "a"]
TRUTH = pl.DataFrame({"cf": ["b", "c", "a", None]})


def output(mode="both", answers=ANSWERS, **columns):
    soft = {f"cf__{v}": [row["abc".index(v)] for row in CONFIDENCES] for v in "abc"}
    hard = {
        "cf_imputed": pl.Series(answers, dtype=pl.String),
        "cf_confidence": [0.75, 0.5, 0.75, 0.5],
    }
    new = {"hard": hard, "soft": soft, "both": hard | soft}[mode]
    return pl.DataFrame({"x": range(4), "cf": CELLS} | new | columns)


def scores(*arguments, **columns):
    [found] = evaluate(output(*arguments, **columns), TRUTH, SCHEMA).columns
    return found


HARD = {
    "accuracy": 1 / 3,
    "macro_f1": (0 + 2 / 3 + 0) / 3,
    # All three in (0.4, 0.5] or (0.7, 0.8]: |0 − 0.5| and |0.5 − 0.75|, twice.
    "expected_calibration_error": (0.5 + 2 * 0.25) / 3,
}
SOFT = {
    "cross_entropy": -(math.log(0.75) + math.log(0.5) + math.log(0.25)) / 3,
    "entropy": (2 * 0.5623351446 + math.log(2) + 1.5 * math.log(2)) / 4,
}


@pytest.mark.parametrize("mode", ["hard", "soft", "both"])
def test_scores_are_those_worked_by_hand_whatever_columns_there_are(mode):
    found = scores(mode)
    assert (found.name, found.domain_size, found.known, found.unanswered) == ("cf", 3, 3, 0)
    for name, value in HARD.items():
        assert getattr(found, name) == pytest.approx(value)
    for name, value in SOFT.items():
        expected = None if mode == "hard" else pytest.approx(value, abs=1e-9)
        assert getattr(found, name) == expected
    assert found.zero_confidence == (None if mode == "hard" else 0)


def test_unanswered_rows_count_for_the_cross_entropy_alone():
    found = scores("both", ["b", None, None, None])
    assert (found.known, found.unanswered) == (3, 2)
    assert (found.accuracy, found.macro_f1) == (1, 1)
    assert found.expected_calibration_error == pytest.approx(0.25)
    assert found.cross_entropy == pytest.approx(SOFT["cross_entropy"])


def test_cells_that_rule_out_the_truth_are_counted():
    assert scores("hard").contradicted == 0
    other = pl.DataFrame({"cf": ["a", "b", "a", "b"]})
    assert evaluate(output("hard"), other, SCHEMA).columns[0].contradicted == 2


def test_full_confidence_in_the_truth_has_a_cross_entropy_of_0_and_not_of_minus_0():
    sure = {f"cf__{v}": [float(v == "c")] * 4 for v in "abc"}
    frame = pl.DataFrame({"cf": CELLS} | sure)
    found = evaluate(frame, pl.DataFrame({"cf": ["c", "c", None, "c"]}), SCHEMA).columns[0]
    assert math.copysign(1, found.cross_entropy) == 1


def test_a_cf_without_answers_has_no_accuracy():
    found = scores("hard", [None] * 4)
    assert (found.unanswered, found.accuracy, found.macro_f1) == (3, None, None)
    assert found.expected_calibration_error is None


def test_no_confidence_in_the_truth_is_counted_and_clipped():
    found = evaluate(output("soft"), pl.DataFrame({"cf": ["a", "c", "a", "a"]}), SCHEMA).columns[0]
    assert found.zero_confidence == 1
    logs = 10 * math.log(10) - math.log(0.5) - math.log(0.25) - math.log(0.5)
    assert found.cross_entropy == pytest.approx(logs / 4)


def test_without_hard_columns_the_answer_is_the_most_confident_candidate():
    # Without correction, what the cell rules out may have most confidence; of equals, the first.
    odd = output("soft", cf__a=[0.8, 0.5, 0.25, 0.25], cf__b=[0.1, 0.0, 0.75, 0.375])
    odd = odd.with_columns(cf__c=pl.Series([0.1, 0.5, 0.0, 0.375]))
    right = pl.DataFrame({"cf": ["b", "a", "b", "b"]})
    assert evaluate(odd, right, SCHEMA).columns[0].accuracy == 1


def test_a_truth_without_values_gives_a_warning():
    found = evaluate(output(), pl.DataFrame({"cf": [None] * 4}), SCHEMA)
    assert "truth has no true values for it" in found.warnings[0]
    [column] = found.columns
    assert (column.known, column.accuracy, column.cross_entropy) == (0, None, None)
    assert column.entropy == pytest.approx(SOFT["entropy"])


def test_the_mean_is_over_the_cfs_that_have_the_score():
    def column(**known):
        none = dict.fromkeys(HARD | SOFT)
        return ColumnScores("cf", 3, 1, 0, 0, None, **none | known)

    found = Evaluation(1, (column(accuracy=0.5, entropy=1.0), column(accuracy=1.0), column()))
    assert found.mean == Scores(0.75, None, None, 1.0, None)


@pytest.mark.parametrize("mode", ["hard", "soft", "both"])
def test_what_impute_returns_is_scored_as_a_plain_loop_would(mode):
    x = np.random.default_rng(0).random(200)
    truth = pl.DataFrame({"x": x, "cf": np.array(list("abc"))[(x * 2.99).astype(int)]})
    table = mask(truth, SCHEMA, empty_share=0.1).frame
    result = impute(table, SCHEMA, k=5, iterations=5, folds=0, mode=mode, min_confidence=0.6)
    [found] = evaluate(result.frame, truth, SCHEMA).columns
    right, losses, answered = 0, [], 0
    candidates = [[v != cell for v in "abc"] for cell in table["cf"]]
    for row, value, allowed in zip(
        result.confidences.arrays["cf"], truth["cf"], candidates, strict=True
    ):
        losses.append(-math.log(max(row["abc".index(value)], 1e-10)))
        top = max(range(3), key=lambda place: (allowed[place], row[place]))
        if mode == "soft" or row[top] >= 0.6:
            answered += 1
            right += "abc"[top] == value
    assert found.unanswered == 200 - answered
    assert found.accuracy == pytest.approx(right / answered)
    if mode != "hard":
        assert found.cross_entropy == pytest.approx(np.mean(losses))
        assert found.entropy == pytest.approx(result.report.columns[0].entropy_end)


def test_all_kinds_of_tables_are_scored_alike():
    expected = evaluate(output(), TRUTH, SCHEMA)
    odd = output().to_pandas()
    odd["things"] = [object(), [1], {"a": 1}, None]
    odd["cut"] = pd.arrays.IntervalArray.from_breaks(range(5))
    for frame in (odd, output().to_arrow()):
        for true in (TRUTH.to_pandas(), TRUTH.to_arrow()):
            assert evaluate(frame, true, SCHEMA) == expected
    assert evaluate(output().cast(pl.String), TRUTH, SCHEMA) == expected
    with pytest.raises(UsageError):
        evaluate({}, TRUTH, SCHEMA)


def test_a_domain_that_is_left_out_is_the_one_that_was_imputed():
    of = Schema(columns={"x": Ordinary(type="numeric"), "cf": Complementary()})
    found = evaluate(output(), TRUTH, of)
    assert found.columns == evaluate(output(), TRUTH, SCHEMA).columns
    assert "the 3 seen count as the whole domain" in found.warnings[0]


def test_numbers_are_confidences_even_if_the_schema_calls_0_missing():
    of = SCHEMA.model_copy(update={"missing": ("", "0", "0.0")})
    assert evaluate(output(), TRUTH, of) == evaluate(output(), TRUTH, SCHEMA)


def problems(frame, truth=TRUTH):
    with pytest.raises(DataError) as caught:
        evaluate(frame, truth, SCHEMA)
    return str(caught.value)


def test_rows_must_be_as_many():
    said = problems(output(), TRUTH[:3])
    assert said.startswith("table: 4 rows, but truth has 3: rows are matched by their order")
    assert "no rows" in problems(output()[:0], TRUTH[:0])


def test_all_problems_are_named_at_once():
    bad = output(answers=["b", "z", "a", "a"], cf__a=[0.0, 2.0, 0.25, None])
    said = problems(bad, pl.DataFrame({"cf": ["b", "B", "d", None]})).splitlines()
    assert said == [
        (
            "table: column 'cf__a': 2 cells like '2.0' (rows 1, 3) are not confidences: expected a "
            "number from 0 to 1"
        ),
        (
            "table: column 'cf_imputed': 'z' (row 1) is not in the domain: correct it "
            "or add it to the "
            "column's `values`"
        ),
        "truth: column 'cf': 'B' (row 1) differs from a value only in blanks or case: write 'b' or set ignore_case: true",
        (
            "truth: column 'cf': 'd' (row 2) is not in the domain: correct it or add it to the "
            "column's `values`"
        ),
    ]


@pytest.mark.parametrize(
    ("frame", "truth", "said"),
    [
        (output(), TRUTH.rename({"cf": "CF"}), "truth: column 'cf' is in the schema but not in"),
        (output(), TRUTH.rename({"cf": "CF"}), "did you mean 'CF'?"),
        (output().drop("cf"), TRUTH, "table: column 'cf' is in the schema but not in the table"),
        (
            output("soft").drop("cf__b"),
            TRUTH,
            "no column 'cf__b', which the imputed values of 'cf'",
        ),
        (
            output("hard").drop("cf_confidence"),
            TRUTH,
            "table: no column 'cf_confidence', which the",
        ),
        (
            TRUTH,
            TRUTH,
            "table: no imputed values for 'cf': expected column 'cf_imputed' or 'cf__VALUE': pass the output",
        ),
        (output(cf_imputed=[[1]] * 4), TRUTH, "column 'cf_imputed' holds List"),
        (
            output(cf_confidence=["x"] * 4),
            TRUTH,
            "column 'cf_confidence': 4 cells like 'x' (rows 0, 1, 2 …) are not confidences",
        ),
        (output(cf__a=[0.5] * 4), TRUTH, "row 1, CF 'cf': the confidences do not sum to 1"),
        (
            output(cf=["a;b", "a", "a", "a"]),
            TRUTH,
            "column 'cf': 'a;b' (row 0) holds several values, separated by ';'",
        ),
    ],
)
def test_what_cannot_be_scored_is_refused_with_its_place(frame, truth, said):
    assert said in problems(frame, truth)


# How it is shown


def test_hard_columns_alone_lack_confidences_and_a_note_says_so():
    found = evaluate(output("hard"), TRUTH, SCHEMA)
    assert any("impute with --mode soft or both" in note for note in page(found).notes)
    assert json.loads(found.to_json())["mean"]["cross_entropy"] is None


def test_a_kept_cf_has_no_answers_and_no_confidence_in_them_and_is_scored_by_its_soft_columns():
    nothing = pl.Series([None] * 4, dtype=pl.Float64)
    found = scores("both", [None] * 4, cf_confidence=nothing)
    assert (found.unanswered, found.accuracy, found.expected_calibration_error) == (3, None, None)
    assert found.cross_entropy == pytest.approx(SOFT["cross_entropy"])
    with pytest.raises(DataError, match=r"column 'cf_confidence': 4 empty cells"):
        scores("both", cf_confidence=nothing)


SHOWN = Evaluation(
    1234,
    (
        ColumnScores("job|x", 3, 1200, 10, 3, 2, 0.5, 0.25, 1 / 3, 0.1, 0.05),
        ColumnScores("ward\x1b", 40, 1234, 0, 0, 0, 1.0, 1.0, 0.0, 0.0, 0.0),
    ),
    ("beware",),
)


def test_the_table_has_a_line_for_every_cf_one_for_the_mean_and_notes():
    lines = render(page(SHOWN), "table").splitlines()
    assert lines[:6] == [
        "1,234 rows, 2 CFs",
        "",
        "CF       values  rows left empty accuracy macro-F1 cross entropy entropy   ECE",
        "job|x         3 1,200         10    0.500    0.250         0.333   0.100 0.050",
        r"ward\x1b     40 1,234          0    1.000    1.000         0.000   0.000 0.000",
        "mean                                0.750    0.625         0.167   0.050 0.025",
    ]
    notes = " ".join(lines[6:])
    for words in (
        "job|x: 34 rows without a true value, used only for the entropy.",
        "job|x: 10 rows left empty; accuracy, macro-F1 and ECE are computed from the other rows.",
        "job|x: in 3 rows the cell rules out the true value. ",
        "job|x: 2 rows with a confidence below 1e-10 in the true value; the cross entropy uses",
        "warning: beware.",
    ):
        assert words in notes
    assert "ward" not in notes


def test_a_narrow_terminal_gets_every_score():
    lines = render(page(SHOWN), "table", width=40).splitlines()
    assert max(map(len, lines)) <= 40
    assert lines[2:11] == [
        "CF       values  rows left empty",
        "         accuracy macro-F1 cross entropy",
        "         entropy   ECE",
        "job|x         3 1,200         10",
        "            0.500    0.250         0.333",
        "           0.100 0.050",
        r"ward\x1b     40 1,234          0",
        "            1.000    1.000         0.000",
        "           0.000 0.000",
    ]
    assert lines[11:13] == ["mean        0.750    0.625         0.167", "           0.050 0.025"]


def test_programs_get_full_precision():
    facts = json.loads(render(page(SHOWN), "json"))
    assert facts["columns"][0]["cross_entropy"] == 1 / 3
    assert facts["mean"]["cross_entropy"] == 1 / 6
    assert facts["warnings"] == ["beware"]
    rows = list(csv.DictReader(io.StringIO(render(page(SHOWN), "csv"))))
    assert [row["name"] for row in rows] == ["job|x", "ward\x1b", ""]
    assert float(rows[0]["cross_entropy"]) == 1 / 3
    assert rows[2]["known"] == ""
    assert r"| job\|x | 3 | 1,200 |" in render(page(SHOWN), "md")


PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30)
SURE = st.floats(0, 1) | st.sampled_from([n / 10 for n in range(11)])


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


@given(st.lists(st.tuples(st.booleans(), SURE), min_size=1, max_size=30))
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


def test_confidences_of_few_digits_need_not_sum_to_1():
    thirds = {f"cf__{value}": [0.3] * 4 for value in "abc"}  # 1/3 with --digits 1
    assert scores("soft", **thirds).known == 3
    with pytest.raises(DataError, match="do not sum to 1"):
        scores("soft", **thirds | {"cf__c": [0.2] * 4})
    with pytest.raises(DataError, match="do not sum to 1"):
        scores("soft", **thirds | {"cf__c": [0.3333] * 4})
