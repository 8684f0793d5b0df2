"""An engine whose kernels are computed as another host would: from parcels that have travelled."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from cfl_cli.cluster.workers import Remembered, seal
from cfl_cli.core.parallel import Portable, Workers, shifted, slices
from cfl_cli.large.stored import Task, Threads


class ByParcels(Threads):
    """Runs tasks as another host would, one after the other."""

    def __init__(self, pool: Workers, folder: str) -> None:
        super().__init__(pool)
        self.way = Elsewhere(folder)

    def run(
        self,
        kernel: Any,
        tasks: Sequence[Task],
        *,
        flush: bool,  # noqa: ARG002 — as all have it
    ) -> Iterator[tuple[int, list[Any]]]:
        """Yield the number of a task and its results."""
        for at, task in enumerate(tasks):
            first = task[0].start
            compute = self.way.sent(kernel.parcel(slice(first, task[-1].stop)))
            yield at, [kernel.place(part, compute(shifted(part, -first))) for part in task]


class Elsewhere(Workers):
    """Threads for what stays at home; parcels of a few slices each for what can travel."""

    def __init__(self, folder: str, at_once: int = 3) -> None:
        super().__init__(1)
        self.folder, self.slices = folder, at_once
        self.travelled: dict[str, int] = {}  # how often, by the names of kernels
        self.worker, self.stage = Remembered(), 0

    def rows(
        self,
        name: str,
        kernel: Callable[[slice], Any],
        total: int,
        *,
        at_once: int,
        marked: bool = True,
    ) -> Iterator[tuple[slice, Any]]:
        """Yield slices and what the kernel returns."""
        if not isinstance(kernel, Portable):
            yield from super().rows(name, kernel, total, at_once=at_once, marked=marked)
            return
        self.stage += 1
        for rows in slices(total, at_once * self.slices):
            starts = range(rows.start, rows.stop, at_once)
            parts = [slice(at, min(at + at_once, rows.stop)) for at in starts]
            compute = self.sent(kernel.parcel(rows))
            for part in parts:
                yield part, kernel.place(part, compute(shifted(part, -rows.start)))
            kind = type(kernel).__name__
            self.travelled[kind] = self.travelled.get(kind, 0) + 1

    def sent(self, parcel: Callable[[slice], Any]) -> Any:
        """Return a parcel as a worker on another host has it."""
        sealed = seal(parcel, {})
        for key in self.worker.lacks(self.stage, [*sealed.lasting]):
            self._deliver(key, seal(sealed.lasting[key].make()))
        self._deliver("parcel", sealed)
        return self.worker.take("parcel")

    def _deliver(self, key: str, sealed: Any) -> None:
        for at, chunk in sealed.chunks():
            self.worker.receive(key, sealed.sizes, at, chunk, self.folder)
