"""What `auto` may choose by where exclusions are not uniform.

    python -m benchmarks.field.candidate_sets

Cells are made of the true values as people would make them, and not as `cfl` assumes. The parts of
`auto` are run once for each table and way; then the rules are compared by the truth.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial

import numpy as np
import polars as pl
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.field.cases import drawing, folded, markdown, plausible, show, table_of
from benchmarks.field.mechanisms import How, by_plausibility, favored, people, uniform
from benchmarks.field.tables import TUNED_ON, FieldTable, read
from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.dataset import Known
from cfl_cli.core.exclusions import Uniformity
from cfl_cli.core.parallel import Workers, available_cores
from cfl_cli.core.settings import AUTO, Settings
from cfl_cli.methods import auto, blend
from cfl_cli.methods.interface import Estimate
from cfl_cli.run.prepare import hidden_together, prepare

PARTS = auto.PARTS
ROWS = 700
FOLDS = 3
LEAST = 1e-6  # confidence in the true value that counts
CHECKED = 100  # hidden rows whose value somebody looked up

Rule = Callable[["HiddenAndGiven"], Floats]


def nearest(table: FieldTable, cf: int, rng: np.random.Generator) -> Floats:
    """Return what somebody who sees the OFs badly, and remembers similar rows, thinks, n × K."""
    columns = [column.cast(pl.Categorical).to_physical() for column in table.ofs.cast(pl.String)]
    numbers = np.column_stack(
        [
            (own if table.types[own.name] == "numeric" else codes).cast(pl.Float64).fill_null(0)
            for own, codes in zip(table.ofs, columns, strict=True)
        ]
    )
    seen = (numbers - numbers.mean(axis=0)) / np.maximum(numbers.std(axis=0), 1e-9)
    seen += rng.normal(size=seen.shape)
    return folded(KNeighborsClassifier(15), seen, table, cf, least=3)


def confusable(truth: Ints, looks: Floats, rng: np.random.Generator) -> Mask:
    """Leave, beside the true value, mostly the one that it is confused with."""
    n, size = looks.shape
    ring, taken_for = rng.permutation(size), np.empty(size, dtype=int)
    taken_for[ring] = np.roll(ring, 1)
    candidates: Mask = rng.random((n, size)) < 0.15
    candidates[np.arange(n), taken_for[truth]] |= rng.random(n) < 0.7
    candidates[np.arange(n), truth] = True
    return candidates


def near_values(truth: Ints, looks: Floats, rng: np.random.Generator) -> Mask:
    """Leave, beside the true value, those that are near it in the domain's order."""
    apart = np.abs(np.arange(looks.shape[1]) - truth[:, None])
    candidates: Mask = rng.random(looks.shape) < np.exp(-apart / 1.2)
    candidates[np.arange(len(truth)), truth] = True
    return candidates


def known_looks(table: FieldTable, cf: int, rng: np.random.Generator) -> Floats:
    """Return what somebody who knows the OFs well thinks, n × K."""
    return plausible(table, cf)


def no_looks(table: FieldTable, cf: int, rng: np.random.Generator) -> Floats:
    """Return that all values look alike, n × K."""
    return np.ones((len(table.truth), len([*table.domains.values()][cf])))


WAYS: dict[str, tuple[Callable[[FieldTable, int, np.random.Generator], Floats], How]] = {
    "uniform": (no_looks, uniform),
    "three times as often": (no_looks, partial(favored, times=3)),
    "likeliest first": (known_looks, partial(by_plausibility, first=True)),
    "least likely first": (known_looks, partial(by_plausibility, first=False)),
    "people, in little doubt": (known_looks, partial(people, doubt=0.3)),
    "people": (known_looks, people),
    "people who see badly": (nearest, people),
    "confusable values": (no_looks, confusable),
    "near values": (no_looks, near_values),
}


