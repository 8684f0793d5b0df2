import pytest
from builders.tallies import tallied

from cfl_cli.texts.missing import is_missing_code, may_be_answers, missing_codes


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
