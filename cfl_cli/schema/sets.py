"""Texts that mean several values of a domain: ancestors, old codes, ranges and prefixes.

    hierarchy: {rodent: [mouse, rat], …}     an ancestor means any value below it
    codes:     {A10: [B1, B2], …}            an old code means the new codes that it became
    ordered:   30-40, <5, 65+                a range means the values from one end to the other
    bins:      [0, 18, 30, 65]               a number or a range means the bins that it meets
    prefix     62*                           the values that begin so

A hierarchy or a table of codes may be a file. Hierarchies are written as ARX writes them, a line for
each value with its ancestors behind it; tables of codes have a header and two columns, old and new.
"""

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from cfl_cli.core.messages import did_you_mean, quote
from cfl_cli.texts import BLANKS

Sets = dict[str, tuple[str, ...]]
_DELIMITERS = ";,\t|"
_LARGEST = 16 * 2**20  # bytes of a file


def _lines(path: Path) -> list[list[str]]:
    """Return the fields of a text file's lines, without empty lines; raise ValueError or OSError."""
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"the file is larger than {_LARGEST // 2**20} MB")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("the file is not UTF-8: save it as UTF-8") from None
    first = text.split("\n", 1)[0]
    delimiter = max(_DELIMITERS, key=first.count)
    found = csv.reader(text.splitlines(), delimiter=delimiter)
    lines = [[field.strip(BLANKS) for field in line] for line in found]
    return [line for line in lines if any(line)]


def read_hierarchy(path: Path) -> tuple[Sets, tuple[str, ...]]:
    """Return what the ancestors in a file mean, and the values, both in the order of the file."""
    lines = _lines(path)
    leaves: dict[str, None] = {}
    for number, (leaf, *_) in enumerate(lines, start=1):
        if not leaf:
            raise ValueError(f"line {number} has no value in its first column")
        if leaf in leaves:
            raise ValueError(f"line {number} lists {quote(leaf)} a second time")
        leaves[leaf] = None
    levels = range(1, max(map(len, lines), default=1))
    sets: dict[str, dict[str, None]] = {}
    for level in levels:
        for leaf, *ancestors in lines:
            name = ancestors[level - 1] if level <= len(ancestors) else ""
            if name in leaves and name != leaf:
                raise ValueError(f"{quote(name)} is a value and the ancestor of another one")
            if name and name != leaf:
                sets.setdefault(name, {})[leaf] = None
    return {name: tuple(some) for name, some in sets.items()}, tuple(leaves)


def read_codes(path: Path, values: Sequence[str] | None) -> tuple[Sets, tuple[str, ...]]:
    """Return what the old codes in a file mean, and the new codes, both in the order of the file."""
    lines = _lines(path)
    for number, line in enumerate(lines, start=1):
        if len(line) < 2 or not all(line[:2]):
            raise ValueError(f"line {number} has no two codes: write the old and the new one")
        if any(line[2:]):
            raise ValueError(
                f"line {number} has {len(line)} columns: keep two, the old code and the new one"
            )
    headed = not (values and lines and lines[0][1] in values)
    if headed and (same := {*lines[0][:2]} & {code for line in lines[1:] for code in line[:2]}):
        code = next(code for code in lines[0] if code in same)
        raise ValueError(f"line 1 is no header, as {quote(code)} is also a code: put one above it")
    sets: dict[str, dict[str, None]] = {}
    for old, new, *_ in lines[1 if headed else 0 :]:
        sets.setdefault(old, {})[new] = None
    return (
        {old: tuple(new) for old, new in sets.items()},
        tuple(dict.fromkeys(new for some in sets.values() for new in some)),
    )


def from_file(
    key: str, name: str, folder: str | None, values: Sequence[str] | None
) -> tuple[Sets, tuple[str, ...]]:
    """Return the sets and values of a file, or raise ValueError with what is wrong with it."""
    path = Path(folder or "") / Path(name).expanduser()
    try:
        found = read_hierarchy(path) if key == "hierarchy" else read_codes(path, values)
    except OSError as error:
        raise ValueError(f"cannot read {quote(name)}: {error.strerror or error}") from None
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{quote(name)}: {error}") from None
    if not found[0]:
        raise ValueError(
            f"{quote(name)}: the file lists no {'ancestors' if key == 'hierarchy' else 'codes'}"
        )
    return found


