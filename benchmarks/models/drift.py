"""Does drift cry wolf, and does it see what has changed? Streams of batches of Bank and Adult.

    python -m benchmarks.models.drift --data DIR --tables bank adult --method boost --seeds 10
    python -m benchmarks.models.drift --data DIR --method graph --rows 4000 --simulated 1000

Tables are Bank, Adult, the generated one and those of R's packages, such as ISLR/Wage. A model is
fitted to some rows. Batches are drawn from the other rows, and their cells anew:

    stable      200 batches of 500 rows: alarms, and the most evidence there was
    scrambled   a third of the values of one CF is shuffled over the rows, for each CF whose gain at
                fitting is clear: how many batches it takes, from the first one or after some stable
                ones (--before), which other CFs alarm,
                and how many cells the best tests need on average (see `ideal_cells`)
    likeliest   half of the cells of such a CF begin to rule out the wrong value that a model of the
                exact values finds likeliest: how many batches it takes until the accuracy is not
                known, or the CF has drifted
    mixed       stable batches whose cells have one or two exclusions, or are empty, in other shares
    holds       how many intervals of estimated_accuracy hold the share of right answers

With --simulated, false alarms over models, too, by the level of the limits. For so many models, the
losses of the reference's cells and of 200 batches are drawn from those of stable cells of the real
model, and the mean of the reference gets as much chance again, as where folds judge each other. The
expected alarms of C CFs are C times those of one: of the mean CF, and of the worst one.
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks import tables
from benchmarks.field import tables as field
from benchmarks.field.mechanisms import by_plausibility
from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.parallel import Workers
from cfl_cli.core.settings import Settings
from cfl_cli.encode.encode import Encoded, encode
from cfl_cli.methods.interface import Estimate, Hidden
from cfl_cli.run.prepare import hidden_together, run, settle_gamma
from cfl_cli.schema.model import Schema
from cfl_cli.trust import DRIFTED, NOT_UNIFORM, drift, verdict
from cfl_cli.trust.facts import ColumnFacts
from cfl_cli.trust.heldout import HiddenCells
from cfl_cli.trust.reference import AlikeReference, JudgedCells, Reference
from cfl_cli.trust.report import BatchFacts, Report

ROWS = 500  # of a batch
SCRAMBLED = 1 / 3  # of its rows
CLEAR = 0.1  # gain over the commonest candidate from which on a scrambled CF must be caught
DELAY = 10  # batches to wait for it, at most
REFERENCES = (1000, 3000, 15_000)  # cells, in simulated models
CFS = (3, 7)
LEVELS = (0.001, 0.01, 0.03, 0.1)
BATCHES = 200
NEW = 10_000  # rows of the generated table beside those that are fitted
FIELD_ROWS = 30_000  # of a table of R's packages, at most
LEARNED = 8_000  # rows that a model of the exact values is fitted to
NOT_RANDOM = ": not random"
IDEAL = 300  # stable batches without an alarm, as of an ideal test
TILTS = np.linspace(0, 4, 401)[1:]  # t, in deviations of stable losses
DRAWS = 4  # times that the cells of all new rows are drawn, for it
DISTINCT = 40  # losses that are told apart in simulated batches


@dataclass(frozen=True, eq=False)
class Model:
    """What was fitted to some rows of a table, and the other rows with their true values."""

    encoded: Encoded  # of all rows: their features, and the blocks
    truth: Ints  # n × CFs: places in the domain
    new: Ints  # the rows that batches are drawn from
    report: Report
    reference: Reference
    estimate: Estimate  # of the fitted rows

    def batch(
        self,
        random: np.random.Generator,
        *,
        scrambled: int | None = None,
        exclusions: Sequence[int] = (1,),
        size: int = ROWS,
        likeliest: tuple[int, Floats] | None = None,
    ) -> "Drawn":
        """Return a batch with cells that are drawn anew; one CF may be scrambled.

        Half of the cells of a CF may rule out its `likeliest` wrong value, by how plausible a
        value is in each row of the table.
        """
        rows = random.choice(self.new, size, replace=False)
        truth = self.truth[rows].copy()
        if scrambled is not None:
            changed = np.flatnonzero(random.random(size) < SCRAMBLED)
            truth[changed, scrambled] = truth[random.permutation(changed), scrambled]
        cells = [
            block.mechanism.draw(
                truth[:, number],
                random.choice(exclusions, size),
                random.random((size, len(block.values))),
            )
            for number, block in enumerate(self.encoded.blocks)
        ]
        if likeliest is not None:
            cf, plausible = likeliest
            looks = plausible[rows]
            cells[cf] = by_plausibility(truth[:, cf], looks, random, first=True, share=0.5)
        encoded = replace(self.encoded.some(rows), candidates=np.hstack(cells), groups=None)
        return Drawn(encoded, truth, self._answered(encoded))

    def _answered(self, encoded: Encoded) -> Estimate:
        fitted = self.estimate.fitted
        if fitted is None:
            raise ValueError("the method learns nothing")
        with Workers(1) as workers:
            said = fitted.answer(encoded.known, workers)
        return Estimate(
            said.confidences,
            said.fell_back,
            said.mass,
            self.estimate.origins,
            Hidden(np.arange(len(said.priors)), said.priors, fitted.rules, self.reference.shares),
            answers=said.answers,
        )


@dataclass(frozen=True, eq=False)
class Drawn:
    """A batch, its true values and what the model says of it."""

    encoded: Encoded
    truth: Ints
    estimate: Estimate

    def hidden(self, number: int) -> HiddenCells | None:
        return ColumnFacts(self.encoded, self.estimate, number).hidden_cells


def read(name: str, data: Path | None, *, rows: int, seed: int) -> tables.Table:
    if "/" not in name:
        wanted = rows + NEW if name == "generated" else None
        return tables.make(name, rows=wanted, data=data, seed=seed)
    found = field.read(name, rows=FIELD_ROWS, seed=seed)
    texts = {
        cf: pl.Series(cf, np.array(domain)[found.truth[:, place]])
        for place, (cf, domain) in enumerate(found.domains.items())
    }
    truth = found.ofs.with_columns(**texts)
    masked = tables.mask(truth, found.domains, seed=seed)
    return tables.Table(truth, masked, found.types, found.domains)


def fit(name: str, data: Path | None, *, method: str, rows: int, seed: int) -> Model:
    table = read(name, data, rows=rows, seed=seed)
    encoded = encode(table.masked, Schema.parse(table.schema))
    truth = table.places
    order = np.random.default_rng(seed).permutation(len(truth))
    known = encoded.some(np.sort(order[:rows]))
    settings, _ = settle_gamma(known, Settings().override(method=method, seed=seed))
    folds = hidden_together(rows, settings)
    estimate = run(known, settings, folds=folds, progress=lambda *_: None)
    report = verdict.build(
        known, estimate, cfl_version="", settings={}, k=1, always_second_round=False, jobs=2
    )
    reference = drift.reference_of(known, estimate)
    return Model(encoded, truth, order[rows:], report, reference, estimate)


class Stream:
    """The courses of all CFs through batches, one after the other."""

    def __init__(self, model: Model) -> None:
        self.model, self.number, self.most = model, 0, 0.0
        self.courses = [drift.DriftCourse()] * len(model.encoded.blocks)
        self.alarms: Counter[str] = Counter()

    def take(self, drawn: Drawn) -> list[str]:
        self.number += 1
        fired = []
        cfs = len(self.courses)
        for cf, block in enumerate(self.model.encoded.blocks):
            hidden, course = drawn.hidden(cf), self.courses[cf]
            compared = drift.compare_cells(
                hidden, self.model.reference, cf, lowering=course.stable.lowering
            )
            step = course.after(compared.evidence, self.number, cfs=cfs)
            second = course.second.after(drift.second_ruled_out(hidden), self.number, cfs=cfs)
            self.courses[cf] = replace(step.course, second=second.course)
            self.most = max(self.most, step.evidence, second.evidence)
            if step.alarm:
                fired.append(block.name)
            if second.alarm:
                fired.append(f"{block.name}{NOT_RANDOM}")
        self.alarms.update(fired)
        return fired


def stable(
    model: Model, random: np.random.Generator, batches: int, *, exclusions: Sequence[int] = (1,)
) -> str:
    stream = Stream(model)
    for _ in range(batches):
        stream.take(model.batch(random, exclusions=exclusions))
    alarms = dict(stream.alarms) or "none"
    return f"{batches} batches, alarms {alarms}, most evidence {stream.most:,.1f}"


def scrambled(model: Model, random: np.random.Generator, *, before: int = 0) -> Iterator[str]:
    """Yield how long it takes to see each CF scrambled whose gain is clear, in words."""
    for cf, column in enumerate(model.report.columns):
        if column.gain is None or column.gain.value < CLEAR:
            continue
        stream, taken = _after(model, random, before), None
        for number in range(1, DELAY + 1):
            if column.name in stream.take(model.batch(random, scrambled=cf)):
                taken = number
                break
        others = sorted(set(stream.alarms) - {column.name}) or "none"
        ideal, from_folds = ideal_cells(model, random, cf)
        about = (
            f"gain {column.gain.value:.2f}, ideal {ideal:,.0f} cells, {from_folds:,.0f} by folds"
        )
        yield f"{column.name} ({about}) after {taken}, other CFs: {others}"


def ideal_cells(model: Model, random: np.random.Generator, cf: int) -> tuple[float, float]:
    """Return after how many cells of a scrambled CF the best tests of its model alarm, on average.

    The first knows which CF is scrambled, how much of it, and how the losses x of stable cells are
    distributed. With IDEAL batches between false alarms it needs

        log(IDEAL · ROWS) / sup_t (t E[x | scrambled] − log E[exp(t x) | stable])

    cells (Lorden; Donsker and Varadhan). With normal losses of deviation s this is (z s/d)², d being
    how much larger they are when scrambled, and z² = 2 log(IDEAL · ROWS). The second test knows the
    mean of stable losses from the n cells that were held out at fitting, which folds predicted:

        1 / ((d/z s)² − 1/n)        d: how much larger scrambled losses are than these
    """
    column, size = model.reference.columns[cf], len(model.new)
    found = []
    for changed in (None, cf):
        losses = []
        for _ in range(DRAWS):
            hidden = model.batch(random, scrambled=changed, size=size).hidden(cf)
            if hidden is None:
                raise ValueError("the model has no priors")
            shares = np.array(column.shares)
            losses += [JudgedCells.of(hidden, shares, column.lows, power=column.power).losses]
        found.append(np.concatenate(losses))
    stable, changed = found[0] / found[0].std(), found[1] / found[0].std()
    growth = [t * changed.mean() - np.log(np.exp(t * stable).mean()) for t in TILTS]
    needed = np.log(IDEAL * ROWS)
    (at_fitting,) = column.sizes  # cells of one exclusion
    apart = max(changed.mean() - at_fitting.loss / found[0].std(), 0) ** 2 / (2 * needed)
    left = apart - 1 / at_fitting.cells
    cells = needed / max(*growth, 1e-9), 1 / left if left > 0 else np.inf
    return max(cells[0], 1.0), max(cells[1], 1.0)


def likeliest(model: Model, random: np.random.Generator, *, size: int) -> Iterator[str]:
    """Yield how long it takes until cells that rule out what looks likely are noticed, in words."""
    for cf, column in enumerate(model.report.columns):
        if column.gain is None or column.gain.value < CLEAR:
            continue
        looks, courses, found = plausible(model, cf), None, []
        for number in range(1, DELAY + 1):
            drawn = model.batch(random, likeliest=(cf, looks), size=size)
            judged = _judged(model, drawn, number, courses)
            courses = judged.courses
            flags = judged.report.columns[cf].flags
            found = [flag for flag in (NOT_UNIFORM, DRIFTED) if flag in flags]
            if found:
                break
        what = f"{', '.join(found)} after {number} of {size} rows" if found else "nothing"
        yield f"{column.name} (gain {column.gain.value:.2f}, {column.domain_size} values): {what}"


def plausible(model: Model, cf: int) -> Floats:
    """Return what a model of the exact values thinks of each value, n × K."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    truth, size = model.truth[:, cf], model.report.columns[cf].domain_size
    half = np.arange(len(truth)) % 2 == 0
    shares = np.full((len(truth), size), 1e-3)
    for part in (half, ~half):
        some = np.flatnonzero(~part)[:LEARNED]
        learned = HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=8, random_state=0)
        learned.fit(model.encoded.features[some], truth[some])
        rows = np.flatnonzero(part)
        shares[np.ix_(rows, learned.classes_)] += learned.predict_proba(
            model.encoded.features[rows]
        )
    return shares


