"""Whether flags are right: python -m benchmarks.field.flags --keep FOLDER.

A CF is truly better if its answers are right more often than the commonest candidate is, by the
truth; CFs of noise, made beside the OFs of real tables, are no better. Tables are real ones, and
some that are made, of OFs that nearly determine their CFs. What is printed is how many CFs are
flagged, by how much better they truly are and by how many rows there are.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.field.cases import Case, keep, kept, make, markdown, show
from benchmarks.field.tables import TABLES, FieldTable, read
from cfl_cli.core.arrays import most_confident
from cfl_cli.trust.report import ColumnReport

ROWS = (300, 1000, 3000)
NOISE = tuple((size, share) for share in (0.0, 0.6, 0.9) for size in (3, 5, 8, 12, 20))
NOISE_AT_ONCE = 3  # CFs of noise beside one table's OFs
BETTER = 0.05
MADE = "made"


def noise(table: FieldTable, which: int, seed: int) -> FieldTable:
    """Return the table with CFs that its OFs say nothing about: some skewed, and one shuffled."""
    rng = np.random.default_rng([seed, which])
    n = len(table.truth)
    names = [*table.domains]
    shuffled = names[which % len(names)]
    domains = {shuffled: table.domains[shuffled]}
    truth = [rng.permutation(table.truth[:, names.index(shuffled)])]
    for place in range(NOISE_AT_ONCE):
        size, share = NOISE[(which * NOISE_AT_ONCE + place + seed) % len(NOISE)]
        shares = np.full(size, 1 / size)
        if share:
            shares = np.r_[share, np.full(size - 1, (1 - share) / (size - 1))]
        domains[f"noise {size} {share}"] = [f"v{value}" for value in range(size)]
        truth.append(rng.choice(size, n, p=shares))
    return replace(table, truth=np.column_stack(truth), domains=domains)


def made(rows: int, seed: int) -> FieldTable:
    """Return a table whose OFs nearly determine its CFs, of 3 to 20 values."""
    rng = np.random.default_rng([rows, seed])
    ofs, domains, truth = rng.random((rows, 4)), {}, []
    for size in sorted({size for size, _ in NOISE}):
        position = ofs @ rng.normal(size=4) + 0.1 * rng.normal(size=rows)
        truth.append(position.argsort().argsort() * size // rows)
        domains[f"of {size}"] = [f"v{value}" for value in range(size)]
    frame = pl.DataFrame({f"of {place}": column for place, column in enumerate(ofs.T)})
    types = dict.fromkeys(frame.columns, "numeric")
    return FieldTable(MADE, frame, types, np.column_stack(truth), domains)


def cases(folder: Path, tables: list[str], seeds: int) -> Iterator[tuple[int, Case]]:
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(seeds):
        for which, name in enumerate([*tables, MADE]):
            for fewer, rows in pairwise((0, *ROWS)):
                for kind in ("real", "noise"):
                    path = folder / f"{name.replace('/', '_')}-{kind}-{rows}-{seed}.pkl"
                    if not path.exists():
                        is_made = name == MADE
                        table = made(rows, seed) if is_made else read(name, rows=rows, seed=seed)
                        if kind == "noise":
                            table = noise(table, which, seed)
                        keep(make(table, "uniform", seed), path)
                    case = kept(path)
                    if len(case.truth) > fewer:  # else the table has no more rows than before
                        yield rows, case


def gain(case: Case, cf: int) -> float:
    """Return by how much the answers are truly better than the commonest candidates."""
    block, truth = case.encoded.blocks[cf], case.truth[:, cf]
    candidates = case.encoded.candidates[:, block.columns].astype(float)
    shares = np.bincount(truth, minlength=len(block.values)) / len(truth)
    commonest, _ = most_confident(shares, candidates)
    answers, _ = most_confident(case.estimate.confidences[:, block.columns], candidates)
    return float((answers == truth).mean() - (commonest == truth).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure whether flags are right.")
    parser.add_argument("--keep", type=Path, required=True, help="folder for finished runs")
    parser.add_argument("--tables", choices=[*TABLES], default="tuned")
    parser.add_argument("--seeds", type=int, default=2)
    asked = parser.parse_args()
    found: dict[tuple[int, str], list[ColumnReport]] = {}
    for rows, case in cases(asked.keep, [*TABLES[asked.tables]], asked.seeds):
        for cf, column in enumerate(case.report(always_second_round=True).columns):
            better = gain(case, cf)
            kind = "better" if better >= BETTER else "no better" if better <= 0 else "between"
            found.setdefault((rows, kind), []).append(column)
    lines = []
    for (rows, kind), facts in sorted(found.items()):
        shares = (
            np.mean(["no-better-than-commonest" in fact.flags for fact in facts]),
            np.mean([fact.flagged for fact in facts]),
            np.mean(["small-entropy-reduction" in fact.flags for fact in facts]),
        )
        lines.append([f"{rows:,}", kind, len(facts), *(f"{share:.1%}" for share in shares)])
    head = ("rows, at most", "truly", "CFs", "no-better-than-commonest", "flagged")
    show(markdown((*head, "small reduction"), lines, texts=2))


if __name__ == "__main__":
    main()
