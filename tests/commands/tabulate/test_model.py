"""What OFs add to the cells: the tilted model, against the inverse and numeric derivatives."""

import numpy as np
import polars as pl
import pytest

from cfl_cli import UsageError, tabulate
from cfl_cli.commands.tabulate import with_model
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.trust.shares import Lines, alike, shares
from cfl_cli.trust.tilted import TiltedModel, holds

SHARES = [0.5, 0.3, 0.2]


def drawn(n, seed=0, known=0.0):
    """Return places of values, cells that rule out one, and priors that know them in part."""
    random = np.random.default_rng(seed)
    place = random.choice(3, n, p=SHARES)
    cells = np.ones((n, 3), dtype=bool)
    cells[np.arange(n), (place + random.integers(1, 3, n)) % 3] = False
    seen = np.where(random.random(n) < known, place, random.choice(3, n, p=SHARES))
    priors = known * np.eye(3)[seen] + (1 - known) * np.array(SHARES)
    return place, cells, priors


def test_with_priors_that_know_nothing_the_model_says_what_the_cells_say():
    """With one exclusion a cell there is only one unbiased estimate, and one standard error."""
    _, cells, _ = drawn(4000)
    flat = np.full((4000, 3), 1 / 3)
    model = TiltedModel.fit(flat, cells.astype(float), np.zeros(4000, dtype=int))
    found, sums, _ = alike(cells, None)
    of_cells = shares(Lines.of(found, sums, Mechanism(3)))
    for value, one in enumerate(of_cells):
        other = model.share(value, np.ones(4000, dtype=bool))
        assert other.value == pytest.approx(one.value, abs=1e-3)
        assert other.error == pytest.approx(one.error, rel=0.01)


def test_the_influence_of_a_row_is_what_leaving_it_out_changes():
    n = 1000
    _, cells, priors = drawn(n, known=0.5)
    evidence, everyone = cells.astype(float), np.zeros(n, dtype=int)
    whole = TiltedModel.fit(priors, evidence, everyone).share(0, np.ones(n, dtype=bool))
    moved = []
    for row in range(0, n, 10):
        kept = np.arange(n) != row
        model = TiltedModel.fit(priors[kept], evidence[kept], everyone[kept])
        moved.append(model.share(0, kept[kept]).value - whole.value)
    jackknife = np.sqrt(10 * np.sum(np.square(moved)))
    assert whole.error == pytest.approx(jackknife, rel=0.2)


def test_it_is_narrower_where_priors_know_something_and_holds_in_groups_and_means():
    n = 3000
    place, cells, priors = drawn(n, seed=3, known=0.8)
    random = np.random.default_rng(4)
    late = random.random(n) < np.array([0.1, 0.5, 0.3])[place]
    number = 100.0 * place + random.normal(0, 10, n)
    evidence = cells.astype(float)
    model = TiltedModel.fit(priors, evidence, late.astype(int), numbers=number)
    found, sums, _ = alike(cells, None)
    everyone = np.ones(n, dtype=bool)
    for value, cells_say in enumerate(shares(Lines.of(found, sums, Mechanism(3)))):
        own = place == value
        share, of_value = model.share(value, everyone), model.of_value(value, late, everyone)
        assert share.error < 0.7 * cells_say.error
        assert share.low <= SHARES[value] <= share.high
        assert of_value.low <= late[own].mean() <= of_value.high
        mean = model.average(value, number)
        assert abs(mean.value - number[own].mean()) < 4 * mean.error


def test_the_rule_takes_it_for_few_values_many_rows_and_no_rare_value():
    assert holds(4, 1000, 0.1)
    assert holds(7, 1250, 0.1)
    assert not holds(8, 10_000, 0.5)
    assert not holds(4, 499, 0.5)
    assert not holds(4, 1000, 0.04)


def made(n=500):
    place, cells, _ = drawn(n, seed=5)
    random = np.random.default_rng(6)
    values = np.array(["clerk", "nurse", "farmer"])
    frame = pl.DataFrame(
        {
            "job": values[(~cells).argmax(axis=1)],
            "x": place + random.normal(0, 0.3, n),
            "noise": random.random(n),
            "late": np.where(random.random(n) < 0.3, "yes", "no"),
        }
    )
    columns = {"job": {"role": "complementary", "values": values.tolist()}}
    columns |= {of: {"role": "ordinary", "type": "numeric"} for of in ("x", "noise")}
    return frame, {"version": 1, "columns": columns}, place


@pytest.mark.usefixtures("learning_quickly")
def test_figures_of_the_model_take_the_place_of_wider_ones():
    frame, schema, place = made()
    frame = frame.with_columns(job_imputed=pl.lit("nurse"))  # which a run would refuse
    cells, both = (tabulate(frame, schema, with_model=it) for it in (False, True))
    assert "model" in {*both["basis"]}
    for one, other in zip(cells.iter_rows(named=True), both.iter_rows(named=True), strict=True):
        if other["basis"] == "model":
            assert other["se"] <= 0.8 * one["se"]
            assert other["high"] - other["low"] <= 0.8 * (one["high"] - one["low"])
            truth = (place == schema["columns"]["job"]["values"].index(one["value"])).mean()
            assert other["low"] <= truth <= other["high"]
        else:
            assert one == other


def test_a_mechanism_that_is_refuted_is_not_modelled(monkeypatch):
    def never(*_, **__):
        raise AssertionError

    monkeypatch.setattr(with_model.TiltedModel, "fit", never)
    frame, schema, _ = made(300)
    schema["settings"] = {"seed": 1}
    found = tabulate(frame.with_columns(job=pl.lit("nurse")), schema, with_model=True)
    assert {*found["reason"]} == {"tabulate-refuted"}


@pytest.mark.usefixtures("learning_quickly")
def test_only_cfs_that_are_asked_for_are_modelled(monkeypatch):
    seen = []
    learn = with_model.learn
    monkeypatch.setattr(with_model, "learn", lambda *a, **k: seen.append(a[1]) or learn(*a, **k))
    frame, schema, _ = made(300)
    schema["columns"]["ward"] = {**schema["columns"]["job"], "blurred": "privacy"}
    tabulate(frame.with_columns(ward=pl.col("job")), schema, cf="job", with_model=True)
    assert [*seen[0].schema.complementary] == ["job"]


@pytest.mark.parametrize(
    "other", [{"with_model": True}, {"audit": pl.DataFrame({"cfl_row": [1], "job": ["clerk"]})}]
)
def test_weights_go_neither_with_the_model_nor_with_an_audit(other):
    frame, schema, _ = made(100)
    with pytest.raises(UsageError) as error:
        tabulate(frame, schema, weight="noise", **other)
    assert error.value.code == "option-conflict"
