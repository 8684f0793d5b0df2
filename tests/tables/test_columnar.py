import datetime as dt
from contextlib import suppress
from decimal import Decimal

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from builders.arrow_types import as_file, columns, twice_coded, with_interval
from builders.command_line import cfl
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.errors import CflError, DataError
from cfl_cli.tables import codec, columnar, frames
from cfl_cli.tables import table as tables
from cfl_cli.tables.checksums import ColumnsChecksum, ContentChecksum
from cfl_cli.tables.codec import ReadOptions, Table, WriteOptions, codec_of
from cfl_cli.tables.formats import KINDS

DAY = dt.date(2024, 2, 29)
TABLE = pa.table(
    {
        "date": pa.array([DAY, None]),
        "moment": pa.array([1, None], pa.timestamp("ns", "Europe/Paris")),
        "time": pa.array([1, None], pa.time64("ns")),
        "span": pa.array([1, None], pa.duration("us")),
        "price": pa.array([Decimal("1.10"), None], pa.decimal128(10, 2)),
        "long price": pa.array([Decimal("1.10"), None], pa.decimal256(60, 2)),
        "category": pa.array(["a", None]).dictionary_encode(),
        "list": pa.array([[1], None], pa.list_(pa.int8())),
        "pair": pa.array([[1, 2], None], pa.list_(pa.int8(), 2)),
        "object": pa.array([{"a": 1, "b": None}, None]),
        "map": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int32())),
        "bytes": pa.array([b"\xff\x00", None]),
        "code": pa.array([b"ab", None], pa.binary(2)),
        "half": pa.array([1.5, None], pa.float16()),
        "nothing": pa.nulls(2),
        "small": pa.array([255, None], pa.uint8()),
        "uuid": pa.array([b"0123456789abcdef", None], pa.uuid()),
        "": pa.array(["no name", ""]),
    },
    metadata={"owner": "clinic"},
)
BOTH = pytest.mark.parametrize("kind", ["parquet", "arrow"])


def written(table, kind, report=None):
    sink = pa.BufferOutputStream()
    codec.write_frame(table, sink, WriteOptions(KINDS[kind], "t"), report=report)
    return sink.getvalue().to_pybytes()


def load(data, kind):
    return codec.read_bytes(data, ReadOptions(KINDS[kind], "t")).frame


def misfits(table, kind):
    return columnar.misfits(Table(table), WriteOptions(KINDS[kind], f"out.{kind}"))


@BOTH
def test_types_values_and_metadata_of_every_column_survive(kind):
    data = written(TABLE, kind, report="{}")
    found = load(data, kind)
    assert found.replace_schema_metadata(None).equals(TABLE.replace_schema_metadata(None))
    assert found.schema.metadata == {b"owner": b"clinic", b"cfl.report": b"{}"}
    assert columnar.read_report(data, ReadOptions(KINDS[kind], "t")) == b"{}"


@BOTH
def test_a_new_report_takes_the_place_of_the_old_one(kind):
    data = written(load(written(TABLE, kind, report="{}"), kind), kind, report="[]")
    assert columnar.read_report(data, ReadOptions(KINDS[kind], "t")) == b"[]"
    assert load(data, kind).schema.metadata == {b"owner": b"clinic", b"cfl.report": b"[]"}


def test_enums_and_categories_of_polars_are_enums_and_categories_again(tmp_path):
    frame = pl.DataFrame(
        {
            "enum": pl.Series(["b", None], dtype=pl.Enum(["b", "a"])),
            "category": pl.Series(["x", "y"], dtype=pl.Categorical),
            "nested": [[{"d": DAY}], []],
        }
    )
    frame.write_parquet(tmp_path / "in.parquet")
    table = tables.read(tables.Place.to_read(str(tmp_path / "in.parquet")))
    tables.write(table.frame, tables.Place.to_write(str(tmp_path / "out.parquet")), report="{}")
    assert pl.read_parquet(tmp_path / "out.parquet").equals(frame)
    assert pl.read_parquet(tmp_path / "out.parquet").schema == frame.schema


