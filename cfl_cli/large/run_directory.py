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

import numpy as np
import numpy.typing as npt

from cfl_cli.core import process
from cfl_cli.core.messages import option
from cfl_cli.errors import Problem, ResourceError, UsageError, file_problem, system_problem
from cfl_cli.large.arrays import DATA, Mapped, OpenMap, create_map, open_map, unusable

# What a run is of, and in which words two of them differ: only the same run is gone on with.

_FORMAT = 1
_HASH = re.compile("[0-9a-f]{64}")


def content_of(about: Path) -> dict[str, Any]:
    try:
        content = json.loads(about.read_bytes())
        if content["format"] == _FORMAT and isinstance(content["identity"], dict):
            return dict(content)
    except (ValueError, KeyError, TypeError) as error:
        raise unusable(about) from error
    raise unusable(about, "of another version of cfl")


def check_same_run(path: Path, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Raise if what is to be resumed is a run of something else; name all differences."""
    names = [*before, *(name for name in now if name not in before)]
    changed = [name for name in names if before.get(name) != now.get(name)]
    differ = [_difference(name, before.get(name, ""), now.get(name, "")) for name in changed]
    if differ:
        text = "{option} goes on with the same run only: {remedy}"
        remedy = "remove the folder, or name another"
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
        return f"the {name} has changed" if name != "data" else "the data have changed"
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
            inner.mkdir(exist_ok=True)
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
                raise unusable(path) from error
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
        try:
            return json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise unusable(path) from error

    def checksums(self, sources: Iterable[OpenMap]) -> dict[str, int]:
        """Return the checksums of files, by their places as seen from here."""
        return {os.path.relpath(one.path, self.path): one.checksum() for one in sources}

    def holds(self, sums: Mapping[str, int]) -> bool:
        """Return whether files are there and as they were when their checksums were made."""
        try:
            found = [open_map(self.path / name) for name in sums]
        except (OSError, ValueError):
            return False
        return self.checksums(one.source for one in found if one.source) == dict(sums)

    def keep(self, name: str, facts: Any) -> None:
        write_json(self.path / f"{safe(name)}.json", facts)


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
        run = cls(path, _locked(path), resumed=False, temporary=False, own=not existed)
        try:
            found = _before(path, identity, resume=resume)
            if found is not None:
                run.resumed, run._own = True, bool(found.get("own"))
            with _writing(path):
                (path / WORK).mkdir(exist_ok=True)
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
        if not (path / ABOUT).exists():
            raise UsageError(file_problem("run-dir-not-of-a-run", path, "not of a run"))
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
            (path / WORK).mkdir()
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


def _check_is_of_a_run(path: Path) -> set[str]:
    if not path.exists():
        return set()
    if not path.is_dir():
        text, named = "{file}: {option} needs a folder", option("run_dir")
        raise UsageError(Problem("run-dir-not-a-folder", text, file=str(path), option=named))
    found = {one.name for one in path.iterdir()}
    if ABOUT not in found and found - {LOCK, WORK, f"{ABOUT}.new"}:
        text = "{file}: not empty, and not of a run: {option} needs a folder of its own"
        named = option("run_dir")
        raise UsageError(Problem("run-dir-not-of-a-run", text, file=str(path), option=named))
    return found


def _before(path: Path, identity: Mapping[str, str], *, resume: bool) -> dict[str, Any] | None:
    if not (path / ABOUT).exists():
        return None
    if not resume:
        text = "{file}: has what another run has done: {remedy} goes on with it, or remove it"
        resuming = option("resume", value=True)
        raise UsageError(Problem("run-dir-used", text, file=str(path), remedy=resuming))
    found = content_of(path / ABOUT)
    check_same_run(path, found["identity"], identity)
    return found


def write_json(path: Path, content: Any) -> None:
    """Write a file that is there whole or not at all, and on the disk when this returns."""
    new = path.with_name(f"{path.name}.new")
    with _writing(path):
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
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
        handle = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(handle)
        what, remedy = "another run is at work in it", "wait for it, or name another folder"
        raise UsageError(file_problem("run-dir-locked", path, what, remedy)) from error
    except OSError as error:
        os.close(handle)
        what = f"its file system has no locks ({error.strerror})"
        raise UsageError(
            file_problem("run-dir-no-locks", path, what, "name a folder on another one")
        ) from error
    return handle


def _sweep(parent: Path) -> None:
    for path in parent.glob(f"{PREFIX}*"):
        with suppress(OSError, UsageError, ResourceError):
            about = path.lstat()
            is_old = time.time() - about.st_mtime > _NEW  # a new one may not be locked yet
            if stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid() and is_old:
                handle = _locked(path)
                shutil.rmtree(path, ignore_errors=True)
                os.close(handle)


def _full(path: Path | str, numbers: str) -> ResourceError:
    text = "{file}: the disk has too little room: {what}: free some, or let {remedy} name a folder "
    text += "on a larger disk"
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
