"""Dask runs the tasks of kernels: in processes of this machine, or by the workers of a scheduler.

Tasks go to workers by `Client.map`. Dask starts workers, replaces those that die and runs their
tasks again. Kernels travel as references to the files of the run, which all workers map, and return
something small. So a worker must be on this host and see the run's folder; others are refused.
Sending them what they need was measured on 20,000 rows with two workers: threads took 1.0 CPU
seconds; a protocol that sent each worker only what its rows need 5.4, and 153 MB; Dask's `scatter`
of whole kernels 14.7, and 1,222 MB. All gave the same bytes.
"""

import ipaddress
import json
import os
import secrets
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from http.client import HTTPException
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from time import monotonic
from typing import Any
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

import numpy as np
import scipy  # whose parts it loads when they are asked for
from threadpoolctl import threadpool_limits

from cfl_cli.core.messages import CALLER, command, option
from cfl_cli.core.parallel import interrupts_wait
from cfl_cli.core.process import farewell, keep_freed_memory
from cfl_cli.core.progress import Team
from cfl_cli.errors import Problem, ResourceError, UsageError
from cfl_cli.large import own_versions
from cfl_cli.large.arrays import forget_removed, pickled, unpickled
from cfl_cli.large.stored import Kernel, Task, TaskDone, run_task

DEATHS = 3  # of workers, that a task of a local cluster may cause
PATIENCE = 60.0  # seconds to wait for a worker if there is none
PAUSE = 5.0  # seconds between looks whether there is one
CONNECT = 10.0  # seconds to wait for a scheduler
_QUIET = 50  # the level of messages that are logged at all: critical
_ENVIRONMENT = {
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
    "distributed.nanny.pre-spawn-environ": _ENVIRONMENT,
    "distributed.scheduler.allowed-failures": DEATHS - 1,
    "distributed.scheduler.worker-saturation": 1.0,  # a task at a time, so that a death names it
    "distributed.scheduler.worker-ttl": None,  # a kernel may keep a worker busy for long
    "distributed.scheduler.work-stealing": False,
    # After this a local cluster gives up a worker that has died and is just being replaced.
    "distributed.deploy.lost-worker-timeout": "1000 days",
}
LOGGING = dict.fromkeys(("distributed", "tornado", "asyncio"), "critical")


@dataclass
class Cluster:
    """Runs tasks by the workers that a Dask client knows; an `Executor`."""

    client: Any
    dashboard: str = ""  # the address of a page about it
    home: "Home | None" = None  # what workers must be; None: all are this run's own
    team: Team = field(default_factory=Team)  # what each worker has done
    cost: bool = True
    workers: int = 0  # threads of workers
    refused: set[str] = field(default_factory=set)  # workers that came later and differ
    looked: float = 0.0  # when for workers

    def run(self, kernel: Kernel, tasks: Sequence[Task], *, flush: bool) -> Iterator[TaskDone]:
        """Yield the number of a task and its results, as tasks are done."""
        dask = import_dask()
        spans = [[(part.start, part.stop) for part in task] for task in tasks]
        given = {"kernel": pickled(kernel), "flush": flush, "home": self.home, "pure": False}
        if monotonic() - self.looked > PAUSE:
            self.team.at_work &= self.addresses()
        futures = self.client.map(perform, spans, key=type(kernel).__name__, retries=0, **given)
        waiting = dict(zip(futures, range(len(tasks)), strict=True))
        del futures
        try:
            while waiting:
                for future in self._done(waiting):
                    at = waiting.pop(future)
                    address, results = future.result()
                    if results is None:  # a worker that came later, and is not as the others are
                        self.refused.add(address)
                        others = [*self.addresses() - self.refused]
                        again = self.client.submit(perform, spans[at], workers=others, **given)
                        waiting[again] = at
                        continue
                    self.team.at_work.add(address)
                    self.team.tasks[address] += 1
                    yield at, results
        except dask.KilledWorker as error:
            text = (
                "rows {first:,} to {last:,}: {deaths} workers died while processing them, perhaps "
                "for lack of memory: {remedy}"
            )
            facts = {"first": tasks[at][0].start + 1, "last": tasks[at][-1].stop}
            facts["deaths"] = error.allowed_failures + 1
            remedy = f"use fewer workers ({option('workers')})", "use a machine with more memory"
            problem = Problem("cluster-rows-kill-workers", text, remedy=remedy, **facts)
            raise ResourceError(problem) from None
        except dask.CancelledError:
            text, again = "the scheduler stopped: {remedy}", _again("start it again")
            raise ResourceError(_wrong("cluster-scheduler-gone", text, again)) from None
        finally:
            if waiting:
                with suppress(Exception):  # a scheduler that is gone has nothing to cancel
                    self.client.cancel([*waiting])

    def addresses(self) -> set[str]:
        """Return where workers are now, which are counted."""
        found, self.looked = self.client.scheduler_info(n_workers=-1)["workers"], monotonic()
        self.workers = sum(one["nthreads"] for one in found.values()) or self.workers
        return set(found)

    def _done(self, waiting: Mapping[Any, int]) -> set[Any]:
        alone = None
        while True:
            with suppress(TimeoutError), self.client.as_current():
                done = import_dask().wait([*waiting], PAUSE, return_when="FIRST_COMPLETED").done
                return set(done)
            if self.addresses() - self.refused:
                alone = None
                continue
            alone = alone or monotonic()
            if monotonic() - alone > PATIENCE:
                text = "all workers stopped, and no new one joined within {seconds} s: {remedy}"
                seconds, again = int(PATIENCE), _again("start workers")
                raise ResourceError(_wrong("cluster-workers-gone", text, again, seconds=seconds))


