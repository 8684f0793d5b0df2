"""What a CF's accuracy rests on, or why it is not known.

A figure whose assumption the cells themselves refute is worse than none: it is left out.
"""

from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.quick import dataclass
from cfl_cli.core.wording import STORED, option
from cfl_cli.trust.heldout import HeldOut

UNIFORM, MECHANISM, EXACT_CELLS, AUDIT, NONE = (
    "uniform",
    "mechanism",
    "exact-cells",
    "audit",
    "none",
)
NOT_RANDOM = "exclusions are not random (audit it)"
NOT_HIDDEN = f"no cells were hidden ({option('folds', 0, to=STORED)})"
NOT_DISTINGUISHED = "cells of its mechanism do not distinguish the values"
NOTHING_SAID = "no hidden cell says anything"
# What each accuracy needs to be true, as a clause after "if".
ASSUMPTIONS = {
    UNIFORM: "every wrong value is as likely to be ruled out as any other (uniform)",
    MECHANISM: "exclusions came about as the schema says (mechanism)",
    EXACT_CELLS: "exact cells are a random sample, as the schema says (exact cells)",
}


@dataclass(frozen=True)
class Basis:
    """What an accuracy rests on; with `NONE`, why there is none."""

    name: str
    reason: str | None = None

    @property
    def refuted(self) -> bool:
        """Return whether cells show that what the accuracy would rest on is not so."""
        return self.reason == NOT_RANDOM

    @property
    def known(self) -> bool:
        """Return whether there is an accuracy."""
        return self.name != NONE


def basis(mechanism: Mechanism, judged: HeldOut | None, *, hidden: bool, refuted: bool) -> Basis:
    """Return what the accuracy of a CF rests on.

    `hidden` says whether any cells were hidden, `refuted` whether cells cannot have come about as
    the mechanism says.
    """
    if refuted or (judged is not None and judged.impossible):
        return Basis(NONE, NOT_RANDOM)
    if not hidden:
        return Basis(NONE, NOT_HIDDEN)
    if not mechanism.distinguishes_values:
        return Basis(NONE, NOT_DISTINGUISHED)
    if judged is None:
        return Basis(NONE, NOTHING_SAID)
    return Basis(UNIFORM if mechanism.rates is None else MECHANISM)