def set_problems(
    sets: Mapping[str, Sequence[str]], values: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield the name of a set, and what is wrong with it."""
    for name, some in sets.items():
        if not some:
            yield name, "expected values, found an empty list"
        for value in some:
            if value not in values:
                yield name, f"{quote(value)} is not one of the values{did_you_mean(value, values)}"


def ancestors_problem(sets: Mapping[str, Sequence[str]]) -> str | None:
    """Return why sets are no hierarchy, if they are none: two overlap, and none lies in the other."""
    seen: list[tuple[str, frozenset[str]]] = []
    of_value: dict[str, list[int]] = {}
    for name, some in sets.items():
        own = frozenset(some)
        for place in sorted({place for value in own for place in of_value.get(value, [])}):
            other, others = seen[place]
            if not (own <= others or others <= own):
                shared = next(value for value in seen[place][1] if value in own)
                return (
                    f"{quote(other)} and {quote(name)} share {quote(shared)}, but neither contains the "
                    "other: a value has one ancestor on each level; for codes that "
                    "overlap, use `codes`"
                )
        for value in own:
            of_value.setdefault(value, []).append(len(seen))
        seen.append((name, own))
    return None


def names_of(bins: Sequence[float]) -> tuple[str, ...]:
    """Return the values that the edges of bins make: `0-18`, `18-30`."""
    return tuple(f"{low:g}-{high:g}" for low, high in pairwise(bins))


_NUMBER = r"[-+]?\d+(?:\.\d+)?"
_BELOW = re.compile(rf"(<=|≤|<)\s*({_NUMBER})")
_ABOVE = re.compile(rf"(>=|≥|>)\s*({_NUMBER})|({_NUMBER})\s*\+")
_BETWEEN = re.compile(rf"({_NUMBER})\s*(?:-|–|—|\.\.|to)\s*({_NUMBER})")
_INTERVAL = re.compile(rf"([\[(\]])\s*({_NUMBER})\s*[,;]\s*({_NUMBER})\s*([\])\[])")
_DASHES = ("-", "–", "—", "..", " to ")


@dataclass(frozen=True)
class _Range:
    low: float
    high: float
    with_low: bool = True
    with_high: bool = True

    @classmethod
    def read(cls, text: str) -> "_Range | None":
        if found := _BETWEEN.fullmatch(text):
            return cls(float(found[1]), float(found[2]))
        if found := _INTERVAL.fullmatch(text):
            return cls(float(found[2]), float(found[3]), found[1] == "[", found[4] == "]")
        if found := _BELOW.fullmatch(text):
            return cls(-math.inf, float(found[2]), with_high=found[1] != "<")
        if found := _ABOVE.fullmatch(text):
            return cls(float(found[2] or found[3]), math.inf, with_low=found[1] != ">")
        if re.fullmatch(_NUMBER, text):
            return cls(float(text), float(text))
        return None

    def holds(self, number: float) -> bool:
        above = number >= self.low if self.with_low else number > self.low
        return above and (number <= self.high if self.with_high else number < self.high)

    def meets(self, low: float, high: float, *, last: bool) -> bool:
        """Return whether it shares numbers with a bin from `low` up to `high`, which the last has."""
        if self.low == self.high:
            return low <= self.low and (self.low < high or (last and self.low == high))
        return self.low < high and low < self.high


@dataclass(frozen=True)
class Notation:
    """How the cells of one CF may mean several values at once."""

    values: Sequence[str]
    sets: Mapping[str, Sequence[str]]
    ordered: bool = False
    bins: tuple[float, ...] | None = None
    prefixes: bool = False
    ignore_case: bool = False

    def meaning(self, text: str) -> tuple[str, ...]:
        """Return the values that a text means, none if it is no such text."""
        text = text.strip(BLANKS)
        if text in self.sets:
            return tuple(self.sets[text])
        if self.ignore_case and text.casefold() in self._folded:
            return tuple(self.sets[self._folded[text.casefold()]])
        if self.bins is not None:
            own = _Range.read(text)
            ends = list(pairwise(self.bins))
            return tuple(
                value
                for place, (value, (low, high)) in enumerate(zip(self.values, ends, strict=True))
                if own is not None and own.meets(low, high, last=place == len(ends) - 1)
            )
        if self.ordered and (found := self._between(text)):
            return found
        if self.prefixes and len(text) > 1 and text.endswith("*"):
            return tuple(value for value in self.values if value.startswith(text[:-1]))
        return ()

    @cached_property
    def _folded(self) -> dict[str, str]:
        return {name.casefold(): name for name in self.sets}

    @cached_property
    def _numbers(self) -> list[float] | None:
        if not all(re.fullmatch(_NUMBER, value) for value in self.values):
            return None
        return [float(value) for value in self.values]

    def _between(self, text: str) -> tuple[str, ...]:
        if self._numbers is not None:
            own = _Range.read(text)
            if own is None or own.low == own.high:
                return ()
            pairs = zip(self.values, self._numbers, strict=True)
            return tuple(value for value, number in pairs if own.holds(number))
        place = {value: at for at, value in enumerate(self.values)}
        for sign, of in (("<=", 1), ("≤", 1), ("<", 0)):
            if text.startswith(sign) and (value := text[len(sign) :].strip(BLANKS)) in place:
                return tuple(self.values[: place[value] + of])
        for sign, of in ((">=", 0), ("≥", 0), (">", 1)):
            if text.startswith(sign) and (value := text[len(sign) :].strip(BLANKS)) in place:
                return tuple(self.values[place[value] + of :])
        if text.endswith("+") and (value := text[:-1].strip(BLANKS)) in place:
            return tuple(self.values[place[value] :])
        for dash in _DASHES:
            for at in (found.start() for found in re.finditer(re.escape(dash), text)):
                one, other = text[:at].strip(BLANKS), text[at + len(dash) :].strip(BLANKS)
                if one in place and other in place and place[one] <= place[other]:
                    return tuple(self.values[place[one] : place[other] + 1])
        return ()
