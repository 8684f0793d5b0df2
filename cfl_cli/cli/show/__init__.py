"""How facts are shown: to people as a table or Markdown, to programs as JSON or CSV.

`report`, `scores` and `trials` make a page each, and a renderer makes text of any page. A new
format is one function in `layout` and one entry below.
"""

from importlib import import_module
from typing import Any

from cfl_cli.cli.show.page import Page

# By name, as help does: `layout` loads rich, which takes a while.
RENDERERS = {"table": "table", "json": "json_text", "csv": "comma_separated", "md": "markdown"}


def render(page: Page[Any], form: str, *, color: bool = False, width: int | None = None) -> str:
    """Return the page in a format; color and the terminal's width matter to tables alone."""
    renderer = getattr(import_module("cfl_cli.cli.show.layout"), RENDERERS[form])
    return str(renderer(page, color=color, width=width))
