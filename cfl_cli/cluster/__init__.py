"""Dask runs the tasks: in processes of this machine, or wherever a scheduler has workers.

Dask starts the workers, replaces those that die, finds them and carries messages. Tasks are handed
to workers by the driver itself, one at a time to each: that costs it a millisecond, where Dask's
own scheduling would cost seven. A task whose worker dies goes to another one.
"""

import asyncio
import ipaddress
import json
import os
import secrets
import signal
import socket
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPException
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from time import monotonic
from typing import Any, Protocol
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

import numpy.typing as npt

from cfl_cli.cluster import workers as on_workers
from cfl_cli.cluster.workers import CHUNK, Sealed, seal, total
from cfl_cli.core.messages import caller, count, option, quote, speak_to
from cfl_cli.core.parallel import Portable, Workers, interrupts_wait, shifted
from cfl_cli.core.process import farewell
from cfl_cli.core.progress import Team
from cfl_cli.errors import ResourceError, UsageError
from cfl_cli.large.arrays import packed, unpacked
from cfl_cli.large.stored import Executor, Kernel, Task, Threads, flush_maps, plain

# The tasks of one stage for workers on other hosts: parcels go out, and what comes back is placed.
#
# Home is the host of the command, whose files are complete: what a worker elsewhere has computed
# counts once it is written here.

Ask = Callable[..., Coroutine[Any, Any, Any]]


class Asking(Protocol):
    """Whoever can ask something of a worker."""

    run_id: str
    sent: int  # bytes that went to workers on other hosts

    async def ask(
        self,
        address: str,
        function: Callable[..., Coroutine[Any, Any, Any]],
        *args: Any,
        **named: Any,
    ) -> Any:
        """Return what a function of `on_workers` returns in a worker; OSError: the worker died."""


class Abroad:
    """Runs tasks of a kernel that is portable; with `flush`, what they wrote is safe."""

    def __init__(self, cluster: Asking, kernel: Portable, *, stage: int, flush: bool) -> None:
        self.cluster, self.kernel, self.stage, self.flush = cluster, kernel, stage, flush
        self._keys: dict[Any, str] = {}
        self._one = threading.Lock()  # so that nobody works out the same twice

    async def run(self, address: str, task: Task) -> tuple[list[Any], BaseException | None]:
        """Return the results of a task, or the error that it ended with; OSError: no worker."""
        first, run_id = task[0].start, self.cluster.run_id
        sealed, error = await _in_thread(self._sealed, slice(first, task[-1].stop))
        if error is not None:
            return [], error
        ask = partial(self.cluster.ask, address)
        for key in await ask(on_workers.lacks, run_id, self.stage, [*sealed.lasting]):
            lasting, error = await _in_thread(lambda one: seal(one.make()), sealed.lasting[key])
            if error is not None:
                return [], error
            await self._send(ask, key, lasting)
        parcel, sizes, chunks = secrets.token_hex(8), sealed.sizes, []
        if total(sizes) <= CHUNK:  # as most: it goes with the question
            chunks = [*sealed.chunks()]
            self.cluster.sent += sum(sizes)
        else:
            await self._send(ask, parcel, sealed)
        del sealed  # which may be large
        parts = [shifted(part, -first) for part in task]
        spans = [(part.start, part.stop) for part in parts]
        answer = await ask(on_workers.run_parcel, run_id, parcel, spans, sizes, chunks)
        values, error = unpacked(answer)
        if error is None:
            values, error = await _in_thread(self._placed, task, values)
        return values, error

    async def _send(self, ask: Ask, key: str, sealed: Sealed) -> None:
        for at, chunk in sealed.chunks():
            self.cluster.sent += len(chunk)
            await ask(on_workers.receive, self.cluster.run_id, key, sealed.sizes, at, chunk)

    def _sealed(self, rows: slice) -> Sealed:
        with self._one:
            return seal(self.kernel.parcel(rows), self._keys)

    def _placed(self, task: Task, values: list[Any]) -> list[Any]:
        pairs = zip(task, values, strict=True)
        results = [plain(self.kernel.place(part, value)) for part, value in pairs]
        if self.flush:
            flush_maps(self.kernel)
        return results


async def _in_thread(function: Callable[..., Any], *args: Any) -> tuple[Any, BaseException | None]:
    """Return what a function returns in a thread of this process, or [] and its error."""
    loop = asyncio.get_running_loop()
    try:
        return await loop.run_in_executor(None, function, *args), None
    except Exception as error:  # noqa: BLE001 — raised by whoever waits
        return [], error


