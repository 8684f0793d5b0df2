"""How text tables are written: what a schema says of it, so that no call has to repeat it."""

from typing import ClassVar, Literal

from pydantic import ValidationInfo, field_validator

from cfl_cli.core.messages import quote
from cfl_cli.errors import UsageError
from cfl_cli.schema.columns import Decimal, NonEmpty
from cfl_cli.schema.validation import Model, refused
from cfl_cli.tables.csv_choices import NONE
from cfl_cli.tables.csv_dialect import number_problem, sign_problem
from cfl_cli.tables.encodings import check_encoding

NAMED = {"tab": "\t", "\\t": "\t"}  # signs that are hard to type
TRUTH = {"yes": "yes", "true": "yes", "no": "no", "false": "no"}


class TextFile(Model):
    """How CSV and TSV files are written; what is left out is as usual."""

    where: ClassVar[str] = " for `file`"

    delimiter: NonEmpty | None = None
    """What stands between the cells: a comma if left out, a tab in .tsv files."""
    quote: NonEmpty | None = None
    """What stands around cells that hold the delimiter: a double quote if left out."""
    encoding: NonEmpty | None = None
    """The encoding of the text: UTF-8 if left out."""
    escape: NonEmpty | None = None
    """What takes the meaning of the next character: nothing if left out."""
    line_end: Literal["lf", "cr"] | None = None
    """What ends a line: LF or CRLF if left out, with `cr` a carriage return alone, too."""
    header: NonEmpty | None = None
    """The line that names the columns, from 1, or `none`: the first that is not left out."""
    skip_lines: NonEmpty | None = None
    """How many lines at the beginning hold no rows: none if left out."""
    rename_columns: NonEmpty | None = None
    """Whether names are made up for columns without one, or with that of another: `yes`, `no`."""
    trim_cells: NonEmpty | None = None
    """Whether blanks around cells, outside quotes, are left out: `yes`, `no`."""
    ragged: Literal["fail", "fill"] | None = None
    """Whether records with fewer or more cells than columns are an error, or filled up."""
    decimal: Decimal | None = None
    """The decimal sign of numbers; with one given, signs between groups of three digits are read
    too."""

    @field_validator("header", "skip_lines")
    @classmethod
    def _number(cls, text: str | None, info: ValidationInfo) -> str | None:
        if text is not None and (problem := number_problem(info.field_name or "", text)):
            raise refused(problem)
        return text

    @field_validator("rename_columns", "trim_cells")
    @classmethod
    def _yes_or_no(cls, text: str | None) -> str | None:
        if text is not None and text.lower() not in TRUTH:
            raise refused(f"expected yes or no, found {quote(text)}")
        return None if text is None else TRUTH[text.lower()]

    @field_validator("delimiter", "quote", "escape")
    @classmethod
    def _one_sign(cls, sign: str | None, info: ValidationInfo) -> str | None:
        if sign is None:
            return None
        sign = NAMED.get(sign, sign)
        if info.field_name != "delimiter" and sign == NONE:
            return sign
        if problem := sign_problem(sign):
            raise refused(problem)
        for other in ("delimiter", "quote"):
            if info.field_name != other and sign == info.data.get(other):
                raise refused(f"{quote(sign)} is the {other} too; choose another")
        return sign

    @field_validator("encoding")
    @classmethod
    def _known(cls, encoding: str | None) -> str | None:
        if encoding is not None:
            try:
                check_encoding(encoding)
            except UsageError:
                raise refused(f"unknown encoding {quote(encoding)}") from None
        return encoding
