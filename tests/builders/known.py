"""Small tables whose values are known: each CF follows from an OF, or from another CF."""

import numpy as np

from cfl_cli.core.arrays import log_scores
from cfl_cli.core.dataset import Known
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.parallel import Workers
from cfl_cli.core.settings import Settings
from cfl_cli.methods import load


def follow(features, sizes):
    columns = (features[:, cf % features.shape[1]] for cf in range(len(sizes)))
    values = (
        np.minimum(column * size, size - 1) for column, size in zip(columns, sizes, strict=True)
    )
    return np.column_stack([*values]).astype(int)


def known_of(features, values, mechanisms, *, exclusions=(1,), seed=0):
    rng = np.random.default_rng([seed, 1])
    masks = []
    for mechanism, own in zip(mechanisms, values.T, strict=True):
        many = np.minimum(rng.choice(exclusions, size=len(own)), mechanism.size - 1)
        masks.append(mechanism.draw(own, many, rng.random((len(own), mechanism.size))))
    blocks = np.cumsum([0, *(mechanism.size for mechanism in mechanisms[:-1])])
    return Known(features, np.hstack(masks), blocks, tuple(mechanisms))


def table(seed=0, n=80, sizes=(3, 4), *, mechanisms=None, exclusions=(1,)):
    """What is known of rows whose CFs follow from three OFs, and the values, n × CFs."""
    features = np.random.default_rng(seed).random((n, 3))
    values = follow(features, sizes)
    mechanisms = mechanisms or [Mechanism(size) for size in sizes]
    return known_of(features, values, mechanisms, exclusions=exclusions, seed=seed), values


def run(name, known, *, folds, jobs=2, **given):
    settings = Settings(name, **{"k": min(5, len(known) - 1), "iterations": 20, **given})
    with Workers(jobs) as workers:
        return load(name).estimate(
            known, settings, folds=folds, workers=workers, progress=lambda *_: None
        )


def mean_log_scores(known, hidden):
    return log_scores(hidden.priors, known.evidence[hidden.rows], over=known.blocks).mean(axis=0)
