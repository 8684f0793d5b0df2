"""Strict YAML in which every scalar stays the text that was written and everything has a place.

YAML on its own turns `no` into false, `01` into 1 and `12:30` into 750. A schema types its own
scalars, so this reader stops at YAML's events: mappings, lists and text. What a schema does not
need (anchors, aliases, tags, several documents) or cannot mean (a key that stands twice) is refused.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import yaml

from cfl_cli.errors import SchemaError

# PyYAML's scanner is Python and takes up to 13 s for a hostile MiB, 3 s for this much. Its C twin is
# faster, but words its errors differently and is not there on every platform.
LIMIT = 256 * 1024

# A schema is four levels deep. The cap is also what keeps `_Reading.node`, which calls itself, and
# PyYAML, which rereads all open brackets at every token, from being led down a well.
DEPTH = 20

SHOWN = 60

Node: TypeAlias = "dict[str, Node] | list[Node] | str"
Path: TypeAlias = tuple[str | int | None, ...]

# Besides control characters, the three that YAML 1.1 takes for line breaks and YAML 1.2 and editors
# do not: folding them would change the text, counting them would name the wrong line.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LINE_BREAK = re.compile("\r\n|\r|\n")

# What PyYAML says, and what that means to whoever wrote the file; the first match counts.
_IN_PLAIN_WORDS = {
    r"found character '\t'": "a tab cannot stand here; indent with spaces",
    "cannot start any token": "text that starts with this character needs quotes",
    "mapping values are not": "a ':' cannot stand here; check the indentation, or quote the text",
    "could not find expected ':'": "a key without a ':' after it",
    "end of stream": "a quote is opened and never closed",
    "got '<stream end>'": "a bracket is opened and never closed",
    "expected <block end>": "this does not fit what stands above it; check indentation and quotes",
}


_TOO_LARGE = f"larger than {LIMIT // 1024} KiB, the most that is read"


class Mark(NamedTuple):
    """A line and a column, both counted from 1."""

    line: int
    column: int


class Place(NamedTuple):
    """Where a node's key stands, and where the node itself does; a list item is its own key."""

    key: Mark
    value: Mark


class Problem(NamedTuple):
    """One thing that is wrong and where; problems sort in the order of the text."""

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
        """Return a problem with the node at `path` or, if there is none, with what should hold it."""
        missing = path not in self.places
        while path not in self.places:
            path = path[:-1]
        place = self.places[path]
        return Problem(self.name, *(place.key if at_key or missing else place.value), message)


