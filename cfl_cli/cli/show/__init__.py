"""How facts are shown: to people as a table or Markdown, to programs as JSON or CSV.

`report`, `scores` and `trials` make a page each, and a renderer makes text of any page. A new
format is one function, one entry below and its name in the option `--format`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from cfl_cli.cli.show import layout
from cfl_cli.cli.show.page import Page

RENDERERS: Mapping[str, Callable[..., str]] = {
    "table": layout.table,
    "json": layout.json_text,
    "csv": layout.comma_separated,
    "md": layout.markdown,
}


def render(page: Page[Any], form: str, *, color: bool = False, width: int | None = None) -> str:
    """Return the page in a format; color and the terminal's width matter to tables alone."""
    return RENDERERS[form](page, color=color, width=width)
