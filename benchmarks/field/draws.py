"""Do pooled logistic regressions of `draws` hold? Bank, many masks, against its exact values.

    python -m benchmarks.field.draws --data DIR --seeds 12
    python -m benchmarks.field.draws --data DIR --seeds 40 --cf marital --method boost

A replicate is some rows drawn from the table, with a new mask: one value ruled out in each cell. y is
regressed on the dummies of one CF and six OFs. The target is the regression of the whole table by its
exact values, so that intervals must hold both sampling and masking. The slope is that of the pooled
coefficients of the CF's dummies on the true ones, with its standard error over replicates: below 1,
they are too small.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.field.cases import markdown
from cfl_cli import impute, pool
from cfl_cli.core.arrays import Floats
from cfl_cli.errors import DataError
from cfl_cli.run.draws import METHOD

CFS, DRAWS = ("marital", "contact", "poutcome", "education"), 20
NUMBERS = ("age", "balance", "duration", "campaign", "previous")
BINARY = ("default", "housing", "loan")
USED = ("age", "balance", "duration", "campaign", "housing", "loan")  # in the regression

HEAD = ("cf", "rows", "refused", "slope", "holds", "others hold")


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
    others = [(_number(table[one]) - scales[one][0]) / scales[one][1] for one in USED]
    return np.column_stack([*dummies, *others, np.ones(len(table))])


def _number(column: pl.Series) -> Floats:
    return np.asarray((column == "yes" if column.dtype == pl.String else column).cast(pl.Float64))


def replicate(table: pl.DataFrame, cfs: list[str], rows: int, seed: int, method: str) -> Any:
    random = np.random.default_rng([seed, rows])
    drawn = table[random.integers(0, len(table), rows)]
    ofs: dict[str, Any] = {one: {"role": "ordinary", "type": "numeric"} for one in NUMBERS}
    ofs |= {one: {"role": "ordinary", "type": "binary", "values": ["no", "yes"]} for one in BINARY}
    for cf in cfs:
        values = sorted(table[cf].unique())
        places = drawn[cf].replace_strict(values, [*range(len(values))], return_dtype=pl.Int64)
        other = (places.to_numpy() + random.integers(1, len(values), rows)) % len(values)
        cells = pl.Series(cf, [values[one] for one in other])
        frame = drawn.with_columns(cells)
        schema = {"columns": {**ofs, cf: {"role": "complementary", "values": values}}}
        result = impute(frame, schema, method=method, seed=seed, progress=False, diagnostics=False)
        # As if other methods were not refused.
        own: Any = result.drawable
        result = replace(result, drawable=replace(own, method=METHOD))
        try:
            yield cf, values, result.draws(DRAWS, by="y")
        except DataError as error:
            yield cf, values, error.code


def run(
    table: pl.DataFrame, cfs: list[str], seeds: int, rows: int, method: str
) -> list[dict[str, Any]]:
    scales = {one: (_number(table[one]).mean(), _number(table[one]).std()) for one in USED}
    found: dict[str, Any] = {cf: [[], [], [], [], 0] for cf in cfs}
    y = _number(table["y"])
    for seed in range(seeds):
        for cf, values, long in replicate(table, cfs, rows, seed, method):
            if isinstance(long, str):
                found[cf][4] += 1
                continue
            truth = logistic(design(table, cf, values, scales), y)[0]
            parts = [one for (k,), one in long.group_by(".imp", maintain_order=True) if k]
            fits = [logistic(design(one, cf, values, scales), _number(one["y"])) for one in parts]
            pooled, k = pool(fits), len(values) - 1
            holds = (pooled["low"].to_numpy() <= truth) & (truth <= pooled["high"].to_numpy())
            for at, what in enumerate((truth, pooled["estimate"].to_numpy(), holds)):
                found[cf][at].append(what[:k])
            found[cf][3].append(holds[k:])
    lines = []
    for cf, (truths, estimates, holds, others, refused) in found.items():
        line: dict[str, Any] = {"cf": cf, "rows": rows, "refused": f"{refused} of {seeds}"}
        if truths:
            slopes = [
                true @ ours / (true @ true) for true, ours in zip(truths, estimates, strict=True)
            ]
            error = np.std(slopes, ddof=1) / np.sqrt(len(slopes)) if len(slopes) > 1 else np.nan
            line["slope"] = f"{np.mean(slopes):.2f} ± {error:.2f}"
            line["holds"] = f"{np.concatenate(holds).mean():.2f} of {np.size(holds)}"
            line["others hold"] = f"{np.concatenate(others).mean():.2f}"
        lines.append(line)
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True, help="folder of bank.csv")
    parser.add_argument("--cf", nargs="+", default=[*CFS])
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--method", default="graph")
    asked = parser.parse_args()
    bank = pl.read_csv(asked.data / "bank.csv")
    lines = run(bank, asked.cf, asked.seeds, asked.rows, asked.method)
    print(*markdown(HEAD, ([one.get(it, "-") for it in HEAD] for one in lines)), sep="\n")
