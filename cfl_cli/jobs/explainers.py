"""What explains the rows of a result, if somebody asks; how is imported only then."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from cfl_cli.core.quick import dataclass
from cfl_cli.core.settings import Settings
from cfl_cli.jobs.kept import Kept
from cfl_cli.jobs.ran import Ran

if TYPE_CHECKING:
    from cfl_cli.jobs.explanation import Explanation


@dataclass(frozen=True, eq=False)
class OfTable:
    """Explains rows of a table that `impute` filled in: the graph's walk is repeated for each."""

    ran: Ran

    def __call__(self, row: int, cf: str | Sequence[str] | None) -> "Explanation":
        """Return why a row is answered so."""
        from cfl_cli.jobs.explain import explain_row  # noqa: PLC0415 — most results need none
        from cfl_cli.jobs.explain_new import chosen_cfs  # noqa: PLC0415 — the same

        cfs = [block.name for block in self.ran.encoded.blocks]
        return explain_row(self.ran, row, cfs=chosen_cfs(cf, cfs, self.ran.name))


@dataclass(frozen=True, eq=False)
class OfNewRows:
    """Explains rows that a model has answered."""

    kept: Kept
    cells: pl.DataFrame  # of the columns that are used
    settings: Settings
    name: str
    jobs: int | None

    def __call__(self, row: int, cf: str | Sequence[str] | None) -> "Explanation":
        """Return why a row is answered so."""
        from cfl_cli.jobs import explain_new as new  # noqa: PLC0415 — as above

        row = new.check_row(row, self.cells.height, self.name)
        return new.explain_new(
            self.kept,
            self.cells[row - 1 : row],
            self.settings,
            row=row,
            cfs=new.chosen_cfs(cf, [*self.kept.encoding.domains], self.name),
            name=self.name,
            jobs=self.jobs,
        )
