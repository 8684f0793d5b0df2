"""A small neural network that is fitted to the exclusions of all CFs at once.

    features → two layers of rectified units, shared → scores of all CFs' values, softmax per CF

The loss is −log Σ_v p_v e_v for every cell, and its gradient in a CF's scores is p − r with
r = normalise(p ⊙ e), as in boosting. What helps to predict one CF thus helps to predict the others.
The network learns by small batches of rows (Adam with decoupled weight decay, dropout, a rate that
falls like a cosine), and answers by a running mean of its weights. It stops learning, for each CF
by itself, where the hidden cells are predicted best (see `interface`); so it learns once with every fold
hidden, and once from all rows. These runs go side by side, each in one thread; each depends on the
seed alone.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, factorial, prod
from typing import TypeAlias

import numpy as np
import scipy  # whose parts it loads when they are asked for

from cfl_cli.core.arrays import (
    Fallback,
    Floats,
    Ints,
    Mask,
    Singles,
    columns,
    entropies,
    log_scores,
    normalise,
    posterior,
    sizes,
)
from cfl_cli.core.dataset import Known, all_but
from cfl_cli.core.parallel import Engine
from cfl_cli.core.progress import Expected, Progress, Stage, Work
from cfl_cli.core.settings import Settings
from cfl_cli.core.state import State, StateError
from cfl_cli.methods.interface import (
    Answer,
    Estimate,
    Fitted,
    Folds,
    Hidden,
    Layout,
    Method,
    Moves,
    Null,
    Origin,
    TableSize,
    answer_in_blocks,
    parts_of,
    without_each,
)

# What the network takes for features: normal scores of their ranks, by lines between knots.
#
#     input(x) = Φ⁻¹(share of the fitted rows below x, and half of those at it), scaled to spread 1
#
# Between knots it is a line, and beyond the first and last one it stays what it is there. Knots are
# the distinct numbers of the fitted rows; of many, those on either side of even steps of the scores,
# so that none is off by more than a step. Of two numbers the input is the number itself, from the
# mean and in standard deviations; a constant column is none.

MOST_KNOTS = 256  # of a column
RAREST_SPREAD = 0.1  # of the range of two numbers: no less is their standard deviation
_FURTHEST = 1e3  # of an input from 0


@dataclass(frozen=True, eq=False)
class NetInputs:
    """How features become inputs; knots column by column."""

    knots: Floats
    scores: Floats  # of the knots
    counts: Ints  # per column: of its knots; 0 where it is none of the inputs

    @classmethod
    def fit(cls, features: Floats) -> "NetInputs":

        of_columns, of_scores = [np.zeros(0)], [np.zeros(0)]
        for column in features.T:
            knots, counts = np.unique(column, return_counts=True)
            if len(knots) < 2:
                knots = scores = np.zeros(0)
            elif len(knots) == 2:
                spread = max(float(column.std()), RAREST_SPREAD * float(np.ptp(column)))
                scores = (knots - column.mean()) / spread
            else:
                scores = scipy.special.ndtri((np.cumsum(counts) - counts / 2) / len(column))
                if len(knots) > MOST_KNOTS:
                    even = np.linspace(scores[0], scores[-1], MOST_KNOTS // 2)
                    above = np.searchsorted(scores, even)
                    chosen = np.union1d(above, np.maximum(above - 1, 0))
                    knots, scores = knots[chosen], scores[chosen]
                scores = scores / np.interp(column, knots, scores).std()
            of_columns.append(knots)
            of_scores.append(scores)
        counts = np.array([len(knots) for knots in of_columns[1:]], dtype=np.int64)
        return cls(np.concatenate(of_columns), np.concatenate(of_scores), counts)

    @property
    def width(self) -> int:
        """How many inputs there are; without any, there is one that says nothing."""
        return max(int(np.count_nonzero(self.counts)), 1)

    def of(self, features: Floats) -> Singles:
        ends = np.cumsum(self.counts)
        inputs = np.zeros((len(features), self.width), dtype=np.float32)
        for place, column in enumerate(np.flatnonzero(self.counts).tolist()):
            own = slice(int(ends[column] - self.counts[column]), int(ends[column]))
            inputs[:, place] = np.interp(features[:, column], self.knots[own], self.scores[own])
        return inputs

    def state(self) -> State:
        return State({"knots": self.knots, "scores": self.scores, "counts": self.counts})


def restore_inputs(state: State, *, features: int) -> NetInputs:
    """Return the inputs of a state, or raise StateError if they cannot be those of `features`."""
    counts = state.places("counts", MOST_KNOTS + 1, features)
    total = int(counts.sum())
    knots, scores = (state.array(name, np.float64, total) for name in ("knots", "scores"))
    same = np.repeat(np.arange(features), counts)
    inside = np.diff(same) == 0  # between two knots of one column
    if (counts == 1).any() or (np.diff(knots)[inside] <= 0).any():
        raise StateError("array 'knots' holds columns whose knots do not ascend")
    if (np.diff(scores)[inside] < 0).any() or (np.abs(scores) > _FURTHEST).any():
        raise StateError("array 'scores' holds columns whose scores do not ascend")
    return NetInputs(knots, scores, counts)


# How far each OF moved what the network says of one row: Shapley values of its log-priors.
#
#     φ_i = Σ_{S without i} |S|! (M − 1 − |S|)! / M! · (log p(S + i) − log p(S))
#
# p(S) is the prior of the row with its own features for the OFs in S, and those of a row of which
# nothing is known for the others. They sum to log p(all) − log p(none). Of up to ten OFs all sets are
# tried. Of more, φ is the mean over ORDERS orders in which OFs become known and their reverses, the
# same for every row: the sum is as exact, the single values are within some hundredths as a rule.

ALL_SETS = 10  # OFs, of which there are 1,024 sets
ORDERS = 32
_LEAST = 1e-30  # of a prior, so that its logarithm is finite

Logs: TypeAlias = Callable[[Mask], Floats]  # which OFs are known, s × M, to log-priors, s × ΣK


def moves(
    said: Callable[[Floats], Floats], own: Floats, blank: Floats, ofs: Sequence[slice], blocks: Ints
) -> tuple[Moves, ...]:
    """Return for each CF how far the OFs moved its scores; `own` and `blank` are features, d.

    `said` makes priors, s × ΣK, of features, s × d. `ofs` are the features of each OF; what an OF
    did stands at the first of them.
    """
    differing = [of for of in ofs if (own[of] != blank[of]).any()]

    def logs(known: Mask) -> Floats:
        points = np.repeat(blank[None], len(known), axis=0)
        for number, of in enumerate(differing):
            points[known[:, number], of] = own[of]
        return np.log(np.maximum(said(points), _LEAST))

    base, shapley = (by_sets if len(differing) <= ALL_SETS else by_orders)(len(differing), logs)
    of_features = np.zeros((len(own), len(base)))
    for of, move in zip(differing, shapley, strict=True):
        of_features[of.start] = move
    return tuple(
        Moves(base[block], of_features[:, block], np.zeros((len(base), block.stop - block.start)))
        for block in columns(blocks, len(base))
    )


def by_sets(count: int, logs: Logs) -> tuple[Floats, Floats]:
    """Return what is said of nothing, ΣK, and the exact values of each OF, count × ΣK."""
    sets = (np.arange(1 << count)[:, None] >> np.arange(count) & 1).astype(bool)
    said, size = logs(sets), sets.sum(axis=1)
    shares = [factorial(s) * factorial(count - 1 - s) / factorial(count) for s in range(count)]
    weights = np.array(shares)
    values = np.zeros((count, said.shape[1]))
    for of in range(count):
        without = np.flatnonzero(~sets[:, of])
        gained = said[without + (1 << of)] - said[without]
        values[of] = weights[size[without]] @ gained
    return said[0], values


def by_orders(count: int, logs: Logs) -> tuple[Floats, Floats]:
    """Return the same with values averaged over some orders and their reverses."""
    rng = np.random.default_rng(0)  # the same orders for every row
    orders = [rng.permutation(count) for _ in range(ORDERS)]
    values = np.zeros((count, 0))
    base = np.zeros(0)
    for order in (one for own in orders for one in (own, own[::-1])):
        known = np.zeros((count + 1, count), dtype=bool)
        for step, of in enumerate(order.tolist(), start=1):
            known[step:, of] = True
        said = logs(known)
        if not values.size:
            base, values = said[0], np.zeros((count, said.shape[1]))
        values[order] += np.diff(said, axis=0) / (2 * ORDERS)
    return base, values


# What the network has learned: its layers where each CF stopped learning.
#
# first = max(inputs · one + bias, 0)    second = max(first · two + bias, 0)
# priors = softmax(second · last + bias), per CF

_UNITS = 128
LAYERS = ("one", "one_bias", "two", "two_bias", "last", "last_bias")
_LARGEST = 1e6  # of a weight: what comes of three layers is then far from infinite


@dataclass(frozen=True)
class Net:
    layers: tuple[Singles, ...]

    def priors(self, inputs: Singles, blocks: Ints) -> Singles:
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
        each = [net.priors(inputs, blocks) for net in self.nets]
        own = columns(blocks, each[0].shape[1])
        priors = np.hstack(
            [each[look][:, block] for look, block in zip(self.looks, own, strict=True)]
        ).astype(float)
        normalise(priors, blocks, out=priors)
        return priors


@dataclass(frozen=True, eq=False)
class FittedNet(Fitted):
    inputs: NetInputs
    net: NetPerCf

    def answer(self, rows: Known, workers: Engine) -> Answer:
        def priors(some: slice) -> Floats:
            return self.net.priors(self.inputs.of(rows.features[some]), rows.blocks)

        return answer_in_blocks(priors, rows, workers)

    def moves(
        self, row: Known, *, blank: Floats, ofs: Sequence[slice], cfs: Collection[int] | None = None
    ) -> tuple[Moves | None, ...]:
        """Return for each CF how far each OF moved what is said of one row.

        None for those that are not among `cfs`; see `interface.Moving`.
        """
        net = self.net if cfs is None else self.net.only(cfs)

        def said(points: Floats) -> Floats:
            return net.priors(self.inputs.of(points), row.blocks)

        every = moves(said, row.features[0], blank, ofs, row.blocks)
        return tuple(own if cfs is None or cf in cfs else None for cf, own in enumerate(every))

    def state(self) -> State:
        nets = {
            f"{look}": State(dict(zip(LAYERS, net.layers, strict=True)))
            for look, net in enumerate(self.net.nets)
        }
        return State({"looks": self.net.looks}, parts={"inputs": self.inputs.state(), **nets})


def _product(rows: Singles, layer: Singles) -> Singles:
    """Return rows · layer, each row by itself.

    A product of all rows at once has other last digits for other numbers of rows.
    """
    return np.asarray(np.matmul(rows[:, None, :], layer)[:, 0])


def softmax(scores: Singles, blocks: Ints) -> Singles:
    widths = sizes(blocks, scores.shape[1])
    p = np.exp(scores - np.repeat(np.maximum.reduceat(scores, blocks, axis=1), widths, axis=1))
    return np.asarray(p / np.repeat(np.add.reduceat(p, blocks, axis=1), widths, axis=1))


EPOCHS = 6  # times that each row is seen, at least
STEPS = 650  # of learning, at least
LOOKS = 12  # at the hidden cells, evenly spread over the steps
_BATCH = 256  # rows of a large table; of a small one, a hundredth of its rows
LEAST_BATCH = 32
RATE = 3e-3
WARM_UP = 50  # steps until that is reached
DECAY = 1e-2  # of the weights
DROPPED = 26 / 256  # share of the units that are left out of a step, a byte for each
_KEPT = np.where(np.arange(256) < 256 * DROPPED, 0, 1 / (1 - DROPPED)).astype(np.float32)
MOMENTUM, _SCALE = 0.9, 0.999  # of Adam's running means
AVERAGE = 0.99  # of the weights' running mean
SMALL = 1e-8
_RAREST = 0.25  # share at the start, times K: an estimate of 0 may be far off
_RUN_SECONDS = 1.6e-5  # per row
TRAINING = Stage("network", Work.NETWORK, "training the network")
_SHUFFLED = Stage("network, shuffled cells", Work.NETWORK, "training the network on shuffled cells")


class NetMethod(Method):
    def estimate(
        self, known: Known, settings: Settings, *, folds: Folds, workers: Engine, progress: Progress
    ) -> Estimate:
        """Let the network learn while each of the `folds` is hidden, and from all rows."""
        made = NetInputs.fit(known.features)
        inputs = made.of(known.features)
        hidden_priors, nets = _learn(
            known, inputs, settings.seed, (*folds, None), TRAINING, workers, progress
        )
        fitted = FittedNet(made, nets[-1])
        answer = fitted.answer(known, workers)
        null = None
        if self.compared:
            # Shuffled cells are learned once, with a fold hidden, and compared with what is learned so.
            mixed, some = known.shuffled(settings.seed), folds[:1]
            _, others = _learn(mixed, inputs, settings.seed, some, _SHUFFLED, workers, progress)
            entropy, shuffled = (
                entropies(FittedNet(made, run).answer(cells, workers).confidences, known.blocks)
                for run, cells in ((nets[0], known), (others[0], mixed))
            )
            null = Null(entropy.mean(axis=0), shuffled.mean(axis=0), len(known))
        return Estimate(
            answer.confidences,
            answer.fell_back,
            answer.mass,
            (Origin("net"),) * len(known.blocks),
            Hidden(np.concatenate(folds), hidden_priors),
            null,
            fitted=fitted,
        )

    def restore(self, state: State, layout: Layout) -> FittedNet:
        inputs = restore_inputs(state.part("inputs"), features=layout.features)
        cfs = len(layout.mechanisms)
        looks = state.places("looks", cfs, cfs)
        widths = zip((inputs.width, _UNITS, _UNITS), (_UNITS, _UNITS, layout.width), strict=True)
        shapes = [shape for above, below in widths for shape in ((above, below), (below,))]
        nets = []
        for look in range(int(looks.max()) + 1):
            own, named = state.part(f"{look}"), zip(LAYERS, shapes, strict=True)
            layers = tuple(own.array(name, np.float32, *shape) for name, shape in named)
            if any((np.abs(layer) > _LARGEST).any() for layer in layers):
                raise StateError("layers of the network hold weights that it cannot have learned")
            nets.append(Net(layers))
        return FittedNet(inputs, NetPerCf(tuple(nets), looks))

    def model_bytes(self, size: TableSize, settings: Settings) -> float:
        layers = 4 * _UNITS * (size.features + _UNITS + size.width)
        looks = min(len(size.domains), LOOKS)
        return float(looks * layers + 16 * MOST_KNOTS * size.features)

    def memory(self, size: TableSize, settings: Settings, *, jobs: int) -> float:
        n, width = size.rows, size.width
        return float(n * (8 + 4) * size.features + n * width * (1 + 4 * 8) + jobs * 4 * n * width)

    def stages(self, size: TableSize, settings: Settings, *, folds: int) -> list[Expected]:
        runs = {TRAINING: folds + 1}
        if self.compared:
            runs[_SHUFFLED] = 1
        return [Expected.of(stage, size.rows, many * _RUN_SECONDS) for stage, many in runs.items()]


def _learn(
    known: Known,
    inputs: Singles,
    seed: int,
    folds: Sequence[Ints | None],
    stage: Stage,
    workers: Engine,
    progress: Progress,
) -> tuple[Floats, list[NetPerCf]]:
    """Return the priors of the hidden rows, m × ΣK, and the network that each run has learned.

    There is a run with each of the folds hidden; None of them is from all rows.
    """
    runs = [TrainingRun(known, inputs, seed, fold, workers) for fold in folds]
    progress(stage, 0, len(runs))
    learned: list[list[Net]] = []
    for nets in workers.map(TrainingRun.learn, runs):
        learned.append(nets)
        progress(stage, len(learned), len(runs))
    hidden = [fold for fold in folds if fold is not None]
    parts, of_parts = parts_of(hidden, known.groups), []
    for fold, own in parts:
        rows = hidden[fold][own]
        priors = (net.priors(inputs[rows], known.blocks) for net in learned[fold])
        logs = (log_scores(said, known.evidence[rows], over=known.blocks) for said in priors)
        of_parts.append([of_look.sum(axis=0, dtype=float) for of_look in logs])
    scores = np.array(of_parts)  # parts × looks × CFs
    said = [np.zeros((len(fold), known.candidates.shape[1])) for fold in hidden]
    for (fold, own), looks in zip(parts, without_each(scores).argmax(axis=1), strict=True):
        chosen = NetPerCf.at(learned[fold], looks)
        said[fold][own] = chosen.priors(inputs[hidden[fold][own]], known.blocks)
    best = scores.sum(axis=0).argmax(axis=0)
    return np.vstack(said), [NetPerCf.at(nets, best) for nets in learned]


class TrainingRun:
    """One run of learning; the rows of `fold` have no say in it."""

    def __init__(
        self, known: Known, inputs: Singles, seed: int, fold: Ints | None, workers: Engine
    ) -> None:
        self.known, self.inputs, self.seed, self.workers = known, inputs, seed, workers
        n = len(known)
        self.seen = np.arange(n) if fold is None else all_but(fold, n).nonzero()[0]

    def learn(self) -> list[Net]:
        random = np.random.default_rng(self.seed)
        n = len(self.seen)
        batch = int(np.clip(n // 100, LEAST_BATCH, _BATCH))
        each = max(n // batch, 1)  # steps of an epoch
        total = max(EPOCHS * each, STEPS)

        # Where it begins: He's weights, and last the shares of the values.
        widths = [self.inputs.shape[1], _UNITS, _UNITS, self.known.candidates.shape[1]]
        seen = np.zeros(len(self.known), dtype=bool)
        seen[self.seen] = True
        shares = [np.maximum(cf, _RAREST / len(cf)) for cf in self.known.clear_shares(seen)]
        layers = []
        for above, below in pairwise(widths):
            layers.append(random.standard_normal((above, below)) * np.sqrt(2 / above))
            layers.append(np.zeros(below))
        layers[-2] *= 0.1
        layers[-1] = np.log(np.concatenate(shares))

        trainer = Trainer([layer.astype(np.float32) for layer in layers], total, random)
        nets = []
        looks = {ceil(total * (look + 1) / LOOKS) for look in range(LOOKS)}
        order = self.seen
        for step in range(total):
            if self.workers.stopped:
                break
            place = step % each
            if place == 0:
                order = random.permutation(self.seen)
            rows = order[place * batch : (place + 1) * batch]
            cells = self.known.evidence[rows].astype(np.float32)
            trainer.step(self.inputs[rows], cells, self.known.blocks)
            if step + 1 in looks:
                nets.append(Net(tuple(layer.copy() for layer in trainer.means)))
        return nets


class Trainer:
    """The layers and what Adam remembers of them, each in one array, of which layers are parts."""

    def __init__(self, layers: list[Singles], total: int, random: np.random.Generator) -> None:
        self.total, self.random = total, random
        shapes = [layer.shape for layer in layers]
        self.weights = np.concatenate([layer.ravel() for layer in layers])
        self.mean = self.weights.copy()
        self.layers, self.means = (_parts(own, shapes) for own in (self.weights, self.mean))
        self.first, self.second, self.room = (np.zeros_like(self.weights) for _ in range(3))
        self.done = 0

    def step(self, inputs: Singles, cells: Singles, blocks: Ints) -> None:
        one, one_bias, two, two_bias, last, last_bias = self.layers
        keeps = [self._keep((len(inputs), _UNITS)) for _ in range(2)]
        first = np.maximum(inputs @ one + one_bias, 0)
        first *= keeps[0]
        second = np.maximum(first @ two + two_bias, 0)
        second *= keeps[1]
        priors = softmax(second @ last + last_bias, blocks)
        posteriors, _ = posterior(priors, cells, over=blocks, fallback=Fallback.PRIOR)
        pull = priors - posteriors
        pull /= np.float32(len(inputs))
        into_second = pull @ last.T
        into_second *= keeps[1]
        into_second *= second > 0
        into_first = into_second @ two.T
        into_first *= keeps[0]
        into_first *= first > 0
        slopes = []
        for below, above in ((inputs, into_first), (first, into_second), (second, pull)):
            slopes += [below.T @ above, above.sum(axis=0)]
        self._move(slopes)

    def _keep(self, shape: tuple[int, int]) -> Singles:
        """Return 0 for units that are left out, else what makes up for them."""
        bits = np.frombuffer(self.random.bytes(shape[0] * shape[1]), dtype=np.uint8)
        return _KEPT[bits].reshape(shape)

    def _move(self, slopes: Sequence[Singles]) -> None:
        self.done += 1
        rate = RATE * min(self.done / WARM_UP, 1) * (1 + np.cos(np.pi * self.done / self.total)) / 2
        slope, room = np.concatenate([own.ravel() for own in slopes]), self.room
        np.subtract(slope, self.first, out=room)
        room *= np.float32(1 - MOMENTUM)
        self.first += room
        slope *= slope
        slope -= self.second
        slope *= np.float32(1 - _SCALE)
        self.second += slope
        np.divide(self.second, np.float32(1 - _SCALE**self.done), out=room)
        np.sqrt(room, out=room)
        room += np.float32(SMALL)
        np.divide(self.first, room, out=room)
        room *= np.float32(rate / (1 - MOMENTUM**self.done))
        for layer in self.layers:
            if layer.ndim == 2:
                layer *= np.float32(1 - rate * DECAY)
        self.weights -= room
        np.subtract(self.weights, self.mean, out=room)
        room *= np.float32(1 - AVERAGE)
        self.mean += room


def _parts(whole: Singles, shapes: Sequence[tuple[int, ...]]) -> list[Singles]:
    ends = np.cumsum([prod(shape) for shape in shapes])
    own = np.split(whole, ends[:-1])
    return [part.reshape(shape) for part, shape in zip(own, shapes, strict=True)]
