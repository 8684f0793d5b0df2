"""Mechanisms, all cells that they can give, and how probable each is, worked out set by set."""

from itertools import combinations
from math import comb, prod

import numpy as np

from cfl_cli.core.exclusions import Mechanism


def skewed(size, seed=0):
    """Rates that differ from value to value, none of them 0."""
    rates = np.random.default_rng(seed).dirichlet(np.full(size - 1, 2.0), size=size)
    full = np.zeros((size, size))
    full[~np.eye(size, dtype=bool)] = rates.reshape(-1)
    return Mechanism(size, full)


def in_full(size):
    return Mechanism(size, (1 - np.eye(size)) / (size - 1))


def cells(size, exclusions):
    sets = list(combinations(range(size), exclusions))
    masks = np.ones((len(sets), size), dtype=bool)
    for mask, excluded in zip(masks, sets, strict=True):
        mask[list(excluded)] = False
    return masks, sets


def probability(mechanism, excluded, value):
    """P(S | v, s) as the model says it, set by set."""
    size = mechanism.size
    if value in excluded:
        return 0.0
    if mechanism.rates is None or len(excluded) == size - 1:
        return 1 / comb(size - 1, len(excluded))
    rates = mechanism.rates[value]
    total = sum(prod(rates[list(s)]) for s in combinations(range(size), len(excluded)))
    return prod(rates[list(excluded)]) / total
