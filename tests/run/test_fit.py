"""Some rows of a stream, the same however it is cut."""

import numpy as np
import polars as pl
import pytest
from builders.tables import SCHEMA, table
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli import fit
from cfl_cli.core.draws import FITTED, JUDGED, draw
from cfl_cli.run import fit as fitting
from cfl_cli.run.fit import Sample, compact
from cfl_cli.tables import table as tables


def drawn(cuts, *, size, seed=3):
    sample = Sample(size, seed)
    first = 0
    for length in cuts:
        numbers = np.arange(first, first + length)
        sample.add(pl.DataFrame({"x": numbers}), squares=numbers**2)
        first += length
    return sample.drawn()


@given(st.lists(st.integers(0, 30), min_size=1, max_size=8), st.integers(1, 40))
def test_the_rows_are_those_with_the_smallest_random_numbers_however_the_stream_is_cut(cuts, size):
    (rows, cells, arrays), n = drawn(cuts, size=size), sum(cuts)
    keys = draw(np.arange(n), JUDGED, 3)
    expected = np.sort(np.argsort(keys)[:size])
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_array_equal(cells["x"], expected)
    np.testing.assert_array_equal(arrays["squares"], expected**2)
    assert size < n or rows.tolist() == list(range(n))  # all of a short stream


@pytest.mark.parametrize("cut", [1, 7, 1000])
def test_never_more_than_twice_the_rows_and_a_block_are_held(cut):
    sample = Sample(20, 0)
    for _ in range(1000 // cut):
        sample.add(pl.DataFrame({"x": np.zeros(cut)}))
        assert len(sample) <= 40


def test_texts_of_rows_that_are_gone_are_not_held():
    sample = Sample(50, 0)
    for _ in range(100):
        sample.add(pl.DataFrame({"x": ["text" * 50] * 500}))
    assert sample.drawn()[1].estimated_size() < 50 * 300
    assert compact(pl.DataFrame({"x": ["text" * 50] * 500})[:2]).estimated_size() < 1000


@pytest.mark.parametrize("cuts", [[30], [7, 0, 11, 12]])
def test_rows_that_are_left_out_never_stay(cuts):
    sample, first = Sample(10, 3), 0
    sample.left_out = np.array([0, 6, 7, 20, 29])
    for length in cuts:
        sample.add(pl.DataFrame({"x": np.arange(first, first + length)}))
        first += length
    others = np.setdiff1d(np.arange(30), sample.left_out)
    expected = np.sort(others[np.argsort(draw(others, JUDGED, 3))[:10]])
    assert sample.drawn()[1]["x"].to_list() == expected.tolist()


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


def test_a_sample_of_all_rows_is_the_table_and_another_seed_draws_other_rows():
    frame = table()
    assert part(frame, 60).frame is frame
    assert part(frame, 61).facts is None
    settings = SCHEMA.settings.override(sample=40, seed=1)
    other = fitting.part_of(table(), SCHEMA, settings, name="t", progress=lambda *_: None)
    assert other.rows.tolist() != ROWS.tolist()


def test_a_sample_is_learned_from_as_a_table_of_these_rows():
    sampled = fit(table(), SCHEMA, method="commonest", sample=40)
    alone = fit(table()[ROWS], SCHEMA, method="commonest")
    assert sampled.report.columns == alone.report.columns
    assert (sampled.report.sample.rows, sampled.report.sample.of) == (40, 60)
    assert (sampled.fitted.shares == alone.fitted.shares).all()
