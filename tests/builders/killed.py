"""Runs that end at once, as by a kill."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cfl_cli.large import stored


class Killed(BaseException):
    """What ends a run at once."""


@contextmanager
def dying(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a run in this block die with its first task; one must."""

    def die(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(stored, "run_task", die)
        with pytest.raises(Killed):
            yield
