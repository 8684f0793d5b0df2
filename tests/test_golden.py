"""What small runs answered before the package was rearranged, and answer still.

`python tests/test_golden.py` prints the record; a change that alters an answer on purpose renews it.
"""

import json
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest

from cfl_cli import Schema, evaluate, fit, impute, mask

SAMPLE = Path(__file__).parents[1] / "sample_data"
RECORD = Path(__file__).with_name("golden.json")
FIGURES = ("entropy_start", "entropy_end", "mean_confidence", "commonest_share", "heldout_score")
RUNS = {
    "graph": {"method": "graph"},
    "graph-one-round": {"method": "graph", "gamma": 0.0, "calibration": False},
    "graph-steps-by-cells": {"method": "graph", "iterations": "auto"},
    "graph-unjudged": {"method": "graph", "folds": 0},
    "ipal": {"method": "ipal"},
    "observed": {"method": "observed"},
    "commonest": {"method": "commonest"},
}


def answers_of(result):
    """Return the answers as a checksum, and the figures of the report."""
    columns = [name for name in result.frame.columns if name.endswith("_imputed")]
    text = result.frame.select(columns).write_csv()
    figures = {
        column.name: [getattr(column, name) for name in FIGURES] for column in result.report.columns
    }
    return {"answers": sha256(text.encode()).hexdigest(), "figures": figures}


def small():
    table = pl.read_csv(SAMPLE / "triage.csv", infer_schema=False)[:400]
    return table, Schema.of(str(SAMPLE / "triage.yml"))


def run(name):
    table, schema = small()
    given = {"k": 8, "iterations": 20, "folds": 2, "jobs": 1, **RUNS[name]}
    if name == "graph":
        model = fit(table[:300], schema, **given)
        return answers_of(impute(table, schema, **given)) | {
            "new rows": answers_of(model.apply(table[300:]))["answers"]
        }
    return answers_of(impute(table, schema, **given))


def test_masks_and_scores_are_as_before():
    truth = pl.read_csv(SAMPLE / "triage_truth.csv", infer_schema=False)[:400]
    assert masked_of(truth) == json.loads(RECORD.read_text())["mask"]


def masked_of(truth):
    table, schema = small()
    cfs = [*schema.complementary]
    true = table.with_columns(truth[cf] for cf in cfs)
    made = mask(true, schema, seed=3).frame
    scores = evaluate(impute(table, schema, method="commonest").frame, true, schema)
    found = [round(one.accuracy, 9) for one in scores.columns]
    return {"cells": sha256(made.select(cfs).write_csv().encode()).hexdigest(), "accuracy": found}


@pytest.mark.parametrize("name", RUNS)
def test_answers_are_as_before(name):
    now, before = run(name), json.loads(RECORD.read_text())[name]
    assert {key: now[key] for key in now if key != "figures"} == {
        key: before[key] for key in before if key != "figures"
    }
    assert now["figures"].keys() == before["figures"].keys()
    for cf, figures in before["figures"].items():
        for place, value in enumerate(figures):
            assert now["figures"][cf][place] == (value and pytest.approx(value, rel=1e-6))


if __name__ == "__main__":
    truth = pl.read_csv(SAMPLE / "triage_truth.csv", infer_schema=False)[:400]
    print(json.dumps({"mask": masked_of(truth), **{name: run(name) for name in RUNS}}, indent=1))
