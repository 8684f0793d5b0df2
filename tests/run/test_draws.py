"""Proper draws: their spread is that of the model, exact cells stay, and poor draws are refused."""

import numpy as np
import polars as pl
import pytest

from cfl_cli import DataError, SchemaError, UsageError, impute, pool
from cfl_cli.run import draws as module
from cfl_cli.trust.tilted import TiltedModel, with_predictions

VALUES = ["clerk", "nurse", "farmer"]


def made(n=1200, seed=0, values=VALUES):
    """Return a table of which every tenth value of `job` is exact, its schema and the values."""
    random = np.random.default_rng(seed)
    place = random.choice(len(values), n)
    other = (place + random.integers(1, len(values), n)) % len(values)
    names = np.array(values)
    cells = np.where(np.arange(n) % 10, names[other], np.char.add("=", names[place]))
    late = random.random(n) < 0.2 + 0.3 * (place == 1)
    frame = pl.DataFrame(
        {
            "job": cells,
            "x": place + random.normal(0, 0.8, n),
            "noise": random.random(n),
            "late": np.where(late, "yes", "no"),
            "pay": 10.0 * place + random.normal(0, 10, n),
        }
    )
    columns = {"job": {"role": "complementary", "values": values, "exact": "="}}
    columns |= {of: {"role": "ordinary", "type": "numeric"} for of in ("x", "noise")}
    return frame, {"columns": columns}, place


@pytest.fixture(scope="module")
def result():
    frame, schema, _ = made()
    return impute(frame, schema, k=10)


def test_the_frame_is_long_and_exact_cells_stay(result):
    frame, _, place = made()
    long = result.draws(3, by=["late", "pay"])
    assert long.columns == [".imp", ".id", *frame.columns, ".drawn_with"]
    assert long.height == 4 * frame.height
    assert {*long[".drawn_with"]} == {"late, pay"}
    observed, *drawn = long.partition_by(".imp")
    exact = np.arange(frame.height) % 10 == 0
    assert (observed["job"].is_not_null().to_numpy() == exact).all()
    for one in (observed, *drawn):
        assert one[".id"].to_list() == [*range(1, frame.height + 1)]
        assert one.select("x", "noise", "late", "pay").equals(frame.drop("job"))
        assert (one["job"].to_numpy()[exact] == np.array(VALUES)[place[exact]]).all()
    for one in drawn:
        assert not (one["job"] == frame["job"]).any()  # no cell rules out its draw
        assert one["job"].null_count() == 0
    assert not drawn[0].equals(drawn[1])


def test_more_draws_begin_with_the_same_ones(result):
    few, more = result.draws(2, by="late"), result.draws(4, by="late")
    assert more.head(few.height).equals(few)


def test_pooled_shares_are_those_of_the_model_with_its_errors():
    """Between-draw and sampling variance together are the sandwich's, which does not draw."""
    n, draws = 2000, 100
    random = np.random.default_rng(1)
    place = random.choice(3, n, p=[0.5, 0.3, 0.2])
    evidence = np.ones((n, 3))
    evidence[np.arange(n), (place + random.integers(1, 3, n)) % 3] = 0
    priors = 0.6 * np.eye(3)[np.where(random.random(n) < 0.6, place, 0)] + 0.4 / 3
    model = TiltedModel.fit(priors, evidence, np.zeros(n, dtype=int))
    fits = []
    for _ in range(draws):
        drawn = model.drawn(evidence, random.normal(size=len(model.theta)), random.random(n))
        shares = np.bincount(drawn, minlength=3) / n
        fits.append((shares, shares * (1 - shares) / n))
    pooled = pool(fits)
    for value in range(3):
        by_model = model.share(value, np.ones(n, dtype=bool))
        assert pooled["estimate"][value] == pytest.approx(by_model.value, abs=0.005)
        assert pooled["se"][value] == pytest.approx(by_model.error, rel=0.2)


def test_draws_that_know_the_outcome_keep_its_difference(result):
    """Draws that do not know it halve it."""
    frame, _, place = made()
    late = (frame["late"] == "yes").to_numpy()

    def difference(is_nurse):
        return late[is_nurse].mean() - late[~is_nurse].mean()

    parts = [one for (k,), one in result.draws(20, by="late").group_by(".imp") if k]
    found = np.mean([difference((one["job"] == "nurse").to_numpy()) for one in parts])
    assert found == pytest.approx(difference(place == 1), abs=0.08)


def refused(frame, schema, by="late", **settings):
    with pytest.raises(DataError) as error:
        impute(frame, schema, k=10, **settings).draws(2, by=by)
    return error.value.code


