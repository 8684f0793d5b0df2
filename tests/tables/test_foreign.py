"""What a file is that has the wrong name, or is in the wrong place, is said with the way out."""

import gzip
import pickle
import sqlite3

import pytest

from cfl_cli.errors import CflError, UsageError
from cfl_cli.tables import table
from cfl_cli.tables.formats import not_a_schema, seen_in
from cfl_cli.tables.table import Place

CSV, LINE = b"id,age\n1,20\n", b'{"id": 1, "age": 20}\n'
SCHEMA = b"# mine\nversion: 1\ncolumns:\n  a: {role: ignore}\n"
PAGE = b"<!DOCTYPE html>\n<html><body>Log in, please</body></html>\n"
MIXED = {  # name, content → what is said
    ("t.csv", LINE): "this is JSON Lines, not CSV: add --input-format jsonl",
    ("t.jsonl", CSV): "this is CSV, not JSON Lines: add --input-format csv",
    ("t.parquet", CSV): "this is text, not Parquet: add --input-format csv",
    ("t.parquet", LINE): "this is JSON Lines, not Parquet: add --input-format jsonl",
    ("t.arrow", b"a\tb,c\td\n1\t2\t3\n"): "this is text, not Arrow: add --input-format tsv",
    ("t.arrow", CSV): "this is text, not Arrow: add --input-format csv",
    ("t.csv.gz", CSV): "this is text, not gzip: add --input-format csv",
    ("t.jsonl.zst", LINE): "this is text, not Zstandard: add --input-format jsonl",
    ("t.csv", b"[" + LINE + b"]"): "this is one JSON document, not CSV: write one object per line",
    ("t.csv", b'{\n "a": [1, 2]\n}\n'): "this is one JSON document, not CSV",
    ("t.csv", SCHEMA): "this is a schema, not CSV: pass it with --schema, and a table as DATA",
    ("t.csv", PAGE): "this is a web page, not CSV: download the table itself",
    ("t.jsonl", PAGE): "this is a web page, not JSON Lines: download the table itself",
    ("t.csv", b"<?xml version='1.0'?>\n<a>1,2</a>"): "this is XML, not CSV: export the table as",
    ("t.csv", b"%PDF-1.7\n"): "this is a PDF file, not CSV: export the table as CSV or Parquet",
    ("t.csv", pickle.dumps([1, 2])): "this is a Python pickle, not CSV: write it with to_parquet",
    ("t.yml", SCHEMA): "this is a schema, not a table: pass it with --schema, and a table as DATA",
    ("t.pdf", b"%PDF-1.7\n"): "this is a PDF file, not a table",
    ("t.zip", b"PK\x03\x04rest of it" * 9): "a ZIP archive: unpack it first",
    ("t.data", b"PAR1rest"): "this is Parquet: add --input-format parquet",
}


@pytest.mark.parametrize(("name", "content"), MIXED)
def test_a_file_of_another_kind_is_named(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(CflError) as whole:
        table.read(Place.to_read(str(path)))
    assert str(whole.value).startswith(f"{path}: {MIXED[name, content]}")
    with pytest.raises(CflError) as in_blocks, table.reading(Place.to_read(str(path))):
        pass
    assert str(in_blocks.value) == str(whole.value)


def test_a_database_and_a_model_are_known_as_they_are_written(tmp_path):
    sqlite3.connect(tmp_path / "t.db").execute("create table t (a)")
    assert seen_in((tmp_path / "t.db").read_bytes())[0] == "an SQLite database"
    head = len(b'{"__metadata__":{}}').to_bytes(8, "little") + b'{"__metadata__":{}}'
    assert seen_in(head)[0] == "a model"


@pytest.mark.parametrize(
    "content", [CSV, b"\xef\xbb\xbfid;age\n1;2\n", b"a\n1\n", b'"a b","c"\n', b"", b"x y z\n"]
)
def test_tables_of_text_are_not_foreign(content):
    assert seen_in(content) is None


def test_a_directory_is_written_only_if_its_name_says_that_it_is_one(tmp_path):
    with pytest.raises(UsageError, match="a directory: name a file in it, or add a / at its end"):
        Place.to_write(str(tmp_path))
    assert Place.to_write(f"{tmp_path}/").is_folder
    assert Place.to_read(str(tmp_path)).is_folder


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (CSV, "a table (CSV)"),
        (b"id;age\n", "a table (CSV)"),
        (b"PAR1....", "a table (Parquet)"),
        (gzip.compress(CSV, mtime=0), "a file packed by gzip"),
        (PAGE, "a web page"),
        (SCHEMA, None),
        (b'{"version": 1, "columns": {}}', None),
        (b"columns: {a: {role: ordinary, type: numeric}}\nversion: 1\n", None),
        (b"", None),
    ],
)
def test_what_is_surely_not_a_schema_is_known(tmp_path, content, what):
    (tmp_path / "s.yml").write_bytes(content)
    assert not_a_schema(tmp_path / "s.yml") == what
