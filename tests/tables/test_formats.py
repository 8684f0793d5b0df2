from pathlib import Path

import pytest

from cfl_cli.errors import UsageError
from cfl_cli.tables.formats import FORMATS, KINDS, by_name, of_path


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
