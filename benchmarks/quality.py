"""Record how well the paper's method does on parts of its two tables, for a test to hold on to.

    python -m benchmarks.quality --data DIR

writes `benchmarks/quality.json`: per CF the mean accuracy and cross entropy of `graph` over two
seeds, 5,000 rows each. `tests/benchmarks/test_quality.py` fails where either is worse by more than the
tolerance, which allows for other releases of numeric libraries. To be run again when a change is
meant to alter the answers.
"""

import argparse
import json
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks import tables
from benchmarks.paper import plan
from benchmarks.paper.work import ask, judge

RECORDED = Path(__file__).parent / "quality.json"
ROWS, SEEDS = 5000, (0, 1)
TOLERANCE = {"accuracy": 0.01, "cross_entropy": 0.03}

Scores = dict[str, dict[str, float]]  # CF → metric → mean over the seeds


def measure(name: str, data: Path, **settings: Any) -> Scores:
    found = []
    for seed in SEEDS:
        table = tables.read(name, data, rows=ROWS, seed=seed)
        answers, _ = ask(plan.graph(name, ROWS, seed), table, folds=0, **settings)
        found.append(judge(answers, table))
    return {
        cf: {metric: round(fmean(each[cf][metric] for each in found), 4) for metric in TOLERANCE}
        for cf in found[0]
    }


def worse(found: Scores, recorded: Scores) -> list[str]:
    words = []
    for cf, metrics in recorded.items():
        for metric, before in metrics.items():
            now = found[cf][metric]
            loss = before - now if metric == "accuracy" else now - before
            if loss > TOLERANCE[metric]:
                words.append(f"{cf}: {metric} {now}, recorded {before}")
    return words


def recorded() -> dict[str, Scores]:
    held: dict[str, Scores] = json.loads(RECORDED.read_text())
    return held


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Record accuracy and cross entropy of `graph`.")
    parser.add_argument("--data", type=Path, required=True, help="with bank.csv and adult.csv")
    asked = parser.parse_args()
    scores = {name: measure(name, asked.data) for name in tables.CFS}
    RECORDED.write_text(json.dumps(scores, indent=1) + "\n")
