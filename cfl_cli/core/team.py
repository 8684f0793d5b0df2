"""Who works for a run beside this process, as progress shows it."""

from collections import Counter
from dataclasses import field

from cfl_cli.core.messages import count
from cfl_cli.core.quick import dataclass

FEW = 6  # workers that are shown one by one


@dataclass
class Team:
    """The workers of a run, by whatever names them; one thread notes, others look."""

    at_work: set[str] = field(default_factory=set)  # those that have a task, or had one last
    tasks: Counter[str] = field(default_factory=Counter)  # that each has done

    def done(self) -> list[int]:
        """Return how many tasks each that is at work has done."""
        return [self.tasks[name] for name in sorted(self.at_work.copy())]

    def in_words(self) -> str:
        """Return how many there are, and what each has done; nothing before there are any."""
        done = self.done()
        if not done:
            return ""
        each = ", ".join(f"{tasks:,}" for tasks in done)
        if len(done) > FEW:
            each = f"{min(done):,} to {max(done):,} each"
        return f"{count(len(done), 'worker')}, tasks done: {each}"
