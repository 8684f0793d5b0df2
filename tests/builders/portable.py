"""Hide what only Unix has, so that the package takes the ways it takes on Windows.

Call `hide` before the package is imported: pytest does so with `--portable`, and so does Python in
the processes that tests start, by `portable_site/sitecustomize.py`.
`import fcntl` fails, `os` and `signal` lack what they lack on Windows, /proc is not looked at, and
a module `msvcrt` locks bytes of open files as Windows does. Packages that were loaded before keep
what they have: this is about our own code.

It proves that no name is missing, and how files are locked and replaced without these calls. It
does not prove what Windows does: paths, consoles, sharing of open files.
"""

import errno
import importlib
import os
import signal
import struct
import sys
import types
from pathlib import Path

STANDARD = ("asyncio", "multiprocessing.util", "pdb", "shutil", "subprocess", "tempfile", "uuid")
KEPT: dict[str, types.ModuleType] = {}  # modules for tests that need them
MODULES = ("fcntl", "resource", "pwd", "grp", "termios")
OF_OS = (
    *("O_TMPFILE", "O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY", "O_CLOEXEC", "link", "geteuid"),
    *("fchown", "fchmod", "pread", "posix_fallocate", "sched_getaffinity", "sysconf"),
)
OF_SIGNAL = ("SIGHUP", "SIGQUIT", "pthread_sigmask", "sigpending")


def hide() -> None:
    """Take these names away, and put a `msvcrt` in place."""
    import fcntl

    for name in STANDARD:  # it keeps what it needs
        importlib.import_module(name)
    vars(sys.modules["shutil"])["_use_fd_functions"] = False
    vars(sys.modules["tempfile"])["_O_TMPFILE_WORKS"] = False
    KEPT.update((name, importlib.import_module(name)) for name in MODULES)
    sys.modules["msvcrt"] = _msvcrt(fcntl)
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]  # importing it fails
    for module, names in ((os, OF_OS), (signal, OF_SIGNAL)):
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    from cfl_cli.core import system

    system.PROC = Path("nowhere")
    vars(system)["_BOOT"] = vars(system)["_OPEN_FILES"] = Path("nowhere")


def _msvcrt(fcntl: types.ModuleType) -> types.ModuleType:
    made = types.ModuleType("msvcrt")

    def locking(handle: int, how: int, size: int) -> None:
        kind = fcntl.F_WRLCK if how == 2 else fcntl.F_UNLCK
        start = os.lseek(handle, 0, os.SEEK_CUR)
        asked = struct.pack("hhqqi4x", kind, os.SEEK_SET, start, size, 0)
        try:
            fcntl.fcntl(handle, fcntl.F_OFD_SETLK, asked)
        except BlockingIOError as error:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from error

    made.locking, made.LK_NBLCK, made.LK_UNLCK = locking, 2, 0  # type: ignore[attr-defined]
    return made
