"""What Unix and Windows do differently, behind one door: every call that only one of them has.

    locks         flock, or msvcrt on bytes that no file reaches; folders by a file in them
    opening       no links, no waiting for a pipe, no translation of line ends
    replacing     Windows refuses while another program has the file open: try again for a while
    memory        sysconf, or GlobalMemoryStatusEx
    signals       SIGHUP and masks of threads, or Ctrl-Break

Where a system has nothing alike, the function does nothing, and its docstring says so. Only the
standard library's light modules are used: `cli.start` loads this before anything else.
"""

import os
import re
import signal
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EACCES, EDEADLK, ELOOP, ENOTDIR, ENOTSUP
from importlib import import_module
from pathlib import Path
from time import monotonic, sleep

TYPE_CHECKING = False  # not from `typing`, which takes a while to load
if TYPE_CHECKING:
    from typing import Any

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]  # Windows has none

PROC = Path("/proc")  # Linux only


def _imported(name: str) -> "Any | None":
    try:
        return import_module(name)
    except ImportError:
        return None


_msvcrt: "Any | None" = _imported("msvcrt") if fcntl is None else None
WINDOWS = fcntl is None  # it opens no folder, replaces no open file, knows no owners
_BOOT = PROC / "sys/kernel/random/boot_id"


def boot() -> str:
    """Return what stands for this machine, and on Linux for the time since its start."""
    with suppress(OSError):
        return _BOOT.read_text().strip().replace("-", "")
    import socket  # takes a while to load

    return socket.gethostname().encode().hex()[:32] or "unknown"


# Opening. On Windows, `os.open` would write CRLF for LF without O_BINARY.

_BINARY = getattr(os, "O_BINARY", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_OPEN_FILES = PROC / "self/fd"  # where Linux lets a nameless file be named
_LINK_LIKE = 0x20000000  # of the tag of a reparse point: it leads elsewhere


def open_file(
    path: Path | str,
    how: int,
    mode: int = 0o600,
    *,
    links: bool = True,
    folder: Path | None = None,
) -> int:
    """Open a file; one that is a pipe does not wait.

    Without `links`, one that is a link fails; and so does a `folder` that is one, which the path
    starts from.
    """
    if folder is not None:
        inside = open_folder(folder)
        if inside is None:
            return open_file(folder / path, how, mode, links=links)
        try:
            return os.open(path, how | _NO_WAIT | (0 if links else _NO_LINK), mode, dir_fd=inside)
        finally:
            os.close(inside)
    if not links and not _NO_LINK and os.path.lexists(path) and is_link(os.lstat(path)):
        raise OSError(ELOOP, os.strerror(ELOOP), str(path))
    return os.open(path, how | _BINARY | _NO_WAIT | (0 if links else _NO_LINK), mode)


def open_nameless(folder: Path) -> int | None:
    """Open a new file that has no name until `name_file`; None: not here."""
    if (nameless := getattr(os, "O_TMPFILE", 0)) and _OPEN_FILES.is_dir():
        with suppress(OSError):  # not on every file system
            return os.open(folder, nameless | os.O_RDWR, 0o600)
    return None


def name_file(handle: int, path: Path) -> None:
    # Followed only with a directory's handle, which an absolute path leaves unused.
    os.link(_OPEN_FILES / str(handle), path, src_dir_fd=handle, follow_symlinks=True)


def open_folder(path: Path) -> int | None:
    """Return the handle of a folder that is no link; None on Windows, which opens none."""
    if WINDOWS:
        if is_link(found := path.lstat()) or not stat.S_ISDIR(found.st_mode):
            raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR), str(path))
        return None
    return os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK)


def close(handle: int | None) -> None:
    if handle is not None:
        with suppress(OSError):  # nothing was written to it
            os.close(handle)


def sync_folder(path: Path) -> None:
    """Write the names in a folder to the disk; Windows does so itself."""
    handle = None if WINDOWS else os.open(path, os.O_RDONLY)
    if handle is not None:
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def is_link(found: os.stat_result) -> bool:
    """Return whether something leads elsewhere, by what `lstat` says: on Windows also a junction."""
    tag = getattr(found, "st_reparse_tag", 0)
    return stat.S_ISLNK(found.st_mode) or bool(tag & _LINK_LIKE)


def refuse_planted(path: Path) -> None:
    """Raise PermissionError for a link that another user put into a folder that all may write to.

    Linux follows no such link when it opens a file, unless it is told to (`protected_symlinks`).
    """
    if not path.is_symlink():
        return
    link, folder = path.lstat(), path.absolute().parent.stat()
    open_to_all = folder.st_mode & stat.S_IWOTH and folder.st_mode & stat.S_ISVTX
    if open_to_all and not is_own(link) and link.st_uid != folder.st_uid:
        raise PermissionError(EACCES, "a link of another user, in a folder that all may write to")


