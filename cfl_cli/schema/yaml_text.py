"""Strict YAML in which every scalar stays the text that was written and every node has its place.

YAML on its own turns `no` into false, `01` into 1 and `12:30` into 750. A schema types its own
scalars, so this reader stops at PyYAML's nodes: mappings, lists and text, with marks. What a schema
does not need (anchors, aliases, tags, several documents) or cannot mean (a duplicate key) is
refused.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import yaml

from cfl_cli.core.messages import quote
from cfl_cli.errors import Problem, SchemaError, cause_of

# PyYAML's scanner is Python and takes up to 22 s for a hostile MiB, 4 s for this much. Its C twin
# is faster, but words its errors in another way and is not there on every platform.
LIMIT = 256 * 1024

# A schema is four levels deep. The cap keeps PyYAML from calling itself for every level, and from
# looking back at every open bracket for each new one.
DEPTH = 20

Data: TypeAlias = dict[str, "Data"] | list["Data"] | str
Path: TypeAlias = tuple[str | int, ...]

# Control characters, halves of characters, and the three that are line breaks in YAML 1.1 but not
# in YAML 1.2 and editors: folding those would change the text, counting them the line numbers.
# Python takes long to compile the set of all others.
_FORBIDDEN = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
LINE_BREAK = re.compile("\r\n|\r|\n")
TOO_LARGE = f"larger than {LIMIT // 1024} KiB, the limit for a schema"
_TAGS = "tags are not supported; remove what starts with '!'"

# What PyYAML says, and what that means to whoever wrote the text; the first match counts.
_MEANINGS = {
    r"found character '\t'": "a tab is not allowed here; indent with spaces",
    "cannot start any token": "text that starts with this character needs quotes",
    "mapping values are not": "unexpected ':'; check the indentation, or quote the text",
    "could not find expected ':'": "a key without a ':' after it",
    "expected <block end>": "this does not continue the lines above; check indentation and quotes",
    "<document start>": "this does not continue the lines above; check brackets and quotes",
    "end of stream": "a quote is never closed",
    "<stream end>": "a bracket is never closed",
    "node content": "a value is missing here",
    "tag handle": _TAGS,
}


Position: TypeAlias = tuple[int, int]  # a line and a column, both counted from 1


def _position(thing: Any) -> Position:
    mark = getattr(thing, "start_mark", thing)
    return mark.line + 1, mark.column + 1


class KeyedNode(NamedTuple):
    """A node of the text and the node of its key; a list item, or the root, is its own key."""

    key: yaml.Node
    value: yaml.Node


def _marked(
    name: str, place: Position, code: str, message: str, column: str | None = None
) -> Problem:
    line, at = place
    text = "{file}:{line}:{at}: {what}"
    return Problem(code, text, file=name, line=line, column=column, at=at, what=message)


@dataclass(frozen=True)
class Document:
    """What a text holds, the node of each part of it, and what was refused on the way.

    With `problems`, `data` is what remains without the refused parts, so that more problems can be
    found in it; it is None when too little remains to judge.
    """

    name: str
    data: Data | None
    entries: Mapping[Path, KeyedNode] = field(repr=False)
    problems: tuple[Problem, ...]
    end: int = 0  # where more text could be added
    text: str = field(default="", repr=False)

    def problem(self, path: Path, code: str, message: str, *, at_key: bool = False) -> Problem:
        column = str(path[1]) if path[:1] == ("columns",) and path[1:] else None
        while path not in self.entries:
            path, at_key = path[:-1], True
        entry = self.entries[path]
        place = _position(entry.key if at_key else entry.value)
        return _marked(self.name, place, code, message, column)


def file_text(path: str | os.PathLike[str]) -> str:
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - Path("") would be the folder "."
            data = file.read(LIMIT + 1)
    except (OSError, ValueError) as error:
        text, why = "{file}: {why}", cause_of(error)
        if not isinstance(error, OSError):  # a path that no file can have
            text = "{file!r}: {why}"
        raise SchemaError(Problem("schema-unreadable", text, file=name, why=why)) from None
    if len(data) > LIMIT:
        raise SchemaError(Problem("schema-too-large", "{file}: {what}", file=name, what=TOO_LARGE))
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text, remedy = "{file}: this is UTF-16; {remedy}", "save the file as UTF-8"
        raise SchemaError(Problem("schema-encoding", text, file=name, remedy=remedy))
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        message = f"the byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        place = _place_after(data[: error.start].decode())
        raise SchemaError(_marked(name, place, "schema-encoding", message)) from None


def read_yaml(text: str, *, name: str) -> Document:
    if len(text) > LIMIT:
        return Document(name, None, {}, (_marked(name, (1, 1), "schema-too-large", TOO_LARGE),))
    if character := _FORBIDDEN.search(text):
        message = (
            f"the character U+{ord(character[0]):04X} is not allowed here"
            "; in a value, write it as an escape in double quotes"
        )
        place = _place_after(text[: character.start()])
        problem = _marked(name, place, "schema-character", message)
        return Document(name, None, {}, (problem,))
    composer, end = _Composer(text), len(text)
    root: yaml.Node | None = None
    try:
        start = composer.get_event().start_mark  # of the stream
        if composer.check_event(yaml.StreamEndEvent):
            root = yaml.ScalarNode("", "", start, start)
        else:
            composer.get_event()  # the document starts
            root = composer.compose_node(None, None)
            ending = composer.get_event()
            end = ending.start_mark.index if ending.explicit else end
            if not composer.check_event(yaml.StreamEndEvent):
                what = "a second document starts here; only one is read"
                composer.refuse(composer.peek_event(), what)
            root = None if composer.has_aliases else root
    except _UnreadableError:
        root = None
    except yaml.MarkedYAMLError as error:
        root, mark = None, error.problem_mark or error.context_mark or composer.get_mark()
        told = error.problem or error.context or "it cannot be read"
        meaning = next((ours for theirs, ours in _MEANINGS.items() if theirs in told), told)
        if "never closed" in meaning and error.context_mark:
            meaning += f" (opened on line {error.context_mark.line + 1})"
        composer.refuse(mark, f"not valid YAML: {meaning}")
    except (ValueError, OverflowError):
        # PyYAML hands the number in an escape such as "\UFFFFFFFF" to chr() as it is.
        root, what = None, "not valid YAML: the number in this escape is too large"
        composer.refuse(composer.get_mark(), what)
    said = sorted(composer.refused)
    problems = tuple(_marked(name, place, "schema-yaml", what) for place, what in said)
    entries: dict[Path, KeyedNode] = {}
    data = None if root is None else _collect(KeyedNode(root, root), (), entries)
    return Document(name, data, entries, problems, end, text)


def _collect(entry: KeyedNode, path: Path, entries: dict[Path, KeyedNode]) -> Data:
    entries[path] = entry
    node = entry.value
    if isinstance(node, yaml.SequenceNode):
        items = enumerate(node.value)
        return [_collect(KeyedNode(one, one), (*path, number), entries) for number, one in items]
    if isinstance(node, yaml.MappingNode):
        data: dict[str, Data] = {}
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value not in data:
                data[key.value] = _collect(KeyedNode(key, value), (*path, key.value), entries)
        return data
    return str(node.value)


class _UnreadableError(Exception):
    """Nothing after this point can be read."""


class _Composer(yaml.BaseLoader):
    """Composes the nodes of one document, and notes what a schema may not have."""

    get_event: Callable[[], Any]  # PyYAML's own, which ship without types
    peek_event: Callable[[], Any]

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.refused: list[tuple[Position, str]] = []
        self.depth = 0
        self.has_aliases = False
        self.first_keys: dict[yaml.Node, dict[str, int]] = {}  # their lines, by mapping

    def compose_node(self, parent: Any, index: Any) -> Any:
        if isinstance(index, yaml.Node):  # the key of what comes now
            first = self.first_keys.setdefault(parent, {})
            if not isinstance(index, yaml.ScalarNode):
                self.refuse(index, "a key must be text, not a mapping or a list")
            elif index.value in first:
                line = first[index.value]
                self.refuse(index, f"duplicate key {quote(index.value)} (first at line {line})")
            else:
                first[index.value] = index.start_mark.line + 1
        event = self.peek_event()
        if self.depth > DEPTH:
            self.refuse(event, f"nested more than {DEPTH} levels deep")
            raise _UnreadableError
        if self.check_event(yaml.AliasEvent):
            self.refuse(event, f"aliases are not supported; write out {quote(f'*{event.anchor}')}")
            self.has_aliases = True
            self.get_event()
            return yaml.ScalarNode("", "", event.start_mark, event.end_mark)
        if event.anchor is not None:
            self.refuse(event, f"anchors are not supported; remove {quote(f'&{event.anchor}')}")
            event.anchor = None  # or PyYAML would refuse the second of its name
        if event.tag is not None:
            self.refuse(event, _TAGS)
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        if isinstance(node, yaml.ScalarNode):
            try:
                node.value = node.value.encode("utf-16", "surrogatepass").decode("utf-16")
            except UnicodeDecodeError:
                self.refuse(
                    node, "this escape is only half of a character; write the character itself"
                )
        return node

    def refuse(self, thing: Any, message: str) -> None:
        self.refused.append((_position(thing), message))


def _place_after(text: str) -> Position:
    lines = LINE_BREAK.split(text.removeprefix("\ufeff"))
    return len(lines), len(lines[-1]) + 1
