"""What a command works with: the schema, the settings as everybody has them, the table."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from cfl_cli.cli.given import Values
from cfl_cli.cli.log import LOG
from cfl_cli.cli.progress import Display
from cfl_cli.core.settings import RunSettings, Settings, override
from cfl_cli.jobs.kept import Kept
from cfl_cli.schema.model import Schema
from cfl_cli.tables import table as tables
from cfl_cli.tables.table import Place, Table

Learned = TypeVar("Learned")


@dataclass(frozen=True)
class Inputs:
    """A schema, and the settings that it and the user ask for."""

    schema: Schema
    settings: Settings
    run: RunSettings

    def learn(
        self, job: Callable[..., Learned], table: Table, source: Place, **more: object
    ) -> Learned:
        """Return what a job makes of a table, which it learns from with these settings."""
        with Display(quiet=self.run.quiet) as display:
            return job(
                table.frame,
                self.schema,
                name=source.name,
                progress=display,
                jobs=self.run.jobs,
                max_memory=self.run.max_memory,
                **more,
                **self.settings.as_dict(),
            )


def load(path: str, given: Values, text: str | None = None) -> Inputs:
    """Return the schema in a file, or in the file's `text`, and its settings; those given win."""
    local = tables.local(path)
    schema = Schema.load(local) if text is None else Schema.parse(text, path)
    settings, run = override(schema.settings, schema.run, given)
    LOG.verbose, LOG.format = run.verbose, run.log_format
    return Inputs(schema, settings, run)


def read_table(place: Place, how: Values) -> Table:
    """Return the table at a place; `how` says how a text table is written."""
    return tables.read(place, set_aside=sets_aside(how), **signs_of(how))


def signs_of(how: Values) -> dict[str, str | None]:
    """Return how a text table is written, as far as it was given."""
    return {name: how.get(name) for name in ("delimiter", "quote", "encoding")}


def of_model(model: Kept, given: Values) -> tuple[Settings, RunSettings]:
    """Return the settings with which a model is applied; those given win over the model's.

    What its schema names as files are those of the fitted table.
    """
    files = dict.fromkeys(("report", "suspects")) | {"overwrite": False}
    settings, run = override(model.settings, model.schema.run.replaced(files), given)
    LOG.verbose, LOG.format = run.verbose, run.log_format
    return settings, run


def sets_aside(how: Values) -> bool:
    """Return whether bad records are set aside rather than refused."""
    return how.get("on_bad_row") == "set-aside"
