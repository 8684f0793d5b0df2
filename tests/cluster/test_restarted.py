"""Workers that come back at the address of one that died."""

import asyncio
import pickle

import pytest

from cfl_cli.cluster import Cluster, Shift

HERE = "tcp://127.0.0.1:1"
EMPTY = pickle.dumps(([None], None))


class Connections:
    """A scheduler that knows one worker, and connections to it."""

    def __init__(self):
        self.process, self.removed = "worker-1", []

    async def identity(self, **_):
        return {"workers": {HERE: {"local_directory": self.process}}}

    def remove(self, address):
        self.removed.append(address)


class Client:
    def __init__(self):
        self.scheduler = self.rpc = Connections()


@pytest.fixture
def cluster():
    return Cluster(Client(), 1, None)


def known(cluster):
    return asyncio.run(cluster.addresses(newly=True))


def test_the_one_that_died_is_not_asked_again_but_its_successor_is(cluster):
    assert known(cluster) == [HERE]
    cluster.lost.add(HERE)
    known(cluster)  # the scheduler has not noticed yet
    assert cluster.lost == {HERE}
    cluster.client.scheduler.process = "worker-2"
    known(cluster)
    assert cluster.lost == set()
    assert cluster.client.rpc.removed == [HERE]


def test_a_successor_is_looked_at_anew(cluster):
    looked_at = []

    async def about(address, *_):
        looked_at.append(address)
        raise OSError

    cluster.vetted, cluster.abroad, cluster.ask = {HERE}, {HERE}, about
    assert known(cluster) == [HERE]
    cluster.client.scheduler.process = "worker-2"
    assert known(cluster) == []
    assert looked_at == [HERE]
    assert cluster.abroad == set()


def test_tasks_go_to_the_successor_even_if_it_is_there_before_the_death_is_noticed(cluster):
    served = []

    async def ask(address, *_, **__):
        served.append(cluster.processes[address])
        if len(served) == 1:
            cluster.client.scheduler.process = "worker-2"
            await cluster.addresses(newly=True)
            raise OSError
        return EMPTY

    cluster.ask = ask
    shift = Shift(cluster, b"", [[slice(0, 5)]], flush=False, workers=1)
    asyncio.run(asyncio.wait_for(shift.work(), 30))
    assert shift.done.get()[0] == 0
    assert served == ["worker-1", "worker-2"]
