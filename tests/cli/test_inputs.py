"""A command works with a schema, settings in which the user wins over it, and a table."""

import pytest

from cfl_cli.cli.inputs import load, read_table, sets_aside
from cfl_cli.cli.log import LOG
from cfl_cli.core.settings import RunSettings
from cfl_cli.errors import SchemaError, UsageError
from cfl_cli.tables.table import Place


@pytest.fixture(autouse=True)
def messages_as_before(monkeypatch):
    monkeypatch.setattr(LOG, "verbose", False)
    monkeypatch.setattr(LOG, "format", "text")


def test_what_is_given_wins_over_the_schema(folder):
    inputs = load("schema.yml", {"k": 4, "jobs": 2})
    assert (inputs.schema.settings.k, inputs.settings.k, inputs.settings.iterations) == (3, 4, 5)
    assert inputs.run == RunSettings(jobs=2)


def test_messages_are_as_the_schema_wants_them_unless_the_user_says_otherwise(folder):
    text = (folder / "schema.yml").read_text()
    text = text.replace("iterations: 5", "verbose: true, log_format: json")
    assert load("schema.yml", {}, text).run.verbose
    assert (LOG.verbose, LOG.format) == (True, "json")
    load("schema.yml", {"verbose": False, "log_format": "text"}, text)
    assert (LOG.verbose, LOG.format) == (False, "text")


def test_a_schema_must_be_a_file_on_this_machine(folder):
    with pytest.raises(UsageError, match="only local files"):
        load("https://example.org/schema.yml", {})
    with pytest.raises(SchemaError, match=r"no\.yml"):
        load("no.yml", {})


def test_a_table_is_read_as_the_options_say(folder):
    (folder / "data.csv").write_text("a;b\n1;'2;3'\n4\n")
    how = {"delimiter": ";", "quote": "'", "on_bad_row": "set-aside"}
    table = read_table(Place.to_read("data.csv"), how)
    assert table.frame.to_dicts() == [{"a": "1", "b": "2;3"}]
    assert [reject[0] for reject in table.rejects] == [3]


def test_bad_records_are_set_aside_only_if_asked():
    assert sets_aside({"on_bad_row": "set-aside"})
    assert not sets_aside({"on_bad_row": "fail"})
    assert not sets_aside({})
