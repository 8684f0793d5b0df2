"""Whatever bytes of a result are damaged, `cfl report --verify` never calls a wrong cell right."""

import random
import shutil
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from builders.command_line import cfl, impute

from cfl_cli.commands.report.work import check_pair, verify
from cfl_cli.errors import CflError
from cfl_cli.tables import frames
from cfl_cli.tables import table as tables

FORMATS = ["csv", "jsonl", "parquet", "arrow", "csv.gz", "csv.zst", "folder"]
SEEDS = [*range(12)]  # of the small form
NOTICED_BY_READING = {"csv.gz", "csv.zst"}  # Parquet has checksums too, but not of its footer


@pytest.fixture
def data(folder):
    """Write a table with cells that damage could change unseen: empty, null, long, and alike."""
    rows = range(60)
    frame = pl.DataFrame(
        {
            "x": [float(row) for row in rows],
            "y": [row * row % 7 for row in rows],
            "cf": ["abc"[row % 3] for row in rows],
            "note": [None if row % 4 == 0 else "" if row % 4 == 1 else f"n{row}" for row in rows],
            "day": pl.Series(rows, dtype=pl.Int32).cast(pl.Date),
        }
    )
    frame.write_parquet(folder / "data.parquet")
    return folder


def made(form):
    """Return the files of a result that may be damaged, and its name."""
    out = "out/" if form == "folder" else f"out.{form}"
    done = impute("--mode", "both", "--folds", "0", "-q", data="data.parquet", out=out)
    assert done.exit_code == 0, done.output
    if form == "folder":
        return sorted(Path("out").glob("*.parquet")), "out"
    return [path for path in Path().glob("out.*") if path.is_file()], out


def read(name):
    """Return the cells of a table, typed and with nulls where its format has them."""
    frame = tables.read(tables.Place.to_read(name)).frame
    return frame if isinstance(frame, pa.Table) else frames.as_arrow(frame)


def damaged(data, rng):
    changed = bytearray(data)
    place = rng.randrange(len(data))
    if rng.random() < 0.7:
        changed[place] ^= 1 << rng.randrange(8)
    else:
        changed[place : place + 64] = rng.randbytes(len(changed[place : place + 64]))
    return bytes(changed)


def holds(check):
    try:
        return all(found.holds for found in check() or ())
    except CflError:
        return False


def attack(form, seeds):
    """Return how often damage that changed a cell was not noticed: by --verify, by `report`, by
    reading.
    """
    paths, name = made(form)
    before, missed = read(name), [0, 0, 0]
    assert holds(lambda: verify(name, None, None))
    assert holds(lambda: check_pair(name))
    for seed in seeds:
        rng = random.Random(f"{form} {seed}")
        path = rng.choice(paths)
        whole = path.read_bytes()
        path.write_bytes(damaged(whole, rng))
        try:
            same = read(name).equals(before)
            missed[2] += not same
        except CflError:
            same = True  # there is no cell to be wrong
        if not same:
            missed[0] += holds(lambda: verify(name, None, None))
            missed[1] += holds(lambda: check_pair(name))
        path.write_bytes(whole)
    return missed


@pytest.mark.parametrize("form", FORMATS)
def test_damage_never_changes_a_cell_unseen(data, form):
    verified, shown, by_reading = attack(form, SEEDS)
    assert (verified, shown) == (0, 0)
    assert by_reading == 0 or form not in NOTICED_BY_READING


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_the_whole_campaign_of_damage(data, form):
    verified, shown, by_reading = attack(form, range(1000, 1600))
    assert (verified, shown) == (0, 0)
    assert by_reading == 0 or form not in NOTICED_BY_READING


def test_a_new_report_beside_an_old_table_is_seen(data):
    impute("--mode", "soft", "-q", data="data.parquet")
    shutil.copy("out.csv", "old.csv")
    impute("--mode", "hard", "-q", "--overwrite", data="data.parquet")
    shutil.copy("old.csv", "out.csv")
    shown = cfl("report", "out.csv")
    assert shown.exit_code == 1
    assert "changed after its report was written" in shown.stderr
    Path("out.csv").unlink()
    alone = cfl("report", "out.csv")
    assert (alone.exit_code, "only its report is" in alone.stderr) == (1, True)
    assert cfl("report", "out.csv.report.json").exit_code == 0


def test_a_table_that_was_saved_again_in_other_quotes_is_the_same(data):
    impute("-q", data="data.parquet")
    table = pl.read_csv("out.csv", infer_schema=False)
    table.write_csv("out.csv", quote_style="always")
    done = cfl("report", "out.csv", "--verify")
    assert (done.exit_code, "all columns are as they were written" in done.output) == (0, True)
    assert cfl("report", "out.csv").exit_code == 0
    assert cfl("report", "--verify", "out.csv.report.json").exit_code == 0


def test_a_flipped_byte_of_a_report_is_noticed(data):
    impute("-q", data="data.parquet")
    path = Path("out.csv.report.json")
    text = path.read_text()
    path.write_text(text.replace('"rows": 60', '"rows": 61', 1))
    shown = cfl("report", "out.csv.report.json")
    assert (shown.exit_code, "its checksum differs" in shown.stderr) == (1, True)
    path.write_text(text.replace('"report_sha256"', '"report_sha257"'))
    assert cfl("report", "out.csv.report.json").exit_code == 1
    path.write_text(text.replace("\n", " "))  # laid out in another way
    assert cfl("report", "out.csv.report.json").exit_code == 0
