"""Which parts of a stage are done, as lines of JSON: first how the rows are cut, then the marks.

    {"rows": 100000, "at_once": 4096, "slices": 3}
    {"first": 0, "last": 12288, "results": [null, null, null], "checksum": 907060870}

A mark is written after its data, and is on the disk when `add` returns. The checksum is of the
results and of what the kernel says it has written; whoever reads a mark compares it. A last line
that a kill or a power cut has torn does not count, nor does anything after it.
"""

import json
import os
from pathlib import Path
from typing import Any, Self

from cfl_cli.core.parallel import slices
from cfl_cli.core.quick import dataclass
from cfl_cli.errors import DataError


@dataclass(frozen=True)
class Cut:
    """How the rows of a stage are cut: into slices, and these into tasks."""

    rows: int
    at_once: int  # rows of a slice
    slices: int  # of a task

    def tasks(self) -> list[list[slice]]:
        """Return the slices of every task."""
        parts = slices(self.rows, self.at_once)
        return [parts[at : at + self.slices] for at in range(0, len(parts), self.slices)]


@dataclass(frozen=True)
class Marks:
    """A stage's file of marks."""

    path: Path
    cut: Cut
    done: dict[int, list[Any]]  # the results of tasks that are done, by their first row
    sums: dict[int, int]  # their checksums

    @classmethod
    def opened(cls, path: Path, cut: Cut) -> Self:
        """Return the marks that are there, with the cut of those; otherwise begin with `cut`."""
        lines, size = _whole_lines(path)
        if not lines:
            made = cls(path, cut, {}, {})
            _write(path, {"rows": cut.rows, "at_once": cut.at_once, "slices": cut.slices}, at=0)
            return made
        with path.open("r+b") as file:
            file.truncate(size)
        try:
            before = Cut(**lines[0])
            done = {mark["first"]: mark["results"] for mark in lines[1:]}
            sums = {mark["first"]: mark["checksum"] for mark in lines[1:]}
        except (TypeError, KeyError) as error:
            raise DataError(
                f"{path}: not what a run has written: remove the run's folder"
            ) from error
        if before.rows != cut.rows:
            told = f"its stage has {before.rows:,} rows, now {cut.rows:,}"
            raise DataError(f"{path}: {told}: remove the run's folder to begin anew")
        return cls(path, before, done, sums)

    def add(self, task: list[slice], results: list[Any], checksum: int) -> None:
        """Mark a task as done, for good."""
        first, last = task[0].start, task[-1].stop
        mark = {"first": first, "last": last, "results": results, "checksum": checksum}
        _write(self.path, mark)
        self.done[first], self.sums[first] = results, checksum


def _write(path: Path, line: dict[str, Any], *, at: int | None = None) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as file:
        if at is not None:
            file.truncate(at)
        file.write(f"{json.dumps(line)}\n".encode())
        file.flush()
        os.fsync(file.fileno())


def _whole_lines(path: Path) -> tuple[list[Any], int]:
    """Return the lines up to the first that is not whole, and how many bytes they are."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return [], 0
    found: list[Any] = []
    size = 0
    for line in content.splitlines(keepends=True):
        try:
            value = json.loads(line)
        except ValueError:
            break
        if not line.endswith(b"\n") or not isinstance(value, dict):
            break
        found.append(value)
        size += len(line)
    return found, size
