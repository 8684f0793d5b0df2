"""Tests."""

import json
from pathlib import Path

import pytest
from builders.command_line import cfl, impute


def test_init_drafts_a_schema_that_works(folder):
    assert cfl("init", "data.csv", "--cf", "cf", "--out", "draft.yml").exit_code == 0
    assert impute("--k", 3, schema="draft.yml").exit_code == 0


def test_init_knows_its_columns(folder):
    result = cfl("init", "data.csv", "--cf", "cff")
    assert result.exit_code == 2
    assert "did you mean 'cf'?" in result.stderr


WRITTEN = [
    ("utf-8", ",", ""),
    ("cp1252", ";", 'file: {delimiter: ";", encoding: cp1252'),
    ("utf-16", "\t", "file: {delimiter: tab, encoding: utf-16"),
    ("utf-8-sig", "|", 'file: {delimiter: "|"'),
]


@pytest.mark.parametrize(("encoding", "sign", "entry"), WRITTEN)
def test_a_file_is_drafted_as_it_is_written_and_then_passes_without_options(
    tmp_path, monkeypatch, encoding, sign, entry
):
    monkeypatch.chdir(tmp_path)
    rows = [
        ("ort", "alter", "dx"),
        *((["Köln", "Bonn"][n % 2], n, "abc"[n % 3]) for n in range(40)),
    ]
    text = "".join(sign.join(map(str, row)) + "\n" for row in rows)
    Path("d.csv").write_bytes(text.encode(encoding))
    run = cfl("init", "d.csv", "--cf", "dx", "--out", "s.yml")
    assert run.exit_code == 0, run.stderr
    draft = Path("s.yml").read_text()
    assert entry in draft
    assert ("file:" in draft) == bool(entry)
    assert ("d.csv: " in run.stderr) == (sign != ",")
    assert ("# ? encoding" in draft) == (encoding == "cp1252")
    assert cfl("check", "d.csv", "--schema", "s.yml").exit_code == 0


def test_schema_prints_a_json_schema(folder):
    assert json.loads(cfl("schema").stdout)["$schema"].startswith("https://json-schema.org/")
