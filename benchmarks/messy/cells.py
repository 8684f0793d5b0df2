"""Cells as programs and people write them: numbers, dates, answers, lists."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import numpy as np


class Dice:
    """Draws cells; the same seed draws the same."""

    def __init__(self, rows: int, seed: int) -> None:
        self.rows = rows
        self.rng = np.random.default_rng(seed)

    def pick(self, values: Sequence[str], shares: Sequence[float] | None = None) -> list[str]:
        """Return a value for every row; every value is there if the rows suffice."""
        weights = None if shares is None else np.array(shares) / sum(shares)
        chosen = self.rng.choice(len(values), self.rows, p=weights)
        if len(values) <= self.rows:
            where = self.rng.permutation(self.rows)[: len(values)]
            chosen[where] = range(len(values))
        return [values[place] for place in chosen]

    def normal(self, mean: float, spread: float) -> list[float]:
        return [float(number) for number in self.rng.normal(mean, spread, self.rows)]

    def skewed(self, middle: float, spread: float = 0.6) -> list[float]:
        return [float(middle * number) for number in self.rng.lognormal(0, spread, self.rows)]

    def whole(self, low: int, high: int) -> list[int]:
        return [int(number) for number in self.rng.integers(low, high + 1, self.rows)]

    def different(self, below: int) -> list[int]:
        return [int(number) for number in self.rng.choice(below, self.rows, replace=False)]

    def days(self, first: str, last: str) -> list[datetime]:
        """Return days between two; one is behind the twelfth of its month."""
        start, end = datetime.fromisoformat(first), datetime.fromisoformat(last)
        ahead = self.rng.integers(0, (end - start).days + 1, self.rows)
        days = [start + timedelta(days=int(number)) for number in ahead]
        return [*days[:-1], days[-1].replace(day=25)]

    def moments(self, first: str, last: str, *, seconds: bool = True) -> list[datetime]:
        times = self.rng.integers(0, 86400, self.rows)
        step = 1 if seconds else 60
        return [
            day + timedelta(seconds=int(second) // step * step)
            for day, second in zip(self.days(first, last), times, strict=True)
        ]

    def sprinkled(self, cells: Sequence[str], codes: Mapping[str, float]) -> tuple[str, ...]:
        """Return the cells with each code in this share of them, and in two at least."""
        changed = list(cells)
        free = list(self.rng.permutation(self.rows))
        for code, share in codes.items():
            for _ in range(max(2, round(share * self.rows))):
                changed[free.pop()] = code
        return tuple(changed)

    def once(self, cells: Sequence[str], code: str) -> tuple[str, ...]:
        changed = list(cells)
        changed[int(self.rng.integers(self.rows))] = code
        return tuple(changed)

    def lists(self, values: Sequence[str], joint: str, most: int) -> list[str]:
        """Return cells with one or several different values."""
        cells = []
        for _ in range(self.rows):
            size = int(self.rng.integers(1, most + 1))
            chosen = [int(place) for place in self.rng.permutation(len(values))[:size]]
            cells.append(joint.join(values[p] for p in chosen))
        for place, value in enumerate(values):
            if value not in joint.join(cells).split(joint):
                cells[place] = value
        return cells

    def marked(
        self, cells: Sequence[str], mark: str, values: Sequence[str], share: float
    ) -> list[str]:
        """Return the cells with exact ones among them: a mark, and one value behind it."""
        changed = list(cells)
        some = self.rng.permutation(self.rows)[: max(2 * len(values), round(share * self.rows))]
        for number, row in enumerate(some):
            changed[row] = mark + values[number % len(values)]
        return changed

    def texts(self, patterns: Sequence[str], **words: Sequence[str]) -> list[str]:
        return [
            self._one(patterns).format(**{name: self._one(those) for name, those in words.items()})
            for _ in range(self.rows)
        ]

    def _one(self, values: Sequence[str]) -> str:
        return values[int(self.rng.integers(len(values)))]


def written(
    numbers: Sequence[float], digits: int, decimal: str = ".", thousands: str = ""
) -> list[str]:
    plain = [f"{number:,.{digits}f}" for number in numbers]
    return [
        text.replace(",", "\0").replace(".", decimal).replace("\0", thousands) for text in plain
    ]


def dated(days: Sequence[datetime], form: str) -> list[str]:
    """Return dates as text; `%-d` is the day without a zero."""
    return [day.strftime(form) for day in days]
