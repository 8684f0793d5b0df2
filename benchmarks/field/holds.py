"""Does the reported accuracy hold? Real tables, every mechanism, against the truth.

    python -m benchmarks.field.holds --tables seen --seeds 6 --out field.json
    python -m benchmarks.field.holds --show field.json

Every run is one of `cfl impute` as a user would start it. A case is one CF of one table with one
seed; its interval holds if the share of right answers lies within it.
"""

import argparse
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.field.cases import markdown, masked
from benchmarks.field.mechanisms import MECHANISMS
from benchmarks.field.tables import TABLES, FieldTable, read
from cfl_cli import impute
from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.trust.heldout import BINS, bins

HONEST = ("uniform", "uniform, one to three")


@dataclass(frozen=True)
class Held:
    """What the report said of one CF, and what is true."""

    table: str
    cf: str
    values: int
    mechanism: str
    seed: int
    right: float  # true accuracy of the answers
    commonest: float  # that of the truly commonest candidate
    low: float | None
    high: float | None
    flagged: bool
    gap: float  # expected calibration error of the written confidences
    break_even: float | None
    unnoticed: float | None

    @property
    def holds(self) -> bool:
        return (
            self.low is not None and self.high is not None and self.low <= self.right <= self.high
        )

    @property
    def known(self) -> bool:
        return self.low is not None


def run(table: FieldTable, mechanism: str, seed: int) -> list[Held]:
    frame, schema = masked(table, mechanism, seed)
    result = impute(frame, schema, seed=seed, name=table.name)
    cases = []
    for cf, column in enumerate(result.report.columns):
        truth, confidences = table.truth[:, cf], result.confidences.arrays[column.name]
        domain = table.domains[column.name]
        answers = result.frame[f"{column.name}_imputed"].replace_strict(
            domain, range(len(domain)), return_dtype=int
        )
        interval = column.estimated_accuracy
        candidates = confidences > 0
        counts = np.bincount(truth, minlength=len(domain))
        commonest = np.where(candidates, counts, -1).argmax(axis=1)
        cases.append(
            Held(
                table.name,
                column.name,
                len(domain),
                mechanism,
                seed,
                right=float((answers.to_numpy() == truth).mean()),
                commonest=float((commonest == truth).mean()),
                low=interval.low if interval else None,
                high=interval.high if interval else None,
                flagged=column.flagged,
                gap=calibration_gap(confidences, truth),
                break_even=column.break_even_bias,
                unnoticed=column.unnoticed_bias,
            )
        )
    return cases


def calibration_gap(confidences: Floats, truth: Ints) -> float:
    """Return the mean of |accuracy − confidence| over ten bins of confidence, by their cells."""
    sure, right = confidences.max(axis=1), confidences.argmax(axis=1) == truth
    place = bins(sure)
    cells = np.bincount(place, minlength=BINS)
    gaps = np.abs(np.bincount(place, right - sure, minlength=BINS))
    return float(gaps.sum() / cells.sum())


def lines(cases: Iterable[Held]) -> Iterator[str]:
    cases, rows = list(cases), []
    for mechanism in MECHANISMS:
        own = [case for case in cases if case.mechanism == mechanism]
        if not own:
            continue
        known = [case for case in own if case.known]
        held, unknown = sum(case.holds for case in known), len(own) - len(known)
        widths = [case.high - case.low for case in known if case.high and case.low is not None]
        numbers = (
            len(own),
            unknown,
            f"{held} of {len(known)}",
            f"{(held + unknown) / len(own):.0%}",
            f"{np.mean(widths):.2f}" if widths else "-",
            f"{np.mean([case.gap for case in own]):.3f}",
        )
        rows.append((mechanism, *numbers))
    head = ("cells", "CFs × seeds", "not known", "interval holds", "holds or not known")
    return markdown((*head, "width", "ECE"), rows)


def flag_lines(cases: Iterable[Held]) -> list[str]:
    honest = [case for case in cases if case.mechanism in HONEST]
    better = [case for case in honest if case.right - case.commonest > 0.05]
    no_better = [case for case in honest if case.right <= case.commonest]
    groups = {"five points better than the commonest candidate": better, "no better": no_better}
    return [
        f"{name}: {sum(case.flagged for case in own)} of {len(own)} flagged"
        for name, own in groups.items()
    ]


def show(path: Path) -> None:
    cases = [Held(**case) for case in json.loads(path.read_text())]
    print(*lines(cases), "", "With at least four values:", "", sep="\n")
    print(*lines(case for case in cases if case.values >= 4), "", *flag_lines(cases), sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare reported accuracies with the truth.")
    parser.add_argument("--tables", choices=[*TABLES], default="seen")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--from-seed", type=int, default=0)
    parser.add_argument("--mechanism", action="append")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--show", type=Path)
    asked = parser.parse_args()
    if asked.show:
        show(asked.show)
        return
    cases: list[Held] = []
    for seed in range(asked.from_seed, asked.from_seed + asked.seeds):
        for name in TABLES[asked.tables]:
            table = read(name, seed=seed)
            for mechanism in asked.mechanism or MECHANISMS:
                cases += run(table, mechanism, seed)
        if asked.out:
            asked.out.write_text(json.dumps([asdict(case) for case in cases], indent=1) + "\n")
    print(*lines(cases), "", *flag_lines(cases), sep="\n")


if __name__ == "__main__":
    main()
