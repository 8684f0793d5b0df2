"""Results as files: one for each task, which appears whole or not at all.

OUT/machine.json                what the results depend on
OUT/imputations/NAME.json       scores and flags per CF
OUT/imputations/NAME.npz        confidences per CF, where predictions want them
OUT/predictions/NAME.json       the F1 of a classifier
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from benchmarks.machine import Facts
from benchmarks.paper.plan import Imputation, Task
from cfl_cli.core.arrays import Floats, Ints

KINDS = ("imputations", "predictions")
# of the machine's facts; others decide the time only
DECISIVE = ("python", "versions", "sources", "recipe")


class UnfitError(ValueError):
    """What a folder holds cannot be used."""


class Answers(NamedTuple):
    """What a method says of one CF."""

    soft: Floats  # n × K confidences
    hard: Ints  # n places in the domain


@dataclass(frozen=True)
class Store:
    """A folder of results."""

    folder: Path

    def path(self, task: Task) -> Path:
        kind = KINDS[0] if isinstance(task, Imputation) else KINDS[1]
        return self.folder / kind / f"{task.name}.json"

    def facts(self, task: Task) -> Facts | None:
        path = self.path(task)
        return _read(path) if path.exists() else None

    def keep(self, task: Task, facts: Facts) -> None:
        text = json.dumps(facts, indent=1, allow_nan=False) + "\n"
        whole(self.path(task), lambda file: file.write(text.encode()))

    def keep_answers(self, task: Imputation, answers: dict[str, Answers]) -> None:
        """Keep what a method says of every CF; confidences are rounded to single precision."""
        arrays: dict[str, Any] = {}
        for cf, (soft, hard) in answers.items():
            arrays |= {f"soft {cf}": soft.astype(np.float32), f"hard {cf}": hard.astype(np.int16)}
        path = self.path(task).with_suffix(".npz")
        whole(path, lambda file: np.savez_compressed(file, allow_pickle=False, **arrays))

    def answers(self, task: Imputation, cf: str) -> Answers:
        with np.load(self.path(task).with_suffix(".npz")) as held:
            return Answers(held[f"soft {cf}"].astype(float), held[f"hard {cf}"].astype(np.int64))

    def check(self, machine: Facts) -> None:
        """Raise if what is held depends on other versions, or note those of the first run."""
        path = self.folder / "machine.json"
        if path.exists():
            held = _read(path)
            changed = [key for key in DECISIVE if held.get(key) != machine[key]]
            if changed:
                raise UnfitError(
                    f"{self.folder} holds results of a run with other {', '.join(changed)}: "
                    "start again with --fresh, or choose another --out"
                )
        else:
            self.note(machine)

    def note(self, machine: Facts) -> None:
        text = json.dumps(machine, indent=1) + "\n"
        whole(self.folder / "machine.json", lambda file: file.write(text.encode()))

    def forget(self) -> None:
        for kind in KINDS:
            for path in (self.folder / kind).glob("*"):
                if path.suffix in {".json", ".npz"}:
                    path.unlink()
        (self.folder / "machine.json").unlink(missing_ok=True)


def _read(path: Path) -> Facts:
    try:
        held: Facts = json.loads(path.read_text())
    except ValueError as error:
        raise UnfitError(
            f"{path} is damaged: remove it, and go on with the same command"
        ) from error
    return held


def whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file that appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with draft.open("wb") as file:
            write(file)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
