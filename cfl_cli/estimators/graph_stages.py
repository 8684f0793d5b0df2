"""The stages of the graph's rounds, and about how long each takes."""

from dataclasses import dataclass, replace

from cfl_cli.core.known import LARGE
from cfl_cli.core.stages import Expected, Stage, Work
from cfl_cli.estimators.interface import Method, Size

WORDS = {
    Work.NEIGHBORS: "finding neighbors",
    Work.WEIGHTS: "weighing neighbors",
    Work.PROPAGATION: "propagating",
}
NEIGHBORS_SECONDS = 8e-6  # per row^1.1
WEIGHTS_SECONDS = 6e-8  # per row and k²
STEP_SECONDS = 3.8e-10  # per row, neighbor and value


def stages(size: Size, method: Method, *, folds: int) -> list[Expected]:
    """Return what `estimate` is going to do, and about how long each stage takes."""
    choosing, twice = method.iterations is None, method.gamma > 0
    hidden = [f"fold {number + 1}" for number in range(folds)]
    parts = Parts(size, method)
    ahead = parts.graph("round 1")
    if choosing:
        ahead += [parts.walk(f"{fold}, round 1") for fold in hidden]
    for fold in hidden:
        ahead.append(parts.walk(f"{fold}, round 1"))
        ahead += parts.round(f"{fold}, round 2") if twice else []
    ahead.append(parts.walk("round 1"))
    if folds and size.rows > LARGE:
        parts_of_sample = Parts(replace(size, rows=LARGE // 4), method)
        ahead += [*parts_of_sample.round("sample"), parts_of_sample.walk("shuffled")]
    elif folds:
        ahead.append(parts.walk("shuffled"))
    return ahead + (parts.round("round 2") if twice else [])


@dataclass(frozen=True)
class Parts:
    """What the rounds of a table are expected to take."""

    size: Size
    method: Method

    def graph(self, name: str) -> list[Expected]:
        """Return the stages in which a round's graph is made."""
        units = {
            Work.NEIGHBORS: NEIGHBORS_SECONDS,
            Work.WEIGHTS: WEIGHTS_SECONDS * self.method.k**2,
        }
        rows = self.size.rows
        return [Expected.of(stage_of(name, work), rows, unit) for work, unit in units.items()]

    def walk(self, name: str) -> Expected:
        """Return the stage in which confidences are propagated."""
        steps = self.method.iterations or self.method.longest / 4  # it ends early as a rule
        unit = STEP_SECONDS * steps * self.method.k * self.size.width
        return Expected.of(stage_of(name, Work.PROPAGATION), self.size.rows, unit)

    def round(self, name: str) -> list[Expected]:
        """Return all stages of a round."""
        return [*self.graph(name), self.walk(name)]


def stage_of(name: str, work: Work) -> Stage:
    """Return the stage of a round; `name` says which round it is."""
    return Stage(f"{name}: {work.value}", work, f"{name}, {WORDS[work]}")
