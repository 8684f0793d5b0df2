import errno
import json
import os
import shlex
from pathlib import Path

import polars as pl
import pytest
from builders.command_line import cfl
from builders.command_line import failed as refused

TRUTH = ["clerk", "nurse", "farmer", "smith"]
SCHEMA = """\
version: 1
columns:
  id: {role: ignore}
  x: {role: ordinary, type: numeric}
  job: {role: complementary, values: [clerk, nurse, farmer, smith], exact: "="}
  pet: {role: complementary, values: [cat, dog]}
settings: {k: 3, iterations: 5, folds: 0}
"""
N = 32


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    rows = [
        f'P{n},{n},{TRUTH[(n // 8 + 1 + n % 3) % 4]},"{["cat", "dog"][n % 2]}"' for n in range(N)
    ]
    (folder / "data.csv").write_text("\n".join(["id,x,job,pet", *rows]) + "\n")
    (folder / "s.yml").write_text(SCHEMA)
    for out in ("out.csv", "out.parquet"):
        names = [str(folder / name) for name in ("data.csv", "s.yml", out)]
        assert cfl("impute", names[0], "-s", names[1], "-o", names[2]).exit_code == 0
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in made.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def drawn(*options, out="to_check.csv", source="out.csv"):
    return cfl("audit", source, "--draw", 12, "--out", out, *options)


