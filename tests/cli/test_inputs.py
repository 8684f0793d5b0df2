import json
import traceback

import polars as pl
import pytest
from builders.command_line import cfl

from cfl_cli.cli.inputs import load, open_table, read_output, read_table
from cfl_cli.cli.log import LOG
from cfl_cli.errors import DataError, SchemaError, UsageError
from cfl_cli.schema.model import Schema
from cfl_cli.tables.table import Place


@pytest.fixture(autouse=True)
def messages_as_before(monkeypatch):
    monkeypatch.setattr(LOG, "verbose", False)
    monkeypatch.setattr(LOG, "format", "text")


def test_messages_are_as_the_schema_wants_them_unless_the_user_says_otherwise(folder):
    text = (folder / "schema.yml").read_text()
    text = text.replace("iterations: 5", "verbose: true, log_format: json")
    assert load("schema.yml", {}, text).limits.verbose
    assert (LOG.verbose, LOG.format) == (True, "json")
    load("schema.yml", {"verbose": False, "log_format": "text"}, text)
    assert (LOG.verbose, LOG.format) == (False, "text")


def test_a_schema_must_be_a_file_on_this_machine(folder):
    with pytest.raises(UsageError, match="only local files"):
        load("https://example.org/schema.yml", {})
    with pytest.raises(SchemaError, match=r"no\.yml"):
        load("no.yml", {})


FILE = 'file: {delimiter: ";", quote: "\'", encoding: cp1252}\n'


@pytest.fixture
def semicolons(folder):
    """Write the table of the folder, and its schema, as a spreadsheet may."""
    text = (folder / "data.csv").read_text().replace(",", ";").replace("x;", "größe;", 1)
    (folder / "data.csv").write_bytes(text.encode("cp1252"))
    schema = (folder / "schema.yml").read_text().replace("  x:", "  größe:")
    schema = schema.replace("iterations: 5", "iterations: 1, folds: 0")
    (folder / "schema.yml").write_text(schema.replace("version: 1\n", "version: 1\n" + FILE))
    return folder


def run(*arguments):
    done = cfl(*arguments)
    assert done.exit_code == 0, done.stderr
    return done


def test_the_schema_says_how_data_is_written_for_every_command(semicolons):
    run("check", "data.csv", "-s", "schema.yml")
    run("mask", "data.csv", "-s", "schema.yml", "-o", "masked.csv")
    run("impute", "data.csv", "-s", "schema.yml", "-o", "o.csv", "--model", "m.cfl")
    run("apply", "data.csv", "-m", "m.cfl", "-o", "new.csv")
    run("evaluate", "o.csv", "--truth", "data.csv", "-s", "schema.yml")
    for name in ("masked.csv", "o.csv", "new.csv"):  # in the form of the input
        assert (semicolons / name).read_text(encoding="cp1252").startswith("größe;y;cf")


def test_values_go_back_into_data_as_the_schema_says_it_is_written(semicolons):
    text = (semicolons / "schema.yml").read_text().replace("[a, b, c]", '[a, b, c], exact: "="')
    (semicolons / "schema.yml").write_text(text)
    run("impute", "data.csv", "-s", "schema.yml", "-o", "o.csv")
    run("audit", "o.csv", "--draw", 3, "-o", "rows.csv", "-s", "schema.yml")
    rows = pl.read_csv(semicolons / "rows.csv", infer_schema=False)
    rows.with_columns(cf=pl.lit("a")).write_csv(semicolons / "rows.csv")
    files = ["--checked", "rows.csv", "--into", "data.csv", "--out", "data2.csv"]
    said = run("audit", "o.csv", "-s", "schema.yml", *files).stderr
    assert "cfl impute data2.csv --schema schema.yml --out OUT2" in said
    run("impute", "data2.csv", "-s", "schema.yml", "-o", "o2.csv")


def test_what_a_command_wrote_is_read_by_the_next_without_options(semicolons):
    run("mask", "data.csv", "-s", "schema.yml", "-o", "masked.csv")
    run("check", "masked.csv", "-s", "schema.yml")
    run("impute", "masked.csv", "-s", "schema.yml", "-o", "o.csv", "--model", "m.cfl")
    run("apply", "masked.csv", "-m", "m.cfl", "-o", "new.csv")
    run("evaluate", "o.csv", "--truth", "masked.csv", "-s", "schema.yml")


def test_a_truth_without_ofs_is_read_as_it_is_written_too(semicolons):
    run("impute", "data.csv", "-s", "schema.yml", "-o", "o.csv")
    (semicolons / "truth.csv").write_text("nr,cf\n" + "".join(f"{n},a\n" for n in range(12)))
    run("evaluate", "o.csv", "--truth", "truth.csv", "-s", "schema.yml")


