import csv
import io

import pytest
from builders.markdown import cells_of_markdown, paragraphs_of_markdown
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.cli.options import FORMAT
from cfl_cli.cli.pages import RENDERERS, Field, Page, render

NAME = Field("name", lambda fact: fact[0], folds=True, style=lambda _: "bold")
SIZE = Field("size", lambda fact: str(fact[1]), right=True)
WIDE = Field("wide", lambda fact: "w" * fact[1], from_width=100)
BAR = Field("bar", lambda fact: "█" * fact[1], drawing=True)


def page(*facts, fields=(NAME, SIZE), title="A title", notes=()):
    records = [{"name": name, "size": size, "none": None} for name, size in facts]
    return Page(title, fields, facts, notes, records, '{"facts": 1}')


def test_every_format_of_the_option_has_a_renderer_and_json_is_the_pages():
    assert set(RENDERERS) == {*FORMAT.kind.choices}
    assert render(page(), "json") == '{"facts": 1}\n'


def test_a_table_is_the_title_a_line_for_each_fact_and_the_notes():
    text = render(page(("a", 7), ("bcdefg", 1234), notes=("One.", "Two.")), "table")
    assert text.splitlines() == [
        "A title",
        "",
        "name   size",
        "a         7",
        "bcdefg 1234",
        "",
        "One.",
        "",
        "Two.",
    ]
    assert text.endswith("Two.\n")


@pytest.mark.parametrize(("width", "there"), [(None, True), (100, True), (99, False), (10, False)])
def test_a_column_is_left_out_of_a_terminal_that_is_too_narrow_for_it(width, there):
    text = render(page(("a", 3), fields=(NAME, WIDE)), "table", width=width)
    assert ("www" in text) == there


def test_notes_are_wrapped_and_no_terminal_counts_as_narrower_than_40():
    lines = render(page(("a", 1), notes=("word " * 40,)), "table", width=5).splitlines()
    assert 30 < max(map(len, lines)) <= 40


def test_a_cell_that_splits_has_a_part_a_line():
    flags = Field("flags", lambda _: "one, two", folds=True, splits=True)
    lines = render(page(("a", 1), fields=(NAME, flags)), "table").splitlines()
    assert [line.rstrip() for line in lines[3:]] == ["a    one,", "     two"]


def test_color_is_a_matter_of_tables_that_ask_for_it():
    facts = page(("a", 1))
    assert "\x1b[1m" in render(facts, "table", color=True)
    for form in RENDERERS:
        assert "\x1b" not in render(facts, form)
    for form in set(RENDERERS) - {"table"}:
        assert render(facts, form, color=True, width=5) == render(facts, form)


def test_markdown_has_every_column_but_drawings():
    text = render(page(("a", 3), fields=(NAME, WIDE, BAR, SIZE)), "md")
    assert cells_of_markdown(text) == [["name", "wide", "size"], ["a", "www", "3"]]
    assert "| --- | --- | ---: |" in text


ANY = st.text(alphabet="ab_*`|\\<>[]()!&#~-+=:;. 19", min_size=1).map(lambda text: f"{text}x")


@given(ANY, ANY, ANY, ANY)
def test_nothing_on_a_page_becomes_markup(title, heading, cell, note):
    field = Field(heading, lambda fact: fact[0])
    text = render(page((cell, 1), fields=(field,), title=title, notes=(note,)), "md")
    assert paragraphs_of_markdown(text) == [title.lstrip(" "), note.lstrip(" ")]
    assert cells_of_markdown(text) == [[heading.strip(" ")], [cell.strip(" ")]]


@given(st.lists(st.tuples(st.text(), st.integers()), max_size=3))
def test_csv_gives_every_record_back_and_its_lines_end_as_lines_do_here(facts):
    text = render(page(*facts), "csv")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [(row["name"], row["size"], row["none"]) for row in rows] == [
        (name, str(size), "") for name, size in facts
    ]
    assert text.endswith("\n") == bool(facts)
    assert not text.endswith("\r\n")


def test_a_narrow_terminal_says_which_columns_it_lacks():
    wide = Field("wide", str, from_width=100)
    page = Page("title", [Field("one", str), wide], [1], ["a note"], [], "{}")
    assert "Not shown in this width: wide." in render(page, "table", width=80)
    assert "Not shown" not in render(page, "table", width=120)
