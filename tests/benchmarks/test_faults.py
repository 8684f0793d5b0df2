"""The attacks on a run find nothing; the whole campaign is `python -m benchmarks.faults`."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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


def attacked(*given):
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.faults", *given],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert run.returncode == 0, run.stdout + run.stderr
