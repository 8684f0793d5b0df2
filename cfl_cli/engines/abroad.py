"""The tasks of one stage for workers on other hosts: parcels go out, and what comes back is placed.

Home is the host of the command, whose files are complete: what a worker elsewhere has computed
counts once it is written here.
"""

import asyncio
import secrets
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Protocol

from cfl_cli.core.portable import Portable, shifted
from cfl_cli.engines import on_workers
from cfl_cli.engines.maps import unpacked
from cfl_cli.engines.parcels import CHUNK, Sealed, seal, total
from cfl_cli.engines.stored import Task, flush_maps, plain

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
