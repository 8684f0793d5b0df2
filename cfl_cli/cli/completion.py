"""The names of columns that a shell completes: those of the table that is typed already.

A shell waits for them, so no more than the header is read, and nothing that is wrong with the file
is an error here. Shells evaluate what they are offered, so only plain names are.
"""

import csv
import gzip
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from cfl_cli.tables import formats
from cfl_cli.tables.dialect import TAB

HEADER = 1 << 16  # bytes that are read to find the header
_TABLES = ("data", "answers", "new")  # arguments that name a table
_PLAIN = re.compile(r"[\w .,:/+%@=()-]+")


def columns(given: Mapping[str, Any], incomplete: str, *, cfs: bool) -> list[str]:
    """Return the columns whose names begin so; `cfs` are, in a table that was imputed, its CFs."""
    table = next((given[name] for name in _TABLES if given.get(name)), None)
    names: list[str] = []
    if isinstance(table, str) and os.path.isfile(table):  # noqa: PTH113 — no error for odd names
        with suppress(Exception):  # a damaged file, one of another format: nothing to offer
            names = _header(Path(table), given.get("delimiter"))
    if cfs:
        imputed = [one for one in names if any(_is_new(name, one) for name in names)]
        names = imputed or names
    taken = {one for key in ("cf", "ignore", "key") for one in given.get(key) or ()}
    fit = [one for one in names if one.startswith(incomplete) and _PLAIN.fullmatch(one)]
    in_bash = os.environ.get("_CFL_COMPLETE") == "complete_bash"  # others quote names themselves
    plain = [one for one in fit if one not in taken]
    return [re.sub("([ ()])", r"\\\1", one) for one in plain] if in_bash else plain


def _is_new(name: str, cf: str) -> bool:
    return name == f"{cf}_imputed" or name.startswith(f"{cf}__")


def _header(path: Path, delimiter: str | None) -> list[str]:
    form = formats.of_path(path, option="")
    if form.kind.name in ("parquet", "arrow"):
        import polars as pl  # takes a while, and text tables need none of it

        read = pl.read_parquet_schema if form.kind.name == "parquet" else pl.read_ipc_schema
        return [*read(path)]
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rb") as file:
        lines = file.read(HEADER).decode("utf-8-sig").splitlines()
    first = next(line for line in lines if line.strip())
    if form.kind.name == "jsonl":
        return [*json.loads(first)]
    usual = form.kind.delimiter or ","
    sign = TAB.get(delimiter, delimiter) if delimiter else None
    sign = sign or max(",;\t|", key=lambda one: (first.count(one), one == usual))
    return next(csv.reader([first], delimiter=sign))
