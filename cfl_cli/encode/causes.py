"""Why cells do not fit their column: the different wrong texts, each under the first cause it has.

A change of the schema is proposed only if it mends every cell of the cause and harms no cell that
fits, which `cf_causes` and `number_causes` try. Where none does, the table is to be corrected.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from cfl_cli.core.messages import meant, quote
from cfl_cli.encode.cells import Cells, Ruling
from cfl_cli.encode.findings import Cause, Patch, ignoring
from cfl_cli.schema.model import Complementary, Schema
from cfl_cli.texts import dates, numbers, scales
from cfl_cli.texts.dates import days
from cfl_cli.texts.lists import SIGNS, without_not
from cfl_cli.texts.matching import Matcher
from cfl_cli.texts.missing import is_missing_code, missing_codes
from cfl_cli.texts.numbers import is_unit, numbers_or_plain
from cfl_cli.texts.numbers import numbers as numbers_numbers
from cfl_cli.texts.scales import bound
from cfl_cli.texts.tally import BLANKS, Tally, tally
from cfl_cli.texts.tally import LONGEST as LONGEST_tally

LONGEST = 60  # of a list that is shown


def in_values(
    wrong: Sequence[str], name: str, values: Sequence[str], schema: Schema
) -> Iterator[Cause]:
    """Yield the causes of cells that should each hold one of some values."""
    left = dict.fromkeys(wrong)
    yield from codes(left, name, schema, is_missing_code)
    spellings = {folded(value): value for value in values}
    alike = [text for text in left if folded(text) in spellings]
    if alike:
        yield spelled(alike, spellings[folded(alike[0])])
        take(left, alike)
    if left and getattr(schema.columns[name], "type", "") == "binary":
        yield Cause(
            "binary-values",
            "are not among the column's `values`",
            "list them under `missing`",
            "correct them",
            missing([*left], name, schema).patch,
            [*left],
        )
    elif left:
        listed = "in the domain" if name in schema.complementary else "among the column's `values`"
        yield not_in_domain({text: [text] for text in left}, values, name, schema, listed=listed)


def required(name: str) -> Cause:
    """Return the cause of missing cells in a column that may not have any."""
    return Cause(
        "required",
        "are missing despite `on_missing: error`",
        "set on_missing: fill",
        "fill them in",
        patched(name, on_missing="fill"),
    )


def third_values(texts: Sequence[str], name: str, schema: Schema) -> Iterator[Cause]:
    """Yield the causes of a binary column's cells that hold neither of its two commonest values."""
    left = dict.fromkeys(texts)
    yield from codes(left, name, schema, is_missing_code)
    if left:
        yield Cause(
            "binary-values",
            "hold a third value, but a binary column has two",
            "list them under `missing`, or set type: categorical",
            patch=patched(name, type="categorical"),
        )


def codes(
    left: dict[str, None], name: str, schema: Schema, is_code: Callable[[str], bool]
) -> Iterator[Cause]:
    """Yield that cells say that the value is missing, if any do, and leave them out."""
    found = [text for text in left if is_code(text.strip(BLANKS))]
    if found:
        cause = missing(found, name, schema)
        if all(text.strip(BLANKS).startswith("#") for text in found):  # as in #N/A
            cause = replace(cause, what="are the error of a formula", correct="correct them")
        yield cause
        take(left, found)


def missing(texts: Sequence[str], name: str, schema: Schema) -> Cause:
    """Return that cells say that the value is missing."""
    own = getattr(schema.columns[name], "missing", None) or ()
    listed = pasteable([*own, *texts])
    return Cause(
        "missing-code",
        "say that the value is missing",
        f"set missing: {listed}" if len(listed) <= LONGEST else "list them under `missing`",
        patch=patched(name, missing=[*own, *texts]),
        texts=texts,
    )


def spelled(texts: Sequence[str], value: str) -> Cause:
    """Return that cells hold values but for blanks or case."""
    return Cause(
        "blanks-case",
        "match a value but for blanks or case",
        correct=f"write {quote(value)}" if len(texts) == 1 else "write them as the values are",
        texts=texts,
    )


