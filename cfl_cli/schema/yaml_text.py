"""Strict YAML in which every scalar stays the text that was written and every node has its place.

YAML on its own turns `no` into false, `01` into 1 and `12:30` into 750. A schema types its own
scalars, so this reader stops at YAML's events: mappings, lists and text. What a schema does not
need (anchors, aliases, tags, several documents) or cannot mean (a key twice) is refused.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import yaml

from cfl_cli.core.messages import quote
from cfl_cli.errors import SchemaError

# PyYAML's scanner is Python and takes up to 22 s for a hostile MiB, 4 s for this much. Its C twin
# is faster, but words its errors in another way and is not there on every platform.
LIMIT = 256 * 1024

# A schema is four levels deep. The cap is what lets `_Reading.node` call itself, and PyYAML look
# back at every open bracket for each new one, without being led down a well.
DEPTH = 20

Node: TypeAlias = dict[str, "Node"] | list["Node"] | str
Path: TypeAlias = tuple[str | int | None, ...]
_NodeEvent: TypeAlias = (
    yaml.ScalarEvent | yaml.SequenceStartEvent | yaml.MappingStartEvent | yaml.AliasEvent
)

# Control characters, halves of characters, and the three that are line breaks in YAML 1.1 but not
# in YAML 1.2 and editors: folding those would change the text, counting them the line numbers.
# Python takes long to compile the set of all others.
_FORBIDDEN = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_LINE_BREAK = re.compile("\r\n|\r|\n")
_TOO_LARGE = f"larger than {LIMIT // 1024} KiB, the most that is read"

# What PyYAML says, and what that means to whoever wrote the text; the first match counts.
_MEANINGS = {
    r"found character '\t'": "a tab cannot stand here; indent with spaces",
    "cannot start any token": "text that starts with this character needs quotes",
    "mapping values are not": "a ':' cannot stand here; check the indentation, or quote the text",
    "could not find expected ':'": "a key without a ':' behind it",
    "expected <block end>": "this does not fit what stands above it; check indentation and quotes",
    "<document start>": "this does not fit what stands above it; check brackets and quotes",
    "end of stream": "a quote is opened and never closed",
    "<stream end>": "a bracket is opened and never closed",
    "node content": "a value is missing here",
    "tag handle": "tags are not read; leave out what starts with '!'",
}


class Mark(NamedTuple):
    """A line and a column, both counted from 1."""

    line: int
    column: int


class Place(NamedTuple):
    """Where a node's key stands, and where the node itself does; a list item is its own key."""

    key: Mark
    value: Mark


class Problem(NamedTuple):
    """One thing that is wrong, and where; problems sort in the order of the text."""

    name: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        """Return `name:line:column: message`, which editors can jump to."""
        return f"{self.name}:{self.line}:{self.column}: {self.message}"


@dataclass(frozen=True)
class Tree:
    """What a text holds, where each part of it stands, and what was refused on the way.

    With `problems`, `data` is what remains without the refused parts, so that more problems can be
    found in it; it is None when too little remains to judge.
    """

    name: str
    data: Node | None
    places: Mapping[Path, Place] = field(repr=False)
    problems: tuple[Problem, ...]

    def problem(self, path: Path, message: str, *, at_key: bool = False) -> Problem:
        """Return a problem with the node at `path`, or with the key of what should hold it."""
        while path not in self.places:
            path, at_key = path[:-1], True
        place = self.places[path]
        return Problem(self.name, *(place.key if at_key else place.value), message)


def load(path: str | os.PathLike[str]) -> Tree:
    """Return the tree of a UTF-8 file; raise `SchemaError` if it cannot be read as text."""
    return read(text_of(path), name=os.fspath(path))


def text_of(path: str | os.PathLike[str]) -> str:
    """Return the text of a UTF-8 file, or raise `SchemaError`."""
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - Path("") would be the folder "."
            data = file.read(LIMIT + 1)
    except OSError as error:
        raise SchemaError(f"{name}: {error.strerror}") from None
    except ValueError as error:  # a path that no file can have
        raise SchemaError(f"{quote(name)}: {error}") from None
    if len(data) > LIMIT:
        raise SchemaError(f"{name}: {_TOO_LARGE}")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SchemaError(f"{name}: this is UTF-16; save the file as UTF-8")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        message = f"the byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        mark = _mark_after(data[: error.start].decode())
        raise SchemaError(str(Problem(name, *mark, message))) from None


def read(text: str, *, name: str) -> Tree:
    """Return the tree of `text`; `name` is what its problems call it."""
    if len(text) > LIMIT:
        return Tree(name, None, {}, (Problem(name, 1, 1, _TOO_LARGE),))
    if found := _FORBIDDEN.search(text):
        message = (
            f"the character U+{ord(found[0]):04X} cannot stand here"
            "; a value that holds it needs double quotes and an escape"
        )
        problem = Problem(name, *_mark_after(text[: found.start()]), message)
        return Tree(name, None, {}, (problem,))
    return _Reading(text, name).tree()


