import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from benchmarks import measure, plain, tables, tasks
from benchmarks.speed import Results, exponent
from cfl_cli.run.prepare import run
from cfl_cli.schema.model import Schema

MACHINE = {
    "cores": 2,
    "processor": "abacus",
    "memory_gb": 1,
    "system": "paper",
    "python": "3",
    "versions": {"cfl-cli": "1"},
}


def facts(tool, table, rows, seconds, **more):
    known = {"tool": tool, "table": table, "rows": rows, "seconds": seconds, "peak_mb": 10.0}
    return {f"{tool}-{table}-{rows}": known | {"stages": {}, "runs": [seconds]} | more}


@pytest.fixture
def folder(tmp_path):
    tables.generated(300, seed=0).write(tmp_path)
    return tmp_path


def test_cfl_and_the_plain_recipe_agree_to_a_hundred_thousandth(tmp_path):
    tables.generated(150, seed=0).write(tmp_path)
    encoded, _ = tables.load(tmp_path)
    arrays = encoded.features, encoded.candidates, encoded.known.blocks
    settings = {"k": 6, "iterations": 50, "gamma": 0.25, "ridge": 0.3}
    chosen = Schema.parse((tmp_path / "schema.yml").read_text()).settings.override(**settings)
    ours = run(encoded, chosen, folds=[], progress=lambda *_: None).confidences
    plainly = plain.estimate(*arrays, **settings, gradient=True, ftol=1e-10)
    np.testing.assert_allclose(ours, plainly, atol=1e-5)


def test_masking_never_rules_out_the_truth_and_leaves_ofs_alone():
    table = tables.generated(500, seed=0)
    assert table.masked.select(table.ofs.keys()).equals(table.truth.select(table.ofs.keys()))
    for cf in table.cfs:
        assert (table.masked[cf] != table.truth[cf]).all()


def test_fewer_rows_of_a_file_are_a_part_of_more(tmp_path):
    numbers = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
    texts = [*tables.CFS["adult"], "sex", "income"]
    cells = dict.fromkeys(numbers, range(20)) | dict.fromkeys(texts, "ab" * 10)
    frame = pl.DataFrame({name: list(column) for name, column in cells.items()})
    frame.write_csv(tmp_path / "adult.csv")
    some, more = (tables.read("adult", tmp_path, rows=rows, seed=0).masked for rows in (5, 9))
    assert some.join(more, on=some.columns, how="semi").height == 5
    assert tables.read("adult", tmp_path, rows=None, seed=0).truth["age"].to_list() == [*range(20)]


def test_a_row_is_taken_out_of_its_neighbors_even_where_its_equals_crowd_it_out():
    found = np.array([[0, 1, 2], [0, 1, 2], [0, 1, 3]])
    np.testing.assert_array_equal(tasks.others(found), [[1, 2], [0, 2], [0, 1]])


@pytest.mark.parametrize("task", ["spreading", "imputer"])
@pytest.mark.filterwarnings("ignore:max_iter=30 was reached")
def test_scikit_learns_tools_fill_in_better_than_chance(folder, task):
    told = tasks.TASKS[task](folder)
    assert told["seconds"] > 0
    assert min(told["accuracy"].values()) > 0.3  # of five values


def test_weights_are_quicker_than_slsqp_on_the_same_rows(folder, monkeypatch):
    monkeypatch.setattr(tasks, "SLSQP_ROWS", 10)
    told = tasks.run_weights(folder)
    assert told["per_row"]["SLSQP"] > told["per_row"]["cfl, one thread"]


def test_the_peak_of_a_process_is_seen_though_it_held_it_for_a_moment(capfd):
    assert measure.run("timeit", "-n1", "-r1", "b'x' * 600_000_000").peak_mb > 600


def test_a_process_that_takes_too_long_is_ended():
    with pytest.raises(TimeoutError, match="not done after 1 s"):
        measure.run("timeit", "import time; time.sleep(60)", limit=0.6)


def test_a_process_that_fails_is_an_error(capfd):
    with pytest.raises(subprocess.CalledProcessError):
        measure.run("timeit", "nonsense")


def test_what_a_tool_will_take_follows_a_line_through_tables_of_clearly_different_length(tmp_path):
    known = (
        facts("imputer", "bank", 1000, 1.0)
        | facts("imputer", "adult", 1900, 1.0)
        | facts("imputer", "bank", 2000, 4.0)
    )
    results = Results(tmp_path / "speed.json", MACHINE, known)
    assert results.foresee("imputer", 4000, "seconds") == pytest.approx(16)
    assert results.foresee("spreading", 4000, "seconds") is None
    assert exponent(10, 1.0, 1000, 10.0) == pytest.approx(0.5)


def test_ratios_compare_the_same_rows_of_the_same_table(tmp_path):
    known = (
        facts("cfl", "bank", 2000, 2.0, stages={"encode": 0.1, "round 1: weights": 0.5})
        | facts("plain", "bank", 2000, 150.0)
        | facts("cfl", "bank", 45_211, 9.0)
        | facts("tree", "bank", 45_211, 1.0)
        | facts("tree", "adult", 45_211, 1.0)
    )
    found = Results(tmp_path / "speed.json", MACHINE, known).comparisons()
    assert [(each.value, each.wanted) for each in found] == [
        (9.0, "≤ 12"),
        (75.0, "≥ 60"),
        (300.0, "≥ 60"),
    ]


@pytest.mark.slow
def test_a_second_run_measures_nothing_again(tmp_path):
    command = [sys.executable, "-m", "benchmarks.speed", "--quick", "--out", tmp_path]
    command += ["--only", "cfl-generated-100"]
    first, second = (
        subprocess.run(command, cwd=measure.ROOT, capture_output=True, text=True, check=True).stderr
        for _ in range(2)
    )
    assert "cfl-generated-100: " in first
    assert "-generated-" not in second
    held = json.loads((tmp_path / "speed.json").read_text())["measurements"]["cfl-generated-100"]
    assert held["peak_mb"] > 50
    assert held["seconds"] > sum(held["stages"].values())
    assert min(held["accuracy"].values()) > 0.3  # of five values
