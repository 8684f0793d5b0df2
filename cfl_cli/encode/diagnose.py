"""Why cells do not fit their column, and what fits the schema and yet costs accuracy.

causes     the different wrong texts, each under the first cause that it has. A change of the schema
           is proposed only if it fixes every cell of the cause and harms no cell that fits. Where
           none does, the table is to be corrected.
warnings   of an OF: constant, sentinel, wild, merged-integers, id-as-of, date-as-category,
           number-as-category, of-looks-complementary, many-values; of a CF: joined-value,
           cf-looks-ordinary, few-rows, never-seen

Tests look at the different texts with their counts, never at cells one by one.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.messages import count, meant, quote, value_meant
from cfl_cli.encode.cells import Cells, Ruling
from cfl_cli.encode.findings import ROWS_SHOWN, Cause, Finding, Patch, ignoring
from cfl_cli.schema.model import Complementary, Schema
from cfl_cli.texts import BLANKS, Tally, dates, identifiers, numbers, scales, tally
from cfl_cli.texts import LONGEST as LONGEST_TEXT
from cfl_cli.texts.lists import SIGNS, listing, negated, split, without_not
from cfl_cli.texts.matching import SHORTEST, Matcher, is_missing_code, missing_codes

_SHOWN = 60  # signs of a list of missing codes that is shown
_VALUES_SHOWN = 120  # and of a list of values
_CORRECT = "correct [them|it]"
_LIST_THEM = "list [them|it] under `missing`"
_IGNORE = "mark it `role: ignore`"
_SEE = "; `cfl check` shows more"


def pasteable(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def folded_value(text: str) -> str:  # without what spellings of one value differ in
    return " ".join(text.casefold().split())


def patched(name: str, **keys: Any) -> Patch:
    return {"columns": {name: keys}}


def set_keys(keys: Mapping[str, Any]) -> str:
    shown = {key: it if key in ("role", "type") else pasteable(it) for key, it in keys.items()}
    if len(shown.get("values", "")) > _VALUES_SHOWN:
        shown["values"] = "[…] from lowest to highest"
    return "set " + ", ".join(f"{key}: {it}" for key, it in shown.items())


def take(left: dict[str, None], taken: Cause | Iterable[str]) -> None:
    for text in taken.texts or () if isinstance(taken, Cause) else taken:
        left.pop(text, None)


# Causes in columns whose cells hold one of some values.


def in_values(
    wrong: Sequence[str], name: str, values: Sequence[str], schema: Schema
) -> Iterator[Cause]:
    left = dict.fromkeys(wrong)
    yield from _codes(left, name, schema)
    spellings = {folded_value(value): value for value in values}
    alike = [text for text in left if folded_value(text) in spellings]
    if alike:
        yield _spelled(alike, spellings[folded_value(alike[0])], alike, name, schema)
        take(left, alike)
    if left and getattr(schema.columns[name], "type", "") == "binary":
        what = "[are|is] not among the column's `values`"
        patch = _missing([*left], name, schema).patch
        yield Cause("binary-values", what, _LIST_THEM, _CORRECT, patch, [*left])
    elif left:
        listed = "in the domain" if name in schema.complementary else "among the column's `values`"
        yield _not_in_domain({text: [text] for text in left}, values, name, schema, listed=listed)


def required(name: str) -> Cause:
    what = "[are|is] missing, but the schema says `on_missing: error`"
    patch = patched(name, on_missing="fill")
    return Cause("required", what, "set on_missing: fill", "fill [them|it] in", patch)


def third_values(texts: Sequence[str], name: str, schema: Schema) -> Iterator[Cause]:
    left = dict.fromkeys(texts)
    yield from _codes(left, name, schema)
    if left:
        what = "[hold|holds] a third value, but a binary column has two"
        change, patch = f"{_LIST_THEM}, or set type: categorical", patched(name, type="categorical")
        yield Cause("binary-values", what, change, patch=patch)


def _codes(left: dict[str, None], name: str, schema: Schema) -> Iterator[Cause]:
    found = [text for text in left if is_missing_code(text.strip(BLANKS))]
    if found:
        cause = _missing(found, name, schema)
        if all(text.strip(BLANKS).startswith("#") for text in found):  # as in #N/A
            cause = replace(cause, what="[are formula errors|is a formula error]", correct=_CORRECT)
        yield cause
        take(left, found)


def _missing(texts: Sequence[str], name: str, schema: Schema) -> Cause:
    own = getattr(schema.columns[name], "missing", None) or ()
    listed = pasteable([*own, *texts])
    return Cause(
        "missing-code",
        "[mean|means] that the value is missing",
        "set missing: {listed}" if len(listed) <= _SHOWN else _LIST_THEM,
        patch=patched(name, missing=[*own, *texts]),
        texts=texts,
        facts={"listed": listed},
    )


def _spelled(
    texts: Sequence[str], value: str, parts: Sequence[str], name: str, schema: Schema
) -> Cause:
    correct = "write {meant!r}" if len(texts) == 1 else "use the spelling of the values"
    what = "[differ|differs] from a value only in blanks or case"
    change, patch, entry = "", None, schema.columns[name]
    values = getattr(entry, "values", None) or ()
    match = Matcher(values, getattr(entry, "aliases", None), ignore_case=True)
    folded = {value.casefold() for value in values}
    if len(folded) == len(values) > 0 and all(match.place(part) >= 0 for part in parts):
        change, patch = "set ignore_case: true", patched(name, ignore_case=True)
    return Cause("blanks-case", what, change, correct, patch, texts, {"meant": value})


# By the key that the values of a CF come from.
_ADD_BY = {
    "bins": "widen the `bins`",
    "hierarchy": "add a line for {them} to the `hierarchy`",
    "codes": "add a line for {them} to the `codes`",
}


def _not_in_domain(
    foreign: Mapping[str, Sequence[str]],
    values: Sequence[str],
    name: str,
    schema: Schema,
    *,
    listed: str = "in the domain",
) -> Cause:
    named = [*dict.fromkeys(part.strip(BLANKS) for parts in foreign.values() for part in parts)]
    if len(named) > 1:
        what = f"[name|names] {{number:,}} values that are not {listed}, such as {{one!r}}{{near}}"
    elif all(text.strip(BLANKS) == named[0] for text in foreign):
        what = f"[are|is] not {listed}{{near}}"
    else:
        what = f"[name|names] {{one!r}}, which is not {listed}{{near}}"
    missing = schema.missing_in(name)
    impossible = any(not part or part in missing for part in named)
    them = "them" if len(named) > 1 else "it"
    change = f"add {them} to the column's `values`"
    patch: Patch | None = patched(name, values=[*values, *named])
    entry = schema.columns[name]
    if isinstance(entry, Complementary) and (key := entry.values_from) is not None:
        change, patch = _ADD_BY[key].format(them=them), None
    facts: dict[str, object] = {"number": len(named), "one": named[0]}
    words = (text for text in named if len(text) >= SHORTEST and text.isalpha())  # and no codes
    near = {text: value for text in words if (value := value_meant(text, values)) is not None}
    if getattr(entry, "values", None) and len(near) == len(named):
        known = getattr(entry, "aliases", None) or {}
        aliases = {value: [*texts] for value, texts in known.items()}
        for text, value in near.items():
            aliases.setdefault(value, []).append(text)
        change, patch = f"list {them} under `aliases`", patched(name, aliases=aliases)
    return Cause(
        "not-in-domain",
        what,
        "" if impossible else change,
        _CORRECT,
        None if impossible else patch,
        [*foreign],
        {**facts, "near": meant(named[0], values)},
    )


# Why cells of a CF are wrong: other signs than the schema's, codes, or values it does not have.

_MARK = re.compile(r"(?:[=!+]|[^\W\d_][^\d:=]{0,30}[:=])")


def cf_causes(
    wrong: Sequence[str], cells: Cells, values: Sequence[str], schema: Schema
) -> Iterator[Cause]:
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
    yield from _codes(left, name, schema)
    if not cells.are_lists:
        sign = mended.get("separator") or _commonest_sign(left, trial)
        trial = trial.by(sign, mended.get("exact"))
    outside = {text: trial.foreign(text) for text in left}
    spellings = {folded_value(value): value for value in values}
    alike = [
        text
        for text, foreign in outside.items()
        if foreign and all(folded_value(part) in spellings for part in foreign)
    ]
    if alike:
        parts = [part for text in alike for part in outside[text]]
        yield _spelled(alike, spellings[folded_value(outside[alike[0]][0])], parts, name, schema)
        take(left, alike)
    for found in _composed({text: outside[text] for text in left if outside[text]}, trial):
        yield found
        take(left, found)
    foreign = {text: outside[text] for text in left if outside[text]}
    if foreign:
        yield _not_in_domain(foreign, values, name, schema)
        take(left, foreign)
    if left:
        what = "[rule|rules] out the whole domain"
        yield Cause("all-excluded", what, correct="leave at least one value possible")


@dataclass(frozen=True)
class _Trial:
    cells: Cells
    cf: Complementary
    values: Sequence[str]

    def by(self, separator: str | None = None, exact: str | None = None) -> "_Trial":
        keys = {"separator": separator, "exact": exact}
        update = {key: sign for key, sign in keys.items() if sign is not None}
        return replace(self, cf=self.cf.model_copy(update=update))

    def ruling(self, text: str) -> Ruling:
        return self.cells.ruling(text, self.cf, self.match)

    @cached_property
    def match(self) -> Matcher:
        return self.cells.matcher(self.values)

    def fits(self, text: str) -> bool:
        return self.ruling(text).fits(self.values)

    def knows(self, text: str) -> bool:
        return self.match.place(text) >= 0 or folded_value(text) in self.spellings

    @cached_property
    def spellings(self) -> frozenset[str]:
        return frozenset(map(folded_value, self.values))

    def foreign(self, text: str) -> list[str]:
        named = self.ruling(text).values
        return [part.strip(BLANKS) for part in named if part not in self.match.exact]


def _separated(left: Iterable[str], right: Sequence[str], now: _Trial) -> Cause | None:
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
    facts = {"sign": chosen, "ours": cf.separator, "pasted": pasteable(chosen)}
    change, patch = "set separator: {pasted}", patched(now.cells.name, separator=chosen)
    if cf.separator is None:
        what = "[hold|holds] several values, separated by {sign!r}"
        return Cause("separator", what, change, "", patch, best, facts)
    what = "[are|is] separated by {sign!r}, but the schema says {ours!r}"
    if harmless:
        return Cause("separator-other", what, change, "", patch, best, facts)
    return Cause("separator-other", what, "", "write {ours!r} instead", None, best, facts)


def _commonest_sign(texts: Iterable[str], now: _Trial) -> str | None:
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
    negations, several = list[str](), list[str]()
    named = {part for parts in outside.values() for part in parts}
    # Signs that values have themselves show nothing.
    signs = [sign for sign in SIGNS if not any(sign in value for value in now.values)]
    for text, parts in outside.items():
        rests = [rest for part in parts if (rest := without_not(part)) is not None]
        marks = [match[0][-1] for part in parts if (match := _MARK.match(part)) is not None]
        if any(rest in named or now.knows(rest) for rest in rests):
            negations.append(text)
        elif any(not any(mark in value for value in now.values) for mark in marks) or any(
            sign in part and any(map(now.knows, part.split(sign)))
            for part in parts
            for sign in signs
        ):
            several.append(text)
    if negations:
        what = '[say|says] "not", but the cells of a CF name what is ruled out'
        yield Cause("negation", what, correct="write only the values", texts=negations)
    if several:
        what = "[hold|holds] something besides values, which the schema does not describe"
        signs = [quote(sign) for sign in (now.cf.separator, now.cf.exact) if sign is not None]
        correct = "write only values and {signs}" if signs else "write only values"
        facts = {"signs": " and ".join(signs)}
        yield Cause("more-than-values", what, correct=correct, texts=several, facts=facts)


def _marked(left: Iterable[str], right: Sequence[str], now: _Trial) -> Cause | None:
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
        what = "[begin|begins] with {sign!r} before a value"
        facts = {"sign": mark, "ours": now.cf.exact, "pasted": pasteable(mark)}
        if now.cf.exact is not None:
            return Cause("exact", what, "", "write {ours!r} instead", None, fits, facts)
        if all(map(trial.fits, right)):
            patch = patched(now.cells.name, exact=mark)
            return Cause("exact", what, "set exact: {pasted}", "", patch, fits, facts)
    return None


# Which type a column has rather, if many of its cells do not fit the one that it should have.

_FEW = 0.1  # share of the cells that may be wrong in a column whose type is right
_SOME = 1 / 3  # the same, if all of them hold one text
_MOSTLY = 0.5  # share of wrong cells beyond which the type is wrong
_LISTED = 3  # different texts that may be listed as missing
_CATEGORIES = 50  # more different texts than this are names or notes
_OF_A_TYPE = ("values", "decimal", "unit", "format", "cycle")  # keys that go with it


def of_causes(
    wrong: Sequence[str], cells: Cells, values: Sequence[str], schema: Schema
) -> Iterator[Cause]:
    ordered = schema.ordinary[cells.name].type == "ordered"
    for cause in in_values(wrong, cells.name, values, schema):
        texts = cause.texts or ()
        if cause.code == "binary-values":
            yield _misfit(cause, texts, cells, schema)
        elif cause.code == "not-in-domain" and ordered:
            yield _not_a_rung(cause, texts, cells, values, schema)
        else:
            yield cause


def _not_a_rung(
    cause: Cause, texts: Collection[str], cells: Cells, values: Sequence[str], schema: Schema
) -> Cause:
    column = tally(cells.text)
    for rungs in ({*column.texts, *values}, {*column.texts}):
        known = tuple(sorted(rungs - {*missing_codes(column)}))
        ones = (1,) * len(known)
        found = scales.scale(Tally(cells.name, known, ones, ones, 0))
        if found is not None and not found.doubt:
            keys = {"values": [*found.values]}
            facts = {**cause.facts, "keys": set_keys(keys)}
            return replace(cause, change="{keys}", patch=patched(cells.name, **keys), facts=facts)
    if _share(texts, column) > _MOSTLY:
        return _misfit(cause, texts, cells, schema)
    return replace(cause, change="add [them|it] to the column's `values`, in order", patch=None)


def _misfit(cause: Cause, texts: Collection[str], cells: Cells, schema: Schema) -> Cause:
    """Return a cause with the fix for so many cells: another type, or that they are missing.

    Few cells with few words may be codes for missing values, more so if it is one word, but many
    cells never are.
    """
    column, wrong = tally(cells.text), {text.strip(BLANKS) for text in texts}
    share = _share(texts, column)
    measured = schema.ordinary[cells.name].type in ("numeric", "date")
    if share > (_FEW if len(wrong) > 1 else _SOME):
        if measured and share < 1 and all(map(_has_digit, wrong)):  # numbers, written badly
            return replace(cause, change="", correct=_CORRECT, patch=None)
        column = column.without({*missing_codes(column)})
        change, patch = _other_type(column, schema, mostly=share > _MOSTLY)
        correct = "" if change and share > _MOSTLY else _CORRECT
        facts, change = {**cause.facts, "keys": change}, "{keys}" if change else ""
        return replace(cause, change=change, correct=correct, patch=patch, facts=facts)
    few = len(wrong) <= _LISTED
    if few and not (measured and any(map(_has_digit, wrong))):
        listed = _missing([*texts], cells.name, schema)
        facts, change = {**cause.facts, **listed.facts}, listed.change
        return replace(cause, change=change, correct=_CORRECT, patch=listed.patch, facts=facts)
    change = _LIST_THEM if few else "list those that mean missing under `missing`"
    return replace(cause, change=change, correct=_CORRECT, patch=None)


def _other_type(column: Tally, schema: Schema, *, mostly: bool) -> tuple[str, Any]:
    name, now = column.name, schema.ordinary[column.name]
    keys = _measured(column, now.type)
    if keys is None and (found := scales.scale(column)) is not None and not found.doubt:
        keys = {"type": "ordered", "values": [*found.values]}
    if keys is None:
        if len(column) > _CATEGORIES:
            ignored = ignoring(name, schema) if mostly else None
            return (_IGNORE if mostly else "", ignored)
        keys = {"type": "categorical"}
    old = [key for key in _OF_A_TYPE if getattr(now, key) is not None]
    set_it = set_keys({key: it for key, it in keys.items() if it != now.type})
    return set_it, patched(name, **(dict.fromkeys(old) | keys))


def _measured(column: Tally, now: str = "") -> dict[str, Any] | None:
    if now != "date" and (formats := dates.formats(column)):
        return {"type": "date"} | ({"format": formats[0]} if formats[0] else {})
    if now != "numeric" and (readings := numbers.readings(column)):
        keys = {"decimal": readings[0].decimal, "unit": readings[0].unit}
        return {"type": "numeric"} | {key: sign for key, sign in keys.items() if sign}
    return None


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _share(texts: Collection[str], column: Tally) -> float:
    wrong = {text.strip(BLANKS) for text in texts}
    return sum(number for text, number in column if text in wrong) / max(column.cells, 1)


# Why cells are not the numbers or dates of their column: other signs, units, formats, or words.

_UNIT = re.compile(
    r"(?P<before>[^\d\s.,+<>≤≥−-][^\d\s]{0,4})?\s*[+−-]?\d[\d.,'’\s]*"
    r"(?P<behind>[^\d\s.,+<>−-]\D{0,14})?"
)
_ENOUGH = 3  # different texts that show a unit which is not a known one


def in_numbers(wrong: Sequence[str], cells: Cells, schema: Schema) -> Iterator[Cause]:
    name, left = cells.name, dict.fromkeys(wrong)
    right = [text for text in cells.seen if text not in left]
    if (found := _decimal(left, right, name, schema)) is not None:
        yield found
        take(left, found)
    yield from _codes(left, name, schema)
    bounds = [text for text in left if scales.bound(text.strip(BLANKS))]
    if bounds:
        what = "[are bounds, not numbers|is a bound, not a number]"
        change, patch = "make it `type: ordered`", None
        bare = numbers.without_bounds(_series(bounds))
        how: dict[str, Any] = {
            "decimal": schema.decimal_of(name),
            "unit": schema.ordinary[name].unit,
        }
        if numbers.numbers(bare, **how).is_finite().fill_null(value=False).all():
            change = "set bounds: true, which reads [them|it] as the number"
            patch = patched(name, bounds=True)
        yield Cause("bound", what, change, "write numbers instead", patch, bounds)
        take(left, bounds)
    if (found := _unit(left, right, name, schema)) is not None:
        yield found
        take(left, found)
    unit = schema.ordinary[name].unit
    read = numbers.numbers(_series(left), decimal=schema.decimal_of(name), unit=unit)
    endless = _series(left).filter(read.is_infinite().fill_null(value=False)).to_list()
    if endless:
        cause = _missing(endless, name, schema)
        yield replace(cause, code="not-finite", what="[are|is] not finite", correct=_CORRECT)
        take(left, endless)
    if not left:
        return
    formats = [] if right else dates.formats(_tally(left))
    if not formats:
        cause = Cause("not-a-number", "[are not numbers|is not a number]")
        yield _misfit(cause, left, cells, schema)
        return
    written = "" if formats[0] is None else f", format: {pasteable(formats[0])}"
    other = f" (or {pasteable(formats[1])})" if len(formats) > 1 else ""
    patch = patched(name, decimal=None, unit=None, type="date", format=formats[0])
    facts = {"keys": f"set type: date{written}{other}"}
    yield Cause("not-a-number", "[are dates|is a date]", "{keys}", patch=patch, facts=facts)


def in_dates(wrong: Sequence[str], cells: Cells, schema: Schema) -> Iterator[Cause]:
    name, left = cells.name, dict.fromkeys(wrong)
    right = [text for text in cells.seen if text not in left]
    yield from _codes(left, name, schema)
    if not left:
        return
    everything = [*left, *right]
    formats = dates.formats(_tally(everything))
    if formats and dates.days(_series(everything), format=formats[0]).is_not_null().all():
        first = formats[0]
        shown = "leave out `format`" if first is None else f"set format: {pasteable(first)}"
        other = f" (or {pasteable(formats[1])})" if len(formats) > 1 else ""
        patch, facts = patched(name, format=formats[0]), {"keys": f"{shown}{other}"}
        what = "[are dates|is a date] in another format"
        yield Cause("not-a-date", what, "{keys}", patch=patch, facts=facts)
    elif dates.two_orders(_tally(everything)) is not None:
        what = "[have|has] day and month in the opposite order from other cells"
        yield Cause("date-order", what, correct="write all dates in one order")
    elif dates.formats(_tally(left)):
        what = "[are dates|is a date], but not in the format of the schema"
        yield Cause("not-a-date", what, correct="write [them|it] like the other cells")
    else:
        form = "ISO 8601, such as 2024-03-01" if cells.format is None else cells.format
        what = "[are not dates|is not a date] ({form})"
        yield _misfit(Cause("not-a-date", what, facts={"form": form}), left, cells, schema)


def _decimal(left: Iterable[str], right: Sequence[str], name: str, schema: Schema) -> Cause | None:
    now, unit = schema.decimal_of(name), schema.ordinary[name].unit
    wrong = [text for text in left if any(char.isdigit() for char in text)]
    trials = []
    for sign in (",", "."):
        fits = [] if sign == now else _as_numbers(wrong, sign, unit)
        if fits:
            evident = any("." in text and "," in text for text in fits)
            harmless = _stay(right, sign, unit, name, schema, evident=evident)
            trials.append((harmless, len(fits), sign, fits))
    if not trials:
        return None
    harmless, _, sign, fits = max(trials, key=lambda trial: trial[:2])
    if sign == "," and any("," in text for text in fits):
        what = "[are numbers|is a number] with a decimal comma"
    elif sign == "." and now == ",":
        what = "[are numbers|is a number] with a decimal point"
    else:
        what = "[are numbers|is a number] with thousands separators"
    if not harmless:
        point = "comma" if now == "," else "point"
        few = f"write [them|it] with a decimal {point}"
        correct = few if len(fits) <= len(right) else "write all numbers with one decimal sign"
        return Cause("decimal", what, correct=correct, texts=fits)
    change = f'set decimal: "{sign}"'
    alike = len(trials) > 1 and trials[0][0] == trials[1][0] and trials[0][3] == trials[1][3]
    if alike and any("," in text for text in fits):
        change += ' (or decimal: ".", if the comma separates thousands)'
    return Cause("decimal", what, change, patch=patched(name, decimal=sign), texts=fits)


def _unit(left: Iterable[str], right: Sequence[str], name: str, schema: Schema) -> Cause | None:
    found: dict[str, list[str]] = {}
    for text in left:
        match = _UNIT.fullmatch(text.strip(BLANKS)) if len(text) <= LONGEST_TEXT else None
        if match is not None and bool(match["before"]) != bool(match["behind"]):
            unit = (match["before"] or match["behind"]).strip(BLANKS)
            found.setdefault(unit, []).append(text)
    known = schema.ordinary[name].unit
    for unit, texts in sorted(found.items(), key=lambda item: -len(item[1])):
        if not numbers.is_unit(unit) and len(texts) < _ENOUGH:
            continue
        signs = (schema.decimal_of(name), ",", ".")
        trials = {sign: _as_numbers(texts, sign, unit) for sign in signs}
        decimal = max(trials, key=lambda one: len(trials[one]))
        if not (fits := trials[decimal]):
            continue
        what = "[have|has] the unit {unit!r}"
        if known is not None or not _stay(right, decimal, unit, name, schema):
            correct = "write [them|it] like the other cells"
            return Cause("unit", what, correct=correct, texts=fits, facts={"unit": unit})
        keys: dict[str, Any] = {"unit": unit}
        if decimal != schema.decimal_of(name):
            keys["decimal"] = decimal
        facts = {"unit": unit, "keys": set_keys(keys)}
        return Cause("unit", what, "{keys}", "", patched(name, **keys), fits, facts)
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
    read = numbers.numbers if entry.decimal else numbers.numbers_or_plain
    before = read(texts, decimal=schema.decimal_of(name), unit=entry.unit)
    after = numbers.numbers(texts, decimal=decimal, unit=unit)
    return not after.has_nulls() and (evident or bool((before == after).all()))


def _as_numbers(texts: Sequence[str], decimal: str | None, unit: str | None) -> list[str]:
    read = numbers.numbers(_series(texts), decimal=decimal, unit=unit)
    return _series(texts).filter(read.is_finite().fill_null(value=False)).to_list()


def _series(texts: Iterable[str]) -> pl.Series:
    return pl.Series([*texts], dtype=pl.String)


def _tally(texts: Iterable[str]) -> Tally:
    bare = tuple(dict.fromkeys(text.strip(BLANKS) for text in texts))
    return Tally("", bare, (1,) * len(bare), tuple(range(1, len(bare) + 1)), 0)


# Warnings: cells that fit the schema and yet cost accuracy silently.

_LARGEST = 2.0**53  # up to which all integers are different numbers
_EXPONENT = "[0-9][eE]"
_DIGITS = (r"[.,]0{1,2}$", ""), (r"^[^0-9]*(-?)[^0-9]*0*", "${1}"), (r"[^0-9-]", "")
_MANY_VALUES = 100  # of a categorical OF
_SCALE = 12  # different numbers or dates that may well be categories
_CELLS = 20  # fewer show little
_YEARS = (1000, 2200)  # whole numbers that rise by 1 may be these
_ORDINARY = 0.7  # of a CF's cells hold one value: more than uniform exclusions can
_ROWS_PER_VALUE = 5  # of a CF's domain …
_LARGE_DOMAIN = 5  # … of so many values; k neighbors need as many rows anyway
_UNLIKELY = 1e-4  # that a value which is possible is never ruled out …
_RULED_OUT = 0.5  # … if it is not the true one in this share of the rows
_DOMAIN = range(3, 41)  # how many parts make lists rather than notes
_SURE_SIGNS = ";|\n"  # between values; others also stand inside one, as in Japan/USA
_NINES = 5  # fewer are usual among counts


def _warning(
    code: str,
    name: str,
    what: str,
    fix: str,
    patch: Patch | None = None,
    brief: str = "",
    *,
    number: int = 0,
) -> Finding:
    return Finding(code, what, fix, name, number, patch=patch, warning=True, brief=brief)


def of_warnings(cells: Cells, schema: Schema, *, varies: bool) -> Iterator[Finding]:
    """Yield the warnings of an OF whose cells all fit; `varies` says if it holds two values."""
    ordinary, name = schema.ordinary[cells.name], cells.name
    if ordinary.type == "numeric" and not cells.raw.dtype.is_float():  # or they came rounded
        with np.errstate(invalid="ignore"):  # of what is missing
            large = ~cells.missing & (np.abs(cells.numbers) >= _LARGEST)
        merged = [*_merged_integers(cells, large)] if large.any() else []
        yield from merged
        if merged and not varies:
            return  # it only looks constant
    if not varies:
        what = "holds only one value, so it carries no information"
        yield _warning("constant", name, what, _IGNORE, ignoring(name, schema))
    elif ordinary.type == "numeric":
        known = cells.numbers[~cells.missing]
        maybe = not numbers.MAY_BE_CODES.isdisjoint((known.min(), known.max()))
        codes = [*_sentinels(cells, known, schema)] if maybe else []
        yield from codes or _wild_cells(cells, schema)
        if len(known) >= _CELLS:
            is_id = identifiers.is_name_of_id(name)
            if (np.diff(known) == 1).all():
                is_id = is_id or not _YEARS[0] <= known[0] <= known[-1] <= _YEARS[1]
            elif is_id := is_id and bool((known == np.floor(known)).all()):
                is_id = len(np.unique(known)) >= identifiers.DIFFERENT * len(known)
            if is_id:
                yield _id(name, len(np.unique(known)), len(known), schema)
    elif ordinary.type == "date":
        yield from _wild_cells(cells, schema)
    elif ordinary.type == "categorical" and ordinary.values is None:
        compound = (
            " " in text or not text[:1].isalnum() or any(sign in text for sign in SIGNS)
            for text in cells.named
        )
        if len(cells.named) > _SCALE or any(compound):
            yield from _in_categories(cells, schema)


def _wild_cells(cells: Cells, schema: Schema) -> Iterator[Finding]:
    """Yield that a few numbers or dates squeeze all others, unless the schema says the scale."""
    name, is_date = cells.name, schema.ordinary[cells.name].type == "date"
    if (schema.ordinary[name].scale or schema.scale) is not None:
        return
    values = cells.days if is_date else cells.numbers
    found = numbers.wild(values[~cells.missing])
    if found is None:
        return
    low, high = (
        str(np.datetime64(int(np.floor(end)), "D")) if is_date else f"{end:g}"
        for end in (found.low, found.high)
    )
    with np.errstate(invalid="ignore"):  # of what is missing
        rows = np.flatnonzero(~cells.missing & ((values < found.low) | (values > found.high)))
    one = len(rows) == 1
    it, squeeze = ("it", "squeezes") if one else ("them", "squeeze")
    share = "under 0.1" if found.squeezed < 0.001 else f"{100 * found.squeezed:.2g}"
    squeezed = f"into {share} % of the scale"
    first = tuple((rows[:ROWS_SHOWN] + 1).tolist())
    shown = ", ".join(map(str, first)) + (" …" if len(rows) > ROWS_SHOWN else "")
    missing = f", list {it} under `missing`" if is_date else ""
    do = f"correct {it}{missing}, or set scale: robust"
    yield Finding(
        "wild",
        f"{'lies' if one else 'lie'} far from the others, which are {low} to {high}, and "
        f"{squeeze} them {squeezed}",
        f"{do} (or scale: minmax to accept {it})",
        name,
        len(rows),
        first,
        cells.text[int(rows[0])],
        patched(name, scale="robust"),
        warning=True,
        brief=f"{count(len(rows), 'cell')} far from all others ({'row' if one else 'rows'} {shown})"
        f" {squeeze} them {squeezed}: {do}",
    )


def _merged_integers(cells: Cells, large: Mask) -> Iterator[Finding]:
    """Yield that integers beyond 2^53 are the same number once rounded to 53 binary digits."""
    text, rows = cells.text.str.strip_chars(), np.arange(1, len(large) + 1)
    frame = pl.DataFrame({"text": text, "number": cells.numbers, "row": rows})
    digits = pl.col("text")
    for what, instead in _DIGITS:
        digits = digits.str.replace_all(what, instead)
    merged = (
        frame.filter(pl.Series(large))
        .filter(~pl.col("text").str.contains(_EXPONENT))
        .with_columns(digits.alias("digits"))
        .filter(pl.col("digits").n_unique().over("number") > 1)
        .sort("row")
    )
    if merged.is_empty():
        return
    different, left = merged["digits"].n_unique(), count(merged["number"].n_unique(), "number")
    what = f"are integers beyond 2^53, and {different:,} different ones become {left}"
    what += " when they are rounded to 53 bits"
    fix = "subtract the smallest one from all, or mark it `role: ignore` if it is an ID"
    first, n = tuple(merged["row"].head(ROWS_SHOWN).to_list()), merged.height
    name, cell, brief = cells.name, merged["text"][0], f"{count(n, 'cell')} {what}: {fix}"
    yield Finding("merged-integers", what, fix, name, n, first, cell, warning=True, brief=brief)


def _sentinels(cells: Cells, known: Floats, schema: Schema) -> Iterator[Finding]:
    """Yield that numbers far from all others look like codes of missing values, if any do.

    A number that most cells hold is an answer.
    """
    name, own = cells.name, schema.ordinary[cells.name].missing or ()
    values, counts = np.unique(known, return_counts=True)
    texts = {repr(value): value for value in values.tolist()}
    different = Tally(name, (*texts,), (*counts.tolist(),), (0,) * len(texts), 0)
    found = numbers.sentinels(different, [*texts.values()])
    if found is None or sum(found.counts) > _MOSTLY * len(known):
        return
    codes = [texts[text] for text in found.texts]
    if codes == [9.0] and sum(found.counts) < _NINES:
        return
    marked = np.isin(cells.numbers, codes) & ~cells.missing
    rows = np.flatnonzero(marked)
    listed = [*own, *cells.text.filter(pl.Series(marked)).unique(maintain_order=True)]
    what = f"lie far from the others, which are {found.low:g} to {found.high:g}"
    fix = f"if they mean missing, set missing: {pasteable(listed)}"
    patch = patched(name, missing=listed)
    first, cell, n = tuple((rows[:ROWS_SHOWN] + 1).tolist()), listed[len(own)], len(rows)
    brief = f"{count(n, 'cell')} far from all others may be codes for missing values{_SEE}"
    yield Finding("sentinel", what, fix, name, n, first, cell, patch, warning=True, brief=brief)


def _id(name: str, different: int, cells: int, schema: Schema) -> Finding:
    rows = "every row" if different == cells else f"{different / cells:.1%} of the rows"
    what = f"looks like an ID: different in {rows}"
    return _warning("id-as-of", name, what, _IGNORE, ignoring(name, schema))


def _in_categories(cells: Cells, schema: Schema) -> Iterator[Finding]:
    name, texts = cells.name, tally(cells.text)
    different = f"{len(texts):,} different"
    if len(texts) > _SCALE and (keys := _measured(texts)) is not None:
        kind, set_it = "date" if keys["type"] == "date" else "number", set_keys(keys)
        what = f"its {different} texts are {kind}s, such as {quote(texts.texts[0])}"
        brief = f"its texts are {kind}s, but it is categorical{_SEE}"
        yield _warning(f"{kind}-as-category", name, what, set_it, patched(name, **keys), brief)
        return
    if texts.cells >= _CELLS and len(texts) >= identifiers.DIFFERENT * texts.cells:
        yield _id(name, len(texts), texts.cells, schema)
        return
    text, separator, found = negated(texts), "", listing(texts)
    if text is None and found is not None and found.sure and len(found.parts) in _DOMAIN:
        text, separator = found.example, found.separator
    if text is not None:
        keys = {"role": "complementary", "type": None, "separator": separator}
        patch = patched(name, **keys) if separator and len(schema.ordinary) > 1 else None
        said = "hold several values" if separator else 'say "not"'
        what = f"cells like {quote(text)} {said}"
        fix = "if they rule values out, set role: complementary"
        fix += f", separator: {pasteable(separator)}" if separator else " and write only the value"
        brief = f"looks like a CF, but is ordinary{_SEE}"
        yield _warning("of-looks-complementary", name, what, fix, patch, brief)
    elif len(texts) > _MANY_VALUES:
        what = f"{different} values are many for a categorical column"
        fix = f"{_IGNORE}, or group its values"
        yield _warning("many-values", name, what, fix, ignoring(name, schema))


def cf_warnings(
    name: str, values: Sequence[str], schema: Schema, *, masks: Mask, counts: Ints, exact: Mask
) -> Iterator[Finding]:
    """Yield the warnings of a CF whose cells all fit.

    For each of its different texts: `masks`, which values it leaves possible, `counts`, how many
    cells hold it, and `exact`, whether it has the exact mark.
    """
    cf, cells = schema.complementary[name], int(counts.sum())
    if cf.separator is None and any(sign in value for value in values for sign in SIGNS):
        yield from _joined(name, cf, values)
    ruled_out = ~masks & ~exact[:, None]
    if len(values) >= _LARGE_DOMAIN and cells < _ROWS_PER_VALUE * len(values):
        what = f"only {count(cells, 'cell')} for {len(values):,} values"
        yield _warning("few-rows", name, what, "add rows, or merge values", number=cells)
    if cf.mechanism is not None or not cells:
        return
    single = len(values) > 2 and not exact.any() and (ruled_out.sum(axis=1) == 1).all()
    if single and counts.max() >= _ORDINARY * cells and cells >= _CELLS:
        keys: dict[str, Any] = dict.fromkeys(schema.columns[name].model_dump(exclude_none=True))
        keys |= {"role": "ordinary", "type": "categorical"}
        patch = patched(name, **keys) if len(schema.complementary) > 1 else None
        what = "no cell holds a list or a mark, and one value is ruled out in "
        what += f"{counts.max() / cells:.0%} of the cells"
        fix = "if cells say what the value is, set role: ordinary, type: categorical"
        brief = f"looks like an OF, but is complementary{_SEE}"
        yield _warning("cf-looks-ordinary", name, what, fix, patch, brief)
        return
    sizes = ruled_out.sum(axis=1)
    chances = np.log1p(-np.minimum(sizes / max(len(values) - 1, 1), 1 - 1e-9)) * _RULED_OUT
    named = np.asarray((ruled_out | (masks & exact[:, None])).any(axis=0))
    unseen = [value for value, seen in zip(values, named, strict=True) if not seen]
    if unseen and not cf.by_name and float((chances * counts).sum()) < np.log(_UNLIKELY):
        several, left = len(unseen) > 1, [value for value in values if value not in unseen]
        are = "are" if several else "is"
        what = f"{count(len(unseen), 'value')} of {len(values):,} {are} never"
        such_as = f"{what} ruled out, such as {quote(unseen[0])}"
        such_as = such_as if several else f"{quote(unseen[0])} is never ruled out"
        fix = f"keep {'them' if several else 'it'} only if {'they are' if several else 'it is'} possible"
        patch = patched(name, values=left) if len(left) > 1 else None
        brief = f"{what} ruled out{_SEE}"
        yield _warning("never-seen", name, such_as, fix, patch, brief, number=len(unseen))


def _joined(name: str, cf: Complementary, values: Sequence[str]) -> Iterator[Finding]:
    known = {*values}
    by_sign: dict[str, list[str]] = {sign: [] for sign in SIGNS}
    for sign, found in by_sign.items():
        cut = {value: split(value, sign) for value in values}
        found += [value for value, parts in cut.items() if len(parts) > 1 and known >= {*parts}]
    sign = max(SIGNS, key=lambda one: len(by_sign[one]))
    joined = by_sign[sign]
    if len(joined) < (1 if sign in _SURE_SIGNS else 2):
        return
    keys: dict[str, Any] = {"separator": sign}
    fix = f"set separator: {pasteable(sign)}"
    if cf.values is not None:
        keys["values"] = [value for value in values if value not in joined]
        fix += " and list only the parts under `values`"
    number, patch = count(len(joined), "domain value"), patched(name, **keys)
    are = "is a list" if len(joined) == 1 else "are lists"
    what = f"{number} like {quote(joined[0])} {are} of other values"
    brief = f"{number} made of other values{_SEE}"
    yield _warning("joined-value", name, what, fix, patch, brief, number=len(joined))
