"""One table in every form: CSV, TSV, JSONL, Parquet, Arrow, Excel, pandas, polars, with one schema.

    python -m benchmarks.messy readings

The answers of each form are compared with those of the CSV, cell by cell. Columns are added kind by
kind, so that a form that lacks a kind says which. What cannot be read says why.
"""

import datetime as dt
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.messy.command_line import cfl
from cfl_cli import Schema, impute
from cfl_cli.errors import CflError

SETTINGS: dict[str, Any] = {"method": "graph", "iterations": 10, "k": 5, "folds": 0}
DOMAIN = ["asthma", "cold", "covid", "flu"]
ENTRIES = {
    "x": "{role: ordinary, type: numeric}",
    "smoker": "{role: ordinary, type: binary, values: [no, yes]}",
    "children": "{role: ordinary, type: numeric}",
    "ward": "{role: ordinary, type: categorical, values: ['1', '2', '3']}",
    "size": "{role: ordinary, type: ordered, values: [S, M, L]}",
    "day": "{role: ordinary, type: date, cycle: [week]}",
    "moment": "{role: ordinary, type: date, cycle: [day]}",
}
KINDS = {  # the column that each kind is about
    "numbers": "x",
    "booleans": "smoker",
    "whole numbers with gaps": "children",
    "whole numbers as categories": "ward",
    "ordered": "size",
    "dates": "day",
    "times": "moment",
    "lists": "cf",
}


@dataclass(frozen=True)
class Read:
    """The answers from one form, or why there are none."""

    answers: tuple[tuple[str | None, float | None], ...] = ()
    why: str = ""


def frame(kind: str, rows: int = 80) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    start = dt.datetime(2024, 1, 1)  # noqa: DTZ001 — a table's own time
    ahead = rng.integers(0, 400, rows)
    columns: dict[str, list[Any]] = {
        "x": [round(float(number), 2) for number in rng.normal(0, 1, rows)],
        "smoker": [bool(number) for number in rng.integers(0, 2, rows)],
        "children": [int(n) if n < 5 else None for n in rng.integers(0, 6, rows)],
        "ward": [int(n) if n < 4 else None for n in rng.integers(1, 5, rows)],
        "size": [["S", "M", "L"][n] for n in rng.integers(0, 3, rows)],
        "day": [(start + dt.timedelta(days=int(n))).date() for n in ahead],
        "moment": [start + dt.timedelta(minutes=int(n) * 137) for n in ahead],
    }
    picked = [rng.permutation(4)[: int(size)] for size in rng.integers(1, 3, rows)]
    lists = [[DOMAIN[int(place)] for place in places] for places in picked]
    column = KINDS[kind]
    chosen = {"x": columns["x"], **({column: columns[column]} if column != "cf" else {})}
    cf = lists if column == "cf" else [";".join(those) for those in lists]
    return pl.DataFrame({**chosen, "cf": cf})


def schema(kind: str) -> str:
    column = KINDS[kind]
    names = ["x", *([column] if column not in {"x", "cf"} else [])]
    lines = ["version: 1", "columns:", *(f"  {name}: {ENTRIES[name]}" for name in names)]
    values = f"[{', '.join(DOMAIN)}]"
    lines.append(f'  cf: {{role: complementary, values: {values}, separator: ";"}}')
    return "\n".join(lines) + "\n"


def texts(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table as its CSV holds it: lists joined, booleans as True and False."""
    changed = []
    for column in table.get_columns():
        if column.dtype == pl.List(pl.String):
            changed.append(column.list.join(";"))
        elif column.dtype == pl.Boolean:
            changed.append(
                column.replace_strict({True: "True", False: "False"}).rename(column.name)
            )
        else:
            changed.append(column)
    return pl.DataFrame(changed)


def _csv(table: pl.DataFrame, path: Path) -> None:
    texts(table).write_csv(path)


def _tsv(table: pl.DataFrame, path: Path) -> None:
    texts(table).write_csv(path, separator="\t")


def _jsonl(table: pl.DataFrame, path: Path) -> None:
    rows = (json.dumps(row, default=str) for row in table.iter_rows(named=True))
    path.write_text("\n".join(rows) + "\n")


def _parquet(table: pl.DataFrame, path: Path) -> None:
    table.write_parquet(path)


def _arrow(table: pl.DataFrame, path: Path) -> None:
    table.write_ipc(path)


def _book(table: pl.DataFrame, path: Path) -> None:
    joined = [
        column.list.join(";") if column.dtype == pl.List(pl.String) else column
        for column in table.get_columns()
    ]
    with_pandas = pl.DataFrame(joined).to_pandas()
    with_pandas.to_excel(path, index=False, engine="odf" if path.suffix == ".ods" else None)


FILES: dict[str, Callable[[pl.DataFrame, Path], None]] = {
    "csv": _csv,
    "tsv": _tsv,
    "jsonl": _jsonl,
    "parquet": _parquet,
    "arrow": _arrow,
    "xlsx": _book,
    "ods": _book,
}
FRAMES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "pandas of texts": lambda table: texts(table).cast(pl.String).to_pandas(),
}
FORMS = (*FILES, *FRAMES)


def read(kind: str, form: str, folder: Path) -> Read:
    table, text = frame(kind), schema(kind)
    if form in FRAMES:
        try:
            result = impute(FRAMES[form](table), Schema.parse(text), **SETTINGS)
        except CflError as error:
            return Read(why=str(error).splitlines()[0])
        answers = result.frame
        if not isinstance(answers, pl.DataFrame):
            answers = pl.from_pandas(answers[["cf_imputed", "cf_confidence"]])
        return Read(_answers(answers))
    path, entries = folder / f"t.{form}", folder / "t.yml"
    out = folder / ("out.jsonl" if form == "jsonl" else "out.parquet")
    FILES[form](table, path)
    entries.write_text(text)
    options = [part for name, value in SETTINGS.items() for part in (f"--{name}", str(value))]
    ended = cfl("impute", path, "--schema", entries, "--out", out, "--overwrite", "-q", *options)
    if ended.code or ended.crashed:
        return Read(why=ended.crashed or ended.lines[0].replace(f"{folder}/", ""))
    return Read(_answers((pl.read_ndjson if form == "jsonl" else pl.read_parquet)(out)))


def _answers(table: pl.DataFrame) -> tuple[tuple[str | None, float | None], ...]:
    return tuple(table.select("cf_imputed", "cf_confidence").rows())


def verdict(one: Read, right: Read) -> str:
    if one.why:
        return "refused"
    if right.why:
        return "read"
    return "same" if one.answers == right.answers else "differs"


def report() -> Iterator[str]:
    yield f"| kind | {' | '.join(FORMS)} |"
    yield f"| --- |{' --- |' * len(FORMS)}"
    whys = []
    with tempfile.TemporaryDirectory(prefix="cfl-forms-") as folder:
        for kind in KINDS:
            found = {form: read(kind, form, Path(folder)) for form in FORMS}
            right = found["csv"]
            yield f"| {kind} | {' | '.join(verdict(one, right) for one in found.values())} |"
            whys += [f"{kind}, {form}: {one.why}" for form, one in found.items() if one.why]
    yield from whys
