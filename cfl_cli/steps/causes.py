"""Why cells do not fit their column: the different wrong texts, each under the first cause it has.

A change of the schema is proposed only if it mends every cell of the cause and harms no cell that
fits, which `cf_causes` and `number_causes` try. Where none does, the table is to be corrected.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cfl_cli.core.messages import meant, quote
from cfl_cli.schema.model import Schema
from cfl_cli.steps.findings import Cause, Patch
from cfl_cli.texts import missing_codes
from cfl_cli.texts.tally import BLANKS

LONGEST = 60  # of a list that is shown


def in_values(
    wrong: Sequence[str], name: str, values: Sequence[str], schema: Schema
) -> Iterator[Cause]:
    """Yield the causes of cells that should each hold one of some values."""
    left = dict.fromkeys(wrong)
    yield from codes(left, name, schema, missing_codes.is_code)
    spellings = {folded(value): value for value in values}
    alike = [text for text in left if folded(text) in spellings]
    if alike:
        yield spelled(alike, spellings[folded(alike[0])])
        take(left, alike)
    if left and getattr(schema.columns[name], "type", "") == "binary":
        yield Cause(
            "binary-values",
            "are not among the column's `values`",
            "list them under `missing`",
            "correct them",
            missing([*left], name, schema).patch,
            [*left],
        )
    elif left:
        listed = "in the domain" if name in schema.complementary else "among the column's `values`"
        yield not_in_domain({text: [text] for text in left}, values, name, schema, listed=listed)


def required(name: str) -> Cause:
    """Return the cause of missing cells in a column that may not have any."""
    return Cause(
        "required",
        "are missing despite `on_missing: error`",
        "set on_missing: fill",
        "fill them in",
        patched(name, on_missing="fill"),
    )


def third_values(texts: Sequence[str], name: str, schema: Schema) -> Iterator[Cause]:
    """Yield the causes of a binary column's cells that hold neither of its two commonest values."""
    left = dict.fromkeys(texts)
    yield from codes(left, name, schema, missing_codes.is_code)
    if left:
        yield Cause(
            "binary-values",
            "hold a third value, but a binary column has two",
            "list them under `missing`, or set type: categorical",
            patch=patched(name, type="categorical"),
        )


def codes(
    left: dict[str, None], name: str, schema: Schema, is_code: Callable[[str], bool]
) -> Iterator[Cause]:
    """Yield that cells say that the value is missing, if any do, and leave them out."""
    found = [text for text in left if is_code(text.strip(BLANKS))]
    if found:
        cause = missing(found, name, schema)
        if all(text.strip(BLANKS).startswith("#") for text in found):  # as in #N/A
            cause = replace(cause, what="are the error of a formula", correct="correct them")
        yield cause
        take(left, found)


def missing(texts: Sequence[str], name: str, schema: Schema) -> Cause:
    """Return that cells say that the value is missing."""
    own = getattr(schema.columns[name], "missing", None) or ()
    listed = pasteable([*own, *texts])
    return Cause(
        "missing-code",
        "say that the value is missing",
        f"set missing: {listed}" if len(listed) <= LONGEST else "list them under `missing`",
        patch=patched(name, missing=[*own, *texts]),
        texts=texts,
    )


def spelled(texts: Sequence[str], value: str) -> Cause:
    """Return that cells hold values but for blanks or case."""
    return Cause(
        "blanks-case",
        "match a value but for blanks or case",
        correct=f"write {quote(value)}" if len(texts) == 1 else "write them as the values are",
        texts=texts,
    )


def not_in_domain(
    foreign: Mapping[str, Sequence[str]],
    values: Sequence[str],
    name: str,
    schema: Schema,
    *,
    listed: str = "in the domain",
) -> Cause:
    """Return that cells name values that the column does not have."""
    named = [*dict.fromkeys(part.strip(BLANKS) for parts in foreign.values() for part in parts)]
    missing_in = schema.missing_in(name)
    near = meant(named[0], values)
    if len(named) > 1:
        what = f"name {len(named):,} values that are not {listed}, such as {quote(named[0])}{near}"
    elif all(text.strip(BLANKS) == named[0] for text in foreign):
        what = f"are not {listed}{near}"
    else:
        what = f"name {quote(named[0])}, which is not {listed}{near}"
    impossible = any(not part or part in missing_in for part in named)
    return Cause(
        "not-in-domain",
        what,
        "" if impossible else f"add {'them' if len(named) > 1 else 'it'} to the column's `values`",
        "correct them",
        None if impossible else patched(name, values=[*values, *named]),
        [*foreign],
    )


def pasteable(value: object) -> str:
    """Return a value as it can be pasted into a schema."""
    return json.dumps(value, ensure_ascii=False)


def folded(text: str) -> str:
    """Return the text without what spellings of one value differ in."""
    return " ".join(text.casefold().split())


def patched(name: str, **keys: Any) -> Patch:
    """Return the change of some keys of a column."""
    return {"columns": {name: keys}}


def take(left: dict[str, None], taken: Cause | Iterable[str]) -> None:
    """Leave out what is explained."""
    for text in taken.texts or () if isinstance(taken, Cause) else taken:
        left.pop(text, None)