# The tasks of one stage, handed to the workers of a cluster, one at a time to each.
#
# A task whose worker dies goes to another one; one that kills three ends the run. A worker prefers
# the rows that it had before: one on another host remembers what these need.

DEATHS = 3  # of workers, that a task may cause
PATIENCE = 60.0  # seconds to wait for a worker
PAUSE = 0.5  # seconds between looks for new ones


class Workforce(Protocol):
    """The workers, by their addresses."""

    run_id: str
    workers: int  # how many there should be
    lost: set[str]  # those that died, which the scheduler may not know yet
    abroad: set[str]  # those on other hosts
    sent: int  # bytes that went there
    last: dict[tuple[int, int], str]  # who had which rows last
    team: Team  # what each has done
    processes: dict[str, str]  # what tells one worker from the next at its address

    async def addresses(self, *, newly: bool = False) -> list[str]:
        """Return the workers that are there, or were a moment ago."""

    async def ask(
        self,
        address: str,
        function: Callable[..., Coroutine[Any, Any, Any]],
        *args: Any,
        **named: Any,
    ) -> Any:
        """Return what a function of `on_workers` returns in a worker; OSError: the worker died."""


class Shift:
    """The tasks of one stage, and the workers that do them."""

    def __init__(
        self,
        cluster: Workforce,
        kernel: bytes,
        tasks: Sequence[Task],
        *,
        flush: bool,
        workers: int,
        abroad: Abroad | None = None,
    ) -> None:
        self.cluster, self.kernel, self.tasks, self.flush = cluster, kernel, tasks, flush
        self.workers = workers  # that may take part
        self.abroad = abroad  # who deals with other hosts; None: this kernel stays at home
        self.done: SimpleQueue[tuple[int, list[Any], BaseException | None]] = SimpleQueue()
        self.left = len(tasks)
        self.waiting = deque(range(len(tasks)))
        self.deaths = [0] * len(tasks)
        self.busy: dict[asyncio.Task[bool], str] = {}
        self.engaged: dict[str, str | None] = {}  # the processes of those that have or had tasks

    async def work(self) -> None:
        """Hand out all tasks; an error goes to whoever waits for results."""
        try:
            await self._work()
        except asyncio.CancelledError:
            raise
        except OSError:
            self.done.put((-1, [], ResourceError(_no_scheduler())))
        except BaseException as error:  # noqa: BLE001 — raised by whoever waits
            self.done.put((-1, [], error))
        finally:
            for one in self.busy:
                one.cancel()

    async def _work(self) -> None:
        waited = 0.0
        await self._engage()
        while self.left:
            if self.busy:
                waited = 0.0
                await self._wait()
            elif waited > PATIENCE:
                raise ResourceError(_all_gone())
            else:  # all are dead: others will come
                await asyncio.sleep(PAUSE)
                waited += PAUSE
            if self.waiting and len(self.busy) < self.workers:
                await self._engage()

    async def _wait(self) -> None:
        """Return when a worker has nothing more to do, or after a while if some are missing."""
        full = len(self.busy) >= self.workers or not self.waiting
        ended, _ = await asyncio.wait(
            self.busy, timeout=None if full else PAUSE, return_when="FIRST_COMPLETED"
        )
        for one in ended:
            address = self.busy.pop(one)
            if not one.result():
                self.cluster.team.at_work.discard(address)
            is_same = self.engaged[address] == self.cluster.processes.get(address)
            if not one.result() and is_same:  # else another is there already, in its place
                self.cluster.lost.add(address)

    async def _engage(self) -> None:
        """Let every worker that has nothing to do take tasks."""
        known = self._fit(await self.cluster.addresses())
        if len(known) < self.workers:
            known = self._fit(await self.cluster.addresses(newly=True))
        for address in sorted(known - set(self.busy.values()))[: len(self.waiting)]:
            self.cluster.team.at_work.add(address)
            self.engaged[address] = self.cluster.processes.get(address)
            self.busy[asyncio.ensure_future(self._serve(address))] = address

    def _fit(self, addresses: Sequence[str]) -> set[str]:
        """Return those that may take part."""
        barred = self.cluster.lost | (set() if self.abroad else self.cluster.abroad)
        return set(addresses) - barred

    def _taken(self, address: str) -> int:
        """Return a task for a worker: one that it had, or nobody had, rather than another's."""

        def rank(at: int) -> int:
            who = self.cluster.last.get(_rows(self.tasks[at]))
            return 0 if who == address else 2 if who and who not in self.cluster.lost else 1

        at = min(self.waiting, key=rank)
        self.waiting.remove(at)
        self.cluster.last[_rows(self.tasks[at])] = address
        return at

    async def _serve(self, address: str) -> bool:
        """Give tasks to a worker while there are any; return False if it dies."""
        while self.waiting:
            at = self._taken(address)
            try:
                results, error = await self._run(address, self.tasks[at])
            except OSError:
                self.deaths[at] += 1
                if self.deaths[at] >= DEATHS:
                    raise ResourceError(_deadly(self.tasks[at])) from None
                self.waiting.appendleft(at)
                return False
            self.left -= 1
            self.cluster.team.tasks[address] += 1
            self.done.put((at, results, error))
        return True

    async def _run(self, address: str, task: Task) -> tuple[list[Any], BaseException | None]:
        if self.abroad and address in self.cluster.abroad:
            return await self.abroad.run(address, task)
        content = await self.cluster.ask(
            address,
            on_workers.run,
            self.cluster.run_id,
            self.kernel,
            [(part.start, part.stop) for part in task],
            is_flushed=self.flush,
        )
        results, error = unpacked(content)
        return results, error


