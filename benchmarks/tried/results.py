"""What was found, as `docs/tried.json` holds it."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from benchmarks.tried.lab import Scores

DIGITS = 5


@dataclass(frozen=True)
class Run:
    """One variant on one table and seed."""

    table: str
    seed: int
    variant: str
    cfs: Scores
    gain: float | None  # of the score over what it is compared with; mean over CFs
    gain_error: float | None  # its standard error, over the hidden rows

    def mean(self, metric: str) -> float:
        """Return the mean over the CFs."""
        return fmean(each[metric] for each in self.cfs.values())


@dataclass(frozen=True)
class Results:
    """All runs, and what they depend on."""

    rows: int  # of each table
    versions: dict[str, str]
    runs: tuple[Run, ...]

    @property
    def tables(self) -> list[str]:
        """Return the tables, in the order they were run."""
        return list(dict.fromkeys(run.table for run in self.runs))

    @property
    def seeds(self) -> list[int]:
        """Return the seeds, in the order they were run."""
        return list(dict.fromkeys(run.seed for run in self.runs))

    def of(self, variant: str, table: str) -> list[Run]:
        """Return the runs of a variant on a table, one for each seed."""
        return [run for run in self.runs if (run.variant, run.table) == (variant, table)]

    def mean(self, variant: str, table: str, metric: str) -> float:
        """Return the mean over CFs and seeds."""
        return fmean(run.mean(metric) for run in self.of(variant, table))

    def save(self, path: Path) -> None:
        """Write all to a file."""
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, path: Path) -> "Results":
        """Read all from a file."""
        facts = json.loads(path.read_text())
        return cls(facts["rows"], facts["versions"], tuple(Run(**run) for run in facts["runs"]))


def rounded(scores: Scores) -> Scores:
    """Return scores with as many digits as are kept."""
    return {
        cf: {metric: round(value, DIGITS) for metric, value in each.items()}
        for cf, each in scores.items()
    }
