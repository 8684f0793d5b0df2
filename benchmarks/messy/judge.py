"""Whether a drafted column is one that a careful colleague would accept, and what is wrong."""

from collections.abc import Iterator
from datetime import datetime

from benchmarks.messy.files import Column
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
    """Return the texts that are values, in order of first appearance."""
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
