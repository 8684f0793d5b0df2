"""What happened, per CF, and which CFs can be trusted.

A report is plain data: it never holds a cell of the table, nor a domain value.
"""

import json
from dataclasses import asdict, dataclass, field
from typing import Annotated, ClassVar, TypeAlias

import numpy as np
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from cfl_cli.arrays import Floats, Mask
from cfl_cli.decode import best
from cfl_cli.encode import Block, Encoded
from cfl_cli.errors import DataError
from cfl_cli.estimate import Estimate

# A report may come from a file that anybody wrote: what is read must be printable.
STRICT = ConfigDict(strict=True, allow_inf_nan=False)
Setting: TypeAlias = bool | int | float | str | None

SMALL_REDUCTION = 0.25
FLAGGING = {"small-entropy-reduction", "no-better-than-commonest"}
ADVICE = {
    "small-entropy-reduction": (
        "the neighbors say little about this CF: keep it as observed (--keep-flagged), "
        "or add OFs that bear on it"
    ),
    "fallback-rows": (
        "in some rows the neighbors rule out every candidate, and all candidates count alike "
        "there: look for wrong exclusions or a missing domain value"
    ),
}


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
    estimated_accuracy: dict[str, float] | None
    flags: tuple[str, ...]
    flagged: bool
    action: str
    fallback_rows: int
    low_confidence_cells: int


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


def build(
    encoded: Encoded,
    estimate: Estimate,
    *,
    cfl_version: str,
    settings: dict[str, Setting],
    keep_flagged: bool,
) -> Report:
    """Return the report of one run, without its timings and memory."""
    columns = tuple(
        _column(block, encoded, estimate, number, keep_flagged=keep_flagged)
        for number, block in enumerate(encoded.blocks)
    )
    return Report(
        cfl_version,
        len(encoded.features),
        settings,
        columns,
        warnings=encoded.warnings,
        rescued_rows=estimate.rescued_rows,
        neighbor_recall=estimate.recall,
        steps=estimate.steps,
    )


def _column(
    block: Block, encoded: Encoded, estimate: Estimate, number: int, *, keep_flagged: bool
) -> ColumnReport:
    candidates = encoded.candidates[:, block.columns]
    confidences = estimate.confidences[:, block.columns]
    # Confidence starts out even over a cell's candidates: its entropy is the log of their number.
    before = float(np.log(candidates.sum(axis=1)).mean())
    after = float(entropy(confidences).mean())
    reduction = min(max(1 - after / before, 0.0), 1.0) if before > 0 else 1.0
    fallback_rows = int(estimate.fell_back[:, number].sum())
    flags = []
    if reduction < SMALL_REDUCTION:
        flags.append("small-entropy-reduction")
    if fallback_rows:
        flags.append("fallback-rows")
    flagged = not FLAGGING.isdisjoint(flags)
    place = best(confidences, candidates)
    return ColumnReport(
        name=block.name,
        domain_size=len(block.values),
        exclusions_per_cell=block.exclusions_per_cell,
        exact_cells=block.exact_cells,
        empty_cells=block.empty_cells,
        entropy_start=before,
        entropy_end=after,
        entropy_reduction=reduction,
        entropy_reduction_null=None,
        mean_confidence=float(confidences[np.arange(len(place)), place].mean()),
        commonest_share=commonest_share(candidates),
        heldout_score=None,
        estimated_accuracy=None,
        flags=tuple(flags),
        flagged=flagged,
        action="kept" if flagged and keep_flagged else "imputed",
        fallback_rows=fallback_rows,
        low_confidence_cells=0,
    )


def entropy(confidences: Floats) -> Floats:
    """Return the Shannon entropy of every row, natural log; 0 log 0 is 0."""
    logs = np.log(confidences, out=np.zeros_like(confidences), where=confidences > 0)
    # The absolute value and not −Σ: rounding may leave a hair on the wrong side of 0.
    return np.asarray(abs((confidences * logs).sum(axis=1)))


def commonest_share(candidates: Mask) -> float | None:
    """Return the estimated share of the commonest value, None when no cell says anything.

    Under uniform exclusions a cell that rules out s values rules out value c, where c is not the
    true one, with probability s/(K−1). So (1 − share of c) · Σs/(K−1) cells are expected to rule
    out c. An exact cell is one with s = K−1.
    """
    excluded = (~candidates).sum(axis=0)
    if not excluded.any():
        return None
    shares = 1 - (candidates.shape[1] - 1) * excluded / excluded.sum()
    return float(np.clip(shares.max(), 0, 1))
