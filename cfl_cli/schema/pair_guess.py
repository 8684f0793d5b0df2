"""Whether a column holds one text, or two: yes and no, however they are written."""

from collections.abc import Sequence

from cfl_cli.core.messages import count, quote
from cfl_cli.schema.category_guess import answers, category
from cfl_cli.schema.context import Context
from cfl_cli.schema.guess import IGNORED, Guess, Look, alike, named, ordinary
from cfl_cli.texts import booleans, missing_codes, scales
from cfl_cli.texts.tally import Tally

SPELLINGS = 12  # of yes and no, at most
RARE = 0.2  # share of cells that a word beside yes and no may hold and be missing
SENTINELS = frozenset({"9", "99", "999", "-9", "-99", "-999", "98", "88", "77"})


def constant(look: Look, _: Context) -> Guess | None:
    """Return the guess about a column that holds one text at most."""
    if len(look.rest) > 1:
        return None
    if not len(look.rest):
        return Guess(IGNORED, ("every cell is missing",))
    text, cells = next(iter(look.rest))
    if len(look.codes) == 1 and (look.codes == ("-",) or missing_codes.weak(look.codes)):
        pair = sorted([text, *look.codes])
        doubt = f"is {named(look.tally, look.codes)} missing, or an answer?"
        return Guess(ordinary("binary", values=pair), doubts=(doubt,), values=frozenset(pair))
    empty = look.tally.empty
    if empty and booleans.is_sure(text) and booleans.truth(text):
        beside = (
            f"{quote(text)} in {count(cells, 'cell')}, nothing in {empty:,}: does that mean no?"
        )
        if text[0].isdigit():  # columns of numbers have no empty text
            return Guess(IGNORED, doubts=(beside,))
        return Guess(
            ordinary("binary", values=["", text]),
            look.text_notes,
            (beside,),
            look.codes,
            values=frozenset({text}),
        )
    return Guess(IGNORED, ("the same in every row",))


def two_notes(look: Look, _: Context) -> Guess | None:
    """Return the guess about two texts of several words in fewer than half of the cells."""
    column = look.rest
    several = len(column) == 2 and all(len(text.split()) > 1 for text in column.texts)
    if not several or booleans.is_pair(column.texts) or column.cells >= column.empty:
        return None
    return Guess(IGNORED, doubts=("two texts of several words, in few cells: notes?",))


def two(look: Look, _: Context) -> Guess | None:
    """Return the guess about two texts, each perhaps in several spellings."""
    column = look.rest
    own: tuple[str, ...] = ()
    if len(column) > SPELLINGS:
        return None
    if len(column) > 2 and (said := _two_and_more(look)):
        return said
    if len(column) == 3 and not booleans.are_truths(column.texts):
        own = tuple(text for text in column.texts if text in SENTINELS)
        column = column.without({*own})
        if set(column.texts) not in ({"0", "1"}, {"1", "2"}):
            return None
    if not booleans.are_truths(column.texts) and len(column) != 2:
        return None
    if len({text.casefold() for text in column.texts}) == 1:
        return Guess(IGNORED, doubts=(alike(column) or "",))
    values = _pair(column)
    words = () if booleans.is_pair(values) else missing_codes.doubtful(column)
    doubts = answers(column, words) or _lone_answer(values)
    if own:
        doubts += (f"{named(look.rest, own)}: missing?",)
    return Guess(
        ordinary("binary", values=values),
        look.text_notes,
        (*doubts, *look.text_doubts),
        look.codes,
        own,
        frozenset(column.texts),
    )


def _two_and_more(look: Look) -> Guess | None:
    """Return the guess about yes and no with one or two other words."""
    column = look.rest
    beside = booleans.and_others(column.texts)
    if not beside or len(beside) == len(column) or len(beside) > 2 or scales.scale(column):
        return None
    cells = sum(n for text, n in column if text in beside)
    doubt = f"{named(column, beside)} beside yes and no: missing?"
    rare = cells <= RARE * column.cells or all(map(missing_codes.is_doubtful, beside))
    if len({text.casefold() for text in beside}) > 1 or not rare:
        return category(look, f"{doubt} then type: binary")
    values = _pair(column.without({*beside}))
    return Guess(
        ordinary("binary", values=values),
        look.text_notes,
        (doubt, *look.text_doubts),
        look.codes,
        beside,
        frozenset(values),
    )


def _lone_answer(values: Sequence[str]) -> tuple[str, ...]:
    """Return a word about yes or no beside a text that is not the other of the two."""
    words = [text for text in values if len(text) > 1 and booleans.is_sure(text)]
    if booleans.is_pair(values) or len(words) != 1 or words[0][0].isdigit():
        return ()
    other = next(text for text in values if text != words[0])
    return (f"is {quote(other)} an answer beside {quote(words[0])}, or missing?",)


def _pair(column: Tally) -> list[str]:
    """Return the two values, false first if they are yes and no, each in its commonest spelling."""
    if not booleans.are_truths(column.texts):
        return sorted(column.texts)
    best: dict[bool, tuple[int, str]] = {}
    for text, cells in column:
        said = bool(booleans.truth(text))
        best[said] = max(best.get(said, (0, "")), (cells, text))
    return [best[False][1], best[True][1]]
