"""What an ordinary column holds: the first of the kinds below that explains all its cells."""

import re
from collections.abc import Callable

from cfl_cli.core.messages import count, quote
from cfl_cli.core.wording import option
from cfl_cli.schema.category_guess import CATEGORIES, category, steps
from cfl_cli.schema.context import Context
from cfl_cli.schema.guess import IGNORED, Guess, Look, named, ordinary
from cfl_cli.schema.number_guess import fitting, misfits, numbers
from cfl_cli.schema.pair_guess import constant, two, two_notes
from cfl_cli.texts import (
    bands,
    date_formats,
    degrees,
    ids,
    list_literals,
    lists,
    missing_codes,
    negations,
    scales,
)
from cfl_cli.texts.number_readings import is_number, is_zero_padded, readings
from cfl_cli.texts.tally import Tally

NEARLY = 0.8  # share of texts that are numbers, so that the others are worth a word
SEVERAL = 5  # texts that may be otherwise in a short column
RARE = 0.5  # of its even share of the cells: so few hold a text that is no step of a scale
STEPS = 4  # of a scale that leave one other text
PARTS = range(3, 41)  # of a list that looks like exclusions
CLOCK = re.compile(r"[0-2]?\d:[0-5]\d(?::[0-5]\d)?(?:\s*[AaPp]\.?[Mm]\.?)?")
COMPACT_DATE = re.compile(
    r"\d{8}|(?:0[1-9]|1[0-2])\.(?:19|20)\d\d|(?:19|20)\d\d\.(?:0[1-9]|1[0-2])"
)
FIRST_DAYS = re.compile(
    r"0?1\D0?1\D(?:1900|1901|1970)(?:\D.*)?|(?:1900|1901|1970)\D0?1\D0?1(?:\D.*)?"
)
OFTEN = 5  # times as many cells as a usual date has, so that a date may be a code
LAST_DAYS = re.compile(r"(?:9999|2999|2099|1900|1899|0000|0001|1111|31\D12\D9999|0?1\D0?1\D1900).*")


def guess(look: Look, context: Context) -> Guess:
    """Return what an ordinary column holds."""
    for kind in _KINDS:
        found = kind(look, context)
        if found is not None:
            return found
    return _texts(look)


def _dates(look: Look, context: Context) -> Guess | None:
    column = look.rest
    others: tuple[str, ...] = ()
    found = date_formats.formats(column)
    doubts: tuple[str, ...] = ()
    if not found:
        others = misfits(column) or _last_days(column)
        column = column.without({*others})
        found = date_formats.formats(column) if others else ()
        if not found or len(column) < 2:
            return None
        doubts = (fitting(look.rest, others, "dates"),)
    doubts += _first_days(column)
    format_, sure = context.format(found)
    if format_ in (date_formats.COMPACT, "%m.%Y", "%Y.%m") and not _says_date(look.name):
        doubts += ("numbers that can be read as dates",)
    if not sure:
        doubts += (f"day or month first? nothing shows it: {found[0]} or {found[-1]}",)
    if date_formats.has_short_year(format_):
        doubts += ("years of two digits: 69 to 99 are read as 19.., the others as 20..",)
    notes = (f"dates like {quote(column.texts[0])}",) if format_ else ()
    return Guess(
        ordinary("date", format=format_),
        (*notes, *look.code_notes),
        (*doubts, *look.code_doubts),
        look.codes,
        others,
        frozenset(column.texts),
    )


def _last_days(column: Tally) -> tuple[str, ...]:
    """Return dates that stand for "open" or "unknown", such as 9999-12-31."""
    odd = tuple(text for text in column.texts if LAST_DAYS.fullmatch(text))
    return odd if 0 < len(odd) <= 2 and len(odd) < len(column) else ()


