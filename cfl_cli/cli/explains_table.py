"""How `cfl explain` explains a row of a table that is learned from: it says how long it takes."""

from collections.abc import Sequence

from cfl_cli.cli.explains import Asked
from cfl_cli.cli.given import Values
from cfl_cli.cli.inputs import load, read_table, warn_of_rejects, with_table
from cfl_cli.cli.progress import Display
from cfl_cli.cli.reports import report_of
from cfl_cli.cli.streams import note
from cfl_cli.core.stages import Expected
from cfl_cli.jobs.blurred import refuse_blurred
from cfl_cli.jobs.explain import explain
from cfl_cli.jobs.explain_new import chosen_cfs
from cfl_cli.jobs.explanation import Explanation
from cfl_cli.jobs.ran import Recorded
from cfl_cli.tables import frames

LONG = 5.0  # seconds from which on it is said how long it takes


class Announced(Display):
    """Progress that says first how long it will take, if that is long."""

    def expect(self, stages: Sequence[Expected]) -> None:
        """Take note of all stages that are to come."""
        super().expect(stages)
        seconds = sum(one.seconds for one in stages)
        if seconds >= LONG and not self.quiet:
            note(
                f"explaining a row of this table takes about {seconds:,.0f} s; a model that `cfl "
                "fit` wrote explains new rows in a second or two"
            )


def in_table(asked: Asked, given: Values) -> Explanation:
    """Explain a row of the table that is learned from."""
    inputs = load(str(asked.schema), given, data=asked.data)
    cfs = chosen_cfs(asked.cfs, [*inputs.schema.complementary], str(asked.schema))
    refuse_blurred(inputs.schema, inputs.run.infer, cfs=cfs)
    report = None if asked.report is None else report_of(asked.report)
    table = read_table(
        asked.source, asked.how, inputs.schema, checksum=report is not None, may_set_aside=True
    )
    warn_of_rejects(len(table.rejects), asked.source)
    row = asked.number(table.frame, inputs.schema)
    recorded = None
    if report is not None and asked.report is not None:
        sources = with_table(inputs.sources, asked.source, asked.how, table)
        recorded = Recorded(report, asked.report, sources)
    run = inputs.run
    with Announced(quiet=run.quiet) as display:
        return explain(
            table.frame,
            inputs.schema,
            row,
            cf=cfs,
            name=asked.source.name,
            progress=display,
            jobs=run.jobs,
            max_memory=run.max_memory,
            infer=run.infer,
            key=asked.shown(frames.names(table.frame), inputs.schema),
            recorded=recorded,
            **inputs.settings.as_dict(),
        )
