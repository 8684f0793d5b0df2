"""Puts settings into the text of a schema, and leaves every other byte of it as it is.

A value that is there is replaced where it stands; a setting that is not there goes behind the last
one, in the style of the others; a schema without settings gets a line of them. What comes out is
read again: it must say what was wanted, and otherwise what the text said before.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import yaml

from cfl_cli.errors import SchemaError
from cfl_cli.schema import yaml_text as yamltext
from cfl_cli.schema.model import Schema

Value: TypeAlias = int | float | str
LINE_BREAK = re.compile("\r\n|\r|\n")


@dataclass(frozen=True)
class Edit:
    """A piece of text in the place of another."""

    start: int
    end: int
    text: str


def put(text: str, settings: Mapping[str, Value], *, name: str = "schema") -> str:
    """Return the text of a schema with these settings in it; `name` is what errors call it."""
    before = Schema.parse(text, name)
    wanted = before.settings.override(**settings)
    tree = yamltext.read(text, name=name).data
    written_there = tree.get("settings") if isinstance(tree, dict) else None
    new = {
        key: value
        for key, value in settings.items()
        if key not in (written_there or {}) or getattr(before.settings, key) != value
    }
    written = text
    for edit in sorted(_edits(text, new), key=lambda edit: edit.start, reverse=True):
        written = written[: edit.start] + edit.text + written[edit.end :]
    try:
        after = Schema.parse(written, name)
    except SchemaError:
        after = None
    if after is None or after != before.model_copy(update={"settings": wanted}):
        line = ", ".join(f"{key}: {spelled(value)}" for key, value in settings.items())
        raise SchemaError(
            f"{name}: its settings cannot be changed without changing more: write them on a line "
            f"of their own, such as settings: {{{line}}}"
        )
    return written


def spelled(value: Value) -> str:
    """Return a setting as it is written in a schema."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return str(int(value)) if whole else str(value)


@dataclass(frozen=True)
class Part:
    """A node of the text: where it stands and, if it is a mapping, its entries."""

    start: int
    end: int
    column: int
    flow: bool
    quoted: bool  # in double quotes, as in JSON
    entries: "dict[str, tuple[Part, Part]]"  # key and value


def _edits(text: str, new: Mapping[str, Value]) -> list[Edit]:
    """Return what must be done to the text for it to hold the new settings."""
    events: Iterator[Any] = iter(yaml.parse(text, Loader=yaml.SafeLoader))
    next(events)  # the stream starts
    next(events)  # the document starts
    root = _part(next(events), events)
    ending = next(events)
    if not new:
        return []
    if "settings" in root.entries:
        return _in_settings(text, *root.entries["settings"], new)
    quoted = all(key.quoted for key, _ in root.entries.values())
    line = f"{_key('settings', quoted=quoted)}: {{{_line(new, quoted=quoted)}}}"
    if root.flow:
        return [_behind_last(root, line)]
    place = ending.start_mark.index if ending.explicit else len(text)
    line = " " * root.column + line
    begun = place == 0 or text[place - 1] in "\r\n"
    return [Edit(place, place, line + _break(text) if begun else _break(text) + line)]


def _in_settings(text: str, title: Part, part: Part, new: Mapping[str, Value]) -> list[Edit]:
    edits, missing = [], {}
    for key, value in new.items():
        if key not in part.entries:
            missing[key] = value
            continue
        written, old = part.entries[key]
        said = text[old.start : old.end]
        rest = said[len(said.rstrip()) :]  # of a block scalar
        edits.append(Edit(old.start, old.end, _spelled(value, quoted=written.quoted) + rest))
    quoted = all(key.quoted for key in (title, *(key for key, _ in part.entries.values())))
    if missing and part.flow:
        edits.append(_behind_last(part, _line(missing, quoted=quoted)))
    elif missing:
        end = max(value.end for _, value in part.entries.values())
        indent = " " * part.column
        lines = [f"{indent}{_entry(key, value, quoted=quoted)}" for key, value in missing.items()]
        line_break = _break(text)
        if text[end - 1] in "\r\n":
            edits.append(Edit(end, end, "".join(line + line_break for line in lines)))
        else:
            found = LINE_BREAK.search(text, end)  # behind a comment on the last line
            place = found.start() if found else len(text)
            edits.append(Edit(place, place, "".join(line_break + line for line in lines)))
    return edits


def _behind_last(part: Part, line: str) -> Edit:
    """Return the edit that puts one more entry into a mapping in braces."""
    if not part.entries:
        return Edit(part.start + 1, part.start + 1, line)
    end = max(value.end for _, value in part.entries.values())
    return Edit(end, end, f", {line}")


def _part(event: Any, events: Iterator[Any]) -> Part:
    """Return the node that starts with `event`, up to its end."""
    start, end = event.start_mark, _end(event)
    entries: dict[str, tuple[Part, Part]] = {}
    flow, quoted = bool(getattr(event, "flow_style", False)), getattr(event, "style", "") == '"'
    if isinstance(event, yaml.CollectionStartEvent):
        following = next(events)
        while not isinstance(following, yaml.CollectionEndEvent):
            part = _part(following, events)
            if isinstance(event, yaml.MappingStartEvent):
                key, part = part, _part(next(events), events)
                entries[following.value] = key, part
            end = part.end
            following = next(events)
        # Without brackets it ends with its last part; comments behind that are not its own.
        end = _end(following) if flow else end
    return Part(start.index, end, start.column, flow, quoted, entries)


def _end(event: Any) -> int:
    return int(event.end_mark.index)


def _line(settings: Mapping[str, Value], *, quoted: bool) -> str:
    return ", ".join(_entry(key, value, quoted=quoted) for key, value in settings.items())


def _entry(key: str, value: Value, *, quoted: bool) -> str:
    return f"{_key(key, quoted=quoted)}: {_spelled(value, quoted=quoted)}"


def _key(key: str, *, quoted: bool) -> str:
    return f'"{key}"' if quoted else key


def _spelled(value: Value, *, quoted: bool) -> str:
    """Return a value; within JSON, words are in quotes."""
    return f'"{value}"' if quoted and isinstance(value, str) else spelled(value)


def _break(text: str) -> str:
    """Return the line break that the text uses."""
    found = LINE_BREAK.search(text)
    return found[0] if found else "\n"
