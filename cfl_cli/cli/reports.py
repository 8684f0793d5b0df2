"""What `cfl report` shows: the report of a table or of a model, or the history of a model."""

import sys
from typing import Any

from cfl_cli.cli.show.page import Page
from cfl_cli.models.content import is_model, read_report_text
from cfl_cli.tables import table as tables
from cfl_cli.trust.report import Report


def page_of(name: str, *, is_history: bool, to_file: bool) -> Page[Any]:
    """Return the page of what has this name; a file can hold every sign, a terminal may not."""
    if is_history:
        from cfl_cli.cli.show import history as show  # noqa: PLC0415 — one of the two is needed
        from cfl_cli.trust import history  # noqa: PLC0415 — loads slowly

        encoding = "utf-8" if to_file else sys.stdout.encoding
        return show.page(history.read(tables.local(name)), encoding=encoding)
    from cfl_cli.cli.show.report import page  # noqa: PLC0415 — loads slowly

    return page(Report.from_json(_text(name), name=name))


def _text(name: str) -> str | bytes:
    """Return the report's JSON."""
    if name != tables.STANDARD and is_model(tables.local(name)):
        return read_report_text(tables.local(name))
    return tables.read_report(name)
