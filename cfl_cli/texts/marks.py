"""Beginnings that mark a cell as exact: `=flu`, `gesichert: Grippe`."""

import re
from collections.abc import Collection

from cfl_cli.core.quick import dataclass
from cfl_cli.texts.tally import BLANKS, Tally

_MARK = re.compile(
    r"(?P<mark>==?|!|\+|[^\W\d_][^\d:=;,|]{0,29}(?::|=))\s*(?P<value>\S.*)", re.DOTALL
)
KNOWN = 0.9  # of the cells with the mark that hold a known value behind it
VALUES = 3  # different ones behind a mark of letters
SIGN_VALUES = 1  # and behind a sign


@dataclass(frozen=True)
class Mark:
    """What a cell starts with if it says what the value is."""

    text: str
    cells: int
    example: str
    values: tuple[str, ...]  # what stands behind it

    @property
    def sure(self) -> bool:
        """Return whether it can hardly be otherwise."""
        return self.text == "="


def exact_mark(tally: Tally, parts: Collection[str]) -> Mark | None:
    """Return the mark of cells that are a known value behind it, None if there is none.

    `parts` are the values that stand in other cells, or parts of them.
    """
    marked: dict[str, dict[str, int]] = {}
    for text, count in tally:
        if (match := _MARK.fullmatch(text)) is not None:
            marked.setdefault(match["mark"], {})[text] = count
    best, parts = None, frozenset(parts)
    for mark, cells in marked.items():
        behind = {text: text.removeprefix(mark).strip(BLANKS) for text in cells}
        known = {rest for rest in behind.values() if rest in parts and not rest.startswith(mark)}
        fits = sum(n for text, n in cells.items() if behind[text] in known)
        total = sum(cells.values())
        fewest = SIGN_VALUES if mark == "=" else VALUES
        if len(known) < fewest or fits < KNOWN * total:
            continue
        one = Mark(mark, total, next(iter(cells)), tuple(dict.fromkeys(behind.values())))
        if best is None or one.cells > best.cells:
            best = one
    return best
