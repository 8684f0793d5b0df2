"""How much of the drafts is right, and whether what is wrong is marked as doubtful."""

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.messy.drafts import MARK, Draft, draft, passes
from benchmarks.messy.files import Column, MessyFile
from benchmarks.messy.judge import problems


@dataclass(frozen=True)
class ColumnScore:
    """How a column was drafted."""

    file: str
    column: Column
    wrong: tuple[str, ...]
    is_marked: bool
    drafted: bool  # there is a draft at all

    @property
    def is_right(self) -> bool:
        return not self.wrong


@dataclass(frozen=True)
class FileScore:
    """How a file was drafted."""

    name: str
    columns: tuple[ColumnScore, ...]
    why: str  # there is no draft
    is_found: bool  # delimiter and encoding
    check: str  # what `check` says against the draft
    impute: str
    pointed_out: tuple[str, ...] = ()  # columns that look like CFs if none is named
    cfs: tuple[str, ...] = ()


def score(files: Iterable[MessyFile], *, told: bool = False, run: bool = True) -> list[FileScore]:
    with tempfile.TemporaryDirectory(prefix="cfl-messy-") as folder:
        return [score_file(file, Path(folder), told=told, run=run) for file in files]


def score_file(file: MessyFile, folder: Path, *, told: bool, run: bool) -> FileScore:
    made = draft(file, folder, told=told)
    if made.schema is None:
        columns = [ColumnScore(file.name, c, ("no draft",), False, False) for c in file.columns]
        return FileScore(file.name, tuple(columns), made.why, False, "no draft", "no draft")
    columns = [_column(file, column, made) for column in file.columns]
    names = {name for name in made.notes if name}
    is_found = names >= {column.name for column in file.columns if column.name}
    answers = passes(file, made, folder, told=told) if run else ("", "")
    alone = draft(file, folder, told=told, name_cfs=False)
    pointed = tuple(name for name in alone.notes if alone.points_out(name))
    return FileScore(
        file.name, tuple(columns), "", is_found, *answers, pointed_out=pointed, cfs=tuple(file.cfs)
    )


def _column(file: MessyFile, column: Column, made: Draft) -> ColumnScore:
    assert made.schema is not None
    is_marked = made.is_marked(column.name)
    wrong = problems(column, made.schema, is_marked=is_marked)
    if wrong and not is_marked:
        is_marked = _marked_above(wrong, made)
    return ColumnScore(file.name, column, tuple(wrong), is_marked, drafted=True)


def _marked_above(wrong: list[str], made: Draft) -> bool:
    """Return whether a line above the columns doubts what is wrong: a code, the decimal sign."""
    doubted = [line for line in made.above.splitlines() if MARK in line]
    return all(
        any(_subject(one) in line for line in doubted)
        for one in wrong
        if one.endswith("missing") or one.startswith("decimal")
    ) and all(one.endswith("missing") or one.startswith("decimal") for one in wrong)


def _subject(problem: str) -> str:
    return problem.split("'")[1] if problem.endswith("missing") else "decimal"


def report(scores: list[FileScore], *, by_kind: bool = True) -> str:
    every = [one for file in scores for one in file.columns]
    lines = [*_files(scores), ""]
    lines += ["| columns | n | right | wrong, marked | right, marked in vain |"]
    lines += ["| --- | ---: | ---: | ---: | ---: |"]
    kinds = sorted({one.column.kind for one in every}) if by_kind else []
    for kind in kinds:
        lines.append(_line(kind, [one for one in every if one.column.kind == kind]))
    lines.append(_line("all", every))
    return "\n".join(lines)


def _files(scores: list[FileScore]) -> Iterator[str]:
    n = len(scores)
    yield "| files | n | share |"
    yield "| --- | ---: | ---: |"
    for what, count in (
        ("drafted", sum(not file.why for file in scores)),
        ("delimiter and encoding found", sum(file.is_found for file in scores)),
        ("the draft passes check", sum(not file.check for file in scores)),
        ("imputed with the draft as it is", sum(not file.impute for file in scores)),
    ):
        yield f"| {what} | {count} of {n} | {count / n:.0%} |"
    cfs = [name for file in scores for name in file.cfs]
    hits = sum(name in file.pointed_out for file in scores for name in file.cfs)
    others = [
        name
        for file in scores
        for name in file.pointed_out
        if name not in file.cfs and not _is_many(file, name)
    ]
    yield f"| CFs pointed out if not named | {hits} of {len(cfs)} | {hits / max(1, len(cfs)):.0%} |"
    yield f"| others pointed out as CFs | {len(others)} | |"


def _is_many(file: FileScore, name: str) -> bool:
    kinds = {one.column.name: one.column.kind for one in file.columns}
    return kinds.get(name) == "several answers"


def _line(kind: str, those: list[ColumnScore]) -> str:
    right = [one for one in those if one.is_right]
    wrong = [one for one in those if not one.is_right]
    sure = [one for one in right if not one.column.doubtful]
    marked = sum(one.is_marked for one in wrong)
    vain = sum(one.is_marked for one in sure)
    return (
        f"| {kind} | {len(those)} | {len(right) / len(those):.0%} |"
        f" {f'{marked} of {len(wrong)}' if wrong else ''} |"
        f" {f'{vain} of {len(sure)}' if sure else ''} |"
    )


def failures(scores: list[FileScore]) -> Iterator[str]:
    for file in scores:
        if file.why:
            yield f"{file.name}: no draft: {file.why}"
        for one in file.columns if not file.why else ():
            if not one.is_right:
                mark = "marked" if one.is_marked else "NOT MARKED"
                yield f"{file.name}: {one.column.name}: {'; '.join(one.wrong)} ({mark})"
        for what, said in (("check", file.check), ("impute", file.impute)):
            if said and not file.why:
                yield f"{file.name}: {what}: {said.splitlines()[0]}"


def vain_marks(scores: list[FileScore]) -> Iterator[str]:
    for file in scores:
        for one in file.columns:
            if one.is_right and one.is_marked and not one.column.doubtful:
                yield f"{file.name}: {one.column.name}"
