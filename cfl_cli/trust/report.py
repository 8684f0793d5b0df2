"""What a run tells of itself, as plain data: facts and verdicts per CF, to JSON and back.

A report never holds a cell of the table, nor a domain value: values are named by their place.
"""

import json
from dataclasses import asdict, dataclass, field
from typing import Annotated, ClassVar, TypeAlias

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from cfl_cli.errors import DataError

# A report may come from a file that anybody wrote: what is read must be printable.
STRICT = ConfigDict(strict=True, allow_inf_nan=False)
Setting: TypeAlias = bool | int | float | str | None

FLAGGING = {"small-entropy-reduction", "no-better-than-commonest"}
ADVICE = {
    "small-entropy-reduction": (
        "little is known of this CF from the OFs, or no more than of its cells when these are "
        "shuffled: keep it as observed (--keep-flagged), or add OFs that bear on it"
    ),
    "no-better-than-commonest": (
        "the answers are not clearly better than always answering the commonest candidate: keep "
        "the CF as observed (--keep-flagged), add OFs that bear on it, or add rows"
    ),
    "exclusions-not-uniform": (
        "some value is ruled out more often than chance allows, so the cells were not filled in as "
        "the schema says or the method assumes: tell how under `mechanism`, and until then do not "
        "rely on this CF's figures, its accuracy least of all"
    ),
    "fallback-rows": (
        "in some rows the estimate rules out every candidate, and all candidates count alike "
        "there: look for wrong exclusions or a missing domain value"
    ),
}


@dataclass(frozen=True)
class Estimated:
    """A number estimated from hidden cells, with its 95 % interval."""

    __pydantic_config__: ClassVar = STRICT

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Bin:
    """Hidden cells whose answers are about as confident."""

    __pydantic_config__: ClassVar = STRICT

    low: float  # confidence
    high: float
    cells: int
    confidence: float  # mean
    accuracy: Estimated


@dataclass(frozen=True)
class Calibration:
    """Whether answers are right as often as their confidence says."""

    __pydantic_config__: ClassVar = STRICT

    error: float  # root mean square of accuracy − confidence over the cells, noise subtracted
    overconfidence: Estimated  # mean confidence − accuracy
    bins: tuple[Bin, ...]
    plot: str  # a sign for each tenth of confidence, as high as its accuracy; blank: no cells


@dataclass(frozen=True)
class Confident:
    """The answers that `min_confidence` leaves."""

    __pydantic_config__: ClassVar = STRICT

    share: float  # of all cells
    accuracy: Estimated | None


@dataclass(frozen=True)
class Part:
    """One of the answers that a CF's answer was blended from."""

    __pydantic_config__: ClassVar = STRICT

    name: str
    score: float  # of hidden cells, up to a constant that all parts share
    weight: float  # 0: left out


@dataclass(frozen=True)
class ColumnReport:
    """The facts and the verdict of one CF. None: not known."""

    __pydantic_config__: ClassVar = STRICT

    name: str
    domain_size: int
    exclusions_per_cell: float
    exact_cells: int
    empty_cells: int
    entropy_start: float
    entropy_end: float
    entropy_reduction: Annotated[float, Field(ge=0, le=1)]
    entropy_reduction_null: float | None
    mean_confidence: float
    commonest_share: float | None
    heldout_score: float | None
    estimated_accuracy: Estimated | None
    flags: tuple[str, ...]
    flagged: bool
    action: str
    fallback_rows: int
    low_confidence_cells: int
    hidden_cells: int = 0  # that the estimates stand on
    commonest_share_interval: Estimated | None = None
    commonest_accuracy: Estimated | None = None  # of always answering the commonest candidate
    gain: Estimated | None = None  # estimated_accuracy over commonest_accuracy, on the same cells
    confident: Confident | None = None  # None: no min_confidence
    calibration: Calibration | None = None
    suspect_cells: int = 0  # whose candidates the estimate all but rules out
    impossible_values: tuple[int, ...] = ()  # places in the domain, from 1: ruled out too often
    method: str = "graph"  # that gave the answer
    parts: tuple[Part, ...] = ()  # that it was chosen among or blended from
    round: int | None = None  # of the graph, whose answer was taken
    iterations: int | None = None  # after which that stopped


@dataclass(frozen=True)
class Report:
    """The facts of one run."""

    __pydantic_config__: ClassVar = STRICT

    cfl_version: str
    rows: int
    settings: dict[str, Setting]
    columns: tuple[ColumnReport, ...]
    warnings: tuple[str, ...] = ()
    rescued_rows: int = 0  # whose weights OSQP did not settle and an exact solver did
    neighbor_recall: float = 1.0  # share of the true neighbors that were found, measured
    steps: tuple[int, ...] = ()  # of propagation, in each round
    timings: dict[str, float] = field(default_factory=dict)
    peak_memory_mb: float | None = None
    version: int = 1

    @property
    def kept(self) -> frozenset[str]:
        """Return the names of the CFs that stay as observed."""
        return frozenset(column.name for column in self.columns if column.action == "kept")

    def to_json(self) -> str:
        """Return the report as JSON text, one object."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes, *, name: str) -> "Report":
        """Read what `to_json` wrote; `name` says in an error what text this is."""
        try:
            report = TypeAdapter(cls).validate_json(text)
        except ValidationError as error:
            fault = error.errors()[0]
            place = ".".join(str(part) for part in fault["loc"]) or "the whole"
            raise DataError(f"{name}: not a report of cfl ({place}: {fault['msg']})") from None
        if report.version != 1:
            raise DataError(
                f"{name}: a report of version {report.version}; this cfl reads version 1"
            )
        return report
