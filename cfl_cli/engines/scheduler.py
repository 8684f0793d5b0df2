"""Which schedulers and workers may be used: of this host, and others only if they are encrypted.

Whoever can talk to a cluster can run code in it, and see the data. Workers must give the bytes that
this process gives: the same versions, and arithmetic that agrees to the last digit.
"""

import ipaddress
import secrets
import socket
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from cfl_cli.core.messages import quote
from cfl_cli.core.quick import dataclass
from cfl_cli.core.wording import option
from cfl_cli.engines import on_workers
from cfl_cli.errors import ResourceError, UsageError

ENCRYPTED = {"tls", "wss"}
WITHIN = {"inproc", "unix"}  # cannot leave this host
CERTIFICATES = ("ca-file", "client.cert", "client.key")


class Asked(Protocol):
    """Workers that can be asked what they are."""

    workers: int

    def all_addresses(self) -> list[str]:
        """Return where they are."""

    def on(
        self,
        addresses: Sequence[str],
        function: Callable[..., Coroutine[Any, Any, Any]],
        *args: Any,
    ) -> list[Any]:
        """Return what a function of `on_workers` returns in each of some workers."""


def check_address(address: str, *, what: str = "the scheduler") -> None:
    """Raise if a cluster's address is neither on this host nor encrypted."""
    scheme, host = _parts(address)
    if scheme in ENCRYPTED:
        _check_certificates(address)
    elif scheme not in WITHIN and not is_own(host):
        raise UsageError(
            f"{option('scheduler')}: {what} {quote(address)} is not on this host: it must use TLS "
            "(tls://HOST:PORT), because whoever reads along could see the data and run code"
        )


@dataclass(frozen=True)
class Found:
    """The workers that a scheduler has."""

    home: set[str]  # on this host, with its files in sight
    abroad: set[str]  # others
    hosts: int  # that all of them are on


@contextmanager
def token_in(folder: Path) -> Iterator[tuple[str, str]]:
    """Give a file in a folder, and the secret in it: who knows that sees the folder."""
    path, secret = folder / f"token-{secrets.token_hex(8)}", secrets.token_hex(16)
    path.write_text(secret)
    try:
        yield str(path), secret
    finally:
        path.unlink(missing_ok=True)


def check_workers(cluster: Asked, folder: Path) -> Found:
    """Return the workers; raise unless all of them give the bytes that this process gives."""
    addresses = cluster.all_addresses()
    if not addresses:
        raise ResourceError(f"{option('scheduler')}: the scheduler has no workers: start some")
    for address in addresses:
        check_address(address, what="the worker")
    try:
        with token_in(folder) as (token, secret):
            answers = cluster.on(addresses, on_workers.about, token)
    except (OSError, TimeoutError) as error:
        told = "its workers cannot be reached from here"
        raise ResourceError(f"{option('scheduler')}: {told}: {error}") from error
    both = list(zip(addresses, answers, strict=True))
    home = {address for address, answer in both if is_home(address, answer, secret)}
    cluster.workers = len(both)
    hosts = {answer["host"] for answer in answers}
    return Found(home, {address for address, _ in both} - home, len(hosts))


def is_home(address: str, about: Mapping[str, Any], secret: str) -> bool:
    """Return whether a worker shares this host's files; raise if it may give other bytes."""
    _check_versions(address, about["versions"])
    if about.get("arithmetic") != on_workers.arithmetic():
        way_out = "leave it out, or use processors of one kind and the same libraries everywhere"
        raise UsageError(f"{address}: this worker computes other last digits: {way_out}")
    # What one host writes to a mapped file, another sees late or never, even if it has the folder.
    return bool(about["token"] == secret and about["host"] == on_workers.host())


def _check_versions(address: str, found: Mapping[str, str]) -> None:
    differ = [
        f"{name} {found.get(name)} instead of {own}"
        for name, own in on_workers.versions().items()
        if found.get(name) != own
    ]
    if differ:
        way_out = "install the same there"
        raise UsageError(f"{address}: this worker has {', '.join(differ)}: {way_out}")


def is_own(host: str) -> bool:
    """Return whether a name or an address, in all its meanings, is this host."""
    try:
        found = {str(info[4][0]) for info in socket.getaddrinfo(host, None)}
    except OSError:
        return False
    return bool(found) and all(_is_own_address(address) for address in found)


def _is_own_address(text: str) -> bool:
    address = ipaddress.ip_address(text.partition("%")[0])
    return address.is_loopback or str(address) in _own_addresses()


def _own_addresses() -> set[str]:
    import psutil  # noqa: PLC0415 — comes with Dask

    kinds = {socket.AF_INET, socket.AF_INET6}
    found = {
        one.address.partition("%")[0]
        for ones in psutil.net_if_addrs().values()
        for one in ones
        if one.family in kinds
    }
    return {str(ipaddress.ip_address(address)) for address in found}


def _parts(address: str) -> tuple[str, str]:
    """Return the scheme and the host of an address such as `tcp://localhost:8786`."""
    given = address if "://" in address else f"tcp://{address}"
    try:
        parts = urlsplit(given)
        port, host = parts.port, parts.hostname
    except ValueError:
        port, host = None, None
    scheme = given.partition("://")[0].lower()
    if scheme in WITHIN:
        return scheme, ""
    if scheme not in {"tcp", "ws", *ENCRYPTED} or not host or port is None:
        raise UsageError(
            f"{option('scheduler')}: {quote(address)} is not an address: expected tcp://HOST:PORT "
            "or tls://HOST:PORT"
        )
    return scheme, host


def _check_certificates(address: str) -> None:
    import dask.config  # noqa: PLC0415 — an extra

    lacking = [
        name for name in CERTIFICATES if not dask.config.get(f"distributed.comm.tls.{name}", None)
    ]
    if lacking:
        names = ", ".join(f"distributed.comm.tls.{name}" for name in lacking)
        raise UsageError(
            f"{option('scheduler')}: {quote(address)} needs certificates: set {names} in Dask's "
            "configuration"
        )