def load(path: str | os.PathLike[str]) -> Tree:
    """Return the tree of a UTF-8 file; raise `SchemaError` if it cannot be read as text."""
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:  # noqa: PTH123  (Path() would turn "" into ".")
            data = file.read(LIMIT + 1)
    except (OSError, ValueError) as error:  # ValueError: a path no file can have
        raise SchemaError(f"{name}: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > LIMIT:
        raise SchemaError(f"{name}: {_TOO_LARGE}")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SchemaError(f"{name}: this file is UTF-16; save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # `error` counts from behind the byte order mark, and so does its `object`.
        place = _mark_after(error.object[: error.start].decode())
        byte = error.object[error.start]
        message = f"byte 0x{byte:02x} is not UTF-8; save the file as UTF-8"
        raise SchemaError(str(Problem(name, *place, message))) from None
    return read(text, name=name)


def read(text: str, *, name: str) -> Tree:
    """Return the tree of `text`; `name` is what its problems call it."""
    if len(text) > LIMIT:
        return Tree(name, None, {}, (Problem(name, 1, 1, _TOO_LARGE),))
    if found := _FORBIDDEN.search(text):
        message = (
            f"the character U+{ord(found[0]):04X} cannot stand in YAML text"
            "; in a value, write it as an escape in double quotes"
        )
        problem = Problem(name, *_mark_after(text[: found.start()]), message)
        return Tree(name, None, {}, (problem,))
    return _Reading(text, name).tree()


class _StopReading(Exception):  # noqa: N818  (a signal inside this module, not an error of its own)
    """Nothing after this point can be read."""


class _Reading:
    """One pass over the events of one text."""

    def __init__(self, text: str, name: str) -> None:
        self.loader = yaml.SafeLoader(text)
        self.name = name
        self.places: dict[Path, Place] = {}
        self.problems: list[Problem] = []
        self.known = True

    def tree(self) -> Tree:
        """Return everything that could be read."""
        data: Node = ""
        try:
            data = self.document()
        except _StopReading:
            self.known = False
        return Tree(
            self.name,
            data if self.known else None,
            self.places,
            tuple(sorted(self.problems)),
        )

    def document(self) -> Node:
        """Return the only document; a text of blanks and comments is an empty scalar."""
        start = Mark(1, 1)
        self.places[()] = Place(start, start)
        data: Node = ""
        for count, event in enumerate(self.until(yaml.StreamEndEvent, of=yaml.DocumentStartEvent)):
            if count:
                self.refuse(event, "a second document starts here; one file holds one")
                break
            data = self.node(self.event(), ())
        return data

    def node(self, event: yaml.Event, path: Path, key: Mark | None = None) -> Node:
        """Return what starts with `event`, all of it."""
        mark = _mark_of(event.start_mark)
        self.places[path] = Place(key or mark, mark)
        if len(path) > DEPTH:
            self.refuse(event, f"more than {DEPTH} levels deep")
            raise _StopReading
        if isinstance(event, yaml.AliasEvent):
            self.refuse(event, f"aliases are not allowed; write out what *{event.anchor} stands for")
            self.known = False
            return ""
        if event.anchor is not None:
            self.refuse(event, f"anchors are not allowed; leave out &{event.anchor}")
        if event.tag is not None:
            self.refuse(event, "tags are not allowed; leave out the part that starts with '!'")
        if isinstance(event, yaml.MappingStartEvent):
            return self.mapping(path)
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Node] = []
            for item in self.until(yaml.SequenceEndEvent):
                items.append(self.node(item, (*path, len(items))))  # noqa: PERF401  (len(items) grows)
            return items
        return self.scalar(event)

    def mapping(self, path: Path) -> dict[str, Node]:
        """Return the entries up to the mapping's end, without those whose key is refused."""
        entries: dict[str, Node] = {}
        for event in self.until(yaml.MappingEndEvent):
            # Below None, a refused entry is still read, and nobody asks for its places.
            key, nowhere = self.node(event, (*path, None)), (*path, None)
            mark = _mark_of(event.start_mark)
            if not isinstance(key, str):
                self.refuse(event, "a key must be text, not a mapping or a list")
                self.node(self.event(), nowhere)
            elif key in entries:
                first = self.places[*path, key].key.line
                self.refuse(event, f"the key {shown(key)} stands here twice (first at line {first})")
                self.node(self.event(), nowhere)
            else:
                entries[key] = self.node(self.event(), (*path, key), mark)
        return entries

    def scalar(self, event: yaml.ScalarEvent) -> str:
        """Return the text of a scalar, whatever YAML would take it for."""
        text: str = event.value
        if any("\ud800" <= character <= "\udfff" for character in text):
            self.refuse(event, "an escape here is half a character; write the character itself")
        return text

    def until(
        self, end: type[yaml.Event], of: type[yaml.Event] = yaml.Event
    ) -> Iterator[yaml.Event]:
        """Yield the events of one kind up to `end`, which is taken too."""
        while not isinstance(event := self.event(), end):
            if isinstance(event, of):
                yield event

    def event(self) -> yaml.Event:
        """Return the next event; note a syntax error and stop."""
        try:
            return self.loader.get_event()
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            self.problems.append(Problem(self.name, *_mark_of(mark), _in_plain_words(error)))
        except (ValueError, OverflowError):
            # PyYAML hands an escape such as \UFFFFFFFF to chr() as it is.
            mark = Mark(self.loader.line + 1, self.loader.column + 1)
            self.problems.append(Problem(self.name, *mark, "not valid YAML: no such character"))
        raise _StopReading

    def refuse(self, event: yaml.Event, message: str) -> None:
        """Note a problem where `event` starts."""
        self.problems.append(Problem(self.name, *_mark_of(event.start_mark), message))


def shown(value: object) -> str:
    """Return how messages show a value: as written, in quotes, at most 60 characters of it."""
    text = repr(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def _in_plain_words(error: yaml.MarkedYAMLError) -> str:
    said = error.problem or error.context or "cannot be read"
    meaning = next((ours for theirs, ours in _IN_PLAIN_WORDS.items() if theirs in said), said)
    if "opened" in meaning and error.context_mark is not None:
        meaning += f" (line {error.context_mark.line + 1})"
    return f"not valid YAML: {meaning}"


def _mark_of(mark: yaml.Mark) -> Mark:
    return Mark(mark.line + 1, mark.column + 1)


def _mark_after(text: str) -> Mark:
    lines = _LINE_BREAK.split(text.removeprefix("\ufeff"))
    return Mark(len(lines), len(lines[-1]) + 1)
