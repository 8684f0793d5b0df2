"""The tasks of one stage, handed to the workers of a cluster, one at a time to each.

A task whose worker dies goes to another one; one that kills three ends the run.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from queue import SimpleQueue
from typing import Any, Protocol

from cfl_cli.core.messages import count
from cfl_cli.core.wording import option
from cfl_cli.engines import on_workers
from cfl_cli.engines.maps import unpacked
from cfl_cli.engines.stored import Task
from cfl_cli.errors import ResourceError

DEATHS = 3  # of workers, that a task may cause
PATIENCE = 60.0  # seconds to wait for a worker
PAUSE = 0.5  # seconds between looks for new ones


class Workforce(Protocol):
    """The workers, by their addresses."""

    run_id: str
    workers: int  # how many there should be
    lost: set[str]  # those that died, which the scheduler may not know yet

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
        self, cluster: Workforce, kernel: bytes, tasks: Sequence[Task], *, flush: bool
    ) -> None:
        self.cluster, self.kernel, self.tasks, self.flush = cluster, kernel, tasks, flush
        self.done: SimpleQueue[tuple[int, list[Any], BaseException | None]] = SimpleQueue()
        self.left = len(tasks)
        self.waiting = deque(range(len(tasks)))
        self.deaths = [0] * len(tasks)
        self.busy: dict[asyncio.Task[bool], str] = {}

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
            if self.waiting and len(self.busy) < self.cluster.workers:
                await self._engage()

    async def _wait(self) -> None:
        """Return when a worker has nothing more to do, or after a while if some are missing."""
        full = len(self.busy) >= self.cluster.workers or not self.waiting
        ended, _ = await asyncio.wait(
            self.busy, timeout=None if full else PAUSE, return_when="FIRST_COMPLETED"
        )
        for one in ended:
            address = self.busy.pop(one)
            if not one.result():
                self.cluster.lost.add(address)

    async def _engage(self) -> None:
        """Let every worker that has nothing to do take tasks."""
        known = set(await self.cluster.addresses()) - self.cluster.lost
        if len(known) < self.cluster.workers:
            known = set(await self.cluster.addresses(newly=True)) - self.cluster.lost
        for address in sorted(known - set(self.busy.values()))[: len(self.waiting)]:
            self.busy[asyncio.ensure_future(self._serve(address))] = address

    async def _serve(self, address: str) -> bool:
        """Give tasks to a worker while there are any; return False if it dies."""
        while self.waiting:
            at = self.waiting.popleft()
            task = [(part.start, part.stop) for part in self.tasks[at]]
            try:
                content = await self.cluster.ask(
                    address,
                    on_workers.run,
                    self.cluster.run_id,
                    self.kernel,
                    task,
                    is_flushed=self.flush,
                )
            except OSError:
                self.deaths[at] += 1
                if self.deaths[at] >= DEATHS:
                    raise ResourceError(_deadly(task)) from None
                self.waiting.appendleft(at)
                return False
            results, error = unpacked(content)
            self.left -= 1
            self.done.put((at, results, error))
        return True


def _deadly(task: Sequence[tuple[int, int]]) -> str:
    rows = f"rows {task[0][0] + 1:,} to {task[-1][1]:,}"
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
