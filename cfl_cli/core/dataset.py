"""What is known of a table's rows: their features, and what each cell leaves possible."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask, columns
from cfl_cli.core.draws import shuffled
from cfl_cli.core.exclusions import Mechanism, Shares

LEAST_EXACT = 50  # hidden cells that are exact, at least, for anything to follow from them alone
# How rows are answered: priors and likelihoods of cells, … × K, become answers and confidences.
Rule = Callable[[Floats, Floats], tuple[Ints, Floats]]


@dataclass(frozen=True)
class Known:
    features: Floats  # n × d
    candidates: Mask  # n × ΣK
    blocks: Ints  # the first column of each CF
    mechanisms: tuple[Mechanism, ...]  # how each CF's exclusions arise
    groups: Ints | None = None  # n: rows with the same number belong together; None: none do
    # Per CF, n: which cells are exact and, as the schema says, a random sample; None: unknown.
    sampled: tuple[Mask | None, ...] | None = None
    # Per CF, n: which cells are blocks that values lie in, and were not drawn; None: none are.
    in_blocks: tuple[Mask | None, ...] = ()

    def __len__(self) -> int:
        return len(self.features)

    @cached_property
    def evidence(self) -> Floats | Mask:
        """Return how likely each cell is under each value, n × ΣK, up to a factor of its own."""
        if all(mechanism.rates is None for mechanism in self.mechanisms):
            return self.candidates
        cells = zip(self.mechanisms, self.columns, strict=True)
        return np.hstack([how.likelihood(self.candidates[:, block]) for how, block in cells])

    @cached_property
    def columns(self) -> list[slice]:
        return columns(self.blocks, self.candidates.shape[1])

    def some(self, rows: Ints) -> Self:
        return replace(
            self,
            features=self.features[rows],
            candidates=self.candidates[rows],
            groups=self.groups_of(rows),
            sampled=self.sampled
            and tuple(None if exact is None else exact[rows] for exact in self.sampled),
            in_blocks=tuple(None if cells is None else cells[rows] for cells in self.in_blocks),
        )

    @cached_property
    def drawn(self) -> Mask:
        """Return the candidates, n × ΣK, with cells that are blocks as empty ones.

        How a block came about is not known, so that nothing unbiased can be said of it.
        """
        if not any(cells is not None for cells in self.in_blocks):
            return self.candidates
        drawn = np.array(self.candidates)
        for block, cells in zip(self.columns, self.in_blocks, strict=True):
            if cells is not None:
                drawn[cells, block] = True
        return drawn

    def groups_of(self, rows: Ints) -> Ints | None:
        return None if self.groups is None else self.groups[rows]

    def shuffled(self, seed: int) -> Self:
        mixed: Any = shuffled(self.candidates, self.blocks, seed)
        return replace(self, candidates=mixed)

    def shares(self, rows: Mask | slice = slice(None)) -> list[Floats]:
        """Return the estimated domain shares of each CF; even ones where no cell says anything."""
        return [shares.prior for shares in self._shares(rows)]

    def clear_shares(self, rows: Mask | slice = slice(None)) -> list[Floats]:
        """Return the same, but no further from even ones than is told from chance."""
        return [shares.clear for shares in self._shares(rows)]

    def _shares(self, rows: Mask | slice) -> list[Shares]:
        cells = self.drawn[rows]
        return [
            mechanism.shares(cells[:, block])
            or Shares(np.full(mechanism.size, 1 / mechanism.size), np.zeros(mechanism.size))
            for mechanism, block in zip(self.mechanisms, self.columns, strict=True)
        ]


def all_but(rows: Ints, n: int) -> Mask:
    seen = np.ones(n, dtype=bool)
    seen[rows] = False
    return seen