def not_in_domain(
    foreign: Mapping[str, Sequence[str]],
    values: Sequence[str],
    name: str,
    schema: Schema,
    *,
    listed: str = "in the domain",
) -> Cause:
    """Return that cells name values that the column does not have."""
    named = [*dict.fromkeys(part.strip(BLANKS) for parts in foreign.values() for part in parts)]
    missing_in = schema.missing_in(name)
    near = meant(named[0], values)
    if len(named) > 1:
        what = f"name {len(named):,} values that are not {listed}, such as {quote(named[0])}{near}"
    elif all(text.strip(BLANKS) == named[0] for text in foreign):
        what = f"are not {listed}{near}"
    else:
        what = f"name {quote(named[0])}, which is not {listed}{near}"
    impossible = any(not part or part in missing_in for part in named)
    return Cause(
        "not-in-domain",
        what,
        "" if impossible else f"add {'them' if len(named) > 1 else 'it'} to the column's `values`",
        "correct them",
        None if impossible else patched(name, values=[*values, *named]),
        [*foreign],
    )


def pasteable(value: object) -> str:
    """Return a value as it can be pasted into a schema."""
    return json.dumps(value, ensure_ascii=False)


def folded(text: str) -> str:
    """Return the text without what spellings of one value differ in."""
    return " ".join(text.casefold().split())


def patched(name: str, **keys: Any) -> Patch:
    """Return the change of some keys of a column."""
    return {"columns": {name: keys}}


def take(left: dict[str, None], taken: Cause | Iterable[str]) -> None:
    """Leave out what is explained."""
    for text in taken.texts or () if isinstance(taken, Cause) else taken:
        left.pop(text, None)


# Why cells of a CF are wrong: other signs than the schema's, codes, or values it does not have.

_MARK = re.compile(r"(?:[=!+]|[^\W\d_][^\d:=]{0,30}[:=])")


def in_cf(
    wrong: Sequence[str], cells: Cells, values: Sequence[str], schema: Schema
) -> Iterator[Cause]:
    """Yield the causes of a CF's wrong cells; `values` are its domain."""
    name = cells.name
    trial = _Trial(cells, schema.complementary[name], values)
    left = dict.fromkeys(wrong)
    right = [text for text in cells.seen if text not in left]
    mended: dict[str, str] = {}
    if not cells.are_lists:
        for found in (_separated(left, right, trial), _marked(left, right, trial)):
            if found is not None:
                yield found
                take(left, found)
                mended |= found.patch["columns"][name] if found.patch else {}
    yield from codes(left, name, schema, is_missing_code)
    if not cells.are_lists:
        sign = mended.get("separator") or _commonest_sign(left, trial)
        trial = trial.by(sign, mended.get("exact"))
    outside = {text: trial.foreign(text) for text in left}
    spellings = {folded(value): value for value in values}
    alike = [
        text
        for text, foreign in outside.items()
        if foreign and all(folded(part) in spellings for part in foreign)
    ]
    if alike:
        yield spelled(alike, spellings[folded(outside[alike[0]][0])])
        take(left, alike)
    for found in _composed({text: outside[text] for text in left if outside[text]}, trial):
        yield found
        take(left, found)
    foreign = {text: outside[text] for text in left if outside[text]}
    if foreign:
        yield not_in_domain(foreign, values, name, schema)
        take(left, foreign)
    if left:
        yield Cause("all-excluded", "rule out the whole domain", correct="leave at least one value")


@dataclass(frozen=True)
class _Trial:
    """A CF as its cells are read by one separator and mark."""

    cells: Cells
    cf: Complementary
    values: Sequence[str]

    def by(self, separator: str | None = None, exact: str | None = None) -> "_Trial":
        """Return the same with another separator or mark, where one is given."""
        keys = {"separator": separator, "exact": exact}
        update = {key: sign for key, sign in keys.items() if sign is not None}
        return replace(self, cf=self.cf.model_copy(update=update))

    def ruling(self, text: str) -> Ruling:
        """Return what a text says."""
        return self.cells.ruling(text, self.cf, self.match)

    @cached_property
    def match(self) -> Matcher:
        """Return what finds the value that a text means."""
        return Matcher(self.values)

    def fits(self, text: str) -> bool:
        """Return whether a text names values only, and leaves one possible."""
        return self.ruling(text).fits(self.values)

    def knows(self, text: str) -> bool:
        """Return whether a text is a value of the domain, in whatever letter case."""
        return self.match.place(text) >= 0 or folded(text) in self.spellings

    @cached_property
    def spellings(self) -> frozenset[str]:
        """Return the values without what their spellings differ in."""
        return frozenset(map(folded, self.values))

    def foreign(self, text: str) -> list[str]:
        """Return what a text names and the domain does not hold."""
        named = self.ruling(text).values
        return [part.strip(BLANKS) for part in named if part not in self.match.exact]


