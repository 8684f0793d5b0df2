"""Scores rank settings as the truth does, on the paper's two tables, which lie beside the project.

Run with `-m slow`: it takes some minutes.
"""

from itertools import product

import numpy as np
import pytest
from builders.real_tables import kinds, masked, needed, read, schema_text
from scipy.stats import spearmanr

from benchmarks.tables import CFS
from cfl_cli.commands.tune.job import tune
from cfl_cli.core import draws
from cfl_cli.core.settings import Settings
from cfl_cli.encode.encode import encode
from cfl_cli.run.prepare import run
from cfl_cli.run.search import row_scores
from cfl_cli.schema.model import Schema

pytestmark = [pytest.mark.slow, needed]
TABLES = {
    "bank": (CFS["bank"], ["default", "housing", "loan"], ["y"]),
    "adult": (CFS["adult"], ["sex"], ["income"]),
}


@pytest.fixture(params=TABLES)
def task(request):
    """Return a part of a table with its CFs masked, its schema, and the places of true values."""
    cfs, binary, ignored = TABLES[request.param]
    whole = read(request.param)
    schema = Schema.parse(schema_text(whole, cfs, kinds(whole, cfs, binary, ignored)))
    domains = {name: schema.complementary[name].values for name in cfs}
    truth, data = (frame.sample(10_000, seed=100) for frame in (whole, masked(whole, cfs)))
    places = {
        name: truth[name].replace_strict(domain, range(len(domain))).to_numpy()
        for name, domain in domains.items()
    }
    return data, schema, places


def judged(encoded, places, settings):
    folds = draws.folds(len(encoded.features), 5, 0)[:1]
    found = run(encoded, settings, folds=folds, progress=lambda *_: None)
    score = row_scores(encoded, found.hidden.rows, found.hidden.priors).mean()
    surprise, right = [], []
    for block in encoded.blocks:
        confidences, true = found.confidences[:, block.columns], places[block.name]
        told = confidences[np.arange(len(true)), true]
        surprise.append(-np.log(np.maximum(told, 1e-12)).mean())
        right.append((confidences.argmax(axis=1) == true).mean())
    return score, np.mean(surprise), np.mean(right)


def test_scores_rank_settings_as_the_true_cross_entropy_does(task):
    data, schema, places = task
    encoded = encode(data, schema)
    grid = product((5, 20, 40), (0, 0.25, 1), (0.01, 0.3, 3), (20, 100))
    found = [
        judged(encoded, places, Settings(k=k, gamma=gamma, ridge=ridge, iterations=iterations))
        for k, gamma, ridge, iterations in grid
    ]
    scores, cross_entropies, _ = np.transpose(found)
    assert spearmanr(scores, -cross_entropies).statistic >= 0.8


def test_chosen_settings_are_no_worse_than_those_at_the_start(task):
    data, schema, places = task
    found = tune(data, schema, trials=16)
    encoded = encode(data, schema)
    start, chosen = (
        judged(encoded, places, Settings(**trial.settings))
        for trial in (found.trials[0], found.chosen)
    )
    assert chosen[1] <= start[1] + 0.01
    assert chosen[2] >= start[2] - 0.005
