"""Mutants of a model file are refused in one line, and those who attack would notice otherwise."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from builders import models

from benchmarks.models.mutations import mutants
from cfl_cli import models as file

ROOT = Path(__file__).parents[2]

BAD = """
import os, signal, sys, time
from pathlib import Path
from benchmarks.models.hostile import attempt
from cfl_cli.errors import DataError, UsageError

def fails(error, text=""):
    def load(path):
        print(text, end="")
        raise error
    return load

path = Path(sys.argv[1])
for load in (
    lambda path: None,
    fails(DataError("one line")),
    fails(DataError("two", "lines")),
    fails(DataError("one line"), "and a warning"),
    fails(DataError("\\x1b[2J")),
    fails(UsageError("another exit code")),
    fails(ValueError("a traceback")),
    lambda path: os.kill(os.getpid(), signal.SIGSEGV),
    lambda path: os._exit(1),
    lambda path: time.sleep(60),
    lambda path: b"x" * (200 << 20),
    lambda path: b"x" * (1 << 40),
    lambda path: os.system("true"),
):
    print(attempt(load, path, seconds=4).outcome)
"""


@pytest.fixture
def path(tmp_path):
    models.content().write(tmp_path / "model.cfl")
    return tmp_path / "model.cfl"


def python(*given):
    """Run Python in a process without threads, from which others can be forked."""
    return subprocess.run(
        [sys.executable, *given],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONWARNINGS": "error"},
    )


@pytest.mark.slow
def test_every_way_to_end_is_recognised(path):
    run = python("-c", BAD, path)
    assert run.stdout.split("\n") == [
        *("accepted", "refused", "unclear", "unclear", "unclear", "unclear", "error"),
        *("signal", "signal", "hang", "memory", "memory", "ran code", ""),
    ], run.stderr


def test_mutants_are_many_and_differ_from_the_model(path):
    data = path.read_bytes()
    made = list(mutants(data, most=60))
    assert len(made) > 500
    assert min(Counter(mutant.kind for mutant in made).values()) >= 5
    same = [mutant.what for mutant in made if mutant.data == data]
    assert len(same) < 20  # such as an array of one row that is reversed


@pytest.mark.slow
def test_mutants_of_a_model_are_refused_or_are_other_models(path):
    run = python("-m", "benchmarks.models.hostile", path, "--most", "8")
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.slow
def test_thousands_of_mutants_are_refused_or_are_other_models(path):
    run = python("-m", "benchmarks.models.hostile", path, "--most", "100000")
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_mutant_with_a_right_checksum_reaches_those_who_know_its_meaning(path):
    kept = [one for one in mutants(path.read_bytes(), most=30) if one.kind == "arrays' values"]
    for mutant in kept:
        path.write_bytes(mutant.data)
        assert file.read(path).arrays
