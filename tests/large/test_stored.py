import json
import pickle

import numpy as np
import pytest
from builders.kernels import Counted, Squares, smooth

from cfl_cli.core.parallel import Workers
from cfl_cli.core.settings import RunSettings
from cfl_cli.errors import DataError, UsageError
from cfl_cli.large import IN_MEMORY, arrays, open_engine, remove_run
from cfl_cli.large.arrays import create_map, open_map, pickled, unpickled
from cfl_cli.large.run_directory import RunDirectory
from cfl_cli.large.stored import Stored, Threads
from cfl_cli.methods.graph import propagation as propagate
from cfl_cli.methods.graph.propagation import Graph


class Run:
    """A run directory with an engine, opened again at every `with`."""

    def __init__(self, path, jobs=2, *, durable=True):
        self.path, self.jobs, self.durable = path, jobs, durable

    def __enter__(self):
        self.workers = Workers(self.jobs).__enter__()
        self.directory = RunDirectory.begin(self.path, {}, resume=True)
        engine = Threads(self.workers)
        return Stored(self.directory.folder, engine, self.workers, durable=self.durable)

    def __exit__(self, *error):
        self.directory.__exit__(*error)
        self.workers.__exit__(*error)


@pytest.fixture
def seen(tmp_path):
    folder = tmp_path / "seen"
    folder.mkdir()
    return folder


def fail(path, seen, *, jobs):
    with Run(path, jobs) as engine:
        out = engine.empty("out", (100,), float)
        rows = engine.rows("roots", Counted(seen, out, fails_at=70), 100, at_once=5)
        with pytest.raises(DataError, match="stopped here"):
            list(rows)


def slices_seen(folder):
    return sorted(int(path.name.partition("-")[0]) for path in folder.iterdir())


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize(("jobs", "at_once"), [(1, 1000), (2, 7), (3, 64), (2, 1)])
def test_files_give_the_bytes_of_memory_whatever_the_threads_and_slices(
    tmp_path, jobs, at_once, durable
):
    with Workers(2) as workers:
        expected = smooth(workers, 200, at_once=50).tobytes()
    with Run(tmp_path / "run", jobs, durable=durable) as engine:
        assert smooth(engine, 200, at_once=at_once).tobytes() == expected


def test_slices_and_results_come_in_order(tmp_path):
    with Run(tmp_path / "run") as engine:
        out = engine.empty("out", (10,), float)
        found = list(engine.rows("squares", Squares(np.arange(10.0), out), 10, at_once=3))
        assert list(engine.rows("none", Squares(np.empty(0), np.empty(0)), 0, at_once=5)) == []
    assert found == [(slice(0, 3), 3), (slice(3, 6), 3), (slice(6, 9), 3), (slice(9, 10), 1)]
    assert out.tolist() == [0, 1, 4, 9, 16, 25, 36, 49, 64, 81]


def test_what_is_done_is_not_done_again_even_if_slices_and_threads_are_others(tmp_path, seen):
    fail(tmp_path / "run", seen, jobs=2)
    [marks] = (tmp_path / "run").rglob("*.marks")
    done = [json.loads(line)["first"] for line in marks.read_text().splitlines()[1:]]
    assert done
    assert 60 not in done
    with Run(tmp_path / "run", 1) as engine:
        out = engine.empty("out", (100,), float)
        found = list(engine.rows("roots", Counted(seen, out), 100, at_once=33))
    assert [part for part, _ in found] == [slice(at, at + 5) for at in range(0, 100, 5)]
    roots = np.sqrt(np.arange(100))
    np.testing.assert_array_equal(out, roots)
    assert [sums for _, (sums, _) in found] == [float(roots[p].sum()) for p, _ in found]
    again = slices_seen(seen)
    assert set(again) == set(range(0, 100, 5))
    assert all(again.count(first) == 1 for first in done)
    with Run(tmp_path / "run", 2) as engine:
        assert list(engine.rows("roots", Counted(seen, out), 100, at_once=1)) == found
    assert slices_seen(seen) == again


@pytest.mark.parametrize("torn", [b'{"first": 60, "last', b"\0" * 30, b'{"first": 60}', b"[]\n"])
def test_a_torn_last_mark_does_not_count(tmp_path, seen, torn):
    fail(tmp_path / "run", seen, jobs=1)
    [marks] = (tmp_path / "run").rglob("*.marks")
    whole = marks.read_bytes()
    marks.write_bytes(whole + torn)
    for _ in range(2):
        with Run(tmp_path / "run", 1) as engine:
            out = engine.empty("out", (100,), float)
            assert len(list(engine.rows("roots", Counted(seen, out), 100, at_once=5))) == 20
    np.testing.assert_array_equal(out, np.sqrt(np.arange(100)))
    assert marks.read_bytes().startswith(whole + b'{"first": ')


def test_a_stage_of_other_rows_is_refused(tmp_path, seen):
    with Run(tmp_path / "run") as engine:
        roots = Counted(seen, engine.empty("out", (100,), float))
        list(engine.rows("roots", roots, 100, at_once=5))
    with Run(tmp_path / "run") as engine:
        roots = Counted(seen, engine.empty("out", (100,), float))
        with pytest.raises(DataError, match="its stage has 100 rows, now 99"):
            engine.rows("roots", roots, 99, at_once=5)


def test_a_dropped_array_is_gone_and_its_name_is_free(tmp_path):
    with Run(tmp_path / "run") as engine:
        one, other = (engine.empty(name, (2,), int) for name in ("one", "other"))
        one[:] = 1
        engine.drop(one[1:], other)
        assert not list((tmp_path / "run").rglob("*.npy"))
        assert engine.empty("one", (3,), int).tolist() == [0, 0, 0]


