"""How a schema says which values a cell rules out, and what comes of it."""

import numpy as np
import polars as pl
import pytest

from cfl_cli import Schema, impute
from cfl_cli.errors import DataError, SchemaError

HEAD = """\
version: 1
columns:
  x: {role: ordinary, type: numeric}
  cf:
    role: complementary
    values: [a, b, c]
    mechanism: """
TABLE = ((0.0, 0.9, 0.1), (1.0, 0.0, 0.0), (0.5, 0.5, 0.0))


def rates(text):
    return Schema.parse(HEAD + text, "s.yml").complementary["cf"].mechanism


@pytest.mark.parametrize("text", ["{a: 3, b: 1, c: 1}", "[3, 1, 1]", "{c: 10, a: 30.0, b: 1e1}"])
def test_weights_say_how_often_each_value_is_ruled_out(text):
    assert rates(text) == ((0, 0.5, 0.5), (0.75, 0, 0.25), (0.75, 0.25, 0))


@pytest.mark.parametrize(
    "text",
    [
        "[[0, 0.9, 0.1], [1, 0, 0], [0.5, 0.5, 0]]",
        "{a: {b: 0.9, c: 0.1}, b: {a: 1}, c: {a: 0.5, b: 0.5}}",
        "{c: [0.5, 0.5, 0], a: {a: 0, b: 0.9, c: 0.1}, b: [1, 0, 0]}",
    ],
)
def test_a_table_holds_the_chance_of_each_exclusion_by_the_true_value(text):
    assert rates(text) == TABLE


def test_weights_are_relative_whatever_their_size():
    assert rates("{a: 3e307, b: 1e307, c: 1e307}")[0] == (0, 0.5, 0.5)
    assert np.sum(rates("[[0, 0.333, 0.667], [0.3333, 0, 0.6666], [0.5, 0.5, 0]]"), axis=1) == (
        pytest.approx([1, 1, 1], abs=1e-15)
    )
    cf = {"role": "complementary", "values": ["a", "b", "c"], "mechanism": [1e-320] * 3}
    schema = Schema(columns={"x": {"role": "ordinary", "type": "numeric"}, "cf": cf})
    assert schema.complementary["cf"].mechanism[0] == (0.0, 0.5, 0.5)


WRONG = """\
{a: 3, b: 1}  →  s.yml:7:5: no weight for 'c': add one
{a: 3, b: 1, c: 1, d: 2}  →  s.yml:7:38: unknown value 'd'
often  →  s.yml:7:16: expected a weight for each value, or a table of probabilities
fitt  →  s.yml:7:16: expected a weight for each value, or a table of probabilities, found 'fitt' (did you mean 'fit'?)
[1, 2]  →  s.yml:7:16: expected 3 entries, as many as there are values, found 2
[[0, 1], [1, 0], [1, 0]]  →  s.yml:7:5: expected 3 entries
{a: {b: 1}, b: {c: 1}, c: {a: 0.7}}  →  s.yml:7:42: expected probabilities that sum to 1
{a: {b: 1}, b: {c: 1}, c: {c: 1}}  →  s.yml:7:42: 'c' cannot rule itself out
{a: {b: 1}, b: {c: 1}}  →  s.yml:7:5: expected probabilities that sum to 1 for 'c', found 0
{a: 0, b: 0, c: 1}  →  s.yml:7:32: only 'c' has a weight, but a value cannot rule
{a: 0, b: 0, c: 0}  →  s.yml:7:16: expected a weight above 0 for two values or more
{a: -1, b: 1, c: 1}  →  s.yml:7:20: expected a number, 0 or more, found '-1'
{a: {b: often}, b: {a: 1}, c: {a: 1}}  →  s.yml:7:24: expected a number, 0 or more
{a: nan, b: 1, c: 1}  →  s.yml:7:20: expected a number, 0 or more, found 'nan'
"""


@pytest.mark.parametrize("case", WRONG.splitlines())
def test_what_is_no_mechanism_is_refused_with_its_place(case):
    text, said = case.split("  →  ")
    with pytest.raises(SchemaError) as caught:
        rates(text)
    assert str(caught.value).startswith(said)


def test_a_mechanism_needs_a_domain():
    with pytest.raises(SchemaError, match="list it under `values`"):
        Schema.parse(HEAD.replace("    values: [a, b, c]\n", "") + "[1, 2, 3]")


