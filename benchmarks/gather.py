"""What the report says of a "none of these" question, by how a form chose the options it showed.

    python -m benchmarks.gather [--seeds 12] [--rows 800] [--designs random same …]
    python -m benchmarks.gather --blocks [--seeds 12]
    python -m benchmarks.gather --speed [--rows 1000000]

Respondents with a known way to work see three of six options. `cfl gather` makes the exclusion
column, `graph` imputes it, and the report's accuracy is compared with the truth, with and without
the keys that say that options were drawn (`drawn`, `exact_cells: random`). A second figure is how
often `--drawn at-random` is refused.

    random     three options, all sets as likely
    same       everybody sees the same three
    popular    what more people pick is shown more often
    nearby     near ones are shown to people who live near their work
    guessed    in 7 of 10 cases, the form knows what a person will pick

With `--blocks`: made-up hospitals in which a share of the patients has a pair of suspected diagnoses,
always the same pairs, and all others have one or two that were ruled out at random. Does the report's
interval hold the accuracy, with and without `drawn: by-people`?

With `--speed`: the time and the memory of `cfl gather` for a long table of ICD-10-GM, with a
quarter as many patients as rows, in a process of its own.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import cfl_cli
from cfl_cli import DataError

MODES = np.array(["walk", "bike", "bus", "tram", "train", "car"])
SHARES = np.array([0.1, 0.2, 0.15, 0.15, 0.15, 0.25])
TYPICAL = np.array(
    [  # km to work, age, share with a car, share in the city
        (1.5, 40, 0.4, 0.8),
        (4.0, 32, 0.4, 0.7),
        (9.0, 45, 0.3, 0.1),
        (6.0, 45, 0.3, 1.0),
        (35.0, 38, 0.5, 0.2),
        (18.0, 48, 1.0, 0.1),
    ]
)
FEATURES = {
    "km": {"role": "ordinary", "type": "numeric"},
    "age": {"role": "ordinary", "type": "numeric"},
    "has_car": {"role": "ordinary", "type": "binary"},
    "home": {"role": "ordinary", "type": "categorical"},
}


ASKED: Any = {
    "id": "person",
    "code": "picked",
    "shown": "shown",
    "none": "none",
    "cf": "mode",
    "values": [*MODES],
}


def shown(design: str, r: np.random.Generator, value: int, km: float) -> Any:
    match design:
        case "same":
            return np.array([5, 1, 2])
        case "popular":
            return r.choice(6, size=3, replace=False, p=SHARES)
        case "nearby":
            weights = np.array([3, 3, 1, 2, 0.3, 1] if km < 6 else [0.3, 0.5, 2, 1, 2, 3])
            return r.choice(6, size=3, replace=False, p=weights / weights.sum())
        case "guessed" if r.random() < 0.7:
            others = r.permutation(np.delete(np.arange(6), value))
            return np.array([value, *others[:2]])
        case _:
            return r.permutation(6)[:3]


def survey(design: str, seed: int, rows: int) -> tuple[pl.DataFrame, Any]:
    r = np.random.default_rng(seed)
    true = r.choice(6, size=rows, p=SHARES)
    km, age, car, city = TYPICAL[true].T
    km = (km * r.lognormal(0, 0.7, rows)).round(1)
    sets = [shown(design, r, *both) for both in zip(true, km, strict=True)]
    table = pl.DataFrame(
        {
            "person": np.arange(rows),
            "km": km,
            "age": r.normal(age, 12).round(),
            "has_car": np.where(r.random(rows) < car, "yes", "no"),
            "home": np.where(r.random(rows) < city, "city", "country"),
            "shown": ["|".join(MODES[one]) for one in sets],
            "picked": [MODES[v] if v in one else "none" for v, one in zip(true, sets, strict=True)],
        }
    )
    return table, MODES[true]


def outcome(table: pl.DataFrame, true: Any, *, drawn: bool) -> tuple[Any, ...]:
    """Return the verdict, whether the interval holds the accuracy, and by how much it is too high."""
    wide = cfl_cli.gather(table, **ASKED)
    cf: dict[str, Any] = {
        "role": "complementary",
        "values": [*MODES],
        "separator": ";",
        "exact": "=",
    }
    cf |= {"drawn": "at-random", "exact_cells": "random"} if drawn else {}
    found = cfl_cli.impute(wide, {"version": 1, "columns": {**FEATURES, "mode": cf}})
    column, accuracy = (
        found.report.columns[0],
        (found.frame["mode_imputed"].to_numpy() == true).mean(),
    )
    said = column.estimated_accuracy
    if said is None or said.value is None:
        return column.verdict, None, None, accuracy
    return column.verdict, said.low <= accuracy <= said.high, said.value - accuracy, accuracy


def is_refused(table: pl.DataFrame) -> bool:
    try:
        cfl_cli.gather(table, **ASKED, drawn="at-random")
    except DataError as error:
        return error.code == "gather-not-drawn"
    return False


DISEASES = np.array(["J10.1", "J18.9", "J20.9", "J45.9", "U07.1"])
PAIRS = {0: (0, 4), 4: (0, 4), 1: (1, 2), 2: (1, 2), 3: (3, 2)}
SIGNS = np.array(  # age, temperature, oxygen, share that wheezes
    [
        (38, 39.0, 97, 0.1),
        (68, 38.6, 90, 0.2),
        (55, 37.6, 96, 0.4),
        (27, 36.8, 95, 0.9),
        (50, 38.2, 93, 0.1),
    ]
)
MEANINGS = {"ruled out": "exclusion", "suspected": "candidate"}


def hospital(seed: int, pairs: float, noise: float, patients: int) -> tuple[pl.DataFrame, Any]:
    r = np.random.default_rng(seed)
    true = r.choice(5, size=patients, p=[0.3, 0.2, 0.2, 0.15, 0.15])
    rows = []
    for patient, value in enumerate(true):
        others = r.permutation(np.delete(np.arange(5), value))[: r.integers(1, 3)]
        block = r.random() < pairs
        status = "suspected" if block else "ruled out"
        codes = DISEASES[list(PAIRS[value]) if block else others]
        rows += [(patient, code, status) for code in codes]
    age, temperature, oxygen, wheezing = SIGNS[true].T
    people = pl.DataFrame(
        {
            "patient": np.arange(patients),
            "age": r.normal(age, 13 * noise),
            "temperature": r.normal(temperature, 0.5 * noise),
            "oxygen": r.normal(oxygen, 2 * noise),
            "wheezing": np.where(r.random(patients) < wheezing, "yes", "no"),
        }
    )
    long = pl.DataFrame(rows, ["patient", "code", "status"], orient="row")
    named: Any = {"id": "patient", "code": "code", "status": "status", "map": MEANINGS}
    return cfl_cli.gather(long, **named, persons=people, values=[*DISEASES]), DISEASES[true]


def blocks(seeds: int, patients: int) -> None:
    features = {
        name: {"role": "ordinary", "type": "numeric"} for name in ("age", "temperature", "oxygen")
    }
    features["wheezing"] = {"role": "ordinary", "type": "binary"}
    cf = {"role": "complementary", "values": [*DISEASES], "separator": ";", "exact": "="}
    print("pairs  drawn      known  interval holds  accuracy  verdicts")
    for share in (0.3, 0.6, 0.9):
        tables = [hospital(seed, share, (1, 3)[seed % 2], patients) for seed in range(seeds)]
        for more in ({"drawn": "by-people"}, {}):
            schema = {"version": 1, "columns": {**features, "code": cf | more}}
            found, verdicts, true = [], Counter[str](), []
            for table, values in tables:
                done = cfl_cli.impute(table, schema)
                column, said = done.report.columns[0], done.report.columns[0].estimated_accuracy
                true.append((done.frame["code_imputed"].to_numpy() == values).mean())
                verdicts[str(column.verdict)] += 1
                if said is not None and said.value is not None:
                    found.append(said.low <= true[-1] <= said.high)
            named = ", ".join(f"{name} {n}" for name, n in sorted(verdicts.items()))
            print(
                f"{share:5}  {more.get('drawn', '-'):9} {len(found):>6}"
                f"  {f'{sum(found)} of {len(found)}':>14}  {np.mean(true):>8.3f}  {named}"
            )


def speed(rows: int) -> None:
    r = np.random.default_rng(0)
    patient = r.integers(0, max(rows // 4, 1), rows)
    table = pl.DataFrame(
        {
            "patient": [f"P{one:07}" for one in patient],
            "age": patient * 7919 % 80 + 18,
            "code": [f"J{one}" for one in r.integers(10, 40, rows)],
            "status": r.choice(["A", "V", "Z"], rows),
            "date": [f"2024-{1 + one % 12:02}-{1 + one % 28:02}" for one in range(rows)],
        }
    )
    words = "--preset icd-10-gm --id patient --code code --status status --time date --out wide.csv"
    with tempfile.TemporaryDirectory() as folder:
        table.write_csv(Path(folder) / "long.csv")
        command = [sys.executable, "-m", "cfl_cli", "gather", "long.csv", *words.split(), "-q"]
        began = time.perf_counter()
        subprocess.run(command, cwd=folder, check=True)
        seconds = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime
    print(f"{rows:,} rows: {seconds:.0f} s ({cpu:.0f} s of CPU), {used.ru_maxrss / 1e3:,.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--blocks", action="store_true")
    parser.add_argument(
        "--designs", nargs="+", default="random same popular nearby guessed".split()
    )
    given = parser.parse_args()
    if given.speed:
        speed(given.rows or 1_000_000)
        return
    warnings.simplefilter("ignore")
    if given.blocks:
        blocks(given.seeds, given.rows or 900)
        return
    print("options   keys       refused  known  interval holds  too high by  accuracy  verdicts")
    for design in given.designs:
        tables = [survey(design, seed, given.rows or 800) for seed in range(given.seeds)]
        refused = sum(is_refused(table) for table, _ in tables)
        for drawn in (False, True):
            outcomes = [outcome(*one, drawn=drawn) for one in tables]
            known = [one for one in outcomes if one[1] is not None]
            verdicts = Counter(str(one[0]) for one in outcomes)
            holds = f"{sum(one[1] for one in known)} of {len(known)}"
            high = f"{np.mean([one[2] for one in known]):+.3f}" if known else "-"
            print(
                f"{design:9} {'at random' if drawn else '-':9} {refused if drawn else '-':>8}"
                f" {len(known):>6}  {holds:>14}  {high:>11}"
                f"  {np.mean([one[3] for one in outcomes]):>8.3f}"
                f"  {', '.join(f'{name} {n}' for name, n in sorted(verdicts.items()))}"
            )


if __name__ == "__main__":
    main()
