"""How text tables are written: what a schema says of it, so that no call has to repeat it."""

from typing import ClassVar

from pydantic import ValidationInfo, field_validator

from cfl_cli.core.messages import quote
from cfl_cli.errors import UsageError
from cfl_cli.schema.columns import Decimal, NonEmpty
from cfl_cli.schema.validation import Model, refused
from cfl_cli.tables.encodings import check_encoding

NAMED = {"tab": "\t", "\\t": "\t"}  # signs that are hard to type


class TextFile(Model):
    """How CSV and TSV files are written; what is left out is as usual."""

    where: ClassVar[str] = " for `file`"

    delimiter: NonEmpty | None = None
    """What stands between the cells: a comma if left out, a tab in .tsv files."""
    quote: NonEmpty | None = None
    """What stands around cells that hold the delimiter: a double quote if left out."""
    encoding: NonEmpty | None = None
    """The encoding of the text: UTF-8 if left out."""
    decimal: Decimal | None = None
    """The decimal sign of numbers; with one given, signs between groups of three digits are read
    too."""

    @field_validator("delimiter", "quote")
    @classmethod
    def _one_sign(cls, sign: str | None, info: ValidationInfo) -> str | None:
        if sign is None:
            return None
        sign = NAMED.get(sign, sign)
        if len(sign) != 1 or not sign.isascii() or sign in "\r\n\0":
            raise refused(f"expected one ASCII character or tab, found {quote(sign)}")
        if info.field_name == "quote" and sign == info.data.get("delimiter"):
            raise refused(f"{quote(sign)} is the delimiter too; choose another")
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
