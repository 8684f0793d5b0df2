"""Scores against the truth, as people and programs read them: table, JSON, CSV or Markdown."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from typing import TypeAlias

from cfl_cli.cli.show import layout as listing
from cfl_cli.core.messages import count, printable
from cfl_cli.jobs.evaluate import ColumnScores, Evaluation, Scores
from cfl_cli.trust.scores import CLIP

FAIR = 92  # from this width on there is room for everything


@dataclass(frozen=True)
class Line:
    """A CF and its scores, or the mean over all of them."""

    scores: ColumnScores | Scores

    @property
    def column(self) -> ColumnScores | None:
        """Return the CF, if it is one."""
        return self.scores if isinstance(self.scores, ColumnScores) else None


Field: TypeAlias = listing.Field[Line]


def _score(name: str, heading: str) -> Field:
    """Return the column of a score."""

    def show(line: Line) -> str:
        value = getattr(line.scores, name)
        return "-" if value is None else f"{value:.3f}"

    return Field(heading, show, right=True)


def _rows(name: str, heading: str) -> Field:
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
VALUES = _rows("domain_size", "values")
UNANSWERED = _rows("unanswered", "unanswered")
FIELDS = [
    NAME,
    VALUES,
    _rows("known", "rows"),
    UNANSWERED,
    _score("accuracy", "accuracy"),
    _score("macro_f1", "macro-F1"),
    _score("cross_entropy", "cross entropy"),
    _score("entropy", "entropy"),
    _score("expected_calibration_error", "ECE"),
]
TIGHT = (VALUES, UNANSWERED)  # what there is no room for below FAIR; a note tells of the latter


def table(evaluation: Evaluation, *, color: bool, width: int | None) -> str:
    """Return the scores for a terminal: a line per CF, then what to know of them."""
    width = listing.width_of(width)
    shown = [field for field in FIELDS if width >= FAIR or field not in TIGHT]
    lines, notes = _lines(evaluation), _notes(evaluation)
    return listing.columns(_title(evaluation), shown, lines, notes, color=color, width=width)


def markdown(evaluation: Evaluation) -> str:
    """Return the scores as a Markdown table."""
    return listing.markdown(_title(evaluation), FIELDS, _lines(evaluation), _notes(evaluation))


def comma_separated(evaluation: Evaluation) -> str:
    """Return a CSV record per CF, then one without a name for the mean."""
    names = [field.name for field in fields(ColumnScores)]
    mean = dict.fromkeys(names) | asdict(evaluation.mean)
    return listing.comma_separated([*map(asdict, evaluation.columns), mean])


def json_text(evaluation: Evaluation) -> str:
    """Return everything as JSON."""
    return evaluation.to_json() + "\n"


FORMATS: dict[str, Callable[[Evaluation], str]] = {
    "json": json_text,
    "csv": comma_separated,
    "md": markdown,
}


def _title(evaluation: Evaluation) -> str:
    return f"{count(evaluation.rows, 'row')}, {count(len(evaluation.columns), 'CF')}"


def _lines(evaluation: Evaluation) -> list[Line]:
    return [*map(Line, evaluation.columns), Line(evaluation.mean)]


def _notes(evaluation: Evaluation) -> list[str]:
    """Return a sentence for everything that a score alone does not tell."""
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
        yield f"{name}: {count(unknown, 'row')} without a truth, for the entropy alone."
    if column.unanswered:
        yield (
            f"{name}: {count(column.unanswered, 'row')} unanswered; accuracy, macro-F1 and ECE "
            "are those of the others."
        )
    if column.contradicted:
        yield (
            f"{name}: in {count(column.contradicted, 'row')} the cell rules out what is said to be "
            "true: see that both tables have the same rows in the same order."
        )
    if column.zero_confidence:
        yield (
            f"{name}: {count(column.zero_confidence, 'row')} with a confidence below {CLIP:g} in "
            "the true value; it counts as that in the cross entropy."
        )
