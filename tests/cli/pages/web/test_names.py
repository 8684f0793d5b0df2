import pytest

from cfl_cli.cli.pages.web import LONGEST, Piece, sentence, shown_name, visible


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("job", "job"),
        ("naïve ✓", "naïve ✓"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u2067b\u2069", "a\\u2067b\\u2069"),
        ("nul\0", "nul\\x00"),
        ("line\nbreak", "line\\nbreak"),
        ("\ud800", "\\ud800"),
        ("👩‍⚕️", "👩‍⚕️"),  # held together by a joiner
        ("می‌خواهم", "می‌خواهم"),
    ],
)
def test_what_cannot_be_seen_is_shown_as_a_code(text, seen):
    assert visible(text) == seen
    visible(text).encode()


def test_an_empty_name_is_quoted_and_a_long_one_cut_and_there_as_a_whole():
    assert shown_name("").whole == "“”"
    assert shown_name("  ").whole == "“  ”"
    name = shown_name("x" * 300)
    assert name.short == "x" * (LONGEST - 1) + "…"
    assert name.whole == "x" * 300
    assert name.is_cut
    assert not shown_name("x" * LONGEST).is_cut


@pytest.mark.parametrize("letter", ["e\u0301", "👍🏽", "👩‍⚕️", "🇫🇷"])
def test_no_letter_is_torn_apart(letter):
    for before in range(LONGEST - 6, LONGEST + 2):
        short = shown_name("x" * before + letter + "y" * 40).short.removesuffix("…")
        rest = short.removeprefix("x" * before)
        assert short == "x" * len(short) or rest.startswith(letter)


def test_a_name_of_another_script_is_a_piece_of_its_own():
    name = "תשובה"
    assert sentence(f"{name}: 3 cells.", [name, "job"]) == (
        Piece(name, is_name=True),
        Piece(": 3 cells.", is_name=False),
    )
    assert sentence("job: 3 cells.", [name, "job"]) == (Piece("job: 3 cells.", is_name=False),)
