"""What the settings say of how an estimator is run, and which rows are hidden to judge it."""

from cfl_cli.core import draws
from cfl_cli.core.arrays import Ints
from cfl_cli.core.known import LARGE
from cfl_cli.core.settings import DEFAULT_GAMMA, Settings
from cfl_cli.estimators.interface import Method

PARTS = 5  # folds, where their number is not given; of a large table, one of them is enough


def method(settings: Settings) -> Method:
    """Return what the settings say of the method."""
    return Method(
        settings.method,
        k=settings.k,
        iterations=None if settings.iterations == "auto" else settings.iterations,
        gamma=DEFAULT_GAMMA if settings.gamma == "auto" else settings.gamma,
        choose_round=settings.gamma == "auto",
        ridge=settings.ridge,
        seed=settings.seed,
        correction=settings.correction,
        exact=settings.neighbors == "exact",
        budget=settings.budget,
    )


def hidden_together(n: int, settings: Settings) -> list[Ints]:
    """Return the rows that are hidden together, fold by fold."""
    if settings.folds != "auto":
        return draws.folds(n, settings.folds, settings.seed)
    dealt = draws.folds(n, PARTS, settings.seed)
    return dealt[:1] if n > LARGE else dealt
