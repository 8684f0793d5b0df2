"""A run warns where hidden cells make answers look better than they are."""

import numpy as np
import polars as pl

from cfl_cli import Schema, impute
from cfl_cli.encode.encode import Block, Encoded
from cfl_cli.trust.verdict import doubts

COLUMNS = {
    "x": {"role": "ordinary", "type": "numeric"},
    "y": {"role": "ordinary", "type": "numeric"},
    "cf": {"role": "complementary", "values": ["a", "b", "c"]},
}


def table(n, *, levels=None):
    rng = np.random.default_rng(0)
    x, y = rng.random((2, n)) if levels is None else rng.integers(levels, size=(2, n)) * 1.0
    excluded = ((x + y) / max((x + y).max(), 1e-9) * 2.99).astype(int) + rng.integers(1, 3, n)
    return pl.DataFrame({"x": x, "y": y, "cf": np.array(list("abc"))[excluded % 3]})


def warnings(frame, **settings):
    return impute(frame, Schema(columns=COLUMNS), k=5, iterations=10, **settings).report.warnings


def test_an_honest_table_is_not_doubted():
    assert warnings(table(300)) == ()


def test_a_second_round_over_few_distinct_rows_is_doubted_if_it_was_asked_for():
    few = table(300, levels=3)
    for asked, instead in (
        ({"gamma": 0.25}, "--gamma auto, or --gamma 0"),
        ({"folds": 0}, "--gamma 0"),  # without hidden cells nothing can be chosen
    ):
        [warning] = warnings(few, **asked)
        assert warning == (
            "only 9 rows are distinct by their OFs, and then a second round often does harm that "
            f"hidden cells do not show: try {instead}"
        )
    assert warnings(few, gamma=0.0) == ()
    assert warnings(few, gamma="auto") == ()


def test_over_few_distinct_rows_hidden_cells_choose_the_round_unless_gamma_was_asked_for():
    few = table(300, levels=3)
    left_open, chosen, asked = (
        impute(few, Schema(columns=COLUMNS), k=5, iterations=10, **gamma)
        for gamma in ({}, {"gamma": "auto"}, {"gamma": 0.25})
    )
    assert left_open.report.settings == chosen.report.settings
    assert left_open.frame.equals(chosen.frame)
    assert asked.report.settings["gamma"] == 0.25
    [warning] = left_open.report.warnings
    assert warning == (
        "only 9 rows are distinct by their OFs, and then a second round often does harm, so gamma "
        "is auto: a second round only for CFs whose hidden cells favor it; --gamma 0.25 makes it "
        "for all"
    )
    in_schema = Schema(columns=COLUMNS, settings={"gamma": 0.25})
    report = impute(few, in_schema, k=5, iterations=10).report
    assert report.settings["gamma"] == 0.25


def test_with_many_distinct_rows_gamma_is_the_papers():
    settings = impute(table(300), Schema(columns=COLUMNS), k=5, iterations=10).report.settings
    assert settings["gamma"] == 0.25


def test_a_mechanism_whose_cells_do_not_distinguish_the_values_is_named():
    rates = np.array([[0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5], [0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0]])
    block = Block("cf", tuple("abcd"), 0, 1.0, 0, 0, rates)
    encoded = Encoded(np.arange(3.0)[:, None], np.ones((3, 4), dtype=bool), (block,), ())
    assert list(doubts(encoded, None, k=1, always_second_round=True)) == [
        (
            "column 'cf': cells of its mechanism do not distinguish the values, so its accuracy "
            "cannot be estimated"
        )
    ]


def test_too_few_exact_cells_that_are_said_to_be_a_random_sample_are_counted_in_a_warning():
    marked = np.arange(80) < 60
    block = Block("cf", tuple("abc"), 0, 1.0, 60, 0, marked=marked, marked_at_random=True)
    encoded = Encoded(np.arange(80.0)[:, None], np.ones((80, 3), dtype=bool), (block,), ())
    asked = {"k": 1, "always_second_round": False}
    assert list(doubts(encoded, np.arange(80), **asked)) == []
    assert list(doubts(encoded, np.arange(49), **asked)) == [
        "column 'cf': 49 exact cells of it were hidden, and `exact_cells: random` counts from 50 on"
    ]
    assert list(doubts(encoded, None, **asked)) == []
