"""What the settings say of how an estimator is run."""

from cfl_cli.core.settings import DEFAULT_GAMMA, Settings
from cfl_cli.estimators.interface import Method


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