def test_what_is_given_wins_over_how_the_schema_says_data_is_written(semicolons):
    text = (semicolons / "data.csv").read_text(encoding="cp1252").replace(";", "|")
    (semicolons / "data.csv").write_text(text, encoding="utf-16")
    given = ["--delimiter", "|", "--encoding", "utf-16"]
    run("check", "data.csv", "-s", "schema.yml", *given)


def test_how_text_is_written_says_nothing_of_other_formats(semicolons):
    frame = pl.read_csv(semicolons / "data.csv", separator=";", encoding="cp1252")
    frame.write_parquet(semicolons / "data.parquet")
    frame.write_ndjson(semicolons / "data.jsonl")
    run("check", "data.parquet", "-s", "schema.yml")
    run("check", "data.jsonl", "-s", "schema.yml")


def test_a_table_in_utf_8_is_not_garbled_because_the_schema_says_otherwise(semicolons):
    text = (semicolons / "data.csv").read_text(encoding="cp1252").replace("größe", "name")
    rows = text.replace("\n0;", "\nMüller;", 1)
    (semicolons / "data.csv").write_text(rows, encoding="utf-8")
    schema = Schema.parse("version: 1\n" + FILE + COLUMNS)
    for how in ({}, {"encoding": "utf-8"}):
        assert read_table(Place.to_read("data.csv"), how, schema).frame["name"][0] == "Müller"
    schema = Schema.parse(schema.text.replace("cp1252", "gb18030"))  # as which UTF-8 may be read
    with pytest.raises(DataError, match="this is UTF-8, but the schema says encoding: gb18030"):
        read_table(Place.to_read("data.csv"), {}, schema)


COLUMNS = """\
columns:
  name: {role: ordinary, type: categorical}
  cf: {role: complementary, values: [a, b, c]}
"""


def test_a_delimiter_that_hides_the_columns_of_the_schema_is_named(folder):
    (folder / "data.csv").write_text("last, first;name;cf\nDoe, Jo;x;a\nRoe, Al;y;b\n")
    schema = Schema.parse("version: 1\n" + COLUMNS)
    with pytest.raises(DataError, match="line 1: ';' separates the columns of the schema, not ','"):
        read_table(Place.to_read("data.csv"), {}, schema)


def test_a_name_of_two_lines_beside_a_column_that_lacks_can_be_read(folder):
    (folder / "data.csv").write_text('"two\nlines",cf\n1,a\n2,b\n')
    table = read_table(Place.to_read("data.csv"), {}, Schema.parse("version: 1\n" + COLUMNS))
    assert table.frame.height == 2


def test_a_table_without_a_header_is_one_line(folder):
    (folder / "data.csv").write_text("Doe,20,a\nRoe,30,b\n")
    with pytest.raises(DataError, match="line 1 looks like data, such as '20': add a header"):
        read_table(Place.to_read("data.csv"), {}, Schema.parse("version: 1\n" + COLUMNS))


@pytest.mark.parametrize(
    ("content", "what"), [("x,y\n1,2\n", r"a table \(CSV\)"), ("PAR1", r"a table \(Parquet\)")]
)
def test_a_table_in_the_place_of_the_schema_is_named(folder, content, what):
    (folder / "s.yml").write_text(content)
    with pytest.raises(
        SchemaError, match=f"this is {what}, not a schema: pass the schema"
    ) as caught:
        load("s.yml", {})
    assert content[:3] not in "".join(traceback.format_exception(caught.value))


def test_a_schema_in_one_line_of_json_is_one(folder):
    columns = {"x": {"role": "ordinary", "type": "numeric"}, "cf": {"role": "complementary"}}
    (folder / "s.yml").write_text(json.dumps({"version": "1", "columns": columns}) + "\n")
    assert [*load("s.yml", {}).schema.complementary] == ["cf"]