def skewed(n=2500, seed=0):
    """A CF that follows from the OFs, its cells, and the mechanism that drew them."""
    rng = np.random.default_rng(seed)
    x = rng.random((n, 2))
    latent = 2 * x[:, 0] + x[:, 1] + rng.normal(0, 0.25, n)
    truth = np.digitize(latent, np.quantile(latent, [0.4, 0.65, 0.85]))
    table = np.array(
        [[0, 0.7, 0.2, 0.1], [0.8, 0, 0.1, 0.1], [0.3, 0.3, 0, 0.4], [0.1, 0.1, 0.8, 0]]
    )
    drawn = (np.cumsum(table[truth], axis=1) > rng.random(n)[:, None]).argmax(axis=1)
    names = np.array(list("abcd"))
    frame = pl.DataFrame({"x": x[:, 0], "y": x[:, 1], "cf": names[drawn]})
    return frame, names[truth], table


def run(frame, **entries):
    numeric = {"role": "ordinary", "type": "numeric"}
    cf = {"role": "complementary", "values": list("abcd"), **entries}
    return impute(frame, Schema(columns={"x": numeric, "y": numeric, "cf": cf}))


@pytest.mark.slow
def test_a_mechanism_that_is_given_makes_the_answers_better_and_the_estimates_honest():
    frame, truth, table = skewed()
    given, guessed = run(frame, mechanism=table.tolist()), run(frame)
    right, wrong = ((r.frame["cf_imputed"].to_numpy() == truth).mean() for r in (given, guessed))
    assert right > wrong + 0.1
    accuracy = given.report.columns[0].estimated_accuracy
    assert accuracy.low < right < accuracy.high
    assert given.report.columns[0].accuracy_basis == "mechanism"
    assert guessed.report.columns[0].accuracy_basis == "none"  # hidden priors refute it
    assert guessed.report.columns[0].estimated_accuracy is None
    assert given.report.columns[0].commonest_share == pytest.approx(0.4, abs=0.05)


def test_a_uniform_mechanism_changes_nothing():
    frame, _, _ = skewed(300)
    one, other = run(frame, mechanism=((1 - np.eye(4)) / 3).tolist()), run(frame)
    np.testing.assert_allclose(one.confidences["cf"], other.confidences["cf"], atol=1e-9)
    for column in (one.report.columns[0], other.report.columns[0]):
        assert column.heldout_score == pytest.approx(other.report.columns[0].heldout_score)
        assert column.accuracy_basis == other.report.columns[0].accuracy_basis


def test_a_cell_that_the_mechanism_cannot_explain_is_an_error():
    frame, _, _ = skewed(300)
    never = [[0, 1, 0, 0], [1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0]]
    with pytest.raises(DataError) as caught:
        run(frame, mechanism=never)
    wrong = np.flatnonzero(np.isin(frame["cf"].to_numpy(), ["c", "d"]))
    rows, text = ", ".join(map(str, wrong[:3])), frame["cf"][int(wrong[0])]
    [found] = caught.value.texts
    expected = f"table: column 'cf': {len(wrong)} cells like '{text}' (rows {rows} …) are impossible under the column's `mechanism`: correct the cells or the mechanism"
    assert found == expected


def test_a_mechanism_that_says_nothing_leaves_the_estimates_out():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"x": rng.random(200), "y": rng.random(200), "cf": rng.choice(["a", "b"], 200)}
    )
    alike = [[0, 1, 0, 0], [1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0]]
    report = run(frame, mechanism=alike).report
    assert [text for text in report.warnings if "its accuracy can't be estimated" in text]
    [column] = report.columns
    assert column.estimated_accuracy is None
    assert column.commonest_share is None
    assert column.heldout_score is None
    expected = ("none", "under its mechanism, exclusions can't tell some values apart")
    assert (column.accuracy_basis, column.accuracy_reason) == expected


@pytest.mark.parametrize(
    ("mechanism", "place", "said"),
    [
        (
            {"a": 1e-320, "b": 1, "c": 1},
            "a",
            "9.99989e-321 is too small compared with the largest weight",
        ),
        (
            {"a": 1, "b": 1, "c": 1e305},
            "a",
            "1 is too small compared with the largest weight, 1e+305",
        ),
        ([[0, 1e-310, 1], [1, 0, 0], [1, 0, 0]], "a.b", "1e-310 is too small for a probability"),
    ],
)
def test_rates_too_small_to_count_with_are_refused_by_name(mechanism, place, said):
    cf = {"role": "complementary", "values": ["a", "b", "c"], "mechanism": mechanism}
    numeric = {"role": "ordinary", "type": "numeric"}
    with pytest.raises(SchemaError) as refused:
        Schema(columns={"x": numeric, "cf": cf})
    assert f"columns.cf.mechanism.{place}: {said}" in str(refused.value)
    assert "use 0, or 1e-300" in str(refused.value).replace("at least ", "")
