"""How a text table is written: delimiter, quotes, encoding, header and so on, each declared once.

From `OPTIONS` follow the options of the command line with their help and variables, the keys of
`file:` in a schema, and the fields of `Dialect`, which readers take. A value is checked by its
kind, wherever it comes from; it stays a word (`none`, `yes`, `cr`) until `Dialect.of` reads it.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from cfl_cli.core.messages import STORED, Option, quote
from cfl_cli.core.settings import Choice, FileName, Kind, Setting, Switch
from cfl_cli.errors import Problem, UsageError

NONE = "none"  # no quote, no escape, no header
YES, NO, FILL, _RETURNS = "yes", "no", "fill", "cr"
UTF8 = "utf-8"
QUOTE = '"'
TAB = {"\\t": "\t", "tab": "\t"}  # a tab is hard to type
MOST_LINES = 10**9


class Text(FileName):
    """Text that is not a file's name, such as an encoding, with words to complete it."""


class _Character(Text):
    """One ASCII character, or `none` where that is allowed."""

    none = True

    def read(self, value: object) -> str:
        text: str = super().read(value)
        one = len(text) == 1 and text.isascii() and text not in "\r\n\0"
        if not one and text.lower() not in TAB and not (self.none and text == NONE):
            raise ValueError(f"expected one ASCII character or tab, found {quote(text)}")
        return text


class _Delimiter(_Character):
    none = False


class _LineNumber(Text):
    """How many lines, or which one; `none` among the words means that no line is meant."""

    def read(self, value: object) -> str:
        text: str = super().read(value)
        lowest = len(self.choices)
        number = text.isascii() and text.isdecimal() and lowest <= int(text[:12]) <= MOST_LINES
        if not number and text not in self.choices:
            wanted = "none or the number of a line, from 1" if lowest else "a number of lines"
            raise ValueError(f"expected {wanted}, found {quote(text)}")
        return text


class _Encoding(Text):
    def read(self, value: object) -> str:
        text: str = super().read(value)
        try:
            io.TextIOWrapper(io.BytesIO(), encoding=text)
        except (LookupError, ValueError):
            told = f"unknown encoding {quote(text)}: name one such as utf-8, cp1252 or utf-16"
            raise ValueError(told) from None
        return text


class _YesOrNo(Switch):
    def read(self, value: object) -> Any:
        if isinstance(value, bool):
            return YES if value else NO
        word = str(value).lower()
        if word not in (YES, "true", NO, "false"):
            raise ValueError(f"expected yes or no, found {quote(str(value))}")
        return YES if word in (YES, "true") else NO


class _CsvOption(NamedTuple):
    kind: Kind
    help: str  # on the command line and in the JSON Schema of schemas
    default: str  # in words
    opposite: str = ""  # the option that switches it off

    @property
    def description(self) -> str:
        return f"{self.help} Default: {self.default}."


OPTIONS = {
    "delimiter": _CsvOption(_Delimiter("CHAR"), "Delimiter.", "comma; tab for .tsv"),
    "quote": _CsvOption(_Character("CHAR"), "Quote character, or none.", QUOTE),
    "encoding": _CsvOption(
        _Encoding("NAME"), "Text encoding, such as utf-8, cp1252 or utf-16.", "UTF-8"
    ),
    "escape": _CsvOption(
        _Character("CHAR"), "Escape character, such as \\ (a backslash), or none.", NONE
    ),
    "line_end": _CsvOption(
        Choice(("lf", _RETURNS)), "Line ending: lf (LF or CRLF) or cr (also a lone CR).", "lf"
    ),
    "header": _CsvOption(
        _LineNumber("N|none", (NONE,)),
        "Line with the column names, counted from 1; none: columns are named column_1, column_2 and "
        "so on.",
        "the first line that is not skipped",
    ),
    "skip_lines": _CsvOption(
        _LineNumber("N"), "Number of lines at the beginning that hold no rows.", "0"
    ),
    "rename_columns": _CsvOption(
        _YesOrNo(),
        "Generate names for unnamed columns (column_3) and duplicate columns (age_2).",
        "off",
        "--no-rename-columns",
    ),
    "trim_cells": _CsvOption(
        _YesOrNo(), "Remove blanks around unquoted cells.", "off", "--no-trim-cells"
    ),
    "ragged": _CsvOption(
        Choice(("fail", FILL)),
        "Records with too few or too many cells. fail: refuse the table; fill: add empty cells to "
        "short records and new columns for long ones, and skip blank lines.",
        "fail",
    ),
}


