"""Mistakes in files: what people have instead of a clean table."""

import gzip
import io
import json
import zipfile
from dataclasses import replace
from typing import Any

import polars as pl

from benchmarks.messy.mistaken_table import Mistake, csv, rows

GOOD = csv()
LINES = GOOD.splitlines()


def _parquet() -> bytes:
    header, *cells = rows()
    stream = io.BytesIO()
    pl.DataFrame(cells, schema=header, orient="row").write_parquet(stream)
    return stream.getvalue()


def _zip() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("people.csv", GOOD)
    return stream.getvalue()


def _records() -> list[dict[str, str]]:
    header, *cells = rows()
    return [dict(zip(header, row, strict=True)) for row in cells]


def _swapped(line: int, text: str) -> str:
    return "\n".join([*LINES[:line], text, *LINES[line + 1 :]]) + "\n"


def _file(name: str, file: str, content: str | bytes, *names: str, **truth: Any) -> Mistake:
    options = {"suggests": (), "codes": (1, 2), **truth}
    command = f"check {file} --schema people.yml"
    return replace(Mistake(name, command, (file, *names), files={file: content}), **options)


PARQUET = _parquet()
FOREIGN = csv(region={3: "süd", 7: "nördlich", 9: "süd"})
_ALL = (
    _file("semicolons", "semi.csv", csv(";"), suggests=('delimiter: ";"', "--delimiter ';'"),
          understood=True),
    _file("tabs in a .csv", "tabs.csv", csv("\t"), suggests=("delimiter: tab", "--delimiter tab",
          "--delimiter '\\t'", 'delimiter: "\\t"'), understood=True),
    _file("bars", "bars.csv", csv("|"), suggests=('delimiter: "|"', "--delimiter '|'"),
          understood=True),
    _file("latin-1", "latin.csv", FOREIGN.encode("cp1252"), suggests=("cp1252", "latin-1"),
          understood=True),
    _file("UTF-16", "wide.csv", GOOD.encode("utf-16"), suggests=("utf-16",), understood=True),
    _file("cp1251", "ru.csv", csv(region={3: "юг", 4: "север"}).encode("cp1251"),
          suggests=("cp1251",), understood=True, astray=("latin-1", "cp1252")),
    _file("too short a row", "short.csv", _swapped(5, "5,44,37.1"), "6", suggests=("3", "6")),
    _file("too long a row", "long.csv", _swapped(5, "5,44,37,1,north,yes,flu"), "6",
          suggests=("7",)),
    _file("open quote", "open.csv", _swapped(5, '5,44,37.1,"north,yes,flu'), suggests=("quote",)),
    _file("a name twice", "twice.csv", _swapped(0, "id,age,age,region,smoker,diagnosis"), "age",
          suggests=("rename", "twice", "duplicate")),
    _file("no name", "noname.csv", _swapped(0, ",age,temp,region,smoker,diagnosis"), "1",
          suggests=("name",), understood=True),
    _file("title above", "title.csv", "Export of 3 May\n\n" + GOOD, "3",
          suggests=("header", "delete line")),
    _file("sep line", "sep.csv", "sep=;\n" + csv(";"), suggests=("sep=", "delimiter"),
          understood=True),
    _file("no header", "bare.csv", "\n".join(LINES[1:]) + "\n", suggests=("header",)),
    _file("empty", "empty.csv", "", suggests=("empty", "holds no")),
    _file("header only", "header.csv", LINES[0] + "\n", suggests=("no rows", "0 rows")),
    _file("NUL bytes", "nul.csv", _swapped(4, "4,44,37.\x001,north,yes,flu"), "5"),
    _file("line end in the middle", "cut.csv", _swapped(4, "4,44,37.1,no\nrth,yes,flu"), "5",
            lines=2),
    _file("trailing delimiter", "trail.csv", "\n".join(line + "," for line in LINES) + "\n", "7",
          suggests=("name",), understood=True),
    _file("CSV named .parquet", "people.parquet", GOOD, suggests=("csv",), understood=True),
    _file("Parquet named .csv", "pq.csv", PARQUET, suggests=("parquet",), understood=True),
    _file("CSV named .xlsx", "people.xlsx", GOOD, suggests=("csv",), understood=True),
    _file("no workbook", "book.xlsx", b"PK\x03\x04" + b"\0" * 40, suggests=("csv", "excel")),
    _file("old .xls", "book.xls", b"\xd0\xcf\x11\xe0" + b"\0" * 40, suggests=(".csv", ".xlsx")),
    _file("gzip named .csv", "packed.csv", gzip.compress(GOOD.encode()), suggests=(".gz", "gzip"),
          understood=True),
    _file("zip", "people.zip", _zip(), suggests=("unpack", "unzip", ".csv")),
    _file("HTML", "page.csv", "<html><table><tr><td>1</td></tr></table></html>\n",
          suggests=("html", "web page", "one column", "header")),
    _file("cut Parquet", "half.parquet", PARQUET[: len(PARQUET) // 2], suggests=("damaged",
          "incomplete", "not", "parquet")),
    _file("broken JSON line", "people.jsonl", "\n".join(
          [*(json.dumps(one) for one in _records()[:4]), '{"id": 5, "age": ']) + "\n", "5"),
    _file("JSON array", "array.jsonl", json.dumps(_records()), suggests=("line", "array")),
    _file("unknown kind", "people.sav", b"$FL2", suggests=("as csv", ".csv")),
    _file("semicolons, init", "semi2.csv", csv(";"), understood=True,
          command="init semi2.csv --cf diagnosis", suggests=('";"', "';'")),
    _file("latin-1, init", "latin2.csv", FOREIGN.encode("cp1252"), understood=True,
          command="init latin2.csv --cf diagnosis", suggests=("cp1252", "latin-1")),
)  # fmt: skip
FILES = tuple(replace(one, kind="files") for one in _ALL)
