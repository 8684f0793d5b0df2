"""Number formats of cells: which of them show a number as a date or a time, and which it is.

day    1899-12-30 + number        from 1900-03-01 on
       1899-12-31 + number        before: Excel counts a day, 1900-02-29, that never was
       1904-01-01 + number        in books that count from 1904
"""

import re
from enum import IntEnum

from cfl_cli.tables.excel_grid import Kind

DAY = 86_400_000  # milliseconds
LEAP = 60  # the day that never was
FROM_1900, FROM_1904 = -25_569, -24_107  # 1899-12-30 and 1904-01-01, counted from 1970
LAST_DAY = 2_932_896  # 9999-12-31, counted from 1970


class Shown(IntEnum):
    """As what a format shows a number."""

    NUMBER = 0
    DATE = 1  # with a time or without
    CLOCK = 2
    ELAPSED = 3  # hours beyond 24


BUILT_IN = {
    **dict.fromkeys([*range(14, 18), 22, *range(27, 32), 36, *range(50, 59)], Shown.DATE),
    **dict.fromkeys([*range(18, 22), *range(32, 36), 45, 47], Shown.CLOCK),
    46: Shown.ELAPSED,
}
# What stands for itself: quoted text, a sign behind a backslash, a width or a filling sign; colors,
# conditions and languages in brackets, but not the hours, minutes or seconds that go beyond.
LITERAL = re.compile(
    r'"[^"]*"|[\\_*].|\[(?!h+\]|m+\]|s+\])[^\]]*\]|am/pm|a/p|general', re.IGNORECASE
)
ELAPSED = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)


def shown_by(code: str) -> Shown:
    """Return as what a format such as `yyyy-mm-dd` shows a number."""
    signs = LITERAL.sub("", code).partition(";")[0].lower()
    if ELAPSED.search(signs):
        return Shown.ELAPSED
    if "y" in signs or "d" in signs:
        return Shown.DATE
    if "h" in signs or "s" in signs:
        return Shown.CLOCK
    return Shown.DATE if "m" in signs else Shown.NUMBER


def moment(number: float, shown: Shown, *, from_1904: bool) -> tuple[Kind, int] | None:
    """Return the date or time that a number is shown as, None if there is none."""
    if number < 0 or number > LAST_DAY - FROM_1900 + 1:
        return None
    milliseconds = round(number * DAY)
    if shown == Shown.ELAPSED or (number < 1 and (shown == Shown.CLOCK or not from_1904)):
        return Kind.TIME, milliseconds
    day, rest = divmod(milliseconds, DAY)
    if from_1904:
        day += FROM_1904
    elif day == LEAP:
        return None
    else:
        day += FROM_1900 + (day < LEAP)
    return (Kind.DATE, day * DAY + rest) if day <= LAST_DAY else None
