import socket

import pytest

from cfl_cli import cluster
from cfl_cli.cluster import Cluster, check_address, check_workers, checked_link, home_in
from cfl_cli.errors import ResourceError, UsageError

pytestmark = pytest.mark.usefixtures("for_the_command_line")
pytest.importorskip("psutil")
config = pytest.importorskip("dask.config")


@pytest.fixture
def names(monkeypatch):
    """Addresses by name, so that no test asks the network."""
    known = {"here": ["127.0.0.1", "::1"], "there": ["203.0.113.7"], "both": ["::1", "203.0.113.7"]}

    def found(host, _port):
        addresses = known.get(host) or [host]
        if not addresses[0].replace(".", "").replace(":", "").isalnum():
            raise OSError
        return [(None, None, None, None, (address, 0)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", found)


@pytest.mark.parametrize(
    "address",
    ["tcp://127.0.0.1:8786", "localhost:8786", "tcp://[::1]:8786", "inproc://10.0.0.1/1/2"],
)
def test_a_scheduler_on_this_host_may_be_used(address):
    check_address(address)


def test_addresses_of_this_host_s_own_network_cards_are_here(names, monkeypatch):
    monkeypatch.setattr(cluster, "own_addresses", lambda: {"192.0.2.9"})
    check_address("tcp://192.0.2.9:8786")
    check_address("tcp://here:8786")


@pytest.mark.parametrize("host", ["there", "203.0.113.7", "both", "[2001:db8::1]"])
def test_a_scheduler_elsewhere_must_be_encrypted(names, host):
    with pytest.raises(UsageError, match=r"--scheduler: the scheduler .* not on this host: .*TLS"):
        check_address(f"tcp://{host}:8786")


@pytest.mark.parametrize("address", ["there", "tcp://:8786", "http://x:1", "tcp://x:port", "tcp:x"])
def test_what_is_no_address_is_refused(address):
    with pytest.raises(UsageError, match="is not an address: expected tcp://HOST:PORT"):
        check_address(address)


def test_tls_needs_certificates_and_is_enough_with_them():
    with pytest.raises(UsageError, match=r"needs certificates: set distributed.comm.tls.ca-file"):
        check_address("tls://there:8786")
    with config.set(dict.fromkeys(cluster.CERTIFICATES, "file.pem")):
        check_address("tls://there:8786")


class Client:
    def __init__(self, *addresses, **facts):
        self.addresses, self.facts, self.asked = addresses, facts, []

    def scheduler_info(self, **_):
        return {"workers": {address: {"nthreads": 2} for address in self.addresses}}

    def run(self, function, token, workers):
        self.asked += workers
        return {one: {**function(token), **self.facts} for one in workers}


def checked(folder, *addresses, **facts):
    with home_in(folder) as home:
        made = Cluster(Client(*addresses, **facts))
        check_workers(made, home)
    return made


def test_threads_of_workers_are_counted(tmp_path):
    assert checked(tmp_path, "tcp://127.0.0.1:1", "tcp://127.0.0.1:2").workers == 4
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"NumPy": "1.0"}, "cluster-worker-versions"),
        ({"arithmetic": "others"}, "cluster-worker-arithmetic"),
        ({"host": "another"}, "cluster-worker-elsewhere"),
        ({"token": ""}, "cluster-worker-elsewhere"),
    ],
)
def test_workers_that_may_give_other_bytes_are_refused_by_name(tmp_path, facts, code):
    with pytest.raises(UsageError, match=r"^tcp://127.0.0.1:1: this worker ") as caught:
        checked(tmp_path, "tcp://127.0.0.1:1", **facts)
    assert caught.value.code == code
    assert caught.value.problems[0].remedy


def test_workers_elsewhere_must_be_encrypted_and_are_not_asked_before(tmp_path):
    client = Client("tcp://203.0.113.7:1")
    told = r"the worker 'tcp://203.0.113.7:1' is not on this host"
    with pytest.raises(UsageError, match=told), home_in(tmp_path) as home:
        check_workers(Cluster(client), home)
    assert client.asked == []


def test_workers_that_cannot_be_asked_are_told(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise ModuleNotFoundError("No module named 'cfl_cli'")

    monkeypatch.setattr(Client, "run", fail)
    with pytest.raises(ResourceError, match="No module named 'cfl_cli': start them with cfl"):
        checked(tmp_path, "tcp://127.0.0.1:1")


def test_a_scheduler_without_workers_is_told(tmp_path):
    with pytest.raises(ResourceError, match="the scheduler has no workers: start workers"):
        checked(tmp_path)


@pytest.mark.parametrize("link", [None, "", "http://127.0.0.1:1/status", "file:///etc/status"])
def test_nothing_that_is_no_page_is_linked(link):
    assert checked_link(link) == ""
