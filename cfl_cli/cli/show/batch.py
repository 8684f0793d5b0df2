"""What a batch of new rows adds to the page of a report: sentences below its table."""

from collections.abc import Iterator, Mapping, Sequence

from cfl_cli.cli.show.history import odds
from cfl_cli.core.messages import count, printable
from cfl_cli.trust.drift_figures import Drift
from cfl_cli.trust.report import Batch, ColumnReport, Report

MENTIONED = 5  # columns, at most, of one sentence; the others are counted
NOTEWORTHY = 0.1  # of a rise: less is left out


def notes(report: Report) -> Iterator[str]:
    """Yield a sentence for everything that concerns a batch alone."""
    batch = report.batch
    if batch is None:
        return
    for column in report.columns:
        if column.drift is not None and "drifted" in column.flags:
            yield _of_drift(column, column.drift, batch)
        elif "drifted" in column.flags:
            yield f"{printable(column.name)}: it had drifted before this batch."
    yield from _unknown(report.columns)
    yield from _power(report.columns)
    for what, shares in (
        ("new categories", batch.new_categories),
        ("out of range", batch.out_of_range),
    ):
        if shares:
            yield f"{what}, by share of the rows: {_shares(shares)}."
    if batch.rows_judged < report.rows:
        yield f"Figures are by {batch.rows_judged:,} of the rows, drawn by their number."


def _of_drift(column: ColumnReport, drift: Drift, batch: Batch) -> str:
    """Return how much worse a CF's cells are predicted."""
    since = drift.drifted_since
    earlier = f" since batch {since}" if since and batch.number and since < batch.number else ""
    error = "" if drift.error is None else f" ± {drift.error:.4f}"
    return (
        f"{printable(column.name)}: this CF's new cells are predicted worse than those at fitting"
        f"{earlier}: loss {drift.loss_at_fitting:.4f} → {drift.loss:.4f}{error}; evidence "
        f"{odds(drift.evidence)}{_why(drift)}."
    )


def _why(drift: Drift) -> str:
    """Return what a rise comes from: harder rows, or another relation to the other columns."""
    rise = drift.loss - drift.loss_at_fitting
    harder = drift.expected - drift.expected_at_fitting
    if rise <= 0:
        return ""
    if harder > NOTEWORTHY * rise:
        return f"; {harder:.4f} of the rise is that the model itself finds these rows harder"
    return (
        "; the model itself does not find these rows harder, so what the CF has to do with the "
        "other columns has changed"
    )


def _unknown(columns: Sequence[ColumnReport]) -> Iterator[str]:
    for reason in dict.fromkeys(column.drift_reason for column in columns):
        if reason is not None:
            names = [column.name for column in columns if column.drift_reason == reason]
            yield f"{_some(names)}: drift is not judged: {printable(reason)}."


def _power(columns: Sequence[ColumnReport]) -> Iterator[str]:
    """Yield what rise of the loss this batch would have shown."""
    shown = [
        f"{printable(column.name)} {column.drift.least_rise:.4f}"
        for column in columns
        if column.drift and column.drift.least_rise is not None
    ]
    blind = [
        column.name
        for column in columns
        if column.drift and column.drift.least_rise is None and "drifted" not in column.flags
    ]
    if shown:
        rest = f" and {count(len(shown) - MENTIONED, 'other CF')}" * (len(shown) > MENTIONED)
        yield (
            "Rises of the loss that this batch alone would have shown, about: "
            f"{', '.join(shown[:MENTIONED])}{rest}."
        )
    if blind:
        yield f"{_some(blind)}: this batch alone is too small to show a change."


def _shares(shares: Mapping[str, float]) -> str:
    most = sorted(shares.items(), key=lambda item: -item[1])
    parts = [f"{printable(name)} {_percent(share)}" for name, share in most[:MENTIONED]]
    if len(most) > MENTIONED:
        parts.append(f"{count(len(most) - MENTIONED, 'other column')} less")
    return ", ".join(parts)


def _percent(share: float) -> str:
    return "under 0.1 %" if share < 0.001 else f"{100 * share:.1f} %"


def _some(names: Sequence[str]) -> str:
    listed = ", ".join(map(printable, names[:MENTIONED]))
    rest = len(names) - MENTIONED
    return f"{listed} and {count(rest, 'other CF')}" if rest > 0 else listed