def test_what_is_not_good_enough_is_refused(monkeypatch):
    frame, schema, _ = made(400)
    assert refused(frame.head(200), schema) == "draws-few-rows"
    assert refused(frame, schema) == "draws-few-rows"  # in the group that is late
    assert refused(frame.with_columns(job=pl.lit("nurse")), schema, by="pay") == "draws-refuted"
    assert refused(frame, schema, by="pay", folds=0) == "draws-not-held-out"
    monkeypatch.setattr(module, "holds", lambda *_: False)
    assert refused(frame, schema, by="pay") == "draws-rare"
    assert refused(*made(100, values=[*"abcde"])[:2]) == "draws-values"


def test_what_cannot_be_a_variable_of_the_analysis_is_refused(result):
    for by, code in (
        ("lat", "draws-no-column"),
        ("job", "draws-for-cf"),
        ([], "draws-without-for"),
    ):
        with pytest.raises(UsageError) as error:
            result.draws(2, by=by)
        assert error.value.code == code
    with pytest.raises(UsageError, match="number: expected at least 2"):
        result.draws(1, by="late")


def test_a_cf_that_was_blurred_for_privacy_is_not_drawn():
    frame, schema, _ = made(100)
    schema["columns"]["job"]["blurred"] = "privacy"
    with pytest.raises(SchemaError):
        impute(frame, schema)


def test_rows_that_were_changed_are_noticed():
    frame, schema, _ = made(300)
    table = frame.to_pandas()
    result = impute(table, schema, k=10)
    result.frame["x"] = sorted(result.frame["x"])
    with pytest.raises(UsageError) as error:
        result.draws(2, by="pay")
    assert error.value.code == "draws-other-rows"


def test_exact_cells_that_favor_a_value_do_not_move_the_others():
    frame, schema, place = made(3000, seed=2)
    random = np.random.default_rng(3)
    exact = random.random(3000) < np.where(place == 0, 0.4, 0.1)
    names, other = np.array(VALUES), (place + random.integers(1, 3, 3000)) % 3
    cells = np.where(exact, np.char.add("=", names[place]), names[other])
    found = impute(frame.with_columns(job=cells), schema, k=10)
    long = found.draws(5, by="late").filter(pl.col(".imp") > 0)
    drawn = long["job"].to_numpy()[np.tile(~exact, 5)]
    assert (drawn == "clerk").mean() == pytest.approx((place[~exact] == 0).mean(), abs=0.04)


@pytest.mark.parametrize("binary", [False, True])
def test_an_outcome_stands_beside_what_the_features_predict(binary):
    random = np.random.default_rng(0)
    features = np.column_stack([random.normal(size=4000), np.ones(4000)])  # one is constant
    expected = 1 + 3 * features[:, 0]
    y = expected + random.normal(size=4000)
    if binary:
        expected = 1 / (1 + np.exp(-expected))
        y = (random.random(4000) < expected).astype(float)
    y[:3] = np.nan
    own, found, product = with_predictions(y[:, None], features).T
    assert np.isnan(own[:3]).all()
    assert own[3:] == pytest.approx((y[3:] - y[3:].mean()) / y[3:].std())
    assert product[3:] == pytest.approx(own[3:] * found[3:])
    assert np.nanmean(y) + np.nanstd(y) * found == pytest.approx(expected, abs=0.12)


def predicted(slope, n=4000):
    """Return a table whose outcome follows from `x`, and elsewhere from the job; and both of these."""
    random = np.random.default_rng(3)
    x, place = random.normal(0, 3, n), random.choice(3, n)
    late = random.random(n) < 1 / (1 + np.exp(-slope * x - 2.0 * (place == 1)))
    cells = np.array(VALUES)[(place + random.integers(1, 3, n)) % 3]
    frame = pl.DataFrame({"job": cells, "x": x, "late": np.where(late, "yes", "no")})
    columns = {
        "job": {"role": "complementary", "values": VALUES},
        "x": {"role": "ordinary", "type": "numeric"},
    }
    return frame, {"columns": columns}, place, late


def test_an_outcome_that_a_feature_predicts_keeps_its_difference():
    """With the outcome alone, rows where the feature decides it would count as much as others."""
    frame, schema, place, late = predicted(0.4)
    near = frame["x"].abs().to_numpy() < 1

    def difference(is_nurse):
        return late[is_nurse & near].mean() - late[~is_nurse & near].mean()

    long = impute(frame, schema, k=10).draws(10, by="late")
    parts = [one for (k,), one in long.group_by(".imp") if k]
    found = np.mean([difference((one["job"] == "nurse").to_numpy()) for one in parts])
    assert found == pytest.approx(difference(place == 1), abs=0.08)


def test_an_outcome_that_the_features_decide_is_refused():
    frame, schema, _, _ = predicted(10.0)
    assert refused(frame, schema) == "draws-decided"
