"""How cells come about in the field: from the true values, and from how plausible others look.

Each function returns candidates, n × K, for one CF. `plausible`, n × K, is what somebody who knows
the OFs would think of each value; it comes from a model that was fitted to the exact values.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.exclusions import Mechanism

How = Callable[[Ints, Floats, np.random.Generator], Mask]


def uniform(
    truth: Ints, plausible: Floats, rng: np.random.Generator, *, several: bool = False
) -> Mask:
    """Rule out one wrong value, or one to three of them, any alike."""
    n, size = plausible.shape
    most = min(3, size - 2) if several and size > 3 else 1
    exclusions = np.asarray(rng.integers(1, most + 1, n))
    return Mechanism(size).draw(truth, exclusions, rng.random((n, size)))


def favored(truth: Ints, plausible: Floats, rng: np.random.Generator, *, times: float) -> Mask:
    """Rule out one wrong value, a certain one so many times as readily as others."""
    size = plausible.shape[1]
    weights = np.ones(size)
    weights[rng.integers(size)] = times
    rates = np.where(np.eye(size, dtype=bool), 0, weights)
    how = Mechanism.of(size, rates / rates.sum(axis=1, keepdims=True))
    return how.draw(truth, np.ones(len(truth), dtype=int), rng.random(plausible.shape))


def by_plausibility(
    truth: Ints, plausible: Floats, rng: np.random.Generator, *, first: bool, share: float = 1.0
) -> Mask:
    """Rule out the likeliest (or the least likely) wrong value, in that share of the cells."""
    n, size = plausible.shape
    rows = np.arange(n)
    looks = plausible + 1e-9 * rng.random((n, size))
    looks[rows, truth] = -np.inf if first else np.inf
    chosen = looks.argmax(axis=1) if first else looks.argmin(axis=1)
    anything = (truth + rng.integers(1, size, n)) % size
    candidates = np.ones((n, size), dtype=bool)
    candidates[rows, np.where(rng.random(n) < share, chosen, anything)] = False
    return candidates


def neighbors(truth: Ints, plausible: Floats, rng: np.random.Generator, *, times: float) -> Mask:
    """Rule out one wrong value, those next to the true one so many times as readily as others."""
    n, size = plausible.shape
    apart = np.abs(np.arange(size) - truth[:, None])
    weights = np.where(apart == 1, times, 1.0) * (apart > 0)
    chosen = weights.cumsum(axis=1) > rng.random((n, 1)) * weights.sum(axis=1)[:, None]
    return np.asarray(np.arange(size) != chosen.argmax(axis=1)[:, None])


def people(truth: Ints, plausible: Floats, rng: np.random.Generator, *, doubt: float = 1.0) -> Mask:
    """Leave, beside the true value, those that look plausible: what a person would not rule out."""
    n, size = plausible.shape
    relative = plausible / plausible.max(axis=1, keepdims=True)
    candidates: Mask = rng.random((n, size)) < np.minimum(doubt * relative, 1)
    candidates[np.arange(n), truth] = True
    return candidates


def old_codes(
    truth: Ints, plausible: Floats, rng: np.random.Generator, *, registers: int = 3
) -> Mask:
    """Leave what a coarse code may mean: each of a few registers groups the values in its own way."""
    n, size = plausible.shape
    register, candidates = rng.integers(registers, size=n), np.ones((n, size), dtype=bool)
    for number in range(registers):
        groups = rng.permutation(size) % max(size // int(rng.integers(2, 4)), 2)
        here = register == number
        candidates[here] = groups[truth[here], None] == groups
    return candidates


def on_a_form(truth: Ints, plausible: Floats, rng: np.random.Generator, *, share: float) -> Mask:
    """Rule out the first wrong value of the domain in that share of the cells, else any one."""
    n, size = plausible.shape
    anything = (truth + rng.integers(1, size, n)) % size
    chosen = np.where(rng.random(n) < share, np.where(truth == 0, 1, 0), anything)
    return np.asarray(np.arange(size) != chosen[:, None])


def wrong(
    truth: Ints, plausible: Floats, rng: np.random.Generator, *, share: float, several: bool = False
) -> Mask:
    """Rule out any one value, or one to three, the true one in that share of the cells."""
    n, size = plausible.shape
    if not several:
        anything = (truth + rng.integers(1, size, n)) % size
        candidates = np.ones((n, size), dtype=bool)
        candidates[np.arange(n), np.where(rng.random(n) < share, truth, anything)] = False
        return candidates
    is_wrong = rng.random(n) < share
    exclusions = np.asarray(rng.integers(1, min(3, max(size - 2, 1)) + 1, n)) - is_wrong
    candidates = Mechanism(size).draw(truth, exclusions, rng.random((n, size)))
    candidates[is_wrong, truth[is_wrong]] = False
    return candidates


MECHANISMS: dict[str, How] = {
    "uniform": uniform,
    "uniform, one to three": partial(uniform, several=True),
    "twice as often": partial(favored, times=2),
    "three times as often": partial(favored, times=3),
    "likeliest first": partial(by_plausibility, first=True),
    "least likely first": partial(by_plausibility, first=False),
    "likeliest first, half": partial(by_plausibility, first=True, share=0.5),
    "neighbors four times as often": partial(neighbors, times=4),
    "people": people,
    "old codes": old_codes,
    "on top of the form, half": partial(on_a_form, share=0.5),
    "1 % wrong": partial(wrong, share=0.01),
    "3 % wrong": partial(wrong, share=0.03),
    "10 % wrong": partial(wrong, share=0.10),
    "1 % wrong, one to three": partial(wrong, share=0.01, several=True),
    "3 % wrong, one to three": partial(wrong, share=0.03, several=True),
    "10 % wrong, one to three": partial(wrong, share=0.10, several=True),
}


def with_exact(candidates: Mask, truth: Ints, share: float, rng: np.random.Generator) -> Mask:
    """Return the cells with a share of them exact, drawn at random."""
    exact = rng.random(len(truth)) < share
    return np.where(exact[:, None], np.arange(candidates.shape[1]) == truth[:, None], candidates)
