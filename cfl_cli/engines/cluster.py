"""Dask runs the tasks: in processes of this machine, or wherever a scheduler has workers.

Dask starts the workers, replaces those that die, finds them and carries messages. Tasks are handed
to workers by the driver itself, one at a time to each: that costs it a millisecond, where Dask's
own scheduling would cost seven. A task whose worker dies goes to another one.
"""

import asyncio
import os
import secrets
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from time import monotonic
from typing import Any

import numpy.typing as npt

from cfl_cli.core.leaving import farewell
from cfl_cli.core.parallel import Workers, interrupts_wait
from cfl_cli.core.portable import Portable
from cfl_cli.core.quick import dataclass
from cfl_cli.core.team import Team
from cfl_cli.core.wording import caller, option, speak_to
from cfl_cli.engines import on_workers
from cfl_cli.engines.abroad import Abroad
from cfl_cli.engines.dashboard import checked_link
from cfl_cli.engines.maps import packed
from cfl_cli.engines.scheduler import check_address, check_workers, is_home, token_in
from cfl_cli.engines.shift import PATIENCE, Shift
from cfl_cli.engines.stored import Executor, Kernel, Task, Threads, flush_maps
from cfl_cli.errors import ResourceError, UsageError

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
            preload=["cfl_cli.engines.quiet"],
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
