"""Cells that most likely rule out the true value, ranked.

If a cell of s exclusions is wrong, it rules out the true value and s−1 others; if it is right, s
others. With m the mass that the row's prior leaves to its candidates, such a cell is

    times = (1 − m)/m · (K − s)/s

times as likely if it is wrong. Priors are often surer than they should be, so m is mixed with what
the domain shares leave, λ and 1 − λ, by the λ that predicts hidden cells best; this ranked wrong
cells of several CFs better than the mass alone, or the final one (`benchmarks/field/wrong.py`).
"""

from dataclasses import dataclass

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.log_score import LEAST_MASS

LISTED = 0.01  # of a CF's cells, at most …
FEW = 10  # … but of small tables as many as this
STEPS = 50  # of halving


@dataclass(frozen=True, eq=False)
class Suspects:
    """The suspect cells of one CF, the most suspect first, and how suspect all of them are."""

    rows: Ints  # from 0
    mass_of_all: Floats  # n: of a row's prior, left by the cell: by how likely it is under each
    times_of_all: Floats  # n: as likely if the cell is wrong as if it is right; 0: exact or empty

    @property
    def mass(self) -> Floats:
        """Return the mass that is left to the suspect cells' candidates."""
        return self.mass_of_all[self.rows]

    @property
    def times(self) -> Floats:
        """Return how many times as likely the suspect cells are if they are wrong."""
        return self.times_of_all[self.rows]


def suspects(mass: Floats, shares_mass: Floats, hidden: Ints, candidates: Mask) -> Suspects:
    """Return which of n cells are suspect.

    `mass` and `shares_mass`, n, is what each cell, whose candidates are n × K, leaves of priors and
    of domain shares. Those of the `hidden` rows were made without the rows' own cells.
    """
    n, size = candidates.shape
    exclusions = (~candidates).sum(axis=1)
    founded = well_founded(mass[hidden], shares_mass[hidden]) if len(hidden) else 1.0
    mixed = np.clip(founded * mass + (1 - founded) * shares_mass, LEAST_MASS, 1)
    times = (1 - mixed) / mixed * (size - exclusions) / np.maximum(exclusions, 1)
    times[(exclusions == 0) | (exclusions == size - 1)] = 0
    ranked = np.argsort(-times, kind="stable")[: max(int(LISTED * n), FEW)]
    rows = ranked[times[ranked] > 1]
    return Suspects(rows, mass, times)


def well_founded(mass: Floats, shares_mass: Floats) -> float:
    """Return λ, 0 to 1, for which Σ log(λ mass + (1−λ) shares mass) is largest."""
    low, high = 0.0, 1.0
    for _ in range(STEPS):  # the sum is concave: where it still rises, λ is larger
        middle = (low + high) / 2
        mixed = np.maximum(middle * mass + (1 - middle) * shares_mass, LEAST_MASS)
        rises = ((mass - shares_mass) / mixed).sum() > 0
        low, high = (middle, high) if rises else (low, middle)
    return (low + high) / 2
