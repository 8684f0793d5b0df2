"""A table with the cells of some rows hidden, and how good an answer about it is.

The hidden rows are a fifth, the same for every variant. Nothing of their cells may reach what is
said of them (an answer's `hidden_priors`). What is said of all rows (its `confidences`) has seen
all cells.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmarks.paper.scores import score
from benchmarks.tables import Table, places
from cfl_cli import Schema
from cfl_cli.core.arrays import Floats, Ints, log_scores, sizes
from cfl_cli.core.dataset import Known
from cfl_cli.core.draws import folds
from cfl_cli.core.parallel import Workers
from cfl_cli.encode.encode import encode
from cfl_cli.methods.interface import Estimate, apply_cells

PARTS = 5  # of which one is hidden

Scores = dict[str, dict[str, float]]  # CF → metric → value


def quiet(*_: object) -> None:
    """Take news of progress, and do nothing."""


@dataclass(frozen=True)
class Answer:
    """What a variant says of the hidden rows, and of all rows."""

    hidden_priors: Floats  # m × ΣK
    confidences: Floats  # n × ΣK
    mass: Floats  # n × CFs: how much of its prior a row's cell allows
    priors: Floats | None = None  # n × ΣK, of variants that have them for all rows

    @classmethod
    def of(cls, estimate: Estimate) -> "Answer":
        """Return what an estimator says."""
        if estimate.hidden is None:
            raise ValueError("rows must be hidden for a variant to be judged")
        return cls(estimate.hidden.priors, estimate.confidences, estimate.mass)

    @classmethod
    def from_priors(cls, hidden_priors: Floats, priors: Floats, known: Known) -> "Answer":
        """Return an answer from priors of the hidden rows and of all rows."""
        confidences, _, mass = apply_cells(priors, known)
        return cls(hidden_priors, confidences, mass, priors)


class Lab:
    """One table, and the answers so far, by the variant's name."""

    def __init__(self, table: Table, *, seed: int, workers: Workers) -> None:
        encoded = encode(table.masked, Schema.parse(table.schema))
        self.known: Known = encoded.known
        self.names = [block.name for block in encoded.blocks]
        self.truth = [places(table.truth[block.name], [*block.values]) for block in encoded.blocks]
        self.seed, self.workers = seed, workers
        self.hidden, self.others, *_ = folds(len(self.known), PARTS, seed)
        self.answers: dict[str, Answer] = {}

    @property
    def folds(self) -> list[Ints]:
        """Return the hidden rows as estimators take them."""
        return [self.hidden]

    @cached_property
    def blind(self) -> Known:
        """Return the table as it is while the rows are hidden: any value may be theirs."""
        candidates = self.known.candidates.copy()
        candidates[self.hidden] = True
        return Known(self.known.features, candidates, self.known.blocks, self.known.mechanisms)

    def block(self, cf: int) -> slice:
        """Return the columns of a CF."""
        return self.known.columns[cf]

    def logs(self, hidden_priors: Floats) -> Floats:
        """Return how well every hidden cell is predicted, m × CFs: its log-likelihood."""
        evidence = self.known.evidence[self.hidden]
        own = log_scores(hidden_priors, evidence, over=self.known.blocks)
        # What is left of a domain is ruled out alike: one exclusion among K − 1.
        return np.asarray(own - np.log(sizes(self.known.blocks, evidence.shape[1]) - 1))

    def judge(self, answer: Answer) -> Scores:
        """Return the held-out score, and the true accuracy and cross entropy, of every CF."""
        logs = self.logs(answer.hidden_priors).mean(axis=0)
        scores: Scores = {}
        for cf, name in enumerate(self.names):
            confidences = answer.confidences[:, self.block(cf)]
            true = score(confidences, confidences.argmax(axis=1), self.truth[cf])
            scores[name] = {
                "score": float(logs[cf]),
                "accuracy": true.accuracy,
                "cross_entropy": true.cross_entropy,
            }
        return scores

    def gain(self, answer: Answer, reference: Answer) -> tuple[float, float]:
        """Return by how much hidden cells are predicted better, and the standard error of that."""
        each = (self.logs(answer.hidden_priors) - self.logs(reference.hidden_priors)).mean(axis=1)
        return float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each)))


def beside(answers: Sequence[Answer], columns: Iterable[slice]) -> Answer:
    """Return each CF from an answer of its own: the first CF from the first answer, and so on."""
    pairs = list(zip(answers, columns, strict=True))
    return Answer(
        np.hstack([answer.hidden_priors[:, block] for answer, block in pairs]),
        np.hstack([answer.confidences[:, block] for answer, block in pairs]),
        np.column_stack([answer.mass[:, cf] for cf, answer in enumerate(answers)]),
    )
