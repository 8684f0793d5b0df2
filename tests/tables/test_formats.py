import gzip
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.errors import DataError, ResourceError, UsageError
from cfl_cli.tables.formats import FORMATS, KINDS, by_name, of_path, packed, packing_of, unpack


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.csv", "csv"),
        ("a.CSV", "csv"),
        ("a.b.tsv", "tsv"),
        ("a.parquet.csv", "csv"),
        ("a.csv.gz", "csv.gz"),
        ("a.Tsv.Zst", "tsv.zst"),
        ("a.jsonl", "jsonl"),
        ("a.ndjson.gz", "jsonl.gz"),
        ("a.parquet", "parquet"),
        ("a.arrow", "arrow"),
        ("a.feather", "arrow"),
        ("a.xlsx", "xlsx"),
        ("a.XLSM", "xlsx"),
        ("a.ods", "ods"),
        (".csv", "csv"),
        ("[x]*?.csv", "csv"),
    ],
)
def test_a_name_says_its_format(name, expected):
    assert str(of_path(Path("folder.xls") / name, option="--input-format")) == expected


@pytest.mark.parametrize("name", ["csv", "a", "a.docx", "a.gz", "a.csv.bz2", "a.csv.gz.gz", "a."])
def test_a_name_that_says_none_is_refused_with_the_way_out(name):
    with pytest.raises(UsageError, match=r"\.csv, .*\.ods, or add --input-format"):
        of_path(Path(name), option="--input-format")


def test_a_format_that_is_only_read_is_not_offered_for_writing():
    with pytest.raises(UsageError, match=r"\.arrow, or add --output-format"):
        of_path(Path("a.docx"), option="--output-format")


@pytest.mark.parametrize("ending", ["xls", "XLSB", "fods"])
def test_spreadsheets_whose_traps_cannot_be_seen_are_refused_with_the_way_out(ending):
    with pytest.raises(UsageError, match=r"is not read: open it and save it as \.xlsx, or as CSV"):
        of_path(Path(f"a.{ending}"), option="--input-format")


def test_a_packed_parquet_file_should_be_unpacked():
    with pytest.raises(UsageError, match="compressed inside: unpack"):
        of_path(Path("a.parquet.gz"), option="--input-format")


def test_an_option_names_a_format_with_or_without_a_point():
    assert by_name("CSV.gz", option="-") == by_name(".csv.gz", option="-") == FORMATS["csv.gz"]
    assert by_name("feather", option="-") == FORMATS["arrow"]
    with pytest.raises(UsageError, match=r"--output-format: unknown format 'cvs' .*mean 'csv'"):
        by_name("cvs", option="--output-format")


def test_only_what_is_not_compressed_inside_is_compressed_as_a_whole():
    packed = {form.kind.name for form in FORMATS.values() if form.packing}
    assert packed == {name for name, kind in KINDS.items() if not kind.packs_itself}
    assert packed == {"csv", "tsv", "jsonl"}


def test_text_is_not_binary():
    assert [name for name, kind in KINDS.items() if kind.is_binary] == [
        "parquet",
        "arrow",
        "xlsx",
        "ods",
    ]


PACKINGS = pytest.mark.parametrize("packing", ["gz", "zst"])


def pack(data, packing):
    file = io.BytesIO()
    with packed(file, packing) as inner:
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
