"""What the user wrote is quoted so that it can be recognised and cannot harm."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.core.messages import LONGEST, count, did_you_mean, printable, quote


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