def test_a_task_whose_rows_were_damaged_is_done_again_and_no_other(tmp_path):
    with Run(tmp_path / "run") as engine:
        numbers = engine.share("numbers", np.arange(80.0))
        out = engine.empty("out", (80,), float)
        list(engine.rows("squares", Squares(numbers, out), 80, at_once=5))
        out[33] = 7.0
    with Run(tmp_path / "run") as engine:
        numbers = engine.share("numbers", np.full(80, -1.0))  # so that one sees what is done again
        out = engine.empty("out", (80,), float)
        found = list(engine.rows("squares", Squares(numbers, out), 80, at_once=5))
    assert [size for _, size in found] == [5] * 16
    assert out.tolist() == [1.0 if 30 <= row < 40 else row**2 for row in range(80)]


def test_a_mark_whose_result_was_altered_does_not_count(tmp_path):
    for _ in range(2):
        with Run(tmp_path / "run") as engine:
            out = engine.empty("out", (80,), float)
            found = list(engine.rows("squares", Squares(np.arange(80.0), out), 80, at_once=5))
            assert [size for _, size in found] == [5] * 16
        (marks,) = (tmp_path / "run").rglob("*.marks")
        marks.write_text(marks.read_text().replace("[5, 5]", "[5, 6]", 1))


def opened(rows=10, near=None, **settings):
    return open_engine(RunSettings(jobs=1, **settings), rows=rows, identity={}, near=near)


def test_few_rows_are_worked_on_in_memory_and_more_in_files_that_go_with_the_run(tmp_path):
    with opened(IN_MEMORY, tmp_path) as engine:
        assert type(engine) is Workers
        assert list(tmp_path.iterdir()) == []
    with opened(IN_MEMORY + 1, tmp_path) as engine:
        assert type(engine) is Stored
        assert not engine.keeps
        array = engine.empty("x", (3,), int)
        assert len(list(tmp_path.rglob("*.npy"))) == 1
    assert list(tmp_path.iterdir()) == []
    assert array.tolist() == [0, 0, 0]  # whoever holds it still has it


def test_a_run_directory_stays_until_the_run_is_finished_or_it_is_removed(tmp_path):
    run = str(tmp_path / "run")
    for resume in (False, True):
        with opened(run_dir=run, resume=resume) as engine:
            assert engine.keeps
    with (
        pytest.raises(UsageError, match="holds a checkpoint of an earlier run"),
        opened(run_dir=run),
    ):
        pass
    with opened(run_dir=run, resume=True) as engine:
        engine.finish()
    assert list(tmp_path.iterdir()) == []
    run = str(tmp_path / "run")
    with opened(run_dir=run):
        pass
    remove_run(RunSettings(run_dir=run))
    remove_run(RunSettings(run_dir=run))
    remove_run(RunSettings())
    assert list(tmp_path.iterdir()) == []


# A walk that was kept some steps before it was killed goes on as if nothing had happened.


ROWS = 40
BLOCKS = np.array([0, 2])
STOPS = np.array([20, 39])
# Each row leans on the one before it, so that news travels a row a step. The first rows are certain
# of the first value, which row 30 rules out: there the news would end in a fallback at step 29,
# but the first CF stops before.
CELLS = np.ones((ROWS, 4), dtype=bool)
CELLS[:2] = [True, False, True, True]
CELLS[30] = [False, True, True, True]


class KilledError(Exception):
    """Ends a walk."""


def walk(engine, progress=lambda _: None):
    before = np.maximum(np.arange(ROWS) - 1, 0).astype(np.int32)[:, None]
    before[0] = 1
    graph = Graph.of(before, np.ones((ROWS, 1)), np.arange(ROWS), workers=engine.within("graph"))
    given = {"iterations": STOPS, "workers": engine, "progress": progress}
    return propagate.propagate(graph, CELLS, BLOCKS, **given)


def test_a_row_that_fell_back_after_the_last_keep_has_not_when_resumed(
    tmp_path, monkeypatch, workers
):
    def keep(walk, kept=propagate.Walk._keep):
        if walk.done == 10:
            kept(walk)

    def die(step):
        if step == 30:
            raise KilledError

    monkeypatch.setattr(propagate, "KEPT_SECONDS", 0.0)
    monkeypatch.setattr(propagate.Walk, "_keep", keep)
    with RunDirectory.begin(tmp_path / "run", {}, resume=False) as run, pytest.raises(KilledError):
        walk(Stored(run.folder, Threads(workers), workers, durable=True), die)
    steps = []
    with RunDirectory.begin(tmp_path / "run", {}, resume=True) as run:
        engine = Stored(run.folder, Threads(workers), workers, durable=True)
        found = walk(engine, steps.append)
        assert steps[0] == 11
        whole = walk(workers)
        for name in ("confidences", "fell_back", "mass", "steps"):
            np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
    assert not whole.fell_back[:, 0].any()


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


def test_an_array_in_memory_travels_as_a_copy_unless_it_is_huge(table, monkeypatch):
    arrived = copied(table[2])
    arrived[0] = 99
    assert table[2, 0] == 99
    assert unpickled(pickled(np.arange(3))).tolist() == [0, 1, 2]
    monkeypatch.setattr(arrays, "MOST_BY_VALUE", 100)
    with pytest.raises(TypeError, match=r"104 bytes in memory cannot travel.*`engine.empty`"):
        pickled(np.arange(13))


def test_files_that_are_no_arrays_of_a_run_are_refused(tmp_path):
    np.save(tmp_path / "saved.npy", np.arange(2000))
    with pytest.raises(ValueError, match="not an array of a run"):
        open_map(tmp_path / "saved.npy")
    (tmp_path / "text").write_text("x" * 5000)
    with pytest.raises(ValueError, match="not an array of a run"):
        open_map(tmp_path / "text")
