import gzip
import json
from functools import partial

import polars as pl
import pyarrow.parquet as pq
import pytest
from builders.command_line import cfl
from builders.command_line import refused as nothing_written

SCHEMA = """\
version: 1
columns:
  x: {role: ordinary, type: numeric}
  cf: {role: complementary, values: [a, b, c], separator: ";", exact: "="}
settings: {k: 3, iterations: 5, folds: 0}
"""
LINES = ["x,note,cf", *(f'{n}.0,"no, {n}",{"abc"[n % 3]}' for n in range(12)), "12,,"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yml").write_text(SCHEMA)
    (tmp_path / "d.csv").write_text("\n".join(LINES) + "\n")
    return tmp_path


def run(*options, data="d.csv", out="o.csv"):
    return cfl("mask", data, "-s", "s.yml", "-o", out, *options)


def test_the_command_changes_the_cells_of_cfs_and_not_a_byte_else(folder):
    result = run()
    assert (result.exit_code, result.stdout) == (0, "")
    warning = "anybody who guesses the seed (0) can undo this draw: use --seed random before you publish it"
    assert result.stderr == f"warning: {warning}\no.csv: 13 rows, 1 CF masked\n"
    lines = (folder / "o.csv").read_text().splitlines()
    assert [line.rpartition(",")[0] for line in lines] == [
        line.rpartition(",")[0] for line in LINES
    ]
    assert lines[-1] == LINES[-1]
    assert sorted(path.name for path in folder.iterdir()) == ["d.csv", "o.csv", "s.yml"]


def test_what_comes_out_can_be_checked_and_imputed(folder):
    options = ["--exclusions", 2, "--exact-share", 0.2, "--empty-share", 0.2]
    for out in ("o.csv", "o.parquet", "o.jsonl", "o.tsv.gz", "o.arrow"):
        assert run(*options, out=out).exit_code == 0
        assert cfl("check", out, "-s", "s.yml").exit_code == 0
        assert cfl("impute", out, "-s", "s.yml", "-o", f"imputed-{out}").exit_code == 0


def test_formats_hold_the_same_cells_and_the_same_run_the_same_bytes(folder):
    for out in ("o.csv", "o.parquet", "o.jsonl", "o.csv.gz"):
        run(out=out)
        first = (folder / out).read_bytes()
        run("--overwrite", out=out)
        assert (folder / out).read_bytes() == first
    cells = pl.read_csv("o.csv", infer_schema=False)
    assert cells.equals(pl.read_parquet("o.parquet"))
    assert cells.equals(pl.read_ndjson("o.jsonl").cast(pl.String))
    assert gzip.decompress((folder / "o.csv.gz").read_bytes()) == (folder / "o.csv").read_bytes()
    run("--seed", 1, "--overwrite", out="o.csv")
    assert not cells.equals(pl.read_csv("o.csv", infer_schema=False))


def test_parquet_keeps_types_and_gets_no_report(folder):
    frame = pl.DataFrame({"cf": ["a", "b", None], "deep": [[1], [2, 3], None]})
    frame.write_parquet("d.parquet")
    assert run(data="d.parquet", out="o.parquet").exit_code == 0
    out = pl.read_parquet("o.parquet")
    assert out.schema == frame.schema
    assert out["deep"].equals(frame["deep"])
    assert b"cfl.report" not in (pq.read_schema("o.parquet").metadata or {})


def test_json_lines_keep_their_spelling(folder):
    (folder / "d.jsonl").write_text('{"x": 1.50, "cf":"a", "k":{ "z":[ ] } }\n{"cf": null}\n')
    assert run(data="d.jsonl", out="o.jsonl").exit_code == 0
    first, second = (folder / "o.jsonl").read_text().splitlines()
    cell = json.loads(first)["cf"]
    assert cell in ("b", "c")
    assert (first, second) == (f'{{"x": 1.50, "cf":"{cell}", "k":{{ "z":[ ] }} }}', '{"cf": null}')


def test_it_stands_in_a_pipe(folder, forked):
    def piped(*words, data):
        return forked.run(*words, "-s", "s.yml", "-o", "-", "-q", stdin=data).stdout

    out = piped("mask", "-", data=(folder / "d.csv").read_bytes())
    run()
    assert out == (folder / "o.csv").read_bytes()
    assert piped("impute", "-", data=out).startswith(b"x,note,cf,cf_imputed,cf_confidence\n")


refused = partial(nothing_written, out="o.")


def test_what_is_wrong_is_refused_with_the_usual_exit_codes(folder):
    refused(run(out="d.csv"), 2, "d.csv")
    refused(run("--overwrite", out="d.csv"), 2, "d.csv")
    refused(run("--exclusions", 3), 2, "'cf' has 3 values")
    refused(run("--exact-share", 2), 2, "--exact-share")
    refused(run("--seed", "x"), 2, "--seed")
    refused(run(data="no.csv"), 1, "no.csv")
    refused(run(out="/proc/o.csv"), 4, "/proc/o.csv")
    refused(run("--on-bad-row", "reject", out="-"), 2, "--on-bad-row")
    (folder / "d.csv").write_text("x,cf\n1,a\n2,z\n3,secret\n")
    refused(run(), 1, "d.csv: column 'cf': 2 cells like 'z' (rows 2, 3) name 2 values")
    (folder / "kept.csv").write_text("precious")
    refused(run(out="kept.csv"), 2, "--overwrite")
    assert (folder / "kept.csv").read_text() == "precious"


def test_bad_records_are_set_aside_when_asked(folder):
    (folder / "d.csv").write_text("\n".join([*LINES, "13"]) + "\n")
    refused(run(), 1, "line 15")
    result = run("--on-bad-row", "reject")
    assert result.exit_code == 0
    assert "o.csv.rejects.csv: 1 bad record" in result.stderr
    assert pl.read_csv("o.csv").height == 13


def test_the_report_of_a_table_that_is_replaced_goes_with_it(folder):
    run()
    cfl("impute", "o.csv", "-s", "s.yml", "-o", "other.csv")
    assert (folder / "other.csv.report.json").exists()
    assert run("--overwrite", out="other.csv").exit_code == 0
    assert not (folder / "other.csv.report.json").exists()


def test_a_domain_that_is_left_out_is_warned_of(folder):
    (folder / "s.yml").write_text(SCHEMA.replace("values: [a, b, c], ", ""))
    assert "warning: column 'cf'" in run().stderr
    assert run("-q", "--overwrite").output == ""


def test_a_seed_that_was_chosen_is_warned_of_only_where_the_column_is_private(folder):
    assert run("--seed", 0).stderr == "o.csv: 13 rows, 1 CF masked\n"
    (folder / "s.yml").write_text(SCHEMA.replace("role: comp", "blurred: privacy, role: comp"))
    assert "guesses the seed (7) can undo" in run("--seed", 7, "--overwrite").stderr
    assert "guesses" not in run("--seed", "random", "--overwrite").stderr


def test_a_random_draw_repeats_nothing_and_no_seed_gives_it(folder):
    lines = ["x,note,cf", *(f"{n}.0,,{'abc'[n % 3]}" for n in range(200))]
    (folder / "d.csv").write_text("\n".join(lines) + "\n")
    for out in ("one.csv", "two.csv"):
        result = run("--seed", "random", "--exact-share", 0.2, out=out)
        assert result.stderr == f"{out}: 200 rows, 1 CF masked\n"
    one, two = (pl.read_csv(out)["cf"].to_list() for out in ("one.csv", "two.csv"))
    assert one != two
    run("--seed", 0, "--exact-share", 0.2)
    assert pl.read_csv("o.csv")["cf"].to_list() not in (one, two)
    for cells in (one, two):  # and it is drawn as any other
        assert all(cell != "abc"[n % 3] for n, cell in enumerate(cells))
        assert 20 <= sum(cell.startswith("=") for cell in cells) <= 60
        assert {cell for cell in cells if not cell.startswith("=")} == {*"abc"}


def test_another_word_for_the_seed_is_refused(folder):
    text = "--seed: expected a whole number or random, found 'secret'"
    nothing_written(run("--seed", "secret"), 2, text)
