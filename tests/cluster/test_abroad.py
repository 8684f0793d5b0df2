"""Workers on another host: with other mounts, so that no file of the run is in their sight."""

import socket

import numpy as np
import pytest
from builders.hosts import hosts_elsewhere
from builders.kernels import Roots

from cfl_cli.cluster import running_cluster
from cfl_cli.core.parallel import Workers
from cfl_cli.errors import DataError, ResourceError
from cfl_cli.large.run_directory import RunDirectory
from cfl_cli.large.stored import Stored
from cfl_cli.methods.graph.neighbors import nearest
from cfl_cli.methods.graph.propagation import Graph, propagate
from cfl_cli.methods.graph.weights import solve

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    with hosts_elsewhere(tmp_path_factory.mktemp("hosts"), "one") as made:
        yield made


@pytest.fixture
def cluster(started):
    with Workers(2) as threads, running_cluster(started.address, started.hidden, threads) as made:
        yield made
    assert list(started.hidden.iterdir()) == []


@pytest.fixture
def engine(cluster, started):
    with Workers(2) as threads, RunDirectory.make_temporary(started.hidden) as run:
        yield Stored(run.folder, cluster, threads, durable=True)


def estimated(workers):
    """Return the confidences of 3,000 rows of six features, and what is found on the way."""
    draws = np.random.default_rng(1)
    features = workers.share("features", draws.normal(size=(3000, 6)).round(2))
    evidence = workers.share("evidence", draws.random((3000, 7)) < 0.7)
    found = nearest(features, k=6, workers=workers.within("near"))
    weights = solve(features, found.rows, ridge=0.3, workers=workers.within("weights"))
    graph = Graph.of(found.rows, weights.values, found.order, workers=workers.within("graph"))
    walked = propagate(
        graph, evidence, np.array([0, 3]), iterations=12, workers=workers.within("walk")
    )
    arrays = found.rows, weights.values, walked.confidences, walked.mass, walked.fell_back
    return [array.tobytes() for array in arrays]


@pytest.fixture(scope="module")
def expected():
    with Workers(1) as workers:
        return estimated(workers)


def test_a_host_that_does_not_see_the_files_gives_the_same_bytes(engine, cluster, expected):
    assert estimated(engine) == expected
    assert cluster.sent > 12 * 3000 * 7 * 4  # at least the confidences, in single precision


def test_rows_come_in_order(engine):
    out = engine.empty("out", (10,), float)
    found = list(engine.rows("roots", Roots(out), 10, at_once=3))
    assert found == [(slice(0, 3), 3), (slice(3, 6), 3), (slice(6, 9), 3), (slice(9, 10), 1)]
    np.testing.assert_array_equal(out, np.sqrt(np.arange(10)))


def test_an_error_elsewhere_arrives_as_it_is(engine):
    out = engine.empty("out", (10,), float)
    with pytest.raises(DataError, match="row 7: wrong"):
        list(engine.rows("roots", Roots(out, wrong=7), 10, at_once=3))


@pytest.mark.slow
def test_a_worker_elsewhere_that_is_killed_changes_nothing(engine, cluster, started):
    started.start("other", "third")
    out = engine.empty("out", (200,), float)
    rows = engine.rows("roots", Roots(out, seconds=0.05), 200, at_once=5)
    next(rows)
    started.kill("one")
    assert sum(size for _, size in rows) == 195
    np.testing.assert_array_equal(out, np.sqrt(np.arange(200)))
    assert len(cluster.lost) == 1


@pytest.mark.slow
def test_a_worker_that_restarts_at_its_address_is_used_again(engine, cluster, started):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started.start("there", port=port)
    (address,) = (one for one in cluster.all_addresses() if one.endswith(f":{port}"))
    cluster.workers = len(started.processes)
    out = engine.empty("out", (400,), float)
    rows = engine.rows("roots", Roots(out, seconds=0.05), 400, at_once=5)
    next(rows)
    started.kill("there")
    assert sum(size for _, size in rows) == 395
    started.start("there", port=port)
    before, more = cluster.team.tasks[address], engine.empty("more", (400,), float)
    rows = engine.rows("more", Roots(more, seconds=0.05), 400, at_once=5)
    assert sum(size for _, size in rows) == 400
    assert cluster.team.tasks[address] > before
    np.testing.assert_array_equal(more, out)
    started.kill("there")


@pytest.mark.slow
def test_workers_of_both_hosts_work_together(started, expected):
    started.start("at home", elsewhere=False)
    where = started.address, started.hidden
    with (
        Workers(2) as threads,
        RunDirectory.make_temporary(started.hidden) as run,
        running_cluster(*where) as cluster,
    ):
        engine = Stored(run.folder, cluster, threads, durable=True)
        assert estimated(engine) == expected
        assert cluster.hosts == 2
        assert cluster.abroad
        assert set(cluster.last.values()) == set(cluster.all_addresses())
    started.kill("at home")


@pytest.mark.slow
def test_rows_that_kill_three_workers_elsewhere_end_the_run_and_are_named(engine, started):
    missing = range(3 - len(started.processes))
    started.start(*(f"more {number}" for number in missing))
    out = engine.empty("out", (20,), float)
    with pytest.raises(ResourceError, match=r"^rows \d to \d: 3 workers died of them"):
        list(engine.rows("roots", Roots(out, deadly=7), 20, at_once=1))
