"""Whether intervals hold, and a warning comes, where rows are copies of others.

    python -m benchmarks.field.copies [--seeds N] [--kind KIND]... [--table TABLE]... [--ungrouped]

Runs `graph` on real and made tables whose cells are drawn uniformly, once for each row before it is
copied, and prints a Markdown table: how many CFs have an interval that holds the true accuracy of
the final answers, by how much the estimate is too high on average, and how many tables have a
warning. With --ungrouped copies are found, but not hidden together, to see what that does.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, replace
from functools import partial

import numpy as np
import polars as pl

from benchmarks.field.cases import markdown, masked, show
from benchmarks.field.tables import TUNED_ON, FieldTable, read
from cfl_cli import Schema
from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.settings import Settings
from cfl_cli.run.prepare import hidden_together, prepare, run
from cfl_cli.trust.facts import ColumnFacts

# OFs and the values of each; domain sizes; rows
SURVEYS = {
    "survey of 3 OFs": ((3, 4, 5), (3, 4, 5, 4), 800),
    "survey of 4 OFs": ((2, 3, 4, 5), (4, 5, 6), 1500),
    "survey of 5 OFs": ((2, 2, 3, 4, 6), (4, 6), 1000),
    "survey of 6 OFs": ((2, 3, 3, 4, 4, 5), (3, 4, 5), 2000),
}
ROWS = 1200  # of a real table, before rows are copied
Copied = tuple[pl.DataFrame, Ints]  # a table, and which row each of its rows is a copy of


def survey(name: str, *, seed: int) -> FieldTable:
    """Return a made table of few discrete OFs; every second one is numeric."""
    levels, sizes, rows = SURVEYS[name]
    rng = np.random.default_rng([seed, len(levels)])
    codes = np.column_stack([rng.choice(k, rows, p=rng.dirichlet(np.full(k, 3))) for k in levels])
    types = {
        f"of{i}": "categorical" if i % 2 and k > 2 else "numeric" for i, k in enumerate(levels)
    }
    ofs = {
        column: codes[:, i].astype(float) if kind == "numeric" else [f"v{c}" for c in codes[:, i]]
        for i, (column, kind) in enumerate(types.items())
    }
    onehot = np.hstack([codes[:, [i]] == np.arange(k) for i, k in enumerate(levels)])
    truth = []
    for size in sizes:
        pull = onehot @ rng.normal(0, 1.5, (onehot.shape[1], size)) + rng.gumbel(size=(rows, size))
        truth.append(pull.argmax(axis=1))
    domains = {f"cf{i}": [f"w{v}" for v in range(size)] for i, size in enumerate(sizes)}
    return FieldTable(name, pl.DataFrame(ofs), types, np.column_stack(truth), domains)


def honest(frame: pl.DataFrame, rng: np.random.Generator) -> Copied:
    del rng
    return frame, np.arange(frame.height)


def repeated(frame: pl.DataFrame, rng: np.random.Generator, *, share: float, times: int) -> Copied:
    """Repeat a share of the rows, so that each of them is there `times` times, in any order."""
    n = frame.height
    chosen = rng.permutation(n)[: round(share * n)]
    source = rng.permutation(np.concatenate([np.arange(n), np.repeat(chosen, times - 1)]))
    return frame[source], source


def jittered(frame: pl.DataFrame, rng: np.random.Generator, *, share: float, by: float) -> Copied:
    """Repeat a share of the rows with the numeric OFs a little different."""
    n = frame.height
    extra = rng.permutation(n)[: round(share * n)]
    again = frame[extra]
    for column in again.columns:
        if again[column].dtype.is_numeric():
            reach = by * float(np.ptp(frame[column].drop_nulls().to_numpy()))
            noise = pl.Series(rng.uniform(-reach, reach, len(extra)))
            again = again.with_columns((pl.col(column) + noise).alias(column))
    order = rng.permutation(n + len(extra))
    return pl.concat([frame, again])[order], np.concatenate([np.arange(n), extra])[order]


def emptied(frame: pl.DataFrame, rng: np.random.Generator, *, share: float, cfs: int) -> Copied:
    """Repeat a share of the rows, each copy without one of its CF cells."""
    n = frame.height
    extra = rng.permutation(n)[: round(share * n)]
    again, which = frame[extra], rng.integers(cfs, size=len(extra))
    for place, column in enumerate(frame.columns[-cfs:]):
        emptied = pl.when(pl.Series(which == place)).then(pl.lit("")).otherwise(pl.col(column))
        again = again.with_columns(emptied.alias(column))
    order = rng.permutation(n + len(extra))
    return pl.concat([frame, again])[order], np.concatenate([np.arange(n), extra])[order]


KINDS: dict[str, Callable[..., Copied]] = {
    "no copies": honest,
    "all rows twice": partial(repeated, share=1.0, times=2),
    "all rows three times": partial(repeated, share=1.0, times=3),
    "a third of the rows twice": partial(repeated, share=1 / 3, times=2),
    "10 % of the rows twice": partial(repeated, share=0.1, times=2),
    "5 % of the rows five times": partial(repeated, share=0.05, times=5),
    "all twice, OFs differ by 1e-6": partial(jittered, share=1.0, by=1e-6),
    "all twice, OFs differ by 1e-4": partial(jittered, share=1.0, by=1e-4),
    "all twice, OFs differ by 1e-2": partial(jittered, share=1.0, by=1e-2),
    "a third twice, OFs differ by 1e-3": partial(jittered, share=1 / 3, by=1e-3),
    "10 % twice, OFs differ by 1e-3": partial(jittered, share=0.1, by=1e-3),
    "all twice, one cell of a copy empty": partial(emptied, share=1.0),
    "a third twice, one cell of a copy empty": partial(emptied, share=1 / 3),
}


def tables(seed: int, asked: list[str] | None = None) -> Iterator[FieldTable]:
    for name in asked or [*TUNED_ON, *SURVEYS]:
        yield survey(name, seed=seed) if name in SURVEYS else read(name, rows=ROWS, seed=seed)


def copied(table: FieldTable, kind: str, seed: int) -> tuple[pl.DataFrame, Schema, Ints]:
    frame, schema = masked(table, "uniform", seed)
    how = KINDS[kind]
    if isinstance(how, partial) and how.func is emptied:
        how = partial(how, cfs=len(table.domains))
    frame, source = how(frame, np.random.default_rng([seed, 7]))
    return frame, schema, table.truth[source]


@dataclass(frozen=True)
class Outcome:
    """What the report of one table says, beside what is true."""

    low: Floats  # per CF
    value: Floats
    high: Floats
    true: Floats
    warned: bool

    @property
    def holds(self) -> Mask:
        return (self.low <= self.true) & (self.true <= self.high)


def judged(table: FieldTable, kind: str, seed: int, *, grouped: bool = True) -> Outcome:
    frame, schema, truth = copied(table, kind, seed)
    settings = Settings().override(seed=seed)
    encoded = prepare(frame, schema, settings, name=table.name)
    warned = any("copies of others" in text for text in encoded.warnings)
    if not grouped:
        encoded = replace(encoded, groups=None)
    folds = hidden_together(len(truth), settings, encoded.groups)
    estimate = run(encoded, settings, folds=folds, progress=lambda *_: None)
    every = [ColumnFacts(encoded, estimate, cf) for cf in range(truth.shape[1])]
    intervals, shares = [], []
    for facts, true in zip(every, truth.T, strict=True):
        found = facts.judged()
        if found is None:
            raise ValueError(f"{table.name}: {facts.block.name} cannot be judged")
        intervals.append(astuple(facts.stretched(found)))
        shares.append((facts.answers == true).mean())
    value, low, high = np.array(intervals).T
    return Outcome(low, value, high, np.array(shares), warned)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--kind", action="append", choices=[*KINDS])
    parser.add_argument("--table", action="append", choices=[*TUNED_ON, *SURVEYS])
    parser.add_argument("--ungrouped", action="store_true")
    asked = parser.parse_args()
    head = ("copies", "CFs whose interval holds", "estimate − truth", "tables with a warning")
    show(markdown(head, lines(asked), texts=4))


def lines(asked: argparse.Namespace) -> Iterator[list[str]]:
    for kind in asked.kind or KINDS:
        outcomes = [
            judged(table, kind, seed, grouped=not asked.ungrouped)
            for seed in range(asked.seeds)
            for table in tables(seed, asked.table)
        ]
        holds = np.concatenate([outcome.holds for outcome in outcomes])
        over = np.concatenate([outcome.value - outcome.true for outcome in outcomes])
        warned = sum(outcome.warned for outcome in outcomes)
        held = f"{holds.sum()} of {len(holds)}"
        yield [kind, held, f"{over.mean():+.3f}", f"{warned} of {len(outcomes)}"]


if __name__ == "__main__":
    main()
