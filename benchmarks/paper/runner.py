"""All tasks, several at once, each on a core of its own, with news of how long it takes."""

import multiprocessing
import signal
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.paper.plan import Task
from benchmarks.paper.store import Store
from benchmarks.paper.work import do


@dataclass
class Clock:
    """Foresees how long tasks take by those of their kind that are done."""

    jobs: int
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    done: Counter[str] = field(default_factory=Counter)

    def note(self, kind: str, seconds: float) -> None:
        self.seconds[kind] += seconds
        self.done[kind] += 1

    def left(self, kinds: Sequence[str]) -> float:
        """Return the seconds that tasks of these kinds will take; unknown kinds count as usual."""
        usual = sum(self.seconds.values()) / max(self.done.total(), 1)
        known = (
            self.seconds[kind] / self.done[kind] if self.done[kind] else usual for kind in kinds
        )
        return sum(known) / self.jobs


def run(stages: Sequence[Sequence[Task]], store: Store, data: Path | None, *, jobs: int) -> int:
    """Do what is not yet done, stage after stage; return how many tasks that were.

    An interrupt ends the workers at once: what is half done leaves nothing behind.
    """
    clock = Clock(jobs)
    todo: list[list[Task]] = []
    for stage in stages:
        todo.append([])
        for task in stage:
            facts = store.facts(task)
            if facts is None:
                todo[-1].append(task)
            else:
                clock.note(task.kind, facts["seconds"])
    total = sum(map(len, todo))
    left = Counter(task.kind for stage in todo for task in stage)
    if not total:
        return 0
    # Spawned, because a fork would copy the threads of numeric libraries in whatever state.
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=spawned, initializer=heedless) as pool:
        try:
            for stage in todo:
                futures = {pool.submit(do, task, store, data): task for task in stage}
                for future in as_completed(futures):
                    task, seconds = futures[future], future.result()
                    clock.note(task.kind, seconds)
                    left[task.kind] -= 1
                    number = total - left.total()
                    minutes = clock.left(list(left.elements())) / 60
                    say(
                        f"{number} of {total}: {task.name}, {seconds:.1f} s; "
                        f"about {minutes:.0f} min left"
                    )
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                child.terminate()
            raise
    return total


def heedless() -> None:
    """Leave interrupts to the parent, which ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)