def _separated(left: Iterable[str], right: Sequence[str], now: _Trial) -> Cause | None:
    """Return that cells are lists by a sign that is not the schema's, if any are."""
    cf, best = now.cf, list[str]()
    for sign in SIGNS:
        if sign in (cf.separator, cf.exact) or any(sign in value for value in now.values):
            continue
        trial = now.by(sign)
        fits = [text for text in left if sign in text and trial.fits(text)]
        if len(fits) > len(best):
            best, chosen, harmless = fits, sign, all(map(trial.fits, right))
    if not best:
        return None
    set_it, patch = f"set separator: {pasteable(chosen)}", patched(now.cells.name, separator=chosen)
    if cf.separator is None:
        what = f"hold {quote(chosen)}, and the parts are values"
        return Cause("separator", what, set_it, patch=patch, texts=best)
    what = f"are split by {quote(chosen)}, but the schema says {quote(cf.separator)}"
    if harmless:
        return Cause("separator-other", what, set_it, patch=patch, texts=best)
    correct = f"write {quote(cf.separator)} instead"
    return Cause("separator-other", what, correct=correct, texts=best)


def _commonest_sign(texts: Iterable[str], now: _Trial) -> str | None:
    """Return the sign by which most wrong cells have a part that is a value, if there is one."""
    if now.cf.separator is not None:
        return None
    trials = {sign: now.by(sign) for sign in SIGNS}
    counts = Counter(
        sign
        for text in texts
        for sign, trial in trials.items()
        if sign in text and len(trial.foreign(text)) < len(trial.ruling(text).values)
    )
    return counts.most_common(1)[0][0] if counts else None


def _composed(outside: Mapping[str, Sequence[str]], now: _Trial) -> Iterator[Cause]:
    """Yield that cells say more than a value, which the domain should not get: not flu, a / b."""
    negated, several = list[str](), list[str]()
    named = {part for parts in outside.values() for part in parts}
    for text, parts in outside.items():
        rests = [rest for part in parts if (rest := without_not(part)) is not None]
        if any(rest in named or now.knows(rest) for rest in rests):
            negated.append(text)
        elif any(_holds_more(part, now) for part in parts):
            several.append(text)
    if negated:
        what = "say not, but the cells of a CF name what is ruled out"
        yield Cause("negation", what, correct="write the values alone", texts=negated)
    if several:
        what = "hold more than a value, in a way that the schema does not say"
        signs = [quote(sign) for sign in (now.cf.separator, now.cf.exact) if sign is not None]
        beside = f", beside {' and '.join(signs)}" if signs else ""
        yield Cause("more-than-values", what, correct=f"write values only{beside}", texts=several)


def _holds_more(part: str, now: _Trial) -> bool:
    """Return whether a text has a mark before it, or a value of the domain beside something else.

    Signs that values have themselves show nothing.
    """
    match = _MARK.match(part)
    signs = [sign for sign in SIGNS if not any(sign in value for value in now.values)]
    if match is not None and not any(match[0][-1] in value for value in now.values):
        return True
    return any(sign in part and any(map(now.knows, part.split(sign))) for sign in signs)


def _marked(left: Iterable[str], right: Sequence[str], now: _Trial) -> Cause | None:
    """Return that cells begin with a mark before a value, if any do."""
    found: dict[str, list[str]] = {}
    for text in left:
        match = _MARK.match(text.strip(BLANKS))
        if match is not None and not any(match[0] in value for value in now.values):
            found.setdefault(match[0], []).append(text)
    for mark, texts in sorted(found.items(), key=lambda item: -len(item[1])):
        trial = now.by(exact=mark)
        fits = [*filter(trial.fits, texts)]
        if not fits:
            continue
        what = f"begin with {quote(mark)} before a value"
        if now.cf.exact is not None:
            correct = f"write {quote(now.cf.exact)} instead"
            return Cause("exact", what, correct=correct, texts=fits)
        if all(map(trial.fits, right)):
            patch = patched(now.cells.name, exact=mark)
            return Cause("exact", what, f"set exact: {pasteable(mark)}", patch=patch, texts=fits)
    return None


# Which type a column has rather, if many of its cells do not fit the one that it should have.

