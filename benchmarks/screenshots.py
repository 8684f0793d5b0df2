"""Pictures of the sample's report for the docs: `python -m benchmarks.screenshots`.

It needs Debian's chromium and chromedriver, and what the extra `test` installs.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "sample_data"
# Each is a part of the page: its width, where it begins, how high it is, and whether it is dark.
PICTURES = {
    "report-light.png": (1000, "", 760, False),
    "report-dark.png": (1000, "#cf1", 725, True),
    "report-phone.png": (390, "", 1150, False),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    out = parser.parse_args().out
    sys.path.insert(0, str(ROOT / "tests"))
    from builders.browser import browser  # type: ignore[import-not-found]

    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, browser() as opened:
        table, page = Path(folder) / "triage.parquet", Path(folder) / "report.html"
        source = ["sample_data/triage.csv", "--schema", "sample_data/triage.yml", "--quiet"]
        _cfl("impute", *source, "--method", "auto", "--out", str(table))
        _cfl("report", str(table), "--date", "2026-11-19", "--out", str(page))
        for name, (width, place, height, dark) in PICTURES.items():
            opened.open(page, width=width, dark=dark)
            if place:
                opened.run("details.open = true")
            opened.picture(out / name, height=height, place=place)
            print(f"{out / name}: {(out / name).stat().st_size:,} bytes")


def _cfl(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "cfl_cli", *arguments], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
