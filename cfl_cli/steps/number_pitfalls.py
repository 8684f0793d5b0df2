"""Numbers that fit the schema and yet cost accuracy silently: wild ones, and integers that merge.

wild     a few cells that decide a column's range alone; see `texts.wild_numbers`
merged   integers beyond 2^53 that are the same number once they are rounded to 53 binary digits
"""

from collections.abc import Iterator

import numpy as np
import polars as pl

from cfl_cli.core.arrays import Floats
from cfl_cli.core.messages import count
from cfl_cli.schema.model import Schema
from cfl_cli.steps.cells import Cells
from cfl_cli.steps.findings import ROWS_SHOWN, Finding
from cfl_cli.texts.wild_numbers import Wild, wild

LARGEST = 2.0**53  # up to which all integers are different numbers
EXPONENT = "[0-9][eE]"
DIGITS = (r"[.,]0{1,2}$", ""), (r"^[^0-9]*(-?)[^0-9]*0*", "${1}"), (r"[^0-9-]", "")


def wild_cells(cells: Cells, schema: Schema) -> Iterator[Finding]:
    """Yield that a few numbers or dates squeeze all others, unless the schema says the scale.

    Whoever wrote `scale` has decided.
    """
    if (schema.ordinary[cells.name].scale or schema.scale) is not None:
        return
    is_date = schema.ordinary[cells.name].type == "date"
    numbers = cells.days if is_date else cells.numbers
    found = wild(numbers[~cells.missing])
    if found is None:
        return
    ends = (found.low, found.high)
    low, high = map(_day, ends) if is_date else (f"{end:g}" for end in ends)
    missing = ", list {} under `missing`" if is_date else ""
    yield _wild(cells, numbers, found, others=f"{low} to {high}", missing=missing)


def _day(number: float) -> str:
    """Return the day of a number of days since 1970."""
    return str(np.datetime64(int(np.floor(number)), "D"))


def _wild(cells: Cells, numbers: Floats, found: Wild, *, others: str, missing: str) -> Finding:
    """Return that a few cells squeeze all others."""
    name = cells.name
    with np.errstate(invalid="ignore"):  # of what is missing
        marked = ~cells.missing & ((numbers < found.low) | (numbers > found.high))
    rows = np.flatnonzero(marked)
    one = len(rows) == 1
    squeezed = (
        f"into {'under 0.1' if found.squeezed < 0.001 else f'{100 * found.squeezed:.2g}'} % of the "
        "scale, where they hardly differ"
    )
    shown = ", ".join(map(str, (rows[:ROWS_SHOWN] + 1).tolist()))
    more = " …" if len(rows) > ROWS_SHOWN else ""
    it = "it" if one else "them"
    do = f"correct {it}{missing.format(it)}, or set scale: robust"
    return Finding(
        "wild",
        f"{'lies' if one else 'lie'} far from the others, which are {others}, and "
        f"{'squeezes' if one else 'squeeze'} them {squeezed}",
        f"{do}; scale: minmax keeps it so",
        name,
        len(rows),
        tuple((rows[:ROWS_SHOWN] + 1).tolist()),
        cells.text[int(rows[0])],
        {"columns": {name: {"scale": "robust"}}},
        warning=True,
        brief=f"{count(len(rows), 'cell')} far from all others ({'row' if one else 'rows'} {shown}"
        f"{more}) {'squeezes' if one else 'squeeze'} them {squeezed}: {do}",
    )


def merged_integers(cells: Cells) -> Iterator[Finding]:
    """Yield that different integers of a column are the same number once they are rounded."""
    known = cells.numbers[~cells.missing]
    if cells.raw.dtype.is_float() or np.abs(known).max() < LARGEST:
        return  # or they came rounded
    with np.errstate(invalid="ignore"):  # of what is missing
        large = ~cells.missing & (np.abs(cells.numbers) >= LARGEST)
    frame = pl.DataFrame(
        {
            "text": cells.text.str.strip_chars(),
            "number": cells.numbers,
            "row": np.arange(1, len(large) + 1),
        }
    ).filter(pl.Series(large))
    digits = pl.col("text")
    for what, instead in DIGITS:
        digits = digits.str.replace_all(what, instead)
    merged = (
        frame.filter(~pl.col("text").str.contains(EXPONENT))
        .with_columns(digits.alias("digits"))
        .filter(pl.col("digits").n_unique().over("number") > 1)
        .sort("row")
    )
    if merged.is_empty():
        return
    different, left = merged["digits"].n_unique(), merged["number"].n_unique()
    what = (
        f"are integers beyond 2^53, and {different:,} different ones become "
        f"{count(left, 'number')} when they are read with 53 binary digits"
    )
    yield Finding(
        "merged-integers",
        what,
        "subtract their smallest before, or mark it `role: ignore` if it is an id",
        cells.name,
        merged.height,
        tuple(merged["row"].head(ROWS_SHOWN).to_list()),
        merged["text"][0],
        warning=True,
        brief=f"{count(merged.height, 'cell')} {what}: subtract their smallest before, or mark it "
        "`role: ignore` if it is an id",
    )
