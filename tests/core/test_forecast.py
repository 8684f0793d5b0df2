import pytest

from cfl_cli.core import forecast
from cfl_cli.core.forecast import AROUND, measured, run_seconds, seconds
from cfl_cli.core.settings import METHODS, Settings
from cfl_cli.methods.interface import TableSize

GROWING = sorted({*METHODS} - {"observed", "commonest"})


def cost(method, *, rows=5000, features=8, domains=(3, 4), folds=5, threads=1, speed=1.0, **given):
    size = TableSize(rows, features, domains)
    how = {"folds": folds, "threads": threads, "speed": speed}
    return seconds(method, size, Settings().override(**given), **how)


def test_every_method_was_measured():
    lacking = {*METHODS, AROUND} - {*measured()["methods"]}
    assert not lacking, "measure them: python -m benchmarks.costs --method NAME"
    for of_method in measured()["methods"].values():
        assert 0 <= of_method["serial"] <= 1
        assert 1 <= of_method["factor"] < 3
        assert all(each > 0 for each in of_method["seconds"].values())
        size = TableSize(100, 2, (3,))
        assert {*of_method["seconds"]} <= {*forecast.terms(size, Settings(), folds=5)}


@pytest.mark.parametrize("method", GROWING)
def test_more_of_anything_takes_longer(method):
    usual = cost(method)
    assert cost(method, rows=20_000) > (1.2 if method == "forest" else 1.5) * usual
    assert cost(method, folds=2) < usual
    assert cost(method, domains=(3, 4, 30)) > usual
    assert cost(method, features=80) >= usual


def test_graph_takes_longer_with_more_neighbors_and_quickly_without_a_second_round():
    assert cost("graph", k=60) > 2 * cost("graph")
    assert cost("graph", gamma=0.0) < cost("graph")
    assert cost("graph", metric="learned") > 2 * cost("graph")
    assert cost("boost", k=60) == cost("boost")


def test_auto_takes_time_for_metrics_where_cells_say_little():
    def metrics(rows, **given):
        return forecast.own_metrics(TableSize(rows, 8, (3, 4, 20)), Settings("auto", **given))

    of_tables = [metrics(rows) for rows in (400, 1400, 2000, 9000)]
    assert of_tables == [(0, 1), (1, 2), (2,), ()]
    assert metrics(9000, metric="learned") == (0, 1, 2)
    assert metrics(400, budget=10.0) == ()


def test_threads_share_what_is_not_serial_and_are_no_more_than_the_cores(monkeypatch):
    monkeypatch.setattr(forecast, "available_cores", lambda: 4)
    serial = measured()["methods"]["graph"]["serial"]
    assert cost("graph", threads=4) == pytest.approx(cost("graph") * (serial + (1 - serial) / 4))
    assert cost("graph", threads=64) == cost("graph", threads=None) == cost("graph", threads=4)


def test_a_machine_that_is_half_as_fast_takes_twice_as_long(monkeypatch):
    assert cost("net", speed=2.0) == pytest.approx(2 * cost("net"))
    forecast.machine_speed.cache_clear()
    monkeypatch.setattr(forecast, "fixed_job", lambda: 2 * measured()["fixed_job"])
    assert cost("net", speed=None) == pytest.approx(2 * cost("net"))
    forecast.machine_speed.cache_clear()


def test_a_run_takes_a_start_the_method_and_all_around_it():
    size, given = TableSize(5000, 8, (3, 4)), Settings()
    how = {"folds": 5, "threads": 1, "speed": 2.0}
    once, twice = (run_seconds("boost", size, given, runs=runs, **how) for runs in (1, 2))
    assert twice - once == pytest.approx(cost("boost", speed=2.0))
    start = 2 * measured()["methods"]["boost"]["start"]
    assert once == pytest.approx(start + cost("boost", speed=2.0) + cost(AROUND, speed=2.0))
