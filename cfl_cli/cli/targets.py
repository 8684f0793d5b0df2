"""May a command write there? Asked before the work, so that nothing is computed in vain."""

import os
import sys
from pathlib import Path

from cfl_cli.errors import UsageError
from cfl_cli.tables import files


def check_targets(targets: list[Path], *, sources: list[Path | None], overwrite: bool) -> None:
    """Raise unless every target can be written without harm to a source or to another target.

    A source of None is standard input.
    """
    for number, target in enumerate(targets):
        try:
            _check_target(target, [*sources, *targets[:number]], overwrite=overwrite)
        except (OSError, RuntimeError) as error:  # a name too long, links in a circle
            raise UsageError(f"{target}: cannot be written: {error}") from error


def _check_target(target: Path, others: list[Path | None], *, overwrite: bool) -> None:
    folder = target.resolve().parent
    if any(_same(target, other) for other in others):
        raise UsageError(f"{target}: would be read and written, or written twice: name another")
    if not folder.is_dir():
        raise UsageError(f"{target}: there is no folder {folder}: make it first")
    if target.exists() and not target.is_file():
        raise UsageError(f"{target}: is no regular file: name another, or - for standard output")
    if not overwrite:
        files.refuse_existing([target])


def _same(target: Path, other: Path | None) -> bool:
    try:
        if other is None:
            return sys.stdin is not None and os.path.samestat(
                target.stat(), os.fstat(sys.stdin.fileno())
            )
        if target.exists() and other.exists():
            return target.samefile(other)
        return target.resolve() == other.resolve()
    except (OSError, RuntimeError):  # the other one is broken, which its reader will say
        return False
