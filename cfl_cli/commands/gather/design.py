"""Did a form draw the options that it showed? Tests that need no true value.

If each of n respondents sees s_i of K options, every set of s_i as likely as any other, and
whatever they would pick, then for p_i = s_i / K

    shown equally    Σ_j (o_j − e)² (K−1) / (K Σ_i p_i (1 − p_i))  ~  χ² with K − 1 degrees,
                     o_j: how often option j was shown, e = Σ_i p_i
    sets             where each set is expected five times or more: Pearson's χ² over all sets of s
    picked           the respondents who pick an option: Σ_i p_i expected, variance Σ_i p_i (1 − p_i)

A respondent picks the true option if it was shown, which happens with probability p_i. More picks
mean that the form knew what people like, or that people settle for what they see. Fewer picks mean
that the true option is not in the list.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb

import numpy as np

from cfl_cli.core.arrays import Floats, Ints

REFUTED = 1e-3  # a smaller probability refutes
_EXPECTED = 5  # cases per set, for the approximation


@dataclass(frozen=True)
class Design:
    respondents: int
    options: int
    sizes: tuple[int, ...]  # how many were shown, the different numbers
    sets: int  # different sets that were shown
    equally: float  # probabilities of what was seen, if options were drawn
    among_sets: float | None  # None: too few respondents to tell
    picked: float
    picks: int
    expected_picks: float
    shares: Floats  # how often each option was shown

    @property
    def refuted(self) -> str:
        """Why the options were not drawn at random; empty: nothing speaks against it."""
        if self.sets == 1 and self.sizes != (self.options,):
            return "same-options"
        tests = {"not-equally": self.equally, "not-all-sets": self.among_sets}
        found = [name for name, chance in tests.items() if chance is not None and chance < REFUTED]
        return next(iter([*found, *(["picks"] if self.picked < REFUTED else [])]), "")


def design(sets: Mapping[tuple[int, ...], int], picks: int, options: int) -> Design:
    """Return what the shown sets say; `sets` are places of options, and how often each was shown."""
    from scipy.stats import chi2, norm

    sizes = np.array([len(one) for one in sets])
    counts = np.array([*sets.values()])
    n, p = int(counts.sum()), sizes / options
    shown: Ints = np.zeros(options, dtype=np.int64)
    for one, times in sets.items():
        shown[list(one)] += times
    expected, variance = float(p @ counts), float((p * (1 - p)) @ counts)
    # All options for everybody: nothing is drawn, and nothing can differ.
    spread = float(((shown - expected) ** 2).sum()) * (options - 1) / options
    equally = float(chi2.sf(spread / variance, options - 1)) if variance else 1.0
    among, all_sets = None, comb(options, int(sizes[0])) if len({*sizes.tolist()}) == 1 else 0
    if all_sets > 1 and n >= _EXPECTED * all_sets:
        mean = n / all_sets
        missing = (all_sets - len(sets)) * mean
        pearson = float(((counts - mean) ** 2).sum() / mean + missing)
        among = float(chi2.sf(pearson, all_sets - 1))
    far = abs(picks - expected) / variance**0.5 if variance else 0.0
    return Design(
        n,
        options,
        tuple(sorted({*sizes.tolist()})),
        len(sets),
        equally,
        among,
        float(2 * norm.sf(far)),
        picks,
        expected,
        shown / n,
    )
