import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from cfl_cli.large import arrays
from cfl_cli.large.arrays import Mapped, create_map, maps_of, open_map, pickled, unpickled


def copied(thing):
    return pickle.loads(pickle.dumps(thing))


@pytest.fixture
def table(tmp_path):
    made = create_map(tmp_path / "table.npy", (4, 3), np.float32)
    made[:] = np.arange(12).reshape(4, 3)
    return made


def test_a_map_is_a_file_that_numpy_reads_and_its_data_begin_at_a_page(table):
    table.flush()
    assert np.load(table.path).tolist() == np.arange(12).reshape(4, 3).tolist()
    assert table.path.stat().st_size == 4096 + 4 * 12


def test_an_array_without_rows_is_a_file_too(tmp_path):
    made = create_map(tmp_path / "none.npy", (0, 5), np.int32)
    assert made.shape == (0, 5)
    assert open_map(made.path).shape == (0, 5)
    assert copied(made).shape == (0, 5)


@pytest.mark.parametrize(
    "view",
    [
        *(lambda table: table, lambda table: table[1:3], lambda table: table[:, 1]),
        lambda table: table[::-1, ::2],
        lambda table: table.T,
        lambda table: table.reshape(-1)[5:],
        np.asarray,
        lambda table: np.asarray(table)[2:, 1:],
        lambda table: np.asarray(table[1:]).T[1:],
    ],
)
def test_a_view_travels_as_a_reference_to_the_same_bytes(table, view):
    sent = pickled(view(table))
    assert len(sent) < 500
    arrived = unpickled(sent)
    np.testing.assert_array_equal(arrived, view(table))
    arrived[...] = 7
    assert (view(table) == 7).all()


def test_a_plain_pickle_of_a_slice_is_a_reference_too(table):
    arrived = copied(table[2])
    arrived[0] = 99
    assert table[2, 0] == 99


def test_results_of_arithmetic_and_of_row_numbers_are_arrays_in_memory(table):
    for made in (table + 1, table[[0, 2]], table.sum(axis=0), np.sqrt(table[1])):
        assert type(made) is np.ndarray
    assert type(table.max()) is np.float32
    assert type(table[1:]) is Mapped
    assert copied(table.copy()).tolist() == table.tolist()
    assert maps_of(table.copy()) == []


def test_an_array_in_memory_travels_as_a_copy_unless_it_is_huge(monkeypatch):
    assert unpickled(pickled(np.arange(3))).tolist() == [0, 1, 2]
    monkeypatch.setattr(arrays, "MOST_BY_VALUE", 100)
    with pytest.raises(TypeError, match=r"104 bytes in memory cannot travel.*`engine.empty`"):
        pickled(np.arange(13))


def test_a_file_is_mapped_once_and_its_successor_anew(table):
    assert open_map(table.path).source is table.source
    table.path.unlink()
    create_map(table.path, (4, 3), np.float32)
    assert open_map(table.path).source is not table.source


def test_maps_are_found_wherever_a_kernel_has_them(table, tmp_path):
    other = create_map(tmp_path / "other.npy", (2,), int)

    @dataclass
    class Inner:
        pair: tuple

    found = maps_of(Inner((np.asarray(other), [Inner((table[1:], table))])), {"x": other})
    assert {source.path for source in found} == {str(table.path), str(other.path)}


def test_files_that_are_no_arrays_of_a_run_are_refused(tmp_path):
    np.save(tmp_path / "saved.npy", np.arange(2000))
    with pytest.raises(ValueError, match="not an array of a run"):
        open_map(tmp_path / "saved.npy")
    (tmp_path / "text").write_text("x" * 5000)
    with pytest.raises(ValueError, match="magic"):
        open_map(tmp_path / "text")
