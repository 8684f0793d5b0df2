"""CFs are counted by what the report says of bias and what is true."""

from builders.reports import column

from benchmarks.field.bias import Judged, table
from cfl_cli.trust.intervals import Interval


def test_cfs_are_counted_by_what_is_said_and_what_is_true():
    known = {"estimated_accuracy": Interval(0.6, 0.5, 0.7), "domain_size": 4}
    cfs = [
        Judged("twice as often", column(**known, break_even_bias=2.5), 0.65, 0.4),  # kept its word
        Judged("twice as often", column(**known, break_even_bias=2.5), 0.45, 0.5),  # broke it
        Judged("twice as often", column(**known, unnoticed_bias=1.5), 0.6, 0.4),  # would notice?
        Judged("twice as often", column(domain_size=4), 0.6, 0.4),
        Judged("people", column(domain_size=3), 0.6, 0.4),
    ]
    assert list(table(cfs))[2:] == [
        "| people | 3 | 1 | 1 | 0 | 1 | 0 of 0 | 0 of 0 |",
        "| twice as often | 4 or more | 4 | 1 | 2 | 3 | 1 of 2 | 2 of 3 |",
    ]
