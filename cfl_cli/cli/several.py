"""Several tables for one command: an output for each, in a folder; what fails leaves the others.

cfl impute n_*.csv --schema schema.yml --out filled/      filled/n_1.csv, filled/n_2.csv …
"""

import glob
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import typer

from cfl_cli.cli.log import attention, note
from cfl_cli.core.messages import count, option, quote
from cfl_cli.errors import CflError, ExitCode, Problem, UsageError
from cfl_cli.tables import files
from cfl_cli.tables.formats import MANIFEST, STANDARD, Place

# How much worse one end is than another, where the ends of several tables become one.
_WORSE = (ExitCode.DONE, ExitCode.FLAGGED, ExitCode.USAGE, ExitCode.WRONG_INPUT, ExitCode.RESOURCES)


@dataclass(frozen=True)
class Pair:
    data: str
    out: str


def several(names: Sequence[str], out: str, form: str | None, **one_file: object) -> list[Pair]:
    """Return the tables and their outputs, or nothing if there is one table, whose output is OUT.

    A name with `*`, `?` or `[` that is no file stands for all files that it fits. `one_file` are
    options that name a single file, which cannot be that of several tables.
    """
    found = [name for given in names for name in _matching(given)]
    if len(found) == 1 and [*names] == found:
        return []
    if given := [name for name, value in one_file.items() if value is not None]:
        text = "{option}: names one file, but there are several tables: leave it out"
        raise UsageError(*(Problem("several-one-file", text, option=option(it)) for it in given))
    folder = Path(out)
    if out == STANDARD or not (out.endswith("/") or folder.is_dir()):
        text = "OUT: {value!r} is one file, but there are {number}: {remedy}"
        facts = {"value": out, "number": count(len(found), "table")}
        remedy = f"name a folder, such as --out {Path(out).stem if out != STANDARD else 'filled'}/"
        raise UsageError(Problem("several-out", text, remedy=remedy, **facts))
    if files.exists(folder / MANIFEST):
        text = "{file}: is part of a folder that cfl wrote: {remedy}"
        raise UsageError(Problem("several-out", text, file=out, remedy="choose another folder"))
    pairs = [Pair(name, _output(name, folder, form)) for name in found]
    _refuse_clashes(pairs)
    return pairs


def run_each(
    pairs: Sequence[Pair], folder: str, run: Callable[[Pair], None], *, quiet: bool
) -> NoReturn:
    """Run all, each whole or not at all, and exit with the worst of their codes."""
    place = Path(folder)
    made = not place.exists()
    if made:
        place.mkdir(parents=True)
    codes: dict[str, ExitCode] = {}
    try:
        for pair in pairs:
            codes[pair.data] = _ended(pair, run)
    finally:
        if made:
            with suppress(OSError):  # it holds something
                place.rmdir()
    failed = [name for name, code in codes.items() if code not in (ExitCode.DONE, ExitCode.FLAGGED)]
    if failed:
        attention(f"{len(failed):,} of {count(len(pairs), 'table')} failed: {', '.join(failed)}")
    elif not quiet:
        note(f"{folder}: {count(len(pairs), 'table')} written")
    raise typer.Exit(max(codes.values(), key=_WORSE.index))


def _ended(pair: Pair, run: Callable[[Pair], None]) -> ExitCode:
    from cfl_cli.cli.app import complain_of  # which loads commands

    try:
        run(pair)
    except (CflError, MemoryError, OSError) as error:
        return complain_of(error)
    except typer.Exit as end:
        return ExitCode(end.exit_code)
    return ExitCode.DONE


def _matching(name: str) -> list[str]:
    if not glob.has_magic(name) or files.exists(Path(name)):
        return [name]
    found = sorted(glob.glob(name, recursive=True))  # noqa: PTH207 — keeps the name as it was typed
    if not found:
        text = "DATA: no file matches {value!r}"
        raise UsageError(Problem("several-none", text, value=name))
    return found


def _output(name: str, folder: Path, form: str | None) -> str:
    if name == STANDARD:
        text = "DATA: standard input cannot be one of several tables: {remedy}"
        raise UsageError(Problem("several-stdin", text, remedy="name files"))
    path = Place.to_read(name).path or Path(name)
    if form is None:
        return f"{folder / path.name}{'/' if path.is_dir() else ''}"
    return str(folder / f"{path.name.partition('.')[0]}.{form.lower().removeprefix('.')}")


def _refuse_clashes(pairs: Sequence[Pair]) -> None:
    by_out: dict[str, list[str]] = {}
    for pair in pairs:
        by_out.setdefault(pair.out, []).append(pair.data)
    text = "{file}: would be written for {names}: {remedy}"
    problems = [
        Problem(
            "several-same-name",
            text,
            file=out,
            names=" and ".join(map(quote, names)),
            remedy="rename one, or run each separately",
        )
        for out, names in by_out.items()
        if len(names) > 1
    ]
    if problems:
        raise UsageError(*problems)
