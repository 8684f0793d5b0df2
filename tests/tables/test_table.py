import datetime as dt
import gzip
import io
import json
import math
import os
from contextlib import nullcontext
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.errors import CflError, DataError, Problem, UsageError
from cfl_cli.tables import columnar, frames
from cfl_cli.tables import table as tables
from cfl_cli.tables.table import Place, Table, read, write

BAD = Path(__file__).parent / "bad_tables"
EXPECTED = json.loads((BAD / "expected.json").read_text(encoding="utf-8"))
TEXT_FORMATS = ["csv", "tsv", "jsonl", "csv.gz", "tsv.zst", "jsonl.gz"]
FORMATS = [*TEXT_FORMATS, "parquet", "arrow", "feather"]


def as_polars(frame):
    return frame if isinstance(frame, pl.DataFrame) else pl.DataFrame(frame)


def test_every_bad_table_has_its_message():
    files = {path.name for path in BAD.iterdir()} - {"expected.json", ".gitattributes"}
    assert files == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_bad_table_is_refused_with_file_line_and_cause(name):
    with pytest.raises(CflError) as error:
        read(Place.to_read(str(BAD / name)))
    assert error.value.texts[0].startswith(f"{BAD / name}: {EXPECTED[name]}")


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


@given(
    rows=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=8),
    names=st.lists(TEXT.filter(bool), min_size=2, max_size=2, unique=True),
)
@pytest.mark.parametrize("form", FORMATS)
def test_nasty_text_survives_every_format(tmp_path_factory, form, rows, names):
    place = Place.to_write(str(tmp_path_factory.mktemp("t") / f"a.{form}"))
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    write(frame, place, report="{}")
    assert as_polars(read(place).frame).equals(frame)


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_table_gives_the_same_bytes(tmp_path, form):
    frame = pl.DataFrame({"a": ["x", None], "b": [0.1, 1e300]})
    for name in ("one", "two"):
        write(frame, Place.to_write(str(tmp_path / f"{name}.{form}")), report="{}")
    assert (tmp_path / f"one.{form}").read_bytes() == (tmp_path / f"two.{form}").read_bytes()


def test_a_file_that_is_packed_twice_or_around_its_own_packing_is_refused(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(gzip.compress(b"a,b\n1,2\n")))
    with pytest.raises(DataError, match="contains gzip data: unpack it first"):
        read(Place.to_read(str(tmp_path / "a.csv.gz")))
    (tmp_path / "a.parquet").write_bytes(gzip.compress(b"PAR1"))
    with pytest.raises(DataError, match="this is gzip, not Parquet: unpack it first"):
        read(Place.to_read(str(tmp_path / "a.parquet")))


def test_a_byte_order_mark_within_the_table_is_text(tmp_path):
    for text in ("a,b\n\ufeff1,2\n", '"\ufeffa",b\n1,\ufeff2\n'):
        (tmp_path / "a.csv").write_text(text, encoding="utf-8")
        table = read(Place.to_read(str(tmp_path / "a.csv")))
        write(table.frame, Place.to_write(str(tmp_path / "o.csv")), report="{}")
        assert (tmp_path / "o.csv").read_text(encoding="utf-8") == text


def test_thousands_of_columns_are_read_at_once(tmp_path):
    (tmp_path / "a.csv").write_text(",".join(f"c{n}" for n in range(20_000)) + "\n")
    table = pa.table({f"c{n}": [1] for n in range(3_000)})
    write(table, Place.to_write(str(tmp_path / "a.arrow")), report="{}")
    for name, width in (("a.csv", 20_000), ("a.arrow", 3_000)):
        frame = read(Place.to_read(str(tmp_path / name))).frame
        assert frame.shape[1] == width


def test_a_given_format_wins_over_the_name(tmp_path):
    (tmp_path / "data.txt").write_text("a\tb\n1\t2\n")
    frame = read(Place.to_read(str(tmp_path / "data.txt"), "tsv")).frame
    assert frame.rows() == [("1", "2")]


@pytest.mark.parametrize("name", ["s3://b/x.csv", "https://h/x.csv", "gs:/x.csv", "file:///x.csv"])
def test_addresses_elsewhere_are_refused(name):
    with pytest.raises(UsageError, match="only local files"):
        Place.to_read(name)


