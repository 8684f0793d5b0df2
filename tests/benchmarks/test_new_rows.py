"""New rows are compared with the same rows among all others, by the truth."""

import numpy as np
import polars as pl
import pytest

from benchmarks import tables
from benchmarks.models import new_rows, speed


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
