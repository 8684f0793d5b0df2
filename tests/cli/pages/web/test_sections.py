"""Any page of sections becomes one for browsers, with nothing of it lost and nothing run."""

from html import unescape
from re import findall, sub

from cfl_cli.cli.pages import Dot, Field, Page, Section, Surroundings, web

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
