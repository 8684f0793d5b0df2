import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from builders import models
from builders.batches import FittedModel, Rows

from benchmarks import tables
from benchmarks.models import drift, new_rows, speed
from benchmarks.models.drift import (
    Model,
    StableLosses,
    Stream,
    scrambled,
    simulated,
    stable,
    stable_losses,
)
from benchmarks.models.hostile import mutants
from cfl_cli import models as file
from cfl_cli.methods.interface import answer_by
from cfl_cli.trust.drift import BatchEvidence, DriftCourse


class Oracle:
    """Knows the prior of each row by its only feature, its number."""

    rules = None

    def __init__(self, priors):
        self.priors = priors

    def answer(self, rows, workers):
        return answer_by(self.priors[rows.features[:, 0].astype(int)], rows)


def made():
    fitted, rows = FittedModel(), Rows(4000, 1)
    return Model(
        replace(rows.encoded, features=np.arange(4000.0)[:, None]),
        rows.values,
        np.arange(4000),
        fitted.report,
        fitted.reference,
        replace(rows.estimate(), fitted=Oracle(rows.priors)),
    )


def test_a_stable_stream_is_quiet_and_a_scrambled_cf_is_found():
    model, random = made(), np.random.default_rng(0)
    assert "alarms none" in stable(model, random, 6)
    sure, *others = scrambled(model, random)
    assert sure.startswith("sure (gain 0.")
    assert int(sure.partition("after ")[2].partition(",")[0]) <= 3
    assert sure.endswith("other CFs: none")
    assert not any(line.startswith("sure") for line in others)


def test_scrambling_keeps_the_values_and_moves_a_third_of_them():
    model = made()
    drawn = [model.batch(np.random.default_rng(5), scrambled=cf).truth for cf in (None, 0)]
    plain, mixed = drawn
    np.testing.assert_array_equal(np.sort(plain[:, 0]), np.sort(mixed[:, 0]))
    np.testing.assert_array_equal(plain[:, 1], mixed[:, 1])
    assert 0.1 < (plain[:, 0] != mixed[:, 0]).mean() < 1 / 3
    stream = Stream(model)
    stream.take(model.batch(np.random.default_rng(0)))
    assert stream.number == 1
    assert len(plain) == drift.ROWS


def test_stable_losses_keep_their_mean_and_about_their_spread():
    losses = np.random.default_rng(0).beta(0.3, 6.0, 5000)
    of = StableLosses.of(losses)
    assert of.chances.sum() == pytest.approx(1)
    assert of.values @ of.chances == pytest.approx(losses.mean())
    spread = of.values**2 @ of.chances - losses.mean() ** 2
    assert spread == pytest.approx(losses.var(), rel=0.02)


def test_simulated_streams_are_those_of_courses():
    # A limit below the mean alarms again and again, one above it never.
    of = StableLosses(np.array([0.0, 0.2, 1.0]), np.array([0.5, 0.4, 0.1]))
    batches = of.drawn(np.random.default_rng(0), 500, 2, 20)
    limits = np.array([0.13, 0.25])
    alarms = 0
    for stream, limit in zip(batches, limits, strict=True):
        course = DriftCourse()
        for number, counts in enumerate(stream, start=1):
            losses = np.repeat(of.values, counts.astype(int))
            evidence = BatchEvidence.of(losses, np.full(500, limit), None)
            step = course.after(evidence, number, cfs=3)
            course, alarms = step.course, alarms + step.alarm
    assert of.alarms(batches, limits, cfs=3) == alarms / 40 > 0
    assert of.alarms(batches[1:], limits[1:], cfs=3) == 0


def test_what_is_simulated_is_said_for_every_setting():
    [of, _] = stable_losses(made(), np.random.default_rng(0))
    said = list(simulated([of], 4, np.random.default_rng(0), references=(400,)))
    assert said[0].startswith("reference of 400 cells, 3 CFs, level 0.001: ")
    assert len(said) == 8


def test_both_ways_are_scored_by_the_truth(capsys):
    gains = new_rows.compare("generated", "commonest", rows=300, data=None, seed=0)
    lines = capsys.readouterr().out.splitlines()
    assert len(gains) == len(lines) == 3
    together, apart, gained = (float(word) for word in lines[0].split()[3:6])
    assert apart - together == pytest.approx(gained, abs=0.0011)
    assert gains[0][0] == pytest.approx(gained, abs=0.0006)


def test_cross_entropy_is_the_mean_surprise_at_the_true_values():
    confidences = np.array([[0.5, 0.5], [0.0, 1.0]])
    expected = -(np.log(0.5) + np.log(1e-12)) / 2
    assert new_rows.cross_entropy(confidences, np.array([0, 0])) == pytest.approx(expected)


def test_old_and_new_rows_are_all_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(speed, "HELD_BACK", 20)
    monkeypatch.setattr(tables, "make", lambda *_, **__: tables.generated(100, seed=0))
    speed.split("generated", ".", str(tmp_path), "5", "50")
    old, everything = (pl.read_csv(tmp_path / name) for name in ("old.csv", "all.csv"))
    assert (old.height, everything.height) == (80, 100)
    new = pl.read_csv(tmp_path / "new_50.csv")
    assert new.height == 50
    assert new.unique().height == 20
    assert new.join(old, on=new.columns, how="inner").height == 0


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
