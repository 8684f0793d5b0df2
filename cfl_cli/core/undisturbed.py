"""Signals that wait for the end of a block, where an exception of theirs would do harm."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_held: list[int] = []  # numbers of signals that came


def _hold(number: int, _frame: object) -> None:
    _held.append(number)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Hold signals back until the block ends; in the first thread, the only one that hears them."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    is_first = threading.current_thread() is threading.main_thread()
    if not is_first or _hold in before.values():
        yield
        return
    ours = {number: handler for number, handler in before.items() if handler is not None}
    for number in ours:  # others were set by something that is not Python
        signal.signal(number, _hold)
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
        came = _held[:]
        _held.clear()
        if came:
            signal.raise_signal(came[0])
