"""Pages of explanations: several tables on one page, in any width, with any names."""

import polars as pl
import pytest

from cfl_cli import impute
from cfl_cli.cli.pages import render
from cfl_cli.cli.pages.layout import fragment
from cfl_cli.commands.explain.page import page

HOSTILE = ["<script>alert(1)</script>", "a | b\n*c*", "\x1b[31mred", "x" * 300]


@pytest.fixture(scope="module")
def explained():
    rows = 30
    frame = pl.DataFrame(
        {
            "size & <b>": [str(n % 7) for n in range(rows)],
            "kind": ["<i>", "y" * 90][:2] * (rows // 2),
            "cf": [HOSTILE[n % 4] for n in range(rows)],
            "other": ["pq"[n % 2] for n in range(rows)],
        }
    )
    schema = {
        "version": 1,
        "columns": {
            "size & <b>": {"role": "ordinary", "type": "numeric"},
            "kind": {"role": "ordinary", "type": "categorical"},
            "cf": {"role": "complementary", "values": HOSTILE},
            "other": {"role": "complementary", "values": ["p", "q", "r"]},
        },
    }
    return impute(frame, schema, k=4, iterations=5, folds=0).explain(3)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal_and_nothing_steers_it(explained, width):
    text = render(page(explained), "table", width=width)
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text
    assert text.count("row 3: ") == 2  # both CFs
    words = " ".join(text.split())
    assert words.count("most weight first") == 2
    assert "Its ordinary features beside those of the neighbors" in words


def test_every_section_is_in_markdown_and_html_and_all_is_escaped(explained):
    shown = page(explained)
    markdown, html = render(shown, "md"), fragment(shown)
    assert html.count("<table>") == len(shown.sections) == 5
    assert markdown.count("---") >= 5
    assert "<script>" not in html
    assert "<i>" not in html
