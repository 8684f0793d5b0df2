"""How facts are shown: to people as a table or Markdown, to programs as JSON or CSV.

`report`, `scores` and `trials` make a page each, and a renderer makes text of any page. A new
format is one function in `layout` and one entry below. Pages for browsers are in `web`.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from shutil import get_terminal_size
from typing import Any

from cfl_cli.cli.pages.page import Page

# By name, as help does: `layout` loads rich, which takes a while.
RENDERERS = {"table": "table", "json": "json_text", "csv": "comma_separated", "md": "markdown"}

# What shows itself in Python: by its type, the module that makes a page of it.
PAGES = {
    "Report": "cli.pages.report",
    "Evaluation": "commands.evaluate.job",
    "Tuning": "commands.tune.job",
    "Audited": "commands.audit.page",
    "Explanation": "commands.explain.page",
    "SuspectCells": "commands.suspects.job",
    "Risk": "commands.risk.page",
    "Checked": "commands.check.job",  # lines, not a page
}


def render(page: Page[Any], form: str, *, color: bool = False, width: int | None = None) -> str:
    """Return the page in a format; color and the terminal's width matter to tables alone."""
    renderer = getattr(import_module("cfl_cli.cli.pages.layout"), RENDERERS[form])
    return str(renderer(page, color=color, width=width))


def _beside(module: Any, thing: Any) -> Iterator[str]:
    if hasattr(module, "summary"):
        yield from module.summary(thing)
    if type(thing).__name__ != "Report":  # whose page has them
        yield from (f"warning: {warning}." for warning in getattr(thing, "warnings", ()))


def shown(thing: object, form: str) -> str:
    """Return what is printed in Python, as `table`, or shown in a notebook, as `html`."""
    layout = import_module("cfl_cli.cli.pages.layout")
    if form == "html" and type(thing).__name__ == "Report":
        return str(import_module("cfl_cli.cli.pages.web.report").fragment(thing))
    module = import_module(f"cfl_cli.{PAGES[type(thing).__name__]}")
    if hasattr(module, "lines"):
        lines = module.lines(thing)
        return f"<div>{layout.paragraphs(lines)}</div>" if form == "html" else "\n".join(lines)
    page = module.page(thing)
    page = replace(page, notes=[*page.notes, *_beside(module, thing)])
    if form == "html":
        if page.more:  # sections, with pictures
            return str(import_module("cfl_cli.cli.pages.web.sections").fragment(page))
        return str(layout.fragment(page))
    terminal = sys.stdout is not None and sys.stdout.isatty()
    return render(page, form, width=get_terminal_size().columns if terminal else None)
