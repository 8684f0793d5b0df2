import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import monotonic, sleep
from urllib.request import urlopen

import numpy as np
import pytest
from builders.driver import AT_ONCE, ROWS, drive
from builders.hosts import hosts
from builders.kernels import Deadly, Squares, Wrong, smooth

from cfl_cli import cluster as clusters
from cfl_cli.cluster import local_cluster, running_cluster
from cfl_cli.core.parallel import Workers
from cfl_cli.errors import DataError, ResourceError, UsageError
from cfl_cli.large.run_directory import RunDirectory
from cfl_cli.large.stored import Stored

psutil = pytest.importorskip("psutil")
pytest.importorskip("distributed")
dask = pytest.importorskip("dask")

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def started_cluster():
    with local_cluster(2) as made:
        yield made


@pytest.fixture
def cluster(started_cluster):
    def is_whole():
        """Return whether the scheduler, too, has noticed who died in the test before."""
        found = list(started_cluster.addresses())
        answers = started_cluster.client.run(os.getpid, workers=found, on_error="ignore")
        return len(found) == len(answers) == 2

    until(is_whole)
    return started_cluster


@pytest.fixture
def engine(cluster, tmp_path):
    with Workers(2) as threads, RunDirectory.begin(tmp_path / "run", {}, resume=False) as run:
        yield Stored(run.folder, cluster, threads, durable=True)


@pytest.fixture
def address(cluster):
    """Return the scheduler's, which is known as others' would be: by Dask's configuration."""
    security = cluster.client.security
    tls = {
        "distributed.comm.tls.ca-file": security.tls_ca_file,
        "distributed.comm.tls.client.cert": security.tls_client_cert,
        "distributed.comm.tls.client.key": security.tls_client_key,
    }
    with dask.config.set(tls):
        yield cluster.client.scheduler.address


def pids(cluster):
    return [nanny.process.process.pid for nanny in cluster.client.cluster.workers.values()]


@pytest.mark.parametrize("at_once", [1000, 37, 3])
def test_processes_give_the_bytes_of_threads(engine, at_once):
    with Workers(2) as workers:
        expected = smooth(workers, 1000, at_once=100).tobytes()
    assert smooth(engine, 1000, at_once=at_once).tobytes() == expected


def test_it_is_counted_who_has_done_how_many_tasks(engine, cluster):
    before = cluster.team.tasks.total()
    list(engine.rows("slow", Squares(np.arange(40.0), np.empty(40), 0.02), 40, at_once=1))
    assert engine.team is cluster.team
    assert cluster.team.tasks.total() == before + 8  # four for each of the two
    assert len(cluster.team.at_work) == 2


def test_the_dashboard_that_is_linked_answers(cluster):
    if find_spec("bokeh") is None:
        assert cluster.dashboard == ""
        return
    with urlopen(cluster.dashboard, timeout=60) as page:
        assert page.status == 200
        assert b"Dask" in page.read()


def test_slices_and_results_come_in_order(engine):
    out = engine.empty("out", (10,), float)
    found = list(engine.rows("squares", Squares(np.arange(10.0), out), 10, at_once=3))
    assert found == [(slice(0, 3), 3), (slice(3, 6), 3), (slice(6, 9), 3), (slice(9, 10), 1)]
    assert out.tolist() == [0, 1, 4, 9, 16, 25, 36, 49, 64, 81]


def test_an_error_of_a_kernel_arrives_as_it_is_and_work_goes_on(engine):
    with pytest.raises(DataError, match="row 7: wrong") as caught:
        list(engine.rows("wrong", Wrong(7), 20, at_once=5))
    assert (caught.value.texts, caught.value.more) == (("row 7: wrong",), 2)
    assert caught.value.code == "wrong-row"
    assert len(list(engine.rows("right", Wrong(-1), 20, at_once=5))) == 4


def test_a_worker_that_is_killed_is_replaced_and_its_task_runs_again(engine, tmp_path):
    out = engine.empty("out", (100,), float)
    list(engine.rows("deadly", Deadly(out, 55, tmp_path, times=1), 100, at_once=5))
    assert (out == 1).all()
    assert len(list(tmp_path.glob("died-*"))) == 1