def perform(
    spans: list[tuple[int, int]], *, kernel: bytes, flush: bool, home: "Home | None"
) -> tuple[str, list[Any] | None]:
    """Run a task in a worker; return its address, and the results, None if it is not fit."""
    address = str(import_module("distributed").get_worker().address)
    if home is not None and not is_fit(home):
        return address, None
    prepare_process()
    forget_removed()
    task = [slice(*span) for span in spans]

    def stopped() -> bool:  # nobody waits for the run's tasks any more
        return home is not None and not Path(home.token).exists()

    return address, run_task(unpickled(kernel), task, flush=flush, stopped=stopped)


@cache
def prepare_process() -> None:
    """Let this process, from now on, work as the driver's does; to ask again would cost 2 ms.

    Linear algebra has one thread. Workers that Dask has started return all memory to the system at
    once: undo that, unless the user set how memory is kept.
    """
    threadpool_limits(limits=1)
    keep_freed_memory()


def _wrong(code: str, text: str, remedy: object, **facts: Any) -> Problem:
    named = option("scheduler")
    return Problem(code, f"{{option}}: {text}", option=named, remedy=remedy, **facts)


def _again(first: str) -> str:
    return f"{first}; with a run directory, continue with {option('resume', value=True)}"


# Which schedulers and workers may be used. A client of a cluster can run code in it and see
# the data, so addresses are of this host, or encrypted. Workers must give the bytes that this
# process gives: the same versions, and arithmetic that agrees to the last digit.

_ENCRYPTED = {"tls", "wss"}
_WITHIN = {"inproc", "unix"}  # cannot leave this host
CERTIFICATES = [f"distributed.comm.tls.{name}" for name in ("ca-file", "client.cert", "client.key")]
_BOOT = Path("/proc/sys/kernel/random/boot_id")  # the same for all processes under one kernel


@dataclass(frozen=True)
class Home:
    """A file of the run, which is there as long as the run is, and what workers must be like."""

    token: str
    facts: tuple[tuple[str, str], ...]


@contextmanager
def home_in(folder: Path) -> Iterator[Home]:
    """Give a file in a folder of the run: a worker that knows its secret sees the folder."""
    token = folder / f"token-{secrets.token_hex(8)}"
    token.write_text(secrets.token_hex(16))
    try:
        yield Home(str(token), tuple(about(str(token)).items()))
    finally:
        token.unlink(missing_ok=True)


def about(token: str) -> dict[str, str]:
    """Return what decides whether a process gives the run's bytes."""
    host = _read(_BOOT) or socket.gethostname()
    return {**own_versions(), "arithmetic": arithmetic(), "host": host, "token": _read(Path(token))}


@cache
def is_fit(home: Home) -> bool:
    """Return whether this process may do tasks of a run."""
    return about(home.token) == dict(home.facts)


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


@cache
def arithmetic() -> str:
    """Return a checksum of some results, whose last digits depend on processor and libraries."""
    draws = np.random.default_rng(0)
    cells = draws.random((64, 20, 37))
    singles = draws.random((257, 41), dtype=np.float32)
    rows = scipy.sparse.csr_array(
        np.where(draws.random((50, 257)) < 0.1, draws.random((50, 257)), 0)
    )
    with threadpool_limits(limits=1):
        grams = cells @ cells.transpose(0, 2, 1) + np.eye(20)
        found = [
            grams,
            np.linalg.solve(grams, np.ones((64, 20, 1))),
            np.einsum("bij,bj->bi", grams, cells[:, :, 0]),
            np.einsum("ij,ij->i", cells[0], cells[0]),
            singles @ singles[:83].T,
            rows @ singles.astype(float),
            rows.astype(np.float32) @ singles,
            np.add.reduceat(singles, [0, 7, 20], axis=1),
            cells.sum(axis=2),
            np.exp(cells) + np.log1p(cells) + np.sqrt(cells) / cells.mean(axis=0),
        ]
    return sha256(b"".join(one.tobytes() for one in found)).hexdigest()