class HiddenAndGiven:
    """What the parts say of one CF: of hidden rows, and of all rows with their cells."""

    def __init__(
        self, known: Known, parts: Sequence[Estimate], folds: Sequence[Ints], cf: int, truth: Ints
    ) -> None:
        block, self.rows = known.columns[cf], np.concatenate(folds)
        self.mechanism, self.truth = known.mechanisms[cf], truth
        self.cells = known.candidates[:, block]
        self.hidden = self.cells[self.rows]
        self.priors = [part.hidden.priors[:, block] for part in parts if part.hidden]
        self.confidences = [part.confidences[:, block] for part in parts]
        self.fitted = blend.fit(self.priors, self.hidden)

    @cached_property
    def refuted(self) -> bool:
        by_priors = Uniformity(self.fitted.prior, self.hidden, self.mechanism, mutual=True)
        return by_priors.refuted or len(self.mechanism.too_often(self.hidden)) > 0

    @property
    def bare(self) -> Floats:
        return np.asarray(self.cells / self.cells.sum(axis=1, keepdims=True))

    def geometric(self, weights: Floats) -> Floats:
        return blend.blended(self.confidences, weights)

    def fit_as_if_uniform(self) -> Floats:
        """Return what was always done: weights by the likelihood of hidden cells."""
        right = blend.Right.of(self.hidden, self.mechanism)
        return self.geometric(blend.fit(self.priors, self.hidden, right=right).weights)

    def cautious(self) -> Floats:
        """Return the cautious blend with the bare cell as one more part."""
        weights = blend.fit(self.priors, self.hidden, cautious=True).weights
        return blend.with_bare(self.confidences, weights, self.bare)

    def auto(self) -> Floats:
        return self.cautious() if self.refuted else self.fit_as_if_uniform()

    def best_score(self) -> Floats:
        return self.confidences[int(self.fitted.scores.argmax())]

    def agrees_most(self) -> Floats:
        """Return the part whose answers to hidden cells agree most with those of the others."""
        answers = [(prior * self.hidden).argmax(axis=1) for prior in self.priors]
        agree = [sum((own == other).mean() for other in answers) for own in answers]
        return self.confidences[int(np.argmax(agree))]

    def checked(self) -> Floats:
        """Return the blend by the likelihood of some true values that were looked up."""
        some = np.random.default_rng(0).permutation(len(self.rows))[:CHECKED]
        values = np.eye(self.cells.shape[1])[self.truth[self.rows[some]]]
        return self.geometric(blend.fit([prior[some] for prior in self.priors], values).weights)


RULES: dict[str, Rule] = {
    "graph": lambda case: case.confidences[0],
    "boost": lambda case: case.confidences[1],
    "net": lambda case: case.confidences[2],
    "the cell alone": lambda case: case.bare,
    "as if uniform": HiddenAndGiven.fit_as_if_uniform,
    "best score": HiddenAndGiven.best_score,
    "agrees most": HiddenAndGiven.agrees_most,
    "alike, geometric": lambda case: case.geometric(np.full(3, 1 / 3)),
    "alike": lambda case: np.mean(case.confidences, axis=0),
    "cautious": HiddenAndGiven.cautious,
    "auto": HiddenAndGiven.auto,
    f"{CHECKED} checked": HiddenAndGiven.checked,
}


def cases(name: str, way: str, *, rows: int = ROWS, seed: int = 0) -> list[HiddenAndGiven]:
    """Run the parts on a table whose cells came about in this way; a case for each CF."""
    table = read(name, rows=rows, seed=seed)
    looks, how = WAYS[way]
    cells = []
    for cf in range(len(table.domains)):
        rng = drawing(name, way, cf, seed)
        cells.append(how(table.truth[:, cf], looks(table, cf, rng), rng))
    frame, schema = table_of(table, cells)
    settings = Settings().override(seed=seed, folds=FOLDS, iterations=AUTO)
    known = prepare(frame, schema, settings, name=name).known
    folds = hidden_together(len(known), settings)
    with Workers(available_cores()) as workers:
        parts = [
            part.estimate(known, settings, folds=folds, workers=workers, progress=lambda *_: None)
            for part in PARTS.values()
        ]
    return [
        HiddenAndGiven(known, parts, folds, cf, truth) for cf, truth in enumerate(table.truth.T)
    ]


def compare(case: HiddenAndGiven) -> Floats:
    """Return the accuracy and the cross entropy of every rule, rules × 2."""
    figures = []
    for rule in RULES.values():
        confidences = np.where(case.cells, rule(case), 0)
        true = confidences[np.arange(len(case.truth)), case.truth] / confidences.sum(axis=1)
        right = confidences.argmax(axis=1) == case.truth
        figures.append([right.mean(), -np.log(np.maximum(true, LEAST)).mean()])
    return np.array(figures)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare what auto may choose by.")
    parser.add_argument("--table", action="append", choices=TUNED_ON)
    parser.add_argument("--way", action="append", choices=WAYS)
    parser.add_argument("--rows", type=int, default=ROWS)
    show(markdown(("cells", "refuted", *RULES), lines(parser.parse_args())))


def lines(asked: argparse.Namespace) -> Iterator[list[str]]:
    for way in asked.way or WAYS:
        names = asked.table or [*TUNED_ON][::3]
        found = [case for name in names for case in cases(name, way, rows=asked.rows)]
        refuted = f"{sum(case.refuted for case in found)} of {len(found)}"
        means = np.mean([compare(case) for case in found], axis=0)
        yield [way, refuted, *(f"{accuracy:.3f} / {entropy:.3f}" for accuracy, entropy in means)]


if __name__ == "__main__":
    main()
