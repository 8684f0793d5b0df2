"""The files of a run: what it has done so far, so that another can go on.

    run.json       what the run is of: versions, settings, schema, data
    lock           held by the process that runs
    work/          arrays (`.npy`), marks (`.marks`), facts (`.json`), and folders of parts

Nothing in it is ever executed: JSON and plain arrays only.
"""

import errno
import fcntl
import json
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Self
from zlib import crc32

import numpy as np
import numpy.typing as npt

from cfl_cli.core import process
from cfl_cli.core.messages import option
from cfl_cli.errors import (
    CflError,
    Problem,
    ResourceError,
    UsageError,
    file_problem,
    is_short,
    system_problem,
    unreadable,
)
from cfl_cli.large.arrays import (
    DATA,
    FOLDER,
    NO_LINK,
    Mapped,
    OpenMap,
    create_map,
    open_map,
    unusable,
)

# What a run is of, and in which words two of them differ: only the same run is resumed.

_FORMAT = 2
_HASH = re.compile("[0-9a-f]{64}")


def content_of(about: Path) -> dict[str, Any]:
    content = _read_json(about)
    try:
        if content["format"] == _FORMAT and all(
            isinstance(one, str) for one in content["identity"].values()
        ):
            return dict(content)
    except (AttributeError, KeyError, TypeError) as error:
        raise unusable(about) from error
    raise unusable(about, "of another version of cfl")


