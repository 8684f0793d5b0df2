"""Mistakes in schemas, and in cells that do not fit them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from benchmarks.messy.mistaken_table import SCHEMA, Mistake, cells, csv, schema


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

_ALL = (
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
SCHEMAS = tuple(replace(one, kind="schemas and cells") for one in _ALL)
