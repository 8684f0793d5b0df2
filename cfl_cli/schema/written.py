"""Entries of a schema as YAML text: every text as it is, whatever characters it holds."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from cfl_cli.core.messages import printable
from cfl_cli.core.quick import dataclass

LONG_KEY = 1000  # YAML reads a key of up to 1024 characters by its colon alone


@dataclass(frozen=True)
class Written:
    """The text that a schema was read from, or nothing; what schemas say does not depend on it."""

    text: str = field(default="", compare=False)


def written(entries: Mapping[str, Any]) -> str:
    """Return the text of a schema: an entry on each line, and so are those of `columns`."""
    lines = []
    for name, entry in entries.items():
        if name == "columns":
            lines.append("columns:")
            lines += [f"  {key(column)}: {flow(facts)}" for column, facts in entry.items()]
        else:
            lines.append(f"{key(name)}: {flow(entry)}")
    return "\n".join(lines) + "\n"


def flow(entry: object) -> str:
    """Return an entry on one line: `{role: ordinary, values: [a, b]}`."""
    match entry:
        case str():
            return scalar(entry)
        case bool():
            return str(entry).lower()
        case Mapping():
            return f"{{{', '.join(f'{scalar(name)}: {flow(one)}' for name, one in entry.items())}}}"
        case Sequence():
            return f"[{', '.join(map(flow, entry))}]"
        case _:
            return repr(entry)


def key(name: str) -> str:
    """Return a column's name as a key in a block of its own, up to its colon."""
    text = scalar(name)
    return text if len(text) < LONG_KEY else f"? {text}\n  "


def scalar(text: str) -> str:
    """Return the text as a YAML scalar: bare where that is safe, in double quotes otherwise."""
    bare = text.replace("_", "").replace("-", "").replace(".", "")
    safe = bare.isascii() and bare.isalnum() and text[0].isalnum()
    if safe:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{printable(escaped)}"'