def _rows(task: Task) -> tuple[int, int]:
    return task[0].start, task[-1].stop


def _deadly(task: Task) -> str:
    first, stop = _rows(task)
    rows = f"rows {first + 1:,} to {stop:,}"
    way_out = f"try fewer ({option('workers')}), or a machine with more memory"
    return f"{rows}: {count(DEATHS, 'worker')} died of them, perhaps for lack of memory: {way_out}"


def _no_scheduler() -> str:
    again = f"{option('resume', value=True)} if there is a run directory"
    return f"{option('scheduler')}: the scheduler is gone: start it again, and go on with {again}"


def _all_gone() -> str:
    way_out = (
        f"start others, and go on with {option('resume', value=True)} if there is a run directory"
    )
    return f"all workers are gone, and none came within {PATIENCE:.0f} s: {way_out}"


# Where people can watch a cluster: a link that is said only if there is something to see.

DASHBOARD_PATIENCE = 5.0  # seconds
# A list of what the page can show: quick to make, which the page is not, and empty without bokeh.
CONTENT = "individual-plots.json"


def checked_link(link: str | None) -> str:
    """Return the link if Dask's page is there; nothing if it is not, as without bokeh."""
    if not link or not link.startswith(("http://", "https://")):
        return ""
    try:
        # Not by a proxy: whoever can talk to a scheduler reaches it directly.
        opener = build_opener(ProxyHandler({}))
        with opener.open(
            f"{link.rpartition('/')[0]}/{CONTENT}", timeout=DASHBOARD_PATIENCE
        ) as content:
            return link if json.loads(content.read()) else ""
    except (OSError, ValueError, HTTPException):
        return ""


# Which schedulers and workers may be used: of this host, and others only if they are encrypted.
#
# Whoever can talk to a cluster can run code in it, and see the data. Workers must give the bytes that
# this process gives: the same versions, and arithmetic that agrees to the last digit.

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


