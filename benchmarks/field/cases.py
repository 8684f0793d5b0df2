"""One table, one way in which its cells came about, one seed: run, and kept for study."""

import hashlib
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_predict

from benchmarks.field.mechanisms import MECHANISMS, with_exact
from benchmarks.field.tables import FieldTable
from cfl_cli import Schema
from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.settings import Settings
from cfl_cli.encode.encode import Encoded
from cfl_cli.methods.interface import Estimate
from cfl_cli.run.prepare import hidden_together, prepare, run


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


def plausible(table: FieldTable, cf: int) -> Floats:
    """Return what somebody who knows the OFs thinks of each value, n × K."""
    columns = [
        column if table.types[name] == "numeric" else column.cast(pl.Categorical).to_physical()
        for name, column in zip(table.ofs.columns, table.ofs, strict=True)
    ]
    features = np.column_stack([column.cast(pl.Float64).to_numpy() for column in columns])
    model = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8, random_state=0)
    values, counts = np.unique(table.truth[:, cf], return_counts=True)
    size = len([*table.domains.values()][cf])
    shares = np.full((len(table.truth), size), 1e-3)
    if counts.min() < 5:  # too rare for folds of their own
        shares[:, values] += counts / counts.sum()
    else:
        shares[:, values] += cross_val_predict(
            model, features, table.truth[:, cf], cv=3, method="predict_proba"
        )
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def masked(
    table: FieldTable, mechanism: str, seed: int, *, exact: float = 0.0
) -> tuple[pl.DataFrame, Schema]:
    every = []
    for cf, (name, domain) in enumerate(table.domains.items()):
        key = f"{table.name} {mechanism} {name} {seed}".encode()
        rng = np.random.default_rng(int.from_bytes(hashlib.sha256(key).digest()[:8], "big"))
        looks = plausible(table, cf) if needs_looks(mechanism) else np.ones((1, len(domain)))
        looks = np.broadcast_to(looks, (len(table.truth), len(domain)))
        truth = table.truth[:, cf]
        candidates = MECHANISMS[mechanism](truth, looks, rng)
        if exact:
            candidates = with_exact(candidates, truth, exact, rng)
        every.append(candidates)
    return table_of(table, every)


def table_of(table: FieldTable, every: Sequence[Mask]) -> tuple[pl.DataFrame, Schema]:
    columns: dict[str, dict[str, object]] = {
        name: {"role": "ordinary", "type": kind} for name, kind in table.types.items()
    }
    cells = {}
    for (name, domain), candidates in zip(table.domains.items(), every, strict=True):
        cells[name] = [_text(row, domain) for row in candidates]
        columns[name] = {
            "role": "complementary",
            "values": domain,
            "separator": "|",
            "exact": "=",
        }
    frame = table.ofs.with_columns(**{name: pl.Series(texts) for name, texts in cells.items()})
    return frame, Schema.model_validate({"version": "1", "columns": columns})


def needs_looks(mechanism: str) -> bool:
    """Return whether cells depend on how plausible values look."""
    return "first" in mechanism or mechanism.startswith("people")


def _text(candidates: np.ndarray, domain: list[str]) -> str:
    left = np.flatnonzero(candidates)
    if len(left) == 1:
        return f"={domain[left[0]]}"
    return "|".join(domain[place] for place in np.flatnonzero(~candidates))


def make(
    table: FieldTable, mechanism: str, seed: int, *, exact: float = 0.0, **settings: object
) -> Case:
    frame, schema = masked(table, mechanism, seed, exact=exact)
    chosen = Settings().override(seed=seed, **settings)
    encoded = prepare(frame, schema, chosen, name=table.name)
    folds = hidden_together(len(encoded.features), chosen, encoded.groups)
    estimate = run(encoded, chosen, folds=folds, progress=lambda *_: None)
    return Case(table.name, mechanism, seed, chosen, encoded, estimate, table.truth)


def path_of(folder: Path, table: str, mechanism: str, seed: int, *, exact: float = 0.0) -> Path:
    """Return where a case is kept."""
    return folder / f"{table}-{mechanism}-{exact}-{seed}.pkl".replace("/", "_").replace(" ", "_")


def keep(case: Case, path: Path) -> None:
    path.write_bytes(pickle.dumps(case))


def kept(path: Path) -> Case:
    case: Case = pickle.loads(path.read_bytes())
    return case
