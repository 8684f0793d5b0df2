"""Deliberate mistakes, each through the command line, and whether what is said leads the right way.

    python -m benchmarks.messy mistakes [--all]

What can be judged by a program is judged: the exit code, one line, no traceback, nothing written;
that the place and the value at fault are named; and that the way out is what to type. Whether a
line reads well only a reader can say, so all of them are printed with `--all`.
"""

import contextlib
import os
import shlex
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.messy.drafts import Ended, cfl
from benchmarks.messy.mistaken import COMMANDS, FILES, SCHEMAS, Mistake, lay_out

SHOWN = 3  # lines of what was said
EVERY = (*COMMANDS, *FILES, *SCHEMAS)


@dataclass(frozen=True)
class Judged:
    """What was said of a mistake, and what is lacking."""

    mistake: Mistake
    ended: Ended
    lacks: tuple[str, ...] = field(default=())

    @property
    def line(self) -> str:
        lines = [*self.ended.lines, *self.ended.out.splitlines()]
        return " ⏎ ".join(lines[:SHOWN]) + (" ⏎ …" if len(lines) > SHOWN else "")


def attempt(mistake: Mistake) -> Judged:
    with tempfile.TemporaryDirectory(prefix="cfl-mistake-") as folder:
        lay_out(Path(folder), mistake.files)
        with _inside(folder):
            for command in mistake.before:
                cfl(*shlex.split(command))
            there = {*Path().iterdir()}
            ended = cfl(*shlex.split(mistake.command), text=mistake.text)
            new = sorted({*Path().iterdir()} - there)
    return Judged(mistake, ended, tuple(_lacks(mistake, ended, new)))


@contextlib.contextmanager
def _inside(folder: str) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _lacks(mistake: Mistake, ended: Ended, new: list[Path]) -> Iterator[str]:
    if ended.crashed:
        yield f"traceback: {ended.crashed[:80]}"
    elif not (mistake.understood and ended.code == 0):
        yield from _unsaid(mistake, ended)
        if ended.code and new:
            yield f"left {new[0]}"


def _unsaid(mistake: Mistake, ended: Ended) -> Iterator[str]:
    if ended.code not in mistake.codes:
        yield f"exit code {ended.code}"
    said = f"{ended.said}\n{ended.out}"
    if ended.code and len(ended.lines) > mistake.lines:
        yield f"{len(ended.lines)} lines"
    for name in mistake.names:
        if name.casefold() not in said.casefold():
            yield f"does not name {name}"
    if mistake.suggests and not any(one.casefold() in said.casefold() for one in mistake.suggests):
        yield f"does not suggest {mistake.suggests[0]}"
    for word in mistake.astray:
        if word.casefold() in said.casefold():
            yield f"leads astray: {word}"


def judge_all() -> list[Judged]:
    return [attempt(mistake) for mistake in EVERY]


def report(judged: list[Judged]) -> str:
    lines = ["| mistakes | n | one right line | exit code | traceback |"]
    lines += ["| --- | ---: | ---: | ---: | ---: |"]
    for kind in [*dict.fromkeys(one.mistake.kind for one in judged), "all"]:
        those = [one for one in judged if kind in {one.mistake.kind, "all"}]
        right = sum(not one.lacks for one in those)
        first = Counter(word.split()[0] for one in those for word in one.lacks)
        lines.append(
            f"| {kind} | {len(those)} | {right} | {len(those) - first['exit']} |"
            f" {first['traceback:']} |"
        )
    return "\n".join(lines)


def shown(judged: list[Judged], *, every: bool) -> Iterator[str]:
    for one in judged:
        if every or one.lacks:
            verdict = "; ".join(one.lacks) or "right"
            yield f"{one.mistake.name}: cfl {one.mistake.command}\n    {one.line}\n    → {verdict}"
