import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is an extra: pip install '.[bench]'")

from benchmarks.models.downstream import compared, contestants, shown
from benchmarks.tables import generated


def test_each_contestant_sees_its_own_columns_alone():
    table = generated(60, seed=0)
    target = table.truth["of_0"].to_numpy() > 0
    entries = contestants(table, ["commonest"], folds=0, jobs=1)
    seen = {
        name: {*pipeline.fit(rows, target)[:-1].get_feature_names_out()}
        for name, (pipeline, rows) in entries.items()
        if name in ("soft, commonest", "hard, commonest")
    }
    cfs = [f"confidences__{cf}__{value}" for cf, values in table.cfs.items() for value in values]
    ofs = [f"numbers__{of}" for of in table.ofs]
    assert seen["soft, commonest"] == {*ofs, *cfs}
    assert not [name for name in seen["hard, commonest"] if "confidence" in name]
    assert not [cf for cf in table.cfs if cf in entries["without CFs"][1].columns]


def test_all_contestants_are_compared_on_the_same_folds():
    table = generated(60, seed=0)
    target = np.arange(60) % 2 == 0
    found = compared(contestants(table, ["commonest"], folds=0, jobs=1), target, splits=2, seed=0)
    assert [*found] == [
        "exact values",
        "soft, commonest",
        "hard, commonest",
        "exclusions alone",
        "without CFs",
    ]
    assert all(np.isfinite(each).all() for scores, _ in found.values() for each in scores.values())
    assert len(shown(found).splitlines()) == 7
