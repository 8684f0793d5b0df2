"""A first schema for a data frame: its text, with comments that say what to check."""

from collections.abc import Sequence
from typing import Any

from cfl_cli.schema import draft as drafts
from cfl_cli.tables import frames


def draft(
    frame: Any,
    *,
    cf: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
    name: str = "table",
) -> str:
    """Return the text of a schema for `frame`, a polars, pandas or pyarrow table.

    `cf` names columns that say what a value is not, `ignore` those to leave out; all others become
    ordinary columns, whose types are guessed. What is doubtful is marked `# ?`. Write the text to a
    file, read and change it, then load it. `name` is what errors call the table.
    """
    return drafts.draft(
        frames.as_polars(frame, name=name), cfs=_columns(cf), ignored=_columns(ignore)
    )


def _columns(named: str | Sequence[str]) -> list[str]:
    return [named] if isinstance(named, str) else [*named]