def _after(model: Model, random: np.random.Generator, before: int) -> Stream:
    stream = Stream(model)
    for _ in range(before):
        stream.take(model.batch(random))
    return stream


def _judged(
    model: Model,
    drawn: Drawn,
    number: int,
    courses: Sequence[drift.DriftCourse] | None = None,
) -> drift.JudgedBatch:
    rows = len(drawn.truth)
    return drift.judge_batch(
        drawn.encoded,
        drawn.estimate,
        batch=BatchFacts(rows, {}, {}, "", "", number),
        rows=rows,
        counts=[drift.BatchCounts(0, 0, 0, 0, 0)] * len(drawn.encoded.blocks),
        fitting=model.report,
        reference=model.reference,
        courses=courses,
        cfl_version="",
        settings={},
    )


def holds(model: Model, random: np.random.Generator, batches: int) -> str:
    held: list[bool] = []
    for number in range(1, batches + 1):
        drawn = model.batch(random)
        judged = _judged(model, drawn, number)
        for cf, column in enumerate(judged.report.columns):
            if column.estimated_accuracy is not None:
                answers = ColumnFacts(drawn.encoded, drawn.estimate, cf).answers
                right = float((answers == drawn.truth[:, cf]).mean())
                interval = column.estimated_accuracy
                held.append(interval.low <= right <= interval.high)
    return f"{sum(held)} of {len(held)} ({np.mean(held):.3f})"


