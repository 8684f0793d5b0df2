"""Warnings about tables in which hidden cells make answers look better than they are."""

from collections.abc import Iterator

import numpy as np

from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.draws import hash_rows
from cfl_cli.core.known import LEAST_EXACT
from cfl_cli.core.messages import count, quote
from cfl_cli.core.wording import STORED, option
from cfl_cli.steps.encode import Encoded


def doubts(
    encoded: Encoded, hidden: Ints | None, *, k: int, always_second_round: bool
) -> Iterator[str]:
    """Yield a sentence for each reason to doubt what hidden cells show.

    `hidden` are the rows whose cells were hidden; None: none were. `always_second_round` says that
    every CF takes the graph's second round, whatever hidden cells favor; `k` is its number of
    neighbors.
    """
    for block in encoded.blocks:
        if hidden is not None and block.marked_at_random:
            exact = 0 if block.marked is None else int(block.marked[hidden].sum())
            if exact < LEAST_EXACT:
                yield (
                    f"column {quote(block.name)}: {count(exact, 'exact cell')} of it were hidden, "
                    f"and `exact_cells: random` counts from {LEAST_EXACT} on"
                )
        if block.rates is not None and not block.mechanism.distinguishes_values:
            yield (
                f"column {quote(block.name)}: cells of its mechanism do not distinguish the "
                "values, so its accuracy cannot be estimated"
            )
    few = few_distinct(encoded.features, k=k) if always_second_round else None
    if few is not None:
        choices = [0] if hidden is None else ["auto", 0]
        instead = ", or ".join(option("gamma", choice, to=STORED) for choice in choices)
        yield (
            f"only {few:,} rows are distinct by their OFs, and then a second round often does "
            f"harm that hidden cells do not show: try {instead}"
        )


def few_distinct(features: Floats, *, k: int) -> int | None:
    """Return how many rows are distinct by their OFs, if they are few; None: they are not.

    They are few where the rows of the same OFs are, on average, more than a row has neighbors.
    """
    distinct = len(np.unique(hash_rows(features)))
    return distinct if len(features) > k * distinct else None