@pytest.mark.slow
def test_a_worker_that_is_killed_from_outside_is_replaced(engine, cluster):
    squares = engine.empty("squares", (100,), float)
    rows = engine.rows("squares", Squares(np.arange(100.0), squares, 0.02), 100, at_once=5)
    next(rows)
    os.kill(pids(cluster)[0], signal.SIGKILL)
    assert sum(size for _, size in rows) == 95
    np.testing.assert_array_equal(squares, np.arange(100.0) ** 2)


def test_a_task_that_kills_three_workers_ends_the_run_and_its_rows_are_named(engine, tmp_path):
    out = engine.empty("out", (80,), float)
    rows = engine.rows("deadly", Deadly(out, 55, tmp_path, times=99), 80, at_once=5)
    with pytest.raises(
        ResourceError, match=r"^rows 51 to 60: 3 workers died while processing them.*workers"
    ):
        list(rows)
    assert len(list(tmp_path.glob("died-*"))) == 3


def test_a_scheduler_that_runs_already_lends_its_workers(cluster, address, tmp_path):
    assert address.startswith("tls://")
    with running_cluster(address, tmp_path) as lent, Workers(2) as threads:
        assert lent.workers == 2
        with RunDirectory.make_temporary(tmp_path) as run:
            engine = Stored(run.folder, lent, threads, durable=False)
            with Workers(2) as workers:
                expected = smooth(workers, 100, at_once=9).tobytes()
            assert smooth(engine, 100, at_once=9).tobytes() == expected
    assert list(tmp_path.iterdir()) == []
    assert len(cluster.addresses()) == 2


def test_workers_of_other_versions_are_refused(address, tmp_path, monkeypatch):
    monkeypatch.setattr(clusters, "own_versions", lambda: {"cfl": "9", "NumPy": "1.0"})
    told = rf"this worker has cfl .* instead of 9, NumPy {np.__version__} instead of 1.0"
    with pytest.raises(UsageError, match=told), running_cluster(address, tmp_path):
        pass


def test_a_scheduler_that_does_not_answer_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(clusters, "CONNECT", 0.2)
    with pytest.raises(UsageError, match=r"tcp://127.0.0.1:1 does not answer: start it, or"):
        running_cluster("tcp://127.0.0.1:1", tmp_path).__enter__()


def test_dask_that_is_not_installed_is_named_with_the_way_out(monkeypatch):
    def lacking(name):
        raise ImportError(name)

    monkeypatch.setattr(clusters, "import_module", lacking)
    with pytest.raises(UsageError, match=r"not installed: `pip install 'cfl-cli\[cluster\]'`"):
        local_cluster(1).__enter__()


def started(run, seen, engine, seconds=0.05):
    seen.mkdir(exist_ok=True)
    script = TESTS / "builders" / "driver.py"
    return subprocess.Popen(
        [sys.executable, script, run, seen, engine, str(seconds)],
        env=os.environ | {"PYTHONPATH": str(TESTS)},
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )


def until(fact, seconds=60.0):
    end = monotonic() + seconds
    while not fact():
        assert monotonic() < end
        sleep(0.02)


