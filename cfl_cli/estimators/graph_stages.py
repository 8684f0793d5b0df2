"""The stages of the graph's rounds, and about how long each takes."""

from dataclasses import replace

from cfl_cli.core.quick import dataclass
from cfl_cli.core.settings import Settings
from cfl_cli.core.stages import Expected, Stage, Work
from cfl_cli.estimators.graph_fitted import model_bytes
from cfl_cli.estimators.graph_settings import LONGEST, chooses_steps, gamma, most_steps
from cfl_cli.estimators.interface import Size
from cfl_cli.steps.weights import rows_at_once

WORDS = {
    Work.NEIGHBORS: "finding neighbors",
    Work.WEIGHTS: "weighing neighbors",
    Work.PROPAGATION: "propagating",
}
SAMPLED_ABOVE = 20_000  # rows; of more, some are enough to compare cells with shuffled ones …
SAMPLE_ROWS = 5_000  # … and so many are taken
NEIGHBORS_SECONDS = 8e-6  # per row^1.1
WEIGHTS_SECONDS = 6e-8  # per row and k²
STEP_SECONDS = 3.8e-10  # per row, neighbor and value


def stages(size: Size, settings: Settings, *, folds: int, longest: int = LONGEST) -> list[Expected]:
    """Return what `estimate` is going to do, and about how long each stage takes."""
    choosing, twice = chooses_steps(settings), gamma(settings) > 0
    hidden = [f"fold {number + 1}" for number in range(folds)]
    rounds = RoundStages(size, settings, longest)
    ahead = rounds.graph("round 1")
    if choosing:
        ahead += [rounds.walk(f"{fold}, round 1") for fold in hidden]
    for fold in hidden:
        ahead.append(rounds.walk(f"{fold}, round 1"))
        ahead += rounds.round(f"{fold}, round 2") if twice else []
    ahead.append(rounds.walk("round 1"))
    if folds and size.rows > SAMPLED_ABOVE:
        sample = replace(rounds, size=replace(size, rows=SAMPLE_ROWS))
        ahead += [*sample.round("sample"), sample.walk("shuffled")]
    elif folds:
        ahead.append(rounds.walk("shuffled"))
    return ahead + (rounds.round("round 2") if twice else [])


@dataclass(frozen=True)
class RoundStages:
    """What the rounds of a table are expected to take."""

    size: Size
    settings: Settings
    longest: int = LONGEST

    def graph(self, name: str) -> list[Expected]:
        """Return the stages in which a round's graph is made."""
        units = {
            Work.NEIGHBORS: NEIGHBORS_SECONDS,
            Work.WEIGHTS: WEIGHTS_SECONDS * self.settings.k**2,
        }
        rows = self.size.rows
        return [Expected.of(stage_of(name, work), rows, unit) for work, unit in units.items()]

    def walk(self, name: str) -> Expected:
        """Return the stage in which confidences are propagated."""
        steps: float = most_steps(self.settings, self.longest)
        if chooses_steps(self.settings):
            steps /= 4  # it ends early as a rule
        unit = STEP_SECONDS * steps * self.settings.k * self.size.width
        return Expected.of(stage_of(name, Work.PROPAGATION), self.size.rows, unit)

    def round(self, name: str) -> list[Expected]:
        """Return all stages of a round."""
        return [*self.graph(name), self.walk(name)]


def stage_of(name: str, work: Work) -> Stage:
    """Return the stage of a round; `name` says which round it is."""
    return Stage(f"{name}: {work.value}", work, f"{name}, {WORDS[work]}")


def memory(size: Size, settings: Settings, *, jobs: int) -> float:
    """Return about how many bytes are held at the peak, those of the table left aside."""
    n, d, width, k = size.rows, size.features, size.width, settings.k
    points = d + (width if gamma(settings) else 0)
    features = 8 * n * (d + 2 * points)  # the OFs'; the last round's, and its distinct rows
    index = n * (4 * points + 8 + 8 + 36 + 32)  # offsets, members, homes, centers' reach, groups
    graph = n * k * (4 + 8 + 16)  # neighbors, weights, and both again laid out
    confidences = n * width * (1 + 4 * 8)  # the mask; before, after, round one's, the output's
    # Every thread holds differences to neighbors, and k × k matrices on the way to the weights.
    thread = 8 * rows_at_once(k, points) * k * (2 * points + 6 * k)
    kept = 2 * model_bytes(size, settings)  # and once more on the way
    return float(features + max(index, confidences + kept) + graph + jobs * thread)
