"""What it means that a text table has other column names than the schema."""

import csv
from collections.abc import Mapping, Sequence
from contextlib import suppress

from cfl_cli.core.messages import quote
from cfl_cli.errors import DataError
from cfl_cli.schema.model import Schema
from cfl_cli.tables.blocks import read_options
from cfl_cli.tables.encodings import way_out
from cfl_cli.tables.table import Place


def check_names(
    names: Sequence[str], place: Place, signs: Mapping[str, str | None], schema: Schema
) -> None:
    """Raise if names are not the schema's: another sign separates them, or they are cells.

    An identifier that is spelled otherwise is refused, too: nothing else would notice, and messages
    could show its cells.
    """
    _check_identifiers(names, place, schema)
    used = {*schema.ordinary, *schema.complementary}
    kind = place.format.kind
    if used <= {*names} or not kind.delimiter:
        return
    from cfl_cli.tables.sniff import DELIMITERS, is_number, shown  # noqa: PLC0415 — most names are right

    number = next((name for name in names if is_number(name)), None)
    if number is not None and signs.get("header") != "none" and not {*names} & {*schema.columns}:
        such = "" if schema.identifiers else f", such as {quote(number)}"  # it may be one of them
        raise DataError(
            f"{place.name}: line 1 looks like data{such}: add a header above "
            "it, a line that names the columns, or add --header none, also to `cfl init`",
            cause="file-header",
        )
    now = read_options(place, set_aside=False, **signs).signs.get("delimiter", kind.delimiter)
    for sign in DELIMITERS:
        if used <= _cells_of(now.join(names), sign):
            do = way_out("delimiter", sign, in_schema=True)
            raise DataError(
                f"{place.name}: line 1: {shown(sign)} separates the columns of the schema, not "
                f"{shown(now)}: {do}",
                cause="file-delimiter",
            )


def _check_identifiers(names: Sequence[str], place: Place, schema: Schema) -> None:
    others = {_bare(name): name for name in names if name not in schema.columns}
    for one in sorted(schema.identifiers.difference(names)):
        if near := others.get(_bare(one)):
            raise DataError(
                f"{place.name}: column {quote(one)} is an identifier in the schema but not in the "
                f"table (did you mean {quote(near)}?): give it the same name in both, or mark "
                f"{quote(near)} too"
            )


def _bare(name: str) -> str:
    """Return a name in small letters, without what is neither letter nor digit."""
    return "".join(filter(str.isalnum, name.casefold()))


def _cells_of(line: str, sign: str) -> set[str]:
    """Return the cells of a line that a sign separates; none if no line looks like this."""
    with suppress(csv.Error):  # such as a line break in a name
        return {*next(csv.reader([line], delimiter=sign), [])}
    return set()
