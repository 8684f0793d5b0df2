"""Workers on another host: really other mounts, so that no file of the run is in their sight."""

import numpy as np
import pytest
from builders.hosts import can_pretend, hosts
from builders.kernels import Roots

from cfl_cli.core.parallel import Workers
from cfl_cli.engines.cluster import running_cluster
from cfl_cli.engines.run_directory import RunDirectory
from cfl_cli.engines.stored import Stored
from cfl_cli.errors import DataError
from cfl_cli.steps.flow import Graph
from cfl_cli.steps.neighbors import nearest
from cfl_cli.steps.propagate import propagate
from cfl_cli.steps.weights import solve

distributed = pytest.importorskip("distributed")
config = pytest.importorskip("dask.config")


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hosts")
    if not can_pretend(folder):
        pytest.skip("processes may not have mounts of their own here (unshare --mount)")
    with hosts(folder) as made, config.set(made.tls):
        for name in ("one", "other"):
            made.start_worker(name, elsewhere=True)
        wait_for_workers(made, 2)
        yield made


def wait_for_workers(made, count):
    with distributed.Client(made.address, set_as_default=False) as client:
        client.wait_for_workers(count, timeout=60)


@pytest.fixture
def lent(started):
    where = started.address, started.hidden
    with Workers(2) as threads, running_cluster(*where, threads) as cluster:
        yield cluster, threads
    assert list(started.hidden.iterdir()) == []


@pytest.fixture
def engine(lent, started):
    cluster, threads = lent
    with RunDirectory.make_temporary(started.hidden) as run:
        yield Stored(run.folder, cluster, threads, durable=True)


def estimated(workers):
    """Return the confidences of 3,000 rows of six features, and what else is found on the way."""
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


def test_hosts_that_do_not_see_the_files_give_the_same_bytes(engine, lent):
    with Workers(1) as workers:
        expected = estimated(workers)
    assert estimated(engine) == expected
    assert lent[0].sent > 12 * 3000 * 7 * 8


def test_rows_come_in_order_and_what_does_not_travel_is_done_at_home(engine):
    out = engine.empty("out", (10,), float)
    found = list(engine.rows("roots", Roots(out), 10, at_once=3))
    assert found == [(slice(0, 3), 3), (slice(3, 6), 3), (slice(6, 9), 3), (slice(9, 10), 1)]
    np.testing.assert_array_equal(out, np.sqrt(np.arange(10)))


def test_an_error_elsewhere_arrives_as_it_is(engine):
    out = engine.empty("out", (10,), float)
    with pytest.raises(DataError, match="row 7: wrong"):
        list(engine.rows("roots", Roots(out, wrong=7), 10, at_once=3))


def test_a_worker_elsewhere_that_is_killed_changes_nothing(engine, lent, started):
    started.start_worker("third", elsewhere=True)
    wait_for_workers(started, 3)
    out = engine.empty("out", (200,), float)
    rows = engine.rows("roots", Roots(out, seconds=0.02), 200, at_once=5)
    next(rows)
    started.processes["one"].kill()
    assert sum(size for _, size in rows) == 195
    np.testing.assert_array_equal(out, np.sqrt(np.arange(200)))
    assert len(lent[0].lost) == 1
