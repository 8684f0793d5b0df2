"""Run the paper's evaluation, and write what came out beside what the paper printed.

    python -m benchmarks.paper --data DIR --out OUT [--quick] [--only PART ...] [--docs docs/background]

An interrupted run goes on where it stopped.
"""

import argparse
import signal
import sys
from pathlib import Path

from benchmarks import tables
from benchmarks.machine import fingerprint, machine
from benchmarks.measure import ROOT
from benchmarks.paper import labels, page, plan, plots, runner, work
from benchmarks.paper.plan import PARTS, Scale
from benchmarks.paper.runner import say
from benchmarks.paper.store import Store, UnfitError, whole
from benchmarks.paper.summary import Summary, summarise
from cfl_cli.core.parallel import available_cores

INTERRUPTED = 130
QUICK_ROWS = {"bank": 2000, "generated": 300}


def main() -> None:
    asked = arguments()
    scale = choose(asked)
    asked.out.mkdir(parents=True, exist_ok=True)
    store = Store(asked.out)
    if asked.fresh:
        store.forget()
    facts = machine() | {"recipe": recipe()}
    imputations, predictions = plan.tasks(plan.points(scale, asked.only or PARTS))
    try:
        store.check(facts)
        done = runner.run([imputations, predictions], store, asked.data, jobs=asked.jobs)
        summary = summarise(plan.points(scale, PARTS), store, facts)
    except UnfitError as error:
        sys.exit(str(error))
    known = len(imputations) + len(predictions) - done
    say(f"{done} tasks done, {known} were known" if done else "everything was known")
    whole(asked.out / "results.csv", lambda file: file.write(summary.to_csv().encode()))
    path = asked.out / "results.json"
    whole(path, lambda file: file.write(summary.to_json().encode()))
    held = Summary.from_json(path.read_text())
    for folder in filter(None, (asked.out, asked.docs)):
        plots.draw(held, folder / "results")
        whole(folder / "results.md", lambda file: file.write(page.page(held).encode()))


def recipe() -> str:
    """Return a fingerprint of what decides the numbers besides `cfl_cli`."""
    return fingerprint(*(Path(str(module.__file__)) for module in (tables, labels, work)))


def choose(asked: argparse.Namespace) -> Scale:
    tables = ("bank", "adult") if asked.data else ("generated",)
    for table in tables:
        if asked.data and not (asked.data / f"{table}.csv").exists():
            sys.exit(f"{asked.data} holds no {table}.csv: name its folder with --data")
    if asked.out.exists() and not asked.out.is_dir():
        sys.exit(f"{asked.out} is not a folder: choose another --out")
    if asked.quick or not asked.data:
        if asked.docs and asked.docs.resolve() == (ROOT / "docs" / "background").resolve():
            sys.exit(
                "the page of the whole evaluation is in docs/background: choose another --docs"
            )
        return plan.quick(tables, asked.seeds or 1, QUICK_ROWS[tables[0]])
    return Scale(tables, asked.seeds or Scale.seeds)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paper", description="Repeat the paper's evaluation."
    )
    parser.add_argument(
        "--data",
        type=Path,
        help="folder with bank.csv and adult.csv; without it a small generated table is tried",
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--docs", type=Path, help="folder for the page and its figures")
    parser.add_argument("--quick", action="store_true", help="two minutes, to see that it works")
    parser.add_argument("--seeds", type=positive, help="how many; 5, or 1 with --quick")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=[], metavar="PART")
    parser.add_argument("--jobs", type=positive, default=available_cores(), help="all cores")
    parser.add_argument("--fresh", action="store_true", help="forget what was run before")
    return parser.parse_args()


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        main()
    except KeyboardInterrupt:
        say("interrupted: the same command goes on from here")
        sys.exit(INTERRUPTED)