def csv_setting(name: str, default: str) -> Setting:
    """Return an option as the command line has it; `default` is what `{}` in it is filled into."""
    one = OPTIONS[name]
    return Setting(
        name=name,
        kind=one.kind,
        default=None,
        help=one.help,
        panel="reading",
        commands=(),
        decides=False,
        short="",
        opposite=one.opposite,
        variable=True,
        default_text=default.format(one.default),
    )


def _flag(name: str) -> Option:
    return Option(name, to=STORED)  # Python reads no files by such options


def word(name: str, value: object) -> str:
    """Return what an option's value means, or raise ValueError; a report keeps it as typed."""
    kind = OPTIONS[name].kind
    text = str(kind.read(value))
    return TAB.get(text.lower(), text) if isinstance(kind, _Character) else text


def checked(given: Mapping[str, str | None]) -> dict[str, str]:
    words = {}
    for name, value in given.items():
        if value is not None:
            try:
                words[name] = word(name, value)
            except ValueError as error:
                facts = {"option": _flag(name), "why": str(error)}
                raise UsageError(Problem("option-value", "{option}: {why}", **facts)) from None
    return words


class Dialect(NamedTuple):
    delimiter: str = ","
    quote: str | None = QUOTE  # None: no cell is quoted
    escape: str | None = None  # the next character stands for itself
    returns: bool = False  # a carriage return alone ends a line too
    trims: bool = False  # blanks around cells, outside quotes, are no part of them
    encoding: str = UTF8
    has_header: bool = True
    header_line: int | None = None  # from 1; None: the first that is not left out
    skipped: int = 0  # lines at the beginning that hold no rows
    renames: bool = False  # names are made up where they lack or stand twice
    fills: bool = False  # records of other widths than the header's are rows, too
    certain: bool = False  # the user gave the delimiter, so no first line changes it

    @classmethod
    def of(cls, words: Mapping[str, str], *, delimiter: str = ",") -> Self:
        """Return what checked words say; `delimiter` is the usual one of the format."""
        certain, words = "delimiter" in words, {"delimiter": delimiter, **words}
        chars = {"quote": QUOTE, "escape": NONE} | words
        for one, two in (("delimiter", "quote"), ("delimiter", "escape"), ("quote", "escape")):
            if chars[one] == chars[two] != NONE:
                text = "{option} and {other} are both {value!r}"
                facts = {"option": _flag(one), "other": _flag(two), "value": chars[one]}
                raise UsageError(Problem("option-same", text, **facts))
        none = {NONE: None}
        quote, escape = chars["quote"], chars["escape"]
        header = words.get("header", "")
        return cls(
            words["delimiter"],
            none.get(quote, quote),
            none.get(escape, escape),
            words.get("line_end") == _RETURNS,
            words.get("trim_cells") == YES,
            words.get("encoding", UTF8),
            header != NONE,
            int(header) if header not in ("", NONE) else None,
            int(words.get("skip_lines", "0")),
            words.get("rename_columns") == YES,
            words.get("ragged") == FILL,
            certain,
        )


class TextStyle(NamedTuple):
    """How a text table is written."""

    delimiter: str
    quote: str = QUOTE
    encoding: str = UTF8

    def recorded(self) -> dict[str, str]:
        """Return the options that read it, those that are not as usual in CSV."""
        usual = TextStyle(",")._asdict()
        return {name: one for name, one in self._asdict().items() if one != usual[name]}


@dataclass(frozen=True)
class Advice:
    """What to do with an option, in words; `{option}` is its place."""

    text: str
    name: str

    def __str__(self) -> str:
        return self.text.format(option=_flag(self.name))


@dataclass(frozen=True)
class Fix:
    name: str
    value: str
    in_schema: bool = True

    def __str__(self) -> str:
        shown = "tab" if self.value == "\t" else self.value
        plain = shown.replace("-", "").isalnum()
        typed = shown if plain else f'"{shown}"' if shown == "'" else f"'{shown}'"
        entry = shown if plain else f"'{shown}'" if shown in {'"', "\\"} else f'"{shown}"'
        schema = f", or file: {{{self.name}: {entry}}} in the schema" if self.in_schema else ""
        flag = _flag(self.name)
        return f"add {flag}{schema}" if self.value == YES else f"add {flag} {typed}{schema}"
