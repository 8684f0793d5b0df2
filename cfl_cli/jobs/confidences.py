"""Confidences as users hold them: for each CF a table of the kind that was given."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cfl_cli.core.arrays import Floats
from cfl_cli.core.messages import count, did_you_mean
from cfl_cli.tables import frames


class Confidences(Mapping[str, Any]):
    """By CF, a table with a row for each row and a column for each value, in the domain's order.

    A table is made when it is first asked for. `arrays` has the same numbers by CF, n × K, without
    making one.
    """

    def __init__(
        self, arrays: Mapping[str, Floats], domains: Mapping[str, Sequence[str]], *, like: Any
    ) -> None:
        """Keep the confidences, n × K each; tables are of the kind of `like`, with its index."""
        self.arrays = dict(arrays)
        self._domains, self._like = domains, frames.bare(like)
        self._made: dict[str, Any] = {}

    def __getitem__(self, cf: str) -> Any:
        """Return the confidences of a CF as a table."""
        if cf not in self.arrays:
            raise KeyError(f"no CF {cf!r}{did_you_mean(str(cf), self.arrays)}")
        if cf not in self._made:
            self._made[cf] = frames.of_array(self.arrays[cf], self._domains[cf], like=self._like)
        return self._made[cf]

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the CFs."""
        return iter(self.arrays)

    def __len__(self) -> int:
        """Return how many CFs there are."""
        return len(self.arrays)

    def __repr__(self) -> str:
        """Return the CFs, and how many values each has."""
        sizes = (f"{cf}: {count(array.shape[1], 'value')}" for cf, array in self.arrays.items())
        return f"Confidences({', '.join(sizes)})"
