"""A text means the value that it equals, but for blanks, zeros behind the point, and spelling."""

from itertools import product

import pytest

from cfl_cli.texts.matching import Matcher, is_pair, misspelt, truth, truths


@pytest.mark.parametrize(
    ("text", "values", "place"),
    [
        *(("b", "a b", 1), (" b\u00a0", "a b", 1), ("1.0", "0 1", 1), ("1", "0.0 1.0", 1)),
        *(("2.00", "1 2 3", 1), ("TRUE", "no yes", 1), ("ja ", "no yes", 1), ("0.0", "nein ja", 0)),
        *(("false", "ja nein", 1), ("B", "a b", -1), ("01", "1 2", -1), ("1.5", "1 2", -1)),
        *(("yes", "ja nein no", -1), ("yes", "a b", -1), ("", "no yes", -1), ("sí", "non oui", 1)),
        *(("да", "nie tak", 1), ("yes", "нет да", 1), ("True", "N Y", 1), ("0", "j n", 1)),
        *(("n", "N Y", 0), ("J", "nein ja", 1), ("y", "nein ja", -1), ("o", "off on", -1)),
        *(("x", "no yes", -1), ("✓", "0 1", -1), ("O", "no yes", -1), ("O", "n o", 1)),
        ("evet", "no yes", -1),
        ("12:30:00", "12:30:00.000 13:00:00.000", 0),
    ],
)
def test_a_text_means_a_value(text, values, place):
    matcher = Matcher(values.split())
    assert matcher.place(text) == place
    assert matcher(text) == ([*values.split(), text][place])


def test_the_exact_value_comes_first_and_what_fits_two_fits_none():
    assert Matcher(["a", "a "]).place("a ") == 1
    assert Matcher(["a", "a "]).place(" a") == -1
    assert Matcher(["1", "1.0"]).place("1.0") == 1
    assert Matcher(["1", "1.0"]).place("1.00") == -1
    assert Matcher(["", "x"]).place("X") == 1


@pytest.mark.parametrize("values", [["N", "S"], ["O", "N"], ["yes", "no"], ["0", "1"], ["", "x"]])
def test_letters_and_signs_mean_themselves_or_what_they_begin(values):
    matcher, own = Matcher(values), {value.casefold()[:1] for value in values}
    for text in "xostjyniadehfXOSTJY✓✗○":
        assert (matcher.place(text) >= 0) == (text.casefold() in own)


def test_what_truth_the_letters_of_a_scale_or_a_compass_have_is_not_guessed():
    assert [*map(Matcher(["N", "S"]).place, ["1", "true", "yes", "no", "s"])] == [-1, -1, -1, -1, 1]
    assert [*map(Matcher(["yes", "no"]).place, ["oui", "tak", "evet", "有"])] == [-1] * 4
    assert Matcher(["Yes", "yes", "no"]).place("YES") == -1


LISTED = (
    *("no/yes", "n/y", "false/true", "f/t", "0/1", "nein/ja", "n/j", "non/oui", "n/o", "no/sí"),
    *("n/s", "não/sim", "no/sì", "nie/tak", "ne/ano", "nem/igen", "нет/да", "いいえ/はい"),
    *("nej/ja", "ei/kyllä", "✗/✓"),
)


@pytest.mark.parametrize(
    ("false", "true"),
    [
        *(pair.split("/") for pair in LISTED),
        *(("FALSE", "TRUE"), ("False", "True"), ("0.0", "1.0"), (" Nein", "Ja\u00a0")),
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


def edits(word):
    """Return all words one edit away, as a checker of spelling makes them."""
    splits = [(word[:n], word[n:]) for n in range(len(word) + 1)]
    letters = "abmort"
    found = {a + b[1:] for a, b in splits if b}
    found |= {a + b[1] + b[0] + b[2:] for a, b in splits if len(b) > 1}
    found |= {a + c + b[1:] for (a, b), c in product(splits, letters) if b}
    found |= {a + c + b for (a, b), c in product(splits, letters)}
    return found - {word}


def test_all_words_one_edit_away_are_found_and_no_others():
    near = edits("motor")
    for word in near | {one for it in edits("moor") for one in edits(it)}:
        right = {"motor": 100, word: 1}
        expected = {word: "motor"} if word in near and word != "motor" else {}
        if word != "motor":
            assert misspelt(right, 101) == expected, word


@pytest.mark.parametrize(
    "counts", [{"motor": 100, "moter": 30}, {"A1": 90, "A2": 1}, {"Motor": 9, "motor": 1}]
)
def test_frequent_values_codes_and_case_are_no_slips(counts):
    assert misspelt(counts, sum(counts.values())) == {}