def check_workers(cluster: Cluster, home: Home) -> None:
    """Raise unless all workers see the run's files and give the bytes that this process gives."""
    addresses = cluster.addresses()
    if not addresses:
        text = "the scheduler has no workers: {remedy}"
        raise ResourceError(_wrong("cluster-no-workers", text, "start workers"))
    for address in sorted(addresses):
        check_address(address, what="the worker")
    try:
        answers = cluster.client.run(about, home.token, workers=sorted(addresses))
    except Exception as error:  # of Dask, of the network, or of an import there
        text = "its workers did not answer when asked for their versions: {error}: {remedy}"
        remedy = "start them with cfl installed, where the scheduler can reach them"
        problem = _wrong("cluster-unreachable", text, remedy, error=str(error))
        raise ResourceError(problem) from error
    problems = [_unlike(address, dict(home.facts), answers[address]) for address in answers]
    if any(problems):
        raise UsageError(*filter(None, problems))


def _unlike(address: str, own: Mapping[str, str], found: Mapping[str, str]) -> Problem | None:
    differ = [
        f"{name} {found.get(name)} instead of {own[name]}"
        for name in own_versions()
        if found.get(name) != own[name]
    ]
    if differ:
        code, what, remedy = (
            "versions",
            f"has {', '.join(differ)}",
            "install the same versions there",
        )
    elif found["arithmetic"] != own["arithmetic"]:
        code, what = "arithmetic", "computes numbers with different last digits"
        remedy = "leave this worker out, or use the same kind of processor and libraries everywhere"
    # What one host writes to a mapped file, another sees late or never, even if it has the folder.
    elif (found["host"], found["token"]) != (own["host"], own["token"]):
        code, what = "elsewhere", "is not on this host, or cannot see the run's folder"
        fit = f"{command('fit')} with {option('sample')}, and {command('apply')} on each host"
        remedy = f"use workers of this host, or {fit}"
    else:
        return None
    text = "{address}: this worker {what}: {remedy}"
    return Problem(f"cluster-worker-{code}", text, address=address, what=what, remedy=remedy)


def check_address(address: str, *, what: str = "the scheduler") -> None:
    """Raise if a cluster's address is neither on this host nor encrypted."""
    scheme, host = _parts(address)
    if scheme in _ENCRYPTED:
        config = import_module("dask.config")
        lacking = [key for key in CERTIFICATES if not config.get(key, None)]
        if lacking:
            text = "{address!r} needs certificates: {remedy}"
            remedy = f"set {', '.join(lacking)} in Dask's configuration"
            raise UsageError(_wrong("cluster-certificates", text, remedy, address=address))
        return
    if scheme in _WITHIN:
        return
    try:  # a name may have several addresses
        found = {str(info[4][0]).partition("%")[0] for info in socket.getaddrinfo(host, None)}
    except OSError:
        found = set()
    addresses = [ipaddress.ip_address(one) for one in found]
    local = all(one.is_loopback or str(one) in own_addresses() for one in addresses)
    if not found or not local:
        text = "{what} {address!r} is not on this host: {remedy}"
        why = "without encryption, others on the network could read the data and run code"
        remedy = f"use TLS (tls://HOST:PORT); {why}"
        raise UsageError(_wrong("cluster-not-encrypted", text, remedy, what=what, address=address))


def own_addresses() -> set[str]:
    cards = import_module("psutil").net_if_addrs().values()  # comes with Dask
    kinds = {socket.AF_INET, socket.AF_INET6}
    found = (one.address.partition("%")[0] for ones in cards for one in ones if one.family in kinds)
    return {str(ipaddress.ip_address(address)) for address in found}


def _parts(address: str) -> tuple[str, str]:
    given = address if "://" in address else f"tcp://{address}"
    scheme = given.partition("://")[0].lower()
    if scheme in _WITHIN:
        return scheme, ""
    try:
        parts = urlsplit(given)
        port, host = parts.port, parts.hostname
    except ValueError:
        port, host = None, None
    if scheme not in {"tcp", "ws", *_ENCRYPTED} or not host or port is None:
        text = "{address!r} is not an address: expected {remedy}"
        remedy = "tcp://HOST:PORT or tls://HOST:PORT"
        raise UsageError(_wrong("cluster-address", text, remedy, address=address))
    return scheme, host


