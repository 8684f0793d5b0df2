"""Damaged files, and how commands and the library end that read them.

Each run is a process of its own, forked when everything is imported. It ends as `cfl` does, also by
what threads of packages do at the exit.
"""

import ctypes
import os
import random
import select
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from benchmarks.faults import targets

FORMS = ("parquet", "arrow", "csv.zst", "csv.gz", "jsonl.zst")
ENDINGS = {0, 1, 2, 3, 4}
SECONDS = 60.0
CONVERT = """\
import sys
from cfl_cli.tables import table
read = table.read(table.Place.to_read(sys.argv[1]))
from cfl_cli.tables.table import write
write(read.frame, table.Place.to_write(sys.argv[2]), report=None)
"""
LOADED = (
    *("commands.impute.work", "commands.apply.work", "commands.check.job", "commands.init.draft"),
    *("commands.report.work", "cli.outputs", "cli.progress", "cli.app", "run.impute"),
    *("tables.columnar", "tables.csv", "tables.jsonl", "methods.graph"),
)


class Ending(NamedTuple):
    """How a run on a damaged file ended."""

    what: str  # the command
    damage: str
    code: int  # below 0: a signal
    said: str

    @property
    def is_right(self) -> bool:
        crashed = "Traceback" in self.said or "terminate called" in self.said
        return not crashed and self.code in ENDINGS


def damaged(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Return the bytes of a file with some damage, and what it is."""
    kind = rng.choice(["bytes", "block", "cut", "zeros", "end", "doubled", "missing"])
    at, size = rng.randrange(len(data)), rng.choice([1, 4, 16, 64, 512])
    if kind == "bytes":
        made = bytearray(data)
        for _ in range(rng.choice([1, 1, 3, 10])):
            made[rng.randrange(len(data))] = rng.randrange(256)
        return bytes(made), kind
    if kind == "cut":
        return data[:at], f"cut at {at}"
    if kind == "end":  # where Parquet and Arrow say what they hold
        at = max(0, len(data) - rng.randrange(1, min(len(data), 2000)))
    if kind == "missing":
        return data[:at] + data[at + size :], f"{size} bytes missing at {at}"
    if kind == "doubled":
        return data[: at + size] + data[at:], f"{size} bytes twice at {at}"
    filled = bytes(size) if kind == "zeros" else rng.randbytes(size)
    return data[:at] + filled + data[at + size :], f"{kind}: {size} bytes at {at}"


def commands(folder: Path, form: str) -> dict[str, list[str]]:
    bad, schema, out = str(folder / f"bad.{form}"), str(folder / "in/schema.yml"), folder / "out"
    model = str(folder / "in/model.cfl")
    return {
        "impute": ["impute", bad, "--schema", schema, "--out", str(out / "o.csv")],
        "check": ["check", bad, "--schema", schema],
        "init": ["init", bad, "--cf", "job", "--out", str(out / "o.yml")],
        "report": ["report", bad],
        "apply": ["apply", bad, "--model", model, "--out", str(out / "o.parquet")],
        "library": ["library", bad, schema],
    }


def attacks(folder: Path, *, runs: int, rng: random.Random) -> Iterator[Ending]:
    for name in LOADED:
        import_module(f"cfl_cli.{name}")
    good = _good_files(folder)
    for number in range(runs):
        form = FORMS[number % len(FORMS)] if number % 2 else "parquet"
        name, arguments = rng.choice([*commands(folder, form).items()])
        data, what = damaged(good[form, name == "report"], rng)
        (folder / f"bad.{form}").write_bytes(data)
        targets.clear(folder)
        code, said = _ended(partial(_act, arguments))
        yield Ending(f"{name} {form}", what, code, said)


def _good_files(folder: Path) -> dict[tuple[str, bool], bytes]:
    """Return files of each format, as they are and with new columns and a report."""
    header, *_ = (folder / "in" / "data.csv").read_text().splitlines()
    long = folder / "in" / "long.csv"
    long.write_text("\n".join([header, *targets.ROWS * 400]) + "\n")
    found = {}
    for form in FORMS:
        out = str(folder / f"good.{form}")
        schema = str(folder / "in" / "schema.yml")
        imputed = ["-m", "cfl_cli", "impute", str(long), "--schema", schema, "--out", out]
        for given, has_report in ((["-c", CONVERT, str(long), out], False), (imputed, True)):
            targets.run(folder, [sys.executable, *given])
            found[form, has_report] = Path(out).read_bytes()
    return found


def _act(arguments: list[str]) -> None:
    if arguments[0] != "library":
        sys.argv = ["cfl", *arguments]
        import_module("cfl_cli.cli.app").run_app()
        return
    from cfl_cli.errors import CflError
    from cfl_cli.tables import table

    try:
        table.read(table.Place.to_read(arguments[1]))
    except CflError as error:
        print(error, file=sys.stderr)
        sys.exit(1)  # as a script would end, whatever threads are at work


def _ended(act: Callable[[], None]) -> tuple[int, str]:
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if child == 0:
            os.dup2(said.fileno(), 2)
            os.dup2(said.fileno(), 1)
            _end(act)
        handle = os.pidfd_open(child)
        if not select.select([handle], [], [], SECONDS)[0]:
            os.kill(child, signal.SIGKILL)
        os.close(handle)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        return code, said.read().decode(errors="replace")


def _end(act: Callable[[], None]) -> None:
    """Do something in this process, and end it as Python ends, threads and all."""
    code = 1
    try:
        act()
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:  # noqa: BLE001 — it is what the user would see
        traceback.print_exc()
    else:
        code = 0
    sys.stdout.flush()
    sys.stderr.flush()
    ctypes.pythonapi.Py_Exit(code)
