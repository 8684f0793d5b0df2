"""What round one says of hidden rows, and nothing else: all folds in one walk.

The cells without a fold's are further blocks of the same rows. Steps act on each block by itself,
so that one walk of them all gives what a walk for each fold would.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.known import Known
from cfl_cli.core.parallel import Engine
from cfl_cli.core.quick import dataclass
from cfl_cli.core.settings import Settings
from cfl_cli.core.stages import Progress
from cfl_cli.estimators.graph_rounds import Rounds, hide
from cfl_cli.estimators.graph_settings import chooses, gamma
from cfl_cli.estimators.interface import Hidden
from cfl_cli.steps.flow import Graph


def is_enough(settings: Settings) -> bool:
    """Return whether round one is all there is, and hidden cells choose nothing."""
    return settings.method == "graph" and not chooses(settings) and gamma(settings) == 0


@dataclass(frozen=True, eq=False)
class HiddenRuns:
    """Runs of round one on one table's features, by the same graph whatever its cells are."""

    rounds: Rounds
    folds: Sequence[Ints]

    @classmethod
    def of(
        cls,
        known: Known,
        settings: Settings,
        *,
        folds: Sequence[Ints],
        workers: Engine,
        progress: Progress = lambda *_: None,
    ) -> "HiddenRuns":
        """Return the runs of which neighbors and weights are found; nothing is walked yet."""
        features, evidence, blocks = known.features, known.evidence, known.blocks
        return cls(Rounds(features, evidence, blocks, settings, workers, progress), folds)

    @property
    def graph(self) -> Graph:
        """Return the neighbors and their weights."""
        return self.rounds.first

    def predict(self, evidence: Floats | Mask, *, name: str) -> Hidden:
        """Return what is said of the rows of each fold while its cells are hidden."""
        width, blocks = evidence.shape[1], self.rounds.blocks
        cells: Any = np.hstack([hide(evidence, fold) for fold in self.folds])  # as the evidence is
        starts = np.concatenate([blocks + number * width for number in range(len(self.folds))])
        folded = Rounds(
            self.rounds.features,
            cells,
            starts,
            self.rounds.settings,
            self.rounds.workers.within(name),
            self.rounds.progress,
            first=self.graph,
        )
        said = folded.walk("round 1", self.graph, folded.evidence, folded.all_alike()).confidences
        priors = [
            said[fold, number * width : (number + 1) * width]
            for number, fold in enumerate(self.folds)
        ]
        return Hidden(np.concatenate(self.folds), np.vstack(priors))
