"""How well a prior predicts a hidden cell: the log of the mass that the cell leaves of it.

    log score = log Σ_v prior(v) · evidence(v)

Higher is better; in expectation the true distribution has the highest.
"""

import numpy as np

from cfl_cli.core.arrays import Floats, Mask, Singles
from cfl_cli.core.blocks import Numbers, Over, totals

LEAST_MASS = 1e-12  # that counts: one cell that a prior rules out must not decide everything


def log_scores(priors: Numbers, evidence: Floats | Singles | Mask, *, over: Over) -> Numbers:
    """Return the log score of every row's every CF, n × CFs; of one CF along an axis, n."""
    if isinstance(over, int):
        mass: Numbers = np.einsum("ij,ij->i" if over else "ij,ij->j", priors, evidence)
    else:
        mass = totals(np.multiply(priors, evidence), over)
    return log_of_mass(mass)


def log_of_mass(mass: Numbers) -> Numbers:
    """Return the log score of a cell that leaves so much of its prior."""
    logs: Numbers = np.log(np.maximum(mass, LEAST_MASS))
    return logs