def _first_days(column: Tally) -> tuple[str, ...]:
    """Return a word about the first day of a calendar, if it is far commoner than other dates."""
    odd = [text for text in column.texts if FIRST_DAYS.fullmatch(text)]
    usual = sorted(column.counts)[len(column) // 2]
    counts = dict(column)
    often = [text for text in odd if counts[text] >= max(SEVERAL, OFTEN * usual)]
    return (f"is {named(column, often)} a date, or a code?",) if often else ()


def _nearly_dates(look: Look, _: Context) -> Guess | None:
    """Return the guess about dates, some of which have another format or are none."""
    column = look.rest
    if date_formats.two_orders(column):
        return None
    found = date_formats.nearly(column)
    if found is None:
        return None
    shown = [f"{len(texts):,} like {quote(texts[0])}" for texts in found.by_format.values()]
    formats = [date_formats.shown(format_) for format_ in found.by_format]
    if len(formats) > 1:
        said = f"dates in two formats, {' and '.join(shown)}: write all alike"
        other = f"; {named(column, found.others)}: no such date" if found.others else ""
        return Guess(IGNORED, doubts=(f"{said}, then {formats[0]} or {formats[1]}{other}",))
    dates = f"{shown[0].split(' ')[0]} of {len(column):,} different texts are dates"
    example = next(iter(found.by_format.values()))[0]
    is_not = "is not: correct it" if len(found.others) == 1 else "are not: correct them"
    others = named(column, found.others)
    said = f"{dates} like {quote(example)}; {others} {is_not}, then {formats[0]}"
    return Guess(IGNORED, doubts=(said,))


def _says_date(name: str) -> bool:
    return (
        re.search(r"dat[eum]|fecha|tag|day|jour|día|dzie|giorno|birth|geb", name, re.IGNORECASE)
        is not None
    )


def _compact_dates(look: Look, context: Context) -> Guess | None:
    first = look.rest.texts[0]
    return _dates(look, context) if COMPACT_DATE.fullmatch(first) else None


def _ordered(look: Look, _: Context) -> Guess | None:
    column = look.rest
    own: tuple[str, ...] = ()
    found = scales.scale(column)
    if found is None:
        own = missing_codes.doubtful(column) if len(column) <= CATEGORIES else ()
        own = own or _no_rung(column)
        column = column.without({*own})
        found = scales.scale(column) if own else None
    if found is None or (found.doubt and len(column) == column.cells):
        return None  # numbers that differ in every row are an id
    doubts: tuple[str, ...] = (found.doubt,) if found.doubt else ()
    if own:
        doubts += (f"{named(look.rest, own)}: missing?",)
    if said := missing_codes.no_opinion(look.codes):
        doubts += (f"{named(look.tally, said)}: missing, or a rung?",)
    return Guess(
        ordinary("ordered", values=list(found.values)),
        (found.kind, *look.code_notes),
        doubts,
        look.codes,
        own,
        frozenset(found.values),
    )


def _no_rung(column: Tally) -> tuple[str, ...]:
    """Return the one text that is no step of the scale that all others are on, if it is rare."""
    found = degrees.levels(column.texts)
    if len(found) < max(STEPS, len(column) - 1):
        return ()
    others = tuple(text for text in column.texts if text not in found)
    cells = sum(n for text, n in column if text in others)
    rare = cells * len(column) <= RARE * column.cells
    return others if len(others) == 1 and rare else ()


def _bounded(look: Look, _: Context) -> Guess | None:
    """Return the guess about numbers some of which are bounds, such as <5."""
    column = look.rest
    bounds = [text for text in column.texts if bands.bound(text)]
    if not bounds or len(bounds) > (1 - NEARLY) * len(column) + SEVERAL:
        return None
    left = column.without({*bounds})
    if len(left) < 2 or not (readings(left) or readings(left.without({*misfits(left)}))):
        return None
    counts = dict(column)
    cells = count(sum(counts[text] for text in bounds), "cell")
    said = f"{cells} like {quote(bounds[0])} are bounds: replace them by a number"
    if len(column) > CATEGORIES:
        return Guess(IGNORED, doubts=(f"{said}, then type: numeric",))
    return category(look, f"{said}, or list all values in order as type: ordered")


def _list(look: Look, _: Context) -> Guess | None:
    column = look.rest
    if list_literals.hold_lists(column):
        way = option("cf", look.name, pasted=True)
        example = quote(column.texts[0])
        said = f"lists such as {example}: if they say what it is not run with {way}"
        return Guess(IGNORED, doubts=(said,))
    found = lists.listing(column)
    if found is None:
        return None
    cells = f"{count(found.joined, 'cell')} like {quote(found.example)}"
    doubt = (
        f"{cells} hold several of {len(found.parts)} values, separated by {quote(found.separator)}"
    )
    if len(found.parts) in PARTS:
        doubt += f"; if they say what it is not run with {option('cf', look.name, pasted=True)}"
    return category(look, doubt)


def _id(look: Look, _: Context) -> Guess | None:
    found = ids.id_kind(look.rest, numbers=False)
    if found is None:
        return None
    why, sure = found
    said = why if why in ids.SHAPES else f"{why}: an id?"
    return Guess(IGNORED, (said,) if sure else (), () if sure else (said,))


def _odd(look: Look, _: Context) -> Guess | None:
    """Return the guess about texts that are almost of a kind, or say what a value is not."""
    for doubt in (_negated, _two_orders, _almost_numbers):
        if said := doubt(look.rest):
            return category(look, said)
    if all(map(CLOCK.fullmatch, look.rest.texts)):
        return Guess(IGNORED, doubts=(f"times of day like {quote(look.rest.texts[0])}",))
    return None


_KINDS: tuple[Callable[[Look, Context], Guess | None], ...] = (
    constant,
    two_notes,
    two,
    _compact_dates,
    numbers,
    _dates,
    _nearly_dates,
    _ordered,
    _bounded,
    _list,
    _odd,
    _id,
)


def _texts(look: Look) -> Guess:
    """Return what a column of other texts is: categories, names or notes."""
    if negations.is_name_of_exclusions(look.name):
        way = option("cf", look.name, pasted=True)
        said = f"looks complementary by its name: if so run with {way}"
        return category(look, said)
    padded = is_zero_padded(look.rest.texts)
    if not padded and (order := steps(look.rest)):
        return category(look, order)
    return category(look, None, "codes with leading zeros" if padded else "")


def _negated(column: Tally) -> str | None:
    cell = negations.negated(column)
    way = option("cf", column.name, pasted=True)
    return cell and f"looks complementary: cells like {quote(cell)}; run with {way}"


def _two_orders(column: Tally) -> str | None:
    rows = date_formats.two_orders(column)
    if rows is None:
        return None
    texts = dict(zip(column.rows, column.texts, strict=True))
    return f"dates in two orders ({', '.join(f'row {row}: {texts[row]}' for row in rows)})"


def _almost_numbers(column: Tally) -> str | None:
    """Return a word about texts that keep a column from being one of numbers."""
    if is_zero_padded(column.texts):
        return None
    odd: list[str] = []
    for text in column.texts:
        if not is_number(text):
            odd.append(text)
        if len(odd) > (1 - NEARLY) * len(column) + SEVERAL:
            return None
    if odd and len(odd) <= (1 - NEARLY) * len(column):
        fits = f"{len(column) - len(odd):,} of {len(column):,} different texts are numbers"
        return f"{fits}, and {named(column, odd)} are not"
    if not odd:
        return f"numbers that are written in several ways, such as {quote(column.texts[0])}"
    return None
