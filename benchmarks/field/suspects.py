"""How honest the list of suspect cells is: python -m benchmarks.field.suspects --keep FOLDER.

FOLDER holds cases that `python -m benchmarks.field --to FOLDER` has run; with --data, cases of Bank
and Adult are run first, which are in the folder with that name. Four tables are printed: how many
of the first cells of a table are wrong; how many were expected to be, and at most; the same of
single CFs if the share of wrong cells were known; and what share would make the cells likeliest.
With --fifth only a fifth of the rows counts as hidden, as in large tables.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks import tables as paper_tables
from benchmarks.field.cases import Case, keep, kept, make, markdown, path_of, show
from benchmarks.field.tables import FieldTable
from cfl_cli.commands.suspects.job import SuspectCells, suspects
from cfl_cli.core.arrays import LEAST_MASS, Floats, Mask
from cfl_cli.methods.interface import Hidden
from cfl_cli.run.diagnostics import SUSPECT_CELL, diagnose
from cfl_cli.trust.report import Report
from cfl_cli.trust.wrong_cells import WeighedCells, well_founded

SHARES = ("uniform", "1 % wrong", "3 % wrong", "10 % wrong")
MECHANISMS = [f"{share}{more}" for more in ("", ", one to three") for share in SHARES]
TOPS = (10, 20, 50, 100)
ROWS = 4000  # of Bank and Adult
KNOWN_SHARE_TOPS = (20, 50)


@dataclass(frozen=True)
class Listed:
    """The list of a case, and which cells are wrong."""

    report: Report
    found: SuspectCells
    wrong: Mask  # n × CFs

    def hits(self, found: SuspectCells) -> Mask:
        names = [column.name for column in self.report.columns]
        places = [names.index(cf) for cf in found.cells["cf"]]
        return np.asarray(self.wrong[found.cells["row"].to_numpy() - 1, places])


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the list of suspect cells.")
    parser.add_argument("--keep", type=Path, required=True, help="folder of finished runs")
    parser.add_argument("--data", type=Path, help="folder of bank.csv and adult.csv: run them too")
    parser.add_argument("--fifth", action="store_true")
    asked = parser.parse_args()
    if asked.data:
        run(asked.data, asked.keep)
    lists = {
        mechanism: [listed(some(case) if asked.fifth else case) for case in cases]
        for mechanism in MECHANISMS
        if (cases := [*_cases(asked.keep, mechanism)])
    }
    precision(lists)
    honesty(lists)
    if_known(asked.keep, fifth=asked.fifth)
    likeliest(asked.keep)


def run(data: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("bank", "adult"):
        read = paper_tables.read(name, data, rows=ROWS, seed=0)
        table = FieldTable(name, read.truth.select([*read.ofs]), read.ofs, read.places, read.cfs)
        for mechanism in MECHANISMS:
            path = path_of(folder, name, mechanism, 0)
            if not path.exists():
                keep(make(table, mechanism, 0), path)


def _cases(folder: Path, mechanism: str) -> Iterator[Case]:
    yield from map(kept, sorted(folder.glob(path_of(Path(), "*", mechanism, 0).name)))


def some(case: Case) -> Case:
    """Return the case as if a fifth of the rows had been hidden."""
    hidden = case.estimate.hidden
    if hidden is None:
        return case
    chosen = np.sort(np.random.default_rng(0).permutation(len(hidden.rows))[::5])
    fewer = Hidden(hidden.rows[chosen], hidden.priors[chosen], hidden.rules, hidden.shares)
    return replace(case, estimate=replace(case.estimate, hidden=fewer))


def listed(case: Case) -> Listed:
    report = case.report()
    found = suspects(report, diagnose(case.encoded, case.estimate, report.columns))
    return Listed(report, found, case.wrong)


def precision(lists: dict[str, list[Listed]]) -> None:
    """Print how many of the first cells of a table's list are wrong, and how many are found."""
    lines = []
    for mechanism, cases in lists.items():
        rows = []
        for case in cases:
            hits, wrong = case.hits(case.found), int(case.wrong.sum())
            first = [_mean(hits[:top]) for top in (*TOPS, wrong)]
            found = hits.sum() / wrong if wrong else np.nan
            rows.append([case.wrong.mean(), *first, len(hits) / case.wrong.size, found])
        shares = (_mean(column) for column in np.array(rows).T)
        texts = ("-" if np.isnan(share) else f"{share:.0%}" for share in shares)
        lines.append([mechanism, len(rows), *texts])
    tops = (f"first {top}" for top in TOPS)
    head = ("cells", "tables", "wrong", *tops, "as many as wrong", "listed", "wrong ones found")
    show(markdown(head, lines))


