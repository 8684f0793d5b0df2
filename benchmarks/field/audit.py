"""Whether audits hold: python -m benchmarks.field.audit --cases FOLDER, as a Markdown table.

Of every kept case rows are drawn as `cfl audit` draws them, and looked up in the truth.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.field.cases import Case, kept, markdown, show
from benchmarks.field.mechanisms import MECHANISMS
from cfl_cli.commands.audit.job import draw_order
from cfl_cli.core.arrays import Mask, best
from cfl_cli.trust.report import share


@dataclass(frozen=True)
class Audits:
    """Many audits of one CF."""

    accuracy: float  # the truth
    held: float  # share of the intervals that hold it
    width: float  # mean


def right(case: Case) -> Mask:
    blocks, estimate = case.encoded.blocks, case.estimate
    answers = estimate.answers
    if answers is None:
        parts = [(estimate.confidences, case.encoded.candidates, block.columns) for block in blocks]
        answers = np.column_stack([best(a[:, own], b[:, own]) for a, b, own in parts])
    return np.asarray(answers == case.truth)


def audits(case: Case, *, rows: int, times: int) -> Iterator[Audits]:
    """Yield what so many audits of every CF give; the same rows serve all CFs."""
    hits = right(case)
    n = len(hits)
    drawn = [draw_order(n, seed, f"{case.table} {case.mechanism}")[:rows] for seed in range(times)]
    counts = np.array([hits[some].sum(axis=0) for some in drawn])
    intervals = [share(number, min(rows, n), n) for number in range(min(rows, n) + 1)]
    low, high = (np.array([getattr(one, end) for one in intervals]) for end in ("low", "high"))
    for cf in range(hits.shape[1]):
        true, found = hits[:, cf].mean(), counts[:, cf]
        held = (low[found] <= true) & (true <= high[found])
        yield Audits(float(true), float(held.mean()), float((high - low)[found].mean()))


def table(found: dict[str, list[Audits]], times: int) -> Iterator[str]:
    every = [one for rows in found.values() for one in rows]
    lines = []
    for mechanism, rows in [*found.items(), ("all", every)]:
        accuracies = [one.accuracy for one in rows]
        held, width = (np.mean([getattr(one, name) for one in rows]) for name in ("held", "width"))
        between = f"{min(accuracies):.2f} to {max(accuracies):.2f}"
        many = f"{held:.1%} of {len(rows) * times:,}"
        lines.append([mechanism, len(rows), between, many, f"{width:.3f}"])
    head = ("cells", "CFs", "true accuracy", "intervals that hold it", "their width")
    return markdown(head, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Audit kept cases against their truth.")
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--times", type=int, default=200)
    asked = parser.parse_args()
    found: dict[str, list[Audits]] = defaultdict(list)
    for path in sorted(asked.cases.glob("*.pkl")):
        case = kept(path)
        found[case.mechanism] += audits(case, rows=asked.rows, times=asked.times)
    known = {mechanism: found[mechanism] for mechanism in MECHANISMS if found[mechanism]}
    show(table(known, asked.times))


if __name__ == "__main__":
    main()
