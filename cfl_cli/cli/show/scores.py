"""The page of scores against the truth: a line for each CF, then one for the mean."""

from collections.abc import Iterator
from dataclasses import asdict, fields
from typing import TypeAlias

from cfl_cli.cli.show.page import Field as AnyField
from cfl_cli.cli.show.page import Page
from cfl_cli.core.messages import count, printable
from cfl_cli.core.quick import dataclass
from cfl_cli.jobs.evaluate import ColumnScores, Evaluation, Scores
from cfl_cli.trust.scores import CLIP

ORDER = "rows in the same order, or match them by a key (--key)"


@dataclass(frozen=True)
class Line:
    """A CF and its scores, or the mean over all of them."""

    scores: ColumnScores | Scores

    @property
    def column(self) -> ColumnScores | None:
        """Return the CF, if it is one."""
        return self.scores if isinstance(self.scores, ColumnScores) else None


Field: TypeAlias = AnyField[Line]


def page(evaluation: Evaluation) -> Page[Line]:
    """Return what there is to show of an evaluation; the record of the mean has no name."""
    names = [field.name for field in fields(ColumnScores)]
    mean = dict.fromkeys(names) | asdict(evaluation.mean)
    by = f", matched by {', '.join(map(printable, evaluation.key))}" if evaluation.key else ""
    return Page(
        title=f"{count(evaluation.rows, 'row')}, {count(len(evaluation.columns), 'CF')}{by}",
        fields=FIELDS,
        facts=[*map(Line, evaluation.columns), Line(evaluation.mean)],
        notes=_notes(evaluation),
        records=[*map(asdict, evaluation.columns), mean],
        json=evaluation.to_json(),
    )


def _score(name: str, heading: str, *, begins: bool = False) -> Field:
    """Return the column of a score."""

    def show(line: Line) -> str:
        value = getattr(line.scores, name)
        return "-" if value is None else f"{value:.3f}"

    return Field(heading, show, right=True, begins=begins)


def _count(name: str, heading: str) -> Field:
    """Return a column that counts."""
    return Field(
        heading,
        lambda line: f"{getattr(line.column, name):,}" if line.column else "",
        right=True,
    )


NAME = Field(
    "CF",
    lambda line: printable(line.column.name) if line.column else "mean",
    folds=True,
    style=lambda line: "bold" if line.column else "",
)
FIELDS = (
    NAME,
    _count("domain_size", "values"),
    _count("known", "rows"),
    _count("unanswered", "unanswered"),
    _score("accuracy", "accuracy", begins=True),
    _score("macro_f1", "macro-F1"),
    _score("cross_entropy", "cross entropy"),
    _score("entropy", "entropy"),
    _score("expected_calibration_error", "ECE"),
)


def _notes(evaluation: Evaluation) -> list[str]:
    """Return a sentence for everything that a score alone does not say."""
    soft = evaluation.mean.entropy is not None
    return [
        *(note for column in evaluation.columns for note in _of_column(column, evaluation)),
        *(() if soft else ["no cross entropy, no entropy: impute with --mode soft or both."]),
        *(f"warning: {printable(warning)}." for warning in evaluation.warnings),
    ]


def _of_column(column: ColumnScores, evaluation: Evaluation) -> Iterator[str]:
    name = printable(column.name)
    unknown = evaluation.rows - column.known
    if unknown:
        rows = count(unknown, "row")
        yield f"{name}: {rows} without a true value, counted in the entropy alone."
    if column.unanswered:
        yield (
            f"{name}: {count(column.unanswered, 'row')} unanswered; accuracy, macro-F1 and ECE "
            "are those of the others."
        )
    if column.contradicted:
        yield (
            f"{name}: in {count(column.contradicted, 'row')} the cell rules out the true value: "
            f"check that both tables have the same {'keys' if evaluation.key else ORDER}."
        )
    if column.zero_confidence:
        yield (
            f"{name}: {count(column.zero_confidence, 'row')} with a confidence below {CLIP:g} in "
            "the true value; it counts as that in the cross entropy."
        )
