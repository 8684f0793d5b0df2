"""Which of a column's values a text means, if it is not exactly one of them.

It is, in this order, the value that it equals; that it equals without outer blanks; that it equals
as a whole number, as 1.0 is 1; or, if the values are a known pair such as no and yes, the one that
is surely as true. What would fit two values alike fits none.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property

from cfl_cli.texts.booleans import is_pair, means
from cfl_cli.texts.tally import BLANKS

WHOLE = re.compile(r"([+-]?[0-9]+|.*:[0-9]{2})\.0+")  # a time without a fraction, too


class Matcher:
    """Finds the places of texts among values."""

    def __init__(self, values: Sequence[str]) -> None:
        self.values = values
        self.exact = {value: place for place, value in enumerate(values)}

    def place(self, text: str) -> int:
        """Return the place of the value that a text means, −1 if it is none."""
        place = self.exact.get(text)
        return self._near(text) if place is None else place

    def __call__(self, text: str) -> str:
        """Return the value that a text means, or the text itself if it is none."""
        place = self.place(text)
        return text if place < 0 else self.values[place]

    def _near(self, text: str) -> int:
        bare = text.strip(BLANKS)
        for found in (self._bare.get(bare), self._whole.get(whole(bare))):
            if found is not None:
                return found
        said = means(bare, self.values) if self._are_pair else None
        return -1 if said is None else self.exact[said]

    @cached_property
    def _bare(self) -> dict[str, int]:
        return _unique(value.strip(BLANKS) for value in self.values)

    @cached_property
    def _whole(self) -> dict[str, int]:
        return _unique(whole(value.strip(BLANKS)) for value in self.values)

    @cached_property
    def _are_pair(self) -> bool:
        return is_pair(self.values)


def whole(text: str) -> str:
    """Return a text without the zeros behind the point of a whole number."""
    found = WHOLE.fullmatch(text)
    return found[1] if found else text


def _unique(texts: Iterable[str]) -> dict[str, int]:
    """Return the places of texts that occur once."""
    listed = list(texts)
    counts: dict[str, int] = {}
    for text in listed:
        counts[text] = counts.get(text, 0) + 1
    return {text: place for place, text in enumerate(listed) if counts[text] == 1}
