"""Why a row of a table is answered so by what was learned from that table."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from cfl_cli.core.parallel import Workers
from cfl_cli.core.stages import Progress, Stages
from cfl_cli.estimators.interface import Origin
from cfl_cli.estimators.row_explained import Asked, Features, InTable
from cfl_cli.estimators.row_explained import explain as explain_arrays
from cfl_cli.jobs.arguments import OWN, AnySchema, Arguments
from cfl_cli.jobs.blurred import refuse_blurred
from cfl_cli.jobs.explain_new import blank, check_row, chosen_cfs, explanation, numbers_of
from cfl_cli.jobs.explanation import Explanation
from cfl_cli.jobs.name_row import Named, cells_of, features_of
from cfl_cli.jobs.ran import Ran, Recorded, learn_again
from cfl_cli.tables import frames


def explain(
    frame: Any,
    schema: AnySchema,
    row: int,
    *,
    cf: str | Sequence[str] | None = None,
    name: str = "table",
    progress: Progress = lambda *_: None,
    jobs: int | None = None,
    max_memory: int | None = None,
    key: str | None = None,
    recorded: Recorded | None = None,
    **settings: Any,
) -> Explanation:
    """Return why a row of a table, numbered from 1, is answered as `impute` answers it.

    The other arguments are those of `impute`. `cf` names the CFs to explain, all if it is left out;
    `key` is by what the row was looked for. With the report of the run, `recorded`, nothing that
    the run has chosen need be chosen again by graph.
    """
    own = (*OWN, "row", "cf", "key", "recorded")
    given = Arguments.read(schema, settings, jobs=jobs, max_memory=max_memory, own=own, infers=True)
    asked = chosen_cfs(cf, [*given.schema.complementary], name)
    refuse_blurred(given.schema, given.limits.infer, cfs=asked)
    check_row(row, frames.as_polars(frame, (), name=name).height, name)
    stages = Stages(progress)
    ran = learn_again(
        frame,
        given.schema,
        given.settings,
        given.limits,
        row=row - 1,
        name=name,
        stages=stages,
        recorded=recorded,
    )
    return explain_row(ran, row, cfs=asked, key=key, progress=stages)


def explain_row(
    ran: Ran,
    row: int,
    *,
    cfs: Collection[str] | None = None,
    key: str | None = None,
    progress: Progress = lambda *_: None,
) -> Explanation:
    """Return why a row of the table that a run learned from is answered so."""
    row = check_row(row, len(ran.encoded.features), ran.name)
    encoded = ran.encoded.some(np.array([row - 1]))
    ofs = features_of(encoded)
    table = InTable(
        ran.encoded.known, ran.settings, row - 1, ran.runs, progress, ran.found.get(row - 1)
    )
    features = Features(tuple(ofs.values()), blank(encoded, ran.schema))
    numbers = numbers_of(encoded, cfs)
    with Workers(ran.jobs) as workers:
        runs, takes = explain_arrays(
            ran.settings.method, ran.fitted, encoded.known, Asked(features, workers, table, numbers)
        )
        named = Named(
            encoded,
            runs,
            takes,
            ofs,
            ran.powers,
            ran.as_observed,
            ran.settings.min_confidence,
            ran.settings.method,
            tuple(origin.cautious for origin in ran.origins),
            tuple(map(_steps, ran.origins)),
            ran.encoded.candidates,
            ran.cells,
        )
        return explanation(
            named,
            workers,
            row=row,
            key=key,
            cfs=cfs,
            cells=cells_of(ran.cells, ofs, row - 1),
            fitted_rows=len(ran.encoded.features),
            warnings=(*ran.warnings, *_of_budget(ran)),
        )


def _steps(origin: Origin) -> tuple[int, ...]:
    """Return after how many steps each round of a CF stopped, also as a part of a blend."""
    parts = [part.stops for part in origin.parts if part.name == "graph"]
    return origin.stops or (parts[0] if parts else ())


def _of_budget(ran: Ran) -> list[str]:
    """Return that another blend may have been written, if the clock had a say in it."""
    if ran.settings.budget is None:
        return []
    return ["with a budget, what is run depends on the clock: another blend may have been written"]
