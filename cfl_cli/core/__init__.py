"""What everybody may know: arrays, blocks of CFs, cells and what they say, settings, messages.

Words that the package uses everywhere, beside those of the method (OF, CF, candidate, confidence):

    evidence   how likely a row's cell is under each value, up to a factor; under uniform
               exclusions 1 for a candidate and 0 otherwise
    prior      what is said of a row's CF without its own cell; with the cell applied, a posterior
    mass       how much of a prior a cell leaves: Σ of prior · evidence over a CF's values
    block      the columns of one CF in an array that has a column for every value, n × ΣK
    fold       rows whose cells are hidden together, to see how well they are predicted
    part       one of the answers that a blend is made of; also rows that are worked on at once
    share      how common a value is, from 0 to 1; in all, a CF's domain shares
    rates      K × K: how probably a value's exclusion is each of the others; its mechanism
"""

# Not from `typing`, which takes a while: `cfl` cannot listen to Ctrl-C before it has this.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Any, ClassVar


class Shown:
    """A result that is printed as the command line would show it."""

    rendered: "ClassVar[Callable[[Shown, str], Any]]"  # in a format, such as table or html

    def __str__(self) -> str:
        return str(Shown.rendered(self, "table")).rstrip("\n")

    def _repr_html_(self) -> str:
        return str(Shown.rendered(self, "html"))


class Watched:
    """Where a call from Python shows its progress: on a terminal, in a notebook, or nowhere."""

    display: "ClassVar[Callable[[], AbstractContextManager[Any]]]"
