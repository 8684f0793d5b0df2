"""How well the memory of a run is foreseen: what `check` says beside the peak of `impute`.

    python -m benchmarks.memory --data FOLDER --rows 5000 20000 --methods graph auto

FOLDER holds bank.csv and adult.csv; without it only generated tables are tried. Every run is the
command, in a process of its own. Wanted: 1.0 to 1.3 times what is measured.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.tables import make

WANTED = (1.0, 1.3)


def _cfl(command: str, folder: Path, *options: str) -> str:
    files = [str(folder / "data.parquet"), "-q", "--schema", str(folder / "schema.yml")]
    line = [sys.executable, "-m", "cfl_cli", command, *files, *options]
    run = subprocess.run(line, capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(run.stderr)
    return run.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tables", nargs="+", default=["bank", "adult", "generated"])
    parser.add_argument("--rows", type=int, nargs="+", default=[2000, 10_000, 45_000])
    parser.add_argument("--methods", nargs="+", default=["graph", "boost", "net", "auto"])
    parser.add_argument("--options", nargs="*", default=[], help="of the command, without dashes")
    given = parser.parse_args()
    names = given.tables if given.data else ["generated"]
    options = [f"--{option}" for option in given.options]
    print(f"{'table':>10} {'rows':>9} {'method':>8} {'foreseen':>9} {'measured':>9} {'ratio':>6}")
    for name in names:
        for rows in given.rows:
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place)
                make(name, rows=rows, data=given.data, seed=0).write(folder)
                for method in given.methods:
                    both = ["--method", method, *options]
                    plan = json.loads(_cfl("check", folder, *both, "--format", "json"))["plan"]
                    report = folder / "report.json"
                    files = ("--out", str(folder / "out.parquet"), "--report", str(report))
                    _cfl("impute", folder, *both, *files, "--overwrite")
                    said = float(plan["memory_mb"])
                    took = float(json.loads(report.read_text())["peak_memory_mb"])
                    fits = WANTED[0] <= said / took <= WANTED[1]
                    print(
                        f"{name:>10} {rows:>9,} {method:>8} {said:>9,.0f} {took:>9,.0f} "
                        f"{said / took:>6.2f}{'' if fits else '  not as wanted'}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
