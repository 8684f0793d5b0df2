"""How much of the drafts is right, and whether what is wrong is marked as doubtful."""

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from benchmarks.messy.drafts import MARK, Draft, draft, passes
from benchmarks.messy.files import Column, MessyFile
from cfl_cli.schema.model import Complementary, Ordinary, Schema


def problems(column: Column, schema: Schema, *, is_marked: bool) -> list[str]:
    """Return what is wrong with a column's draft; nothing if it is right."""
    drafted = schema.columns.get(column.name)
    type_ = getattr(drafted, "type", None) or getattr(drafted, "role", "ignore")
    if type_ not in column.types:
        return [f"{type_}, not {' or '.join(column.types)}"]
    found = []
    if isinstance(drafted, Ordinary):
        found = [*_ordinary(column, drafted, schema)]
    elif isinstance(drafted, Complementary):
        found = [*_complementary(column, drafted, schema)]
    if column.marked and not is_marked and not found:
        found = ["not marked as doubtful"]
    return found


def missing_problems(column: Column, schema: Schema) -> Iterator[str]:
    """Yield the codes that count as values, and the values that count as missing."""
    missing = {text.strip() for text in schema.missing_in(column.name)}
    for code in column.codes:
        if code.strip() not in missing:
            yield f"{code!r} is not missing"
    parts = {cell.strip() for cell in column.cells}
    if column.separator:
        parts |= {part.strip() for part in _parts(column)}
    for text in sorted(parts - {"", *column.codes, *column.either}):
        if text in missing:
            yield f"{text!r} is missing"


def _parts(column: Column) -> Iterator[str]:
    for cell in column.cells:
        yield from cell.split(column.separator)


def _ordinary(column: Column, drafted: Ordinary, schema: Schema) -> Iterator[str]:
    yield from missing_problems(column, schema)
    if drafted.type == "numeric":
        decimal = schema.decimal_of(column.name)
        if decimal not in column.decimals:
            yield f"decimal {decimal!r}, not {column.decimals[0]!r}"
        unit = drafted.unit.strip() if drafted.unit else None
        if unit not in column.units:
            yield f"unit {unit!r}, not {column.units[0]!r}"
    if drafted.type == "date":
        yield from _date(column, drafted.format or "")
    if drafted.type == "ordered":
        yield from _order(column, drafted.values or ())
    elif drafted.values is not None:
        yield from _covered(column, drafted.values)


def seen(column: Column) -> list[str]:
    left = {"", *column.codes, *column.either}
    return [
        text for text in dict.fromkeys(cell.strip() for cell in column.cells) if text not in left
    ]


def _date(column: Column, form: str) -> Iterator[str]:
    if form in column.formats or not column.formats:
        return
    right = next((one for one in column.formats if one), "")
    if not form or not right or not _same_days(seen(column), form, right):
        yield f"format {form!r}, not {right!r}"


def _same_days(texts: list[str], form: str, right: str) -> bool:
    try:
        return all(
            datetime.strptime(text, form) == datetime.strptime(text, right)  # noqa: DTZ007 — a table's own time
            for text in texts
        )
    except ValueError:
        return False


def _order(column: Column, values: tuple[str, ...]) -> Iterator[str]:
    texts = seen(column)
    known = [value.strip() for value in values if value.strip() in texts]
    unlisted = [text for text in texts if text not in known]
    if unlisted:
        yield f"{unlisted[0]!r} is not in the values"
    order = list(column.order) or _by_number(texts)
    right = [text for text in order if text in texts] or known  # else any order
    if not unlisted and known not in (right, right[::-1]):
        yield f"order {known}, not {right}"


def _by_number(texts: list[str]) -> list[str]:
    """Return the texts sorted as numbers; none if they are not."""
    try:
        return sorted(texts, key=lambda text: float(text.replace(",", ".")))
    except ValueError:
        return []


def _covered(column: Column, values: tuple[str, ...]) -> Iterator[str]:
    known = {_alike(value) for value in values}
    for text in seen(column):
        if _alike(text) not in known:
            yield f"{text!r} is not in the values"
            return


def _alike(text: str) -> str:
    return text.strip().casefold().removesuffix(".0")


def _complementary(column: Column, drafted: Complementary, schema: Schema) -> Iterator[str]:
    yield from missing_problems(column, schema)
    for what, found, right in (
        ("separator", drafted.separator, column.separator),
        ("exact", drafted.exact, column.exact),
    ):
        if (found or "").strip() != (right or "").strip():
            yield f"{what} {found!r}, not {right!r}"
    values = {value.strip() for value in drafted.values or ()}
    odd = (values ^ {*column.domain}) - {*column.either}
    if odd:
        yield f"{len(odd)} values too many or too few, such as {min(odd)!r}"


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
    others = []
    for file in scores:
        many = [one.column.name for one in file.columns if one.column.kind == "several answers"]
        others += [name for name in file.pointed_out if name not in (*file.cfs, *many)]
    yield f"| CFs pointed out if not named | {hits} of {len(cfs)} | {hits / max(1, len(cfs)):.0%} |"
    yield f"| others pointed out as CFs | {len(others)} | |"


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