def is_own(found: os.stat_result) -> bool:
    """Return whether something belongs to this user; on Windows, whose owners are others: yes."""
    return not hasattr(os, "geteuid") or found.st_uid == os.geteuid()


def others_write(found: os.stat_result) -> bool:
    """Return whether others may write to something; Windows does not say it in the mode: no."""
    return hasattr(os, "geteuid") and bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def take_mode(handle: int, old: os.stat_result | None) -> None:
    """Give a new file the owner and mode of the one it replaces, or those of any new file."""
    if not hasattr(os, "fchmod") or WINDOWS:
        return
    if old is None:
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(handle, 0o666 & ~mask)
        return
    if hasattr(os, "fchown"):
        with suppress(PermissionError):  # only root gives files away
            os.fchown(handle, old.st_uid, old.st_gid)
    os.fchmod(handle, old.st_mode & 0o777)


_reading = threading.Lock()


def read_at(handle: int, size: int, place: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(handle, size, place)
    with _reading:  # threads share the handle's position
        before = os.lseek(handle, 0, os.SEEK_CUR)
        try:
            os.lseek(handle, place, os.SEEK_SET)
            return os.read(handle, size)
        finally:
            os.lseek(handle, before, os.SEEK_SET)


def let_wait(handle: int) -> None:
    """Let reading and writing wait for a stream, however the caller has left it."""
    if not WINDOWS:  # whose streams always do
        os.set_blocking(handle, True)


def allocate(handle: int, size: int) -> None:
    """Take so many bytes of the disk for a file, or raise OSError if it is too full."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, size)
    elif WINDOWS:
        os.ftruncate(handle, size)  # which takes them there
    else:
        at, zeros = os.lseek(handle, 0, os.SEEK_END), bytes(1 << 20)
        while at < size:
            at += os.write(handle, zeros[: size - at])


# Names. On Windows, NUL.csv is no file, and what is written there is lost.

_DEVICE = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?: *\..*)?", re.IGNORECASE
)


def is_device(path: Path) -> bool:
    """Return whether a name is one that Windows keeps for a device; elsewhere there are none."""
    return WINDOWS and any(_DEVICE.fullmatch(part.rstrip(" ")) for part in path.parts)


def is_folder_name(name: str) -> bool:
    """Return whether a name ends as that of a folder: with a /, on Windows also with a backslash."""
    return name.endswith(("/", os.sep))


# Replacing. A scanner or a spreadsheet may have the file open for a moment, or for hours.

_BUSY = {5, 32, 33}  # access denied, sharing violation, lock violation
_RETRIES = 2.0  # seconds


def is_busy(error: BaseException) -> bool:
    """Return whether Windows refuses because another program has the file open."""
    return isinstance(error, PermissionError) and getattr(error, "winerror", None) in _BUSY


def replace(path: Path, target: Path) -> None:
    deadline = monotonic() + _RETRIES
    while True:
        try:
            path.replace(target)
            return
        except PermissionError as error:
            if not is_busy(error) or monotonic() > deadline:
                raise
            sleep(0.05)


def keep_copy(target: Path, name: Path) -> None:
    """Give a file a second name, or a copy where the file system has no links."""
    try:
        os.link(target, name)
    except (AttributeError, OSError):
        import shutil  # rarely

        shutil.copy2(target, name)


# Locks. Windows locks bytes, which nobody else can then read: here one that no file of ours reaches.

_LOCK_BYTE = (1 << 31) - 16
_FOLDER_LOCK = ".cfl-lock"


def lock(handle: int, *, shared: bool = False) -> None:
    """Lock a file until it is closed. Raise BlockingIOError if another has it, OSError if none can.

    Windows has no shared locks by this way: there `shared` is ignored.
    """
    if fcntl is not None:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        return
    if _msvcrt is None:
        raise OSError(ENOTSUP, os.strerror(ENOTSUP))
    before = os.lseek(handle, 0, os.SEEK_CUR)
    try:
        os.lseek(handle, _LOCK_BYTE, os.SEEK_SET)
        _msvcrt.locking(handle, _msvcrt.LK_NBLCK, 1)
    except OSError as error:
        if error.errno in {0, EACCES, EDEADLK}:  # 0: under Wine
            raise BlockingIOError(error.errno, error.strerror) from error
        raise
    finally:
        os.lseek(handle, before, os.SEEK_SET)


@contextmanager
def folder_lock(folder: Path) -> Iterator[int]:
    """Give the handle that the lock of a folder is held by, to be locked by `lock`.

    On Windows that is a file in it, which goes with the last process that has it open.
    """
    if not WINDOWS:
        handle = os.open(folder, os.O_RDONLY)
        try:
            yield handle
        finally:
            close(handle)
        return
    path = folder / _FOLDER_LOCK
    handle = _open_lock(path)
    try:
        yield handle
    finally:
        close(handle)
        with suppress(OSError):  # another run has it
            path.unlink()


def _open_lock(path: Path) -> int:
    how = os.O_RDWR | os.O_CREAT | getattr(os, "O_TEMPORARY", 0)
    deadline = monotonic() + _RETRIES
    while True:
        try:
            return open_file(path, how, links=False)
        except PermissionError:  # it is just going
            if monotonic() > deadline:
                raise
            sleep(0.02)


# Memory and cores.


def physical_memory() -> int | None:
    """Return the bytes of memory that the machine has; None: not known."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return _windows_memory()


def _windows_memory() -> int | None:
    import ctypes

    class Status(ctypes.Structure):
        _fields_ = (
            ("length", ctypes.c_ulong),
            ("load", ctypes.c_ulong),
            *((name, ctypes.c_ulonglong) for name in "total free pages_total pages_free".split()),
            *((name, ctypes.c_ulonglong) for name in "space_total space_free extended".split()),
        )

    found = Status(length=ctypes.sizeof(Status))
    dll = getattr(ctypes, "windll", None)
    if dll is None or not dll.kernel32.GlobalMemoryStatusEx(ctypes.byref(found)):
        return None
    return int(found.total)


def peak_memory() -> int | None:
    """Return the most bytes that the process has held; None: not known."""
    resource = _imported("resource")
    if resource is None:
        return _windows_peak()
    unit = 1 if sys.platform == "darwin" else 1024
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)


