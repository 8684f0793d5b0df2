"""Every format's module offers the same functions, so that a new one touches two places."""

import inspect
import io

import polars as pl
import pytest

from cfl_cli.tables import codec
from cfl_cli.tables.codec import Codec, EmbeddingCodec, ReadOptions, Table, WriteOptions, codec_of
from cfl_cli.tables.formats import KINDS


def parameters(function):
    return [name for name in inspect.signature(function).parameters if name != "self"]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_formats_module_has_the_functions_of_a_codec(kind):
    protocol = EmbeddingCodec if kind.embeds_report else Codec
    names = [name for name, _ in inspect.getmembers(protocol, inspect.isfunction) if name[0] != "_"]
    assert {"read", "scan", "misfits", "writer"} <= set(names)
    for name in names:
        assert parameters(getattr(codec_of(kind), name)) == parameters(getattr(protocol, name))


WRITTEN = {name: kind for name, kind in KINDS.items() if not kind.is_only_read}


@pytest.mark.parametrize("kind", WRITTEN.values(), ids=WRITTEN)
def test_what_a_codec_writes_it_reads(kind):
    frame = pl.DataFrame({"a": ["x", "y"], "b": ["1", "é"]})
    options = WriteOptions(kind, "t")
    assert codec_of(kind).misfits(Table(frame), options) == []
    file = io.BytesIO()
    codec.write(frame, file, options)
    table = codec_of(kind).read(file.getvalue(), ReadOptions(kind, "t"))
    assert pl.DataFrame(table.frame).equals(frame)
    assert table.rejects == []


def test_columns_that_only_json_lines_can_hold_and_names_with_a_nul_are_named():
    table = Table(pl.DataFrame({"a": ["[1]"], "b\0": ["x"]}), mixed={"a": "objects or lists"})
    assert codec.mixed_columns(table, name="o.csv") == [
        "column 'a' holds objects or lists, which o.csv cannot hold: write .jsonl"
    ]
    assert codec.nul_names(table, name="o.csv") == [
        "the column name 'b\\x00' holds a NUL character, which o.csv cannot hold"
    ]


def test_lists_go_into_the_formats_that_hold_them():
    lists = Table(pl.DataFrame({"cf": [["a", "b"], []]}))
    (problem,) = codec_of(KINDS["csv"]).misfits(lists, WriteOptions(KINDS["csv"], "o.csv"))
    assert str(problem).startswith("column 'cf' holds ")
    assert str(problem).endswith(", which o.csv cannot hold: write .jsonl or .parquet")
    for name in ("jsonl", "parquet"):
        assert codec_of(KINDS[name]).misfits(lists, WriteOptions(KINDS[name], "o")) == []