CONNECT = 10.0  # seconds to wait for a scheduler
RENEWED = 10.0  # seconds for which the list of workers is not asked for again
QUIET = 50  # the level of messages that are logged at all: critical
ENVIRONMENT = {
    **{f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")},
    "POLARS_MAX_THREADS": "1",
    "PYTHONWARNINGS": "ignore",
    "DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "critical",
}
CONFIG = {
    "distributed.worker.memory.target": False,  # our arrays are maps: nothing to spill
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    # Without Dask's own setting for malloc, by which every large array in a kernel would be fresh
    # memory from the system: that doubled the time of a step.
    "distributed.nanny.pre-spawn-environ": ENVIRONMENT,
    "distributed.scheduler.worker-ttl": None,  # a kernel may keep a worker busy for long
    "distributed.scheduler.work-stealing": False,
    # After this a local cluster gives up a worker that has died and is just being replaced.
    "distributed.deploy.lost-worker-timeout": "1000 days",
}
LOGGING = dict.fromkeys(("distributed", "tornado", "asyncio"), "critical")


@dataclass
class Cluster:
    """Runs tasks by the workers that a Dask client knows."""

    client: Any
    workers: int
    pickle: Any  # Dask's
    dashboard: str = ""  # where people can watch it
    team: Team = field(default_factory=Team)  # what each worker has done
    cost: bool = True
    hosts: int = 1  # that have workers
    here: Executor | None = None  # who runs what is not portable if no worker is at home
    run_id: str = field(default_factory=lambda: secrets.token_hex(8))
    lost: set[str] = field(default_factory=set)  # workers that died
    vetted: set[str] | None = None  # workers that were checked; None: all are this run's own
    abroad: set[str] = field(default_factory=set)  # those of them that are on other hosts
    sent: int = 0  # bytes that went there
    last: dict[tuple[int, int], str] = field(default_factory=dict)  # who had which rows last
    folder: Path = Path()  # of the run, which workers at home see
    processes: dict[str, str] = field(default_factory=dict)  # what tells them apart, by address
    _stage: int = 0
    _refused: set[str] = field(default_factory=set)
    _known: list[str] = field(default_factory=list)  # workers
    _asked: float = -RENEWED  # when they were asked for

    def run(
        self, kernel: Kernel, tasks: Sequence[Task], *, flush: bool
    ) -> Iterator[tuple[int, list[Any]]]:
        """Yield the number of a task and its results, as tasks are done."""
        at_home = self.workers - len(self.abroad)
        portable = kernel if self.abroad and isinstance(kernel, Portable) else None
        if portable is None and at_home <= 0 and self.here is not None:
            yield from self.here.run(kernel, tasks, flush=flush)
            return
        self._stage += 1
        shift = Shift(
            self,
            packed(kernel) if at_home > 0 else b"",
            tasks,
            flush=flush,
            workers=at_home if portable is None else self.workers,
            abroad=portable and Abroad(self, portable, stage=self._stage, flush=flush),
        )
        working = asyncio.run_coroutine_threadsafe(shift.work(), self._loop)
        try:
            for _ in tasks:
                at, results, error = shift.done.get()
                if error is not None:
                    raise error
                yield at, results
        finally:
            self._loop.call_soon_threadsafe(working.cancel)

    def flush(self, arrays: Sequence[npt.NDArray[Any]]) -> None:
        """Return when all that was written to these arrays is on the disk."""
        flush_maps(arrays)

    def on(
        self,
        addresses: Sequence[str],
        function: Callable[..., Coroutine[Any, Any, Any]],
        *args: Any,
    ) -> list[Any]:
        """Return what a function of `on_workers` returns in each of some workers."""

        async def ask() -> list[Any]:
            return await asyncio.gather(*(self.ask(one, function, *args) for one in addresses))

        return asyncio.run_coroutine_threadsafe(ask(), self._loop).result(PATIENCE)

    def all_addresses(self) -> list[str]:
        """Return the workers that are there now."""
        asked = self.addresses(newly=True)
        return asyncio.run_coroutine_threadsafe(asked, self._loop).result(PATIENCE)

    async def addresses(self, *, newly: bool = False) -> list[str]:
        """Return the workers that are there, or were a moment ago."""
        if newly or monotonic() - self._asked > RENEWED:
            found = await self.client.scheduler.identity(n_workers=-1)
            self._known, self._asked = list(found["workers"]), monotonic()
            for address, about in found["workers"].items():
                self._meet(address, about["local_directory"])
            if self.vetted is not None:
                self._known = [one for one in self._known if await self._is_sound(one, self.vetted)]
        return self._known

    def _meet(self, address: str, process: str) -> None:
        """Forget what is known of a worker if another process is at its address by now."""
        if self.processes.setdefault(address, process) == process:
            return
        self.processes[address] = process
        for known in (self.lost, self.abroad, self._refused, self.vetted or set()):
            known.discard(address)
        self.client.rpc.remove(address)  # connections to the one before

    async def _is_sound(self, address: str, vetted: set[str]) -> bool:
        """Return whether a worker is as the others are; one that is not gets nothing to do."""
        if address in vetted or address in self._refused:
            return address in vetted
        is_sound = False
        with suppress(UsageError, ResourceError, OSError), token_in(self.folder) as (token, secret):
            check_address(address)
            if not is_home(address, await self.ask(address, on_workers.about, token), secret):
                self.abroad.add(address)
            is_sound = True
        (vetted if is_sound else self._refused).add(address)
        return is_sound

    async def ask(
        self,
        address: str,
        function: Callable[..., Coroutine[Any, Any, Any]],
        *args: Any,
        **named: Any,
    ) -> Any:
        """Return what a function of `on_workers` returns in a worker; OSError: the worker died."""
        dumps = self.pickle.dumps
        answer = await self.client.rpc(address).run(
            function=dumps(function), args=dumps(args), kwargs=dumps(named), wait=True
        )
        if answer["status"] != "OK":
            raise ResourceError(f"{address}: a worker failed: {answer.get('exception_text', '')}")
        return answer["result"]

    @property
    def _loop(self) -> Any:
        return self.client.loop.asyncio_loop


@contextmanager
def local_cluster(workers: int) -> Iterator[Cluster]:
    """Start processes on this machine, each with one thread; all are gone when the block ends.

    They talk by TLS, with keys that only they have: other users of the machine can reach its ports.
    """
    made: dict[str, Any] = {}

    def start() -> None:
        dask = import_dask()
        made["pickle"] = dask.protocol.pickle
        made["config"] = import_module("dask.config").set(CONFIG)
        made["cluster"] = dask.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            protocol="tls://",
            security=dask.Security.temporary(),
            memory_limit=0,
            silence_logs=QUIET,
            preload=["cfl_cli.cluster.quiet"],
        )
        made["client"] = dask.Client(made["cluster"], set_as_default=False)
        made["dashboard"] = checked_link(made["cluster"].dashboard_link)

    try:
        import_dask()
        made["others"] = {one.pid for one in import_module("multiprocessing").active_children()}
        with farewell(lambda: _kill(made)):
            _start_tracker()
            _in_background(start)
            yield Cluster(made["client"], workers, made["pickle"], dashboard=made["dashboard"])
    finally:
        _in_background(lambda: _stop(made))


