"""The command as scripts call it: streams, signals, and files that it must not touch."""

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from cfl_cli.trust.report import Report

SCHEMA = """\
version: 1
columns:
  x: {role: ordinary, type: numeric}
  cf: {role: complementary, values: [a, b, c]}
settings: {k: 3, iterations: 5}
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


def test_a_table_can_come_and_go_through_pipes(folder):
    run = cfl("impute", "-", "-s", "s.yml", "-o", "-", "-q", input=DATA)
    assert run.stdout.startswith("x,cf,cf_imputed,cf_confidence\n0,a,")
    assert (run.stderr, run.returncode) == ("", 0)
    again = cfl("impute", "d.csv", "-s", "s.yml", "-o", "-", "-q", "--output-format", "jsonl")
    assert again.stdout.startswith('{"x":"0","cf":"a","cf_imputed":')
    assert sorted(os.listdir()) == ["d.csv", "s.yml"]  # noqa: PTH208 — names are all we want


def test_the_report_can_be_printed_and_piped_on(folder):
    run = cfl("impute", "d.csv", "-s", "s.yml", "-o", "o.csv", "--report", "-")
    assert Report.from_json(run.stdout, name="stdout").rows == 12
    assert not (folder / "o.csv.report.json").exists()
    assert cfl("report", "-", input=run.stdout).stdout.startswith("12 rows, 1 CF")


@pytest.mark.parametrize(
    ("redirection", "code", "said"),
    [
        ("</dev/null", 1, "standard input: line 1: there is no header"),
        ("<&-", 1, "standard input: it is closed"),
        (">&- <d.csv", 4, "standard output: it is closed"),
        (">/dev/full <d.csv", 4, "standard output: cannot be written: No space left"),
        ("2>&- >/dev/null <d.csv", 0, ""),
    ],
)
def test_streams_that_are_closed_or_full_are_no_surprise(folder, redirection, code, said):
    run = cfl("impute", "-", "-s", "s.yml", "-o", "-", redirected=redirection)
    assert run.returncode == code
    assert said in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("command", [["--help"], ["--version"], ["impute", "--help"], ["schema"]])
def test_help_that_cannot_be_written_is_an_error_in_one_line(command):
    run = cfl(*command, redirected=">/dev/full")
    assert run.returncode == 4
    assert run.stderr.count("\n") == 1


def test_streams_that_do_not_block_are_waited_for(folder):
    read_end, write_end = os.pipe()
    fcntl.fcntl(read_end, fcntl.F_SETFL, os.O_NONBLOCK)

    def write_late():
        time.sleep(1)
        with os.fdopen(write_end, "w") as file:
            file.write(DATA)

    writer = threading.Thread(target=write_late)
    writer.start()
    run = cfl("impute", "-", "-s", "s.yml", "-o", "-", "-q", stdin=read_end)
    writer.join()
    os.close(read_end)
    assert run.returncode == 0, run.stderr


def test_out_is_not_data_that_comes_through_standard_input(folder):
    run = cfl("impute", "-", "-s", "s.yml", "-o", "d.csv", "--overwrite", redirected="<d.csv")
    assert run.returncode == 2
    assert "would be read and written" in run.stderr
    assert (folder / "d.csv").read_text() == DATA


@pytest.mark.parametrize("content", ["precious", SCHEMA, DATA, "{}"])
def test_a_file_that_is_no_report_of_ours_is_never_removed(folder, content):
    (folder / "o.csv.report.json").write_text(content)
    for options in ([], ["--overwrite"]):
        run = cfl("impute", "d.csv", "-s", "s.yml", "-o", "o.csv", "--report", "r.json", *options)
        assert run.returncode == 0, run.stderr
    assert (folder / "o.csv.report.json").read_text() == content


def test_the_report_of_a_table_that_is_replaced_goes_with_it(folder):
    cfl("impute", "d.csv", "-s", "s.yml", "-o", "o.csv")
    assert (folder / "o.csv.report.json").exists()
    run = cfl("impute", "d.csv", "-s", "s.yml", "-o", "o.csv", "--overwrite", "--report", "r.json")
    assert run.returncode == 0
    assert not (folder / "o.csv.report.json").exists()


def test_the_usual_place_of_the_report_may_be_spelled_in_any_way(folder):
    path = folder / "o.csv.report.json"
    run = cfl("impute", "d.csv", "-s", "s.yml", "-o", "o.csv", "--report", str(path), "--overwrite")
    assert run.returncode == 0
    assert path.exists()


def test_a_folder_in_the_usual_place_of_the_report_does_no_harm(folder):
    (folder / "o.csv.report.json").mkdir()
    for _ in range(2):
        given = ["-o", "o.csv", "--report", "r.json", "--overwrite"]
        run = cfl("impute", "d.csv", "-s", "s.yml", *given)
        assert run.returncode == 0, run.stderr


# What `cfl` does first, and a word when it has done it: before that, it is Python that starts.
BEGIN = """\
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
print("ready", flush=True)
sys.argv[0] = "cfl"
from cfl_cli.__main__ import main
main()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("delay", [0.0, 0.1, 0.2, 0.3])
def test_a_signal_while_the_command_starts_ends_it_without_a_traceback(folder, number, delay):
    run = subprocess.Popen(
        [sys.executable, "-c", BEGIN, "check", "d.csv", "-s", "s.yml"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert run.stdout.readline() == b"ready\n"
    time.sleep(delay)
    run.send_signal(number)
    said = run.communicate()[1]
    assert run.returncode in {-number, 128 + number}
    assert b"Traceback" not in said


def test_a_broken_link_is_blamed_on_the_file_that_it_is(folder):
    (folder / "loop.csv").symlink_to("loop.csv")
    run = cfl("impute", "loop.csv", "-s", "s.yml", "-o", "o.csv")
    assert (run.returncode, "loop.csv: cannot be read" in run.stderr) == (1, True)
    (folder / "dangling.csv").symlink_to("nowhere/else.csv")
    run = cfl("impute", "d.csv", "-s", "s.yml", "-o", "dangling.csv")
    assert (run.returncode, "there is no folder" in run.stderr) == (2, True)
    run = cfl("report", "a" * 300 + ".csv")
    assert run.returncode == 1
    assert "Traceback" not in run.stderr
