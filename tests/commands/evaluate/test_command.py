import json
from pathlib import Path

import pytest
from builders.command_line import SCHEMA, cfl

TEXT = SCHEMA.replace("  y: {role: ordinary, type: numeric}\n", "")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yml").write_text(TEXT)
    rows = "".join(f"{n},{'abc'[n // 4]}\n" for n in range(12))
    (tmp_path / "full.csv").write_text(f"x,cf\n{rows}")
    cfl("mask", "full.csv", "-s", "s.yml", "-o", "masked.csv")
    return tmp_path


def scored_by(out, *options, truth="full.csv"):
    return cfl("evaluate", out, "--truth", truth, "-s", "s.yml", *options)


def test_an_experiment_from_truth_to_scores_works_in_every_format(folder):
    shown = set()
    for out in ("o.csv", "o.tsv.gz", "o.parquet", "o.arrow", "o.jsonl", "o.jsonl.zst"):
        how = ("--mode", "both", "--digits", "full")
        assert cfl("impute", "masked.csv", "-s", "s.yml", "-o", out, *how).exit_code == 0
        result = scored_by(out, "--format", "json")
        assert result.exit_code == 0, result.output
        shown.add(result.stdout)
    assert len(shown) == 1
    facts = json.loads(shown.pop())
    assert (facts["rows"], facts["columns"][0]["known"]) == (12, 12)


def test_answers_may_come_through_a_pipe(folder, forked):
    cfl("impute", "masked.csv", "-s", "s.yml", "-o", "o.csv")
    answers = Path("o.csv").read_bytes()
    run = forked.run("evaluate", "-", "-t", "full.csv", "-s", "s.yml", stdin=answers)
    assert run.stdout.decode() == scored_by("o.csv").stdout
    assert run.stdout.startswith(b"12 rows, 1 CF\n")
    assert (run.stderr, run.returncode) == (b"", 0)


def test_bad_records_of_the_truth_are_counted_and_never_shift_the_rows(folder):
    cfl("impute", "masked.csv", "-s", "s.yml", "-o", "o.csv")
    (folder / "cut.csv").write_text((folder / "full.csv").read_text() + "12\n")
    result = scored_by("o.csv", "--on-bad-row", "set-aside", truth="cut.csv")
    assert result.exit_code == 0
    assert "cut.csv: 1 bad record left out" in result.stderr
    broken = (folder / "full.csv").read_text().replace("3,a\n", "3\n")
    (folder / "cut.csv").write_text(broken)
    result = scored_by("o.csv", "--on-bad-row", "set-aside", truth="cut.csv")
    assert result.exit_code == 1
    assert "12 rows" in result.stderr


def test_scores_go_to_a_file_that_is_no_source(folder):
    cfl("impute", "masked.csv", "-s", "s.yml", "-o", "o.csv")
    assert scored_by("o.csv", "-f", "csv", "-o", "scores.csv").exit_code == 0
    assert Path("scores.csv").read_text().startswith("name,domain_size,known,")
    assert scored_by("o.csv", "-f", "csv", "-o", "scores.csv").exit_code == 2
    for source in ("o.csv", "full.csv", "s.yml"):
        before = Path(source).read_bytes()
        assert scored_by("o.csv", "-o", source, "--overwrite").exit_code == 2
        assert Path(source).read_bytes() == before


def test_the_truth_may_be_written_with_other_signs(folder):
    cfl("impute", "masked.csv", "-s", "s.yml", "-o", "o.csv")
    Path("full.txt").write_text(Path("full.csv").read_text().replace(",", ";"))
    signs = ["--truth-format", "csv", "--delimiter", ";"]
    assert scored_by("o.csv", *signs, truth="full.txt").stdout == scored_by("o.csv").stdout


def test_what_is_wrong_is_refused_with_the_usual_exit_codes(folder):
    def refused(result, code, *words):
        assert result.exit_code == code, result.output
        assert all(word in result.stderr for word in words), result.stderr
        assert "Traceback" not in result.output

    cfl("impute", "masked.csv", "-s", "s.yml", "-o", "o.csv")
    refused(scored_by("no.csv"), 1, "no.csv")
    refused(
        scored_by("masked.csv"),
        1,
        "masked.csv: no imputed values of 'cf': expected column 'cf_imputed'",
    )
    refused(scored_by("-", truth="-"), 2, "both standard input")
    refused(scored_by("o.csv", truth="full.txt"), 2, "--truth-format")
    refused(scored_by("o.csv", "--format", "loud"), 2, "loud")
    Path("short.csv").write_text("cf\na\nz\nsecret\n")
    refused(scored_by("o.csv", truth="short.csv"), 1, "o.csv: 12 rows, but short.csv has 3")
    Path("short.csv").write_text("\n".join(["note,cf", *["secret,a"] * 11, "secret,z"]) + "\n")
    result = scored_by("o.csv", truth="short.csv")
    refused(result, 1, "short.csv: column 'cf': 'z' (row 12) is not in the domain")
    assert "secret" not in result.output


def test_rows_may_be_matched_by_a_key(folder):
    cfl("impute", "masked.csv", "-s", "s.yml", "-o", "o.csv")
    head, *rows = Path("full.csv").read_text().splitlines()
    Path("turned.csv").write_text("\n".join([head, *reversed(rows)]) + "\n")
    turned = scored_by("o.csv", "--key", "x", truth="turned.csv").stdout.splitlines()
    straight = scored_by("o.csv").stdout.splitlines()
    assert turned[0] == "12 rows, 1 CF, matched by x"
    assert turned[1:] == straight[1:]
    Path("part.csv").write_text("\n".join([head, *rows[:6]]) + "\n")
    assert "name a key column (--key)" in scored_by("o.csv", truth="part.csv").stderr
    part = scored_by("o.csv", "--key", "x", truth="part.csv").stdout
    assert "o.csv: 6 rows not in part.csv (rows 7, 8, 9 …)" in part
