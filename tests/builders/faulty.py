"""Run `cfl` again and again, with a system call that fails at its first, second, third … time.

    python faulty.py FOLDER -- ARGUMENTS OF cfl

Each run is a process of its own, forked when everything is imported, which saves most of the time.
FOLDER is where they write; it is put back to what it was after each run. Prints a line of JSON for
each: the call and its fault, the exit code, what was said, and the files that were left. A call
has had its turn when a run does not make it often enough to fail.
"""

import base64
import errno
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from itertools import count, product
from pathlib import Path
from typing import TypeAlias

CALLS = ("write", "fsync", "link", "replace", "fchmod")
FAULTS = (str(errno.ENOSPC), "kill")
WAYS = ("nameless", "named")  # of making a new file
UNHARMED = 99
Act: TypeAlias = Callable[[list[str]], None]  # ends by SystemExit


def cfl() -> Act:
    for name in ("commands.impute.work", "cli.outputs", "cli.progress"):
        import_module(f"cfl_cli.{name}")
    for name in ("methods.graph", "run.impute", "tables.columnar", "tables.csv"):
        import_module(f"cfl_cli.{name}")
    for name in ("scipy.sparse.linalg", "osqp"):
        import_module(name)
    app = import_module("cfl_cli.cli.app")

    def act(arguments: list[str]) -> None:
        sys.argv = ["cfl", *arguments]
        app.run_app()

    return act


def run(act: Act, call: str, number: int, fault: str, arguments: list[str]) -> int:
    real = getattr(os, call)
    made = 0

    def faulty(*args: object, **options: object) -> object:
        nonlocal made
        made += 1
        if made == number:
            if fault == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise OSError(int(fault), os.strerror(int(fault)))
        return real(*args, **options)

    setattr(os, call, faulty)
    try:
        act(arguments)
    except SystemExit as end:
        return UNHARMED if made < number else int(end.code or 0)
    return 1


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def one_run(act: Act, folder: Path, case: dict[str, str], number: int, arguments: list[str]) -> int:
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if child == 0:
            os.dup2(said.fileno(), 2)
            if case["way"] == "named":
                del os.O_TMPFILE
            os._exit(run(act, case["call"], number, case["fault"], arguments))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        stderr = said.read().decode()
    left = {name: base64.b64encode(data).decode() for name, data in contents(folder).items()}
    print(json.dumps({**case, "code": code, "stderr": stderr, "files": left}), flush=True)
    return code


def main(act: Act) -> None:
    folder, arguments = Path(sys.argv[1]), sys.argv[3:]
    before = contents(folder)
    for call, fault, way in product(CALLS, FAULTS, WAYS):
        case = {"call": call, "fault": fault, "way": way}
        for number in count(1):
            code = one_run(act, folder, case, number, arguments)
            for path in folder.iterdir():
                path.unlink()
            for name, data in before.items():
                (folder / name).write_bytes(data)
            if code == UNHARMED:
                break


if __name__ == "__main__":
    main(cfl())
