"""What `benchmarks.models.hostile` does with a model of the sample: it is loaded and applied."""

from contextlib import suppress
from pathlib import Path

import polars as pl

from cfl_cli.errors import DataError
from cfl_cli.run.result import Model

SAMPLE = Path(__file__).parents[2] / "sample_data" / "triage.csv"


def applied(path: Path) -> None:
    model = Model.load(path)
    # Only now: threads that polars has started do not survive a fork.
    rows = pl.read_csv(SAMPLE, infer_schema=False).tail(20)
    with suppress(DataError):  # a model of another domain, say, to which these rows do not fit
        model.apply(rows, mode="both", jobs=1)