class _UnreadableError(Exception):
    """Nothing behind this point can be read."""


class _Reading:
    """One pass over the events of one text."""

    def __init__(self, text: str, name: str) -> None:
        self.loader = yaml.SafeLoader(text)
        self.name = name
        self.places: dict[Path, Place] = {(): Place(Mark(1, 1), Mark(1, 1))}
        self.problems: list[Problem] = []
        self.known = True

    def tree(self) -> Tree:
        """Return everything that could be read."""
        data: Node = ""
        try:
            data = self.document()
        except _UnreadableError:
            self.known = False
        problems = tuple(sorted(self.problems))
        return Tree(self.name, data if self.known else None, self.places, problems)

    def document(self) -> Node:
        """Return the one document; blanks and comments alone are an empty scalar."""
        self.event()  # the stream starts
        if isinstance(self.event(), yaml.StreamEndEvent):
            return ""
        data = self.node(self.event(), ())
        self.event()  # the document ends
        if not isinstance(second := self.event(), yaml.StreamEndEvent):
            self.refuse(second, "a second document starts here; only one is read")
        return data

    def node(self, event: _NodeEvent, path: Path, key: Mark | None = None) -> Node:
        """Return what starts with `event`, up to its end."""
        mark = _mark_of(event)
        self.places[path] = Place(key or mark, mark)
        if len(path) > DEPTH:
            self.refuse(event, f"this is nested more than {DEPTH} levels deep")
            raise _UnreadableError
        if isinstance(event, yaml.AliasEvent):
            self.refuse(event, f"aliases are not read; write out {quote(f'*{event.anchor}')}")
            self.known = False
            return ""
        if event.anchor is not None:
            self.refuse(event, f"anchors are not read; leave out {quote(f'&{event.anchor}')}")
        if event.tag is not None:
            self.refuse(event, "tags are not read; leave out what starts with '!'")
        if isinstance(event, yaml.MappingStartEvent):
            return self.mapping(path)
        if isinstance(event, yaml.SequenceStartEvent):
            items = enumerate(self.until(yaml.SequenceEndEvent))
            return [self.node(item, (*path, index)) for index, item in items]
        return self.scalar(event)

    def mapping(self, path: Path) -> dict[str, Node]:
        """Return the entries up to the mapping's end, without those whose key is refused."""
        entries: dict[str, Node] = {}
        nowhere = (*path, None)  # refused entries are read too, but nobody asks for their places
        for event in self.until(yaml.MappingEndEvent):
            key = self.node(event, nowhere)
            if not isinstance(key, str):
                self.refuse(event, "a key must be text, not a mapping or a list")
                self.node(self.event(), nowhere)
            elif key in entries:
                first = self.places[*path, key].key.line
                twice = f"the key {quote(key)} stands here twice (first at line {first})"
                self.refuse(event, twice)
                self.node(self.event(), nowhere)
            else:
                entries[key] = self.node(self.event(), (*path, key), _mark_of(event))
        return entries

    def scalar(self, event: yaml.ScalarEvent) -> str:
        """Return the text of a scalar, whatever else YAML would take it for."""
        try:
            # JSON, which is YAML, escapes characters beyond 16 bits in two halves.
            return event.value.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            self.refuse(event, "an escape here is half a character; write the character itself")
            return event.value

    def until(self, end: type[yaml.Event]) -> Iterator[Any]:
        """Yield the events that come before `end`, and take that one too."""
        while not isinstance(event := self.event(), end):
            yield event

    def event(self) -> Any:
        """Return the next event; at a syntax error, note it and give up."""
        try:
            return self.loader.get_event()  # type: ignore[no-untyped-call]
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark or self.loader.get_mark()
            self.refuse(mark, f"not valid YAML: {_meaning(error)}")
        except (ValueError, OverflowError):
            # PyYAML hands the number in an escape such as "\UFFFFFFFF" to chr() as it is.
            self.refuse(self.loader.get_mark(), "not valid YAML: this number is too large")
        raise _UnreadableError

    def refuse(self, event: yaml.Event | yaml.Mark, message: str) -> None:
        """Note a problem where `event` starts."""
        self.problems.append(Problem(self.name, *_mark_of(event), message))


def _meaning(error: yaml.MarkedYAMLError) -> str:
    said = error.problem or error.context or "it cannot be read"
    meaning = next((ours for theirs, ours in _MEANINGS.items() if theirs in said), said)
    if "opened" in meaning and error.context_mark:
        meaning += f" (line {error.context_mark.line + 1})"
    return meaning


def _mark_of(event: Any) -> Mark:
    """Return where an event, or PyYAML's own mark, stands."""
    mark = getattr(event, "start_mark", event)
    return Mark(mark.line + 1, mark.column + 1)


def _mark_after(text: str) -> Mark:
    lines = _LINE_BREAK.split(text.removeprefix("\ufeff"))
    return Mark(len(lines), len(lines[-1]) + 1)