def honesty(lists: dict[str, list[Listed]]) -> None:
    """Print how many wrong cells were expected among the first, how many there were, at most."""
    every: dict[tuple[str, int], list[list[float]]] = {}
    lines = []
    for mechanism, cases in lists.items():
        of_tables = [(case, case.found) for case in cases]
        of_cfs = []
        for case in cases:
            cells = case.found.cells.with_columns(why=pl.lit(SUSPECT_CELL))
            of_cfs += [(case, suspects(case.report, cells, cfs=[cf])) for cf in case.found.cfs]
        for what, found in (("table", of_tables), ("CF", of_cfs)):
            known = f"{sum(one.known > 0 for _, one in found)} of {len(found)}"
            for top in TOPS:
                rows = [row for case, one in found if (row := _expected(case, one, top))]
                every.setdefault((what, top), []).extend(rows)
                lines.append([mechanism, what, known, top, *_said(rows)])
    lines += [["all", what, len(rows), top, *_said(rows)] for (what, top), rows in every.items()]
    head = ("cells", "list of", "known", "first", "expected", "wrong", "at most", "holds")
    show(["", *markdown(head, lines, texts=2)])


def _expected(case: Listed, found: SuspectCells, top: int) -> list[float] | None:
    """Return expected, real and most errors of the first cells; None: fewer are known."""
    errors = found.errors(top)
    if errors is None or errors.length < top:
        return None
    return [errors.expected, float(case.hits(found)[:top].sum()), float(errors.at_most)]


def _said(rows: Sequence[Sequence[float]]) -> list[str]:
    if not rows:
        return ["-"] * 4
    found = np.array(rows)
    held = int((found[:, 1] <= found[:, 2]).sum())
    return [*(f"{number:.1f}" for number in found.mean(axis=0)), f"{held} of {len(found)}"]


def if_known(folder: Path, *, fifth: bool) -> None:
    """Print how many errors P(wrong) makes of the first cells of a CF if their share is known."""
    lines = []
    for mechanism in MECHANISMS:
        rows = []
        for whole in _cases(folder, mechanism):
            case = some(whole) if fifth else whole
            for facts, wrong in zip(case.facts, case.wrong.T, strict=True):
                share, cells = float(wrong.mean()), facts.weighed_cells
                if not 0 < share < cells.telling:
                    continue
                chances = np.nan_to_num(cells.wrong(share))
                ranked = np.argsort(-chances, kind="stable")
                pairs = [
                    [chances[ranked[:top]].sum(), wrong[ranked[:top]].sum()]
                    for top in KNOWN_SHARE_TOPS
                ]
                rows.append([*np.ravel(pairs), abs(pairs[-1][0] - pairs[-1][1])])
        if rows:
            numbers = (f"{number:.1f}" for number in np.mean(rows, axis=0))
            lines.append([mechanism, len(rows), *numbers])
    tops = (f"first {top}: {what}" for top in KNOWN_SHARE_TOPS for what in ("said", "wrong"))
    show(["", *markdown(("cells, their share known", "CFs", *tops, "mean distance"), lines)])


def likeliest(folder: Path) -> None:
    """Print the range, over CFs, of the share of wrong cells that makes hidden cells likeliest."""
    lines = []
    for mechanism in MECHANISMS[: len(SHARES)]:
        cells = (facts.weighed_cells for case in _cases(folder, mechanism) for facts in case.facts)
        if rows := [_likeliest(one) for one in cells if one.telling > 0]:
            ends = zip(np.min(rows, axis=0), np.max(rows, axis=0), strict=True)
            lines.append(
                [mechanism, len(rows), *(f"{low:.3f} to {high:.3f}" for low, high in ends)]
            )
    head = ("cells", "CFs", "by raw priors", "by mended priors", "with the mending")
    show(["", *markdown(head, lines)])


def _likeliest(cells: WeighedCells) -> list[float]:
    """Return the share by raw priors, by those mended as if none were wrong, and by both fitted."""
    rows = cells.hidden[cells.partial[cells.hidden]]
    mass, shares_mass, ratio = cells.mass[rows], cells.shares_mass[rows], cells.ratio[rows]
    grid = np.r_[0, np.geomspace(0.001, cells.telling, 40)[:-1]]

    def chances(founded: float, share: float) -> float:
        mixed = founded * mass + (1 - founded) * shares_mass
        each = (1 - share) * mixed + share * (1 - mixed) * ratio
        return float(np.log(np.maximum(each, LEAST_MASS)).sum())

    founded = well_founded(mass, shares_mass)
    ways = (
        [chances(1.0, share) for share in grid],
        [chances(founded, share) for share in grid],
        [
            chances(well_founded(mass, shares_mass, ratio=ratio, wrong=share), share)
            for share in grid
        ],
    )
    return [float(grid[np.argmax(way)]) for way in ways]


def _mean(numbers: Floats | Mask) -> float:
    known = np.asarray(numbers, dtype=float)
    known = known[~np.isnan(known)]
    return float(known.mean()) if len(known) else float("nan")


if __name__ == "__main__":
    main()