def marks(run):
    return [line for path in run.rglob("*.marks") for line in path.read_text().splitlines()][1:]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        pytest.param("dask", "local", marks=pytest.mark.slow),
        pytest.param("local", "dask", marks=pytest.mark.slow),
    ],
)
def test_a_driver_that_is_killed_leaves_no_process_and_the_other_engine_goes_on(
    tmp_path, first, then
):
    run, seen = tmp_path / "run", tmp_path / "seen"
    driver = started(run, seen, first)
    until(lambda: len(marks(run)) >= 2)
    children = psutil.Process(driver.pid).children(recursive=True)
    driver.kill()
    driver.wait()
    _, left = psutil.wait_procs(children, timeout=5)
    assert not left
    done = len(marks(run))
    assert drive(run, seen, then, 0.0) == np.sqrt(np.arange(ROWS)).tobytes()
    computed = len(list(seen.iterdir())) - 1
    slices = ROWS // AT_ONCE
    assert done >= 2
    assert slices <= computed <= slices + 2 * slices // 8  # again: what two workers were at


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_driver_that_is_told_to_end_does_so_at_once_with_its_workers(tmp_path, number):
    driver = started(tmp_path / "run", tmp_path / "seen", "dask", 5.0)
    until((tmp_path / "seen" / "begun").exists)
    sleep(1)
    children = psutil.Process(driver.pid).children(recursive=True)
    assert len(children) >= 2
    driver.send_signal(number)
    driver.wait(timeout=5)
    _, left = psutil.wait_procs(children, timeout=2)
    assert not left


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_told_to_end_as_workers_start_says_only_that(tmp_path, number):
    rows = "".join(f"{at},{'abc'[at % 3]}\n" for at in range(60))
    (tmp_path / "data.csv").write_text(f"age,job\n{rows}")
    (tmp_path / "schema.yml").write_text(
        "version: 1\ncolumns:\n  age: {role: ordinary, type: numeric}\n"
        "  job: {role: complementary, values: [a, b, c]}\n"
    )
    arguments = "impute data.csv --schema schema.yml --out o.csv -q --engine dask --workers 2"
    command = subprocess.Popen(
        [sys.executable, "-m", "cfl_cli", *arguments.split()],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    until(lambda: workers_of(command))
    children = psutil.Process(command.pid).children(recursive=True)
    os.killpg(command.pid, number)  # as a terminal does
    _, said = command.communicate(timeout=20)
    assert command.returncode == 128 + number
    assert len(said.splitlines()) == 1
    assert not psutil.wait_procs(children, timeout=2)[1]


def workers_of(command):
    children = psutil.Process(command.pid).children(recursive=True)
    return [one for one in children if "--multiprocessing-fork" in one.cmdline()]


@pytest.mark.slow
def test_ten_killed_workers_change_no_byte(cluster, engine):
    out = engine.empty("out", (2000,), float)
    rows = engine.rows("squares", Squares(np.arange(2000.0), out, 0.05), 2000, at_once=5)
    draws = np.random.default_rng(0)
    for at, _ in enumerate(rows):
        if at % 40 == 20:
            os.kill(pids(cluster)[draws.integers(2)], signal.SIGKILL)
    np.testing.assert_array_equal(out, np.arange(2000.0) ** 2)


@pytest.fixture(scope="module")
def lent(tmp_path_factory):
    with hosts(tmp_path_factory.mktemp("hosts")) as made:
        yield made


@contextmanager
def lent_engine(lent):
    with (
        Workers(2) as threads,
        RunDirectory.make_temporary(lent.hidden) as run,
        running_cluster(lent.address, run.folder.path) as cluster,
    ):
        yield Stored(run.folder, cluster, threads, durable=False), cluster


def test_a_worker_that_does_not_see_the_run_s_folder_is_refused_with_the_way_out(lent):
    lent.start("elsewhere", elsewhere=True)
    told = "cannot see the run's folder: use workers of this host, or `fit` with"
    with pytest.raises(UsageError, match=told) as caught, lent_engine(lent):
        pass
    assert caught.value.code == "cluster-worker-elsewhere"
    assert list(lent.hidden.iterdir()) == []
    lent.kill("elsewhere")


@pytest.mark.slow
def test_workers_that_come_later_are_used_if_they_are_as_the_others(lent):
    lent.start("one")
    with lent_engine(lent) as (engine, cluster):
        out = engine.empty("out", (400,), float)
        rows = engine.rows("squares", Squares(np.arange(400.0), out, 0.05), 400, at_once=5)
        next(rows)
        lent.start("two")
        lent.start("elsewhere", elsewhere=True)
        lent.kill("one")
        assert sum(size for _, size in rows) == 395
        np.testing.assert_array_equal(out, np.arange(400.0) ** 2)
        more = engine.empty("more", (40,), float)
        done = engine.rows("more", Squares(np.arange(40.0), more, 0.02), 40, at_once=1)
        assert sum(size for _, size in done) == 40
        assert len(cluster.refused) == 1
        assert cluster.refused.isdisjoint(cluster.team.tasks)
    for name in ("two", "elsewhere"):
        lent.kill(name)


@pytest.mark.slow
def test_a_run_without_workers_ends_after_a_while(lent, monkeypatch):
    monkeypatch.setattr(clusters, "PAUSE", 0.2)
    monkeypatch.setattr(clusters, "PATIENCE", 1.0)
    lent.start("last")
    with lent_engine(lent) as (engine, _):
        out = engine.empty("out", (100,), float)
        rows = engine.rows("squares", Squares(np.arange(100.0), out, 0.1), 100, at_once=1)
        next(rows)
        lent.kill("last")
        with pytest.raises(ResourceError, match="all workers are gone, and none came within 1 s"):
            list(rows)
