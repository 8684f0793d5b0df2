"""What is guessed of one column: its entry in a schema, the evidence, and what stays doubtful."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from cfl_cli.core.messages import count, quote
from cfl_cli.core.quick import dataclass
from cfl_cli.texts import missing_codes
from cfl_cli.texts.spellings import misspelt
from cfl_cli.texts.tally import Tally

POINT = "a point"  # the decimal sign of numbers that are read by default too
EITHER = "either"  # of numbers that need one, whichever it is
SHOWN = 4  # codes or values that a comment names


@dataclass(frozen=True)
class Guess:
    """A column's entry in the schema, and what the user should check about it."""

    entry: Mapping[str, Any]
    notes: tuple[str, ...] = ()  # the evidence
    doubts: tuple[str, ...] = ()  # why it may be otherwise
    codes: tuple[str, ...] = ()  # missing codes, which may be those of other columns too
    own_codes: tuple[str, ...] = ()  # missing codes of this column alone
    values: frozenset[str] = field(default_factory=frozenset)  # texts that are values here
    decimal: str | None = None  # the decimal sign that its numbers need, POINT or EITHER
    private: bool = False  # by its name, so that it may have been blurred on purpose

    @property
    def comment(self) -> str:
        """Return the evidence in words, with a mark in front if there is a doubt."""
        said = "; ".join([*self.doubts, *self.notes])
        return f"? {said}" if self.doubts else said


IGNORED = {"role": "ignore"}
IDENTIFIER = {"role": "identifier"}
UNUSED = ("ignore", "identifier")  # roles of columns that play no part


def ordinary(type_: str, **keys: Any) -> dict[str, Any]:
    """Return the entry of an OF."""
    return {"role": "ordinary", "type": type_, **{k: v for k, v in keys.items() if v is not None}}


@dataclass(frozen=True)
class Look:
    """A column as it is looked at: its texts, and which of them say that a value is missing."""

    tally: Tally
    codes: tuple[str, ...]  # that are sure
    doubtful_codes: tuple[str, ...]  # that look like the other texts, or hold most cells
    rest: Tally  # the texts that are no codes

    @classmethod
    def at(cls, tally: Tally) -> "Look":
        """Look at a column."""
        found = missing_codes.codes(tally)
        doubtful = missing_codes.may_be_answers(tally, found)
        values = missing_codes.alike(tally, found)
        left = tuple(text for text in found if text not in values)
        return cls(tally, left, doubtful, tally.without({*left}))

    @property
    def name(self) -> str:
        """Return the column's name."""
        return self.tally.name

    @property
    def code_doubts(self) -> tuple[str, ...]:
        """Return what is to be said of codes that may be answers."""
        if not self.doubtful_codes:
            return ()
        return (f"is {named(self.tally, self.doubtful_codes)} missing, or an answer?",)

    @property
    def text_doubts(self) -> tuple[str, ...]:
        """Return the same of codes that may be answers in a column of texts."""
        weak = missing_codes.weak(self.codes)
        said = tuple(dict.fromkeys([*self.doubtful_codes, *weak]))
        return (f"is {named(self.tally, said)} missing, or an answer?",) if said else ()

    @property
    def code_notes(self) -> tuple[str, ...]:
        """Return what is to be said of all other codes."""
        return self._missing([text for text in self.codes if text not in self.doubtful_codes])

    @property
    def text_notes(self) -> tuple[str, ...]:
        """Return the same in a column of texts."""
        doubtful = {*self.doubtful_codes, *missing_codes.weak(self.codes)}
        return self._missing([text for text in self.codes if text not in doubtful])

    def _missing(self, sure: list[str]) -> tuple[str, ...]:
        return (f"missing: {named(self.tally, sure)}",) if sure else ()


def named(tally: Tally, texts: Sequence[str]) -> str:
    """Return texts with how many cells hold each: `'k.A.' 61, '-' 14 cells`."""
    counts = dict(tally)
    several = [f"{quote(text)} {counts[text]:,}" for text in texts[:SHOWN]]
    more = f" and {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
    cells = "cell" if len(texts) == 1 and counts[texts[0]] == 1 else "cells"
    return f"{', '.join(several)}{more} {cells}"


def alike(tally: Tally) -> str | None:
    """Return values that are spelled in several ways, if there are: `'Nike' 40, 'nike' 3`."""
    spelled: dict[str, list[str]] = {}
    for text in tally.texts:
        spelled.setdefault(" ".join(text.casefold().split()), []).append(text)
    several = [texts for texts in spelled.values() if len(texts) > 1]
    if not several:
        return None
    more = f", and {count(len(several) - 1, 'other value')} so" if len(several) > 1 else ""
    return f"one value in several spellings? {named(tally, several[0])}{more}"


def slips(counts: Mapping[str, int], cells: int) -> tuple[str, ...]:
    """Return a word about values that may be others misspelt, if there are."""
    found = list(misspelt(counts, cells).items())
    if not found:
        return ()
    rare, frequent = found[0]
    more = f", and {count(len(found) - 1, 'other value')} so" if len(found) > 1 else ""
    cells_ = count(counts[rare], "cell")
    return (f"{quote(rare)} ({cells_}) may be {quote(frequent)} misspelt{more}",)
