"""Which method answers best on small real tables.

python -m benchmarks.best --half report --method graph --method graph+metric=learned --out scores.jsonl
python -m benchmarks.best --half tune …      the tables by which methods may be changed
python -m benchmarks.best --method plain-forest …    scikit-learn's forest, refitted by EM
python -m benchmarks.best --noise …          cells shuffled over the rows: what is flagged?
python -m benchmarks.best --show scores.jsonl
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.best.cases import Score, estimated, make, plain_forest, scores
from benchmarks.best.tables import KINDS, TABLES
from cfl_cli.core.arrays import Floats
from cfl_cli.core.settings import Settings
from cfl_cli.methods.auto import USUAL


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--half", choices=[*TABLES], default="tune")
    parser.add_argument("--method", action="append")
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--rows", type=int, default=700)
    parser.add_argument("--table", action="append")
    parser.add_argument("--noise", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--show", type=Path)
    given = parser.parse_args()
    if given.show:
        show(given.show)
        return
    with threadpool_limits(1):
        for kind in given.kind or KINDS:
            for table in given.table or TABLES[given.half]:
                for seed in given.seed or (0,):
                    score(given, table, kind, seed)


def score(given: argparse.Namespace, table: str, kind: str, seed: int) -> None:
    case = make(table, kind, seed, rows=given.rows, noise=given.noise)
    for method in given.method or ("graph",):
        if method == "plain-forest":
            note(given, method, plain_forest(case, seed=seed))
            continue
        name, *more = method.split("+")
        own = dict(one.split("=") for one in more)
        settings = Settings().override(method=name, seed=seed, **own)
        estimate, seconds = estimated(case, settings)
        note(given, method, scores(case, estimate, settings, seconds))


def note(given: argparse.Namespace, method: str, scores: list[Score]) -> None:
    for score in scores:
        line = json.dumps({"method": method} | asdict(score))
        print(line, flush=True)
        if given.out:
            with given.out.open("a") as file:
                file.write(line + "\n")


def show(path: Path) -> None:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    by_case: dict[tuple[Any, ...], dict[str, Any]] = {}
    for line in lines:
        key = (line["table"], line["cf"], line["kind"], line["seed"], line["rows"])
        by_case.setdefault(key, {})[line["method"]] = line
    methods = list(dict.fromkeys(line["method"] for line in lines))
    complete = [case for case in by_case.values() if len(case) == len(methods)]

    def figure(method: str, name: str) -> Floats:
        return np.array([of[method][name] for of in complete], dtype=float)

    first = methods[0]
    print(f"{len(complete)} CFs of {len({key[0] for key in by_case})} tables; ", end="")
    print(f"the majority value is right in {figure(first, 'majority').mean():.3f}")
    for method in methods:
        names = ("accuracy", "entropy", "error", "chance", "least", "seconds", "flagged")
        means = {name: figure(method, name).mean() for name in names}
        gained = figure(method, "accuracy") - figure(first, "accuracy")
        print(
            f"{method:24s} accuracy {means['accuracy']:.3f}  entropy {means['entropy']:.3f}  error "
            f"{means['error']:.3f} (by chance {means['chance']:.3f}, with the best power "
            f"{means['least']:.3f})  CPU {means['seconds']:.1f}  "
            f"flagged {means['flagged']:.2f}  than {first}: {gained.mean():+.4f}, by over 0.02: "
            f"better {(gained > 0.02).sum()}, worse {(gained < -0.02).sum()}, "
            f"by over 0.03 worse {(gained < -0.03).sum()}"
        )
        if np.isnan(means["flagged"]):  # a peer, whose answers nothing judges
            continue
        gains, flags = figure(method, "gain"), figure(method, "flagged")
        for words, chosen in (("better by 0.05", gains >= 0.05), ("no better", gains <= 0)):
            print(f"{'':24s} {words} than the most common value: ", end="")
            print(f"{flags[chosen].sum():.0f} of {chosen.sum()} flagged")
    parts = [method for method in methods if method in USUAL]
    if "auto" in methods and parts:
        best = np.max([figure(method, "accuracy") for method in parts], axis=0)
        behind = (figure("auto", "accuracy") - best).mean()
        print(f"auto than the best of {', '.join(parts)} by the truth of each CF: {behind:+.4f}")


if __name__ == "__main__":
    main()