@dataclass(frozen=True, eq=False)
class StableLosses:
    """The losses that stable cells of one CF have, and how often."""

    values: Floats
    chances: Floats

    @classmethod
    def of(cls, losses: Floats) -> "StableLosses":
        places = (np.sqrt(losses / losses.max()) * (DISTINCT - 1)).astype(int)  # finer near 0
        counts = np.bincount(places)
        sums = np.bincount(places, losses)
        return cls(sums[counts > 0] / counts[counts > 0], counts[counts > 0] / len(losses))

    def drawn(self, random: np.random.Generator, cells: int, *shape: int) -> Floats:
        """Return how often each value is among so many cells, shape × values."""
        return random.multinomial(cells, self.chances, shape).astype(float)

    def references(
        self, random: np.random.Generator, cells: int, models: int
    ) -> list[AlikeReference]:
        """Return what models know that were fitted to so many cells, a CF each."""
        counts = self.drawn(random, cells, models)
        mean, squares = counts @ self.values / cells, counts @ self.values**2 / cells
        variance = (squares - mean**2) / (cells - 1)
        mutual = np.maximum(mean + np.sqrt(variance) * random.standard_normal(models), 0)
        facts = zip(mutual.tolist(), variance.tolist(), squares.tolist(), strict=True)
        return [
            AlikeReference(1, cells, 0.0, cells, loss, of_mean, square, 0.0, 0.0, 0.0)
            for loss, of_mean, square in facts
        ]

    def alarms(self, batches: Floats, limits: Floats, *, cfs: int) -> float:
        """Return the mean alarms of a batch; `batches` are models × batches × values."""
        beyond = self.values[:, None] / limits[:, None, None] - 1  # models × values × 1
        logs = batches @ np.log1p(beyond * np.array(drift.BETS))  # models × batches × bets
        ratios = np.exp(np.minimum(logs, np.log(drift.MOST)))
        evidence, alarms = np.zeros((len(limits), len(drift.BETS))), 0
        for number in range(batches.shape[1]):
            evidence = (evidence + 1) * ratios[:, number]
            fired = evidence.mean(axis=1) >= drift.ALARM * cfs
            evidence[fired] = 0
            alarms += int(fired.sum())
        return alarms / float(np.prod(batches.shape[:2]))


