"""OUT has the form of DATA, its confidences six digits; several tables have an output each."""

import json
from pathlib import Path

import polars as pl
import pytest
from builders.command_line import ROWS, SCHEMA, cfl, done, failed, refused
from builders.command_line import impute as one
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.core.arrays import significant

QUICK = ("--folds", "0", "--method", "commonest", "-q")
GRAPH = ("--method", "graph")  # the last one counts
GERMAN = SCHEMA.replace("[a, b, c]", "[ä, b, c]") + "file: {delimiter: ';', encoding: cp1252}\n"


@pytest.fixture
def german(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("schema.yml").write_text(GERMAN)
    text = "\n".join(ROWS).replace(",", ";").replace("a", "ä") + "\n"
    Path("data.csv").write_text(text, encoding="cp1252")


@pytest.fixture
def plain(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("schema.yml").write_text(SCHEMA)
    Path("data.csv").write_text("\n".join(ROWS) + "\n")


def impute(*options, data="data.csv", out="out.csv"):
    return one(*QUICK, *options, data=data, out=out)


def first(name, encoding="utf-8"):
    return Path(name).read_text(encoding).splitlines()[0]


@pytest.mark.usefixtures("german")
def test_a_text_comes_back_in_its_own_form_and_is_read_again_as_such():
    done(impute("--mode", "both"))
    assert first("out.csv", "cp1252").startswith("x;y;cf;cf_imputed;cf_confidence;cf__ä;cf__b")
    assert json.loads(Path("out.csv.report.json").read_text())["sources"]["writing"] == {
        "delimiter": ";",
        "encoding": "cp1252",
    }
    verified = done(cfl("report", "out.csv", "--verify", "data.csv", "--schema", "schema.yml"))
    assert "its new columns are as they were written" in verified.stdout
    assert "its other columns are the same as in data.csv" in verified.stdout
    truth = Path("data.csv").read_text("cp1252")
    Path("truth.csv").write_text(truth, encoding="cp1252")
    for moved in (False, True):  # with its report, and by the schema's `file`
        if moved:
            Path("out.csv.report.json").rename("r.json")
        scores = done(cfl("evaluate", "out.csv", "--truth", "truth.csv", "-s", "schema.yml"))
        assert scores.stdout.startswith("12 rows, 1 CF")


@pytest.mark.usefixtures("german")
def test_another_form_is_asked_for_by_option_or_by_variable():
    done(impute("--output-delimiter", ",", "--output-encoding", "utf-8", "--mode", "soft"))
    assert first("out.csv") == "x,y,cf,cf__ä,cf__b,cf__c"
    assert "writing" not in json.loads(Path("out.csv.report.json").read_text())["sources"]
    done(impute("--output-delimiter", "tab", "--output-encoding", "utf-16", "--overwrite"))
    assert first("out.csv", "utf-16").startswith("x\ty\tcf\t")
    assert "as they were written" in done(cfl("report", "out.csv", "--verify")).stdout
    done(one(*QUICK, "--overwrite", CFL_OUTPUT_DELIMITER="|", CFL_OUTPUT_ENCODING="utf-8"))
    assert first("out.csv").startswith("x|y|cf|")
    for form, start in ((".tsv", "x\ty\tcf\t"), (".jsonl", '{"x":"0","y":"0"')):
        done(impute(out=f"out{form}"))
        assert first(f"out{form}", "cp1252").startswith(start)


@pytest.mark.usefixtures("german")
@pytest.mark.parametrize("more", ["skip_lines: 2", "header: 3", "header: none"])
def test_an_output_has_its_header_first_wherever_that_of_the_input_was(more):
    schema = GERMAN.replace("cp1252}", f"cp1252, {more}}}")
    text = Path("data.csv").read_text("cp1252")
    if more == "header: none":
        text = text.partition("\n")[2]
        for number, name in enumerate(("x", "y", "cf"), start=1):
            schema = schema.replace(f"  {name}: ", f"  column_{number}: ")
    else:
        text = "a title\n\n" + text
    Path("data.csv").write_text(text, "cp1252")
    Path("schema.yml").write_text(schema)
    done(cfl("mask", "data.csv", "-s", "schema.yml", "--out", "masked.csv", "-q"))
    assert len(first("masked.csv", "cp1252").split(";")) == 3
    done(impute(data="masked.csv"))
    assert len(Path("out.csv").read_text("cp1252").splitlines()) == 13
    verified = done(cfl("report", "out.csv", "--verify", "masked.csv", "-s", "schema.yml"))
    assert "its other columns are the same as in masked.csv" in verified.stdout


@pytest.mark.usefixtures("german")
def test_the_schema_says_the_form_where_the_table_has_none():
    frame = pl.read_csv("data.csv", separator=";", encoding="cp1252", infer_schema=False)
    frame.write_parquet("data.parquet")
    done(impute(data="data.parquet"))
    assert first("out.csv", "cp1252").startswith("x;y;cf;")


@pytest.mark.usefixtures("german")
def test_masked_tables_and_drawn_rows_have_their_form_too():
    done(cfl("mask", "data.csv", "-s", "schema.yml", "--out", "masked.csv", "-q"))
    assert first("masked.csv", "cp1252") == "x;y;cf"
    done(impute(data="masked.csv"))
    done(cfl("audit", "out.csv", "--draw", 3, "--out", "drawn.csv", "--output-delimiter", ";"))
    assert first("drawn.csv") == "cfl_row;cf;cfl_draw"


@pytest.mark.usefixtures("german")
def test_what_the_encoding_lacks_is_found_before_the_work():
    Path("schema.yml").write_text(GERMAN.replace("[ä, b, c]", "[ä, b, c, Ω]"))
    refused(impute(), 1, "'Ω' cannot be written in cp1252", "--output-encoding utf-8")
    done(impute("--output-encoding", "utf-8"))
    failed(impute("--output-delimiter", '"', "--overwrite"), 2, "is the quote character")
    failed(impute("--output-delimiter", ";", out="o.parquet"), 2, "does not apply to o.parquet")


@pytest.mark.usefixtures("plain")
def test_confidences_have_six_digits_in_text_and_all_elsewhere():
    shown = {}
    for name, digits in (("a.csv", ()), ("b.csv", ("--digits", "full")), ("c.jsonl", ())):
        done(impute("--mode", "both", *GRAPH, *digits, out=name))
        read = pl.read_ndjson if name.endswith("jsonl") else pl.read_csv
        shown[name] = read(name)["cf_confidence"].to_list()
        verified = done(cfl("report", name, "--verify")).stdout
        assert "its new columns are as they were written" in verified
    done(impute("--mode", "both", *GRAPH, out="d.parquet"))
    exact = pl.read_parquet("d.parquet")["cf_confidence"].to_list()
    assert shown["b.csv"] == exact
    assert shown["a.csv"] == shown["c.jsonl"] == [float(f"{one:.6g}") for one in exact] != exact
    done(impute("--digits", 3, *GRAPH, out="e.csv"))
    short = pl.read_csv("e.csv", infer_schema=False)["cf_confidence"]
    assert max(map(len, short)) == len("0.123")
    done(cfl("fit", "data.csv", "-s", "schema.yml", "-m", "m.cfl", *QUICK))
    done(cfl("apply", "data.csv", "-m", "m.cfl", "--out", "f.csv", "-q"))
    assert max(map(len, pl.read_csv("f.csv", infer_schema=False)["cf_confidence"])) <= 8


@given(st.lists(st.floats(0, 1), min_size=1), st.integers(1, 15))
def test_a_number_becomes_the_double_next_to_its_decimal(numbers, digits):
    shown = significant(pl.Series(numbers).to_numpy(), digits).tolist()
    for number, found in zip(numbers, shown, strict=True):
        if number >= 10.0 ** (digits - 22):
            near = float(f"{number:.{digits - 1}e}")
            assert found == near or abs(found - number) <= abs(near - number) * (1 + 1e-9)
            assert float(f"{found:.{digits - 1}e}") == found


@pytest.mark.usefixtures("plain")
def test_numeric_columns_become_numbers_where_that_is_asked_for():
    Path("data.csv").write_text("\n".join(ROWS).replace("\n3,", "\n,") + "\n")
    done(impute("--typed", out="out.parquet"))
    done(impute(out="as_is.parquet"))
    typed, plain = pl.read_parquet("out.parquet"), pl.read_parquet("as_is.parquet")
    assert [typed[name].dtype for name in ("x", "y", "cf")] == [pl.Float64, pl.Float64, pl.String]
    assert [plain[name].dtype for name in ("x", "y")] == [pl.String] * 2
    assert typed["x"].to_list()[:5] == [0, 1, 2, None, 4]
    verified = done(cfl("report", "out.parquet", "--verify", "data.csv")).stdout
    assert (
        "its other columns were not compared, because --typed turned texts into numbers" in verified
    )
    failed(impute("--typed"), 2, "--typed does not apply to out.csv")


@pytest.mark.usefixtures("plain")
def test_an_excel_book_is_written_and_read_as_any_table():
    done(impute("--mode", "both", out="out.xlsx"))
    assert "as they were written" in done(cfl("report", "out.xlsx", "--verify")).stdout
    Path("truth.csv").write_text("\n".join(ROWS) + "\n")
    scores = cfl("evaluate", "out.xlsx", "--truth", "truth.csv", "-s", "schema.yml")
    assert done(scores).stdout.startswith("12 rows, 1 CF")


# Several tables.


@pytest.fixture
def tables(plain):
    for number, rows in enumerate((8, 10, 12)):
        Path(f"n_{number}.csv").write_text("\n".join(ROWS[: rows + 1]) + "\n")


def written(folder):
    return sorted(path.name for path in Path(folder).iterdir())


@pytest.mark.usefixtures("tables")
def test_each_of_several_tables_has_an_output_and_a_report():
    done(one(*QUICK, "n_1.csv", data="n_0.csv", out="out/"))
    assert written("out") == ["n_0.csv", "n_0.csv.report.json", "n_1.csv", "n_1.csv.report.json"]
    done(impute(data="n_*.csv", out="by_pattern/"))  # as where no shell expands it
    assert [name for name in written("by_pattern") if name.endswith("csv")] == [
        *(f"n_{number}.csv" for number in range(3))
    ]
    done(impute(data="n_0.csv", out="alone.csv"))
    assert Path("out/n_0.csv").read_bytes() == Path("alone.csv").read_bytes()
    done(impute("--output-format", "parquet", data="n_[01].csv", out="out/"))
    assert {"n_0.parquet", "n_1.parquet"} < {*written("out")}


@pytest.mark.usefixtures("tables")
def test_a_table_that_fails_leaves_the_others_and_the_worst_code_counts():
    Path("n_1.csv").write_text("x,y\n1,2\n")
    result = impute(data="n_*.csv", out="out/")
    failed(result, 1, "n_1.csv: column 'cf' is in the schema", "1 of 3 tables failed: n_1.csv")
    assert written("out") == [*("n_0.csv", "n_0.csv.report.json", "n_2.csv", "n_2.csv.report.json")]
    for number in range(3):
        Path(f"n_{number}.csv").write_text("x,y\n1,2\n")
    failed(impute(data="n_*.csv", out="none/"), 1, "3 of 3 tables failed")
    assert not Path("none").exists()


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    ("options", "names", "out", "said"),
    [
        ((), ("n_0.csv", "n_1.csv"), "out.csv", "is one file, but there are 2 tables"),
        ((), ("n_0.csv", "n_1.csv"), "-", "name a folder, such as --out filled/"),
        ((), ("n_0.csv", "./n_0.csv"), "out/", "would be written for 'n_0.csv' and './n_0.csv'"),
        ((), ("n_0.csv", "-"), "out/", "standard input cannot be one of several tables"),
        ((), ("q_*.csv",), "out/", "no file matches 'q_*.csv'"),
        (("--report", "r.json"), ("n_*.csv",), "out/", "--report: names one file"),
        (("--model", "m.cfl"), ("n_*.csv",), "out/", "--model: names one file"),
        (("--diagnostics", "d.csv"), ("n_*.csv",), "out/", "--diagnostics: names one file"),
    ],
)
def test_what_cannot_be_several_is_refused_before_the_work(options, names, out, said):
    failed(one(*QUICK, *options, *names[1:], data=names[0], out=out), 2, said)
    assert not Path("out").exists()


@pytest.mark.usefixtures("tables")
def test_several_batches_of_new_rows_are_added_to_a_history_in_order():
    done(cfl("fit", "data.csv", "-s", "schema.yml", "-m", "m.cfl", *QUICK))
    apply = ("apply", "n_*.csv", "-m", "m.cfl", "--out", "out/", "--history", "h.jsonl")
    assert "3 tables written" in done(cfl(*apply)).stderr
    lines = [json.loads(line) for line in Path("h.jsonl").read_text().splitlines()]
    assert len(lines) == 3
    assert [name for name in written("out") if name.endswith("csv")] == [
        *(f"n_{number}.csv" for number in range(3))
    ]