@pytest.mark.parametrize(
    "name", ["[x].csv", "*.csv", "?.csv", "{a,b}.csv", "~.csv", "a:b.csv", "$A.csv"]
)
def test_signs_in_a_name_mean_nothing(tmp_path, name):
    (tmp_path / name).write_text("a,b\n1,2\n")
    (tmp_path / "x.csv").write_text("another\n")
    assert read(Place.to_read(str(tmp_path / name))).frame.rows() == [("1", "2")]


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("a.jsonl", "delimiter"),
        ("a.parquet", "encoding"),
        ("a.arrow", "quote"),
        ("a.xlsx", "quote"),
    ],
)
def test_signs_for_a_format_without_them_are_refused(name, option):
    with pytest.raises(UsageError, match=f"--{option} does not apply to {name}"):
        read(Place.to_read(name), **{option: ";"})


def problems(columns, name, kind=pa.table):
    with pytest.raises(DataError) as error:
        tables.check_holds(Table(kind(columns)), Place.to_write(name))
    return error.value.texts


@pytest.mark.parametrize("name", ["o.csv", "o.jsonl"])
def test_what_a_text_format_cannot_say_is_refused_column_by_column(name):
    columns = {"fine": [1.5], "bytes": [b"x"], "span": [dt.timedelta(1)]}
    expected = ["column 'bytes'", "column 'span'"]
    assert [text.split(" holds")[0] for text in problems(columns, name)] == expected


def map_of(kind, key):
    return pa.array([[(key, 1), (key, 2)]], pa.map_(kind, pa.int64()))


@pytest.mark.parametrize(
    ("columns", "name", "words"),
    [
        ({"a": [math.nan]}, "o.jsonl", "holds NaN or infinity"),
        ({"a": [[math.inf]]}, "o.jsonl", "holds NaN or infinity"),
        ({"a": [{"a": [math.nan]}]}, "o.jsonl", "holds NaN or infinity"),
        ({"a": ["x\0y"]}, "o.csv", "holds a NUL character"),
        ({"": [1]}, "o.csv", "has no name"),
        ({"list": [[1, None]]}, "o.csv", "column 'list' holds "),
        ({"object": [{"a": [1.5]}]}, "o.csv", "column 'object' holds "),
        ({"m": map_of(pa.int64(), 1)}, "o.jsonl", "column 'm' holds Map"),
        ({"m": map_of(pa.string(), "text")}, "o.jsonl", "column 'm' holds Map"),
    ],
)
def test_cells_and_names_that_a_text_format_lacks_are_refused(columns, name, words):
    assert words in problems(columns, name)[0]


@pytest.mark.parametrize("out", ["o.csv", "o.tsv.gz", "o.parquet", "o.arrow"])
@pytest.mark.parametrize("row", ['{"a\\u0000b":1}', '{"a":"\\u0000"}', '{"":1}'])
def test_what_json_lines_hold_and_another_format_cannot_is_refused(tmp_path, row, out):
    (tmp_path / "a.jsonl").write_text(row)
    table = read(Place.to_read(str(tmp_path / "a.jsonl")))
    tables.check_holds(table, Place.to_write("o.jsonl"))
    refused = pytest.raises(DataError, match=r"NUL character|no name")
    with refused if out.startswith(("o.c", "o.t")) or "u0000b" in row else nullcontext():
        tables.check_holds(table, Place.to_write(out))


@pytest.mark.parametrize("out", ["o.csv", "o.parquet"])
def test_mixed_columns_of_json_lines_stay_json_lines(tmp_path, out):
    (tmp_path / "a.jsonl").write_text('{"a":1,"b":[[1]]}\n{"a":"x","b":null}\n')
    table = read(Place.to_read(str(tmp_path / "a.jsonl")))
    tables.check_holds(table, Place.to_write("o.jsonl.gz"))
    with pytest.raises(DataError) as error:
        tables.check_holds(table, Place.to_write(out))
    assert error.value.texts == (
        f"column 'a' holds cells of different kinds, which {out} cannot hold: write .jsonl",
        f"column 'b' holds objects or lists, which {out} cannot hold: write .jsonl",
    )


