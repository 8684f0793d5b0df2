"""Options that are not settings are described and read like those that are."""

from dataclasses import replace

import pytest

from cfl_cli.cli.options import (
    DIALECT,
    FORMAT,
    INPUT_FORMAT,
    ON_BAD_ROW,
    Columns,
    Data,
    Text,
)
from cfl_cli.cli.pages import RENDERERS
from cfl_cli.tables.formats import FORMATS


def test_kinds_of_the_command_line_read_what_they_should():
    with pytest.raises(ValueError, match=r"^expected fail or set-aside, found 'foo'$"):
        ON_BAD_ROW.kind.read("foo")
    assert Text("CHAR").read(";") == ";"
    assert Columns().read(["a b", "", "c"]) == ["a b", "c"]
    assert Columns().read("a b\n\nc\n") == ["a b", "c"]
    with pytest.raises(ValueError, match="at least one character"):
        Text("CHAR").read("")


@pytest.mark.parametrize(
    ("word", "read"),
    [("fail", "fail"), ("refuse", "fail"), ("set-aside", "set-aside"), ("reject", "set-aside")],
)
def test_the_words_of_earlier_versions_for_bad_rows_are_understood(word, read):
    assert ON_BAD_ROW.kind.read(word) == read


def test_help_names_every_format_that_there_is():
    text = Data.__metadata__[0].help
    assert text.startswith(
        "Table: .csv, .tsv, .jsonl (also .gz, .zst), .parquet, .arrow, .xlsx, .ods, or a "
        "folder of .parquet files; "
    )
    assert all(f".{part}" in text for name in FORMATS for part in name.split("."))
    assert INPUT_FORMAT.kind.choices == tuple(FORMATS)
    assert FORMAT.kind.choices == tuple(RENDERERS)


def test_a_command_may_describe_an_option_in_its_own_words():
    other = replace(DIALECT[0], help="Delimiter of TABLE.", name="table_delimiter")
    assert (other.help, other.option) == ("Delimiter of TABLE.", "--table-delimiter")
    assert (other.kind, other.env) == (DIALECT[0].kind, "CFL_TABLE_DELIMITER")
