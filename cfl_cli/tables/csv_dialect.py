"""How a delimited text is written, as options and schemas say it in words."""

from dataclasses import fields
from typing import Self

from cfl_cli.core.messages import quote
from cfl_cli.core.quick import dataclass
from cfl_cli.errors import UsageError
from cfl_cli.tables.codec import ReadOptions
from cfl_cli.tables.csv_choices import FILL, NONE, RETURNS, YES
from cfl_cli.tables.csv_records import Signs
from cfl_cli.tables.encodings import check_encoding

MOST_LINES = 10**9


@dataclass(frozen=True)
class Dialect:
    """The signs that a table is written with, where its header is, and what is put right."""

    delimiter: str = ","
    quote: str = '"'  # or NONE
    encoding: str = "utf-8"
    escape: str = NONE  # or the sign
    line_end: str = "lf"  # which CRLF is too; RETURNS: also a carriage return alone
    header: str = ""  # a line, from 1, or NONE; empty: the first that is not left out
    skip_lines: str = "0"  # lines at the beginning that hold no rows
    rename_columns: str = "no"  # YES: names are made up for columns without, or with another's
    trim_cells: str = "no"  # YES: blanks around cells, outside quotes, are no part of them
    ragged: str = "fail"  # FILL: short records are filled up, long ones make new columns
    certain: bool = False  # the user gave the delimiter, so no first line changes it

    @classmethod
    def of(cls, options: ReadOptions) -> Self:
        """Return what options say, and what is usual for the format."""
        signs = {"delimiter": options.kind.delimiter, **options.signs}
        return cls(**signs, certain="delimiter" in options.signs)

    def __post_init__(self) -> None:
        for name in ("delimiter", "quote", "escape"):
            sign = getattr(self, name)
            if name != "delimiter" and sign == NONE:
                continue
            if problem := sign_problem(sign):
                raise UsageError(f"--{name}: {problem}")
        pairs = (("delimiter", "quote"), ("delimiter", "escape"), ("quote", "escape"))
        for one, two in pairs:
            if getattr(self, one) == getattr(self, two) != NONE:
                raise UsageError(f"--{one} and --{two} are both {quote(getattr(self, one))}")
        for name in ("header", "skip_lines"):
            if problem := number_problem(name, getattr(self, name)):
                raise UsageError(f"--{name.replace('_', '-')}: {problem}")
        check_encoding(self.encoding)

    @property
    def signs(self) -> Signs:
        """Return the characters that delimit and quote cells."""
        none = {NONE: None}
        return Signs(
            self.delimiter,
            none.get(self.quote, self.quote),
            none.get(self.escape, self.escape),
            self.line_end == RETURNS,
            self.trim_cells == YES,
        )

    @property
    def header_line(self) -> int | None:
        """The line of the header, from 1; None: the first that is not left out."""
        return int(self.header) if self.has_header and self.header else None

    @property
    def has_header(self) -> bool:
        """Whether a line names the columns."""
        return self.header != NONE

    @property
    def skipped(self) -> int:
        """How many lines at the beginning hold no rows."""
        return int(self.skip_lines)

    @property
    def renames(self) -> bool:
        """Whether names are made up where they lack or stand twice."""
        return self.rename_columns == YES

    @property
    def fills(self) -> bool:
        """Whether records of other widths than the header's are rows, too."""
        return self.ragged == FILL


NAMES = tuple(field.name for field in fields(Dialect) if field.name != "certain")


def sign_problem(sign: str) -> str:
    """Return why a text is not a sign; nothing if it is one."""
    if len(sign) == 1 and sign.isascii() and sign not in "\r\n\0":
        return ""
    return f"expected one ASCII character or tab, found {quote(sign)}"


def number_problem(name: str, text: str) -> str:
    """Return why a text does not say where the header is, or how many lines are left out."""
    lowest = 1 if name == "header" else 0
    if name == "header" and text in ("", NONE):
        return ""
    if text.isascii() and text.isdecimal() and lowest <= int(text[:12]) <= MOST_LINES:
        return ""
    wanted = "none or the number of a line, from 1" if lowest else "a number of lines"
    return f"expected {wanted}, found {quote(text)}"