def test_dates_decimals_and_nested_columns_can_leave_parquet_as_json(tmp_path):
    table = pa.table({"d": [dt.date(2024, 1, 1)], "n": [{"a": [1]}], "s": ['"\n\u2028']})
    write(table, Place.to_write(str(tmp_path / "o.jsonl")), report="{}")
    expected = {"d": "2024-01-01", "n": {"a": [1]}, "s": '"\n\u2028'}
    assert json.loads((tmp_path / "o.jsonl").read_text(encoding="utf-8")) == expected


def test_a_text_table_without_its_report_says_where_one_was_expected(tmp_path):
    expected = r"t\.csv: no report: expected t\.csv\.report\.json beside it: pass the OUT of `cfl impute`, or a report$"
    with pytest.raises(DataError, match=r"t\.csv: cannot be read: No such file"):
        tables.read_report(str(tmp_path / "t.csv"))
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(DataError, match=expected):
        tables.read_report(str(tmp_path / "t.csv"))


@pytest.mark.parametrize("sign", [",", "\t"])
def test_a_first_column_without_a_name_is_read_and_written_back_to_the_byte(tmp_path, sign):
    written = f"{sign}a{sign}b\nMazda{sign}x{sign}1\nFiat{sign}y{sign}2\n"
    path, out = (tmp_path / f"{name}.{'csv' if sign == ',' else 'tsv'}" for name in "to")
    path.write_text(written)
    found = read(Place.to_read(str(path)))
    assert found.frame.columns == ["", "a", "b"]
    assert pd.read_csv(path, sep=sign, index_col=0).index.to_list() == found.frame[""].to_list()
    tables.check_holds(found, Place.to_write(str(out)))
    write(found.frame, Place.to_write(str(out)), report=None)
    assert out.read_text() == written
    write(found.frame, Place.to_write(str(tmp_path / "o.parquet")), report=None)
    assert pl.read_parquet(tmp_path / "o.parquet").columns == ["", "a", "b"]


# However the rows of a table come, its bytes are the same; and they come whole or not at all.

FORMS = ["csv", "tsv", "csv.gz", "tsv.zst", "jsonl", "jsonl.gz", "parquet", "arrow"]
FRAME = pl.DataFrame(
    {
        "text": ['a,"b"', None, "", "é\n", "=x"] * 5,
        "number": [0.1, None, 1e300, -0.0, 3.0] * 5,
        "whole": range(25),
        "truth": [True, None, False, True, False] * 5,
    }
)


def written(frame, path, rows, *, report="{}", beside=None):
    with tables.writing(Place.to_write(str(path))) as writer:
        for start in range(0, max(len(frame), 1), rows):
            writer.add(frame.slice(start, rows))
        writer.finish(report=report, beside=beside)
    return path.read_bytes()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("group", [100, 10, 1])
def test_the_bytes_do_not_depend_on_the_blocks(tmp_path, monkeypatch, form, group):
    monkeypatch.setattr(columnar, "GROUP", group)
    place = Place.to_write(str(tmp_path / f"whole.{form}"))
    tables.write(FRAME, place, report="{}")
    whole = place.path.read_bytes()
    assert {written(FRAME, tmp_path / f"t.{form}", rows) for rows in (1, 2, 7, 99)} == {whole}
    if form in ("parquet", "arrow"):
        assert tables.read_report(str(place.path)) == b"{}"
        found = tables.read(place).frame
        assert pl.DataFrame(found).equals(FRAME)


def test_text_is_what_polars_writes(tmp_path):
    assert written(FRAME, tmp_path / "t.csv", 3).decode() == FRAME.write_csv()
    assert written(FRAME, tmp_path / "t.jsonl", 3).decode() == FRAME.write_ndjson()


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_categories_keep_their_order_and_types_whatever_the_blocks(tmp_path, monkeypatch, form):
    monkeypatch.setattr(columnar, "GROUP", 4)
    kind = pa.dictionary(pa.int8(), pa.string(), ordered=True)
    order = pa.array(["low", "mid", "high", "never"])
    codes = pa.array([2, 0, None, 1, 1, 2, 0], pa.int8())
    table = pa.table(
        {
            "o": pa.DictionaryArray.from_arrays(codes, order, ordered=True),
            "l": pa.array([[b"x"], None, [], [b"y", None], [], [], []]),
            "u": pa.array([bytes(range(16))] * 7, pa.uuid()),
        },
        metadata={"owner": "clinic", "cfl.report": "old"},
    )
    contents = {written(table, tmp_path / f"t.{form}", rows, report="new") for rows in (1, 3, 7)}
    assert len(contents) == 1
    found = tables.read(Place.to_read(str(tmp_path / f"t.{form}"))).frame
    assert found.schema.field("o").type == kind
    assert found.column("o").chunk(0).dictionary.to_pylist() == order.to_pylist()
    assert found.to_pylist() == table.to_pylist()
    assert found.schema.metadata == {b"owner": b"clinic", b"cfl.report": b"new"}


