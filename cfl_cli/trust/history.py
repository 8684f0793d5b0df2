"""The history of a model's batches: a file of JSON lines, one for each batch, to append to.

A line holds what the next batch needs to know, and what a course is drawn from; no cell of a table,
no date. The same rows applied again by the same model are recognised: they get the same report, and
count once. A line is written whole or not at all, while no other run reads or writes the file.
"""

import fcntl
import json
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from cfl_cli.core.messages import option
from cfl_cli.errors import DataError, Problem, ResourceError
from cfl_cli.trust.drift import DriftCourse, JudgedBatch
from cfl_cli.trust.intervals import Interval

VERSION = 1
PATIENCE = 60.0  # seconds to wait for another run that has the file


@dataclass(frozen=True)
class CfLine:
    """What a batch says of one CF. None: not known."""

    name: str
    cells: Annotated[int, Field(ge=0)]  # that drift is judged by
    score: float | None
    accuracy: Interval | None
    loss: float | None
    limit: float | None
    evidence: float | None  # before it starts anew after an alarm
    flags: tuple[str, ...]
    course: DriftCourse

    @property
    def drifted(self) -> bool:
        return self.course.drifted_since is not None


@dataclass(frozen=True)
class Line:
    # A history may come from a file that anybody wrote: see `Report`.
    __pydantic_config__: ClassVar = ConfigDict(strict=True, allow_inf_nan=False)

    version: int
    cfl_version: str
    model: str  # SHA-256
    batch: Annotated[int, Field(ge=1)]  # number among those of this model
    checksum: str  # SHA-256 of the batch
    name: str | None  # of its file, without folders
    rows: Annotated[int, Field(ge=0)]
    columns: tuple[CfLine, ...]

    @property
    def identity(self) -> tuple[str, str | None]:  # no two batches of a model have the same
        return self.checksum, self.name

    @classmethod
    def of(cls, judged: JudgedBatch, *, name: str | None) -> "Line":
        report, batch = judged.report, judged.report.batch
        if batch is None or batch.number is None:
            raise ValueError("the report is not one of a numbered batch")
        return cls(
            VERSION,
            report.cfl_version,
            batch.model,
            batch.number,
            batch.checksum,
            name,
            report.rows,
            tuple(
                CfLine(
                    one.name,
                    one.drift.cells if one.drift else 0,
                    one.heldout_score,
                    one.estimated_accuracy,
                    one.drift.loss if one.drift else None,
                    one.drift.limit if one.drift else None,
                    one.drift.evidence if one.drift else None,
                    one.flags,
                    course,
                )
                for one, course in zip(report.columns, judged.courses, strict=True)
            ),
        )

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True)
class Before:
    number: int  # of the batch
    courses: tuple[DriftCourse, ...] | None  # per CF; None: it is the first one of its model
    repeated: bool = False  # is the batch in the history already?


@dataclass(frozen=True)
class History:
    lines: tuple[Line, ...]

    @classmethod
    def from_text(cls, text: bytes, *, name: str) -> "History":
        """Read what was appended; `name` says in an error what file this is."""
        if text and not text.endswith(b"\n"):
            last = text.count(b"\n") + 1
            said = "{name}, line {line}: the line is cut off, perhaps because a run was killed: {remedy}"
            fix = "remove the line, or add a line end if it is complete, and run again"
            raise DataError(Problem("history-cut-off", said, name=name, line=last, remedy=fix))
        lines, seen = [], dict[str, set[tuple[str, str | None]]]()
        for number, part in enumerate(text.split(b"\n")[:-1], start=1):
            place = f"{name}, line {number}"
            line = _line(part, name=place)
            before = seen.setdefault(line.model, set())
            if line.identity in before:
                said = "{file}: this line has the same batch as an earlier line: {remedy}"
                fix = "remove one of them"
                raise DataError(Problem("history-same-batch", said, file=place, remedy=fix))
            if line.batch != len(before) + 1:
                said = "{file}: batch {batch} of its model found, batch {fact} expected: {remedy}"
                fix = "restore the missing line, or sort the lines"
                facts = {"file": place, "batch": line.batch, "fact": len(before) + 1, "remedy": fix}
                raise DataError(Problem("history-batch-order", said, **facts))
            before.add(line.identity)
            lines.append(line)
        return cls(tuple(lines))

    def of_model(self, model: str) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.model == model)

    def before(
        self, model: str, checksum: str, cfs: Sequence[str], *, name: str | None = None
    ) -> Before:
        """Return what precedes a batch of a model that has these CFs.

        It is the same as an earlier one if its rows are, and the name of its file: a few rows may
        well be equal to those of another night.
        """
        own = self.of_model(model)
        same = (i for i, line in enumerate(own) if line.identity == (checksum, name))
        place = next(same, len(own))
        if place == 0:
            return Before(1, None, repeated=bool(own))
        last = own[place - 1]
        if [column.name for column in last.columns] != list(cfs):
            text = "batch {batch} of the history has different CFs from its model: name another file with {option}"
            problem = Problem("history-other-cfs", text, batch=last.batch, option=option("history"))
            raise DataError(problem)
        courses = tuple(column.course for column in last.columns)
        return Before(last.batch + 1, courses, repeated=place < len(own))


