"""The estimators: each is given what is known of the rows, and returns confidences and priors.

    interface.py    what they are given and what they return
    graph.py        the paper's Algorithm 1; the default (+ its settings, its stages; in brief)
    boost.py        gradient boosting, fitted to the exclusions (+ its objective, its trees)
    net.py          a small neural network, fitted to the exclusions of all CFs at once
    ipal.py         the paper's rival
    observed.py     the cells alone: all candidates alike
    commonest.py    how common each value is, and nothing else
    auto.py         each CF by the best of them, or by the best blend
    blend.py        weighted geometric means, fitted to hidden cells

An estimator is a module here that has `estimate`, `memory` and `stages` (see `interface.Module`);
its traits stand in `core.methods`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from cfl_cli.estimators.interface import Module


def load(name: str) -> "Module":
    """Return the estimator of that name."""
    return cast("Module", import_module(f"{__name__}.{name}"))
