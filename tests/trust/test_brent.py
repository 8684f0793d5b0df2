"""Brent's searches end where SciPy's do, to the last digit."""

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

from cfl_cli.trust.powers import minimize, root

VALLEYS = {
    "a parabola": lambda x: (x - 0.3) ** 2,
    "its least is at the low end": lambda x: x,
    "its least is at the high end": lambda x: -x,
    "it is level": lambda x: 0.0 * x,
    "two valleys": lambda x: np.cos(5 * x) + 0.1 * x,
    "an edge": lambda x: abs(x - 0.777),
    "steps": lambda x: np.floor(8 * x) ** 2,
    "a log score": lambda x: x**2 / 2 - 50 * np.log(np.exp(x) / (1 + np.exp(2 * x))),
}
CLIMBS = {
    "a line": lambda x: x - 0.3,
    "a curve": lambda x: np.tanh(4 * (x - 0.9)),
    "0 at an end": lambda x: x + 1,
    "0 at the other": lambda x: x - 2,
    "a jump": lambda x: np.sign(x - 0.123),
    "hardly a slope": lambda x: (x - 0.5) ** 5,
    "falling": lambda x: np.exp(-x) - 0.8,
}


@pytest.mark.parametrize("name", VALLEYS)
def test_the_least_value_is_where_scipy_finds_it(name):
    for low, high in [(-1.0, 2.0), (0.0, 1.0), (0.25, 0.7501)]:
        expected = minimize_scalar(VALLEYS[name], bounds=(low, high), method="bounded").x
        assert minimize(VALLEYS[name], low, high) == expected


@pytest.mark.parametrize("name", CLIMBS)
def test_the_root_is_where_scipy_finds_it(name):
    for within in (1e-3, 1e-9):
        expected = brentq(CLIMBS[name], -1.0, 2.0, xtol=within)
        assert root(CLIMBS[name], -1.0, 2.0, within=within) == expected
