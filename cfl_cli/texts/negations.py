"""Columns that look complementary: cells like `not flu`, names like `excluded`."""

import re

from cfl_cli.texts.tally import Tally

SHARE = 0.8  # of the cells that begin so, at least
_BEGINNING = re.compile(
    r"(?:not|no|non|kein|keine|keinen|nicht|pas de|pas|sin|geen|niet|nie|não|sem|senza|excluded:?"
    r"|excluding|ruled out:?|rules out|except|ausgeschlossen:?|exclu:?|excluido:?|excluído:?"
    r"|escluso:?|uitgesloten:?|wykluczono:?)\s+\S|(?:≠|!=|!|¬|<>)\s*\S",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"(?:^|[^a-z])(?:not|isnt|excluded?|excludes|exclusions?|ruled_?out|rules_?out|cannot_?be"
    r"|ausgeschlossen\w*|ausschluss|nicht|kein\w*|exclus?|excluid[oa]s?|exclu[ií]d[oa]s?|esclus[oi]"
    r"|uitgesloten|wyklucz\w*|except|impossible|unmöglich)(?=[^a-z]|$)",
    re.IGNORECASE,
)


def negated(tally: Tally) -> str | None:
    """Return the first cell that says what a value is not, if most cells do."""
    if len(tally) < 2:
        return None
    found, others, most = [], 0, (1 - SHARE) * tally.cells
    for text, count in tally:
        if _BEGINNING.match(text):
            found.append(text)
        else:
            others += count
            if others > most:
                return None
    return found[0] if len(found) > 1 else None


def without_not(text: str) -> str | None:
    """Return what a text says that it is not, None if it does not begin so."""
    match = _BEGINNING.match(text)
    return None if match is None else text[match.end() - 1 :]


def is_name_of_exclusions(name: str) -> bool:
    """Return whether a column's name says that its cells say what a value is not."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return _NAME.search(spaced) is not None
