"""Truth values are known in many spellings, and only pairs that belong together are pairs."""

import pytest

from cfl_cli.texts.matching import is_pair, truth, truths

LISTED = (
    *("no/yes", "n/y", "false/true", "f/t", "0/1", "nein/ja", "n/j", "non/oui", "n/o", "no/sí"),
    *("n/s", "não/sim", "no/sì", "nie/tak", "ne/ano", "nem/igen", "нет/да", "いいえ/はい"),
    *("nej/ja", "ei/kyllä", "✗/✓"),
)


@pytest.mark.parametrize(
    ("false", "true"),
    [
        *(pair.split("/") for pair in LISTED),
        ("FALSE", "TRUE"),
        ("False", "True"),
        ("0.0", "1.0"),
        (" Nein", "Ja\u00a0"),
    ],
)
def test_a_known_pair_is_one_in_any_spelling(false, true):
    assert truth(false) is False
    assert truth(true) is True
    assert is_pair([true, false])


def test_the_same_text_never_means_both():
    falses, trues = ({pair[place] for pair in truths().pairs} for place in (0, 1))
    assert not falses & trues


def test_several_spellings_of_a_pair_are_one_pair():
    assert is_pair(["TRUE", "true", "False"])
    assert is_pair(["1", "1.0", "0"])


@pytest.mark.parametrize(
    "values",
    [["männlich", "weiblich"], ["m", "f"], ["yes"], ["yes", "nein"], ["no", "yes", "x"], ["x"], []],
)
def test_other_texts_are_no_pair(values):
    assert not is_pair(values)


def test_an_empty_cell_says_nothing_but_goes_with_a_cross():
    assert truth("") is truth(" ") is truth("männlich") is truth("2") is None
    assert truth("X") is True
    assert is_pair(["", "x"])
