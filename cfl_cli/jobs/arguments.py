"""What callers give a job: a schema in any form, and settings by their names."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeAlias

from cfl_cli.core.entries import entries, raise_flaws
from cfl_cli.core.messages import did_you_mean
from cfl_cli.core.quick import dataclass
from cfl_cli.core.settings import RunSettings, Settings
from cfl_cli.core.stages import Progress
from cfl_cli.core.wording import command, option
from cfl_cli.errors import UsageError
from cfl_cli.schema.model import Schema
from cfl_cli.trust.report import Sources

AnySchema: TypeAlias = Schema | Mapping[str, Any] | str | os.PathLike[str]
ENGINE = ("engine", "scheduler", "workers", "run_dir", "resume")  # where the work is done
INFER = ("infer",)  # CFs that were blurred on purpose
OWN = ("name", "progress", "jobs", "max_memory")  # arguments that are no settings


def silent(*_: object) -> None:
    """Show no progress."""


@dataclass(frozen=True)
class Context:
    """What a job knows of its table and of who waits for it, beside schema and settings."""

    name: str = "table"  # what errors call the table
    progress: Progress = silent
    sources: Sources | None = None  # the files that table and schema came from
    near: Path | None = None  # where files may be for a while; None: where temporary ones are


@dataclass(frozen=True)
class Arguments:
    """A schema, and the settings that it and the caller ask for."""

    schema: Schema
    settings: Settings
    limits: RunSettings

    @classmethod
    def read(
        cls,
        schema: AnySchema,
        settings: Mapping[str, Any],
        *,
        jobs: int | None,
        max_memory: int | None,
        own: Sequence[str] = OWN,
        engines: bool = False,
        samples: bool = False,
        infers: bool = False,
    ) -> Self:
        """Return what was given, or raise with all that is wrong; `own` are the job's arguments.

        With `engines` it may be said where the work is done, with `samples` how many rows to draw,
        and with `infers` which CFs to infer that were blurred on purpose.
        """
        more = (*(ENGINE if engines else ()), *(INFER if infers else ()))
        read = Schema.of(schema)
        where = {name: settings[name] for name in more if name in settings}
        chosen = {name: value for name, value in settings.items() if name not in more}
        refuse_unknown(chosen, (*own, *more))
        decided = read.settings.override(**chosen)
        if decided.sample is not None and not samples:
            fit, rest = command("fit"), command("apply", python="Model.apply")
            raise UsageError(f"{option('sample')} goes with {fit}: {rest} answers the other rows")
        return cls(
            read,
            decided,
            read.run.override(jobs=jobs, max_memory=max_memory, **where),
        )


def refuse_unknown(given: Mapping[str, Any], own: Sequence[str]) -> None:
    """Raise if a name is neither a setting's nor one of the job's `own` arguments."""
    known = [setting.name for setting in entries(Settings)]
    raise_flaws(
        [
            (name, f"unknown argument{did_you_mean(name, [*known, *own])}")
            for name in given
            if name not in known
        ]
    )
