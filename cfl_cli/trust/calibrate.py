"""The confidences that are written: those of an estimate, each CF's raised to a power of its own.

Answers, priors and all that is judged by them stay the estimate's; see `powers`.
"""

from dataclasses import replace

import numpy as np

from cfl_cli.core.parallel import Workers
from cfl_cli.estimators.interface import Estimate, Power
from cfl_cli.steps.encode import Encoded
from cfl_cli.trust.facts import ColumnFacts
from cfl_cli.trust.powers import find, raised


def calibrate(encoded: Encoded, estimate: Estimate, *, jobs: int = 1) -> Estimate:
    """Return the estimate with calibrated confidences, and its answers as they were.

    Where no cells were hidden it comes back as it is.
    """
    if estimate.hidden is None:
        return estimate
    columns = [ColumnFacts(encoded, estimate, number) for number in range(len(encoded.blocks))]
    with Workers(jobs) as workers:
        powers = tuple(workers.map(_power, columns))
    confidences = np.empty_like(estimate.confidences)
    for column, power in zip(columns, powers, strict=True):
        own = raised(column.confidences, power.value) if power else column.confidences
        confidences[:, column.block.columns] = own
    return replace(
        estimate,
        confidences=confidences,
        answers=np.column_stack([column.answers for column in columns]),
        powers=powers,
        raw=estimate.confidences,
    )


def _power(column: ColumnFacts) -> Power | None:
    if column.hidden_cells is None:
        return None
    return find(
        column.hidden_cells,
        column.confidences,
        column.answers,
        accuracy=lambda: column.accuracy,
    )
