"""One table, one way in which its cells came about, one seed: run, and kept for study.

python -m benchmarks.field --to FOLDER     runs cases and keeps them
"""

import argparse
import hashlib
import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_predict

from benchmarks.field.mechanisms import MECHANISMS, with_exact
from benchmarks.field.tables import TABLES, FieldTable, read
from cfl_cli import Schema
from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.settings import Settings
from cfl_cli.encode.encode import Encoded
from cfl_cli.methods.interface import Estimate
from cfl_cli.run.prepare import hidden_together, prepare, run
from cfl_cli.trust.facts import ColumnFacts
from cfl_cli.trust.report import Report
from cfl_cli.trust.verdict import build


@dataclass(frozen=True)
class Case:
    """A finished run with its truth."""

    table: str
    mechanism: str
    seed: int
    settings: Settings
    encoded: Encoded
    estimate: Estimate
    truth: Ints  # n × CFs

    @property
    def facts(self) -> list[ColumnFacts]:
        cfs = range(len(self.encoded.blocks))
        return [ColumnFacts(self.encoded, self.estimate, cf) for cf in cfs]

    @property
    def wrong(self) -> Mask:
        """Return which cells rule out the true value, n × CFs."""
        rows, cells = np.arange(len(self.truth)), self.encoded.candidates
        wrong = [
            ~cells[:, block.columns][rows, true]
            for block, true in zip(self.encoded.blocks, self.truth.T, strict=True)
        ]
        return np.column_stack(wrong)

    def report(self, *, always_second_round: bool = False) -> Report:
        return build(
            self.encoded,
            self.estimate,
            cfl_version="",
            settings={},
            k=self.settings.k,
            always_second_round=always_second_round,
        )


def plausible(table: FieldTable, cf: int) -> Floats:
    """Return what somebody who knows the OFs thinks of each value, n × K."""
    columns = [
        column if table.types[name] == "numeric" else column.cast(pl.Categorical).to_physical()
        for name, column in zip(table.ofs.columns, table.ofs, strict=True)
    ]
    features = np.column_stack([column.cast(pl.Float64).to_numpy() for column in columns])
    model = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8, random_state=0)
    shares = folded(model, features, table, cf, least=5)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def folded(model: object, features: Floats, table: FieldTable, cf: int, *, least: int) -> Floats:
    """Return what a model of three folds thinks of each value, n × K; rare ones have no folds."""
    truth = table.truth[:, cf]
    values, counts = np.unique(truth, return_counts=True)
    shares = np.full((len(truth), len([*table.domains.values()][cf])), 1e-3)
    if counts.min() < least:
        shares[:, values] += counts / counts.sum()
    else:
        shares[:, values] += cross_val_predict(model, features, truth, cv=3, method="predict_proba")
    return shares


def drawing(*names: object) -> np.random.Generator:
    """Return what draws the same for the same names."""
    key = hashlib.sha256(" ".join(map(str, names)).encode()).digest()
    return np.random.default_rng(int.from_bytes(key[:8], "big"))


def masked(
    table: FieldTable, mechanism: str, seed: int, *, exact: float = 0.0, **more: object
) -> tuple[pl.DataFrame, Schema]:
    """Return a table as its user has it, and its schema; `more` are further keys of each CF."""
    every = []
    for cf, (name, domain) in enumerate(table.domains.items()):
        rng, truth = drawing(table.name, mechanism, name, seed), table.truth[:, cf]
        needs_looks = "first" in mechanism or mechanism.startswith("people")
        looks = plausible(table, cf) if needs_looks else np.ones((len(truth), len(domain)))
        candidates = MECHANISMS[mechanism](truth, looks, rng)
        every.append(with_exact(candidates, truth, exact, rng) if exact else candidates)
    return table_of(table, every, **more)


def table_of(
    table: FieldTable, every: Sequence[Mask], **more: object
) -> tuple[pl.DataFrame, Schema]:
    """Return the table with these candidates of each CF as cells, and its schema.

    `more` are further keys of each CF.
    """
    columns: dict[str, dict[str, object]] = {
        name: {"role": "ordinary", "type": kind} for name, kind in table.types.items()
    }
    cf = {"role": "complementary", "separator": "|", "exact": "=", **more}
    columns |= {name: {**cf, "values": domain} for name, domain in table.domains.items()}
    cells = {
        name: pl.Series([text(row, domain) for row in candidates])
        for (name, domain), candidates in zip(table.domains.items(), every, strict=True)
    }
    schema = Schema.model_validate({"version": "1", "columns": columns})
    return table.ofs.with_columns(**cells), schema


def text(candidates: Mask, domain: list[str]) -> str:
    left = np.flatnonzero(candidates)
    if len(left) == 1:
        return f"={domain[left[0]]}"
    return "|".join(domain[place] for place in np.flatnonzero(~candidates))


def make(table: FieldTable, mechanism: str, seed: int, *, exact: float = 0.0) -> Case:
    frame, schema = masked(table, mechanism, seed, exact=exact)
    settings = Settings().override(seed=seed)
    encoded = prepare(frame, schema, settings, name=table.name)
    folds = hidden_together(len(encoded.features), settings, encoded.groups)
    estimate = run(encoded, settings, folds=folds, progress=lambda *_: None)
    return Case(table.name, mechanism, seed, settings, encoded, estimate, table.truth)


def path_of(folder: Path, table: str, mechanism: str, seed: int, *, exact: float = 0.0) -> Path:
    return folder / f"{table}-{mechanism}-{exact}-{seed}.pkl".replace("/", "_").replace(" ", "_")


def keep(case: Case, path: Path) -> None:
    path.write_bytes(pickle.dumps(case))


def kept(path: Path) -> Case:
    case: Case = pickle.loads(path.read_bytes())
    return case


def markdown(
    head: Sequence[str], rows: Iterable[Sequence[object]], *, texts: int = 1
) -> Iterator[str]:
    """Yield the lines of a Markdown table: so many columns of texts, and others of numbers."""
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join(['---'] * texts + ['---:'] * (len(head) - texts))} |"
    for row in rows:
        yield f"| {' | '.join(map(str, row))} |"


def show(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.field", description="Run cases and keep them."
    )
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--tables", choices=[*TABLES], default="tuned")
    parser.add_argument("--mechanism", action="append")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--exact", type=float, default=0.0)
    asked = parser.parse_args()
    asked.to.mkdir(parents=True, exist_ok=True)
    for seed in range(asked.seeds):
        for table in TABLES[asked.tables]:
            for mechanism in asked.mechanism or MECHANISMS:
                path = path_of(asked.to, table, mechanism, seed, exact=asked.exact)
                if not path.exists():
                    keep(make(read(table, seed=seed), mechanism, seed, exact=asked.exact), path)
                    print(path.name, flush=True)
