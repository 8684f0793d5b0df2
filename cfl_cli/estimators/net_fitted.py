"""What the network has learned: its layers where each CF stopped learning.

first = max(inputs · one + bias, 0)    second = max(first · two + bias, 0)
priors = softmax(second · last + bias), per CF
"""

from collections.abc import Collection, Sequence

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Singles
from cfl_cli.core.blocks import columns, normalise, sizes
from cfl_cli.core.known import Known
from cfl_cli.core.parallel import Engine, slices
from cfl_cli.core.quick import dataclass
from cfl_cli.core.state import State, StateError
from cfl_cli.estimators import net_explained, net_inputs
from cfl_cli.estimators.explained import Moves
from cfl_cli.estimators.interface import Answer, Layout, answer_by
from cfl_cli.estimators.net_inputs import Inputs

UNITS = 128
LAYERS = ("one", "one_bias", "two", "two_bias", "last", "last_bias")
LARGEST = 1e6  # of a weight: what comes of three layers is then far from infinite
ROWS_AT_ONCE = 1024


@dataclass(frozen=True)
class Net:
    """Weights and biases, layer by layer."""

    layers: tuple[Singles, ...]

    def priors(self, inputs: Singles, blocks: Ints) -> Singles:
        """Return the priors of rows, b × ΣK."""
        one, one_bias, two, two_bias, last, last_bias = self.layers
        first = np.maximum(_product(inputs, one) + one_bias, 0)
        second = np.maximum(_product(first, two) + two_bias, 0)
        return softmax(_product(second, last) + last_bias, blocks)


@dataclass(frozen=True, eq=False)
class NetPerCf:
    """The network as it was when each CF stopped learning."""

    nets: tuple[Net, ...]
    looks: Ints  # per CF: which of them is its own

    @classmethod
    def at(cls, nets: Sequence[Net], looks: Ints) -> "NetPerCf":
        """Return of all networks those at the CFs' looks."""
        used, places = np.unique(looks, return_inverse=True)
        return cls(tuple(nets[look] for look in used), places)

    def only(self, cfs: Collection[int]) -> "NetPerCf":
        """Return the networks of some CFs; what these say of the others counts for nothing."""
        looks = np.full_like(self.looks, self.looks[min(cfs)])
        looks[[*cfs]] = self.looks[[*cfs]]
        return NetPerCf.at(self.nets, looks)

    def priors(self, inputs: Singles, blocks: Ints) -> Floats:
        """Return the priors of rows, m × ΣK."""
        each = [net.priors(inputs, blocks) for net in self.nets]
        own = columns(blocks, each[0].shape[1])
        priors = np.hstack(
            [each[look][:, block] for look, block in zip(self.looks, own, strict=True)]
        ).astype(float)
        normalise(priors, blocks, out=priors)
        return priors


@dataclass(frozen=True, eq=False)
class FittedNet:
    """How features become inputs, and the network."""

    inputs: Inputs
    net: NetPerCf
    rules: None = None

    def answer(self, rows: Known, workers: Engine) -> Answer:
        """Return what is said of some rows."""

        def priors(some: slice) -> Floats:
            return self.net.priors(self.inputs.of(rows.features[some]), rows.blocks)

        blocks = slices(len(rows), ROWS_AT_ONCE) or [slice(0, 0)]
        return answer_by(np.vstack([*workers.map(priors, blocks)]), rows)

    def moves(
        self,
        row: Known,
        *,
        blank: Floats,
        ofs: Sequence[slice],
        cfs: Collection[int] | None = None,
    ) -> tuple[Moves | None, ...]:
        """Return for each CF how far each OF moved what is said of one row.

        None for those that are not among `cfs`; see `interface.Moving`.
        """
        net = self.net if cfs is None else self.net.only(cfs)

        def said(points: Floats) -> Floats:
            return net.priors(self.inputs.of(points), row.blocks)

        every = net_explained.moves(said, row.features[0], blank, ofs, row.blocks)
        return tuple(own if cfs is None or cf in cfs else None for cf, own in enumerate(every))

    def state(self) -> State:
        """Return all that has to be kept."""
        nets = {
            f"{look}": State(dict(zip(LAYERS, net.layers, strict=True)))
            for look, net in enumerate(self.net.nets)
        }
        return State({"looks": self.net.looks}, parts={"inputs": self.inputs.state(), **nets})


def restore(state: State, layout: Layout) -> FittedNet:
    """Return what was fitted, or raise StateError if it cannot have had this state."""
    inputs = net_inputs.restore(state.part("inputs"), features=layout.features)
    cfs = len(layout.mechanisms)
    looks = state.places("looks", cfs, cfs)
    nets = tuple(
        _restore(state.part(f"{look}"), inputs.width, layout.width)
        for look in range(int(looks.max()) + 1)
    )
    return FittedNet(inputs, NetPerCf(nets, looks))


def _restore(state: State, inputs: int, width: int) -> Net:
    shapes = ((inputs, UNITS), (UNITS,), (UNITS, UNITS), (UNITS,), (UNITS, width), (width,))
    layers = tuple(
        state.array(name, np.float32, *shape) for name, shape in zip(LAYERS, shapes, strict=True)
    )
    if any((np.abs(layer) > LARGEST).any() for layer in layers):
        raise StateError("layers of the network hold weights that it cannot have learned")
    return Net(layers)


def _product(rows: Singles, layer: Singles) -> Singles:
    """Return rows · layer, each row by itself.

    A product of all rows at once has other last digits for other numbers of rows.
    """
    return np.asarray(np.matmul(rows[:, None, :], layer)[:, 0])


def softmax(scores: Singles, blocks: Ints) -> Singles:
    """Return the distributions of every row's every block."""
    widths = sizes(blocks, scores.shape[1])
    p = np.exp(scores - np.repeat(np.maximum.reduceat(scores, blocks, axis=1), widths, axis=1))
    return np.asarray(p / np.repeat(np.add.reduceat(p, blocks, axis=1), widths, axis=1))