def test_dictionaries_that_differ_from_block_to_block_become_one(tmp_path, monkeypatch):
    monkeypatch.setattr(columnar, "GROUP", 2)
    parts = [pa.table({"d": pa.array(one).dictionary_encode()}) for one in (["b", "a"], ["c", "a"])]
    place = Place.to_write(str(tmp_path / "t.arrow"))
    with tables.writing(place) as writer:
        for part in parts:
            writer.add(part)
        writer.finish()
    column = tables.read(place).frame.column("d")
    assert column.to_pylist() == ["b", "a", "c", "a"]
    assert [chunk.dictionary.to_pylist() for chunk in column.chunks] == [["b", "a", "c"]] * 2


def test_a_small_file_is_what_pyarrow_writes_at_once(tmp_path):
    table, arrow, parquet = frames.as_arrow(FRAME), io.BytesIO(), io.BytesIO()
    with pa.ipc.new_file(arrow, table.schema.with_metadata({"cfl.report": "{}"})) as writer:
        writer.write_table(table)
    assert written(FRAME, tmp_path / "t.arrow", 7) == arrow.getvalue()
    pq.write_table(table, parquet, compression="zstd", write_page_checksum=True)
    assert written(FRAME, tmp_path / "t.parquet", 7, report=None) == parquet.getvalue()


@pytest.mark.unix
def test_table_report_and_rejects_appear_together(tmp_path):
    (tmp_path / "t.csv").write_text('a,b\n1,2\n3\n4,5\n6,"x" y\n7,8\n')
    rejects, report = tmp_path / "rejects.csv", tmp_path / "report.json"
    place, source = Place.to_write(str(tmp_path / "o.csv")), Place.to_read(str(tmp_path / "t.csv"))
    with (
        tables.reading(source, rows=1, set_aside=True) as blocks,
        tables.writing(place, rejects=rejects) as writer,
    ):
        for block in blocks:
            writer.add(block.frame, block)
        assert sorted(os.listdir(tmp_path)) == ["t.csv"]  # noqa: PTH208 — names are all we want
        writer.finish(beside={report: "{}\n"})
    assert (tmp_path / "o.csv").read_text() == "a,b\n1,2\n4,5\n7,8\n"
    assert report.read_text() == "{}\n"
    assert rejects.read_text() == tables.rejects_text(tables.read(source, set_aside=True).rejects)
    assert writer.rejected == 2


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("error", [None, ValueError, OSError(28, "No space left on device")])
def test_what_is_not_finished_leaves_nothing(tmp_path, form, error):
    def half():
        place = Place.to_write(str(tmp_path / f"o.{form}"))
        with tables.writing(place, rejects=tmp_path / "rejects.csv") as writer:
            writer.add(FRAME, Table(FRAME, [(2, "cause", "text")]))
            if error:
                raise error

    if error:
        with pytest.raises(error if isinstance(error, type) else OSError):
            half()
    else:
        half()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", ["csv", "jsonl.gz", "parquet", "arrow"])
def test_standard_output_gets_everything_at_the_end_or_nothing(tmp_path, form):
    def streamed(stream, *, fails):
        place = Place.to_write("-", form)
        with tables.writing(place, stream=stream) as writer:
            writer.add(FRAME)
            assert stream.getvalue() == b""
            writer.finish(report="{}")
            if fails:
                raise CflError(Problem("test", "too late"))

    stream = io.BytesIO()
    streamed(stream, fails=False)
    assert stream.getvalue() == written(FRAME, tmp_path / f"t.{form}", 99)
    stream = io.BytesIO()
    with pytest.raises(CflError):
        streamed(stream, fails=True)
    assert stream.getvalue() == b""
