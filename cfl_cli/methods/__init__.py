"""The methods: each is given what is known of the rows, and returns confidences and priors.

    interface.py    what they are given, what they return, their base class, and whose round counts
    graph/          the paper's Algorithm 1; the default (neighbors, weights, propagation, metric)
    boost.py        gradient boosting, fitted to the exclusions (trees.py: its trees as arrays)
    forest.py       bagged trees, fitted to the exclusions
    net.py          a small neural network, fitted to the exclusions of all CFs at once
    baselines.py    the cells alone, the most common value, and the paper's rival
    auto.py         each CF by the best of them, or by the best blend (blend.py)

A new method is a subclass of `interface.Method`, a line in `CLASSES` and one in
`core.settings.METHODS`, which help reads: neither loads numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cfl_cli.core.state import State
    from cfl_cli.methods.interface import Fitted, Layout, Method

CLASSES = {
    "graph": "graph.metric:MetricGraph",
    "boost": "boost:BoostMethod",
    "net": "net:NetMethod",
    "forest": "forest:ForestMethod",
    "ipal": "baselines:Ipal",
    "observed": "baselines:Observed",
    "commonest": "baselines:Commonest",
    "auto": "auto:AutoMethod",
}
MIXTURE = "mixture"  # the fact that a state is of two runs


def load(name: str, *, fit: bool = True) -> "Method":
    """Return the method of that name; unless it is to `fit`, it may keep nothing for later rows."""
    module, _, kind = CLASSES[name].partition(":")
    method: Method = getattr(import_module(f"{__name__}.{module}"), kind)(fit=fit)
    return method


def restore(name: str, state: "State", layout: "Layout") -> "Fitted":
    """Return what the method of that name has fitted, in one run or in two.

    Raises StateError for a state that nothing fitted can have had.
    """
    if MIXTURE not in state.facts:
        return load(name).restore(state, layout)
    state.fact(MIXTURE, bool)
    mixed: Fitted = import_module(f"{__name__}.interface").restore_mixture(
        state, layout, load(name).restore
    )
    return mixed
