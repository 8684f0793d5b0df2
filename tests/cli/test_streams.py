"""The command as scripts call it, with streams that are closed, full or not for people."""

import fcntl
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from builders import command_line

from cfl_cli.trust.report import Report

SCHEMA = """\
version: 1
columns:
  x: {role: ordinary, type: numeric}
  cf: {role: complementary, values: [a, b, c]}
settings: {k: 3, iterations: 5, folds: 0}
"""
DATA = "x,cf\n" + "".join(f"{n},{'abc'[n % 3]}\n" for n in range(12))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yml").write_text(SCHEMA)
    (tmp_path / "d.csv").write_text(DATA)
    return tmp_path


def cfl(*arguments, redirected="", **options):
    """Run the command in a process of its own; `redirected` says which streams."""
    command = [sys.executable, "-m", "cfl_cli", *arguments]
    if redirected:
        command = ["/bin/sh", "-c", f'"$@" {redirected}', "sh", *command]
    return subprocess.run(command, check=False, capture_output=True, text=True, **options)


def test_a_table_can_come_and_go_through_pipes(folder, forked):
    run = forked.run("impute", "-", "-s", "s.yml", "-o", "-", "-q", stdin=DATA.encode())
    assert run.stdout.startswith(b"x,cf,cf_imputed,cf_confidence\n0,a,")
    assert (run.stderr, run.returncode) == (b"", 0)
    options = ["-s", "s.yml", "-o", "-", "-q", "--output-format", "jsonl"]
    again = forked.run("impute", "d.csv", *options)
    assert again.stdout.startswith(b'{"x":"0","cf":"a","cf_imputed":')
    assert sorted(os.listdir()) == ["d.csv", "s.yml"]  # noqa: PTH208 — names are all we want


@pytest.mark.slow
def test_the_report_can_be_printed_and_piped_on(folder):
    run = cfl("impute", "d.csv", "-s", "s.yml", "-o", "o.csv", "--report", "-")
    assert Report.from_json(run.stdout, name="stdout").rows == 12
    assert not (folder / "o.csv.report.json").exists()
    assert cfl("report", "-", input=run.stdout).stdout.startswith("12 rows, 1 CF")


@pytest.mark.parametrize(
    ("redirection", "code", "said"),
    [
        ("<&-", 1, "standard input is closed"),
        (">&- <d.csv", 4, "standard output is closed"),
        ("2>&- >/dev/null <d.csv", 0, ""),
    ],
)
def test_streams_that_are_closed_are_no_surprise(folder, redirection, code, said):
    run = cfl("impute", "-", "-s", "s.yml", "-o", "-", redirected=redirection)
    assert run.returncode == code
    assert said in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("source", "target", "code", "said"),
    [
        ("/dev/null", "/dev/null", 1, b"standard input: the header is empty: line 1 must name the"),
        ("d.csv", "/dev/full", 4, b"standard output: cannot be written: No space left"),
    ],
)
def test_streams_that_are_empty_or_full_are_no_surprise(folder, forked, source, target, code, said):
    with Path(source).open("rb") as given, Path(target).open("wb") as taken:
        run = forked.run("impute", "-", "-s", "s.yml", "-o", "-", stdin=given, stdout=taken)
    assert run.returncode == code
    assert said in run.stderr
    assert b"Traceback" not in run.stderr


@pytest.mark.parametrize("command", [["--help"], ["--version"], ["impute", "--help"], ["schema"]])
def test_help_that_cannot_be_written_is_an_error_in_one_line(command):
    run = cfl(*command, redirected=">/dev/full")
    assert run.returncode == 4
    assert run.stderr.count("\n") == 1


def test_streams_that_do_not_block_are_waited_for(folder, forked):
    read_end, write_end = os.pipe()
    fcntl.fcntl(read_end, fcntl.F_SETFL, os.O_NONBLOCK)

    def write_late():
        time.sleep(0.5)
        with os.fdopen(write_end, "w") as file:
            file.write(DATA)

    writer = threading.Thread(target=write_late)
    writer.start()
    with os.fdopen(read_end) as given:
        run = forked.run("impute", "-", "-s", "s.yml", "-o", "-", "-q", stdin=given)
    writer.join()
    assert run.returncode == 0, run.stderr


def test_out_is_not_data_that_comes_through_standard_input(folder, forked):
    with Path("d.csv").open() as given:
        run = forked.run("impute", "-", "-s", "s.yml", "-o", "d.csv", "--overwrite", stdin=given)
    assert run.returncode == 2
    assert b"this is an input file" in run.stderr
    assert (folder / "d.csv").read_text() == DATA


def test_a_full_disk_behind_standard_output_is_said(folder, forked):
    command_line.cfl("impute", "d.csv", "-s", "s.yml", "-o", "out.csv")
    with Path("/dev/full").open("w") as full:
        run = forked.run("report", "out.csv", stdout=full)
    assert run.returncode == 4
    assert b"standard output" in run.stderr
    assert b"Traceback" not in run.stderr