def fill(name="to_check.csv", to=None, **cells):
    """Fill a file in: the true jobs, a dog in every row."""
    frame = pl.read_csv(name, infer_schema=False)
    jobs = [TRUTH[(int(row) - 1) // 8] for row in frame["cfl_row"]]
    frame.with_columns(job=pl.Series(jobs), pet=pl.lit("dog"), **cells).write_csv(to or name)


def checked(*options, file="to_check.csv", source="out.csv"):
    return cfl("audit", source, "--checked", file, *options)


def test_a_draw_says_what_to_do_next_and_shows_no_answer(folder):
    result = drawn("--key", "id", "--schema", "s.yml")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.splitlines() == [
        "to_check.csv: 12 of 32 rows drawn, 2 CFs to fill in",
        "values of job: clerk, nurse, farmer, smith",
        "values of pet: cat, dog",
        "fill in the true values, leave unknown ones empty, and keep cfl_row and cfl_draw",
        "then: cfl audit out.csv --checked to_check.csv --schema s.yml",
    ]
    lines = Path("to_check.csv").read_text().splitlines()
    assert lines[0] == "cfl_row,id,job,pet,cfl_draw"
    row, key, job, pet, draw = lines[1].split(",")
    assert (key, job, pet) == (f"P{int(row) - 1}", "", "")
    assert draw.startswith("seed 0 rows 12 of ")
    assert drawn("-q", "--seed", 1, "--format", "table", out="other.csv").output == ""
    assert Path("other.csv").read_text() != Path("to_check.csv").read_text()


def test_without_a_schema_a_draw_does_not_pretend_to_know_all_values(folder):
    table = pl.read_csv("out.csv", infer_schema=False)
    table.with_columns(job_imputed=pl.lit("nurse")).write_csv("out.csv")
    shown = drawn().stderr
    assert "values imputed for job: nurse (--schema FILE lists all)\n" in shown
    assert "values of pet: cat, dog\n" in shown


def test_the_command_that_a_draw_ends_with_reads_its_rows_back(folder):
    Path("out.csv").rename("out put")
    Path("out.csv.report.json").rename("facts.json")
    options = ["--input-format", "csv", "--report", "facts.json", "--output-format", "csv"]
    result = drawn(*options, "--cf", "job", "-s", "s.yml", out="check", source="out put")
    then = result.stderr.splitlines()[-1].removeprefix("then: ")
    assert then == (
        "cfl audit 'out put' --checked check --checked-format csv --schema s.yml "
        "--report facts.json --input-format csv --cf job"
    )
    fill("check")
    assert cfl(*shlex.split(then)[1:]).exit_code == 0


def test_the_audit_is_printed_and_the_report_is_brought_up_to_date(folder):
    drawn()
    fill()
    before = json.loads(Path("out.csv.report.json").read_text())
    table = Path("out.csv").read_bytes()
    result = checked("--format", "json")
    assert result.exit_code == 0, result.output
    job = json.loads(result.stdout)["columns"][0]
    assert (job["name"], job["checked"], job["answers"]) == ("job", 12, 32)
    after = json.loads(Path("out.csv.report.json").read_text())
    assert after["columns"][0]["accuracy_basis"] == "audit"
    assert after["columns"][0]["estimated_accuracy"] == job["accuracy"]
    changed = {"estimated_accuracy", "accuracy_basis", "accuracy_reason", "audit"}
    changed |= {"verdict", "reasons", "next"}
    for old, new in zip(before["columns"], after["columns"], strict=True):
        assert {k: v for k, v in old.items() if k not in changed} == {
            k: v for k, v in new.items() if k not in changed
        }
    own = {"columns": 0, "report_sha256": ""}
    assert {**before, **own} == {**after, **own}
    assert Path("out.csv").read_bytes() == table
    assert "- Accuracy by audit" in cfl("report", "out.csv", "--details").stdout
    assert checked("-q").stderr == ""


def test_a_parquet_output_keeps_its_columns_and_gets_the_report_inside(folder):
    drawn(source="out.parquet", out="to_check.parquet")
    fill_in = pl.read_parquet("to_check.parquet")
    jobs = pl.Series([TRUTH[(row - 1) // 8] for row in fill_in["cfl_row"]])
    fill_in.with_columns(job=jobs).write_parquet("filled.parquet")
    before = pl.read_parquet("out.parquet")
    assert checked(file="filled.parquet", source="out.parquet").exit_code == 0
    assert pl.read_parquet("out.parquet").equals(before)
    assert "- Accuracy by audit" in cfl("report", "out.parquet", "--details").stdout
    assert "pet: accuracy by audit" not in cfl("report", "out.parquet", "--details").stdout


def test_a_draw_serves_the_same_answers_in_any_format(folder):
    drawn()
    fill()
    shown = [
        checked(source=name, file="to_check.csv").stdout for name in ("out.csv", "out.parquet")
    ]
    assert shown[0] == shown[1]
    texts = {}
    for out in ("a.tsv", "a.jsonl", "a.csv.gz"):
        assert drawn(out=out).exit_code == 0
        texts[out] = checked(file=out)
        refused(texts[out], 1, f"{out}: no true value was filled in")


def test_a_report_elsewhere_is_read_and_brought_up_to_date_there(folder):
    Path("out.csv.report.json").rename("facts.json")
    refused(
        drawn(), 1, "out.csv: no report: expected out.csv.report.json beside it, or add --report"
    )
    result = drawn("--report", "facts.json")
    assert result.stderr.endswith("cfl audit out.csv --checked to_check.csv --report facts.json\n")
    fill()
    assert checked("--report", "facts.json").exit_code == 0
    assert "Accuracy by audit" in cfl("report", "facts.json", "--details").stdout
    assert not Path("out.csv.report.json").exists()


def test_a_report_that_does_not_exist_is_written_and_the_other_one_stays(folder):
    drawn()
    fill()
    Path("d").mkdir()
    refused(checked("--report", "d"), 2, "d: not a regular file: choose another name\n")
    before = Path("out.csv.report.json").read_bytes()
    assert checked("--report", "audited.json").exit_code == 0
    assert Path("out.csv.report.json").read_bytes() == before
    assert "Accuracy by audit" in cfl("report", "audited.json", "--details").stdout


def test_the_page_goes_to_a_file_that_is_no_source(folder):
    drawn()
    fill()
    assert checked("--out", "page.md", "--format", "md").stdout == ""
    assert Path("page.md").read_text().startswith("32 rows, 2 CFs audited\n")
    for name in ("to_check.csv", "out.csv", "out.csv.report.json"):
        before = Path(name).read_bytes()
        assert checked("--out", name).exit_code == 2
        assert Path(name).read_bytes() == before


@pytest.mark.parametrize(
    "out", ["out.csv", "out.csv.report.json", "facts.json", "facts.csv", "s.yml", "link.csv"]
)
def test_rows_to_check_replace_neither_the_output_nor_its_report(folder, out):
    for name in ("facts.json", "facts.csv.report.json"):
        Path(name).write_bytes(Path("out.csv.report.json").read_bytes())
    Path("link.csv").symlink_to("out.csv.report.json")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    report = "facts.csv.report.json" if out == "facts.csv" else "facts.json"
    options = ["-s", "s.yml", "--output-format", "csv", "--overwrite", "--report", report]
    refused(
        drawn(*options, out=out),
        2,
        "this input file" if out == "facts.csv" else "this is an input file",
    )
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("into", [[], ["--into", "data.csv", "--output-format", "csv"]])
def test_nothing_that_is_read_back_is_replaced(folder, into):
    drawn("--cf", "job")
    fill()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for out in ("out.csv", "out.csv.report.json", "to_check.csv", "s.yml", *into[1:2]):
        refused(
            checked("-s", "s.yml", "--out", out, "--overwrite", *into), 2, "this is an input file"
        )
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_checked_values_are_written_back_and_the_next_run_reads_them(folder):
    drawn("--cf", "job")
    fill()
    options = ["--into", "data.csv", "--schema", "s.yml", "--cf", "job", "--out", "data2.csv"]
    result = checked(*options)
    assert result.exit_code == 0, result.output
    assert "data2.csv: 32 rows, exact cells: 12 of job" in result.stderr
    old, new = (Path(name).read_text().splitlines() for name in ("data.csv", "data2.csv"))
    rows = {int(row) for row in pl.read_csv("to_check.csv")["cfl_row"]}
    for number, (before, after) in enumerate(zip(old, new, strict=True)):
        cells, others = before.replace('"', "").split(","), after.split(",")
        if number in rows:
            cells[2] = f"={TRUTH[(number - 1) // 8]}"
        assert cells == others
    assert cfl("impute", "data2.csv", "-s", "s.yml", "-o", "out2.csv").exit_code == 0
    report = json.loads(Path("out2.csv.report.json").read_text())
    assert report["columns"][0]["exact_cells"] == 12
    again = cfl("audit", "out2.csv", "--checked", "to_check.csv")
    refused(again, 1, "drawn from a different output, not from out2.csv")


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
@pytest.mark.parametrize("call", ["write", "fsync", "link", "replace"])
def test_table_and_report_are_both_new_or_both_old_whatever_fails(folder, monkeypatch, call, out):
    drawn("--cf", "job", source=out)
    fill()
    report = "out.csv.report.json" if out == "out.csv" else out
    owner, name = (Path, call) if call == "replace" else (os, call)
    system, calls, broken = getattr(owner, name), 0, None
    into = ["--into", "data.csv", "--schema", "s.yml", "--cf", "job", "--overwrite", "-q"]

    def fail_at(*given, **more):
        nonlocal calls
        calls += 1
        if calls == broken:
            raise OSError(errno.EIO, "Input/output error")
        return system(*given, **more)

    names = [report, "data2.csv"]
    old = [Path(names[0]).read_bytes(), b"old\n"]
    monkeypatch.setattr(owner, name, fail_at)
    for broken in range(1, 30):
        for name, content in zip(names, old, strict=True):
            Path(name).write_bytes(content)
        calls = 0
        result = checked(*into, "--out", "data2.csv", source=out)
        new = [Path(name).read_bytes() != before for name, before in zip(names, old, strict=True)]
        if calls < broken:
            break
        assert new in ([False, False], [True, True]), broken
        assert new[0] == (result.exit_code == 0), result.output
    assert broken > 1
    assert new == [True, True]


def test_reading_back_says_what_the_next_step_is(folder):
    drawn()
    fill()
    back = "next: add --into DATA --schema {} --out DATA2 to write the values back as exact cells"
    assert back.format("S") in checked().stderr
    assert back.format("s.yml") in checked("-s", "s.yml").stderr
    assert "next:" not in checked("-s", "s.yml", "--cf", "pet").stderr
    assert "next:" not in checked("-q").stderr
    into = ["--into", "data.csv", "-s", "s.yml", "--cf", "job"]
    assert "next:" not in checked(*into, "--out", "-").stderr
    result = checked(*into, "--out", "data2", "--output-format", "csv")
    step = result.stderr.splitlines()[-1].removeprefix("next: ")
    assert step == "cfl impute data2 --schema s.yml --input-format csv --out OUT2"
    words = shlex.split(step.replace("OUT2", "out2.csv"))
    assert cfl(*words[1:]).exit_code == 0


def test_cells_that_had_ruled_out_the_truth_are_warned_of(folder):
    drawn("--cf", "job")
    frame = pl.read_csv("to_check.csv", infer_schema=False)
    data = pl.read_csv("data.csv", infer_schema=False)
    cells = [data["job"][int(row) - 1] for row in frame["cfl_row"]]
    frame.with_columns(job=pl.Series(cells)).write_csv("to_check.csv")
    result = checked("--into", "data.csv", "-s", "s.yml", "--out", "data2.csv")
    assert "warning: 12 cells had ruled out the true value" in result.stderr
    assert "job: In 12 rows the cell rules out the true value" in result.stdout
    assert (
        "- In 12 rows the cell rules out the true value"
        in cfl("report", "out.csv", "--details").stdout
    )


def test_the_table_may_go_through_a_pipe(folder, forked):
    drawn("--cf", "job")
    fill()
    options = ["--into", "-", "--schema", "s.yml", "--cf", "job", "--out", "-", "-q"]
    data = Path("data.csv").read_bytes()
    run = forked.run("audit", "out.csv", "--checked", "to_check.csv", *options, stdin=data)
    assert run.returncode == 0
    assert run.stdout.startswith(b"id,x,job,pet\n")
    assert run.stdout.count(b"=") == 12
    assert "Accuracy by audit" in cfl("report", "out.csv", "--details").stdout


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b",", b";"),
        lambda data: data.replace(b",", b"\t").replace(b"\n", b"\r\n"),
        lambda data: data + b",,,\n,,,\n",
        lambda data: b'"cfl_row"' + data.removeprefix(b"cfl_row"),
    ],
)
def test_files_are_read_as_spreadsheets_write_them(folder, spoil):
    drawn()
    fill()
    expected = checked().stdout
    Path("saved.csv").write_bytes(spoil(Path("to_check.csv").read_bytes()))
    assert checked(file="saved.csv").stdout == expected


def test_other_encodings_are_asked_for_by_the_option_that_is_meant(folder):
    drawn()
    fill(note=pl.lit("für"))
    text = Path("to_check.csv").read_text()
    Path("saved.csv").write_bytes(text.encode("cp1252"))
    refused(
        checked(file="saved.csv"),
        1,
        "saved.csv: line 2: byte",
        "is not UTF-8",
        "--checked-encoding",
    )
    assert checked("--checked-encoding", "cp1252", file="saved.csv").exit_code == 0
    refused(
        checked("--checked-encoding", "cp99", file="saved.csv"), 2, "--checked-encoding: unknown"
    )
    Path("saved.csv").write_bytes(text.replace(",", "\t").encode("utf-16"))
    refused(checked(file="saved.csv"), 1, "this is UTF-16: add --checked-encoding utf-16")
    assert checked("--checked-encoding", "utf-16", file="saved.csv").exit_code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "add --draw N to draw rows to check, or --checked FILE to read them back"),
        (["--draw", 5, "--checked", "f.csv"], "--draw and --checked do not go together"),
        (["--draw", 5, "--into", "data.csv"], "--draw and --into do not go together"),
        (["--checked", "f.csv", "--key", "id"], "--key and --checked do not go together"),
        (
            ["--draw", 5, "--format", "json"],
            "--format: applies to the result of the audit: for rows to check",
        ),
        (["--draw", 5, "--checked-format", "csv"], "--draw and --checked-format do not go"),
        (["--draw", 0], "--draw: expected at least 1, found 0"),
        (["--draw", 33], "--draw 33: expected 1 to 32"),
        (["--draw", 5, "--out", "x.ods"], "x.ods: OpenDocument is only read"),
        (["--draw", 5, "--out", "out.csv", "--overwrite"], "out.csv: this is an input file"),
        (["--draw", 5, "--out", "s.yml", "--output-format", "csv"], "s.yml: already exists"),
        (["--checked", "f.csv", "--into", "data.csv"], "--into needs --schema"),
        (["--checked", "f.csv", "--into", "data.csv", "-s", "s.yml"], "--into needs --out FILE"),
        (["--checked", "f.csv", "--checked", "f.csv"], "--checked: names the same file twice"),
        (["--checked", "f.csv", "--report", "-"], "--report: name a file"),
        (["--checked", "f.csv", "--report", "f.csv"], "f.csv: this is an input file"),
        (["--checked", "f.csv", "--report", "out.csv"], "out.csv: this is an input file"),
        (["--checked", "f.txt"], "--checked-format"),
        (
            ["--checked", "-", "--into", "-", "-s", "s.yml", "--out", "x.csv"],
            "only one of the files can be standard input",
        ),
        (
            ["--checked", "f.csv", "--into", "data.csv", "-s", "s.yml", "--out", "data.csv"],
            "data.csv: this is an input file",
        ),
    ],
)
def test_a_command_line_that_makes_no_sense_is_refused(folder, options, words):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    refused(cfl("audit", "out.csv", *options), 2, words)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_files_that_are_wrong_are_refused(folder):
    refused(cfl("audit", "-", "--draw", 5), 2, "OUT: name a file, not -")
    refused(cfl("audit", "no.csv", "--draw", 5), 1, "no.csv: cannot be read")
    refused(cfl("audit", "data.csv", "--draw", 5), 1, "data.csv: no report")
    refused(checked(file="no.csv"), 1, "no.csv: cannot be read")
    refused(checked(file="data.csv"), 1, "data.csv: no column 'cfl_row'")
    drawn()
    fill(to="f.csv")
    refused(drawn(), 2, "to_check.csv: already exists")
    refused(checked("--report", "s.yml", file="f.csv"), 1, "s.yml: not a report")
    Path("empty.csv").touch()
    refused(checked(file="empty.csv"), 1, "empty.csv: the header is empty")
    into = ["--schema", "s.yml", "--out", "x.csv"]
    refused(checked("--into", "data.csv", *into, file="f.csv"), 1, "'pet' has no mark for exact")
    Path("short.csv").write_text("id,x,job,pet\n1,2,clerk,cat\n")
    short = checked("--into", "short.csv", "--cf", "job", *into, file="f.csv")
    refused(short, 1, "short.csv: out.csv was not made from this table: it has 1 rows")
    report = json.loads(Path("out.csv.report.json").read_text())
    assert report["columns"][0]["audit"] is None
    assert not Path("x.csv").exists()


