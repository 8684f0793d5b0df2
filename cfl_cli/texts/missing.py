"""Texts that people write where a value is missing: `k.A.`, `n/a`, `-`, `#N/A`."""

import re
from collections.abc import Iterator, Sequence

from cfl_cli.texts.tally import Tally, word_list

_BEHIND_DOT = re.compile(r"(?<=\.)\s+")
_BLANKS = re.compile(r"\s+")
SIGNS = re.compile(r"[-–−]{1,3}|\+{1,3}|0|o|±|\+/[-–−]|[-–−]/\+|\*+", re.IGNORECASE)  # of a scale
LONGEST = 40  # signs of a code, with its blanks
MOSTLY = 0.6  # a code that holds more than this share of the cells may be an answer


def is_missing_code(text: str, kind: str = "sure") -> bool:
    """Return whether a text is a missing code of a kind, a heading of `data/missing.txt`."""
    text = _BEHIND_DOT.sub("", _BLANKS.sub(" ", text.strip().casefold()))
    return (text.rstrip(".") or text) in word_list("missing", kind, "|")


def codes_of(found: Sequence[str], kind: str) -> tuple[str, ...]:
    return tuple(text for text in found if is_missing_code(text, kind))


def missing_codes(tally: Tally, kind: str = "sure") -> tuple[str, ...]:
    """Return the texts of a column that are missing codes, the commonest first."""

    def found() -> Iterator[tuple[int, str]]:
        for text, count in tally:
            short = len(text) <= LONGEST and not text[0].isdigit() and not text[-1].isdigit()
            if short and is_missing_code(text, kind):
                yield -count, text

    return tuple(text for _, text in sorted(found()))


def may_be_answers(tally: Tally, found: tuple[str, ...]) -> tuple[str, ...]:
    """Return the codes among `found` that look like the other texts, or hold most cells.

    `NA` among two capitals is Namibia, `-` among single signs is one of them.
    """
    if len(tally) > 2 and _are_signs(tally.without({*found}).texts):
        return ()
    counts, most = dict(tally), MOSTLY * (tally.cells + tally.empty)
    same = _same_shape(tally, found)
    return tuple(text for text in found if text in same or counts[text] > most)


def rather_values(tally: Tally, found: tuple[str, ...]) -> tuple[str, ...]:
    """Return the codes among `found` that are values rather: `-` beside `+`, ND beside NY and TX.

    `NA` is not among them, since programs write it.
    """
    if len(tally) > 2 and _are_signs(tally.without({*found}).texts):  # from -- to ++
        return tuple(text for text in found if SIGNS.fullmatch(text))
    return tuple(text for text in _same_shape(tally, found) if text.strip(". ").casefold() != "na")


def _are_signs(texts: Sequence[str]) -> bool:
    ranked = any("+" in text or "**" in text for text in texts)
    return ranked and all(map(SIGNS.fullmatch, texts))


def _same_shape(tally: Tally, found: tuple[str, ...]) -> tuple[str, ...]:
    shapes = {_shape(text) for text in tally.without({*found}).texts} if found else set()
    return tuple(text for text in found if shapes == {_shape(text)})


def _shape(text: str) -> str:
    if len(text) == 1 and not text.isalnum():
        return "a sign"
    if 2 <= len(text) <= 3 and text.isalpha():
        return f"{len(text)} {'capitals' if text.isupper() else 'letters'}"
    return text
