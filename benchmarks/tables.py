"""The tables that are measured on: Bank and Adult, masked, and a generated one of any length.

Run as a module it writes one to a folder, as a user of `cfl` would have it: `data.parquet` and
`schema.yml`, and `truth.parquet`, which nobody but the judge of accuracy reads.

    python -m benchmarks.tables generated --rows 1000 --to FOLDER
"""

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.encode.encode import Encoded, encode
from cfl_cli.schema.model import Schema

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
CFS = {
    "bank": ["job", "marital", "education", "contact", "poutcome"],
    "adult": [
        "workclass",
        "education",
        "marital-status",
        "occupation",
        "relationship",
        "race",
        "native-country",
    ],
}
BINARY = {"bank": ["default", "housing", "loan"], "adult": ["sex"]}
# The column that is predicted from all others, and its positive values.
TARGET = {"bank": ("y", ["yes"]), "adult": ("income", [">50K"]), "generated": ("cf_0", ["a", "b"])}
FACTORS, OFS, GENERATED_CFS, DOMAIN = 4, 10, 3, 5  # of the generated table


@dataclass(frozen=True)
class Table:
    """A table with its exact values, and the same with exclusions instead."""

    truth: pl.DataFrame
    masked: pl.DataFrame
    ofs: dict[str, str]  # the type of each
    cfs: dict[str, list[str]]  # the domain of each

    @property
    def schema(self) -> str:
        columns: dict[str, dict[str, object]] = {
            name: {"role": "ordinary", "type": kind} for name, kind in self.ofs.items()
        }
        for name, values in self.cfs.items():
            columns[name] = {"role": "complementary", "values": values}
        return json.dumps({"version": 1, "columns": columns})

    def without(self, of: str) -> "Table":
        return replace(self, ofs={name: kind for name, kind in self.ofs.items() if name != of})

    def some(self, rows: Ints) -> "Table":
        return replace(self, truth=self.truth[rows], masked=self.masked[rows])

    @property
    def places(self) -> Ints:
        return np.column_stack([places(self.truth[cf], own) for cf, own in self.cfs.items()])

    def write(self, folder: Path, *, as_csv: bool = False) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "schema.yml").write_text(self.schema)
        self.masked.write_parquet(folder / "data.parquet")
        if as_csv:
            self.masked.write_csv(folder / "data.csv")
        self.truth.select(list(self.cfs)).write_parquet(folder / "truth.parquet")


def make(name: str, *, rows: int | None, data: Path | None, seed: int) -> Table:
    """Return a table by its name; without `rows`, all that its file holds."""
    if name == "generated":
        return generated(rows or 1000, seed=seed)
    if data is None:
        raise FileNotFoundError(f"{name}.csv is wanted: name its folder with --data")
    return read(name, data, rows=rows, seed=seed)


def read(name: str, data: Path, *, rows: int | None, seed: int) -> Table:
    truth = pl.read_csv(data / f"{name}.csv", infer_schema=False)
    if name == "bank":
        truth = truth.with_columns(pl.col("month").replace_strict(MONTHS, list(range(1, 13))))
    named = {*CFS[name], *BINARY[name], TARGET[name][0]}
    numeric = [column for column in truth.columns if column not in named]
    truth = truth.with_columns(pl.col(numeric).cast(pl.Float64))
    ofs = dict.fromkeys(numeric, "numeric") | dict.fromkeys(BINARY[name], "binary")
    cfs = {cf: sorted(truth[cf].unique().to_list()) for cf in CFS[name]}
    masked = mask(truth, cfs, seed=seed)
    chosen = np.sort(np.random.default_rng(seed).permutation(truth.height)[:rows])
    return Table(truth[chosen], masked[chosen], ofs, cfs)


def generated(rows: int, *, seed: int) -> Table:
    """Return a table of ten numeric OFs and three CFs of five values.

    The OFs hang together, as a real table's do: they mix four factors, with noise of their own.
    The CFs follow from the factors, with noise too.
    """
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((FACTORS, OFS))
    leanings = rng.standard_normal((GENERATED_CFS, FACTORS, DOMAIN))
    factors = rng.standard_normal((rows, FACTORS))
    features = factors @ mixing + 0.3 * rng.standard_normal((rows, OFS))
    domain = list("abcde")
    columns = {f"of_{place}": column for place, column in enumerate(features.T)}
    exact = {}
    for place, leaning in enumerate(leanings):
        liking = factors @ leaning + 0.5 * rng.standard_normal((rows, DOMAIN))
        exact[f"cf_{place}"] = np.array(domain)[liking.argmax(axis=1)]
    truth = pl.DataFrame(columns | exact)
    cfs = dict.fromkeys(exact, domain)
    return Table(truth, mask(truth, cfs, seed=seed), dict.fromkeys(columns, "numeric"), cfs)


def mask(truth: pl.DataFrame, cfs: dict[str, list[str]], *, seed: int) -> pl.DataFrame:
    """Return the table with each CF's cell replaced by one wrong value, drawn uniformly."""
    rng = np.random.default_rng(seed)
    columns = []
    for name, domain in cfs.items():
        right = places(truth[name], domain)
        wrong = (right + rng.integers(1, len(domain), len(right))) % len(domain)
        columns.append(pl.Series(name, np.array(domain)[wrong]))
    return truth.with_columns(columns)


def places(column: pl.Series, domain: list[str]) -> Ints:
    return column.replace_strict(domain, range(len(domain)), return_dtype=pl.Int64).to_numpy()


def load(folder: Path) -> tuple[Encoded, Ints]:
    encoded = encode(pl.read_parquet(folder / "data.parquet"), Schema.load(folder / "schema.yml"))
    truth = pl.read_parquet(folder / "truth.parquet")
    right = [places(truth[block.name], list(block.values)) for block in encoded.blocks]
    return encoded, np.column_stack(right)


def accuracy(confidences: Floats, encoded: Encoded, truth: Ints) -> dict[str, float]:
    return {
        block.name: float((confidences[:, block.columns].argmax(axis=1) == right).mean())
        for block, right in zip(encoded.blocks, truth.T, strict=True)
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write a table, its schema and its truth.")
    parser.add_argument("name", choices=["bank", "adult", "generated"])
    parser.add_argument("--rows", type=int, help="all of the file's, or 1,000 generated ones")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--csv", action="store_true", help="write data.csv, too")
    asked = parser.parse_args()
    if asked.name != "generated" and not (
        asked.data and (asked.data / f"{asked.name}.csv").exists()
    ):
        parser.error(f"name the folder that holds {asked.name}.csv with --data")
    if asked.seed < 0 or (asked.rows is not None and asked.rows < 1):
        parser.error("--seed starts at 0 and --rows at 1")
    table = make(asked.name, rows=asked.rows, data=asked.data, seed=asked.seed)
    table.write(asked.to, as_csv=asked.csv)
