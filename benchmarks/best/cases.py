"""One table, one kind of cells, one seed: encoded as a run would, with its truth; and its scores."""

from dataclasses import dataclass
from time import process_time

import numpy as np

from benchmarks.best.tables import cells, random_of, read
from benchmarks.field.cases import table_of
from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.settings import Settings
from cfl_cli.encode.encode import Encoded
from cfl_cli.methods.interface import Estimate
from cfl_cli.run.prepare import hidden_together, prepare, run
from cfl_cli.trust import verdict
from cfl_cli.trust.facts import calibrate
from cfl_cli.trust.powers import raised


@dataclass(frozen=True)
class Case:
    """A table as a method gets it, with its truth."""

    name: str
    kind: str
    seed: int
    encoded: Encoded
    truth: Ints  # n × CFs
    noise: bool = False  # are cells shuffled over the rows, so that nothing can be known of them?


@dataclass(frozen=True)
class Score:
    """What one CF of a case came to."""

    table: str
    cf: str
    kind: str
    seed: int
    rows: int
    values: int
    accuracy: float
    entropy: float  # cross entropy of the truth
    error: float  # of calibration
    chance: float  # what this error would be of confidences that are right on average
    least: float  # what it would be after the power that predicts the truth best
    majority: float  # accuracy of the majority value
    gain: float  # in accuracy, over the candidate that is most common by the truth
    heldout: float | None
    flagged: bool | None
    seconds: float  # of CPU, of the whole table


def make(name: str, kind: str, seed: int, *, rows: int, noise: bool = False) -> Case:
    table = read(name, rows=rows, seed=seed)
    every, truth = [], table.truth.copy()
    for number, (cf, domain) in enumerate(table.domains.items()):
        if noise:
            random_of("noise", name, cf, seed).shuffle(truth[:, number])
        random = random_of(name, cf, kind, seed)
        every.append(cells(truth[:, number], len(domain), kind, random))
    frame, schema = table_of(table, every)
    return Case(name, kind, seed, prepare(frame, schema, Settings(), name=name), truth, noise)


def estimated(case: Case, settings: Settings, *, jobs: int = 1) -> tuple[Estimate, float]:
    """Return the estimate, calibrated, and the seconds of CPU that it took."""
    began = process_time()
    folds = hidden_together(len(case.truth), settings, case.encoded.groups)
    estimate = run(case.encoded, settings, folds=folds, jobs=jobs, progress=lambda *_: None)
    return estimate, process_time() - began


POWERS = np.geomspace(0.05, 8, 45)  # of which one predicts the truth best
TREES, REFITS, ROWS_OF_A_LEAF = 150, 4, 5  # of the plain forest


def plain_forest(case: Case, *, seed: int = 0) -> list[Score]:
    """Return what scikit-learn's forest comes to: on exclusions, inverted, and refitted by EM."""
    from sklearn.ensemble import RandomForestRegressor

    began, known, found = process_time(), case.encoded.known, []
    for number, (block, how) in enumerate(zip(known.columns, known.mechanisms, strict=True)):
        candidates = known.candidates[:, block]
        target = how.unbiased(candidates)
        for _ in range(1 + REFITS):
            forest = RandomForestRegressor(
                TREES,
                min_samples_leaf=ROWS_OF_A_LEAF,
                max_features="sqrt",
                oob_score=True,
                random_state=seed,
            )
            prior = np.maximum(forest.fit(known.features, target).oob_prediction_, 1e-3)
            joint = prior.reshape(candidates.shape) * candidates
            target = joint / joint.sum(axis=1, keepdims=True)
        figures = *judged(target, case.truth[:, number]), np.nan
        sizes = len(case.truth), how.size
        name, left = case.encoded.blocks[number].name, majority(case, number)
        gain = figures[0] - most_common(case, number)
        about = (case.name, name, case.kind, case.seed, *sizes, *figures, left, gain)
        found.append(Score(*about, heldout=None, flagged=None, seconds=process_time() - began))
    return found


def scores(case: Case, estimate: Estimate, settings: Settings, seconds: float) -> list[Score]:
    estimate = calibrate(case.encoded, estimate, jobs=1)
    report = verdict.build(
        case.encoded,
        estimate,
        cfl_version="",
        settings={},
        k=settings.k,
        always_second_round=False,
    )
    found = []
    for number, (block, column) in enumerate(zip(case.encoded.blocks, report.columns, strict=True)):
        truth = case.truth[:, number]
        own = estimate.confidences[:, block.columns]
        raw = (estimate.confidences if estimate.raw is None else estimate.raw)[:, block.columns]
        least = min((judged(raised(raw, power), truth) for power in POWERS), key=lambda of: of[1])
        figures = *judged(own, truth), least[2]
        found.append(
            Score(
                case.name,
                block.name,
                case.kind,
                case.seed,
                len(truth),
                own.shape[1],
                *figures,
                majority(case, number),
                figures[0] - most_common(case, number),
                column.heldout_score,
                column.flagged,
                seconds,
            )
        )
    return found


def judged(confidences: Floats, truth: Ints) -> tuple[float, float, float, float]:
    """Return accuracy, cross entropy, calibration error, and what that would be by chance.

    A tenth of confidence whose answers are right as often as it says is off by the mean absolute
    deviation of a sum of Bernoulli variables, which is about normal.
    """
    rows = np.arange(len(truth))
    right = confidences.argmax(axis=1) == truth
    entropy = -np.log(np.maximum(confidences[rows, truth], 1e-6)).mean()
    top = confidences.max(axis=1)
    bins = np.minimum((top * 10).astype(int), 9)
    gaps = np.bincount(bins, top - right, minlength=10)
    deviations = np.sqrt(np.bincount(bins, top * (1 - top), minlength=10))
    off, chance = np.abs(gaps).sum() / len(truth), deviations.sum() / len(truth)
    return float(right.mean()), float(entropy), float(off), float(np.sqrt(2 / np.pi) * chance)


def majority(case: Case, number: int) -> float:
    """Return the accuracy of the candidate that is most common by the cells of all rows."""
    known = case.encoded.known
    block = known.columns[number]
    answers = (known.candidates[:, block] * (known.shares()[number] + 1e-9)).argmax(axis=1)
    return float((answers == case.truth[:, number]).mean())


def most_common(case: Case, number: int) -> float:
    """Return the accuracy of the candidate that is most common by the truth of all rows."""
    block, truth = case.encoded.blocks[number], case.truth[:, number]
    counts = np.bincount(truth, minlength=len(block.values))
    answers = (case.encoded.candidates[:, block.columns] * (counts + 1e-9)).argmax(axis=1)
    return float((answers == truth).mean())