@contextmanager
def running_cluster(
    address: str, folder: Path, threads: Workers | None = None
) -> Iterator[Cluster]:
    """Use the workers of a scheduler that runs already, if they compute as this process does.

    Kernels that need this host's files are run by `threads` if none of the workers has these.
    """
    made: dict[str, Any] = {}

    def start() -> None:
        dask = import_dask()
        made["pickle"] = dask.protocol.pickle
        check_address(address)
        try:
            made["client"] = dask.Client(address, set_as_default=False, timeout=CONNECT)
        except (OSError, TimeoutError, ValueError, TypeError) as error:
            told = f"{option('scheduler')}: {address} does not answer: start it, or name another"
            raise UsageError(told) from error
        made["dashboard"] = checked_link(made["client"].dashboard_link)

    try:
        _in_background(start)
        cluster = Cluster(made["client"], 0, made["pickle"], dashboard=made["dashboard"])
        found = check_workers(cluster, folder)
        cluster.vetted, cluster.abroad = found.home | found.abroad, found.abroad
        cluster.hosts, cluster.folder = found.hosts, folder
        cluster.here = Threads(threads) if threads else None

        def end() -> None:
            with suppress(Exception):  # whoever is to end may be gone
                cluster.on(cluster.all_addresses(), on_workers.end, cluster.run_id)

        try:
            with farewell(end):
                yield cluster
        finally:
            end()
    finally:
        _in_background(lambda: _stop(made))


def import_dask() -> Any:
    """Return the package that is in an extra, made quiet; raise if it is not installed."""
    try:
        import_module("dask.config").set({"distributed.logging": LOGGING})
        import_module("cryptography")
        return import_module("distributed")
    except ImportError as error:
        install = "`pip install 'cfl-cli[cluster]'`"
        raise UsageError(f"{option('engine', 'dask')}: Dask is not installed: {install}") from error


def _start_tracker() -> None:
    """Start the helper of `multiprocessing`, which says nothing at an end that is sudden.

    Here, because whichever thread starts it hears interrupts from then on, as do its processes.
    """
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = "ignore"
    try:
        import_module("multiprocessing.resource_tracker").ensure_running()
    finally:
        os.environ.pop("PYTHONWARNINGS")
        if before is not None:
            os.environ["PYTHONWARNINGS"] = before


def _in_background(function: Callable[[], None]) -> None:
    """Call a function in a thread whose threads and processes leave interrupts to this one."""
    done: SimpleQueue[BaseException | None] = SimpleQueue()
    reader = caller()

    def call() -> None:
        speak_to(reader)
        try:
            function()
        except BaseException as error:  # noqa: BLE001 — raised below
            done.put(error)
        else:
            done.put(None)

    with interrupts_wait():
        threading.Thread(target=call, daemon=True).start()
    error = done.get()
    if error is not None:
        raise error


def _stop(made: Mapping[str, Any]) -> None:
    """End all processes at once: they have nothing to save."""
    if "others" in made:
        _kill(made)
    for thing in (made.get("client"), made.get("cluster")):
        if thing is not None:
            with suppress(Exception):  # of no interest any more
                thing.close(timeout=1)
    if "config" in made:
        made["config"].__exit__(None, None, None)  # as it was before


def _kill(made: Mapping[str, Any]) -> None:
    """Kill the workers that were started here, also those that are just being started."""
    for nanny in getattr(made.get("cluster"), "workers", {}).values():
        nanny.auto_restart = False  # or another would take its place
    for one in import_module("multiprocessing").active_children():
        if one.pid not in made["others"]:
            with suppress(OSError):
                os.kill(one.pid, signal.SIGKILL)