def stable_losses(model: Model, random: np.random.Generator) -> list[StableLosses]:
    drawn = model.batch(random, size=len(model.new))
    found = []
    for cf, column in enumerate(model.reference.columns):
        hidden = drawn.hidden(cf)
        if hidden is not None and column.lows:
            cells = JudgedCells.of(hidden, np.array(column.shares), column.lows)
            found.append(StableLosses.of(cells.losses))
    return found


def simulated(
    cfs: Sequence[StableLosses],
    models: int,
    random: np.random.Generator,
    *,
    references: Sequence[int] = REFERENCES,
) -> Iterator[str]:
    settings = [(cells, many, level) for cells in references for many in CFS for level in LEVELS]
    rates = {setting: list[float]() for setting in settings}
    for of_cf in cfs:
        batches = of_cf.drawn(random, ROWS, models, BATCHES)
        known = {cells: of_cf.references(random, cells, models) for cells in references}
        for cells, many, level in settings:
            limits = np.array([of.limit(level / many, mutual=True) for of in known[cells]])
            rates[cells, many, level].append(of_cf.alarms(batches, limits, cfs=many))
    for (cells, many, level), found in rates.items():
        expected, worst = (1000 * many * rate for rate in (np.mean(found), max(found)))
        yield (
            f"reference of {cells:,} cells, {many} CFs, level {level:g}: {expected:.3f} alarms in "
            f"1,000 batches, worst CF {worst:.3f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure false alarms and delays of drift.")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tables", nargs="+", default=["bank", "adult"])
    parser.add_argument("--method", default="commonest")
    parser.add_argument("--rows", type=int, default=15_000, help="that are fitted")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--batches", type=int, default=BATCHES)
    parser.add_argument(
        "--before", type=int, default=0, help="stable batches before scrambled ones"
    )
    parser.add_argument("--likeliest", type=int, help="rows of a batch; else it is left out")
    parser.add_argument("--held", type=int, default=20, help="batches whose intervals are checked")
    parser.add_argument("--simulated", type=int, help="models; nothing else is measured then")
    asked = parser.parse_args()
    losses: list[StableLosses] = []
    for name in asked.tables:
        for seed in range(asked.seeds):
            model = fit(name, asked.data, method=asked.method, rows=asked.rows, seed=seed)
            random = np.random.default_rng(seed)
            if asked.simulated:
                losses += stable_losses(model, random)
                continue
            print(f"{name}, {asked.method}, seed {seed}")
            print(f"  stable: {stable(model, random, asked.batches)}")
            for line in scrambled(model, random, before=asked.before):
                print(f"  scrambled: {line}")
            for line in likeliest(model, random, size=asked.likeliest) if asked.likeliest else ():
                print(f"  likeliest: {line}")
            mixed = stable(model, random, asked.batches // 10, exclusions=(0, 1, 1, 2))
            print(f"  mixed: {mixed}")
            print(f"  holds: {holds(model, random, asked.held)}", flush=True)
    if asked.simulated:
        for line in simulated(losses, asked.simulated, np.random.default_rng(0)):
            print(line)


if __name__ == "__main__":
    main()
