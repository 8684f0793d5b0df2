"""What `cfl init` drafts for a messy file: the schema as it is read back, and its marks."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from typer.testing import CliRunner

from benchmarks.messy.files import MessyFile
from cfl_cli.cli.app import app
from cfl_cli.errors import CflError
from cfl_cli.schema.model import Schema


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    said: str  # on stderr
    crashed: str = ""  # an exception that a user would see as a traceback

    @property
    def lines(self) -> list[str]:
        """What it said, line by line, without the hint at the help."""
        return [line for line in self.said.splitlines() if not line.startswith("see ")]


def cfl(*arguments: str | Path, text: bytes | None = None) -> Ended:
    result = CliRunner().invoke(app, [str(part) for part in arguments], input=text)
    error = result.exception
    crashed = "" if error is None or isinstance(error, SystemExit) else repr(error)
    return Ended(result.exit_code, result.stdout, result.stderr, crashed)


MARK = "# ?"
QUICK = ("--method", "graph", "--iterations", "5", "--folds", "0", "--quiet")


@dataclass(frozen=True)
class Draft:
    """A drafted schema, or why there is none."""

    text: str
    schema: Schema | None
    notes: dict[str, str]  # the lines of each column, with their comments
    above: str  # the lines before the columns
    why: str = ""

    def is_marked(self, name: str) -> bool:
        return MARK in self.notes.get(name, "")

    def points_out(self, name: str) -> bool:
        """Return whether a comment says that a column looks like a CF."""
        comment = self.notes.get(name, "").partition("#")[2]
        return "--cf" in comment or "complementary" in comment


def draft(file: MessyFile, folder: Path, *, told: bool = False, name_cfs: bool = True) -> Draft:
    """Return what is drafted for a file; `told` names its delimiter and encoding."""
    path = written(file, folder)
    named = [part for cf in file.cfs for part in ("--cf", cf)] if name_cfs else []
    ended = cfl("init", path, *named, *how(file, told=told))
    if ended.code or ended.crashed:
        return Draft("", None, {}, "", ended.crashed or ended.said.strip())
    notes, above = commented(ended.out)
    try:
        schema = Schema.parse(ended.out, "the draft") if name_cfs else None
    except CflError as error:
        return Draft(ended.out, None, notes, above, str(error))
    return Draft(ended.out, schema, notes, above)


def written(file: MessyFile, folder: Path) -> Path:
    path = folder / f"{file.name}{file.suffix}"
    path.write_bytes(file.data())
    return path


def how(file: MessyFile, *, told: bool) -> list[str]:
    if not told:
        return []
    encoding = [] if file.encoding.startswith("utf-8") else ["--encoding", file.encoding]
    return ["--delimiter", file.delimiter, *encoding]


def commented(text: str) -> tuple[dict[str, str], str]:
    """Return the lines of every column by its name, and the lines above the columns.

    A comment on lines of its own belongs to the column below it, unless it is indented deeper.
    """
    lines = text.splitlines()
    starts = _starts(text)
    if not starts:
        return {}, text
    places = sorted(starts.items(), key=lambda one: one[1])
    indent = len(lines[places[0][1]]) - len(lines[places[0][1]].lstrip())
    firsts = []
    for _, place in places:
        first = place
        while first > 0 and lines[first - 1].startswith(" " * indent + "#"):
            first -= 1
        firsts.append(first)
    last = places[-1][1] + 1
    while last < len(lines) and lines[last].startswith(" " * (indent + 1)):
        last += 1
    ends = [*firsts[1:], last]
    notes = {
        name: "\n".join(lines[first:end])
        for (name, _), first, end in zip(places, firsts, ends, strict=True)
    }
    return notes, "\n".join(lines[: firsts[0]])


def _starts(text: str) -> dict[str, int]:
    root: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    for key, value in root.value:
        if key.value == "columns":
            return {name.value: name.start_mark.line for name, _ in value.value}
    return {}


def passes(file: MessyFile, made: Draft, folder: Path, *, told: bool) -> tuple[str, str]:
    path, schema = folder / f"{file.name}{file.suffix}", folder / f"{file.name}.yml"
    schema.write_text(made.text, encoding="utf-8")
    options = how(file, told=told)
    checked = cfl("check", path, "--schema", schema, *options)
    out = folder / f"{file.name}.out.csv"
    run = cfl("impute", path, "--schema", schema, "--out", out, "--overwrite", *QUICK, *options)
    answers = []
    for ended in (checked, run):
        failed = ended.code or ended.crashed
        answers.append((ended.crashed or ended.said.strip() or "failed") if failed else "")
    return answers[0], answers[1]
