"""Coarser OFs, as one might publish them: numbers in bins, rare categories merged.

What is made coarser are features, so that no cell need be written and read again.
"""

import numpy as np

from cfl_cli.core.arrays import Floats

RARE = 0.05  # of the rows: a category that is not more common is merged with others like it


def binned(numbers: Floats, bins: int) -> Floats:
    """Return columns of numbers, n × d, each in so many bins of about equally many rows.

    Each number becomes the mean of its bin, and these are scaled from 0 to 1 as those of a table
    are that is published so; equal numbers stay equal.
    """
    coarse = np.empty_like(numbers)
    for place, column in enumerate(numbers.T):
        edges = np.unique(np.quantile(column, np.arange(1, bins) / bins))
        bin_of = np.searchsorted(edges, column, side="right")
        counts = np.bincount(bin_of)
        means = np.bincount(bin_of, column) / np.maximum(counts, 1)
        low, high = means[bin_of].min(initial=np.inf), means[bin_of].max(initial=-np.inf)
        coarse[:, place] = (means[bin_of] - low) / (high - low) if low < high else 0.0
    return coarse


def merged(categories: Floats, least: float = RARE) -> Floats | None:
    """Return one-hot columns, n × K, in which rare categories are one; None: there are no two."""
    rare = (categories > 0).mean(axis=0) <= least
    if rare.sum() < 2:
        return None
    coarse = np.column_stack([categories[:, ~rare], categories[:, rare].sum(axis=1)])
    kinds = coarse.shape[1]  # unequal values lie sqrt(2/kinds) apart, as in a column of so many
    return np.asarray(coarse * np.sqrt(categories.shape[1] / kinds))
