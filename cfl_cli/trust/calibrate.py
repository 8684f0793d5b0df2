"""The confidences that are written: those of an estimate, each CF's raised to a power of its own.

Answers, priors and all that is judged by them stay the estimate's; see `powers`.
"""

from collections.abc import Sequence
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
    return raised_to(powers, encoded, estimate)


def raised_to(powers: Sequence[Power | None], encoded: Encoded, estimate: Estimate) -> Estimate:
    """Return the estimate with each CF's confidences raised to its power, and the same answers."""
    confidences, answers = np.empty_like(estimate.confidences), []
    for number, power in enumerate(powers):
        column = ColumnFacts(encoded, estimate, number)
        own = raised(column.confidences, power.value) if power else column.confidences
        confidences[:, column.block.columns] = own
        answers.append(column.answers)
    return replace(
        estimate,
        confidences=confidences,
        answers=np.column_stack(answers),
        powers=tuple(powers),
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
