"""Any page of sections becomes one for browsers, with nothing of it lost and nothing run."""

from html import unescape
from re import findall, sub

import pytest

from cfl_cli.cli.pages import Dot, Field, Page, Section, Surroundings, web
from cfl_cli.cli.pages.web import LONGEST, Piece, sentence, shown_name, visible

HOSTILE = "<script>alert(1)</script> \"'{{ x }} \u202e"


def shown(text="flu"):
    fields = [
        Field("value", lambda fact: fact, style=lambda _: "bold"),
        Field("confidence", lambda _: "0.25", right=True, share=lambda _: 0.25),
        Field("", lambda _: ""),
        Field("bar", lambda _: "███", drawing=True),
    ]
    around = Surroundings([Dot("7", (1.0, 0.0), 1.0, text, alike=False)], text, (1.0, 0.0))
    more = Section(f"about {text}", fields[:1], [text], [f"a note on {text}"], picture=around)
    title, lead = f"row 3: {text}", "led\nby hand"
    return Page(title, fields, [text], ["noted"], [], "{}", lead=lead, more=[more])


def test_a_page_has_every_text_of_the_terminal_and_bars_instead_of_blocks():
    text = web.page(shown())
    words = unescape(sub("<[^>]+>", " ", text.partition("</head>")[2]))
    for word in ("row 3: flu", "led", "noted", "confidence", "0.25", "about flu", "a note on flu"):
        assert word in words
    assert "███" not in text
    assert "by hand" in words
    assert "\\n" not in words.partition("Made by")[0]
    assert 'width="22.5"' in text  # a quarter of 90
    assert len(findall("<h1>", text)) == 1
    assert text == web.page(shown())


def test_nothing_of_others_is_markup():
    for text in (web.page(shown(HOSTILE)), web.fragment(shown(HOSTILE))):
        assert "<script>alert" not in text
        assert "\u202e" not in text
        assert "\\u202e" in text
        assert not findall(r"\sstyle=|\son\w+=", text)


def test_a_piece_for_a_notebook_has_neither_ids_nor_a_script():
    text = web.fragment(shown())
    assert not findall(r"\sid=|<script|<meta|<html", text)
    assert "a note on flu" in text
    assert "<svg" in text


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
    name = shown_name("x" * 290 + "visit 2024")
    assert name.short == "x" * (LONGEST - 11) + "…visit 2024"
    assert name.whole == "x" * 290 + "visit 2024"
    assert name.is_cut
    assert not shown_name("x" * LONGEST).is_cut


@pytest.mark.parametrize("letter", ["e\u0301", "👍🏽", "👩‍⚕️", "🇫🇷"])
def test_no_letter_is_torn_apart(letter):
    for before in range(LONGEST - 6, LONGEST + 2):
        short = shown_name("x" * before + letter + "y" * 40).short.partition("…")[0]
        rest = short.removeprefix("x" * before)
        assert short == "x" * len(short) or rest.startswith(letter)


@pytest.mark.parametrize("letter", ["e\u0301", "👍🏽", "👩‍⚕️", "🇫🇷"])
def test_no_letter_of_an_end_is_torn_apart(letter):
    for after in range(6, 11):
        end = shown_name("x" * LONGEST + letter + "y" * after).short.partition("…")[2]
        assert end.lstrip("x") in ("y" * after, letter + "y" * after)


def test_a_name_of_another_script_is_a_piece_of_its_own():
    name = "תשובה"
    assert sentence(f"{name}: 3 cells.", [name, "job"]) == (
        Piece(name, is_name=True),
        Piece(": 3 cells.", is_name=False),
    )
    assert sentence("job: 3 cells.", [name, "job"]) == (Piece("job: 3 cells.", is_name=False),)
