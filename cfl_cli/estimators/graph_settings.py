"""What the settings mean for the graph: what they fix, and what they leave to hidden cells."""

from cfl_cli.core.kinds import AUTO
from cfl_cli.core.settings import DEFAULT_GAMMA, Settings

LONGEST = 400  # steps of propagation, where hidden cells choose how many


def chooses_steps(settings: Settings) -> bool:
    """Return whether each CF stops after as many steps as its hidden cells favor."""
    return settings.iterations == AUTO


def chooses_round(settings: Settings) -> bool:
    """Return whether each CF takes the round that its hidden cells favor; so it does in `auto`."""
    return AUTO in (settings.gamma, settings.method)


def chooses(settings: Settings) -> bool:
    """Return whether hidden cells choose anything; a γ that nobody gave may be left to them."""
    return chooses_steps(settings) or chooses_round(settings) or settings.gamma is None


def most_steps(settings: Settings, longest: int = LONGEST) -> int:
    """Return the number of steps that is given, or else the most to choose from."""
    return longest if settings.iterations == AUTO else settings.iterations


def gamma(settings: Settings) -> float:
    """Return how much the first round's confidences count in the second; 0: there is none."""
    if settings.gamma is None or settings.gamma == AUTO:
        return DEFAULT_GAMMA
    return settings.gamma
