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
from itertools import count, product
from pathlib import Path

from cfl_cli.cli import app, outputs, progress  # noqa: F401 — before the fork
from cfl_cli.estimators import graph  # noqa: F401 — before the fork
from cfl_cli.jobs import impute  # noqa: F401 — before the fork
from cfl_cli.tables import columnar, table  # noqa: F401 — before the fork

CALLS = ("write", "fsync", "link", "replace", "fchmod")
FAULTS = (str(errno.ENOSPC), "kill")
WAYS = ("nameless", "named")  # of making a new file
UNHARMED = 99


def run(call: str, number: int, fault: str, arguments: list[str]) -> int:
    """Run `cfl` in this process and return its exit code."""
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
    sys.argv = ["cfl", *arguments]
    try:
        app.main()
    except SystemExit as end:
        return UNHARMED if made < number else int(end.code or 0)
    return 1


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files in a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def one_run(folder: Path, case: dict[str, str], number: int, arguments: list[str]) -> int:
    """Run `cfl` in a process of its own, print what came of it, and return its exit code."""
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if child == 0:
            os.dup2(said.fileno(), 2)
            if case["way"] == "named":
                del os.O_TMPFILE
            os._exit(run(case["call"], number, case["fault"], arguments))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        stderr = said.read().decode()
    left = {name: base64.b64encode(data).decode() for name, data in contents(folder).items()}
    print(json.dumps({**case, "code": code, "stderr": stderr, "files": left}), flush=True)
    return code


def main() -> None:
    """Let every call fail at every time that it is made."""
    folder, arguments = Path(sys.argv[1]), sys.argv[3:]
    before = contents(folder)
    for call, fault, way in product(CALLS, FAULTS, WAYS):
        case = {"call": call, "fault": fault, "way": way}
        for number in count(1):
            code = one_run(folder, case, number, arguments)
            for path in folder.iterdir():
                path.unlink()
            for name, data in before.items():
                (folder / name).write_bytes(data)
            if code == UNHARMED:
                break


main()
