"""Things that show themselves: as a table when they are printed, and as HTML in a notebook.

How that looks is known to the last room alone, which the door names here before anything is shown.
"""

TYPE_CHECKING = False  # see the door
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ClassVar


class Shown:
    """A result that is printed as the command line would show it."""

    rendered: "ClassVar[Callable[[Shown, str], str]]"  # in a format: table or html

    def __str__(self) -> str:
        """Return the table that a terminal shows."""
        return Shown.rendered(self, "table").rstrip("\n")

    def _repr_html_(self) -> str:
        """Return the same for a notebook."""
        return Shown.rendered(self, "html")
