"""Options that are not settings are described and read like those that are."""

from cfl_cli.cli.options import (
    FORMAT,
    INPUT_FORMAT,
    Data,
)
from cfl_cli.cli.pages import RENDERERS
from cfl_cli.tables.formats import FORMATS


def test_help_names_every_format_that_there_is():
    text = Data.__metadata__[0].help
    assert text.startswith(
        "Table: .csv, .tsv, .jsonl (also .gz, .zst), .parquet, .arrow, .xlsx, .ods, or a "
        "folder of .parquet files; "
    )
    assert all(f".{part}" in text for name in FORMATS for part in name.split("."))
    assert INPUT_FORMAT.kind.choices == tuple(FORMATS)
    assert FORMAT.kind.choices == tuple(RENDERERS)
