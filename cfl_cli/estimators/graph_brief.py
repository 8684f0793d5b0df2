"""The graph in brief, as `auto` tries it first: its first round, with no more than 100 steps."""

from collections.abc import Sequence

from cfl_cli.core.arrays import Ints
from cfl_cli.core.known import Known
from cfl_cli.core.parallel import Engine
from cfl_cli.core.settings import Settings
from cfl_cli.core.stages import Expected, Progress
from cfl_cli.core.state import State
from cfl_cli.estimators import graph
from cfl_cli.estimators.interface import Estimate, Fitted, Layout, Size

FEW_STEPS = 100


class GraphInBrief:
    """An estimator that only `auto` runs."""

    def estimate(
        self,
        known: Known,
        settings: Settings,
        *,
        folds: Sequence[Ints],
        workers: Engine,
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

    def restore(self, state: State, layout: Layout) -> Fitted:
        """Return what was fitted, or raise StateError if it cannot have had this state."""
        return graph.restore(state, layout)

    def model_bytes(self, size: Size, settings: Settings) -> float:
        """Return about how many bytes are kept of what is fitted."""
        return graph.model_bytes(size, _one_round(settings))

    def memory(self, size: Size, settings: Settings, *, jobs: int) -> float:
        """Return about how many bytes are held at the peak, those of the table left aside."""
        return graph.memory(size, _one_round(settings), jobs=jobs)

    def stages(self, size: Size, settings: Settings, *, folds: int) -> list[Expected]:
        """Return what `estimate` is going to do, and about how long each stage takes."""
        return graph.stages(size, _one_round(settings), folds=folds, longest=FEW_STEPS)


def _one_round(settings: Settings) -> Settings:
    return settings.replaced({"gamma": 0.0})
