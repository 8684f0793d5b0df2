import gzip
import io
import pickle
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.errors import CflError, DataError, ResourceError, UsageError
from cfl_cli.tables import table
from cfl_cli.tables.formats import (
    DATA_SET,
    FORMATS,
    by_name,
    not_a_schema,
    of_path,
    pack_into,
    packing_of,
    seen_in,
    unpack,
)
from cfl_cli.tables.table import Place


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *(("a.csv", "csv"), ("a.CSV", "csv"), ("a.b.tsv", "tsv"), ("a.parquet.csv", "csv")),
        *(("a.csv.gz", "csv.gz"), ("a.Tsv.Zst", "tsv.zst"), ("a.jsonl", "jsonl")),
        *(("a.ndjson.gz", "jsonl.gz"), ("a.parquet", "parquet"), ("a.arrow", "arrow")),
        *(("a.feather", "arrow"), ("a.xlsx", "xlsx"), ("a.XLSM", "xlsx"), ("a.ods", "ods")),
        (".csv", "csv"),
        ("[x]*?.csv", "csv"),
    ],
)
def test_a_name_says_its_format(name, expected):
    assert str(of_path(Path("folder.xls") / name, option="--input-format")) == expected


NONE = r"\.csv, .*\.ods, or add --input-format"
CLOSED = r"is not read: open it and save it as \.xlsx, or as CSV"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        *(
            (name, NONE)
            for name in ("csv", "a", "a.docx", "a.gz", "a.csv.bz2", "a.csv.gz.gz", "a.")
        ),
        *((f"a.{ending}", CLOSED) for ending in ("xls", "XLSB", "fods")),
        ("a.parquet.gz", "compressed inside: unpack"),
    ],
)
def test_a_name_that_says_none_or_what_is_not_read_is_refused_with_the_way_out(name, words):
    with pytest.raises(UsageError, match=words):
        of_path(Path(name), option="--input-format")


def test_a_format_that_is_only_read_is_not_offered_for_writing():
    with pytest.raises(UsageError, match=r"\.arrow, \.xlsx, or add --output-format"):
        of_path(Path("a.docx"), option="--output-format")


def test_an_option_names_a_format_with_or_without_a_point():
    assert by_name("CSV.gz", option="-") == by_name(".csv.gz", option="-") == FORMATS["csv.gz"]
    assert by_name("feather", option="-") == FORMATS["arrow"]
    with pytest.raises(UsageError, match=r"--output-format: unknown format 'cvs' .*mean 'csv'"):
        by_name("cvs", option="--output-format")


PACKINGS = pytest.mark.parametrize("packing", ["gz", "zst"])


def pack(data, packing):
    file = io.BytesIO()
    with pack_into(file, packing) as inner:
        inner.write(data)
    return file.getvalue()


@PACKINGS
@given(data=st.binary(max_size=200))
def test_what_is_packed_is_unpacked_and_says_how(packing, data):
    assert unpack(pack(data, packing), packing, name="t", limit=1000) == data
    assert packing_of(pack(data, packing)) == packing
    assert pack(data, packing) == pack(data, packing)


def test_gzip_packs_what_gzip_reads_with_no_time_or_name_inside():
    assert gzip.decompress(pack(b"abc", "gz")) == b"abc"
    assert pack(b"abc", "gz")[3:8] == bytes(5)  # no flags, no time


@PACKINGS
def test_parts_one_after_the_other_are_read_as_one(packing):
    data = pack(b"ab", packing) + pack(b"cd", packing)
    assert unpack(data, packing, name="t", limit=100) == b"abcd"


@PACKINGS
@given(cut=st.integers(1, 100))
def test_a_file_that_is_cut_short_is_refused(packing, cut):
    data = pack(bytes(range(256)) * 4, packing)
    with pytest.raises(DataError, match=r"^t: the .* is cut short|^t: not a well-formed"):
        unpack(data[: -min(cut, len(data))], packing, name="t", limit=10_000)


@PACKINGS
def test_damage_is_refused(packing):
    data = bytearray(pack(b"some text, and some more" * 20, packing))
    data[-6] ^= 0xFF
    with pytest.raises(DataError, match="not a well-formed"):
        unpack(bytes(data), packing, name="t", limit=10_000)
    with pytest.raises(DataError, match="not a well-formed"):
        unpack(b"a,b\n1,2\n", packing, name="t", limit=10_000)
    with pytest.raises(DataError, match="not a well-formed"):
        unpack(pack(b"a", packing) + b"rubbish", packing, name="t", limit=10_000)


@PACKINGS
def test_a_bomb_is_refused_before_it_fills_the_memory(packing):
    with pytest.raises(ResourceError, match=r"more than 2 MB, .*: unpack it on a larger"):
        unpack(pack(bytes(1 << 26), packing), packing, name="t", limit=2_000_000)


# What a file is that has the wrong name, or is in the wrong place, is said with the way out.

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
    ("t.csv", b"PAR1....PAR1"): "this is Parquet, not CSV: add --input-format parquet",
    ("t.parquet", b"ARROW1\0\0"): "this is Arrow, not Parquet: add --input-format arrow",
    (
        "t.csv.gz",
        b"\x28\xb5\x2f\xfd\x04\0",
    ): "this is Zstandard, not gzip: add --input-format csv.zst",
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
    assert Place.to_write(f"{tmp_path}/").format == DATA_SET
    assert Place.to_read(str(tmp_path)).format == DATA_SET


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
