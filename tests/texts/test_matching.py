"""A text means the value that it equals, but for blanks, zeros behind the point, and spelling."""

import pytest

from cfl_cli.texts.matching import Matcher


@pytest.mark.parametrize(
    ("text", "values", "place"),
    [
        ("b", "a b", 1),
        (" b\u00a0", "a b", 1),
        ("1.0", "0 1", 1),
        ("1", "0.0 1.0", 1),
        ("2.00", "1 2 3", 1),
        ("TRUE", "no yes", 1),
        ("ja ", "no yes", 1),
        ("0.0", "nein ja", 0),
        ("false", "ja nein", 1),
        ("B", "a b", -1),
        ("01", "1 2", -1),
        ("1.5", "1 2", -1),
        ("yes", "ja nein no", -1),
        ("yes", "a b", -1),
        ("", "no yes", -1),
        ("sí", "non oui", 1),
        ("да", "nie tak", 1),
        ("yes", "нет да", 1),
        ("True", "N Y", 1),
        ("0", "j n", 1),
        ("n", "N Y", 0),
        ("J", "nein ja", 1),
        ("y", "nein ja", -1),
        ("o", "off on", -1),
        ("x", "no yes", -1),
        ("✓", "0 1", -1),
        ("O", "no yes", -1),
        ("O", "n o", 1),
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