FEW = 0.1  # share of the cells that may be wrong in a column whose type is right
SOME = 1 / 3  # the same, if all of them hold one text
MOSTLY = 0.5  # share of wrong cells beyond which the type is wrong
LISTED = 3  # different texts that may be listed as missing
CATEGORIES = 50  # more different texts than this are names or notes
SHOWN = 120  # signs of a list of values that is shown
OF_A_TYPE = ("values", "decimal", "unit", "format", "cycle")  # keys that go with it


def in_ordinary(
    wrong: Sequence[str], cells: Cells, values: Sequence[str], schema: Schema
) -> Iterator[Cause]:
    """Yield the causes of cells that do not hold one of an OF's values."""
    ordered = schema.ordinary[cells.name].type == "ordered"
    for cause in in_values(wrong, cells.name, values, schema):
        texts = cause.texts or ()
        if cause.key == "binary-values":
            yield misfits(cause, texts, cells, schema)
        elif cause.key == "not-in-domain" and ordered:
            yield _not_a_rung(cause, texts, cells, values, schema)
        else:
            yield cause


def _not_a_rung(
    cause: Cause, texts: Collection[str], cells: Cells, values: Sequence[str], schema: Schema
) -> Cause:
    """Return a cause with the way out for texts whose place in the order may be known."""
    column = tally(cells.text)
    for rungs in ({*column.texts, *values}, {*column.texts}):
        known = _as_tally(cells.name, rungs - {*missing_codes(column)})
        found = scales.scale(known)
        if found is not None and not found.doubt:
            keys = {"values": [*found.values]}
            return replace(cause, change=_in_words(keys), patch=patched(cells.name, **keys))
    if _share(texts, column) > MOSTLY:
        return misfits(cause, texts, cells, schema)
    return replace(cause, change="add them to the column's `values`, in order", patch=None)


def misfits(cause: Cause, texts: Collection[str], cells: Cells, schema: Schema) -> Cause:
    """Return a cause with the way out for so many cells: another type, or that they are missing.

    Few cells with few words may be codes for missing values, more so if it is one word, but many
    cells never are.
    """
    column, wrong = tally(cells.text), {text.strip(BLANKS) for text in texts}
    share = _share(texts, column)
    measured = schema.ordinary[cells.name].type in ("numeric", "date")
    if share > (FEW if len(wrong) > 1 else SOME):
        if measured and share < 1 and all(map(_has_digit, wrong)):  # numbers, written badly
            return replace(cause, change="", correct="correct them", patch=None)
        column = column.without({*missing_codes(column)})
        change, patch = _other_type(column, schema, mostly=share > MOSTLY)
        correct = "" if change and share > MOSTLY else "correct them"
        return replace(cause, change=change, correct=correct, patch=patch)
    few = len(wrong) <= LISTED
    listed = missing([*texts], cells.name, schema)
    if few and not (measured and any(map(_has_digit, wrong))):
        return replace(cause, change=listed.change, correct="correct them", patch=listed.patch)
    which = "them under `missing`" if few else "those under `missing` that say so"
    return replace(cause, change=f"list {which}", correct="correct them", patch=None)


def _other_type(column: Tally, schema: Schema, *, mostly: bool) -> tuple[str, Any]:
    """Return the way to the type that has all texts of a column, and the patch."""
    name, now = column.name, schema.ordinary[column.name]
    keys = _read(column, now.type)
    if keys is None:
        if len(column) > CATEGORIES:
            ignored = ignoring(name, schema) if mostly else None
            return ("mark it `role: ignore`" if mostly else "", ignored)
        keys = {"type": "categorical"}
    old = [key for key in OF_A_TYPE if getattr(now, key) is not None]
    set_it = _in_words({key: it for key, it in keys.items() if it != now.type})
    return set_it, patched(name, **(dict.fromkeys(old) | keys))


def _read(column: Tally, now: str) -> dict[str, Any] | None:
    """Return the keys of the type that a column's texts have: dates, numbers, or an order."""
    if now != "date" and (formats := dates.formats(column)):
        return {"type": "date"} | ({"format": formats[0]} if formats[0] else {})
    if now != "numeric" and (readings := numbers.readings(column)):
        keys = {"decimal": readings[0].decimal, "unit": readings[0].unit}
        return {"type": "numeric"} | {key: sign for key, sign in keys.items() if sign}
    found = scales.scale(column)
    if found is not None and not found.doubt:
        return {"type": "ordered", "values": [*found.values]}
    return None


