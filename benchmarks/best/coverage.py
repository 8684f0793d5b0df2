"""Do accuracies and verdicts hold, by the number of rows, whatever the method and the cells?

    python -m benchmarks.best.coverage --half tune --rows 300 --rows 1000 --to FOLDER
    python -m benchmarks.best.coverage --half tune --show FOLDER

The first runs cases and keeps them; cases that are there already are not run again. The second
judges them, as often as something in `cfl_cli.trust` has changed, and prints

    holds        CFs whose interval holds the true accuracy of the answers, of those with an interval
    low, high    CFs whose true accuracy is below the interval, and above it
    width        mean width of the intervals
    lean         mean of estimate − true accuracy
    not known    CFs without an accuracy
    in order     CFs that hold, are not known, or are not recommended without a condition
    use, worse   CFs whose verdict is `use`, and of these the CFs that are truly worse than the
                 candidate that is most common by the truth
    flagged      CFs that the report flags
    error        mean calibration error of the confidences, by the truth

a line for each kind of cells, method and number of rows.
"""

import argparse
import pickle
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.best.cases import Case, most_common
from benchmarks.best.cases import judged as by_truth
from benchmarks.best.tables import KINDS, TABLES, cells, random_of, read
from benchmarks.field.cases import drawing, markdown, plausible, show, table_of
from benchmarks.field.mechanisms import MECHANISMS
from cfl_cli.core.settings import Settings
from cfl_cli.methods.interface import Estimate
from cfl_cli.run.prepare import hidden_together, prepare, run
from cfl_cli.trust import verdict
from cfl_cli.trust.facts import calibrate
from cfl_cli.trust.report import Report

LOOKED_AT = ("first", "people")  # in the name of a mechanism that needs what values look like


def made(name: str, kind: str, seed: int, rows: int) -> Case:
    table, every = read(name, rows=rows, seed=seed), []
    for number, (cf, domain) in enumerate(table.domains.items()):
        truth = table.truth[:, number]
        if kind in KINDS:
            every.append(cells(truth, len(domain), kind, random_of(name, cf, kind, seed)))
            continue
        looks = np.ones((len(truth), len(domain)))
        if any(word in kind for word in LOOKED_AT):
            looks = plausible(table, number)
        every.append(MECHANISMS[kind](truth, looks, drawing(name, kind, cf, seed)))
    # Values in the domain's order, whatever they are: what counts is that the schema says so.
    more = {"ordered": True} if kind.startswith("neighbors") else {}
    frame, schema = table_of(table, every, **more)
    return Case(name, kind, seed, prepare(frame, schema, Settings(), name=name), table.truth)


@dataclass(frozen=True)
class Ran:
    case: Case
    method: str
    estimate: Estimate

    def report(self, estimate: Estimate) -> Report:
        return verdict.build(
            self.case.encoded,
            estimate,
            cfl_version="",
            settings={},
            k=20,
            always_second_round=False,
        )


@dataclass(frozen=True)
class Judged:
    kind: str
    method: str
    rows: int
    cf: str
    values: int
    right: float
    majority: float
    low: float | None
    value: float
    high: float
    verdict: str
    reasons: tuple[str, ...]
    break_even: float | None
    noticed: float | None
    flagged: bool
    error: float  # of calibration, by the truth

    @property
    def holds(self) -> bool:
        return self.low is not None and self.low - 1e-9 <= self.right <= self.high + 1e-9


def judged(ran: Ran, asked: int) -> Iterator[Judged]:
    """Yield what became of each CF; `asked` rows were to be read, and there may be fewer."""
    estimate = calibrate(ran.case.encoded, ran.estimate, jobs=1)
    report, case = ran.report(estimate), ran.case
    for number, (block, column) in enumerate(zip(case.encoded.blocks, report.columns, strict=True)):
        truth = case.truth[:, number]
        answers = ran.estimate.confidences[:, block.columns].argmax(axis=1)
        found = column.estimated_accuracy
        low, value, high = (found.low, found.value, found.high) if found else (None, 0.0, 0.0)
        yield Judged(
            case.kind,
            ran.method,
            asked,
            f"{case.name} {block.name} {case.seed}",
            column.domain_size,
            float((answers == truth).mean()),
            most_common(case, number),
            low,
            value,
            high,
            column.verdict,
            column.reasons,
            column.break_even_bias,
            column.unnoticed_bias,
            column.flagged,
            by_truth(estimate.confidences[:, block.columns], truth)[2],
        )


HEADINGS = (
    *("cells", "method", "rows", "CFs", "holds", "low", "high", "width", "lean", "not known"),
    *("in order", "use", "worse", "flagged", "error"),
)


def lines(found: list[Judged]) -> Iterator[str]:
    groups: dict[tuple[str, str, int], list[Judged]] = defaultdict(list)
    for one in found:
        groups[one.kind, one.method, one.rows].append(one)
    every = [*sorted(groups.items()), (("all", "", 0), found)]
    return markdown(HEADINGS, [(*key, *figures(group)) for key, group in every], texts=3)


def figures(group: list[Judged]) -> tuple[object, ...]:
    known = [one for one in group if one.low is not None]
    use = [one for one in group if one.verdict == "use"]
    calm = [one.holds or one.verdict not in ("use", "use-with-care") for one in group]
    return (
        len(group),
        f"{sum(one.holds for one in known)} of {len(known)}",
        sum(one.right < (one.low or 0) - 1e-9 for one in known),
        sum(one.right > one.high + 1e-9 for one in known),
        f"{np.mean([one.high - (one.low or 0) for one in known]):.3f}" if known else "-",
        f"{np.mean([one.value - one.right for one in known]):+.3f}" if known else "-",
        len(group) - len(known),
        f"{sum(calm)} of {len(group)}",
        len(use),
        sum(one.right < one.majority for one in use),
        sum(one.flagged for one in group),
        f"{np.mean([one.error for one in group]):.3f}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--half", choices=[*TABLES], default="tune")
    parser.add_argument("--method", action="append")
    parser.add_argument("--kind", action="append", choices=[*KINDS, *MECHANISMS])
    parser.add_argument("--table", action="append")
    parser.add_argument("--rows", type=int, action="append")
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--to", type=Path)
    parser.add_argument("--show", type=Path)
    asked = parser.parse_args()
    folder = asked.show or asked.to
    folder.mkdir(parents=True, exist_ok=True)
    found: list[Judged] = []
    with threadpool_limits(1):
        for rows in asked.rows or (300, 1000):
            for seed in asked.seed or (0,):
                for kind in asked.kind or KINDS:
                    for method in asked.method or ("graph",):
                        for name in asked.table or TABLES[asked.half]:
                            key = f"{name}-{kind}-{method}-{rows}-{seed}.pkl"
                            path = folder / key.replace("/", "_").replace(" ", "_")
                            if not path.exists():
                                if asked.show:
                                    continue
                                keep(path, name, kind, method, rows, seed)
                            if asked.show:
                                found += judged(pickle.loads(path.read_bytes()), rows)
    if asked.show:
        show(lines(found))


def keep(path: Path, name: str, kind: str, method: str, rows: int, seed: int) -> None:
    case = made(name, kind, seed, rows)
    settings = Settings().override(method=method, seed=seed)
    folds = hidden_together(len(case.truth), settings, case.encoded.groups)
    estimate = run(case.encoded, settings, folds=folds, jobs=1, progress=lambda *_: None)
    estimate = replace(estimate, fitted=None)
    path.write_bytes(pickle.dumps(Ran(case, method, estimate)))


if __name__ == "__main__":
    main()
