import numpy as np
import polars as pl
import pytest

from cfl_cli import Schema, fit, impute
from cfl_cli.core.settings import Settings
from cfl_cli.run.prepare import prepare, settle_scales

N = 600
RNG = np.random.default_rng(3)
X, NOISE, WRONG = RNG.random(N), RNG.random(N), RNG.integers(1, 4, N)
VALUES = np.array(list("abcd"))
TRUTH = (X * 4).astype(int)  # the CF follows from x alone


def table(*, x=None, noise=None):
    """Return a table in which one cell of x, or of the noise, is another number."""
    cells = {"x": X.copy(), "noise": NOISE.copy()}
    for name, wild in (("x", x), ("noise", noise)):
        if wild is not None:
            cells[name][17] = wild
    return pl.DataFrame(cells | {"cf": VALUES[(TRUTH + WRONG) % 4]})


def schema(scale="auto", **scales):
    numeric = {"role": "ordinary", "type": "numeric"}
    columns = {name: numeric | ({"scale": scales[name]} if name in scales else {})
               for name in ("x", "noise")}  # fmt: skip
    cf = {"role": "complementary", "values": VALUES.tolist()}
    return Schema(scale=scale, columns=columns | {"cf": cf})


def settled(frame, how=None, **settings):
    found, said = settle_scales(frame, how or schema(), Settings(**settings), name="table", jobs=1)
    return [found.scale_of(name) for name in ("x", "noise")], said


def accuracy(frame, how):
    result = impute(frame, how, folds=0)
    return (result.frame["cf_imputed"].to_numpy() == VALUES[TRUTH]).mean()


def test_a_wild_cell_in_a_column_that_matters_is_fenced_off():
    found, said = settled(table(x=1000.0))
    assert found == ["robust", "minmax"]
    assert said[0].startswith("column 'x': scale: auto chose robust, because it predicts held-out")
    assert (
        said[1]
        == "column 'noise': scale: auto chose minmax, because robust is not clearly better on held-out cells"
    )


def test_noise_stays_squeezed_because_that_is_better():
    assert settled(table(noise=1000.0))[0] == ["minmax", "minmax"]
    assert accuracy(table(noise=1000.0), schema()) >= accuracy(
        table(noise=1000.0), schema("robust")
    )


@pytest.mark.parametrize("kind", ["numeric", "date"])
def test_one_wild_cell_costs_most_of_the_accuracy_and_robust_and_auto_give_it_back(kind):
    clean, last = X, 1000.0
    if kind == "date":
        clean, last = np.datetime64("2020-01-01") + (X * 1000).astype(int), "9999-12-31"
    wild = clean.copy()
    wild[17] = last

    def reached(cells, scale):
        cells = cells.astype(str) if kind == "date" else cells
        columns = {**schema().columns, "x": {"role": "ordinary", "type": kind}}
        how = Schema(scale=scale, columns=columns)
        return accuracy(table().with_columns(x=pl.Series(cells)), how)

    best = reached(clean, None)
    assert best > 0.9
    assert reached(wild, None) < 0.5
    for how in ("robust", "auto"):
        assert reached(wild, how) > best - 0.02


def test_the_truth_plays_no_part():
    """Exclusions without any information about the values leave every column as it is."""
    frame = table(x=1000.0).with_columns(cf=pl.Series(VALUES[RNG.integers(0, 4, N)]))
    assert settled(frame)[0] == ["minmax", "minmax"]


@pytest.mark.parametrize("method", ["boost", "net", "forest", "commonest"])
def test_methods_that_go_by_order_alone_keep_min_max(method):
    assert settled(table(x=1000.0), method=method)[0] == ["minmax", "minmax"]


def test_a_wild_cell_that_the_sample_lacks_counts_all_the_same(monkeypatch):
    monkeypatch.setattr("cfl_cli.run.prepare.SAMPLE", 300)
    found = [settled(table(x=1000.0), seed=seed)[0] for seed in range(4)]  # in about half of them
    assert found == [["robust", "minmax"]] * 4


def test_many_columns_are_tried_at_once(monkeypatch):
    monkeypatch.setattr("cfl_cli.run.prepare._MANY", 1)
    assert settled(table(x=1000.0, noise=5.0))[0] == ["robust", "robust"]


def test_what_is_wrong_with_a_table_is_reported_by_the_run():
    broken = table().with_columns(x=pl.lit("word"))
    assert settled(broken)[0] == ["minmax", "minmax"]
    with pytest.raises(Exception, match="'word'"):
        impute(broken, schema())
    with pytest.raises(Exception, match="not in the table"):
        impute(table().drop("x"), schema())


def test_a_choice_is_part_of_the_report_and_of_the_model(tmp_path):
    frame = table(x=1000.0)
    model = fit(frame, schema(), folds=0, jobs=1)
    assert any("scale: auto chose robust" in it for it in model.report.warnings)
    kept = tmp_path / "m.cfl"
    model.save(kept)
    loaded = type(model).load(kept)
    new = frame[:50].with_columns(x=pl.Series([-5.0, *X[1:49], 1e300]))
    assert loaded.apply(new).frame.equals(model.apply(new).frame)
    assert loaded.schema.scale_of("x") == "auto"


def test_rows_alone_decide_not_threads_nor_folds():
    frame = table(x=1000.0)
    features = [
        prepare(frame, schema(), Settings(folds=folds), name="t", jobs=jobs).features
        for folds, jobs in ((0, 1), (5, 2))
    ]
    np.testing.assert_array_equal(*features)
