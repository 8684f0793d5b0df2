"""The graph in brief, as `auto` tries it first: its first round, with no more than 100 steps."""

from collections.abc import Sequence

from cfl_cli.core.arrays import Ints
from cfl_cli.core.known import Known
from cfl_cli.core.parallel import Workers
from cfl_cli.core.settings import Settings
from cfl_cli.core.stages import Expected, Progress
from cfl_cli.estimators import graph
from cfl_cli.estimators.interface import Estimate, Size

FEW_STEPS = 100


class GraphInBrief:
    """An estimator that only `auto` runs."""

    def estimate(
        self,
        known: Known,
        settings: Settings,
        *,
        folds: Sequence[Ints],
        workers: Workers,
        progress: Progress,
    ) -> Estimate:
        """Run the first round, and again with the rows of each of the `folds` hidden."""
        return graph.estimate(
            known,
            _one_round(settings),
            folds=folds,
            workers=workers,
            progress=progress,
            longest=FEW_STEPS,
        )

    def memory(self, size: Size, settings: Settings, *, jobs: int) -> float:
        """Return about how many bytes are held at the peak, those of the table left aside."""
        return graph.memory(size, _one_round(settings), jobs=jobs)

    def stages(self, size: Size, settings: Settings, *, folds: int) -> list[Expected]:
        """Return what `estimate` is going to do, and about how long each stage takes."""
        return graph.stages(size, _one_round(settings), folds=folds, longest=FEW_STEPS)


def _one_round(settings: Settings) -> Settings:
    return settings.replaced({"gamma": 0.0})
