"""Measure what `cfl` makes of messy files: python -m benchmarks.messy init|mistakes.

init        drafts of `cfl init` against what is right: --set held_out|r|r_held_out
mistakes    deliberate mistakes and what is said of them
"""

import argparse

from benchmarks.messy import held_out, mistakes, r_tables, score

SETS = {"held_out": held_out.files, "r": r_tables.files, "r_held_out": r_tables.held_out}


def init(asked: argparse.Namespace) -> None:
    scores = score.score(SETS[asked.set](), told=asked.told)
    print(score.report(scores))
    if not asked.figures:
        print(*score.failures(scores), sep="\n")
        print(*(f"marked in vain: {line}" for line in score.vain_marks(scores)), sep="\n")


def say(asked: argparse.Namespace) -> None:
    judged = mistakes.judge_all()
    print(mistakes.report(judged))
    print(*mistakes.shown(judged, every=asked.all), sep="\n")


parser = argparse.ArgumentParser(description="Measure what cfl makes of messy files.")
jobs = parser.add_subparsers(required=True)
drafts = jobs.add_parser("init", help="drafts against what is right")
drafts.add_argument("--set", choices=[*SETS], default="held_out")
drafts.add_argument("--told", action="store_true", help="name delimiter and encoding")
drafts.add_argument("--figures", action="store_true", help="no list of failures")
drafts.set_defaults(job=init)
wrong = jobs.add_parser("mistakes", help="deliberate mistakes and what is said of them")
wrong.add_argument("--all", action="store_true", help="also those that are answered right")
wrong.set_defaults(job=say)
asked = parser.parse_args()
asked.job(asked)