@BOTH
@given(data=st.data())
def test_a_damaged_file_is_refused_or_read_and_never_raises_anything_else(kind, data):
    good = written(TABLE.slice(0, 2), kind)
    bad = bytearray(good)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(good) - 1))
        bad[place] ^= data.draw(st.integers(1, 255))
    bad = bytes(bad[: data.draw(st.sampled_from([len(good), len(good) // 2, len(good) - 3]))])
    with suppress(CflError):
        load(bad, kind)


def test_a_page_whose_checksum_is_wrong_is_refused():
    sink = pa.BufferOutputStream()
    table = pa.table({"a": ["text that is stored as it is"] * 3})
    plain = {"compression": None, "use_dictionary": False, "write_statistics": False}
    pq.write_table(table, sink, write_page_checksum=True, **plain)
    data = sink.getvalue().to_pybytes()
    place = data.index(b"stored")
    with pytest.raises(DataError, match="not a well-formed"):
        load(data[:place] + b"S" + data[place + 1 :], "parquet")


def test_columns_that_a_format_cannot_hold_are_named_with_those_that_can():
    union = pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([1, 2])])
    table = pa.table({"a": [1, 2], "u": union})
    (problem,) = misfits(table, "parquet")
    assert str(problem).startswith("column 'u' holds sparse_union")
    assert not misfits(table, "arrow")
    table = Table(pl.DataFrame({"a": ["[1]"], "b\0": ["x"]}), mixed={"a": "objects or lists"})
    assert [*map(str, codec.all_misfits([], table, name="o.csv"))] == [
        "column 'a' holds objects or lists, which o.csv cannot hold: write .jsonl",
        "the column name 'b\\x00' holds a NUL character, which o.csv cannot hold",
    ]
    lists = Table(pl.DataFrame({"cf": [["a", "b"], []]}))
    (problem,) = codec_of(KINDS["csv"]).misfits(lists, WriteOptions(KINDS["csv"], "o.csv"))
    assert str(problem).startswith("column 'cf' holds ")
    assert str(problem).endswith(", which o.csv cannot hold: write .jsonl or .parquet")
    for name in ("jsonl", "parquet"):
        assert codec_of(KINDS[name]).misfits(lists, WriteOptions(KINDS[name], "o")) == []


def test_types_that_polars_lacks_become_columns_without_text():
    frame = frames.as_polars(TABLE)
    assert frame.columns == TABLE.column_names
    assert frame.schema["uuid"] == pl.Object
    assert frame["long price"].to_list() == ["1.10", None]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([2**31 - 1, -(2**31), None], pa.date32()),
        pa.array([2**62], pa.timestamp("ms")),
        pa.array([-(2**63), None], pa.timestamp("us")),
        pa.array([0], pa.timestamp("ms", "+05:30")),
        pa.array([0], pa.timestamp("s", "Mars/Olympus")),
        pa.array([b""], pa.binary(0)),
    ],
)
def test_what_polars_would_panic_at_is_kept_from_it(column):
    frame = frames.as_polars(pa.table({"a": column}))
    assert frame.schema["a"] in (pl.String, pl.Object)
    assert frame.height == len(column)


def test_what_fails_only_when_it_is_written_is_an_error_without_its_cells():
    table = pa.table({"a": pa.array([2**62], pa.timestamp("s"))})
    with pytest.raises(DataError, match=r"^t: Parquet cannot store everything in the table: write"):
        written(table, "parquet")


# Every format's module offers the same functions, so that a new one touches two places.


# Columns of any Arrow type that nobody asked about pass through, or are refused by name.

BASE = {"x": pa.array(map(float, range(7))), "cf": pa.array([*"abcabca"])}
SCHEMA = """\
version: 1
columns:
  x: {role: ordinary, type: numeric}
  cf: {role: complementary, values: [a, b, c]}
settings: {method: commonest, folds: 0, quiet: true}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.yml").write_text(SCHEMA)
    return tmp_path


def run(folder, data):
    (folder / "data.arrow").write_bytes(data)
    return cfl("impute", "data.arrow", "-s", "schema.yml", "--out", "out.arrow", "--overwrite")


def cells(table, name):
    """Return a column in Python; dates, of which Python has not all, as numbers."""
    column = table.column(name)
    return (column.cast("int32") if name == "date" else column).to_pylist()


def test_ignored_columns_of_every_type_pass_through(folder):
    strange = columns()
    table = pa.table({**strange, **BASE})
    for stream in (False, True):
        done = run(folder, as_file(table, stream=stream))
        assert done.exit_code == 0, done.output
        found = pa.ipc.open_file((folder / "out.arrow").read_bytes()).read_all()
        for name in strange:
            assert cells(found, name) == cells(table, name), name
        assert cfl("report", "out.arrow", "--verify").exit_code == 0


@pytest.mark.parametrize("unit", [0, 1])
def test_intervals_that_pyarrow_has_no_arrays_of_are_refused_by_name(folder, unit):
    table = pa.table({"c": columns()["interval"], **BASE})
    refused = run(folder, with_interval(table, unit))
    assert refused.exit_code == 1, refused.output
    assert "column 'c' holds" in refused.stderr
    assert "Traceback" not in refused.output


def test_a_dictionary_of_dictionaries_is_refused(folder):
    refused = run(folder, as_file(pa.table({"c": twice_coded(), **BASE})))  # written wrong
    assert (refused.exit_code, "Traceback" in refused.output) == (1, False)
    assert "data.arrow: " in refused.stderr


# The checksum of a table depends on its cells alone, for every type that a table can have.

TYPES = columns() | {"dictionary of dictionary": twice_coded()}
PLAIN = pl.DataFrame(
    {
        "text": ["a", "", None, 'q"\n,', "\x1f"],
        "number": [1, -2, None, 2**53 + 1, 0],
        "float": [0.1, 1e16, None, 1e-7, -0.0],
        "truth": [True, None, False, True, True],
        "day": [dt.date(2024, 1, day) for day in range(1, 6)],
    }
)
MOMENTS = PLAIN.with_columns(
    at=pl.Series([1, None, 10**15 + 7, -1, 0], dtype=pl.Int64).cast(pl.Datetime("us")),
    time=pl.Series([dt.time(1, 2, 3, 4), None] * 2 + [dt.time(0)]),
)


def of(*parts, kind="arrow"):
    made = ContentChecksum(KINDS[kind])
    for part in parts:
        made.add(part)
    return made.content()


@pytest.mark.parametrize("name", TYPES)
def test_blocks_do_not_count_and_cells_do(name):
    table = pa.table({"c": TYPES[name]})
    whole = of(table)
    assert whole == of(table[:2], table[2:2], table[2:])
    assert whole == of(pa.concat_tables([table[:3], table[3:]]))
    if name != "null":
        assert whole.sha256 != of(pa.concat_tables([table[3:], table[:3]])).sha256


@pytest.mark.parametrize("name", columns())
def test_what_an_arrow_file_gives_back_is_the_same(tmp_path, name):
    table = pa.table({"c": TYPES[name]})
    path = tmp_path / "t.arrow"
    path.write_bytes(as_file(table))
    assert of(tables.read(tables.Place.to_read(str(path))).frame) == of(table)


@pytest.mark.parametrize("name", ["t.csv", "t.tsv.zst", "t.jsonl.gz", "t.parquet", "t.arrow"])
@pytest.mark.parametrize("frame", [PLAIN, MOMENTS], ids=["plain", "moments"])
def test_what_a_format_gives_back_is_the_same(tmp_path, name, frame):
    place = tables.Place.to_write(str(tmp_path / name))
    (tmp_path / name).write_bytes(tables.to_bytes(frame, place))
    kind = place.format.kind.name
    before, back = of(frame, kind=kind), of(tables.read(place).frame, kind=kind)
    assert (back.sha256, back.columns, back.rows) == (before.sha256, before.columns, before.rows)
    if kind not in {"csv", "tsv"}:
        assert back == before


def test_cells_count_and_formats_do_not_and_null_is_told_from_empty_text():
    found = {of(PLAIN, kind=kind).sha256 for kind in ("csv", "jsonl", "parquet", "arrow")}
    assert len(found) == 1
    one, other = pl.DataFrame({"c": ["ab", "c"]}), pl.DataFrame({"c": ["a", "bc"]})
    assert of(one).sha256 != of(other).sha256
    null, empty = pl.DataFrame({"c": [None, "c"]}), pl.DataFrame({"c": ["", "c"]})
    assert of(null).sha256 == of(empty).sha256
    assert of(null).nulls_sha256 != of(empty).nulls_sha256


# Some columns, of text and of numbers.

FRAME = pl.DataFrame(
    {
        "a": ["x", None, "y,\n", "ü"],
        "b": [0.1, None, 1 / 3, 1e-300],
        "none": pl.Series([None] * 4, dtype=pl.String),
    }
)


def columns_of(*parts):
    made = ColumnsChecksum()
    for part in parts:
        made.add(part.get_columns())
    return made.hexdigest()


def test_of_columns_blocks_do_not_count_and_every_cell_name_and_place_does():
    whole = columns_of(FRAME)
    assert whole == columns_of(FRAME[:1], FRAME[1:1], FRAME[1:])
    others = [
        FRAME.with_columns(a=pl.Series(["x", None, "y,\n", "u"])),
        FRAME.with_columns(a=pl.Series([None, "x", "y,\n", "ü"])),
        FRAME.with_columns(b=pl.Series([0.1, None, 0.3333333333333333, 2e-300])),
        *(FRAME.rename({"a": "c"}), FRAME.select("b", "a", "none"), FRAME[:3]),
    ]
    assert len({whole, *map(columns_of, others)}) == 1 + len(others)


@pytest.mark.parametrize("name", ["t.csv", "t.tsv.gz", "t.jsonl", "t.parquet", "t.arrow"])
def test_columns_that_a_format_gives_back_have_the_same_checksum(tmp_path, name):
    place = tables.Place.to_write(str(tmp_path / name))
    (tmp_path / name).write_bytes(tables.to_bytes(FRAME, place))
    frame = tables.read(place).frame
    back = pl.DataFrame(frame if isinstance(frame, pl.DataFrame) else pl.from_arrow(frame))
    assert columns_of(
        back.cast({"a": pl.String, "b": pl.Float64, "none": pl.String})
    ) == columns_of(FRAME)


NOT_UTF_8 = {b"\xff\xfe": b"\xfe\xff"}


def odd(kind, name="x"):
    return pa.field(name, kind, metadata=NOT_UTF_8)


@BOTH
def test_metadata_that_are_not_utf_8_are_no_concern_of_polars_and_stay(kind):
    fields = [
        odd(pa.string(), "text"),
        odd(pa.list_(odd(pa.string())), "list"),
        odd(pa.list_(odd(pa.int8()), 1), "array"),
        odd(pa.struct([odd(pa.large_list(odd(pa.int8())))]), "object"),
        odd(pa.map_(pa.string(), odd(pa.int32())), "map"),
    ]
    schema = pa.schema(fields, metadata=NOT_UTF_8)
    row = {"text": "a", "list": ["a"], "array": [1], "object": {"x": [1]}, "map": [("k", 1)]}
    table = pa.Table.from_pylist([row, dict.fromkeys(row)], schema)
    read = load(written(table, kind), kind)
    assert read.schema.metadata[b"\xff\xfe"] == b"\xfe\xff"
    cells = frames.as_polars(read)
    assert cells["text"].to_list() == ["a", None]
    assert cells["list"].to_list() == [["a"], None]
    assert cells["array"].to_list() == [[1], None]
    assert cells["object"][0] == {"x": [1]}
    assert not any(kind == pl.Object for kind in cells.dtypes)


def test_a_panic_of_polars_is_an_error_that_names_file_and_column(monkeypatch):
    def panic(_):
        raise pl.exceptions.PanicException("secret")

    monkeypatch.setattr(frames.pl, "from_arrow", panic)
    with pytest.raises(DataError) as caught:
        frames.as_polars(pa.table({"a": [1]}), name="t.parquet")
    assert caught.value.code == "library-panic"
    assert str(caught.value).startswith("t.parquet: column 'a' holds int64, at which polars panics")
    assert "secret" not in str(caught.value)
