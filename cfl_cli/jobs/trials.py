"""Settings tried on some rows of a table, and how well they predict the hidden ones' cells."""

from collections.abc import Sequence
from typing import Self

import numpy as np

from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.groups import ranks, sums_by
from cfl_cli.core.parallel import Engine
from cfl_cli.core.quick import dataclass
from cfl_cli.core.settings import Settings
from cfl_cli.core.stages import Progress, Stage, Stages, forecast
from cfl_cli.estimators.graph import judge
from cfl_cli.estimators.graph_rounds import Rounds
from cfl_cli.estimators.graph_settings import chooses_round, chooses_steps
from cfl_cli.steps.encode import Encoded
from cfl_cli.steps.flow import Graph  # noqa: TC001 — an annotation like the others
from cfl_cli.trust import heldout

FOLDS = 5  # of which one is hidden in every trial
ENOUGH = 2_000  # hidden rows to test a winner by; a small table hides several parts in turn


@dataclass(frozen=True)
class Folds:
    """Rows that are hidden together: for the trials of the search, and to test its winner."""

    searching: Ints
    confirming: tuple[Ints, ...]

    @classmethod
    def of(cls, dealt: Ints, groups: Ints | None = None) -> Self:
        """Deal rows that are in a random order; with `groups`, of all rows, none of these is split.

        When more rows follow, those that are dealt already stay in their folds.
        """
        places = np.arange(len(dealt)) if groups is None else ranks(groups[dealt])
        first, *others = (np.sort(dealt[places % FOLDS == fold]) for fold in range(FOLDS))
        filled = [fold for fold in others if len(fold)]
        return cls(first, tuple(filled[:1] if len(first) >= ENOUGH else filled))

    @property
    def mutual(self) -> bool:
        """Return whether a test hides rows in turn, so that each helps to judge the others."""
        return len(self.confirming) > 1

    @property
    def test_in_trials(self) -> int:
        """Return how many trials take about as long as the scores for a test."""
        return 1 + len(self.confirming)


class Trials:
    """Some rows of a table, on which settings are tried."""

    def __init__(self, encoded: Encoded, rows: Ints, workers: Engine) -> None:
        self.rows, self.workers = np.sort(rows), workers
        self.encoded = encoded.some(self.rows)
        self.graphs: dict[tuple[int, float], Graph] = {}  # of round one, by k and ridge
        self.spent: dict[Stage, float] = {}  # seconds, over all trials so far

    def judged(self, settings: Settings, folds: Folds) -> Floats:
        """Return the scores of the searching rows; what is `auto` is chosen by the same rows."""
        stages = Stages()
        rounds = self._rounds(settings, stages)
        _, hidden = judge(rounds, self._places([folds.searching]))
        for stage, seconds in stages.spent().items():
            self.spent[stage] = self.spent.get(stage, 0.0) + seconds
        return row_scores(self.encoded, hidden.rows, hidden.priors)

    def times_longer(self, rows: int) -> float:
        """Return how many times longer a trial on so many rows takes than one on these."""
        return forecast(self.spent, rows=len(self.rows), more=rows) / sum(self.spent.values())

    def tested(self, settings: Settings, folds: Folds) -> Floats:
        """Return the scores of the confirming rows; what is `auto` the searching ones choose."""
        rounds = self._rounds(settings, lambda *_: None)
        is_open = chooses_steps(settings) or chooses_round(settings)
        searching = self._places([folds.searching])
        choice = judge(rounds, searching)[0] if is_open else rounds.unjudged()
        places = self._places(folds.confirming)
        priors = [rounds.predict_hidden("confirmation", fold, choice) for fold in places]
        return row_scores(self.encoded, np.concatenate(places), np.vstack(priors))

    def _rounds(self, settings: Settings, progress: Progress) -> Rounds:
        known = self.encoded.features, self.encoded.evidence, self.encoded.starts
        key = settings.k, settings.ridge
        first = self.graphs.get(key)
        rounds = Rounds(*known, settings, self.workers, progress, first=first)
        self.graphs[key] = rounds.first
        return rounds

    def _places(self, folds: Sequence[Ints]) -> list[Ints]:
        return [np.searchsorted(self.rows, fold) for fold in folds]


def row_scores(encoded: Encoded, rows: Ints, priors: Floats) -> Floats:
    """Return what each hidden row adds to each CF's score, m × CFs; the mean is the score.

    Of rows that belong together there is one line, as they are one where gains are compared.
    """
    scores = []
    for block in encoded.blocks:
        cells = encoded.candidates[rows, block.columns]
        informative = ~cells.all(axis=1)
        if informative.any():
            of_cells = heldout.scores(priors[:, block.columns], cells, block.mechanism)
            weight = (len(block.values) - 1) / (~cells[informative]).sum(axis=1).mean()
            scores.append(np.zeros(len(rows)))
            scores[-1][informative] = weight * of_cells * (len(rows) / informative.sum())
    sums = sums_by(encoded.known.groups_of(rows), np.column_stack(scores))
    return sums * (len(sums) / len(rows))
