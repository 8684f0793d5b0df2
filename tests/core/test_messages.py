"""What the user wrote is quoted so that it can be recognised and cannot harm."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.core.messages import LONGEST, count, did_you_mean, edits, meant, printable, quote


@given(st.text())
def test_a_quote_is_short_printable_and_on_one_line(text):
    shown = quote(text)
    assert len(shown) <= LONGEST
    assert shown.isprintable()


def test_a_short_text_is_quoted_whole_and_a_long_one_cut():
    assert quote("a 'b'\n") == "\"a 'b'\\n\""
    assert quote("x" * 58) == f"'{'x' * 58}'"
    assert quote("x" * 59) == f"'{'x' * 58}…"


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 CFs"), (1, "1 CF"), (2, "2 CFs"), (1234, "1,234 CFs")]
)
def test_a_count_has_its_noun_in_the_right_number(number, words):
    assert count(number, "CF") == words


@pytest.mark.parametrize(
    ("text", "choices", "hint"),
    [
        ("numerc", ["binary", "numeric"], " (did you mean 'numeric'?)"),
        (" AGE ", ["Age", "sex"], " (did you mean 'Age'?)"),
        ("zzz", ["binary", "numeric"], ""),
        ("a", [], ""),
    ],
)
def test_the_nearest_choice_is_offered_if_there_is_one(text, choices, hint):
    assert did_you_mean(text, choices) == hint


@given(st.text())
def test_printable_text_cannot_steer_a_terminal(text):
    assert printable(text).isprintable()
    if text.isprintable():
        assert printable(text) == text


def test_control_characters_are_escaped():
    assert printable("a\x1b[31m\nü") == "a\\x1b[31m\\nü"


@pytest.mark.parametrize(
    ("text", "values", "near"),
    [
        ("Gripe", ["Grippe", "Masern"], "Grippe"),
        ("Adidsa", ["Adidas", "Asics"], "Adidas"),
        ("nurs", ["nurse"], "nurse"),
        ("Strongly agre", ["Strongly disagree", "Strongly agree"], "Strongly agree"),
        ("Strongly agree", ["Strongly disagree", "Disagree", "Agree"], None),
        ("male", ["female"], None),
        ("interested", ["uninterested"], None),
        ("probably", ["improbably"], None),
        ("Grade 1", ["Grade 2"], None),
        ("hot", ["cold"], None),
    ],
)
def test_a_cell_is_a_slip_of_a_value_but_never_its_opposite(text, values, near):
    assert meant(text, values) == (f" (did you mean {near!r}?)" if near else "")


WORDS = st.text(alphabet="ab", max_size=5)


@given(WORDS, WORDS)
def test_edits_are_those_of_the_recursive_definition(one, other):
    def by_definition(one, other):
        if not one or not other:
            return len(one) + len(other)
        ways = [
            by_definition(one[1:], other) + 1,
            by_definition(one, other[1:]) + 1,
            by_definition(one[1:], other[1:]) + (one[0] != other[0]),
        ]
        if one[:2] == other[1::-1] and len(one) > 1:
            ways.append(by_definition(one[2:], other[2:]) + 1)
        return min(ways)

    assert edits(one, other) == by_definition(one, other)
