"""A kind reads a value strictly, or says what it expected and quotes what was written."""

import re
from fractions import Fraction

import numpy as np
import pytest

from cfl_cli.core.settings import (
    AUTO,
    COUNT,
    SHARE,
    Bounds,
    ByteSize,
    Choice,
    FileName,
    Number,
    Switch,
    Whole,
)

MODES = Choice(("hard", "soft", "both"))


@pytest.mark.parametrize(
    ("kind", "value", "read"),
    [
        (COUNT, "20", 20),
        (COUNT, "+20", 20),
        (COUNT, np.int64(20), 20),
        (Whole(auto=True), "auto", AUTO),
        (SHARE, ".5", 0.5),
        (SHARE, "1e-1", 0.1),
        (SHARE, 1, 1.0),
        (SHARE, np.float32(0.5), 0.5),
        (SHARE, Fraction(1, 4), 0.25),
        (Switch(), "True", True),
        (Switch(), False, False),
        (MODES, "soft", "soft"),
        (ByteSize(), "1.5 GiB", 3 << 29),
        (ByteSize(), "500MB", 500_000_000),
        (ByteSize(), 7, 7),
        (FileName(), "-", "-"),
    ],
)
def test_a_value_is_read_as_text_or_as_what_it_is(kind, value, read):
    assert kind.read(value) == read
    assert type(kind.read(value)) is type(read)


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (COUNT, "1_000", "expected a whole number, found '1_000'"),
        (COUNT, " 20 ", "expected a whole number, found ' 20 '"),
        (COUNT, True, "expected a whole number, found True"),
        (COUNT, "00", "expected at least 1, found 00"),
        (Number(Bounds(more_than=7)), "7", "expected more than 7, found 7"),
        (Number(Bounds(more_than=7)), 7, "expected more than 7, found 7"),
        (Number(Bounds(least=0), auto=True), "-1", "expected at least 0 or auto, found -1"),
        (SHARE, "1.50", "expected at most 1, found 1.50"),
        (SHARE, np.float64(1.5), "expected at most 1, found 1.5"),
        (SHARE, "nan", "expected a number, found 'nan'"),
        (SHARE, float("nan"), "expected a finite number, found nan"),
        (Whole(Bounds(less_than=8)), 8, "expected less than 8, found 8"),
        (Switch(), "on", "expected true or false, found 'on'"),
        (Switch(), 1, "expected true or false, found 1"),
        (ByteSize(), "0MB", "expected at least 1, found 0MB"),
        (ByteSize(), 0, "expected at least 1, found 0"),
        (ByteSize(), "2 stones", "expected a size such as 500MB or 2GB, found '2 stones'"),
        (MODES, "hrd", "expected hard, soft or both, found 'hrd' (did you mean 'hard'?)"),
        (MODES, "loud", "expected hard, soft or both, found 'loud'"),
        (MODES, ["hard"], "expected hard, soft or both, found a list"),
        (MODES, None, "expected hard, soft or both, found nothing"),
        (FileName(), "", "expected at least one character, found nothing"),
        (FileName(), 3, "expected text, found 3"),
    ],
)
def test_a_wrong_value_is_quoted_as_it_was_written_beside_what_was_expected(kind, value, said):
    with pytest.raises(ValueError, match="expected") as caught:
        kind.read(value)
    assert str(caught.value) == said


def test_a_number_without_end_is_cut():
    with pytest.raises(ValueError, match=r"^expected at most 1, found 9{59}…$"):
        SHARE.read("9" * 300)


@pytest.mark.parametrize(
    ("kind", "shown", "words"),
    [
        (COUNT, "N", ()),
        (Whole(auto=True), "N|auto", ("auto",)),
        (SHARE, "P", ()),
        (Number(auto=True), "X|auto", ("auto",)),
        (MODES, "hard|soft|both", ("hard", "soft", "both")),
        (ByteSize(), "SIZE", ()),
        (FileName(), "FILE", ()),
    ],
)
def test_help_shows_a_word_for_the_value_and_completion_those_that_it_can_be(kind, shown, words):
    assert (kind.metavar, kind.choices) == (shown, words)


def test_editors_are_told_the_same():
    assert COUNT.json_schema == {"type": "integer", "minimum": 1}
    assert SHARE.json_schema == {"type": "number", "minimum": 0, "maximum": 1}
    assert Number(Bounds(more_than=0), auto=True).json_schema == {
        "anyOf": [{"const": "auto"}, {"type": "number", "exclusiveMinimum": 0}]
    }
    assert MODES.json_schema == {"enum": ["hard", "soft", "both"]}
    assert Switch().json_schema == {"type": "boolean"}
    assert ByteSize().json_schema == {"type": ["string", "integer"]}
    assert FileName().json_schema == {"type": "string", "minLength": 1}


@pytest.mark.parametrize(
    ("kind", "given", "read"),
    [
        (COUNT, np.int64(5), 5),
        (COUNT, np.array(5), 5),
        (COUNT, np.str_("5"), 5),
        (SHARE, np.float32(0.5), 0.5),
        (SHARE, np.int8(1), 1.0),
        (Switch(), np.True_, True),
        (Switch(), np.str_("false"), False),
        (Choice(("hard", "soft")), np.str_("hard"), "hard"),
        (ByteSize(), np.int64(10), 10),
        (ByteSize(), np.str_("2kB"), 2000),
        (FileName(), np.str_("a.csv"), "a.csv"),
        (Whole(auto=True), np.str_("auto"), "auto"),
    ],
)
def test_numbers_switches_and_texts_of_numpy_are_what_they_stand_for(kind, given, read):
    found = kind.read(given)
    assert found == read
    assert type(found) is type(read)


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (COUNT, np.True_, "expected a whole number, found True"),
        (COUNT, np.float64(2.0), "expected a whole number, found 2.0"),
        (SHARE, np.False_, "expected a number, found False"),
        (SHARE, np.float64("nan"), "expected a finite number, found nan"),
        (Switch(), np.int64(1), "expected true or false, found 1"),
        (Choice(("hard", "soft")), np.str_("hrd"), "found 'hrd' (did you mean 'hard'?)"),
    ],
)
def test_what_numpy_gives_is_refused_as_python_s(kind, given, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        kind.read(given)
