import socket

import pytest

from cfl_cli import cluster
from cfl_cli.cluster import Found, check_address, check_workers, workers
from cfl_cli.core.messages import on_command_line
from cfl_cli.errors import ResourceError, UsageError

pytest.importorskip("psutil")
config = pytest.importorskip("dask.config")


@pytest.fixture(autouse=True)
def _on_command_line():
    with on_command_line():
        yield


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
    monkeypatch.setattr(cluster, "_own_addresses", lambda: {"192.0.2.9"})
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
    files = [f"distributed.comm.tls.{name}" for name in cluster.CERTIFICATES]
    with config.set(dict.fromkeys(files, "file.pem")):
        check_address("tls://there:8786")


class Crew:
    """Workers that say of themselves what a test wants."""

    workers = 0

    def __init__(self, *hosts, address="tcp://127.0.0.1", sees=True, digits=None):
        self.names, self.address, self.sees = hosts, address, sees
        self.digits, self.asked = digits or workers.arithmetic(), []

    def all_addresses(self):
        return [f"{self.address}:{port}" for port in range(1, len(self.names) + 1)]

    def on(self, addresses, _function, token):
        self.asked += addresses
        with open(token) as file:  # noqa: PTH123 — as short
            seen = file.read() if self.sees else ""
        about = {"versions": workers.versions(), "arithmetic": self.digits, "token": seen}
        return [{**about, "host": self.names[int(one[-1]) - 1]} for one in addresses]


def test_workers_of_this_host_are_counted(tmp_path):
    crew = Crew(workers.host(), workers.host())
    both = {"tcp://127.0.0.1:1", "tcp://127.0.0.1:2"}
    assert check_workers(crew, tmp_path) == Found(both, set(), 1)
    assert crew.workers == 2
    assert list(tmp_path.iterdir()) == []


def test_workers_of_other_hosts_are_abroad_even_if_they_have_the_folder(tmp_path):
    found = check_workers(Crew("a", workers.host(), "a"), tmp_path)
    abroad = {"tcp://127.0.0.1:1", "tcp://127.0.0.1:3"}
    assert found == Found({"tcp://127.0.0.1:2"}, abroad, 2)


def test_a_worker_that_comes_meanwhile_is_not_asked_before_its_address_is_checked(tmp_path):
    crew = Crew("a", workers.host())
    crew.all_addresses = lambda: ["tcp://127.0.0.1:2"]  # as long as the first is not there
    assert check_workers(crew, tmp_path) == Found({"tcp://127.0.0.1:2"}, set(), 1)
    assert crew.asked == ["tcp://127.0.0.1:2"]


def test_workers_that_do_not_see_the_run_directory_are_abroad_even_on_this_host(tmp_path):
    found = check_workers(Crew(workers.host(), sees=False), tmp_path)
    assert found == Found(set(), {"tcp://127.0.0.1:1"}, 1)


def test_workers_that_compute_other_last_digits_are_refused(tmp_path):
    told = r"tcp://127.0.0.1:1: this worker computes other last digits: leave it out, or use"
    with pytest.raises(UsageError, match=told):
        check_workers(Crew("a", digits="others"), tmp_path)


def test_workers_elsewhere_must_be_encrypted_too(tmp_path):
    with pytest.raises(UsageError, match=r"the worker 'tcp://203.0.113.7:1' is not on this host"):
        check_workers(Crew("a", address="tcp://203.0.113.7"), tmp_path)


def test_a_scheduler_without_workers_is_told(tmp_path):
    with pytest.raises(ResourceError, match="the scheduler has no workers: start some"):
        check_workers(Crew(), tmp_path)
