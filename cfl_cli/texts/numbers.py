"""Numbers as people write them: a decimal sign, signs between groups of three digits, a unit.

decimal   what may stand between groups of three digits
None      nothing
"."       a comma, a blank or an apostrophe
","       a point, a blank or an apostrophe
"""

import polars as pl

from cfl_cli.texts.tally import BLANKS

BLANK = f"[{BLANKS}]"
SPACE = "[ \u00a0\u2009\u202f]"  # between groups of digits
APOSTROPHE = "['\u2019]"
MINUS = "\u2212"


def numbers(texts: pl.Series, *, decimal: str | None, unit: str | None) -> pl.Series:
    """Return the texts as numbers, null where they are none; a cell may also lack the unit.

    Without a decimal sign and a unit, a number is what polars takes for one. The sign of negative
    numbers may also be that of typesetting.
    """
    bare = texts.str.strip_chars()
    if decimal is not None or unit is not None:
        text = pl.col("text").str.strip_chars(BLANKS).str.replace_all(MINUS, "-", literal=True)
        text = _without_unit(text, (unit or "").strip(BLANKS))
        text = text.str.replace(f"^([+-]){BLANK}+", "${1}")
        if decimal is not None:
            text = _with_point(text, decimal)
        bare = bare.to_frame("text").select(text).to_series()
    found = bare.cast(pl.Float64, strict=False)
    if found.null_count() > bare.null_count() and bare.str.contains(MINUS, literal=True).any():
        found = bare.str.replace_all(MINUS, "-", literal=True).cast(pl.Float64, strict=False)
    return found.fill_nan(None).alias(texts.name)


def numbers_or_plain(texts: pl.Series, *, decimal: str | None, unit: str | None) -> pl.Series:
    """Return the texts as numbers; beside a decimal comma also those that have a decimal point.

    Spreadsheets and programs write numbers so in columns that also hold words. The point is one
    only if no number of the column has it between thousands: 1.234 follows the decimal sign.
    """
    found = numbers(texts, decimal=decimal, unit=unit)
    if decimal != "," or "." in (unit or ""):
        return found
    with_point = texts.str.contains(".", literal=True).fill_null(value=False)
    plain = with_point & found.is_null()
    if not plain.any() or (with_point & found.is_not_null()).any():
        return found
    return found.zip_with(~plain, numbers(texts, decimal=None, unit=unit))


def _without_unit(text: pl.Expr, unit: str) -> pl.Expr:
    """Return the texts without the unit before or behind them, whichever is there."""
    if not unit:
        return text
    escaped = pl.escape_regex(unit)
    before = f"^([+-]?){BLANK}*{escaped}{BLANK}*"
    return (
        pl.when(text.str.contains(before))
        .then(text.str.replace(before, "${1}"))
        .otherwise(text.str.replace(f"{BLANK}*{escaped}$", ""))
    )


def _with_point(text: pl.Expr, decimal: str) -> pl.Expr:
    """Return numbers with a point and without thousands signs, null where a sign is misplaced."""
    other = "," if decimal == "." else "."
    point, group = pl.escape_regex(decimal), pl.escape_regex(other)
    groups = "|".join(f"(?:{sign}[0-9]{{3}})+" for sign in (group, SPACE, APOSTROPHE))
    is_grouped = text.str.contains(f"^[+-]?[1-9][0-9]{{0,2}}(?:{groups})(?:{point}[0-9]*)?$")
    return (
        pl.when(is_grouped)
        .then(text.str.replace_all(f"{group}|{SPACE}|{APOSTROPHE}", ""))
        .when(~text.str.contains(other, literal=True))
        .then(text)
        .str.replace(decimal, ".", literal=True)
    )
