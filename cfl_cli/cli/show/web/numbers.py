"""Numbers on a page: the one place where they become text.

A report may come from anybody, and its numbers may be of any size.
"""

from cfl_cli.trust.intervals import Interval

HUGE = 1e6  # from which digits say nothing more
LARGE_TABLE = 1000  # rows, from which 1 % is at least 10 of them


def percent(share: float, digits: int = 0) -> str:
    """Return a share in hundredths."""
    if abs(share) >= HUGE:
        return decimal(share)
    text = f"{100 * share:.{digits}f}"
    return f"{'0' if float(text) == 0 else text} %"


def some_percent(share: float) -> str:
    """Return a share that is said to be none only if it is."""
    if share == 0:
        return "none"
    return "under 1 %" if 0 < share < 0.005 else percent(share)


def percents(interval: Interval) -> str:
    """Return an estimate with its interval in hundredths: `92 % (90–97)`."""
    low, high = (percent(end).removesuffix(" %") for end in (interval.low, interval.high))
    return f"{percent(interval.value)} ({_from_to(low, high)})"


def decimal(number: float, digits: int = 2) -> str:
    """Return a number with so many digits behind the point."""
    if abs(number) >= HUGE:
        return f"{number:.3g}"
    text = f"{number:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def decimals(interval: Interval, digits: int = 2) -> str:
    """Return an estimate with its interval: `0.92 (0.90–0.97)`."""
    value, low, high = (
        decimal(part, digits) for part in (interval.value, interval.low, interval.high)
    )
    return f"{value} ({_from_to(low, high)})"


def _from_to(low: str, high: str) -> str:
    """Return a range; a dash before a minus sign would be hard to read."""
    return f"{low} to {high}" if "-" in low + high else f"{low}–{high}"


def whole(number: int) -> str:
    """Return a count."""
    return f"{number:,}"


def share_or_rare(share: float | None, rows: int) -> str:
    """Return a share of so many rows; None is one so small that it might point at people."""
    if share is not None:
        return percent(share, 1)
    return "under 1 %" if rows >= LARGE_TABLE else "under 10 rows"


def seconds(time: float) -> str:
    """Return a time."""
    return f"{decimal(time, 1)} s"


def sort_key(number: float | None) -> str:
    """Return what a script sorts by: the number itself; nothing if it is not known."""
    return "" if number is None else f"{number:.6g}"
