"""The estimators: each is given what is known of the rows, and returns confidences and priors.

    interface.py    what they are given and what they return
    graph.py        the paper's Algorithm 1; the default (+ its settings, its stages; in brief)
    boost.py        gradient boosting, fitted to the exclusions (+ its objective, its trees, and
                    what is kept of it; forest.py: trees as arrays)
    net.py          a small neural network, fitted to the exclusions of all CFs at once (+ its
                    inputs, and what is kept of it)
    ipal.py         the paper's rival
    observed.py     the cells alone: all candidates alike
    commonest.py    how common each value is, and nothing else
    auto.py         each CF by the best of them, or by the best blend (+ what is kept of it)
    blend.py        weighted geometric means, fitted to hidden cells
    mixture.py      two runs of one method, of which each CF takes one
    explained.py    why one row is answered as it is (+ boost_moves.py and tree_shap.py: how far
                    each feature moved what boosting says)

An estimator is a module here that has `estimate`, `restore`, `memory` and so on (see
`interface.Module`); its traits stand in `core.methods`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from cfl_cli.core.state import State
    from cfl_cli.methods.interface import Fitted, Layout, Module

MIXTURE = "mixture"  # the fact that a state is of two runs


def load(name: str) -> "Module":
    """Return the estimator of that name."""
    return cast("Module", import_module(f"{__name__}.{name}"))


def restore(name: str, state: "State", layout: "Layout") -> "Fitted":
    """Return what the estimator of that name has fitted, in one run or in two, or raise StateError.

    A state that nothing fitted can have had raises it.
    """
    of_run = load(name).restore
    if MIXTURE not in state.facts:
        return of_run(state, layout)
    state.fact(MIXTURE, bool)
    mixed: Fitted = import_module(f"{__name__}.mixture").restore(state, layout, of_run)
    return mixed