# What the dashboard can show: quick to make, which the page is not, and empty without bokeh.
CONTENT, CONTENT_WITHIN = "individual-plots.json", 5.0  # seconds


def checked_link(link: str | None) -> str:
    """Return the link if Dask's page is there; nothing if it is not, as without bokeh."""
    if not link or not link.startswith(("http://", "https://")):
        return ""
    opener = build_opener(ProxyHandler({}))  # a scheduler is reached directly
    page = f"{link.rpartition('/')[0]}/{CONTENT}"
    try:
        with opener.open(page, timeout=CONTENT_WITHIN) as content:
            return link if json.loads(content.read()) else ""
    except (OSError, ValueError, HTTPException):
        return ""


@contextmanager
def local_cluster(workers: int) -> Iterator[Cluster]:
    """Start processes on this machine, each with one thread; all are gone when the block ends.

    They talk by TLS, with keys that only they have: other users of the machine can reach its ports.
    """
    made: dict[str, Any] = {}

    def start() -> None:
        dask = import_dask()
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
            silence_logs=_QUIET,
            preload=["cfl_cli.cluster.quiet"],
        )
        made["client"] = dask.Client(made["cluster"], set_as_default=False)
        made["dashboard"] = checked_link(made["cluster"].dashboard_link)

    try:
        import_dask()
        made["others"] = {one.pid for one in import_module("multiprocessing").active_children()}
        with farewell(lambda: _kill(made)):
            # The helper of `multiprocessing` starts here, because whichever thread starts it hears
            # interrupts from then on, as do its processes. It says nothing at an end that is sudden.
            before = dict(os.environ)
            os.environ["PYTHONWARNINGS"] = "ignore"
            try:
                import_module("multiprocessing.resource_tracker").ensure_running()
            finally:
                os.environ.pop("PYTHONWARNINGS")
                os.environ.update(before)
            _in_background(start)
            yield Cluster(made["client"], made["dashboard"], workers=workers)
    finally:
        _in_background(lambda: _stop(made))


@contextmanager
def running_cluster(address: str, folder: Path) -> Iterator[Cluster]:
    """Use the workers of a scheduler that runs already, if they compute as this process does."""
    made: dict[str, Any] = {}

    def start() -> None:
        dask = import_dask()
        check_address(address)
        try:
            made["client"] = dask.Client(address, set_as_default=False, timeout=CONNECT)
        except (OSError, TimeoutError, ValueError, TypeError) as error:
            text, remedy = (
                "{address} does not answer: {remedy}",
                "start it, or give another address",
            )
            problem = _wrong("cluster-scheduler-silent", text, remedy, address=address)
            raise UsageError(problem) from error
        made["dashboard"] = checked_link(made["client"].dashboard_link)

    try:
        _in_background(start)
        with home_in(folder) as home, farewell(Path(home.token).unlink):
            cluster = Cluster(made["client"], made["dashboard"], home)
            check_workers(cluster, home)
            yield cluster
    finally:
        _in_background(lambda: _stop(made))


def import_dask() -> Any:
    """Return the package that is in an extra, made quiet; raise if it is not installed."""
    try:
        import_module("dask.config").set({"distributed.logging": LOGGING})
        import_module("cryptography")
        return import_module("distributed")
    except ImportError as error:
        text, named = "{option}: Dask is not installed: {remedy}", option("engine", "dask")
        remedy = "`pip install 'cfl-cli[cluster]'`"
        problem = Problem("cluster-not-installed", text, option=named, remedy=remedy)
        raise UsageError(problem) from error


def _in_background(function: Callable[[], None]) -> None:
    done: SimpleQueue[BaseException | None] = SimpleQueue()
    reader = CALLER.get()

    def call() -> None:
        CALLER.set(reader)
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
    if "others" in made:
        _kill(made)
    for thing in (made.get("client"), made.get("cluster")):
        if thing is not None:
            with suppress(Exception):  # of no interest any more
                thing.close(timeout=1)
    if "config" in made:
        made["config"].__exit__(None, None, None)  # as it was before


def _kill(made: Mapping[str, Any]) -> None:
    for nanny in getattr(made.get("cluster"), "workers", {}).values():
        nanny.auto_restart = False  # or another would take its place
    for one in import_module("multiprocessing").active_children():
        if one.pid not in made["others"]:
            with suppress(OSError):
                os.kill(one.pid, signal.SIGKILL)
