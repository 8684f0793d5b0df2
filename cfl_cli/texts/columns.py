"""A column of any type as text, alike whatever file or data frame it comes from."""

import polars as pl

from cfl_cli.texts.matching import whole
from cfl_cli.texts.tally import BLANKS

EXACT = 2**53  # whole numbers up to this are floats too
TIME = r"(:[0-9]{2})\.0+([+-].*)?$"  # without a part of a second
FEW = 6  # codes that are looked for one by one


def as_text(column: pl.Series) -> pl.Series:
    """Return a column as text: whole numbers that were made floats, and times, without `.0`."""
    kind = column.dtype
    if kind.is_float() and _are_whole(column):
        return column.cast(pl.Int64, strict=False).cast(pl.String)
    text = column.cast(pl.String)
    return text.str.replace(TIME, "${1}${2}") if isinstance(kind, pl.Datetime) else text


def _are_whole(column: pl.Series) -> bool:
    """Return whether all numbers of a column, NaN aside, are whole and exact."""
    known = column.fill_nan(None)
    return bool(((known == known.floor()) & (known.abs() <= EXACT)).all())


def lists_as_text(column: pl.Series, missing: list[str]) -> pl.Series:
    """Return a column of lists as text, JSON arrays of texts, null where a list says nothing.

    Elements that are null or count as missing are left out.
    """
    lists = column.arr.to_list() if isinstance(column.dtype, pl.Array) else column
    element = pl.element()
    says = element.is_not_null() & ~element.str.strip_chars(BLANKS).is_in(missing)
    kept = lists.cast(pl.List(pl.String)).list.eval(element.filter(says)).alias("list")
    text = kept.to_frame().select(pl.struct("list").struct.json_encode()).to_series()
    text = text.str.strip_prefix('{"list":').str.strip_suffix("}").alias(column.name)
    return text.set((kept.list.len() == 0).fill_null(value=True), None)


def nearly(texts: pl.Series, codes: list[str]) -> list[str]:
    """Return the different texts that are a code but for outer blanks, or as a whole number.

    Most columns have none, which is seen without trimming each cell: a text that begins with a
    blank comes before `!` or after the last ASCII sign, and all others begin with a code.
    """
    forms = {whole(code.strip(BLANKS)) for code in codes}
    maybe = (texts < "!") | (texts > "\x7f")
    if len(forms) > FEW:
        maybe = texts.is_not_null()
    else:
        for form in forms - {""}:
            maybe |= texts.str.starts_with(form)
    different = texts.filter(maybe.fill_null(value=False)).unique().to_list()
    return [text for text in different if whole(text.strip(BLANKS)) in forms]
