"""How a complementary column is written: its separator, its exact mark, its domain."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import polars as pl

from cfl_cli.commands.init.columns import Guess, Look, alike, slips, with_counts, written_otherwise
from cfl_cli.core.messages import count, quote
from cfl_cli.texts import BLANKS, Tally, lists, scales, tally
from cfl_cli.texts import matching as missing

_DOMAIN = 200  # more different values than this are too many to list
_FEWEST = 4  # values, so that one of them can differ from all others
_CHANCE, _SURE = 0.2, 0.01  # that a value never shares a cell with other values
_EXACT = "="  # the mark that needs no other evidence


def guess_cf(look: Look) -> Guess:
    if lists.hold_lists(look.rest):
        return _of_literals(look)
    column, doubts = look.rest, tuple[str, ...]()
    if mixed := lists.mixed_signs(column):
        usual, odd_cells, rewritten = mixed
        counts = dict(column)
        doubts = tuple(
            f"{count(sum(counts[text] for text in texts), 'cell')} like {quote(texts[0])}: "
            f"replace {quote(sign.strip(' '))} with {quote(usual)}"
            for sign, texts in odd_cells.items()
        )
        column = rewritten
    doubts += look.doubts(in_texts=True)
    mark, found = _mark_and_listing(column)
    separator = found.separator if found else None
    if mark:
        column, said = _well_marked(column, mark, separator)
        doubts += said
        mark, found = _mark_and_listing(column)
    marked = {text for text in column.texts if mark and text.startswith(mark.text)}
    plain = column.without(marked)
    parts = _parts(column, separator, mark)
    in_lists = {
        part
        for cell in plain.texts
        if found and len(split := lists.split(cell, found.separator)) > 1
        for part in split
    }
    own = tuple(
        part
        for part in missing.codes_of([*parts], "doubtful")
        if not missing.is_missing_code(part, "answers")
        and part in column.texts
        and part not in in_lists
    )
    if own and len(parts) - len(own) >= 2:
        doubts += (f"{with_counts(column, own)}: a value, or does it rule nothing out?",)
    else:
        own = ()
    if apart := _never_beside(column, found, mark, {*own, *look.codes}):
        lonely, sure = apart
        doubts += (
            f"{with_counts(column, lonely)}, never in a list: a value or a missing-value code?",
        )
        own += lonely if sure else ()
    missing_parts = (part for part in parts if missing.is_missing_code(part))
    codes = look.codes + tuple(part for part in missing_parts if part not in (*own, *look.codes))
    values = sorted(
        part
        for part in parts
        if not _is_code(part, {*own, *codes}) and not (mark and part.startswith(mark.text))
    )
    if mark and not mark.sure:
        doubts += (_said_exact(mark),)
    elif mark is None and (maybe := lists.possible_mark(column)):
        cells = f"{count(maybe.cells, 'cell')} like {quote(maybe.example)}"
        doubts += (f"{cells}: exact? then exact: {quote(maybe.text)}, and not among the values",)
    if found and not found.sure:
        doubts += (
            f"{count(found.joined, 'cell')} like {quote(found.example)}: one value or several?",
        )
    if negated := lists.negated(column):
        doubts += (f"cells like {quote(negated)}: write only the value, without the word for not",)
    counts = {value: parts[value] for value in values}
    counted = Tally("", (*counts,), (*counts.values(),), (), 0)
    if odd := tuple(text for text in written_otherwise(counted) if text not in own):
        doubts += (f"{with_counts(counted, odd)}: a value or a missing-value code?",)
    if spelled := alike(counted):
        doubts += (spelled,)
    doubts += slips(counts, column.cells)
    if others := missing.codes_of(values, "doubtful"):
        doubts += (f"{quote(others[0])}: a value, or does it rule nothing out?",)
    keys = {"separator": separator, "exact": mark.text if mark else None}
    return _entry(values, keys, Guess({}, (), doubts, codes, own))


def of_lists(column: pl.Series) -> Guess:
    return guess_parts(Look.at(tally(column.explode().cast(pl.String).rename(column.name))))


def _of_literals(look: Look) -> Guess:
    found = guess_parts(Look.at(lists.elements_of(look.rest)))
    plain = tuple(text for text in look.rest.texts if lists.elements(text) is None)
    example = next(text for text in look.rest.texts if lists.elements(text))
    doubts = (
        (f"{with_counts(look.rest, plain)}: not lists, unlike the other cells",) if plain else ()
    )
    return replace(
        found,
        notes=(
            f"cells are lists such as {quote(example)}",
            *found.notes,
            *look.notes(in_texts=True),
        ),
        doubts=(*doubts, *found.doubts, *look.doubts(in_texts=True)),
        codes=tuple(dict.fromkeys((*look.codes, *found.codes))),
    )


def guess_parts(look: Look) -> Guess:
    mark = lists.exact_mark(look.rest, [t for t in look.rest.texts if not t.startswith("=")])
    values = {t.removeprefix(mark.text).strip() if mark else t for t in look.rest.texts}
    keys = {"exact": mark.text if mark else None}
    doubts = look.doubts()
    if mark and not mark.sure:
        doubts += (_said_exact(mark),)
    return _entry(sorted(values), keys, Guess({}, (), doubts, look.codes))


def _well_marked(
    column: Tally, mark: lists.ExactMark, separator: str | None
) -> tuple[Tally, tuple[str, ...]]:
    begins = [text for text in column.texts if text.casefold().startswith(mark.text.casefold())]
    odd = {
        f"write the mark as {quote(mark.text)}": [
            text for text in begins if not text.startswith(mark.text)
        ],
        f"keep one value after {quote(mark.text)}": [
            text for text in begins if separator and separator in text[len(mark.text) :]
        ],
    }
    counts = dict(column)
    said = tuple(
        f"{count(sum(counts[text] for text in texts), 'cell')} like {quote(texts[0])}: {what}"
        for what, texts in odd.items()
        if texts
    )
    return column.without({text for texts in odd.values() for text in texts}), said


def _said_exact(mark: lists.ExactMark) -> str:
    return f"{count(mark.cells, 'cell')} like {quote(mark.example)}: exact values?"


def _never_beside(
    column: Tally, found: lists.Listing | None, mark: lists.ExactMark | None, codes: Collection[str]
) -> tuple[tuple[str, ...], bool] | None:
    """Return the value that stands in no list and behind no mark while all others do, if any.

    Second, whether it has too many cells for that to be by chance.
    """
    alone: dict[str, int] = {}
    joined: dict[str, int] = {}
    for text, cells in column:
        bare = text.removeprefix(mark.text).strip(BLANKS) if mark else text
        parts = lists.split(bare, found.separator if found else None)
        for part in parts:
            where = joined if len(parts) > 1 or bare != text else alone
            where[part] = where.get(part, 0) + cells
    values = [part for part in {**alone, **joined} if not _is_code(part, codes)]
    lonely = tuple(part for part in values if part not in joined)
    if len(lonely) != 1 or len(values) < _FEWEST:
        return None
    others = sum(n for part, n in alone.items() if part not in lonely)
    share = others / (others + sum(joined.values()))  # of the others that stand alone
    if share ** alone[lonely[0]] > _CHANCE:
        return None
    return lonely, share ** alone[lonely[0]] < _SURE


def _is_code(part: str, codes: Collection[str]) -> bool:
    return part in codes or missing.is_missing_code(part)


def _entry(values: list[str], keys: dict[str, str | None], found: Guess) -> Guess:
    marks_ = {key: text for key, text in keys.items() if text}
    entry: dict[str, Any] = {"role": "complementary"}
    if 2 <= len(values) <= _DOMAIN:
        order = scales.scale(Tally("", (*values,), (1,) * len(values), (), 0))
        if order and len(order.values) > 2:
            values, unseen = [*order.values], len(order.unseen)
            entry |= {"values": values, "ordered": True}
            said = f"ordered ({order.kind})" + (
                f", {count(unseen, 'value')} not seen" * bool(unseen)
            )
            found = replace(found, notes=(said, *found.notes))
            if order.doubt:
                found = replace(found, doubts=(*found.doubts, order.doubt))
        else:
            entry["values"] = values
        note = f"{len(values)} values seen: add possible values that are never ruled out"
        doubts = found.doubts
    else:
        note = f"{len(values):,} different values seen: list all possible ones as values: [...]"
        doubts = (*found.doubts, note)
        note = ""
    return Guess(
        {**entry, **marks_},
        tuple(filter(None, [note, *found.notes])),
        doubts,
        found.codes,
        found.own_codes,
        frozenset(values),
    )


def _mark_and_listing(column: Tally) -> tuple[lists.ExactMark | None, lists.Listing | None]:
    found = _listing(column)
    parts = _parts(column, found.separator if found else None)
    single = column.without({t for t in column.texts if found and found.separator in t})
    mark = lists.exact_mark(single, parts)
    cells = {text: n for text, n in column if text.startswith(_EXACT)}
    values = tuple(dict.fromkeys(text.removeprefix(_EXACT).strip(BLANKS) for text in cells))
    odd = any(not v or v.startswith(_EXACT) or missing.is_missing_code(v) for v in values)
    if mark is None and cells and not odd:
        mark = lists.ExactMark(_EXACT, sum(cells.values()), next(iter(cells)), values)
    if mark is None:
        return None, found
    plain = column.without({text for text in column.texts if text.startswith(mark.text)})
    return mark, _listing(plain, {*plain.texts, *mark.values})


def _parts(
    column: Tally, separator: str | None, mark: lists.ExactMark | None = None
) -> dict[str, int]:
    found: dict[str, int] = {}
    for text, cells in column:
        exact = mark is not None and text.startswith(mark.text)
        bare = text.removeprefix(mark.text).strip(BLANKS) if exact and mark else text
        for part in [bare] if exact else lists.split(text, separator):
            found[part] = found.get(part, 0) + cells
    return found


def _listing(column: Tally, known: Collection[str] = ()) -> lists.Listing | None:
    if found := lists.listing(column):
        return found
    cells = {*column.texts, *known}
    for sign in lists.SIGNS:
        joined = [(text, n) for text, n in column if sign in text]
        parts = [part for text, _ in joined for part in lists.split(text, sign)]
        if joined and "" not in parts and len({*parts} & cells) > len({*parts}) / 2:
            everything = tuple(dict.fromkeys([*_parts(column, sign)]))
            return lists.Listing(
                sign, everything, sum(n for _, n in joined), joined[0][0], sure=True
            )
    return lists.listing(column, lists.WORDS)
