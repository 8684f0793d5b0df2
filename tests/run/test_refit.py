from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from cfl_cli import Model, impute
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.encode.encode import Block, Encoded
from cfl_cli.methods.baselines import FittedShares
from cfl_cli.methods.interface import Estimate, Hidden, Null, Origin
from cfl_cli.run.learn import mixed_estimate, with_weights
from cfl_cli.schema.model import Complementary, Ordinary, Schema
from cfl_cli.trust.mechanism import rates

N, VALUES = 900, [*"abcd"]
QUICK = {"k": 15, "iterations": 30, "gamma": 0, "seed": 1}


def table(weights, *, exact=0.2):
    """Return rows whose x tells much about the value of two CFs; the weights are those of `cf`."""
    rng = np.random.default_rng(7)
    x, columns = rng.random(N), {}
    truth = np.where(rng.random(N) < 0.6, (x * 4).astype(int), rng.integers(4, size=N))
    for name, by in {"cf": weights, "even": [1, 1, 1, 1]}.items():
        how = Mechanism.of(4, rates(np.array(by, dtype=float)))
        out = (~how.draw(truth, np.ones(N, dtype=int), rng.random((N, 4)))).argmax(axis=1)
        cells = np.where(
            rng.random(N) < exact, [f"={VALUES[v]}" for v in truth], np.take(VALUES, out)
        )
        columns[name] = cells
    return pl.DataFrame({"x": x, **columns}), truth


def schema(**cf):
    cfs = {name: {"values": VALUES, "exact": "="} for name in ("cf", "even")}
    cfs["cf"] |= cf
    named = {name: Complementary(**entries) for name, entries in cfs.items()}
    return Schema(columns={"x": Ordinary(type="numeric"), **named})


FIT = {"exact_cells": "random", "mechanism": "fit"}


def right(result, truth):
    return (result.frame["cf_imputed"].to_numpy() == np.take(VALUES, truth)).mean()


def test_a_strong_bias_is_fitted_taken_and_answered_better():
    frame, truth = table([8, 1, 1, 1])
    uniform = impute(frame, schema(exact_cells="random"), **QUICK)
    fitted = impute(frame, schema(**FIT), **QUICK)
    cf, even = fitted.report.columns
    found = cf.fitted_mechanism
    assert found.taken
    assert found.weights[0] / np.mean(found.weights[1:]) == pytest.approx(8, rel=0.4)
    assert found.uniform == uniform.report.columns[0].exact_accuracy
    assert found.fitted == cf.exact_accuracy
    assert right(fitted, truth) > right(uniform, truth) + 0.03
    assert cf.exact_accuracy.low < right(fitted, truth) < cf.estimated_accuracy.high
    assert even.fitted_mechanism is None
    assert even == uniform.report.columns[1]
    assert np.array_equal(fitted.confidences["even"], uniform.confidences["even"])


def test_a_model_of_a_fit_that_was_taken_is_the_same_after_a_file(tmp_path):
    frame, _ = table([8, 1, 1, 1])
    result = impute(frame, schema(**FIT), **QUICK, keep_model=True)
    assert result.report.columns[0].fitted_mechanism.taken
    result.model.save(tmp_path / "m.cfl")
    loaded = Model.load(tmp_path / "m.cfl")
    assert loaded.apply(frame).frame.equals(result.model.apply(frame).frame)


def test_uniform_exclusions_are_left_as_they_are():
    frame, _ = table([1, 1, 1, 1])
    uniform = impute(frame, schema(exact_cells="random"), **QUICK)
    fitted = impute(frame, schema(**FIT), **QUICK)
    assert not fitted.report.columns[0].fitted_mechanism.taken
    assert fitted.frame.equals(uniform.frame)


@pytest.mark.parametrize(("exact", "folds"), [(0.02, 5), (0.2, 0)])
def test_without_enough_hidden_exact_cells_nothing_is_fitted_and_the_report_says_why(exact, folds):
    frame, _ = table([8, 1, 1, 1], exact=exact)
    found = impute(frame, schema(**FIT), folds=folds, **QUICK).report
    assert found.columns[0].fitted_mechanism is None
    [warning] = [text for text in found.warnings if "mechanism" in text]
    assert warning.startswith("column 'cf': fitting a mechanism takes 50 exact cells")


def made(number):
    """Return an estimate of two rows and two CFs, of 2 and 3 values, in which all is one number."""
    rules = tuple(f"{number}{cf}" for cf in "ab")
    return Estimate(
        np.full((2, 5), number),
        np.full((2, 2), number > 0),
        np.full((2, 2), number),
        tuple(Origin(f"{number}{cf}") for cf in "ab"),
        hidden=Hidden(np.arange(2), np.full((2, 5), number), rules),
        null=Null(np.full(2, number), np.full(2, number), 2),
        answers=np.full((2, 2), number),
        warnings=("both", str(number)),
    )


def test_a_cf_takes_everything_of_the_run_that_it_takes():
    blocks = (Block("a", ("x", "y"), 0, 1, 0, 0), Block("b", ("x", "y", "z"), 2, 1, 0, 0))
    encoded = Encoded(np.zeros((2, 1)), np.ones((2, 5), dtype=bool), blocks, ())
    found = mixed_estimate(made(0), made(1), encoded, encoded, {1})
    assert found.confidences.tolist() == found.hidden.priors.tolist() == [[0, 0, 1, 1, 1]] * 2
    for of_cfs in (found.fell_back, found.mass, found.answers):
        assert of_cfs.tolist() == [[0, 1]] * 2
    assert found.null.entropy.tolist() == found.null.shuffled.tolist() == [0, 1]
    assert [origin.method for origin in found.origins] == list(found.hidden.rules) == ["0a", "1b"]
    assert found.warnings == ("both", "0", "1")
    assert mixed_estimate(made(0), made(1), encoded, encoded, set()).warnings == ("both", "0")


def test_what_the_runs_have_learned_is_mixed_like_their_answers(workers):
    blocks = (Block("a", ("x", "y"), 0, 1, 0, 0), Block("b", ("x", "y", "z"), 2, 1, 0, 0))
    encoded = Encoded(np.zeros((2, 1)), np.ones((2, 5), dtype=bool), blocks, ())
    weighted = with_weights(encoded, {1: np.array([1.0, 2.0, 4.0])})
    shares = [np.array([0.5, 0.5, 0.2, 0.3, 0.5]), np.array([0.9, 0.1, 0.6, 0.2, 0.2])]
    one, other = (replace(made(0), fitted=FittedShares(own)) for own in shares)
    found = mixed_estimate(one, other, encoded, weighted, {1}).fitted
    np.testing.assert_array_equal(found.other.mechanisms[1].rates, weighted.blocks[1].rates)
    assert found.one.mechanisms[1].rates is None
    np.testing.assert_allclose(
        found.answer(encoded.known, workers).priors, [[0.5, 0.5, 0.6, 0.2, 0.2]] * 2
    )