def _windows_peak() -> int | None:
    import ctypes

    class Counters(ctypes.Structure):
        _fields_ = (
            ("length", ctypes.c_ulong),
            ("faults", ctypes.c_ulong),
            ("peak", ctypes.c_size_t),
            *((f"rest_{n}", ctypes.c_size_t) for n in range(7)),
        )

    dll = getattr(ctypes, "windll", None)
    if dll is None:
        return None
    found, kernel = Counters(length=ctypes.sizeof(Counters)), dll.kernel32
    kernel.GetCurrentProcess.restype = ctypes.c_void_p
    process = ctypes.c_void_p(kernel.GetCurrentProcess())
    done = kernel.K32GetProcessMemoryInfo(process, ctypes.byref(found), found.length)
    return int(found.peak) if done else None


def limit_of(name: str) -> int | None:
    """Return a limit of the process in bytes, such as RLIMIT_AS; None: there is none."""
    resource = _imported("resource")
    number = getattr(resource, name, None)
    if resource is None or number is None:
        return None
    allowed, _ = resource.getrlimit(number)
    return None if allowed == resource.RLIM_INFINITY else int(allowed)


def c_library() -> "Any | None":
    """Return the C library; None on Windows, where it has no calls of Linux."""
    import ctypes

    try:
        return ctypes.CDLL(None)
    except (OSError, TypeError):
        return None


def cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# Signals. Windows has Ctrl-C and Ctrl-Break, and no masks: it interrupts the first thread only.

HANGUP: int | None = getattr(signal, "SIGHUP", None)
_BREAK: int | None = getattr(signal, "SIGBREAK", None)
# What ends a run, and in which words.
ENDS: dict[int, str] = {
    number: words
    for number, words in (
        (signal.SIGINT, "interrupted"),
        (_BREAK, "interrupted"),
        (signal.SIGTERM, "terminated"),
        (HANGUP, "hung up"),
    )
    if number is not None
}


def exit_code(number: int) -> int:
    return 128 + (signal.SIGINT if number == _BREAK else number)


def hold_back(*numbers: int) -> "Any":
    """Keep signals from this thread, and return what `let_through` takes to undo it."""
    if hasattr(signal, "pthread_sigmask"):
        return signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    return None


def let_through(before: "Any") -> None:
    if before is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def waiting_signals() -> set[int]:
    """Return the signals that came and that all threads hold back."""
    return {*signal.sigpending()} if hasattr(signal, "sigpending") else set()


class Wakeup:
    """Where Python writes the numbers of signals that come, and where a thread waits for them.

    Its handles are above the standard streams', which the caller may have closed.
    """

    def __init__(self) -> None:
        if fcntl is not None:
            ends = os.pipe()
            self.reader, self.writer = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 3) for end in ends)
            for end in ends:
                os.close(end)
            os.set_blocking(self.writer, False)
            return
        import socket  # Windows waits for nothing else

        self._sockets = socket.socketpair()
        for one in self._sockets:
            one.setblocking(False)
        self.reader, self.writer = (one.fileno() for one in self._sockets)

    def wait(self, seconds: float) -> bytes:
        """Return the signals that came, as bytes; none if the time is over."""
        import select

        if not select.select([self.reader], [], [], seconds)[0]:
            return b""
        return (
            os.read(self.reader, 1 << 10) if fcntl is not None else self._sockets[0].recv(1 << 10)
        )

    def note(self, number: int) -> None:
        """Write a signal, as Python has done already, unless a package took that over."""
        with suppress(OSError):
            if fcntl is not None:
                os.write(self.writer, bytes([number]))
            else:
                self._sockets[1].send(bytes([number]))
