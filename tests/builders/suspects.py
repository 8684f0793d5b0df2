"""Diagnostics to list suspect cells from."""

import polars as pl

from cfl_cli.run.diagnostics import KINDS


def diagnostics(*cells):
    """Return diagnostics, ranked, of (row, CF, value, times as likely, P(wrong), at most)."""
    rows = [
        (rank + 1, row, cf, "doubtful-cell", value, 0.1, 0.2, times, wrong, most, wrong, most, None)
        for rank, (row, cf, value, times, wrong, most) in enumerate(cells)
    ]
    return pl.DataFrame(rows, schema=KINDS, orient="row")


CELLS = diagnostics(
    (40, "job", "nurse", 2e9, 0.75, 0.99),
    (7, "job", None, 30.5, 0.5, 0.8),
    (7, "pet", "cat", 4.0, 0.25, 0.5),
    (9, "hat", "<b>", 3.0, None, None),
    (8, "job", "clerk", None, None, None),  # an exact cell
)
