"""What fits the schema and yet costs accuracy silently: one warning per column and cause.

    of an OF   constant; sentinel, wild, merged-integers (see `number_pitfalls`); id-as-of,
               date-as-category, number-as-category, of-looks-complementary, many-values
    of a CF    joined-value, cf-looks-ordinary, few-rows, never-seen

Tests look at the different texts with their counts, never at cells one by one, and at numbers only
where the smallest or the largest looks like a code.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.messages import count, quote
from cfl_cli.encode.cells import Cells
from cfl_cli.encode.findings import ROWS_SHOWN, Finding, Patch, ignoring
from cfl_cli.schema.model import Complementary, Schema
from cfl_cli.texts import identifiers
from cfl_cli.texts import numbers as sentinels
from cfl_cli.texts.lists import SIGNS, listing, split
from cfl_cli.texts.numbers import Wild, wild
from cfl_cli.texts.tally import Tally, tally

# Numbers that fit the schema and yet cost accuracy silently: wild ones, and integers that merge.
#
# wild     a few cells that decide a column's range alone; see `texts.wild_numbers`
# merged   integers beyond 2^53 that are the same number once they are rounded to 53 binary digits

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


MANY_VALUES = 100  # of a categorical OF
SCALE = 12  # different numbers or dates that may well be categories
CELLS = 20  # fewer show little
YEARS = (1000, 2200)  # whole numbers that rise by 1 may be these
ORDINARY = 0.7  # of a CF's cells hold one value: more than uniform exclusions can
ROWS_PER_VALUE = 5  # of a CF's domain …
LARGE_DOMAIN = 5  # … of so many values; k neighbors need as many rows anyway
UNLIKELY = 1e-4  # that a value which is possible is never ruled out …
RULED_OUT = 0.5  # … if it is not the true one in this share of the rows
DOMAIN = range(3, 41)  # how many parts make lists rather than notes
SURE_SIGNS = ";|\n"  # between values; others also stand inside one, as in Japan/USA
MOSTLY = 0.5  # of the cells
NINES = 5  # fewer are usual among counts
IGNORE = "mark it `role: ignore`"
SEE = "; `cfl check` shows more"


def in_ordinary(cells: Cells, schema: Schema, *, varies: bool) -> Iterator[Finding]:
    """Yield the warnings of an OF whose cells all fit; `varies` says if it holds two values."""
    ordinary = schema.ordinary[cells.name]
    merged = [*merged_integers(cells)] if ordinary.type == "numeric" else []
    yield from merged
    if merged and not varies:
        return  # it only looks constant
    if not varies:
        yield _of_column(
            "constant",
            cells.name,
            "holds one value only, which says nothing",
            IGNORE,
            ignoring(cells.name, schema),
        )
    elif ordinary.type == "numeric":
        yield from _in_numbers(cells, schema)
    elif ordinary.type == "date":
        yield from wild_cells(cells, schema)
    elif ordinary.type == "categorical" and ordinary.values is None:
        yield from _in_categories(cells, schema)


def _in_numbers(cells: Cells, schema: Schema) -> Iterator[Finding]:
    known = cells.numbers[~cells.missing]
    codes: list[Finding] = []
    if sentinels.may_be_code(known.min()) or sentinels.may_be_code(known.max()):
        codes = [*_sentinels(cells, known, schema)]
    yield from codes or wild_cells(cells, schema)
    if _counts_rows(cells.name, known):
        yield _id(cells.name, len(np.unique(known)), len(known), schema)


def _sentinels(cells: Cells, known: Floats, schema: Schema) -> Iterator[Finding]:
    """Yield that numbers far from all others look like codes of missing values, if any do.

    A number that most cells hold is an answer.
    """
    name, own = cells.name, schema.ordinary[cells.name].missing or ()
    values, counts = np.unique(known, return_counts=True)
    numbers = {repr(value): value for value in values.tolist()}
    different = Tally(name, (*numbers,), (*counts.tolist(),), (0,) * len(numbers), 0)
    found = sentinels.sentinels(different, [*numbers.values()])
    if found is None or sum(found.counts) > MOSTLY * len(known):
        return
    codes = [numbers[text] for text in found.texts]
    if codes == [9.0] and sum(found.counts) < NINES:
        return
    marked = np.isin(cells.numbers, codes) & ~cells.missing
    rows = np.flatnonzero(marked)
    texts = cells.text.filter(pl.Series(marked)).unique(maintain_order=True).to_list()
    yield Finding(
        "sentinel",
        f"lie far from the others, which are {found.low:g} to {found.high:g}",
        f"if they mean missing, set missing: {_shown([*own, *texts])}",
        name,
        len(rows),
        tuple((rows[:ROWS_SHOWN] + 1).tolist()),
        texts[0],
        {"columns": {name: {"missing": [*own, *texts]}}},
        warning=True,
        brief=f"{count(len(rows), 'cell')} far from all others, as codes for missing are{SEE}",
    )


def _counts_rows(name: str, known: Floats) -> bool:
    """Return whether numbers rise by 1 from row to row, or are those of an id by their name."""
    if len(known) < CELLS:
        return False
    named = identifiers.is_name_of_id(name)
    if (np.diff(known) == 1).all():
        return named or not YEARS[0] <= known[0] <= known[-1] <= YEARS[1]
    if not named or (known != np.floor(known)).any():
        return False
    return len(np.unique(known)) >= identifiers.DIFFERENT * len(known)


def _in_categories(cells: Cells, schema: Schema) -> Iterator[Finding]:
    """Yield the first warning that a categorical OF deserves, if it deserves one."""
    name = cells.name
    if len(cells.named) <= SCALE and not any(map(_is_compound, cells.named)):
        return
    texts = tally(cells.text)
    different = f"{len(texts):,} different"
    if (retyped := _retyped(texts)) is not None:
        kind, keys = retyped
        yield _of_column(
            f"{kind}-as-category",
            name,
            f"its {different} texts are {kind}s, such as {quote(texts.texts[0])}",
            "set " + ", ".join(f"{key}: {_shown(value)}" for key, value in keys.items()),
            {"columns": {name: keys}},
            f"its texts are {kind}s, but it is categorical{SEE}",
        )
    elif texts.cells >= CELLS and len(texts) >= identifiers.DIFFERENT * texts.cells:
        yield _id(name, len(texts), texts.cells, schema)
    elif (found := _complementary(texts)) is not None:
        text, separator = found
        keys = {"role": "complementary", "type": None, "separator": separator}
        yield _of_column(
            "of-looks-complementary",
            name,
            f"cells like {quote(text)} {'hold several values' if separator else 'say not'}",
            "if they rule values out, set role: complementary"
            + (f", separator: {_shown(separator)}" if separator else " and write the value alone"),
            {"columns": {name: keys}} if separator and len(schema.ordinary) > 1 else None,
            f"looks complementary, but is ordinary{SEE}",
        )
    elif len(texts) > MANY_VALUES:
        yield _of_column(
            "many-values",
            name,
            f"{different} values are many for a categorical column",
            f"{IGNORE}, or group its values",
            ignoring(name, schema),
        )


def _retyped(texts: Tally) -> tuple[str, dict[str, Any]] | None:
    """Return what a categorical column rather holds, and the keys of that type."""
    if len(texts) <= SCALE:
        return None
    from cfl_cli.texts import dates  # noqa: PLC0415 — few columns need it
    from cfl_cli.texts import numbers as number_readings  # noqa: PLC0415 — few columns need it

    if formats := dates.formats(texts):
        return "date", {"type": "date"} | ({"format": formats[0]} if formats[0] else {})
    if readings := number_readings.readings(texts):
        keys = {"decimal": readings[0].decimal, "unit": readings[0].unit}
        return "number", {"type": "numeric"} | {key: it for key, it in keys.items() if it}
    return None


def _is_compound(text: str) -> bool:
    """Return whether a text may hold several values, or say what the value is not."""
    return " " in text or not text[:1].isalnum() or any(sign in text for sign in SIGNS)


def _complementary(texts: Tally) -> tuple[str, str | None] | None:
    """Return a cell by which an OF looks complementary, and the sign between its parts."""
    from cfl_cli.texts.lists import negated  # noqa: PLC0415 — few columns need it

    if (text := negated(texts)) is not None:
        return text, None
    found = listing(texts)
    if found is not None and found.sure and len(found.parts) in DOMAIN:
        return found.example, found.separator
    return None


def in_cf(
    name: str,
    values: Sequence[str],
    schema: Schema,
    *,
    masks: Mask,
    counts: Ints,
    exact: Mask,
) -> Iterator[Finding]:
    """Yield the warnings of a CF whose cells all fit.

    For each of its different texts: `masks`, which values it leaves possible, `counts`, how many
    cells hold it, and `exact`, whether it has the exact mark.
    """
    cf, cells = schema.complementary[name], int(counts.sum())
    if cf.separator is None:
        yield from _joined(name, cf, values)
    ruled_out = ~masks & ~exact[:, None]
    if len(values) >= LARGE_DOMAIN and cells < ROWS_PER_VALUE * len(values):
        yield _of_column(
            "few-rows",
            name,
            f"only {count(cells, 'cell')} for {len(values):,} values",
            "add rows, or merge values",
            number=cells,
        )
    if cf.mechanism is not None or not cells:
        return
    single = len(values) > 2 and not exact.any() and (ruled_out.sum(axis=1) == 1).all()
    if single and counts.max() >= ORDINARY * cells and cells >= CELLS:
        yield _ordinary(name, schema, share=counts.max() / cells)
        return
    sizes = ruled_out.sum(axis=1)
    chances = np.log1p(-np.minimum(sizes / max(len(values) - 1, 1), 1 - 1e-9)) * RULED_OUT
    named = np.asarray((ruled_out | (masks & exact[:, None])).any(axis=0))
    unseen = [value for value, seen in zip(values, named, strict=True) if not seen]
    if unseen and float((chances * counts).sum()) < np.log(UNLIKELY):
        yield _never_seen(name, values, unseen)


def _joined(name: str, cf: Complementary, values: Sequence[str]) -> Iterator[Finding]:
    """Yield that values of the domain are lists of others, by the sign that most are."""
    known = {*values}
    joined = {
        sign: [
            value
            for value in values
            if len(parts := split(value, sign)) > 1 and all(part in known for part in parts)
        ]
        for sign in SIGNS
    }
    sign = max(SIGNS, key=lambda one: len(joined[one]))
    if len(joined[sign]) < (1 if sign in SURE_SIGNS else 2):
        return
    keys: dict[str, Any] = {"separator": sign}
    if cf.values is not None:
        keys["values"] = [value for value in values if value not in joined[sign]]
    yield _of_column(
        "joined-value",
        name,
        f"{count(len(joined[sign]), 'domain value')} like {quote(joined[sign][0])} "
        f"{'is a list' if len(joined[sign]) == 1 else 'are lists'} of other values",
        f"set separator: {_shown(sign)}"
        + (" and list the parts alone under `values`" if cf.values is not None else ""),
        {"columns": {name: keys}},
        f"{count(len(joined[sign]), 'domain value')} made of other values{SEE}",
        number=len(joined[sign]),
    )


def _ordinary(name: str, schema: Schema, *, share: float) -> Finding:
    keys: dict[str, Any] = dict.fromkeys(schema.columns[name].model_dump(exclude_none=True))
    keys |= {"role": "ordinary", "type": "categorical"}
    return _of_column(
        "cf-looks-ordinary",
        name,
        f"no cell holds a list or a mark, and one value is ruled out in {share:.0%} of the cells",
        "if cells say what the value is, set role: ordinary, type: categorical",
        {"columns": {name: keys}} if len(schema.complementary) > 1 else None,
        "looks ordinary, but is complementary" + SEE,
    )


def _never_seen(name: str, values: Sequence[str], unseen: Sequence[str]) -> Finding:
    several = len(unseen) > 1
    what = f"{count(len(unseen), 'value')} of {len(values):,} {'are' if several else 'is'} never"
    return _of_column(
        "never-seen",
        name,
        f"{what} ruled out, such as {quote(unseen[0])}"
        if several
        else f"{quote(unseen[0])} is never ruled out",
        f"keep {'them' if several else 'it'} only if possible",
        {"columns": {name: {"values": [value for value in values if value not in unseen]}}}
        if len(values) - len(unseen) > 1
        else None,
        f"{what} ruled out{SEE}",
        number=len(unseen),
    )


def _id(name: str, different: int, cells: int, schema: Schema) -> Finding:
    return _of_column(
        "id-as-of",
        name,
        "looks like an id: different in "
        + ("every row" if different == cells else f"{different / cells:.1%} of the rows"),
        IGNORE,
        ignoring(name, schema),
    )


def _of_column(
    cause: str,
    name: str,
    what: str,
    fix: str,
    patch: Patch | None = None,
    brief: str = "",
    *,
    number: int = 0,
) -> Finding:
    """Return a warning about a column as a whole."""
    return Finding(cause, what, fix, name, number, patch=patch, warning=True, brief=brief)


def _shown(value: object) -> str:
    """Return a value as it can be pasted into a schema."""
    plain = isinstance(value, str) and value.isalpha()
    return str(value) if plain else json.dumps(value, ensure_ascii=False)
