"""What is run: the points of the paper's tables and figures, and the tasks behind them.

A point is one cell of a table or one mark of a figure, for one seed. Points share tasks: with
k = 20 and gamma = 0 a run belongs to several figures and is done once.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

from benchmarks.paper.labels import CLASSIFIERS

METHODS = ("observed", "commonest", "ipal", "graph", "boost", "auto")
PAPER = {"k": 20, "iterations": 100, "gamma": 0.25, "correction": True}
NEED_HIDDEN_CELLS = {"boost", "auto"}
# What a classifier is told of the CFs: `ord` the exact values, others a method's answer.
INPUTS = ("ord", "observed", "ipal", "graph-soft", "graph-hard", "auto-soft", "auto-hard")
SMALL_RIDGE = 0.001
SWALLOWED = "education-num"  # the OF that the authors' code took for a part of `education`
OTHER_KS = (10, 50)  # in the figure over iterations; one seed, as in the paper

Setting = tuple[str, float]


@dataclass(frozen=True)
class Imputation:
    """A method run on a table that was masked with a seed."""

    table: str
    rows: int | None  # None: all
    seed: int
    method: str
    settings: tuple[Setting, ...] = ()
    without: str = ""  # an OF that is left out
    half: bool = False  # whether only the rows are estimated that classifiers learn from

    @property
    def name(self) -> str:
        how = [f"{key}={value}" for key, value in self.settings]
        how += [f"without={self.without}"] if self.without else []
        how += ["half"] if self.half else []
        return "-".join([self.table, _rows(self.rows), f"seed={self.seed}", self.method, *how])

    @property
    def kind(self) -> str:
        return f"{self.table} {self.method}"

    @property
    def usual(self) -> bool:
        return self.settings in ((), tuple(PAPER.items())) and not self.without

    @property
    def folds(self) -> int | str:
        """Return whether cells are hidden: for flags, or because the method needs them."""
        flags = self.usual and not self.half and self.method in {"ipal", "graph"}
        return "auto" if flags or self.method in NEED_HIDDEN_CELLS else 0


@dataclass(frozen=True)
class Prediction:
    """The target predicted by a classifier that is told something of the CFs."""

    table: str
    rows: int | None
    seed: int
    told: str  # of INPUTS
    kept: bool  # whether flagged CFs stay as observed
    classifier: str
    apart: bool = False  # whether it learns from rows that were estimated without the others

    @property
    def name(self) -> str:
        how = ["kept"] * self.kept + ["apart"] * self.apart
        where = [self.table, _rows(self.rows), f"seed={self.seed}"]
        return "-".join([*where, self.told, *how, self.classifier.replace(" ", "_")])

    @property
    def kind(self) -> str:
        return f"{self.table} {self.classifier}"

    @property
    def source(self) -> Imputation | None:
        """Return whose confidences are told; None: none are."""
        method, _, _ = self.told.partition("-")
        if method in {"ord", "observed"}:
            return None
        return usual(self.table, self.rows, self.seed, method)

    @property
    def learned(self) -> Imputation | None:
        """Return the estimate of the rows that it learns from, where that is another."""
        return replace(self.source, half=True) if self.source and self.apart else None


Task = Imputation | Prediction


@dataclass(frozen=True)
class Point:
    """Where the result of a task is shown."""

    part: str
    series: str
    at: float | None  # the value of the setting that varies
    task: Task


@dataclass(frozen=True)
class Scale:
    """How much is run."""

    tables: tuple[str, ...]
    seeds: int = 5
    rows: int | None = None
    iterations: tuple[int, ...] = (1, 2, 5, 10, 20, 50, 100, 200)
    ks: tuple[int, ...] = (10, 20, 30, 40, 50)
    gammas: tuple[float, ...] = (0.0, 0.1, 0.25, 0.4, 0.5)

    def each(self) -> Iterator[tuple[str, int | None, int]]:
        """Yield table, rows and seed, seed by seed: half a run has results of everything."""
        for seed, table in product(range(self.seeds), self.tables):
            yield table, self.rows, seed


def quick(tables: tuple[str, ...], seeds: int, rows: int) -> Scale:
    return Scale(tables, seeds, rows, iterations=(1, 10, 100), ks=(10, 20), gammas=(0.0, 0.25))


def graph(table: str, rows: int | None, seed: int, **settings: float) -> Imputation:
    """Return the paper's method with its settings, but for those given."""
    return Imputation(table, rows, seed, "graph", tuple((PAPER | settings).items()))


