"""A forest that knows exclusions: many trees per CF, each grown from a random share of the rows.

A leaf holds how common each value is among the rows that come to it. That cannot be counted, as
cells only say what values are not. It is learned by EM, which starts from the unbiased estimate
that cells allow (`Mechanism.unbiased`; from the shares of the values EM would need dozens of steps):

    1. each row's cell is applied to what is said of the row by the trees that did not see it
    2. a leaf says the mean of that over the rows that came to it; so on a few times
    3. the trees are grown again, to tell apart rows of which now different things are said

A row's own cell is never used directly to say which values it is likely to have, and that of a hidden
row not at all. So a forest does not learn cells by heart, however many values there are. Later growths are surer of themselves, and better
where the OFs say much; hidden cells choose for each CF how many there are.

The trees are grown while each fold of rows is hidden, and only then. All of them together answer
rows that come later. A row of the table is answered by those that did not see it: all that were
grown while its fold was hidden, and about a third of the others, or more where rows are drawn.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy  # whose parts it loads when they are asked for

from cfl_cli.core import draws
from cfl_cli.core.arrays import (
    Fallback,
    Floats,
    Ints,
    Mask,
    Places,
    Singles,
    entropies,
    halves,
    log_scores,
    posterior,
)
from cfl_cli.core.dataset import Known
from cfl_cli.core.parallel import Engine, slices
from cfl_cli.core.progress import Expected, Progress, Stage, Work
from cfl_cli.core.settings import Settings
from cfl_cli.core.state import State, StateError
from cfl_cli.methods.interface import (
    ROWS_AT_ONCE,
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
    answer_by,
    answer_in_blocks,
    apply_cells,
)
from cfl_cli.methods.net import moves

# Set by hidden cells of the tables in `benchmarks.best` to choose by, at 700 rows.
TREES = 20  # that are grown while each fold is hidden
GROWTHS = 3
REFITS = 4  # of the leaves, after each growth
TRIED = 48  # random splits of a node, of which the best is taken
LEAST_ROWS = 5  # in a leaf
SEEN = 0.632  # share of the rows that a tree sees
MOST_ROWS = 2000  # from which trees are grown; of more, as many are drawn
MOST_BINS = 64  # of a feature
BESIDE = 0.3  # trees that say what is common in the whole table, beside the others
_LEAST_SHARE = 0.1  # times a value's share: what the unbiased estimate leaves it, at least
_RAREST = 0.25  # share at the start, times K: an estimate of 0 may be far off
_BARE = 1e-3  # rows like the whole table in each leaf: none is ever without rows
_LEAST_GAIN = 1e-9  # of a split, per row
_SUMS_TO_ONE = 1e-4  # within this: shares are kept in single precision

GROWING = Stage("forest", Work.FOREST, "growing the forest")
SHUFFLED = Stage("forest, shuffled cells", Work.FOREST, "growing a forest on shuffled cells")
_TREE_SECONDS = 6e-6  # per tree, growth and row
_ANSWER_SECONDS = 1e-7  # per tree and row

Codes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Binned:
    """Features in bins, by which trees are grown."""

    codes: Codes  # n × d: above how many of the feature's cuts each number is
    cuts: tuple[Floats, ...]  # per feature, ascending

    @classmethod
    def of(cls, features: Floats) -> Self:
        codes, every = np.zeros(features.shape, dtype=np.uint8), []
        for place, column in enumerate(features.T):
            distinct = np.unique(column)
            cuts = (distinct[1:] + distinct[:-1]) / 2
            if len(distinct) > MOST_BINS:
                even = np.linspace(0, len(column), MOST_BINS + 1)[1:-1].astype(np.int64)
                cuts = np.unique(np.sort(column)[even])
            every.append(cuts)
            codes[:, place] = np.searchsorted(cuts, column)
        return cls(codes, tuple(every))


@dataclass(frozen=True)
class Trees:
    """Trees side by side: first their roots, then the nodes of each level below."""

    roots: int
    feature: Places  # per node; −1: a leaf
    cut: Floats  # per node: a row goes left unless its feature is above
    child: Places  # per node: the left child, before the right one; of a leaf, its number

    def leaves_of(self, features: Floats | Codes) -> Ints:
        """Return the number of the leaf that each row comes to in each tree, n × trees."""
        node = np.tile(np.arange(self.roots), len(features))
        going, row = np.arange(len(node)), np.repeat(np.arange(len(features)), self.roots)
        while len(going):
            at = node[going]
            inner = self.feature[at] >= 0
            going, at = going[inner], at[inner]
            node[going] = self.child[at] + (features[row[going], self.feature[at]] > self.cut[at])
        return self.child[node].reshape(len(features), self.roots).astype(np.int64)


def grow(codes: Codes, targets: Floats, sees: Mask, stream: int, seed: int) -> Trees:
    """Grow trees, level by level, that tell apart rows by `targets`, n × K.

    Tree t sees the rows of `sees[:, t]`. A node tries splits of random features, each at the bin of
    a random row in the node, and takes the one after which the targets vary least.
    """

    of_tree, row = np.nonzero(sees.T)
    node = of_tree  # of each pair of a tree and a row that it sees; pairs are sorted by it
    row = row.astype(np.int32)
    varying = np.flatnonzero((codes != codes[:1]).any(axis=0)).astype(np.int32)
    highest = codes.max(axis=0, initial=1) - np.uint8(1)
    counted = np.column_stack([targets, np.ones(len(targets))])
    first, count, drawn = 0, sees.shape[1], 0  # nodes of this level; random numbers so far
    levels = []
    while count:
        feature, cut = np.full(count, -1), np.zeros(count, dtype=np.int64)
        child = np.zeros(count, dtype=np.int64)
        levels.append((feature, cut, child))
        rows = np.bincount(node - first, minlength=count)
        large = rows >= 2 * LEAST_ROWS
        kept = large[node - first]
        node, row = node[kept], row[kept]
        places, rows = np.flatnonzero(large), rows[large]
        if not (len(places) and len(varying)):
            break
        begins, own = np.cumsum(rows) - rows, np.repeat(np.arange(len(places)), rows)
        shape = len(places), TRIED
        chance = draws.chances(np.arange(drawn, drawn + 2 * len(places) * TRIED), stream, seed)
        drawn += len(chance)
        of_feature, of_row = chance.reshape(2, *shape)
        tried = varying[(of_feature * len(varying)).astype(np.int64)]
        pivot = row[begins[:, None] + (of_row * rows[:, None]).astype(np.int64)]
        at = np.minimum(codes[pivot, tried], highest[tried])
        goes_left = codes.take((row * codes.shape[1])[:, None] + tried[own]) <= at[own]
        many = np.count_nonzero(goes_left, axis=1)
        # Which splits of its node send a pair to the left: column by column, those of one pair.
        here = np.repeat((own - np.arange(len(own))) * TRIED, many)
        left_of = scipy.sparse.csc_matrix(
            (np.ones(len(here)), np.flatnonzero(goes_left) + here, np.append(0, np.cumsum(many))),
            shape=(len(places) * TRIED, len(row)),
        )
        left = (left_of @ counted[row]).reshape(*shape, -1)
        total = np.add.reduceat(counted[row], begins, axis=0)[:, None]
        gain = _squares(left) + _squares(total - left) - _squares(total)
        of_left = left[..., -1]
        gain[(of_left < LEAST_ROWS) | (of_left > rows[:, None] - LEAST_ROWS)] = 0
        best = gain.argmax(axis=1)[:, None]
        splits = np.take_along_axis(gain, best, axis=1)[:, 0] > _LEAST_GAIN * rows
        chosen, bound = (np.take_along_axis(of, best, axis=1)[:, 0] for of in (tried, at))
        children = first + count + 2 * (np.cumsum(splits) - 1)
        inner = places[splits]
        feature[inner], cut[inner], child[inner] = chosen[splits], bound[splits], children[splits]
        going = splits[own]
        own, row = own[going], row[going]
        node = children[own] + (codes[row, chosen[own]] > bound[own])
        order = np.argsort(node, kind="stable")
        node, row = node[order], row[order]
        first, count = first + count, 2 * len(inner)
    feature, cut, child = (np.concatenate(of_levels) for of_levels in zip(*levels, strict=True))
    child[feature < 0] = np.arange(np.count_nonzero(feature < 0))
    return Trees(sees.shape[1], feature.astype(np.int32), cut.astype(float), child.astype(np.int32))


def _squares(sums: Floats) -> Floats:
    """Return the squared length of sums, … × K and the number of terms, over that number."""
    squares: Floats = (sums[..., :-1] ** 2).sum(axis=-1) / np.maximum(sums[..., -1], 1)
    return squares


@dataclass(frozen=True)
class Cells:
    """What the cells of the rows that trees are grown from say of one CF."""

    evidence: Floats  # n × K
    unbiased: Floats  # n × K: the estimate of which value is true, from the cell alone
    weights: Floats  # n: of that, 1 in the mean
    shares: Floats  # K

    @classmethod
    def of(cls, known: Known, cf: int) -> Self:
        block, how = known.columns[cf], known.mechanisms[cf]
        candidates = known.drawn[:, block]
        shares = how.shares(candidates)
        start = np.zeros(how.size) if shares is None else shares.prior
        start = np.maximum(start, _RAREST / how.size)
        weights = how.weights(candidates)
        evidence = known.evidence[:, block].astype(float)
        mean = weights.mean() if weights.any() else 1.0
        said, weights, start = how.unbiased(candidates), weights / mean, start / start.sum()
        in_blocks = known.in_blocks[cf] if known.in_blocks else None
        if in_blocks is not None:  # nothing unbiased is known of them: a start, for EM
            said[in_blocks], _ = posterior(
                np.broadcast_to(start, (int(in_blocks.sum()), how.size)),
                evidence[in_blocks],
                over=1,
                fallback=Fallback.PRIOR,
            )
            weights[in_blocks] = 1.0
        return cls(evidence, said, weights, start)


@dataclass(frozen=True)
class Growth:
    """Trees after one growth, and what they say of the rows that were hidden from them."""

    trees: Trees  # by bins
    values: Singles  # leaves × K
    hidden: Floats  # m × K


def learn(
    codes: Codes, cells: Cells, sees: Mask, hidden: Codes, *, growths: int, stream: int, seed: int
) -> list[Growth]:
    """Return what comes of each growth."""
    n, ones, shares = len(codes), np.ones(len(codes)), cells.shares
    said, weights, found = cells.unbiased * cells.weights[:, None], cells.weights, []
    for growth in range(growths):
        trees = grow(codes, said, sees, stream + growth, seed)
        leaves = trees.leaves_of(codes)
        size = n, int(np.count_nonzero(trees.feature < 0))
        inside, outside = (_memberships(leaves, of, size) for of in (sees, ~sees))
        unseen = outside @ np.ones(size[1])
        for _ in range(REFITS):
            counts = inside.T @ weights
            values = (inside.T @ said + _BARE * shares) / (counts + _BARE)[:, None]
            prior = np.where(unseen[:, None] > 0, outside @ values, shares)
            prior /= np.maximum(unseen, 1)[:, None]
            if weights is not ones:  # the unbiased estimate may be below 0, or above 1
                np.maximum(prior, _LEAST_SHARE * shares, out=prior)
                prior /= prior.sum(axis=1, keepdims=True)
                weights = ones
            said, _ = posterior(prior, cells.evidence, over=1, fallback=Fallback.PRIOR)
        kept = values.astype(np.float32)
        found.append(Growth(trees, kept, said_by(trees.leaves_of(hidden), kept, shares)))
    return found


def _memberships(leaves: Ints, of: Mask, size: tuple[int, int]) -> Any:
    """Return the leaves that each row comes to, of the trees in its row of `of`, as ones."""

    ends = np.append(0, np.cumsum(of.sum(axis=1)))
    return scipy.sparse.csr_matrix((np.ones(ends[-1]), leaves[of], ends), shape=size)


def said_by(leaves: Ints, values: Singles, shares: Floats, of: Mask | None = None) -> Floats:
    """Return the priors of rows that come to these leaves, n × trees, of the trees in `of`.

    They are added tree by tree, so that no row's sum depends, to the digit, on the rows beside it.
    """
    total = np.repeat(BESIDE * shares[None], len(leaves), axis=0)
    for tree, own in enumerate(leaves.T):
        total += values[own] if of is None else np.where(of[:, tree, None], values[own], 0)
    total /= total.sum(axis=1, keepdims=True)
    return total


# What the forest has learned: for each CF its trees, of all runs side by side.


@dataclass(frozen=True)
class ForestOfCf:
    trees: Trees  # by features
    values: Singles  # leaves × K
    shares: Floats  # K: what one tree says that knows nothing of the row

    def priors(self, features: Floats, of: Mask | None = None) -> Floats:
        return said_by(self.trees.leaves_of(features), self.values, self.shares, of)

    def state(self) -> State:
        trees = self.trees
        named = ("feature", trees.feature), ("threshold", trees.cut), ("child", trees.child)
        return State(
            {**dict(named), "values": self.values, "shares": self.shares}, {"trees": trees.roots}
        )


@dataclass(frozen=True, eq=False)
class FittedForest(Fitted):
    cfs: tuple[ForestOfCf, ...]
    # Of its own table, which rows each tree saw, in bits; None: it is of a model.
    seen: Codes | None = None
    asked: Mask | None = None  # 1 × trees: those that answer; None: all

    def answer(self, rows: Known, workers: Engine) -> Answer:
        return answer_in_blocks(lambda some: self.priors(rows.features[some]), rows, workers)

    def priors(self, features: Floats, of: Mask | None = None) -> Floats:
        asked = self.asked if of is None else of
        return np.hstack([of_cf.priors(features, asked) for of_cf in self.cfs])

    def not_seen(self, rows: Ints | slice) -> Mask:
        """Return which trees did not see these rows of its own table, m × trees."""
        if self.seen is None:
            raise ValueError("the rows that a model's trees saw are not kept")
        trees = max(of_cf.trees.roots for of_cf in self.cfs)
        return np.asarray(np.unpackbits(self.seen[rows], axis=1, count=trees) == 0)

    def of_table(self, known: Known, folds: Folds, seed: int) -> Self:
        runs = [_Run.of(known, fold, number, seed) for number, fold in enumerate(folds)]
        return replace(self, seen=_seen(runs, len(known)))

    def of_row(self, row: int) -> Self:
        """Return what answers a row of its own table."""
        return replace(self, asked=self.not_seen(np.array([row])))

    def moves(
        self, row: Known, *, blank: Floats, ofs: Sequence[slice], cfs: Collection[int] | None = None
    ) -> tuple[Moves | None, ...]:
        """Return for each CF how far each OF moved what is said of one row.

        None for those that are not among `cfs`; see `interface.Moving`.
        """
        wanted = range(len(self.cfs)) if cfs is None else sorted(cfs)
        some = replace(self, cfs=tuple(self.cfs[cf] for cf in wanted))
        ends = np.cumsum([len(of_cf.shares) for of_cf in some.cfs])
        blocks = np.append(0, ends[:-1])
        found = moves(some.priors, row.features[0], blank, ofs, blocks)
        width = row.evidence.shape[1]
        every: list[Moves | None] = [None] * len(self.cfs)
        for cf, own in zip(wanted, found, strict=True):
            every[cf] = replace(own, of_others=np.zeros((width, own.base.size)))
        return tuple(every)

    def state(self) -> State:
        return State(parts={f"{cf}": own.state() for cf, own in enumerate(self.cfs)})


@dataclass(frozen=True)
class _Run:
    """A fold that is hidden, and the rows that trees are grown from meanwhile."""

    fold: Ints
    rows: Ints
    sees: Mask  # rows × trees
    near: Ints  # these rows, and those that belong together with one of them
    known_to: Mask  # near × trees: has a tree seen such a row?

    @classmethod
    def of(cls, known: Known, fold: Ints, number: int, seed: int) -> Self:
        owners = np.arange(len(known)) if known.groups is None else known.groups
        stream = draws.stream_of(f"forest {number}")
        others = np.delete(np.arange(len(known)), fold)
        rows = others
        if len(rows) > MOST_ROWS:
            drawn = draws.draw(rows, stream, seed)
            rows = np.sort(rows[np.argsort(drawn, kind="stable")[:MOST_ROWS]])
        near = others[np.isin(owners[others], owners[rows])]
        chances = [draws.chances(owners[near], stream + 1 + tree, seed) for tree in range(TREES)]
        known_to = np.stack(chances, axis=1) < SEEN
        known_to[:, ~known_to.any(axis=0)] = True  # a few large groups may all have been left out
        return cls(fold, rows, known_to[np.isin(near, rows)], near, known_to)


def _seen(runs: Sequence[_Run], rows: int) -> Codes:
    """Return which rows each tree of all runs saw, in bits."""
    seen = np.zeros((rows, len(runs) * TREES), dtype=bool)
    for number, run in enumerate(runs):
        seen[run.near, number * TREES : (number + 1) * TREES] = run.known_to
    return np.packbits(seen, axis=1)


@dataclass(frozen=True)
class ForestMethod(Method):
    cfs: tuple[int, ...] | None = None  # that are learned; the others' shares are said. None: all

    def estimate(
        self, known: Known, settings: Settings, *, folds: Folds, workers: Engine, progress: Progress
    ) -> Estimate:
        """Grow trees while each of the `folds` is hidden, and once on shuffled cells."""
        binned, seed = Binned.of(known.features), settings.seed
        runs = [_Run.of(known, fold, number, seed) for number, fold in enumerate(folds)]
        cfs = range(len(known.blocks)) if self.cfs is None else self.cfs

        def grown(
            cells: Known, stage: Stage, jobs: list[tuple[int, int, int]]
        ) -> list[list[Growth]]:
            def job(of: tuple[int, int, int]) -> list[Growth]:
                cf, number, growths = of
                run, stream = runs[number], draws.stream_of(f"forest {number} of {cf}")
                of_cf = Cells.of(cells.some(run.rows), cf)
                codes, hidden = binned.codes[run.rows], binned.codes[run.fold]
                given = {"growths": growths, "stream": stream, "seed": seed}
                return learn(codes, of_cf, run.sees, hidden, **given)

            every: list[list[Growth]] = []
            progress(stage, 0, len(jobs))
            for growth in workers.map(job, jobs):
                every.append(growth)
                progress(stage, len(every), len(jobs))
            return every

        jobs = [(cf, number, GROWTHS) for cf in cfs for number in range(len(runs))]
        every = grown(known, GROWING, jobs)
        hidden = np.concatenate(folds)
        shares = [Cells.of(known, cf).shares for cf in range(len(known.blocks))]
        sizes = [len(fold) for fold in folds]
        priors = []
        for cf in range(len(known.blocks)):
            of_runs = [Cells.of(known.some(run.rows), cf).shares for run in runs]
            priors.append(np.repeat(of_runs, sizes, axis=0))
        forests = [no_trees(own) for own in shares]
        first, growths = [prior[: len(folds[0])] for prior in priors], {}
        one = halves(len(hidden), known.groups_of(hidden))
        for place, cf in enumerate(cfs):
            own = every[place * len(runs) : (place + 1) * len(runs)]
            of_growths = [
                np.vstack([run[growth].hidden for run in own]) for growth in range(GROWTHS)
            ]
            cells = known.evidence[hidden, known.columns[cf]]
            scores = np.stack([log_scores(prior, cells, over=1) for prior in of_growths])
            priors[cf] = np.empty_like(of_growths[0])
            for half in (one, ~one):  # no cell chooses for itself
                best = int(scores[:, ~half].mean(axis=1).argmax())
                priors[cf][half] = of_growths[best][half]
            best = int(scores.mean(axis=1).argmax())
            growths[cf], first[cf] = best + 1, own[0][best].hidden
            forests[cf] = side_by_side([run[best] for run in own], binned.cuts, shares[cf])
        fitted = FittedForest(tuple(forests), _seen(runs, len(known)))

        def of_table(some: slice) -> Floats:
            return fitted.priors(known.features[some], fitted.not_seen(some))

        blocks = slices(len(known), ROWS_AT_ONCE)
        answer = answer_by(np.vstack([*workers.map(of_table, blocks)]), known)
        null = None
        if self.compared:
            mixed = known.shuffled(seed)
            on_mixed = grown(mixed, SHUFFLED, [(cf, 0, growths[cf]) for cf in cfs])
            left = []
            of_mixed = [prior[: len(folds[0])] for prior in priors]
            for cf, of_cf in zip(cfs, on_mixed, strict=True):
                of_mixed[cf] = of_cf[-1].hidden
            for of_cfs, table in ((first, known), (of_mixed, mixed)):
                said, _, _ = apply_cells(np.hstack(of_cfs), table.some(folds[0]))
                left.append(entropies(said, known.blocks).mean(axis=0))
            null = Null(left[0], left[1], len(folds[0]))
        return Estimate(
            answer.confidences,
            answer.fell_back,
            answer.mass,
            (Origin("forest"),) * len(known.blocks),
            Hidden(hidden, np.hstack(priors)),
            null,
            fitted=fitted,
        )

    def restore(self, state: State, layout: Layout) -> FittedForest:
        cfs = [
            restored(state.part(f"{cf}"), layout.features, size)
            for cf, size in enumerate(layout.domains)
        ]
        if len({of_cf.trees.roots for of_cf in cfs} - {0}) > 1:
            raise StateError("fact 'trees' is not the same for all CFs")
        return FittedForest(tuple(cfs))

    def model_bytes(self, size: TableSize, settings: Settings) -> float:
        leaves = TREES * 5 * min(size.rows, MOST_ROWS) * SEEN / (1.6 * LEAST_ROWS)
        return float(leaves * (2 * 16 * len(size.domains) + 4 * size.width))

    def memory(self, size: TableSize, settings: Settings, *, jobs: int) -> float:
        rows, largest = min(size.rows, MOST_ROWS), max(size.domains)
        level = TREES * rows * SEEN * (TRIED * (1 + 2 + 8) + 8 * largest)
        level += TREES * rows * SEEN / (2 * LEAST_ROWS) * TRIED * 8 * (3 * largest + 6)
        kept = self.model_bytes(size, settings) * GROWTHS
        own = size.rows * (9 * size.features + 8 * size.width * (2 + GROWTHS) + TREES * 5 // 8)
        return float(own + kept + jobs * level)

    def stages(self, size: TableSize, settings: Settings, *, folds: int) -> list[Expected]:
        cfs = len(size.domains)
        unit = _TREE_SECONDS * TREES * GROWTHS * min(size.rows, MOST_ROWS) * cfs
        answers = _ANSWER_SECONDS * size.rows * TREES * folds * cfs
        shuffled = [Expected(SHUFFLED, unit)] if self.compared else []
        return [Expected(GROWING, unit * folds + answers), *shuffled]


def no_trees(shares: Floats) -> ForestOfCf:
    none = np.zeros(0, dtype=np.int32)
    values = np.zeros((0, len(shares)), dtype=np.float32)
    return ForestOfCf(Trees(0, none, np.zeros(0), none), values, shares)


def side_by_side(grown: Sequence[Growth], cuts: Sequence[Floats], shares: Floats) -> ForestOfCf:
    """Return the trees of several runs as those of one, by features instead of bins."""
    trees = [run.trees for run in grown]
    nodes = np.array([len(own.feature) for own in trees])
    leaves = np.array([len(run.values) for run in grown])
    first_node, first_leaf = (np.repeat(np.cumsum(of) - of, nodes) for of in (nodes, leaves))
    feature = np.concatenate([own.feature for own in trees])
    child = np.concatenate([own.child for own in trees]) + first_leaf
    is_root = np.concatenate([np.arange(len(own.feature)) < own.roots for own in trees])
    order = np.argsort(~is_root, kind="stable")
    place = np.argsort(order)
    inner = np.flatnonzero(feature >= 0)
    child[inner] = place[child[inner] - first_leaf[inner] + first_node[inner]]
    every, many = np.concatenate([*cuts, [0.0]]), [len(of_feature) for of_feature in cuts]
    bound = np.concatenate([own.cut for own in trees]).astype(np.int64)
    bound[inner] += (np.cumsum(many) - many)[feature[inner]]
    cut = np.zeros(len(feature))
    cut[inner] = every[bound[inner]]
    roots = int(np.count_nonzero(is_root))
    beside = Trees(roots, feature[order], cut[order], child[order].astype(np.int32))
    return ForestOfCf(beside, np.vstack([run.values for run in grown]), shares)


def restored(state: State, features: int, size: int) -> ForestOfCf:
    """Return the trees of one CF, or raise StateError unless each node is reached once."""
    trees = state.fact("trees", int)
    feature = state.array("feature", np.int32, None)
    cut = state.array("threshold", np.float64, len(feature))
    child = state.array("child", np.int32, len(feature))
    if not 0 <= trees <= len(feature):
        raise StateError("fact 'trees' is not a number of trees that there can be")
    if feature.min(initial=0) < -1 or feature.max(initial=-1) >= features:
        raise StateError(f"array 'feature' holds features beyond 0 to {features - 1}")
    at = np.flatnonzero(feature >= 0)
    following = np.sort(np.concatenate([child[at], child[at].astype(np.int64) + 1]))
    if (child[at] <= at).any() or not np.array_equal(following, np.arange(trees, len(feature))):
        raise StateError("array 'child' does not reach every node once")
    leaves = np.sort(child[feature < 0])
    if not np.array_equal(leaves, np.arange(len(leaves))):
        raise StateError("array 'child' does not number the leaves")
    values = state.array("values", np.float32, len(leaves), size)
    shares = state.array("shares", np.float64, size)
    for name, rows in (("values", values), ("shares", shares[None])):
        if (rows < 0).any() or (np.abs(rows.sum(axis=1, dtype=float) - 1) > _SUMS_TO_ONE).any():
            raise StateError(f"array {name!r} holds shares that are negative or do not sum to 1")
    return ForestOfCf(Trees(trees, feature, cut, child), values, shares)
