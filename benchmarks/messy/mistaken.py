"""Mistakes in commands, files, schemas and cells, made with a table and a schema that are right."""

import gzip
import io
import json
import random
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

VALUES = ("asthma", "cold", "covid", "flu")
SCHEMA = """\
version: 1
columns:
  id: {role: ignore}
  age: {role: ordinary, type: numeric}
  temp: {role: ordinary, type: numeric}
  region: {role: ordinary, type: categorical}
  smoker: {role: ordinary, type: binary, values: [no, yes]}
  diagnosis: {role: complementary, values: [asthma, cold, covid, flu], separator: ";"}
settings: {k: 5, iterations: 5}
"""


@dataclass(frozen=True)
class Mistake:
    """A mistake: a command in a folder with these files, and what should be said."""

    name: str
    command: str
    names: tuple[str, ...] = ()  # what the line must name: place, value
    suggests: tuple[str, ...] = ()  # one of these must stand in it: what to type
    codes: tuple[int, ...] = (1,)
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    before: tuple[str, ...] = ()  # commands that are run first
    text: bytes | None = None  # standard input
    understood: bool = False  # to do what was meant is as good as a line
    astray: tuple[str, ...] = ()  # what must not be said
    lines: int = 1
    kind: str = ""


def rows(**changed: Mapping[int, str]) -> list[list[str]]:
    """Return the cells of the table, with some changed: column → row → cell."""
    rng = random.Random(3)
    header = ["id", "age", "temp", "region", "smoker", "diagnosis"]
    table = [header]
    for number in range(1, 61):
        out = ";".join(sorted(rng.sample(VALUES, rng.choice([1, 1, 2]))))
        row = [
            str(number),
            str(rng.randint(18, 90)),
            f"{rng.gauss(37.5, 0.6):.1f}",
            rng.choice(["north", "south", "east"]),
            rng.choice(["yes", "no"]),
            out,
        ]
        for column, cells in changed.items():
            if number in cells:
                row[header.index(column)] = cells[number]
        table.append(row)
    return table


def csv(delimiter: str = ",", **changed: Mapping[int, str]) -> str:
    lines = []
    for row in rows(**changed):
        cells = [f'"{cell}"' if delimiter in cell or '"' in cell else cell for cell in row]
        lines.append(delimiter.join(cells))
    return "\n".join(lines) + "\n"


def schema(**changed: str) -> str:
    lines = []
    for line in SCHEMA.splitlines():
        name = line.strip().partition(":")[0]
        lines.append(f"  {name}: {changed[name]}" if name in changed else line)
    return "\n".join(lines) + "\n"


def cells(column: str, *, every: int = 1) -> dict[int, str]:
    table = rows()
    place = table[0].index(column)
    return {number: table[number][place] for number in range(1, 61, every)}


