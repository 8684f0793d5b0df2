"""Columns that name a row rather than describe it: ids, addresses of e-mail, numbers of records."""

import re
import unicodedata
from itertools import pairwise

from cfl_cli.texts import Tally, word_list

DIFFERENT = 0.995  # of the cells
NAMED_DIFFERENT = 0.95  # the same if the column's name says so
_CELLS = 20
SHAPES = {
    "UUIDs": re.compile(r"\{?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\}?", re.IGNORECASE),
    "e-mail addresses": re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+"),
    "IBANs": re.compile(r"[A-Z]{2}\d{2}(?: ?[0-9A-Z]{4}){2,7}(?: ?[0-9A-Z]{1,4})?"),
    "web addresses": re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE),
}
_NAME = re.compile(
    r"(?:^|[^a-zäöü])(?:id|ids|nr|no|num|key|code|uuid|guid|index|pk|number|nummer|rownames|row)"
    r"(?=[^a-zäöü]|$)|^unnamed|^$",
    re.IGNORECASE,
)


def id_kind(tally: Tally, *, numbers: bool, whole: bool = True) -> tuple[str, bool] | None:
    """Return why a column looks like an id, and whether that is sure; None: it does not.

    `numbers` says whether its cells are numbers, and `whole` whether all of these are whole.
    """
    by_name = is_name_of_id(tally.name)
    share = "a different value in every row"
    if len(tally) < tally.cells:
        share = f"{len(tally):,} different values in {tally.cells:,} cells"
    if numbers:
        if whole and not tally.empty and len(tally) == tally.cells > 1 and counts_up(tally):
            return "rises by 1 from row to row", True
        return (share, False) if whole and by_name and _different(tally, DIFFERENT) else None
    if (kind := shape(tally)) is not None:
        return kind, True
    sure = _different(tally, DIFFERENT)
    named = by_name and _different(tally, NAMED_DIFFERENT)
    if sure or named or 1 < len(tally) == tally.cells:
        return share, sure
    return None


def shape(tally: Tally) -> str | None:
    """Return what all cells are, if that names rows: addresses of e-mail and the like."""
    for kind, pattern in SHAPES.items():
        if len(tally) > 1 and all(map(pattern.fullmatch, tally.texts)):
            return kind
    return None


def _different(tally: Tally, share: float) -> bool:
    return tally.cells >= _CELLS and len(tally) >= share * tally.cells


def is_name_of_id(name: str) -> bool:
    """Return whether a column's name says that its cells name rows."""
    return _NAME.search(re.sub(r"(?<=[a-zäöü])(?=[A-Z])", "_", name)) is not None


def counts_up(tally: Tally) -> bool:
    """Return whether the texts are whole numbers, each one more than the one before."""
    try:
        numbers = [int(float(text)) for text in tally.texts]
    except (ValueError, OverflowError):
        return False
    return all(other - one == 1 for one, other in pairwise(numbers))


# Columns that are private by their names: what names a person, and what people keep to themselves.
#
# Names are compared word by word, without accents, with the words of `data/private.txt`.

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
DIFFERENT_PEOPLE = 0.9  # of the cells, nearly


def says_private(name: str) -> bool:
    """Return whether a column's name says that people keep its values to themselves."""
    found, stems = _words(name), tuple(word_list("private", "stems"))
    return any(word in word_list("private", "whole") or word.startswith(stems) for word in found)


def says_identifier(name: str, *, different: float) -> bool:
    """Return whether a column names rows, by its name and the share of cells that differ."""
    found, names = _words(name), word_list("private", "names")
    if names.intersection(found) or "".join(found) in names:
        return True
    people, numbers = tuple(word_list("private", "people")), word_list("private", "numbers")
    numbered = any(word.startswith(people) for word in found) and any(
        word in numbers or word.endswith("nummer") for word in found
    )
    by_row = numbered or not word_list("private", "rows").isdisjoint(found)
    return different >= DIFFERENT_PEOPLE and by_row


def _words(name: str) -> list[str]:
    plain = unicodedata.normalize("NFKD", name.replace("ł", "l").replace("ß", "ss"))
    plain = "".join(sign for sign in plain if not unicodedata.combining(sign))
    return [word.casefold() for word in _WORD.findall(plain)]