def _line(text: bytes, *, name: str) -> Line:
    try:
        line = TypeAdapter(Line).validate_json(text)
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"])) or "the whole"
        said = "{file}: not a line of a cfl history ({place}: {fault}): {remedy}"
        fix = "remove it, or name another file"
        raise DataError(
            Problem("history-damaged", said, file=name, place=place, fault=fault["msg"], remedy=fix)
        ) from None
    if line.version != VERSION:
        said = "{file}: written by cfl {value!r}, in version {version} of the format; this cfl reads version {VERSION}"
        facts = {"value": line.cfl_version, "version": line.version, "VERSION": VERSION}
        raise DataError(Problem("history-newer", said, file=name, **facts))
    return line


def read(path: Path) -> History:
    with _opened(path, os.O_RDONLY) as handle:
        return History.from_text(_content(handle), name=str(path))


class OpenHistory:
    def __init__(self, path: Path, handle: int) -> None:
        self._path, self._handle = path, handle
        self.history = History.from_text(_content(handle), name=str(path))

    def append(self, line: Line) -> None:
        """Add one line, on disk when this returns; what cannot be written leaves no part of it."""
        data = (line.to_json() + "\n").encode()
        size = os.fstat(self._handle).st_size
        try:
            written = os.write(self._handle, data)
            if written == len(data):
                os.fsync(self._handle)
                return
            cause = "no space left"
        except OSError as error:
            cause = error.strerror or str(error)
        with suppress(OSError):
            os.ftruncate(self._handle, size)
        text = "{file}: cannot be written: {cause}"
        raise ResourceError(Problem("history-not-writable", text, file=self._path, cause=cause))


@contextmanager
def to_append(path: Path) -> Iterator[OpenHistory]:
    with _opened(path, os.O_RDWR | os.O_APPEND | os.O_CREAT) as handle:
        yield OpenHistory(path, handle)


def check_appendable(path: Path) -> None:
    """Raise if there is a file that is not a history, or one that nothing can be appended to."""
    if path.exists():
        with _opened(path, os.O_RDWR | os.O_APPEND) as handle:
            OpenHistory(path, handle)


@contextmanager
def _opened(path: Path, how: int) -> Iterator[int]:
    try:
        handle = os.open(path, how | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        cause = getattr(error, "strerror", None) or error
        text = "{file}: cannot be opened as a history: {cause}"
        raise DataError(Problem("history-not-readable", text, file=path, cause=cause)) from error
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            text = "{file}: not a regular file: name another one with {option}"
            problem = Problem("history-not-a-file", text, file=path, option=option("history"))
            raise DataError(problem)
        _lock(handle, path, shared=how == os.O_RDONLY)
        yield handle
    finally:
        os.close(handle)


def _lock(handle: int, path: Path, *, shared: bool) -> None:
    deadline = monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            if monotonic() > deadline:
                text = "{file}: another run is using it: {remedy}"
                problem = Problem(
                    "history-in-use",
                    text,
                    file=path,
                    remedy="wait until that run has ended, then run again",
                )
                raise ResourceError(problem) from None
            sleep(0.05)
        except OSError:  # a file system without locks
            return
        else:
            return


def _content(handle: int) -> bytes:
    parts = []
    os.lseek(handle, 0, os.SEEK_SET)
    while part := os.read(handle, 1 << 20):
        parts.append(part)
    return b"".join(parts)
