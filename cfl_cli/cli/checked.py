"""Rows that a person looked up, read as spreadsheets save them, whatever DATA looks like."""

from dataclasses import replace
from typing import Any

from cfl_cli.errors import DataError
from cfl_cli.tables import files
from cfl_cli.tables import table as tables
from cfl_cli.tables.dialect import Advice, Fix

_SIGNS = ",;\t|"  # that spreadsheets separate cells with


def read_looked_up(
    place: tables.Place, key: str, *, encoding: str | None = None, option: str | None = None
) -> Any:
    """Return the table with the column `key`; `option` is what says its encoding, if anything does."""
    is_text = "delimiter" in place.format.kind.dialect and not place.format.packing
    if not is_text or place.path is None:
        return tables.read(place).frame
    sign = _delimiter(files.read(place.path), key, encoding or "utf-8")
    try:
        return tables.read(place, delimiter=sign, encoding=encoding).frame
    except DataError as error:
        if error.code != "file-encoding":
            raise
        # A schema says how DATA is written, not what a person saved.
        own = []
        for one in error.problems:
            remedy = one.remedy
            if option is None:
                remedy = "save it as CSV in UTF-8"
            elif isinstance(remedy, Fix):
                remedy = replace(remedy, name=option, in_schema=False)
            elif isinstance(remedy, Advice):
                remedy = replace(remedy, name=option)
            own.append(one.changed(remedy=remedy))
        raise DataError(*own) from error


def _delimiter(data: bytes, key: str, encoding: str) -> str | None:
    first, _, _ = data.decode(encoding, errors="replace").partition("\n")
    if first.lower().startswith("sep="):
        return None  # which the reader understands
    header = first.strip("\r").replace('"', "")
    before, _, after = header.partition(key)
    near = after[:1] or before[-1:]
    if near and near in _SIGNS:
        return near
    return max(_SIGNS, key=header.count)