def test_a_whole_round_on_the_sample_table(tmp_path, monkeypatch, sample):
    monkeypatch.chdir(tmp_path)
    for name in ("triage.csv", "triage_truth.csv"):
        lines = (sample / name).read_text().splitlines(keepends=True)
        Path(name).write_text("".join(lines[:401]))
    Path("s.yml").write_text((sample / "triage.yml").read_text())
    quick = ["--folds", 2, "--iterations", 20, "--gamma", 0, "-q"]
    run = ["-s", "s.yml", *quick]
    assert cfl("impute", "triage.csv", "-o", "imputed.csv", *run).exit_code == 0
    cf = ["--cf", "diagnosis"]
    draw = ["--draw", 100, "--key", "patient", *cf, "-o", "to_check.csv"]
    assert cfl("audit", "imputed.csv", *draw).exit_code == 0
    truth = pl.read_csv("triage_truth.csv").select("patient", found="diagnosis")
    by_hand = pl.read_csv("to_check.csv").join(truth, on="patient", maintain_order="left")
    by_hand.with_columns(diagnosis="found").drop("found").write_csv("filled.csv")
    back = ["--checked", "filled.csv", "--into", "triage.csv", "-s", "s.yml", "-o", "triage2.csv"]
    result = cfl("audit", "imputed.csv", *back, "-f", "json")
    assert result.exit_code == 0, result.output
    [found] = json.loads(result.stdout)["columns"]
    imputed = pl.read_csv("imputed.csv")
    right = imputed["diagnosis_imputed"] == pl.read_csv("triage_truth.csv")["diagnosis"]
    rows = (by_hand["cfl_row"] - 1).to_list()
    assert (found["checked"], found["right"]) == (100, right.gather(rows).sum())
    assert found["accuracy"]["low"] <= right.mean() <= found["accuracy"]["high"]
    assert cfl("impute", "triage2.csv", "-o", "again.csv", *run).exit_code == 0
    again = pl.read_csv("again.csv")["diagnosis_imputed"].gather(rows)
    assert again.to_list() == by_hand["found"].to_list()


def test_the_audit_names_the_options_that_draw_more_rows(folder):
    drawn()
    fill()
    shown = " ".join(checked().stdout.split())
    assert (
        " --seed 0 includes the rows that you already checked, as long as OUT stays the same"
        in shown
    )
    assert "pass both files with --checked." in shown
