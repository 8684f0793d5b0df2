"""Sentinels are found where they stand apart, and clean columns of many shapes stay silent."""

import numpy as np
import pytest
from builders.tallies import tallied

from cfl_cli.texts.matching import is_missing_code, may_be_answers, missing_codes
from cfl_cli.texts.numbers import sentinels


@pytest.mark.parametrize(
    "text",
    ["-", "—", ".", "?", "NA", "n/a", "N.A.", "#N/A", "NaN", "k.A.", "k. A.", "keine Angabe", "NSP",
     "s/o", "sin dato", "Non renseigné", "onbekend", "brak danych", "Don't know", "weiß nicht",
     "#DIV/0!", "PREFER NOT TO SAY", "b.d."],
)  # fmt: skip
def test_a_code_is_known_in_any_spelling(text):
    assert is_missing_code(text)


@pytest.mark.parametrize("text", ["none", "Keine", "no", "offen", "Other", "Nie dotyczy"])
def test_a_word_that_is_mostly_an_answer_is_only_doubtful(text):
    assert not is_missing_code(text)
    assert is_missing_code(text, "doubtful")


@pytest.mark.parametrize("text", ["flu", "0", "Nadal", "NAB", "-1", "1-", "a.b", "Norge"])
def test_other_texts_are_neither(text):
    assert not is_missing_code(text)
    assert not is_missing_code(text, "doubtful")


def test_the_commonest_code_comes_first():
    column = tallied(["a", "-", "k.A.", "k.A.", "none", "a", " ", None])
    assert missing_codes(column) == ("k.A.", "-")
    assert missing_codes(column, "doubtful") == ("none",)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["NA", "DE", "FR", "US"], ("NA",)),  # Namibia
        (["-", "+", "*", "="], ("*", "-")),
        (["NA", "Peru", "Chile", "Cuba"], ()),
        (["NA", "1", "2", "3"], ()),
        (["?", "?", "?", "?", "a", "b"], ("?",)),
    ],
)
def test_a_code_that_looks_like_the_others_or_holds_most_cells_may_be_an_answer(cells, expected):
    column = tallied(cells)
    assert may_be_answers(column, missing_codes(column)) == expected


def found(values):
    column = tallied([f"{value:g}" for value in values])
    flagged = sentinels(column, [float(text) for text in column.texts])
    return set(flagged.texts) if flagged else set()


SHAPES = {
    "temperature": lambda d, n: d.normal(37.5, 1, n).round(1),
    "celsius": lambda d, n: d.normal(8, 9, n).round(),
    "age": lambda d, n: d.integers(0, 96, n),
    "income": lambda d, n: d.lognormal(10, 1, n).round(),
    "pareto": lambda d, n: (d.pareto(0.8, n) * 100).round(),
    "pareto 1.2": lambda d, n: d.pareto(1.2, n).round(2),
    "counts": lambda d, n: d.poisson(3, n),
    "rare counts": lambda d, n: d.poisson(0.2, n),
    "t2": lambda d, n: d.standard_t(2, n).round(2),
    "cauchy": lambda d, n: d.standard_cauchy(n).round(),
    "spend with zeros": lambda d, n: np.where(d.random(n) < 0.6, 0, d.lognormal(3, 1, n).round()),
    "goal difference": lambda d, n: d.poisson(1.4, n) - d.poisson(1.4, n),
    "score": lambda d, n: d.integers(-2, 3, n),
    "prices": lambda d, n: d.integers(1, 100, n) * 10 - 1,
    "geometric": lambda d, n: d.geometric(0.05, n),
    "years": lambda d, n: d.integers(1950, 2025, n),
    "percent": lambda d, n: d.integers(0, 101, n),
    "scale": lambda d, n: d.integers(1, 6, n),
    "log": lambda d, n: np.log(d.random(n)).round(2),
    "two humps": lambda d, n: np.where(d.random(n) < 0.5, d.normal(0, 1, n), d.normal(50, 1, n)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rows", [100, 1000])
def test_a_clean_column_has_no_sentinels(shape, rows):
    for seed in range(5):
        assert found(SHAPES[shape](np.random.default_rng(seed), rows)) == set()


@pytest.mark.parametrize(
    ("shape", "planted"),
    [
        *(("temperature", {"999", "-9"}), ("age", {"999", "-9"}), ("counts", {"99", "-9"})),
        *(("years", {"9999", "-9"}), ("scale", {"99", "98"}), ("scale", {"9"})),
        ("income", {"-999"}),
    ],
)
def test_planted_codes_are_found_and_nothing_else(shape, planted):
    values = [*SHAPES[shape](np.random.default_rng(1), 500), *(2 * [float(p) for p in planted])]
    assert found([*values, *values[-len(planted) :]]) == planted


def test_beside_one_code_another_is_found_in_a_single_cell():
    values = [*SHAPES["temperature"](np.random.default_rng(1), 100), 999, 999]
    assert found([*values, -9]) == {"999", "-9"}
    assert found([*values[:-1], -9]) == set()


@pytest.mark.parametrize("values", [[0, 99, 0, 99], [1, 2, 3, 4, 999], [5, 5, 999, 999]])
def test_one_cell_or_too_few_others_show_nothing(values):
    assert found(values) == set()
