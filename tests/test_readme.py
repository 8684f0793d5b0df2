"""The README fits ten minutes, and what it shows is so. Its commands run in `test_docs.py`."""

import json
import re
import subprocess
import sys

import pytest
from builders.pages import README, ROOT, blocks, set_up, text_of

from cfl_cli import Schema

TEXT = text_of(README)


def test_the_readme_has_at_most_150_lines_that_fit_a_window():
    lines = TEXT.splitlines()
    assert len(lines) <= 150
    prose = [line for line in lines if not line.startswith(("    ", "|"))]
    assert max(map(len, prose)) <= 120


def test_the_first_two_indented_pip_lines_run_the_main_job_with_boosting_and_the_tests():
    main_job, tests = set_up()
    assert main_job.startswith("pip install . && cfl impute sample_data/triage.csv ")
    assert "--method auto" in main_job
    assert tests == "pip install '.[test]' && python -m pytest"


def test_the_readme_says_what_it_does_in_the_order_of_a_first_visit():
    assert re.findall(r"^## ([^(\n]*\w)", TEXT, re.MULTILINE) == [
        "Two commands",
        "Your own file, in five commands",
        "The schema",
        "Reading the report",
        "Which method",
        "From Python",
        "New rows every night",
        "In scripts, pipes and cron",
        "When it will not work",
        "More",
    ]


def test_the_schema_example_is_the_one_that_loads():
    (example,) = blocks(TEXT, "yaml")
    assert list(Schema.parse(example).complementary) == ["job", "diagnosis"]


def test_the_seconds_are_those_that_were_measured():
    runs = json.loads((ROOT / "docs" / "speed.json").read_text())["measurements"]
    bank, million = runs["cfl-bank-45211"], runs["cfl-generated-1000000"]
    assert f"45,000 rows in {bank['seconds']:.0f} seconds" in TEXT
    assert million["seconds"] / 60 == pytest.approx(8, abs=0.5)
    assert "a million in eight minutes" in " ".join(TEXT.split())


def test_the_sample_is_what_its_script_makes(tmp_path):
    script = ROOT / "sample_data" / "make.py"
    (tmp_path / "make.py").write_bytes(script.read_bytes())
    subprocess.run([sys.executable, tmp_path / "make.py"], check=True)
    for name in ("triage.csv", "triage_truth.csv"):
        assert (tmp_path / name).read_bytes() == (ROOT / "sample_data" / name).read_bytes()
