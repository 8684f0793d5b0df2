"""What a report holds of a batch's cells beside those at fitting: see `drift`, which finds it."""

from cfl_cli.core.quick import dataclass


@dataclass(frozen=True)
class Drift:
    """How one CF's cells of a batch are predicted, beside those at fitting that are alike."""

    cells: int  # that are compared
    # Mean, from 0 to 1: how much likelier the cells are by the shares of the values alone than by
    # the model, on a log scale.
    loss: float
    loss_at_fitting: float  # the same, for as many exclusions
    limit: float  # that the mean of stable cells has
    error: float | None  # standard error of loss − loss_at_fitting; None: of one row alone
    expected: float  # loss that the model itself expects of these rows
    expected_at_fitting: float
    # Of the loss, that this batch alone would have shown; None: none that it could show.
    least_rise: float | None
    evidence: float = 0.0  # that cells are predicted worse, of all batches so far: 1 : evidence
    alarm_at: float = 0.0  # evidence that takes
    alarm: bool = False  # was it reached in this batch?
    drifted_since: int | None = None  # the batch of the first alarm that is not over
