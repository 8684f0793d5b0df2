"""Whether answers are clearly better than the commonest candidate: a test by all that priors say.

The unbiased `gain` looks at what a cell says of the two answers alone, and is noisy where rows are
few or values many. So hidden cells are asked how much of the prior p is well founded, the rest
being no better than the domain shares r:

    q_λ = λ p + (1−λ) r        gain(λ) = λ G_p + (1−λ) G_r        G_q = mean Σ_v q(v) D(v)

D(v) is how much more probably the answer is v than the commonest candidate is, where v is true.
Answers gain anything once λ exceeds λ* = −G_r / (G_p − G_r), and cells show that it does if their
likelihood still rises there. With L(v) the likelihood of a row's cell,

    u = Σ_v (p(v) − r(v)) L(v) / Σ_v q_λ*(v) L(v)        evidence = Σ u / √(Σ u²)

which is about normal with deviation 1 if λ = λ*. The shares of a row must come from cells of other
rows, as its prior does: see `shares_of_others`. `benchmarks/field/flags.py` measures the test: of
ten statistics that were tried there, the gain's own interval and learned mixtures of them among
these, none missed fewer of the CFs that are truly better. It was settled for the graph: methods
that choose by hidden cells when to stop lean on these, and noise passes more often there.
"""

from typing import Self

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.log_score import LEAST_MASS
from cfl_cli.core.quick import dataclass

ONE_SIDED = 1.645  # standard errors, for 95 %, where only too high an estimate would do harm
PARTS = 5  # of the hidden rows, each with shares from the cells of the others


@dataclass(frozen=True, eq=False)
class Footing:
    """What each of m hidden rows says of how well founded its prior is."""

    mass: Floats  # of the prior, by the row's cell: Σ p L
    shares_mass: Floats
    gain: Floats  # if the prior were right: Σ p D
    shares_gain: Floats  # if the shares were

    @classmethod
    def of(cls, prior: Floats, shares: Floats, likelihood: Floats, more: Floats) -> Self:
        """Return it for rows with these priors, shares, cells and D, all b × K."""
        return cls(
            *(
                np.einsum("ij,ij->i", one, other)
                for other in (likelihood, more)
                for one in (prior, shares)
            )
        )

    @classmethod
    def joined(cls, parts: list[Self]) -> Self:
        """Return that of all parts' rows."""
        names = ("mass", "shares_mass", "gain", "shares_gain")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    @property
    def least(self) -> float:
        """Return λ*, how much of the prior must be well founded for answers to gain anything."""
        gain, loss = float(self.gain.mean()), -float(self.shares_gain.mean())
        return min(max(loss / (gain + loss), 0.0), 1.0) if gain + loss > 0 else 1.0

    @property
    def evidence(self) -> float:
        """Return by how many standard errors hidden cells show that more than that is."""
        mixed = self.least * self.mass + (1 - self.least) * self.shares_mass
        slopes = (self.mass - self.shares_mass) / np.maximum(mixed, LEAST_MASS)
        squares = float(slopes @ slopes)
        return float(slopes.sum() / np.sqrt(squares)) if squares > 0 else 0.0


def shares_of_others(cells: Mask, mechanism: Mechanism) -> tuple[Floats, Ints] | None:
    """Return shares, d × K, and for each of m hidden rows which of them comes from other rows.

    Hidden rows stand fold by fold, so that the rows of a part were mostly hidden together. None is
    returned if the cells of a part's others say nothing.
    """
    part = np.arange(len(cells)) * PARTS // max(len(cells), 1)
    shares = [mechanism.shares(cells[part != number]) for number in range(PARTS)]
    priors = [others.prior for others in shares if others is not None]
    return (np.array(priors), part) if len(priors) == PARTS else None
