"""The attacks on a run find nothing; the whole campaign is `python -m benchmarks.faults`."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.faults import targets

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("attack", ["signals", "errors"])
def test_signals_and_errors_leave_old_or_new_files(attack):
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    attacked(attack, "--runs", "2")


@pytest.mark.slow
def test_damaged_files_end_in_an_exit_code_of_ours():
    attacked("damage", "--runs", "60")


def test_reports_that_differ_in_time_and_memory_alone_are_the_same():
    def made(**facts):
        return {"o.csv.report.json": json.dumps({"rows": 60} | facts).encode()}

    one = made(timings={"encode": 0.1}, peak_memory_mb=121.4, report_sha256="7dcc")
    assert targets.same(one, made(timings={}, peak_memory_mb=121.5, report_sha256="92c6"))
    assert not targets.same(one, made(rows=61))


def attacked(*given):
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.faults", *given],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert run.returncode == 0, run.stdout + run.stderr
