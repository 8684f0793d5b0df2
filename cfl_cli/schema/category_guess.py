"""What a column of a few texts is: categories, with a word about what else they may be."""

from collections.abc import Sequence

from cfl_cli.schema.guess import IGNORED, Guess, Look, alike, named, ordinary, slips
from cfl_cli.texts import degrees, missing_codes, scales
from cfl_cli.texts.tally import Tally

CATEGORIES = 50  # more different texts than this look like names or notes
WORDS = 4  # by the mean, in a note
DIFFERENT = 0.5  # share of different texts in names and notes
PARTLY = 0.6  # share of texts that are known steps, so that all may be
ALIKE = 4  # texts that show how they are written


def category(look: Look, doubt: str | None, note: str = "") -> Guess:
    """Return the guess about categories, or about names and notes if they are many."""
    column = look.rest
    different = len(column)
    doubts: tuple[str, ...] = (doubt,) if doubt else ()
    said = f"{different:,} different texts"
    if different > CATEGORIES:
        length = sum(len(text.split()) * n for text, n in column) / column.cells
        is_note = length >= WORDS or different > DIFFERENT * column.cells
        what = "a note?" if is_note else "a name or a note?"
        return Guess(IGNORED, (note,) if note else (), (*doubts, f"{said}: {what}"))
    if spelled := alike(column):
        doubts += (spelled,)
    doubts += slips(dict(column), column.cells)
    doubts += answers(column, missing_codes.doubtful(column) or written_otherwise(column))
    notes = (f"{different} values", *((note,) if note else ()), *look.text_notes)
    return Guess(
        ordinary("categorical"),
        notes,
        (*doubts, *look.text_doubts),
        look.codes,
        values=frozenset(column.texts),
    )


def answers(column: Tally, words: Sequence[str]) -> tuple[str, ...]:
    """Return a word about texts that may be missing codes, if there are."""
    return (f"is {named(column, words)} an answer, or missing?",) if words else ()


def steps(column: Tally) -> str | None:
    """Return a word about texts that may be steps of a scale."""
    found = degrees.levels(column.texts)
    partly = len({*found.values()}) > 1 and len(found) >= PARTLY * len(column)
    if (not partly and not degrees.shared_words(column.texts)) or scales.are_weekdays(column.texts):
        return None
    return "have they an order? then type: ordered, with values: from lowest to highest"


def written_otherwise(column: Tally) -> tuple[str, ...]:
    """Return the one text that is written otherwise than all others: small, or in brackets."""
    if len(column) < ALIKE:
        return ()
    for style in (lambda text: text[0].isupper(), lambda text: text[0] not in "([<{"):
        odd = tuple(text for text in column.texts if not style(text))
        if len(odd) == 1 and (odd[0][0].isalpha() or odd[0][0] in "([<{"):
            return odd
    return ()
