"""What a file's columns say about each other: its decimal sign, and whether days come first."""

from functools import cached_property

from cfl_cli.core.quick import dataclass
from cfl_cli.texts.date_formats import COMPACT, formats
from cfl_cli.texts.number_readings import Reading, readings
from cfl_cli.texts.tally import Tally


@dataclass(frozen=True)
class Context:
    """The columns of a file; what they show is looked for when one of them leaves a doubt."""

    columns: tuple[Tally, ...] = ()
    semicolons: bool = False  # do semicolons separate the cells?

    @cached_property
    def decimals(self) -> frozenset[str]:
        """Return the decimal signs that columns surely have."""
        found = ((readings(column), column) for column in self.columns)
        signs = (_sign(one[0], column) for one, column in found if len(one) == 1)
        return frozenset(sign for sign in signs if sign)

    @cached_property
    def day_first(self) -> frozenset[bool]:
        """Return the orders that dates surely have."""
        found = (formats(column) for column in self.columns)
        sure = (one[0] for one in found if len(one) == 1)
        return frozenset(
            format_.find("%d") < format_.find("%m")
            for format_ in sure
            if format_ and "%m" in format_ and format_ != COMPACT
        )

    def reading(self, found: tuple[Reading, ...]) -> tuple[Reading, bool]:
        """Return the likelier reading of numbers, and whether it is sure."""
        if len(found) == 1:
            return found[0], True
        by_sign = {one.decimal or ".": one for one in found}
        if len(self.decimals) == 1:
            return by_sign[next(iter(self.decimals))], True
        return by_sign["," if self.semicolons or "," in self.decimals else "."], False

    def format(self, found: tuple[str | None, ...]) -> tuple[str | None, bool]:
        """Return the likelier format of dates, and whether it is sure."""
        if len(found) == 1:
            return found[0], True
        if self.day_first == {False}:
            return found[-1], True
        return found[0], self.day_first == {True}


def _sign(reading: Reading, column: Tally) -> str | None:
    """Return the decimal sign that a reading shows, if it shows one."""
    if reading.decimal == ",":
        return "," if any("," in text or "." in text for text in column.texts) else None
    return "." if any("." in text or "," in text for text in column.texts) else None
