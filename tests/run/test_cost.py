import json
import subprocess
import sys

import polars as pl
import pytest

from cfl_cli import DataError
from cfl_cli.core.parallel import available_cores
from cfl_cli.methods import net
from cfl_cli.run.cost import plan_run
from cfl_cli.schema.model import Complementary, Ordinary, Schema

COLUMNS = {
    "x": Ordinary(type="numeric"),
    "y": Ordinary(type="binary"),
    "z": Ordinary(type="categorical", values=["p", "q", "r", "s"]),
    "job": Complementary(values=["a", "b", "c"]),
    "ward": Complementary(),
}
TABLE = pl.DataFrame(
    {
        "x": [1, 1, 2, None, 2],
        "y": ["n", "n", "n", "n", "y"],
        "z": ["p", "p", "p", "q", "p"],
        "job": ["a", "b", "a", "", "c"],
        "ward": ["u", "v", "w", "t", "u"],
    }
)


def test_the_sizes_are_those_counted_by_hand():
    found = plan_run(TABLE, Schema(columns=COLUMNS, settings={"k": 2}), name="t")
    assert (found.rows, found.distinct_rows) == (5, 4)  # the first two rows are alike
    assert (found.ofs, found.features) == (3, 1 + 1 + 4)
    assert (found.cfs, found.confidences) == (2, 3 + 4)
    assert len(found.warnings) == 2  # a cell was filled in, a domain guessed
    assert found.seconds > 0


@pytest.mark.parametrize("method", ["observed", "commonest", "boost", "auto"])
def test_every_method_can_be_planned(method, monkeypatch):
    monkeypatch.setattr(net, "STEPS", 50)
    settings = {"k": 2, "method": method}
    assert plan_run(TABLE, Schema(columns=COLUMNS, settings=settings)).seconds >= 0
    two_rows = plan_run(TABLE.tail(2), Schema(columns=COLUMNS, settings=settings | {"k": 1}))
    assert (two_rows.rows, two_rows.seconds >= 0) == (2, True)


def test_what_would_stop_a_run_stops_the_plan():
    wrong = TABLE.with_columns(job=pl.lit("d"), x=pl.lit("?"))
    with pytest.raises(DataError) as caught:
        plan_run(wrong, Schema(columns=COLUMNS, settings={"k": 2}), name="t")
    assert len(caught.value.texts) == 2
    taken = TABLE.with_columns(job_imputed=1)
    with pytest.raises(DataError, match="job_imputed"):
        plan_run(taken, Schema(columns=COLUMNS, settings={"k": 2}), name="t")


MEASURE = """
import json, resource, sys
import numpy as np, polars as pl
from cfl_cli import Schema, impute
from cfl_cli.run.cost import plan_run

rng = np.random.default_rng(0)
values = [f"value {number}" for number in range(320)]
table = {f"x{number}": rng.random(6_000) for number in range(5)}
table["cf"] = rng.choice(values, 6_000)
table = pl.DataFrame(table).cast(pl.String)
columns = {name: {"role": "ordinary", "type": "numeric"} for name in table.columns[:-1]}
columns["cf"] = {"role": "complementary", "values": values}
chosen = {"k": 5, "iterations": 3, "mode": "both", "jobs": 2, "folds": json.loads(sys.argv[2])}
schema = Schema(columns=columns, settings=chosen)
if sys.argv[1] == "plan":
    print(json.dumps(plan_run(table, schema, name="t").memory_mb))
else:
    impute(table, schema)
    unit = 1 if sys.platform == "darwin" else 1024
    print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing tells the peak there")
@pytest.mark.slow
@pytest.mark.parametrize("folds", [0, 5])
def test_memory_is_estimated_within_a_factor_of_two(folds):
    def ask(what):
        # A process starts with the peak of the one that starts it: a small one in between helps.
        run = ["sh", "-c", '"$0" -c "$@"; exit $?', sys.executable, MEASURE, what, str(folds)]
        return json.loads(subprocess.run(run, capture_output=True, text=True, check=True).stdout)

    estimated, measured = ask("plan"), ask("run")
    assert measured > 300  # most of it is the run's own, not the packages'
    assert measured / 2 < estimated < measured * 2


def test_more_of_anything_takes_more_memory():
    def memory(rows=5, columns=("x", "job"), **settings):
        table = pl.concat([TABLE] * (rows // 5))
        chosen = {"k": 2, "jobs": 1, "iterations": 1} | settings
        schema = Schema(columns={name: COLUMNS[name] for name in columns}, settings=chosen)
        return plan_run(table, schema, name="t").memory_mb

    few = memory()
    assert memory(rows=5000) > few
    assert memory(k=4) > few
    assert memory(columns=("x", "job", "ward")) > few
    assert memory(columns=("x", "y", "z", "job")) > few
    assert memory(jobs=8) > few
    assert memory(gamma=0) < few
    assert memory(jobs=None) == memory(jobs=available_cores())
