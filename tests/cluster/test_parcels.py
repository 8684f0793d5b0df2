import numpy as np
import pytest

from cfl_cli.cluster import workers
from cfl_cli.cluster.workers import STAGES, Remembered, seal, starts, total
from cfl_cli.core.parallel import lasting
from cfl_cli.large.arrays import create, plain_view


@pytest.fixture
def worker():
    return Remembered()


def deliver(worker, key, sealed, folder):
    for at, chunk in sealed.chunks():
        worker.receive(key, sealed.sizes, at, chunk, str(folder))


def arrived(worker, thing, folder):
    """Return what a worker has of something that travels by value."""
    deliver(worker, "parcel", seal(thing), folder)
    return worker.take("parcel")


@pytest.mark.parametrize("chunk", [1, 100, 1 << 20])
def test_things_arrive_as_they_were_whatever_travels_at_once(worker, tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(workers, "CHUNK", chunk)
    monkeypatch.setattr(workers, "LARGE", 8)
    thing = {"a": np.arange(7.0), "b": np.eye(3, 5, dtype=np.float32, order="F"), "c": [None, 1]}
    thing["d"] = np.arange(20)[::3]
    found = arrived(worker, thing, tmp_path)
    assert found["c"] == thing["c"]
    for name in "abd":
        np.testing.assert_array_equal(found[name], thing[name])
        assert found[name].dtype == thing[name].dtype
    assert found["b"].flags.f_contiguous
    assert worker.contents == {}
    assert list(tmp_path.iterdir()) == []


def test_large_arrays_are_not_copied_and_cannot_be_written_to(worker, tmp_path):
    found = arrived(worker, np.zeros(workers.LARGE), tmp_path)
    assert not found.flags.writeable
    assert not found.flags.owndata


def test_arrays_begin_where_arithmetic_is_quick():
    assert starts([1, 64, 65, 3]) == [0, 64, 128, 256]
    assert total([1, 64, 65, 3]) == 259


def test_an_array_that_is_a_file_travels_once_and_again_when_it_has_changed(worker, tmp_path):
    array = plain_view(create(tmp_path / "a.npy", (workers.LARGE,), np.uint8))
    first = seal([array, array], {})
    [key] = first.lasting
    assert worker.lacks(1, [key]) == [key]
    deliver(worker, key, seal(first.lasting[key].make()), tmp_path)
    assert worker.lacks(1, [key]) == []
    deliver(worker, "parcel", first, tmp_path)
    one, other = worker.take("parcel")
    assert one is other
    assert one.shape == array.shape
    assert [*seal([array, 1], {}).lasting] == [key]
    array[5] = 1
    assert [*seal(array, {}).lasting] != [key]
    assert not seal(array).lasting


def test_what_is_lasting_is_made_once_for_all_parcels(worker, tmp_path):
    thing = lasting(lambda: {"own": []})
    sealed = seal(("parcel", thing), {})
    [key] = sealed.lasting
    deliver(worker, key, seal(thing.make()), tmp_path)
    for _ in range(2):
        deliver(worker, "parcel", sealed, tmp_path)
        worker.take("parcel")[1]["own"].append(1)
    assert worker.open(key) == {"own": [1, 1]}


def test_what_has_not_arrived_whole_is_sent_again(worker, tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "CHUNK", 10)
    sealed = seal(list(range(100)))
    (at, chunk), *_ = sealed.chunks()
    worker.receive("key", sealed.sizes, at, chunk, str(tmp_path))
    assert worker.lacks(1, ["key"]) == ["key"]
    deliver(worker, "key", sealed, tmp_path)
    assert worker.lacks(1, ["key"]) == []
    assert worker.open("key") == list(range(100))


def test_what_no_stage_has_needed_for_long_is_let_go(worker, tmp_path):
    for key in ("one", "other"):
        deliver(worker, key, seal(key), tmp_path)
    worker.lacks(STAGES, ["one"])
    assert worker.lacks(STAGES + 1, ["one"]) == []
    assert [*worker.contents] == ["one"]


def test_a_run_that_says_nothing_for_an_hour_is_forsaken(worker, monkeypatch):
    assert not worker.is_forsaken
    later = worker.asked + workers.FORSAKEN + 1
    monkeypatch.setattr(workers, "monotonic", lambda: later)
    assert worker.is_forsaken
