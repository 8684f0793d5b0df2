"""Run cases and keep them for study: python -m benchmarks.field --to FOLDER."""

import argparse
from pathlib import Path

from benchmarks.field.cases import keep, make, path_of
from benchmarks.field.mechanisms import MECHANISMS
from benchmarks.field.tables import TABLES, read

parser = argparse.ArgumentParser(description="Run cases and keep them.")
parser.add_argument("--to", type=Path, required=True)
parser.add_argument("--tables", choices=[*TABLES], default="tuned")
parser.add_argument("--mechanism", action="append")
parser.add_argument("--seeds", type=int, default=3)
parser.add_argument("--exact", type=float, default=0.0)
asked = parser.parse_args()
asked.to.mkdir(parents=True, exist_ok=True)
for seed in range(asked.seeds):
    for table in TABLES[asked.tables]:
        for mechanism in asked.mechanism or MECHANISMS:
            path = path_of(asked.to, table, mechanism, seed, exact=asked.exact)
            if not path.exists():
                case = make(read(table, seed=seed), mechanism, seed, exact=asked.exact)
                keep(case, path)
                print(path.name, flush=True)
