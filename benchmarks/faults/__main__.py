"""Attack `cfl` and count what went wrong.

    python -m benchmarks.faults signals [--runs N] [--seed N] [--only NAME]
    python -m benchmarks.faults errors  [--runs N] [--seed N] [--only NAME]
    python -m benchmarks.faults damage  [--runs N] [--seed N]

signals   SIGINT, SIGTERM and SIGHUP at calls that write, and at those that load packages: the right
          exit code within a second, files old or new, nothing left behind, no traceback
errors    calls that write fail, as on a full or broken disk: a message in one line, and the same
damage    files with bytes changed, missing or doubled are read by commands and by the library: exit
          codes of ours, no traceback, and no abort at the exit

The first two need strace; each run is the command itself, N for each of some fourteen. Prints what
went wrong, and ends with 1 if anything did.
"""

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.faults import campaign, damage, targets

ATTACKS = {"signals": campaign.signals, "errors": campaign.errors}


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.faults")
    parser.add_argument("attack", choices=[*ATTACKS, "damage"])
    parser.add_argument("--runs", type=int, default=20, help="for each command; damage: in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="commands whose name holds this")
    given = parser.parse_args()
    made = tempfile.mkdtemp()  # a `TemporaryDirectory` would also go with a process that is forked
    try:
        folder = Path(made).resolve() / "work"
        targets.prepare(folder)
        if given.attack == "damage":
            counts, wrong = damage_files(folder, runs=given.runs, seed=given.seed)
        else:
            chosen = [one for one in targets.targets() if given.only in one.name]
            counts, wrong = disturb(folder, chosen, given.attack, runs=given.runs, seed=given.seed)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    for what, times in sorted(counts.items()):
        print(f"{times:5}  {what}")
    print(f"{sum(counts.values())} runs, {wrong} wrong")
    return int(wrong > 0)


def disturb(
    folder: Path, chosen: list[targets.Target], attack: str, *, runs: int, seed: int
) -> tuple[Counter[str], int]:
    counts: Counter[str] = Counter()
    wrong = 0
    for target in chosen:
        rng = random.Random(f"{seed} {target.name}")
        attacked = campaign.Attacked(target, folder)
        for outcome in ATTACKS[attack](attacked, runs=runs, rng=rng):
            ending, what = outcome.ending, outcome.injection
            happened = "happened" if ending.happened else "did not happen"
            counts[f"{happened}, exit code {ending.code}, files {outcome.state}"] += 1
            if outcome.problems:
                wrong += 1
                at = f"{what.call} {what.number}: {what.what}"
                facts = {"command": target.name, "at": at, "path": what.path}
                left = {"problems": outcome.problems, "state": outcome.state}
                said = {"code": ending.code, "stderr": ending.stderr[-600:]}
                print(json.dumps({**facts, **left, **said}), flush=True)
        print(f"{target.name}: {sum(counts.values())} runs so far, {wrong} wrong", flush=True)
    return counts, wrong


def damage_files(folder: Path, *, runs: int, seed: int) -> tuple[Counter[str], int]:
    counts: Counter[str] = Counter()
    wrong = 0
    for ending in damage.attacks(folder, runs=runs, rng=random.Random(seed)):
        counts[f"{ending.what}: exit code {ending.code}"] += 1
        if not ending.is_right:
            wrong += 1
            print(json.dumps(ending._asdict() | {"said": ending.said[-1500:]}), flush=True)
    return counts, wrong


if __name__ == "__main__":
    sys.exit(main())