def _in_words(keys: Mapping[str, Any]) -> str:
    """Return how to set some keys."""
    shown = {key: it if key == "type" else pasteable(it) for key, it in keys.items()}
    if len(shown.get("values", "")) > SHOWN:
        shown["values"] = "[…] from lowest to highest"
    return "set " + ", ".join(f"{key}: {it}" for key, it in shown.items())


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _share(texts: Collection[str], column: Tally) -> float:
    """Return the share of a column's cells that hold these texts."""
    wrong = {text.strip(BLANKS) for text in texts}
    return sum(number for text, number in column if text in wrong) / max(column.cells, 1)


def _as_tally(name: str, texts: Collection[str]) -> Tally:
    ordered = tuple(sorted(texts))
    return Tally(name, ordered, (1,) * len(ordered), (1,) * len(ordered), 0)


# Why cells are not the numbers or dates of their column: other signs, units, formats, or words.

_UNIT = re.compile(
    r"(?P<before>[^\d\s.,+<>≤≥−-][^\d\s]{0,4})?\s*[+−-]?\d[\d.,'’\s]*"
    r"(?P<behind>[^\d\s.,+<>−-]\D{0,14})?"
)
ENOUGH = 3  # different texts that show a unit which is not a known one


def in_numbers(wrong: Sequence[str], cells: Cells, schema: Schema) -> Iterator[Cause]:
    """Yield the causes of a numeric column's wrong cells."""
    name, left = cells.name, dict.fromkeys(wrong)
    right = [text for text in cells.seen if text not in left]
    if (found := _decimal(left, right, name, schema)) is not None:
        yield found
        take(left, found)
    yield from codes(left, name, schema, is_missing_code)
    bounds = [text for text in left if bound(text.strip(BLANKS))]
    if bounds:
        yield Cause(
            "bound",
            "are bounds, not numbers",
            "make it `type: ordered`",
            "write numbers instead",
            texts=bounds,
        )
        take(left, bounds)
    if (found := _unit(left, right, name, schema)) is not None:
        yield found
        take(left, found)
    read = numbers_numbers(
        _series(left), decimal=schema.decimal_of(name), unit=schema.ordinary[name].unit
    )
    endless = _series(left).filter(read.is_infinite().fill_null(value=False)).to_list()
    if endless:
        yield replace(
            missing(endless, name, schema),
            key="not-finite",
            what="are not finite",
            correct="correct them",
        )
        take(left, endless)
    if left:
        yield _dates(left, right, name) or misfits(
            Cause("not-a-number", "are not numbers"), left, cells, schema
        )


def _dates(left: Iterable[str], right: Sequence[str], name: str) -> Cause | None:
    """Return that cells are dates in a column that holds no number, if they are."""
    formats = [] if right else dates.formats(_tally(left))
    if not formats:
        return None
    written = "" if formats[0] is None else f", format: {pasteable(formats[0])}"
    other = f" (or {pasteable(formats[1])})" if len(formats) > 1 else ""
    patch = patched(name, decimal=None, unit=None, type="date", format=formats[0])
    return Cause("not-a-number", "are dates", f"set type: date{written}{other}", patch=patch)


def in_dates(wrong: Sequence[str], cells: Cells, schema: Schema) -> Iterator[Cause]:
    """Yield the causes of wrong cells in a column of dates."""
    name, left = cells.name, dict.fromkeys(wrong)
    right = [text for text in cells.seen if text not in left]
    yield from codes(left, name, schema, is_missing_code)
    if not left:
        return
    everything = [*left, *right]
    formats = dates.formats(_tally(everything))
    if formats and days(_series(everything), format=formats[0]).is_not_null().all():
        shown = (
            "leave out `format`" if formats[0] is None else f"set format: {pasteable(formats[0])}"
        )
        other = f" (or {pasteable(formats[1])})" if len(formats) > 1 else ""
        patch = patched(name, format=formats[0])
        yield Cause("not-a-date", "are dates in another format", f"{shown}{other}", patch=patch)
    elif dates.two_orders(_tally(everything)) is not None:
        what = "have day and month the other way round than others"
        yield Cause("date-order", what, correct="write all in one order")
    elif dates.formats(_tally(left)):
        what = "are dates, but not written as the schema says"
        yield Cause("not-a-date", what, correct="write them as the others are")
    else:
        form = "ISO 8601, such as 2024-03-01" if cells.format is None else cells.format
        yield misfits(Cause("not-a-date", f"are not dates ({form})"), left, cells, schema)


