"""A small neural network that is fitted to the exclusions of all CFs at once.

    features → two layers of rectified units, shared → scores of all CFs' values, softmax per CF

The loss is −log Σ_v p_v e_v for every cell, and its gradient in a CF's scores is p − r with
r = normalise(p ⊙ e), as in boosting. What helps to predict one CF thus helps to predict the others.
The network learns by small batches of rows (Adam with decoupled weight decay, dropout, a rate that
falls like a cosine), and answers by a running mean of its weights. It stops learning, for each CF
by itself, where the hidden cells are predicted best; so it learns once with every fold hidden, and
once from all rows. These runs go side by side, each in one thread; each depends on the seed alone.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Singles
from cfl_cli.core.blocks import entropies, sizes
from cfl_cli.core.known import Known, all_but
from cfl_cli.core.log_score import log_scores
from cfl_cli.core.parallel import Engine
from cfl_cli.core.posterior import Fallback, posterior
from cfl_cli.core.settings import Settings
from cfl_cli.core.stages import Expected, Progress, Stage, Work
from cfl_cli.estimators import net_fitted, net_inputs
from cfl_cli.estimators.interface import (
    Estimate,
    Hidden,
    Null,
    Origin,
    Size,
)
from cfl_cli.estimators.net_fitted import UNITS, FittedNet, Net, NetPerCf, softmax

EPOCHS = 12  # times that each row is seen, at least
STEPS = 1500  # of learning, at least
LOOKS = 12  # at the hidden cells, evenly spread over the steps
BATCH = 256  # rows of a large table; of a small one, a hundredth of its rows
LEAST_BATCH = 32
RATE = 2e-3
WARM_UP = 100  # steps until that is reached
DECAY = 1e-2  # of the weights
DROPPED = 0.1  # share of the units that are left out of a step
MOMENTUM, SCALE = 0.9, 0.999  # of Adam's running means
AVERAGE = 0.995  # of the weights' running mean
SMALL = 1e-8
RAREST = 0.25  # share at the start, times K: an estimate of 0 may be far off
RUN_SECONDS = 3.4e-5  # per row
TRAINING = Stage("network", Work.NETWORK, "training the network")
ON_SHUFFLED = Stage(
    "network, shuffled cells", Work.NETWORK, "training the network on shuffled cells"
)



def estimate(
    known: Known,
    settings: Settings,
    *,
    folds: Sequence[Ints],
    workers: Engine,
    progress: Progress,
) -> Estimate:
    """Let the network learn while each of the `folds` is hidden, and from all rows."""
    made = net_inputs.Inputs.fit(known.features)
    inputs = made.of(known.features)
    hidden_priors, nets = _learn(
        known, inputs, settings.seed, (*folds, None), TRAINING, workers, progress
    )
    fitted = FittedNet(made, nets[-1])
    answer = fitted.answer(known, workers)
    # Shuffled cells are learned once, with a fold hidden, and compared with what is learned so.
    mixed = known.shuffled(settings.seed)
    _, others = _learn(mixed, inputs, settings.seed, folds[:1], ON_SHUFFLED, workers, progress)
    entropy, shuffled = (
        entropies(FittedNet(made, run).answer(cells, workers).confidences, known.blocks)
        for run, cells in ((nets[0], known), (others[0], mixed))
    )
    return Estimate(
        answer.confidences,
        answer.fell_back,
        answer.mass,
        (Origin("net"),) * len(known.blocks),
        Hidden(np.concatenate(folds), hidden_priors),
        Null(entropy.mean(axis=0), shuffled.mean(axis=0), len(known)),
        fitted=fitted,
    )


def model_bytes(size: Size, settings: Settings) -> float:  # noqa: ARG001 — as all have it
    """Return about how many bytes are kept of what is fitted."""
    layers = 4 * UNITS * (size.features + UNITS + size.width)
    looks = min(len(size.domains), LOOKS)
    return float(looks * layers + 16 * net_inputs.MOST_KNOTS * size.features)


def memory(size: Size, settings: Settings, *, jobs: int) -> float:  # noqa: ARG001 — as all have it
    """Return about how many bytes are held at the peak, those of the table left aside."""
    n, width = size.rows, size.width
    return float(n * (8 + 4) * size.features + n * width * (1 + 4 * 8) + jobs * 4 * n * width)


def stages(size: Size, settings: Settings, *, folds: int) -> list[Expected]:  # noqa: ARG001 — as all have it
    """Return what `estimate` is going to do, and about how long each stage takes."""
    runs = {TRAINING: folds + 1, ON_SHUFFLED: 1}
    return [Expected.of(stage, size.rows, count * RUN_SECONDS) for stage, count in runs.items()]


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
    scores = np.zeros((len(learned[-1]), len(known.blocks)))
    for run, fold, nets in zip(runs, folds, learned, strict=True):
        if fold is not None:
            scores += [run.score(net, fold) for net in nets]
    best = scores.argmax(axis=0)  # per CF
    of_runs = [NetPerCf.at(nets, best) for nets in learned]
    hidden_priors = [
        net.priors(inputs[fold], known.blocks)
        for net, fold in zip(of_runs, folds, strict=True)
        if fold is not None
    ]
    return np.vstack(hidden_priors), of_runs


class TrainingRun:
    """One run of learning; the rows of `fold` have no say in it."""

    def __init__(
        self, known: Known, inputs: Singles, seed: int, fold: Ints | None, workers: Engine
    ) -> None:
        self.known, self.inputs, self.seed, self.workers = known, inputs, seed, workers
        self.seen = (
            np.arange(len(known)) if fold is None else all_but(fold, len(known)).nonzero()[0]
        )
        self.widths = sizes(known.blocks, known.candidates.shape[1])

    def learn(self) -> list[Net]:
        """Return the network at every look."""
        random = np.random.default_rng(self.seed)
        n = len(self.seen)
        batch = int(np.clip(n // 100, LEAST_BATCH, BATCH))
        each = max(n // batch, 1)  # steps of an epoch
        total = max(EPOCHS * each, STEPS)
        trainer = Trainer(self._start(random), total, random)
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

    def score(self, net: Net, fold: Ints) -> Floats:
        """Return the log score of each CF, summed over the hidden cells."""
        priors = net.priors(self.inputs[fold], self.known.blocks)
        logs = log_scores(priors, self.known.evidence[fold], over=self.known.blocks)
        return np.asarray(logs.sum(axis=0, dtype=float))

    def _start(self, random: np.random.Generator) -> list[Singles]:
        """Return a network that says no more than how common the values are."""
        widths = [self.inputs.shape[1], UNITS, UNITS, self.known.candidates.shape[1]]
        seen = np.zeros(len(self.known), dtype=bool)
        seen[self.seen] = True
        shares = [np.maximum(cf, RAREST / len(cf)) for cf in self.known.shares(seen)]
        layers = []
        for above, below in pairwise(widths):
            layers.append(random.standard_normal((above, below)) * np.sqrt(2 / above))
            layers.append(np.zeros(below))
        layers[-2] *= 0.1
        layers[-1] = np.log(np.concatenate(shares))
        return [layer.astype(np.float32) for layer in layers]


class Trainer:
    """Trains a network, batch by batch."""

    def __init__(self, layers: list[Singles], total: int, random: np.random.Generator) -> None:
        self.layers, self.total, self.random = layers, total, random
        self.means = [layer.copy() for layer in layers]
        self.first = [np.zeros_like(layer) for layer in layers]
        self.second = [np.zeros_like(layer) for layer in layers]
        self.done = 0

    def step(self, inputs: Singles, cells: Singles, blocks: Ints) -> None:
        """Learn from some rows."""
        one, one_bias, two, two_bias, last, last_bias = self.layers
        keeps = [self._keep((len(inputs), UNITS)) for _ in range(2)]
        first = np.maximum(inputs @ one + one_bias, 0) * keeps[0]
        second = np.maximum(first @ two + two_bias, 0) * keeps[1]
        priors = softmax(second @ last + last_bias, blocks)
        posteriors, _ = posterior(priors, cells, over=blocks, fallback=Fallback.PRIOR)
        pull = (priors - posteriors) / np.float32(len(inputs))
        into_second = pull @ last.T * keeps[1] * (second > 0)
        into_first = into_second @ two.T * keeps[0] * (first > 0)
        slopes = []
        for below, above in ((inputs, into_first), (first, into_second), (second, pull)):
            slopes += [below.T @ above, above.sum(axis=0)]
        self._move(slopes)

    def _keep(self, shape: tuple[int, int]) -> Singles:
        kept = self.random.random(shape, dtype=np.float32) >= DROPPED
        return kept * np.float32(1 / (1 - DROPPED))

    def _move(self, slopes: Sequence[Singles]) -> None:
        self.done += 1
        rate = RATE * min(self.done / WARM_UP, 1) * (1 + np.cos(np.pi * self.done / self.total)) / 2
        for number, slope in enumerate(slopes):
            layer, first, second = self.layers[number], self.first[number], self.second[number]
            first += np.float32(1 - MOMENTUM) * (slope - first)
            second += np.float32(1 - SCALE) * (slope * slope - second)
            ahead = first / np.float32(1 - MOMENTUM**self.done)
            ahead /= np.sqrt(second / np.float32(1 - SCALE**self.done)) + np.float32(SMALL)
            if layer.ndim == 2:
                ahead += np.float32(DECAY) * layer
            layer -= np.float32(rate) * ahead
            self.means[number] += np.float32(1 - AVERAGE) * (layer - self.means[number])
