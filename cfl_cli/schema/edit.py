"""Puts settings into the text of a schema, and leaves every other byte of it as it is.

A value that is there is replaced; a setting that is not there goes after the last one, in the style
of the others; a schema without settings gets a line of them. What comes out is
read again: it must say what was wanted, and otherwise what the text said before.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import yaml

from cfl_cli.errors import Problem, SchemaError
from cfl_cli.schema import yaml_text
from cfl_cli.schema.model import Schema
from cfl_cli.schema.yaml_text import LINE_BREAK, Document, KeyedNode

Value: TypeAlias = int | float | str
_Edit: TypeAlias = tuple[int, int, str]  # from where to where another text comes


def put(text: str, settings: Mapping[str, Value], *, name: str = "schema") -> str:
    """Return the text of a schema with these settings in it; `name` is what errors call it."""
    document = yaml_text.read_yaml(text, name=name)
    before = Schema.parse(text, name)
    wanted = before.settings.override(**settings)
    new = {  # what must be written: another value, or one that is not there yet
        key: value
        for key, value in settings.items()
        if ("settings", key) not in document.entries or getattr(before.settings, key) != value
    }
    written = text
    edits = _edits(text, document, new) if new else []
    for start, end, instead in sorted(edits, key=lambda edit: edit[0], reverse=True):
        written = written[:start] + instead + written[end:]
    try:
        after = Schema.parse(written, name)
    except SchemaError:
        after = None
    if after is None or after != before.model_copy(update={"settings": wanted}):
        line = ", ".join(f"{key}: {spelled(value)}" for key, value in settings.items())
        text = "{file}: its settings share lines with other content: {remedy}"
        way = f"write them on a separate line, such as settings: {{{line}}}"
        raise SchemaError(Problem("schema-settings-edit", text, file=name, remedy=way))
    return written


def spelled(value: Value) -> str:
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return str(int(value)) if whole else str(value)


def _edits(text: str, document: Document, new: Mapping[str, Value]) -> list[_Edit]:
    if ("settings",) in document.entries:
        return _in_settings(text, document, new)
    root, entries = document.entries[()].value, _inside(document)
    quoted = all(map(_is_quoted, entries))
    name = '"settings"' if quoted else "settings"
    line = f"{name}: {{{', '.join(_lines(new, quoted=quoted))}}}"
    if _is_in_brackets(root):
        return [_after_last(root, entries, line)]
    line = " " * root.start_mark.column + line
    place = document.end
    begun = place == 0 or text[place - 1] in "\r\n"
    return [(place, place, line + _break(text) if begun else _break(text) + line)]


def _in_settings(text: str, document: Document, new: Mapping[str, Value]) -> list[_Edit]:
    settings, entries = document.entries["settings",], _inside(document, "settings")
    edits, missing = list[_Edit](), {}
    for key, value in new.items():
        if ("settings", key) not in document.entries:
            missing[key] = value
            continue
        entry = document.entries["settings", key]
        start, end = entry.value.start_mark.index, _end(entry.value)
        old = text[start:end]
        rest = old[len(old.rstrip()) :]  # of a block scalar
        edits.append((start, end, _spelled(value, quoted=_is_quoted(entry)) + rest))
    quoted = all(map(_is_quoted, [settings, *entries]))
    mapping = settings.value
    if missing and _is_in_brackets(mapping):
        line = ", ".join(_lines(missing, quoted=quoted))
        edits.append(_after_last(mapping, entries, line))
    elif missing:
        end = _end(mapping)
        indent = " " * mapping.start_mark.column
        lines = [indent + line for line in _lines(missing, quoted=quoted)]
        line_break = _break(text)
        if text[end - 1] in "\r\n":
            edits.append((end, end, "".join(line + line_break for line in lines)))
        else:
            line_end = LINE_BREAK.search(text, end)  # after a comment on the last line
            place = line_end.start() if line_end else len(text)
            edits.append((place, place, "".join(line_break + line for line in lines)))
    return edits


def _after_last(mapping: yaml.Node, entries: Sequence[KeyedNode], line: str) -> _Edit:
    if not entries:
        place = mapping.start_mark.index + 1
        return place, place, line
    end = max(_end(entry.value) for entry in entries)
    return end, end, f", {line}"


def _inside(document: Document, *path: str) -> list[KeyedNode]:
    keys = (key.value for key, _ in document.entries[path].value.value)
    return [document.entries[*path, key] for key in keys]


def _end(node: yaml.Node) -> int:
    if isinstance(node, yaml.ScalarNode) or _is_in_brackets(node):
        return int(node.end_mark.index)
    last = node.value[-1]
    return _end(last[1] if isinstance(node, yaml.MappingNode) else last)


def _is_quoted(entry: KeyedNode) -> bool:
    return isinstance(entry.key, yaml.ScalarNode) and entry.key.style == '"'


def _is_in_brackets(node: yaml.Node) -> bool:
    return isinstance(node, yaml.CollectionNode) and bool(node.flow_style)


def _lines(settings: Mapping[str, Value], *, quoted: bool) -> list[str]:
    mark = '"' if quoted else ""
    return [f"{mark}{key}{mark}: {_spelled(it, quoted=quoted)}" for key, it in settings.items()]


def _spelled(value: Value, *, quoted: bool) -> str:
    return f'"{value}"' if quoted and isinstance(value, str) else spelled(value)


def _break(text: str) -> str:
    first = LINE_BREAK.search(text)
    return first[0] if first else "\n"