def check_same_run(path: Path, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Raise if what is to be resumed is a run of something else; name all differences."""
    names = [*before, *(name for name in now if name not in before)]
    changed = [name for name in names if before.get(name) != now.get(name)]
    differ = [_difference(name, before.get(name, ""), now.get(name, "")) for name in changed]
    if differ:
        text = "{option} continues only a run with the same data and settings: {remedy}"
        remedy = "remove the folder, or choose another"
        others = [file_problem("run-dir-other-run", path, one) for one in differ]
        same = Problem("run-dir-other-run", text, option=option("resume"), remedy=remedy)
        raise UsageError(*others, same)


def _difference(name: str, before: str, now: str) -> str:
    old = new = None
    with suppress(ValueError):
        old, new = json.loads(before), json.loads(now)
    if isinstance(old, dict) and isinstance(new, dict):
        changed = [
            f"{key}: {json.dumps(old.get(key))} → {json.dumps(new.get(key))}"
            for key in [*old, *(key for key in new if key not in old)]
            if old.get(key) != new.get(key)
        ]
        return f"the {name} differ: {', '.join(changed)}"
    if _HASH.fullmatch(before) or _HASH.fullmatch(now) or "\n" in before + now:
        return f"the {name} is not the same" if name != "data" else "the data are not the same"
    return f"{name}: {before or 'none'} → {now or 'none'}"


ABOUT, LOCK, WORK = "run.json", "lock", "work"
PREFIX = ".cfl-run-"  # of a run that nobody is to resume
_NEW = 60.0  # seconds since a folder was changed
_UNSAFE = re.compile(rb"[^A-Za-z0-9_-]")
_LONGEST = 120


def safe(name: str) -> str:
    if not name:
        raise ValueError("a name of something in a run is empty")
    coded = _UNSAFE.sub(lambda found: b"%%%02x" % found[0][0], name.encode()).decode()
    if len(coded) <= _LONGEST:
        return coded
    return f"{coded[: _LONGEST - 40]}%{sha256(name.encode()).hexdigest()[:32]}"


@dataclass(frozen=True)
class Folder:
    """A part of a run: arrays, marks and facts by their names, and further parts."""

    path: Path

    def within(self, name: str) -> "Folder":
        inner = self.path / safe(name)
        with _writing(inner):
            inner.mkdir(exist_ok=True, mode=0o700)
            sync_folder(self.path)
        return Folder(inner)

    def array_path(self, name: str) -> Path:
        return self.path / f"{safe(name)}.npy"

    def array(self, name: str, shape: tuple[int, ...], kind: npt.DTypeLike) -> Mapped:
        """Return the array of that name, a new one of zeros if there is none."""
        path, dtype = self.array_path(name), np.dtype(kind)
        if path.exists():
            try:
                found = open_map(path)
            except (ValueError, OSError) as error:
                raise _unreadable(path, error) from error
            if found.shape != tuple(shape) or found.dtype != dtype:
                had, wanted = f"{found.dtype} {found.shape}", f"{dtype} {tuple(shape)}"
                raise unusable(path, f"{had} instead of {wanted}")
            return found
        free = shutil.disk_usage(self.path).free
        needed = dtype.itemsize * int(np.prod(shape, dtype=np.int64)) + DATA
        if needed > free:
            raise _full(self.path, f"{needed:,} bytes are needed, {free:,} are free")
        with _writing(path):
            made = create_map(path, tuple(shape), dtype)
            sync_folder(self.path)
        return made

    def marks(self, name: str) -> Path:
        return self.path / f"{safe(name)}.marks"

    def facts(self, name: str) -> Any:
        path = self.path / f"{safe(name)}.json"
        if not path.exists():
            return None
        content = _read_json(path)
        try:
            facts, checksum = content["facts"], content["checksum"]
        except (KeyError, TypeError) as error:
            raise unusable(path) from error
        if _checksum(facts) != checksum:
            raise unusable(path)
        return facts

    def checksums(self, sources: Iterable[OpenMap]) -> dict[str, int]:
        """Return the checksums of files, by their places as seen from here."""
        return {os.path.relpath(one.path, self.path): one.checksum() for one in sources}

    def holds(self, sums: Mapping[str, int]) -> bool:
        """Return whether files are there and as they were when their checksums were made."""
        try:
            found = [open_map(self.path / name) for name in sums]
        except (OSError, ValueError) as error:
            if is_short(error):
                raise unreadable(self.path, error) from error
            return False
        return self.checksums(one.source for one in found if one.source) == dict(sums)

    def keep(self, name: str, facts: Any) -> None:
        content = {"facts": facts, "checksum": _checksum(facts)}
        write_json(self.path / f"{safe(name)}.json", content)


class RunDirectory:
    """A run's folder, locked by this process until the `with` block ends."""

    def __init__(self, path: Path, lock: int, *, resumed: bool, temporary: bool, own: bool) -> None:
        self.path, self._lock = path, lock
        self.resumed = resumed  # is there something to go on with?
        self.temporary = temporary
        self._own = own  # did this run make the folder, and not only what is in it?
        self._finished = False

    @classmethod
    def begin(cls, path: Path, identity: Mapping[str, str], *, resume: bool) -> Self:
        """Return a run's folder: a new one, or with `resume` one of the same run.

        Values of `identity` that are JSON objects are compared entry by entry, so that a
        difference can be named.
        """
        path = path.absolute()
        existed = path.exists()
        _check_is_of_a_run(path)
        with _writing(path):
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        _check_is_of_a_run(path)  # somebody may have been quicker
        run = cls(path, _locked(path), resumed=False, temporary=False, own=not existed)
        try:
            found = _before(path, identity, resume=resume)
            if found is not None:
                run.resumed, run._own = True, bool(found.get("own"))
            with _writing(path):
                (path / WORK).mkdir(exist_ok=True, mode=0o700)
                if not run.resumed:
                    about = {"format": _FORMAT, "own": run._own, "identity": dict(identity)}
                    write_json(path / ABOUT, about)
        except BaseException:
            os.close(run._lock)
            raise
        return run

    @staticmethod
    def check(path: Path, identity: Mapping[str, str], *, resume: bool) -> bool:
        """Return whether a run would go on with what is there; raise if `begin` would refuse it.

        Nothing is changed.
        """
        path = path.absolute()
        if LOCK in _check_is_of_a_run(path):
            os.close(_locked(path))
        return _before(path, identity, resume=resume) is not None

    @classmethod
    def reopened(cls, path: Path) -> Self:
        path = path.absolute()
        if ABOUT not in _check_is_of_a_run(path):
            raise UsageError(file_problem("run-dir-not-of-a-run", path, "not a folder of a run"))
        own = bool(content_of(path / ABOUT).get("own"))
        return cls(path, _locked(path), resumed=True, temporary=False, own=own)

    @classmethod
    def make_temporary(cls, near: Path | None) -> Self:
        """Return a folder that goes when the run ends: in `near`, or where temporary files are."""
        parent = near if near is not None and os.access(near, os.W_OK) else None
        _sweep(parent or Path(tempfile.gettempdir()))
        with _writing(parent or tempfile.gettempdir()), process.GATE:
            path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent)).absolute()
            process.remove_at_end(path)
            (path / WORK).mkdir(mode=0o700)
        return cls(path, _locked(path), resumed=False, temporary=True, own=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._finished or self.temporary:
            shutil.rmtree(self.path / WORK, ignore_errors=True)
            for name in (ABOUT, f"{ABOUT}.new", LOCK):
                with suppress(OSError):
                    (self.path / name).unlink()
            if self._own:
                with suppress(OSError):
                    self.path.rmdir()
            process.keep(self.path)
        os.close(self._lock)

    @property
    def folder(self) -> Folder:
        return Folder(self.path / WORK)

    def finish(self) -> None:
        """Say that what the run was for is written; the folder goes when the block ends."""
        self._finished = True


# Folders that are the user's own, in which nothing leads elsewhere: a run writes to files whose names
# can be foreseen, and would write to the file that somebody's link in their place points to. So the
# folder belongs to its user, nobody else may write to it, and it holds plain files and folders only.

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def not_own(path: Path) -> tuple[str, str] | None:
    """Return why a folder, or something in it, may not be used, and what to do; None: it may.

    A folder that does not exist may be used.
    """
    for one in [path, *_within(path)]:
        with suppress(FileNotFoundError):  # another run may be at work
            found = one.lstat()
            where = "it" if one == path else os.fsdecode(os.path.relpath(one, path))
            if stat.S_ISLNK(found.st_mode):
                return f"{where} is a link", "name the folder itself, or remove the link"
            if found.st_uid != os.geteuid():
                return f"{where} belongs to another user", "name a new folder"
            if found.st_mode & _OTHERS_WRITE:
                return f"others may write to {where}", f"use chmod -R go-w {path}, or name another"
            is_file = stat.S_ISREG(found.st_mode)
            if is_file and found.st_nlink > 1:
                return f"{where} is a link", "remove the link"
            if not is_file and not stat.S_ISDIR(found.st_mode):
                return f"{where} is neither a file nor a folder", "name another folder"
    return None


def _within(path: Path) -> list[Path]:
    if path.is_symlink():
        return []
    return [
        Path(folder, name) for folder, *names in os.walk(path) for some in names for name in some
    ]


def _check_is_of_a_run(path: Path) -> set[str]:
    named = option("run_dir")
    if path.exists() and not path.is_dir():
        text = "{file}: {option} needs a folder"
        raise UsageError(Problem("run-dir-not-a-folder", text, file=str(path), option=named))
    if why := not_own(path):
        text = "{file}: {what}: {option} needs a folder that only you can write to: {remedy}"
        facts = {"what": why[0], "option": named, "remedy": why[1]}
        raise UsageError(Problem("run-dir-not-own", text, file=str(path), **facts))
    if not path.exists():
        return set()
    found = {one.name for one in path.iterdir()}
    if ABOUT not in found and found - {LOCK, WORK, f"{ABOUT}.new"}:
        text = "{file}: not empty, and not a folder of a run: give {option} an empty folder"
        named = option("run_dir")
        raise UsageError(Problem("run-dir-not-of-a-run", text, file=str(path), option=named))
    return found


def _before(path: Path, identity: Mapping[str, str], *, resume: bool) -> dict[str, Any] | None:
    if not (path / ABOUT).exists():
        return None
    if not resume:
        text = "{file}: holds a checkpoint of an earlier run: resume it with {remedy}, or remove the folder"
        resuming = option("resume", value=True)
        raise UsageError(Problem("run-dir-used", text, file=str(path), remedy=resuming))
    found = content_of(path / ABOUT)
    check_same_run(path, found["identity"], identity)
    return found


def _checksum(facts: Any) -> int:
    return crc32(json.dumps(facts).encode())


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError, OSError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> CflError:
    return unreadable(path, error) if is_short(error) else unusable(path)


def write_json(path: Path, content: Any) -> None:
    """Write a file that is there whole or not at all, and on the disk when this returns."""
    new = path.with_name(f"{path.name}.new")
    with _writing(path):
        new.unlink(missing_ok=True)  # of a run that was killed
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(json.dumps(content).encode())
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _locked(path: Path) -> int:
    with _writing(path):
        folder = os.open(path, FOLDER)
        try:
            handle = os.open(LOCK, os.O_RDWR | os.O_CREAT | NO_LINK, 0o600, dir_fd=folder)
        finally:
            os.close(folder)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(handle)
        what = "another run is using this folder"
        remedy = "wait until it ends, or choose another folder"
        raise UsageError(file_problem("run-dir-locked", path, what, remedy)) from error
    except OSError as error:
        os.close(handle)
        what = f"its file system does not support locks ({error.strerror})"
        raise UsageError(
            file_problem("run-dir-no-locks", path, what, "choose a folder on another file system")
        ) from error
    return handle


def _sweep(parent: Path) -> None:
    for path in parent.glob(f"{PREFIX}*"):
        with suppress(OSError, UsageError, ResourceError):
            about = path.lstat()
            is_old = time.time() - about.st_mtime > _NEW  # a new one may not be locked yet
            if stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid() and is_old:
                handle = _locked(path)
                shutil.rmtree(path, ignore_errors=True)
                os.close(handle)


def _full(path: Path | str, numbers: str) -> ResourceError:
    text = "{file}: the disk has too little room: {what}: free some space, or point {remedy} to a "
    text += "folder on a larger disk"
    remedy = option("run_dir")
    return ResourceError(Problem("disk-full", text, file=str(path), what=numbers, remedy=remedy))


@contextmanager
def _writing(path: Path | str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise _full(path, str(error.strerror)) from error
        raise ResourceError(system_problem(path, "written", error)) from error
