"""Rows to learn from, drawn at random: the same of any kind of table, however it is cut."""

import numpy as np
import polars as pl
import pytest
from builders.tables import SCHEMA, table

from cfl_cli import fit
from cfl_cli.core.draws import FITTED, draw
from cfl_cli.run import fit as fitting
from cfl_cli.tables import table as tables

ROWS = np.sort(np.argsort(draw(np.arange(60), FITTED, 0))[:40])


def part(frame, size=40):
    settings = SCHEMA.settings.override(sample=size)
    return fitting.part_of(frame, SCHEMA, settings, name="table", progress=lambda *_: None)


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_rows_of_any_kind_of_table_are_drawn_by_their_numbers(kind):
    frame = {"polars": table(), "pandas": table().to_pandas(), "pyarrow": table().to_arrow()}[kind]
    found = part(frame)
    assert found.rows.tolist() == ROWS.tolist()
    assert found.frame["x"].to_list() == table()["x"][ROWS].to_list()
    assert found.frame.columns == table().columns
    assert found.frame["id"].is_null().all()


@pytest.mark.parametrize("rows", [7, 32_768])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_on_disk_has_the_same_rows_in_blocks_of_any_size(
    tmp_path, monkeypatch, rows, ending
):
    monkeypatch.setattr(fitting, "AT_ONCE", rows)
    path = tmp_path / f"table.{ending}"
    write = pl.DataFrame.write_csv if ending == "csv" else pl.DataFrame.write_parquet
    write(table(), path)
    with tables.reading(tables.Place.to_read(str(path))) as stored:
        found = part(stored).frame
    for column in ("x", "one", "two"):
        assert found[column].to_list() == table()[column][ROWS].to_list()


def test_a_sample_of_all_rows_is_the_table():
    frame = table()
    assert part(frame, 60).frame is frame
    assert part(frame, 61).facts is None


def test_another_seed_draws_other_rows():
    settings = SCHEMA.settings.override(sample=40, seed=1)
    other = fitting.part_of(table(), SCHEMA, settings, name="t", progress=lambda *_: None)
    assert other.rows.tolist() != ROWS.tolist()


def test_a_sample_is_learned_from_as_a_table_of_these_rows():
    sampled = fit(table(), SCHEMA, method="commonest", sample=40)
    alone = fit(table()[ROWS], SCHEMA, method="commonest")
    assert sampled.report.columns == alone.report.columns
    assert (sampled.report.sample.rows, sampled.report.sample.of) == (40, 60)
    assert (sampled.fitted.shares == alone.fitted.shares).all()