def lay_out(folder: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in {"people.csv": csv(), "people.yml": SCHEMA, **files}.items():
        data = content.encode() if isinstance(content, str) else content
        (folder / name).write_bytes(data)


RUN = "impute people.csv --schema people.yml --out out.csv"
DONE = ("impute people.csv --schema people.yml --out done.csv --quiet",)
TAB = csv("\t")

_COMMANDS = (
    Mistake("unknown command", "inpute people.csv", ("inpute",), ("'impute'",), (2,)),
    Mistake("unknown option", "impute people.csv --shema people.yml --out out.csv",
            ("--shema",), ("--schema",), (2,)),
    Mistake("no schema", "impute people.csv --out out.csv", ("--schema",), (), (2,)),
    Mistake("no table", "init", ("DATA",), (), (2,)),
    Mistake("no OUT", "impute people.csv --schema people.yml", ("--out",), (), (2,),
            understood=True),
    Mistake("one argument too many",
            "impute people.csv people.yml --out out.csv --schema people.yml",
            ("people.yml",), (), (2,)),
    Mistake("k of none", f"{RUN} --k 0", ("--k", "0"), ("1",), (2,)),
    Mistake("k in words", f"{RUN} --k five", ("--k", "five"), ("whole number",), (2,)),
    Mistake("gamma below 0", f"{RUN} --gamma -1", ("--gamma", "-1"), ("0",), (2,)),
    Mistake("confidence in percent", f"{RUN} --min-confidence 80", ("--min-confidence", "80"),
            ("0.8", "0 and 1", "between 0", "at most 1"), (2,)),
    Mistake("unknown mode", f"{RUN} --mode sfot", ("--mode", "sfot"), ("soft",), (2,)),
    Mistake("unknown method", f"{RUN} --method grpah", ("--method", "grpah"), ("graph",), (2,)),
    Mistake("seed in words", f"{RUN} --seed today", ("--seed", "today"), ("whole number",), (2,)),
    Mistake("memory in words", f"{RUN} --max-memory lots", ("--max-memory", "lots"), ("GB", "G"),
            (2,)),
    Mistake("jobs of none", f"{RUN} --jobs 0", ("--jobs", "0"), ("1", "auto"), (2,)),
    Mistake("value without option", f"{RUN} --k", ("--k",), ("value",), (2,)),
    Mistake("two CFs in one", "init people.csv --cf diagnosis,region", ("--cf",),
            ("--cf diagnosis --cf region",), (1, 2)),
    Mistake("misspelt CF", "init people.csv --cf diagnosys", ("diagnosys",), ("'diagnosis'",), (1,
            2)),
    Mistake("CF and ignored", "init people.csv --cf region --ignore region", ("region",), (), (2,)),
    Mistake("tab in words", "init tab.csv --delimiter tab --cf diagnosis", ("--delimiter",),
            ("'\\t'", "tab"), (2,), files={"tab.csv": TAB}, understood=True),
    Mistake("tab as \\t", "init tab.csv --delimiter '\\t' --cf diagnosis", ("--delimiter",),
            ("tab",), (2,), files={"tab.csv": TAB}, understood=True),
    Mistake("two delimiters", "init people.csv --delimiter ';;'", ("--delimiter", ";;"),
            ("one", ), (2,)),
    Mistake("unknown encoding", "init people.csv --encoding utf9", ("--encoding", "utf9"),
            ("utf-8", "unknown"), (2,)),
    Mistake("schema and table swapped", "check people.yml --schema people.csv",
            ("people.csv",), ("cfl check people.csv --schema people.yml", "swap",
            "as DATA"),
            (1, 2)),
    Mistake("swapped in impute", "impute people.yml --schema people.csv --out out.csv",
            ("people.csv",), ("people.csv --schema people.yml", "swap",
            "as DATA"), (1, 2)),
    Mistake("the schema twice", "check people.yml --schema people.yml", ("people.yml",),
            ("schema",), (1, 2)),
    Mistake("the table twice", "check people.csv --schema people.csv", ("people.csv",),
            ("cfl init", "is a table"), (1, 2)),
    Mistake("OUT is DATA", "impute people.csv --schema people.yml --out people.csv",
            ("people.csv",), ("another", "other name"), (2,)),
    Mistake("OUT is the schema",
            "impute people.csv --schema people.yml --out people.yml --overwrite",
            ("people.yml",), ("another", "other", ".csv"), (1, 2)),
    Mistake("OUT is there", "impute people.csv --schema people.yml --out done.csv", ("done.csv",),
            ("--overwrite",), (2,), before=DONE),
    Mistake("no such folder", "impute people.csv --schema people.yml --out nowhere/out.csv",
            ("nowhere",), ("exist",), (1, 2)),
    Mistake("OUT is a folder", "impute people.csv --schema people.yml --out .", (".",),
            ("directory", "folder", "file name"), (1, 2)),
    Mistake("OUT of another kind", "impute people.csv --schema people.yml --out out.docx",
            ("out.docx",), (".csv",), (2,)),
    Mistake("OUT cannot be written", "impute people.csv --schema people.yml --out /proc/out.csv",
            ("/proc",), ("write", "written", "permi"), (1, 2, 4)),
    Mistake("report cannot be written", f"{RUN} --report /proc/report.json", ("/proc",),
            ("write", "written", "permi"), (1, 2, 4)),
    Mistake("report is OUT", f"{RUN} --report out.csv", ("out.csv",), ("another", "other"), (2,)),
    Mistake("no such table", "check peple.csv --schema people.yml", ("peple.csv",), (), (1, 2)),
    Mistake("no such schema", "check people.csv --schema peeple.yml", ("peeple.yml",), (), (1, 2)),
    Mistake("DATA is a folder", "check . --schema people.yml", (".",), ("directory", "folder"),
            (1, 2)),
    Mistake("evaluating the input", "evaluate people.csv --truth people.csv --schema people.yml",
            ("people.csv",), ("cfl impute",), (1, 2)),
    Mistake("truth without the CF", "evaluate done.csv --truth truth.csv --schema people.yml",
            ("diagnosis", "truth.csv"), (), (1,), before=DONE,
                    files={"truth.csv": "id\n" + "\n".join(
                str(n) for n in range(1, 61)) + "\n"}),
    Mistake("truth of other rows", "evaluate done.csv --truth truth.csv --schema people.yml",
            ("truth.csv", "59", "60"), (), (1,), before=DONE,
            files={"truth.csv": "diagnosis\n" + "flu\n" * 59}),
    Mistake("report of the input", "report people.csv", ("people.csv",), ("cfl impute",
            "report file"),
            (1, 2)),
    Mistake("a table as a model", "apply people.csv --model people.csv --out out.csv",
            ("people.csv",), ("cfl fit",), (1, 2)),
    Mistake("unknown input format", "check people.csv --schema people.yml --input-format exel",
            ("exel",), ("csv", "excel"), (2,)),
    Mistake("output format to a terminal", f"{RUN} --output-format pqrquet", ("pqrquet",),
            ("parquet",),
            (2,)),
    Mistake("unknown CF to infer", "report done.csv --format tabel", ("tabel",), ("table",), (2,),
            before=DONE),
    Mistake("five rows", "impute few.csv --schema people.yml --out out.csv", ("few.csv", "5 rows"),
            ("too few", "add rows", "fitted model"), (1,),
            files={"few.csv": "\n".join(",".join(row) for row in rows()[:6]) + "\n"},
            astray=("set k to", "--k 4", "k: 4")),
)  # fmt: skip
COMMANDS = tuple(replace(one, kind="commands") for one in _COMMANDS)


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
_FILES = (
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
FILES = tuple(replace(one, kind="files") for one in _FILES)


def _schema(name: str, text: str, *names: str, **truth: Any) -> Mistake:
    options = {"suggests": (), **truth}
    files = {"wrong.yml": text}
    return replace(
        Mistake(name, "check people.csv --schema wrong.yml", ("wrong.yml", *names), files=files),
        **options,
    )


def _cells(
    name: str, column: str, changed: Mapping[int, str], *names: str, **truth: Any
) -> Mistake:
    entries = truth.pop("schema", SCHEMA)
    delimiter = str(truth.pop("delimiter", ","))
    files = {"data.csv": csv(delimiter, **{column: changed}), "people.yml": entries}
    options = {"suggests": (), **truth}
    command = "check data.csv --schema people.yml"
    return replace(Mistake(name, command, (column, *names), files=files), **options)


CF = "{role: complementary, values: [asthma, cold, covid, flu]}"
COMMA = {row: text.replace(".", ",") for row, text in cells("temp").items()}
DAYS = {row: f"{row % 28 + 1:02d}/03/2024" for row in range(1, 61)}
KG = {row: f"{text} kg" for row, text in cells("temp").items()}
MIXED = {**{row: f"{row % 28 + 1:02d}/03/2024" for row in range(1, 61)}, 9: "03/25/2024"}
DATE = '{role: ordinary, type: date, format: "%d/%m/%Y"}'
LISTS = cells("diagnosis")

_SCHEMAS = (
    _schema("tab in YAML", SCHEMA.replace("  age", "\tage"), "4", suggests=("tab",)),
    _schema("no colon", SCHEMA.replace("columns:", "columns")),
    _schema("empty schema", "", suggests=("empty", "cfl init")),
    _schema("unknown key", SCHEMA.replace("columns:", "colums:"), "colums",
            suggests=("'columns'",)),
    _schema("unknown role", schema(age="{role: ordinry, type: numeric}"), "ordinry",
            suggests=("'ordinary'",)),
    _schema("unknown type", schema(age="{role: ordinary, type: number}"), "number",
            suggests=("numeric",)),
    _schema("no type", schema(age="{role: ordinary}"), "yml:4", suggests=("type",)),
    _schema("no role", schema(age="{type: numeric}"), "yml:4", suggests=("role",)),
    _schema("misspelt column", SCHEMA.replace("  temp:", "  tmp:"), "tmp", suggests=("'temp'",),
            names=("tmp",)),
    _schema("no CF", schema(diagnosis="{role: ignore}"), suggests=("complementary",)),
    _schema("no OF", "version: 1\ncolumns:\n  diagnosis: {role: complementary}\n",
            suggests=("ordinary",)),
    _schema("a column twice", SCHEMA + "columns: {}\n", "columns", suggests=("duplicate", "twice")),
    _schema("a value twice", schema(diagnosis="{role: complementary, values: [flu, cold, flu]}"),
            "flu", suggests=("twice", "duplicate", "listed")),
    _schema("one value", schema(diagnosis="{role: complementary, values: [flu]}"), "yml:8",
            suggests=("two", "2")),
    _schema("values as text", schema(diagnosis="{role: complementary, values: flu}"),
            suggests=("list", "[")),
    _schema("version 2", SCHEMA.replace("version: 1", "version: 2"), "2", suggests=("1",)),
    _schema("unknown setting", SCHEMA.replace("k: 5", "kk: 5"), "kk", suggests=("'k'",)),
    _schema("setting in words", SCHEMA.replace("k: 5", "k: many"), "many",
            suggests=("whole number",)),
    _schema("ordered without order", schema(region="{role: ordinary, type: ordered}"), "yml:6",
            suggests=("values",)),
    _schema("format of a number", schema(age='{role: ordinary, type: numeric, format: "%Y"}'),
            "format", suggests=("date",)),
    _schema("decimal of a category",
            schema(region='{role: ordinary, type: categorical, decimal: ","}'),
            "decimal", suggests=("numeric",)),
    _schema("two signs as delimiter", SCHEMA + 'file: {delimiter: ";;"}\n', ";;",
            suggests=("one",)),
    _schema("unknown encoding", SCHEMA + "file: {encoding: utf9}\n", "utf9"),
    _schema("a value that is missing", SCHEMA + 'missing: ["", flu]\n', "flu",
            suggests=("missing",)),
    _schema("group of no column", SCHEMA + "group: household\n", "household", names=("household",)),
    _schema("a list instead of a mapping", "- version: 1\n"),
    _schema("mark is the separator", schema(diagnosis=CF[:-1] + ', separator: ";", exact: ";"}'),
            ";",
            suggests=("another",)),
    _cells("no separator", "diagnosis", {}, ";", suggests=('separator: ";"',),
           schema=schema(diagnosis=CF)),
    _cells("another separator", "diagnosis", {}, suggests=('separator: ";"',),
           schema=schema(diagnosis=CF[:-1] + ', separator: "|"}')),
    _cells("separator with a blank", "diagnosis",
           {row: text.replace(";", "; ") for row, text in LISTS.items()}, understood=True),
    _cells("a misspelt value", "diagnosis", {9: "flue"}, "flue", "9", suggests=("'flu'",)),
    _cells("a value of other case", "diagnosis", {9: "FLU"}, "FLU", suggests=("'flu'",),
           understood=True),
    _cells("a value with a blank", "diagnosis", {9: "flu "}, understood=True),
    _cells("an unknown value", "diagnosis", {9: "measles", 12: "measles"}, "measles",
           suggests=("values",)),
    _cells("no exact mark", "diagnosis", dict.fromkeys(range(3, 60, 4), "=flu"), "=",
           suggests=('exact: "="',)),
    _cells("a word as mark", "diagnosis", {3: "sure: flu", 5: "sure: cold", 8: "sure: covid"},
            "sure:",
           suggests=('exact: "sure:"',)),
    _cells("all ruled out", "diagnosis", {9: "asthma;cold;covid;flu"}, "9", suggests=("leave",
            "whole")),
    _cells("decimal comma", "temp", COMMA, suggests=('decimal: ","',)),
    _cells("a missing code", "temp", {9: "k.A.", 20: "k.A."}, "k.A.", suggests=('missing: ["k.A."]',
           "missing: [k.A.]")),
    _cells("a lone text", "temp", {9: "broken"}, "broken", "9", suggests=("missing",)),
    _cells("a unit", "temp", KG, "kg", suggests=("unit: kg", 'unit: "kg"', "remove")),
    _cells("bounds", "temp", {9: "<35", 11: "<35"}, "<35", suggests=("ordered", "number")),
    _cells("thousands", "age", {row: f"{row},{row * 7 % 1000:03d}" for row in range(1, 61)},
           suggests=('decimal: "."',), delimiter=";",
           schema=SCHEMA + 'file: {delimiter: ";"}\n'),
    _cells("dates as numbers", "temp", DAYS, "/03/2024", suggests=("type: date",)),
    _cells("dates in another format", "temp", {row: f"2024-03-{row % 28 + 1:02d}" for row in
           range(1, 61)}, suggests=("%Y-%m-%d", "format"), schema=schema(temp=DATE)),
    _cells("dates in two orders", "temp", MIXED, "03/25/2024", "9", schema=schema(temp=DATE)),
    _cells("a third value", "smoker", {9: "maybe"}, "maybe", "9",
           suggests=("missing", "categorical")),
    _cells("empty where required", "age", {9: "", 12: ""}, suggests=("fill", "on_missing"),
           schema=schema(age="{role: ordinary, type: numeric, on_missing: error}")),
    _cells("sentinel", "temp", {9: "999", 12: "999", 30: "999"}, "999", codes=(0,),
           suggests=('missing: ["999"]', "missing: [999]")),
    _cells("id as OF", "id", {}, codes=(0,), suggests=("ignore",),
           schema=schema(id="{role: ordinary, type: numeric}")),
    _cells("number as category", "age", {}, codes=(0,), suggests=("numeric",),
           schema=schema(age="{role: ordinary, type: categorical}")),
    _cells("joined values", "diagnosis", {}, suggests=('separator: ";"',), codes=(0, 1),
           schema=schema(diagnosis="{role: complementary}")),
    _cells("a value never seen", "diagnosis", {}, "measles", codes=(0,), suggests=("never",),
           schema=SCHEMA.replace("covid, flu]", "covid, flu, measles]")),
    _cells("OF that looks complementary", "region",
           {row: f"not {text}" for row, text in cells("region").items()}, codes=(0,),
           suggests=("complementary",)),
)  # fmt: skip
SCHEMAS = tuple(replace(one, kind="schemas and cells") for one in _SCHEMAS)