def _decimal(left: Iterable[str], right: Sequence[str], name: str, schema: Schema) -> Cause | None:
    """Return that cells are numbers with another decimal sign, if any are."""
    now, unit = schema.decimal_of(name), schema.ordinary[name].unit
    wrong = [text for text in left if any(char.isdigit() for char in text)]
    trials = []
    for sign in (",", "."):
        fits = [] if sign == now else _as_numbers(wrong, sign, unit)
        if fits:
            harmless = _stay(right, sign, unit, name, schema, evident=_is_evident(fits))
            trials.append((harmless, len(fits), sign, fits))
    if not trials:
        return None
    harmless, _, sign, fits = max(trials, key=lambda trial: trial[:2])
    if sign == "," and any("," in text for text in fits):
        what = "are numbers with a decimal comma"
    elif sign == "." and now == ",":
        what = "are numbers with a decimal point"
    else:
        what = "are numbers with signs between thousands"
    if not harmless:
        point = "comma" if now == "," else "point"
        few = f"write them with a decimal {point}"
        correct = few if len(fits) <= len(right) else "write all numbers with one decimal sign"
        return Cause("decimal", what, correct=correct, texts=fits)
    change = f'set decimal: "{sign}"'
    alike = len(trials) > 1 and trials[0][0] == trials[1][0] and trials[0][3] == trials[1][3]
    if alike and any("," in text for text in fits):
        change += ' (or decimal: ".", if it separates thousands)'
    return Cause("decimal", what, change, patch=patched(name, decimal=sign), texts=fits)


def _unit(left: Iterable[str], right: Sequence[str], name: str, schema: Schema) -> Cause | None:
    """Return that cells are numbers with a unit, if any are."""
    found: dict[str, list[str]] = {}
    for text in left:
        match = _UNIT.fullmatch(text.strip(BLANKS)) if len(text) <= LONGEST_tally else None
        if match is not None and bool(match["before"]) != bool(match["behind"]):
            unit = (match["before"] or match["behind"]).strip(BLANKS)
            found.setdefault(unit, []).append(text)
    known = schema.ordinary[name].unit
    for unit, texts in sorted(found.items(), key=lambda item: -len(item[1])):
        if not is_unit(unit) and len(texts) < ENOUGH:
            continue
        trials = {
            decimal: _as_numbers(texts, decimal, unit)
            for decimal in (schema.decimal_of(name), ",", ".")
        }
        decimal = max(trials, key=lambda one: len(trials[one]))
        if not (fits := trials[decimal]):
            continue
        what = f"have the unit {quote(unit)}"
        if known is not None or not _stay(right, decimal, unit, name, schema):
            return Cause("unit", what, correct="write them as the others are", texts=fits)
        keys: dict[str, Any] = {"unit": unit}
        if decimal != schema.decimal_of(name):
            keys["decimal"] = decimal
        change = "set " + ", ".join(f"{key}: {pasteable(value)}" for key, value in keys.items())
        return Cause("unit", what, change, patch=patched(name, **keys), texts=fits)
    return None


def _stay(
    right: Sequence[str],
    decimal: str | None,
    unit: str | None,
    name: str,
    schema: Schema,
    *,
    evident: bool = False,
) -> bool:
    """Return whether cells that are numbers stay the same ones by another reading.

    If that is evident from the others, they need not: beside 1.234,5 it is 1.234 that was misread.
    """
    entry, texts = schema.ordinary[name], _series(right)
    read = numbers_numbers if entry.decimal else numbers_or_plain
    before = read(texts, decimal=schema.decimal_of(name), unit=entry.unit)
    after = numbers_numbers(texts, decimal=decimal, unit=unit)
    return not after.has_nulls() and (evident or bool((before == after).all()))


def _is_evident(texts: Iterable[str]) -> bool:
    """Return whether a number has both signs, so that each can only mean one thing."""
    return any("." in text and "," in text for text in texts)


def _as_numbers(texts: Sequence[str], decimal: str | None, unit: str | None) -> list[str]:
    """Return the texts that are finite numbers by a reading."""
    read = numbers_numbers(_series(texts), decimal=decimal, unit=unit)
    return _series(texts).filter(read.is_finite().fill_null(value=False)).to_list()


def _series(texts: Iterable[str]) -> pl.Series:
    return pl.Series([*texts], dtype=pl.String)


def _tally(texts: Iterable[str]) -> Tally:
    bare = tuple(dict.fromkeys(text.strip(BLANKS) for text in texts))
    return Tally("", bare, (1,) * len(bare), tuple(range(1, len(bare) + 1)), 0)
