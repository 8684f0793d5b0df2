"""Streams of batches are drawn and counted as their words say."""

from dataclasses import replace

import numpy as np
import pytest
from builders.batches import FittedModel, Rows

from benchmarks.models import drift
from benchmarks.models.drift import (
    Model,
    StableLosses,
    Stream,
    scrambled,
    simulated,
    stable,
    stable_losses,
)
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