def test_an_output_is_read_as_it_is_written(folder):
    (folder / "o.csv").write_text("x;y\n1;2\n")
    with pytest.raises(
        DataError, match=r"not a text table as `cfl impute` writes it: pass its OUT, not DATA"
    ):
        read_output(Place.to_read("o.csv"))
    (folder / "o.csv").write_text("x,y\n1\n")
    with pytest.raises(DataError, match="line 2: 1 cell, but the header has 2"):
        read_output(Place.to_read("o.csv"))


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("t.csv", "x,y\n1,2\n\n3,4\n", "line 3: a blank line: delete it, or add --ragged fill"),
        ("t.csv", "x,y,z\n1,2,3\n4\n5,6,7\n", "3: correct it, or add --ragged fill"),
        ("t.csv", 'x,y\n1,2\na"b,2\n', "add --quote none, or file: {quote: none} in the schema"),
        ("t.jsonl", '{"x":1}\n\n{"x":2}\n', "line 2: a blank line: delete it"),
        ("t.jsonl", '{"x":1}\n{"x"\n{"x":2}\n', "at character 5: correct it"),
    ],
)
def test_a_bad_record_comes_with_the_ways_out_that_a_command_has(folder, name, text, line):
    (folder / name).write_text(text)
    before, fill, _ = line.partition(", or add --ragged fill")  # which may shift cells: it is last
    for may, end in ((False, line), (True, f"{before}, or add --on-bad-row set-aside{fill}")):
        with pytest.raises(DataError) as caught:
            read_table(Place.to_read(name), {}, may_set_aside=may)
        assert str(caught.value).endswith(end)
    aside = read_table(Place.to_read(name), {"on_bad_row": "set-aside"}, may_set_aside=True)
    assert len(aside.rejects) == 1


def test_text_in_utf8_is_refused_or_read_as_such_by_every_command_alike(semicolons):
    run("fit", "data.csv", "-s", "schema.yml", "-m", "m.cfl")
    text = (semicolons / "data.csv").read_text(encoding="cp1252")
    (semicolons / "new.csv").write_text(text, encoding="utf-8")
    run("apply", "new.csv", "-m", "m.cfl", "-o", "o.csv")
    assert (semicolons / "o.csv").read_text(encoding="utf-8").startswith("größe;y;cf;")
    head, *rows = text.splitlines()
    mixed = [head.encode("cp1252"), *(row[:-1] + f"gr{n}öß{n}e" for n, row in enumerate(rows))]
    lines = [line if isinstance(line, bytes) else line.encode() for line in mixed]
    (semicolons / "new.csv").write_bytes(b"\n".join(lines))
    said = [
        cfl("apply", "new.csv", "-m", "m.cfl", "-o", "o2.csv").stderr,
        cfl("impute", "new.csv", "-s", "schema.yml", "-o", "o2.csv").stderr,
    ]
    assert said[0] == said[1]
    assert "new.csv: this is UTF-8, but the schema says encoding: cp1252" in said[0]
    assert not (semicolons / "o2.csv").exists()


def test_a_budget_goes_with_the_method_that_has_one(folder):
    with pytest.raises(UsageError, match="budget needs method='auto': add it"):
        load("schema.yml", {"budget": 3})
    assert load("schema.yml", {"budget": 3, "method": "auto"}).settings.budget == 3


def test_a_table_on_disk_is_refused_as_one_in_memory_is(semicolons):
    def stored(how, schema):
        with open_table(
            Place.to_read("data.csv"), how, schema, in_memory=False, directory=semicolons
        ) as table:
            return [table[name].to_list() for name in table.columns]

    text = (semicolons / "data.csv").read_text(encoding="cp1252").replace("größe", "name")
    rows = text.replace("\n0;", "\nMüller;", 1)
    (semicolons / "data.csv").write_text(rows, encoding="utf-8")
    schema = Schema.parse("version: 1\n" + FILE + COLUMNS)
    whole = read_table(Place.to_read("data.csv"), {}, schema).frame
    assert stored({}, schema) == [column.to_list() for column in whole.iter_columns()]
    with pytest.raises(DataError, match="this is UTF-8, but the schema says encoding: gb18030"):
        stored({}, Schema.parse(schema.text.replace("cp1252", "gb18030")))
    with pytest.raises(DataError, match="';' separates 3 cells in every line"):
        stored({"delimiter": ","}, schema)


@pytest.mark.parametrize(
    ("first", "warned"),
    [("age,town,job", True), ("31,north,a", False), ("old,north,b", False), (",town,job", False)],
)
def test_names_that_are_read_as_a_row_are_warned_of(folder, capsys, first, warned):
    rows = [f"{30 + n},{['north', 'south'][n % 2]},{'abc'[n % 3]}" for n in range(20)]
    (folder / "t.csv").write_text("\n".join([first, *rows]) + "\n")
    columns = "{column_1: {role: ignore}, column_2: {role: ordinary, type: categorical}, column_3: {role: complementary}}"
    schema = Schema.parse(f"version: 1\nfile: {{header: none}}\ncolumns: {columns}\n")
    read_table(Place.to_read("t.csv"), {}, schema)
    said = "t.csv: the first record looks like the names of the columns, and is read as a row"
    assert (said in capsys.readouterr().err) == warned
