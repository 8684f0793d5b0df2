import json

import polars as pl
import pytest
from builders.books import row, sheet, xlsx
from builders.command_line import ROWS, SCHEMA, cfl, done, impute, refused

LINES = [line.split(",") for line in ROWS[1:]]
NUMBERS = [(int(x), int(y), cf) for x, y, cf in LINES]
ERROR = '<c t="e"><f>NA()</f><v>#N/A</v></c>'


@pytest.fixture
def book(folder):
    """What writes a book: notes, and the table of data.csv with other cells in its first row."""

    def write(*first, name="book.xlsx"):
        cells = [first or NUMBERS[0], *NUMBERS[1:]]
        rows = [row(number, *line) for number, line in enumerate(cells, start=2)]
        notes = sheet(row(1, "read me"), row(2, "yes"))
        data = sheet(row(1, "x", "y", "cf"), *rows)
        (folder / name).write_bytes(xlsx(notes, data, names=["Notes", "Data"]))

    write()
    return write


def test_a_book_and_its_csv_have_the_same_output_to_the_byte(folder, book):
    for data, out in (("data.csv", "one.csv"), ("book.xlsx#Data", "two.csv")):
        done(impute(data=data, out=out))
    assert (folder / "one.csv").read_bytes() == (folder / "two.csv").read_bytes()


def test_a_decimal_comma_of_text_tables_does_not_make_a_book_another_table(folder, book):
    halves = [(x / 2, "k.A." if x == 3 else y, cf) for x, y, cf in NUMBERS]
    halves[4] = ("k.A.", 2.5, "a")  # so that both columns are mixed, and numbers there text
    rows = [row(number, *line) for number, line in enumerate(halves, start=2)]
    (folder / "book.xlsx").write_bytes(xlsx(sheet(row(1, "x", "y", "cf"), *rows)))
    text = "x;y;cf\n" + "".join(";".join(map(str, line)) + "\n" for line in halves)
    (folder / "data.csv").write_text(text.replace(".0;", ";").replace(".5", ",5"))
    (folder / "schema.yml").write_text(SCHEMA.replace("version: 1\n", VERSION))
    for data, out in (("data.csv", "one.csv"), ("book.xlsx", "two.csv")):
        done(impute("--mode", "soft", data=data, out=out))
    outs = (folder / name for name in ("one.csv", "two.csv"))  # both as `file` says
    one, two = (pl.read_csv(out, separator=";").select("^cf.*$") for out in outs)
    assert one.equals(two)


VERSION = 'version: 1\nfile: {delimiter: ";", decimal: ","}\nmissing: ["", k.A.]\n'


def test_init_check_fit_apply_and_evaluate_read_a_sheet(folder, book):
    for arguments in (
        ["init", "book.xlsx#Data", "--cf", "cf", "--out", "drafted.yml"],
        ["check", "book.xlsx#Data", "--schema", "schema.yml"],
        ["fit", "book.xlsx#Data", "--schema", "schema.yml", "--model", "m.cfl"],
        ["apply", "book.xlsx#Data", "--model", "m.cfl", "--out", "o.parquet"],
        ["evaluate", "o.parquet", "--truth", "book.xlsx#Data", "--schema", "schema.yml"],
    ):
        done(cfl(*arguments))
    assert "cf: {role: complementary" in (folder / "drafted.yml").read_text()
    out = pl.read_parquet("o.parquet")
    assert out.select("x", "y", "cf").rows() == NUMBERS
    assert out.schema["x"] == pl.Int64


def test_a_sheet_must_be_named_and_no_old_book_is_written(folder, book):
    expected = "book.xlsx: 2 sheets, 'Notes', 'Data': name one, such as 'book.xlsx#Notes'"
    refused(impute(data="book.xlsx"), 2, expected)
    said = "out.ods: OpenDocument is only read: write .xlsx, .csv or .parquet"
    refused(impute(out="out.ods"), 2, said)


def test_a_formula_that_failed_is_named_once_until_it_counts_as_missing(folder, book):
    book(1, ERROR, "a")
    result = impute(data="book.xlsx#Data")
    assert result.exit_code == 1
    assert result.stderr == (
        "cfl: book.xlsx#Data: column 'y': '#N/A' (row 1) is a formula error: correct it or "
        'set missing: ["#N/A"]\n'
    )
    (folder / "schema.yml").write_text(
        SCHEMA.replace("y: {role: ordinary,", 'y: {role: ordinary, missing: ["#N/A"],')
    )
    result = done(impute(data="book.xlsx#Data"))
    assert "#N/A" not in result.stderr
    assert json.loads((folder / "out.csv.report.json").read_text())["rows"] == len(NUMBERS)


def test_a_failed_formula_in_a_category_is_not_taken_for_one_in_silence(folder, book):
    book(1, ERROR, "a")
    schema = SCHEMA.replace(
        "y: {role: ordinary, type: numeric}", "y: {role: ordinary, type: categorical}"
    )
    (folder / "schema.yml").write_text(schema)
    cfl("fit", "data.csv", "--schema", "schema.yml", "--model", "m.cfl")
    for arguments in (
        ["check", "book.xlsx#Data", "--schema", "schema.yml"],
        ["apply", "book.xlsx#Data", "--model", "m.cfl", "--out", "o.csv"],
        ["init", "book.xlsx#Data", "--cf", "cf"],
    ):
        result = cfl(*arguments)
        assert "cell B2 (row 1) holds '#N/A'" in result.stderr, arguments
