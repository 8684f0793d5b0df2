"""Measure what `cfl` makes of messy files: python -m benchmarks.messy init|readings|speed|mistakes.

init        drafts of `cfl init` against what is right: --set tuning|held_out|r
readings    CSV, JSONL, Parquet, Excel, pandas and polars forms of one table
mistakes    deliberate mistakes and what is said of them
speed       two installed versions on clean tables: --old PYTHON --new PYTHON
"""

import argparse
import sys
from pathlib import Path

from benchmarks.messy import held_out, mistakes, r_tables, readings, score, tuning, versions

SETS = {
    "tuning": tuning.files,
    "held_out": held_out.files,
    "r": r_tables.files,
    "r_held_out": r_tables.held_out,
}


def init(asked: argparse.Namespace) -> None:
    """Print the figures of the drafts, and what is wrong with them."""
    scores = score.score(SETS[asked.set](), told=asked.told)
    print(score.report(scores))
    if not asked.figures:
        print(*score.failures(scores), sep="\n")
        print(*(f"marked in vain: {line}" for line in score.vain_marks(scores)), sep="\n")


def say(asked: argparse.Namespace) -> None:
    """Print what is said of mistakes."""
    judged = mistakes.judge_all()
    print(mistakes.report(judged))
    print(*mistakes.shown(judged, every=asked.all), sep="\n")


def forms(_: argparse.Namespace) -> None:
    """Print whether all forms of a table give the same answers."""
    for line in readings.report():
        print(line, flush=True)


parser = argparse.ArgumentParser(description="Measure what cfl makes of messy files.")
jobs = parser.add_subparsers(required=True)
drafts = jobs.add_parser("init", help="drafts against what is right")
drafts.add_argument("--set", choices=[*SETS], default="tuning")
drafts.add_argument("--told", action="store_true", help="name delimiter and encoding")
drafts.add_argument("--figures", action="store_true", help="no list of failures")
drafts.set_defaults(job=init)
wrong = jobs.add_parser("mistakes", help="deliberate mistakes and what is said of them")
wrong.add_argument("--all", action="store_true", help="also those that are answered right")
wrong.set_defaults(job=say)
jobs.add_parser("readings", help="one table in every form").set_defaults(job=forms)
speed = jobs.add_parser("speed", help="two installed versions on clean tables")
speed.add_argument("--old", default=sys.executable, metavar="PYTHON")
speed.add_argument("--new", default=sys.executable, metavar="PYTHON")
speed.add_argument("--old-path", metavar="DIR", help="put before the interpreter's own path")
speed.add_argument("--new-path", metavar="DIR")
speed.add_argument("--data", type=Path, help="folder of bank.csv and adult.csv")
speed.add_argument("--rows", type=int, help="of the tables that are timed; all if left out")
speed.add_argument("--slice", type=int, default=500, help="rows of the tables that are imputed")
speed.add_argument("--turns", type=int, default=3)
speed.set_defaults(job=versions.compare)
asked = parser.parse_args()
asked.job(asked)