def usual(table: str, rows: int | None, seed: int, method: str) -> Imputation:
    if method == "graph":
        return graph(table, rows, seed)
    return Imputation(table, rows, seed, method)


def _rows(rows: int | None) -> str:
    return "all" if rows is None else str(rows)


def _estimates(scale: Scale) -> Iterator[Point]:
    for place, method in product(scale.each(), METHODS):
        yield Point("estimates", method, None, usual(*place, method))


def _predictions(part: str, scale: Scale) -> Iterator[Point]:
    for (table, rows, seed), told, classifier in product(scale.each(), INPUTS, CLASSIFIERS):
        kept = part == "kept" and told not in {"ord", "observed"}
        yield Point(part, told, None, Prediction(table, rows, seed, told, kept, classifier))


def _apart(scale: Scale) -> Iterator[Point]:
    """Learn as the authors do: from rows that are estimated without those to be judged on."""
    inputs = ("graph-soft", "graph-hard")
    for (table, rows, seed), series, classifier in product(scale.each(), inputs, CLASSIFIERS):
        task = Prediction(table, rows, seed, series, kept=False, classifier=classifier, apart=True)
        yield Point("apart", series, None, task)


def _correction(scale: Scale) -> Iterator[Point]:
    for place, (series, on) in product(scale.each(), {"off": False, "on": True}.items()):
        yield Point("correction", series, None, graph(*place, gamma=0.0, correction=on))


def _iterations(scale: Scale) -> Iterator[Point]:
    for place, k, steps in product(scale.each(), (PAPER["k"], *OTHER_KS), scale.iterations):
        if k == PAPER["k"] or place[-1] == 0:
            task = graph(*place, gamma=0.0, k=k, iterations=steps)
            yield Point("iterations", f"k = {k}", steps, task)


def _ks(scale: Scale) -> Iterator[Point]:
    for place, k in product(scale.each(), scale.ks):
        yield Point("k", "graph", k, graph(*place, gamma=0.0, k=k))


def _gammas(scale: Scale) -> Iterator[Point]:
    for place, gamma in product(scale.each(), scale.gammas):
        yield Point("gamma", "graph", gamma, graph(*place, gamma=gamma))


def _checks(scale: Scale) -> Iterator[Point]:
    """Do as the authors are thought to have done, to see if it explains their numbers."""
    for table, rows, seed in scale.each():
        yield Point("checks", "as by default", None, graph(table, rows, seed))
        task = graph(table, rows, seed, ridge=SMALL_RIDGE)
        yield Point("checks", f"ridge = {SMALL_RIDGE}", None, task)
        if table == "adult":
            task = replace(graph(table, rows, seed), without=SWALLOWED)
            yield Point("checks", f"without {SWALLOWED}", None, task)


PARTS: dict[str, Callable[[Scale], Iterator[Point]]] = {
    "estimates": _estimates,
    "labels": partial(_predictions, "labels"),
    "kept": partial(_predictions, "kept"),
    "apart": _apart,
    "correction": _correction,
    "iterations": _iterations,
    "k": _ks,
    "gamma": _gammas,
    "checks": _checks,
}


def points(scale: Scale, parts: Iterable[str]) -> list[Point]:
    return [point for part in parts for point in PARTS[part](scale)]


def tasks(wanted: Iterable[Point]) -> tuple[list[Imputation], list[Prediction]]:
    """Return every task behind some points once; predictions come after all imputations."""
    all_tasks = [point.task for point in wanted]
    predictions = [task for task in all_tasks if isinstance(task, Prediction)]
    sources = [source for task in predictions for source in (task.source, task.learned) if source]
    imputations = [task for task in all_tasks if isinstance(task, Imputation)]
    return list(dict.fromkeys([*imputations, *sources])), list(dict.fromkeys(predictions))
