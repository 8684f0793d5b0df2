"""What is kept of a table that was learned from: all that new rows need, and nothing else of it.

`models` says how it lies in a file, and here is what it means.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np

from cfl_cli.core.arrays import Ints
from cfl_cli.core.draws import FITTED, some
from cfl_cli.core.messages import count, option
from cfl_cli.core.settings import METHODS, Settings
from cfl_cli.core.state import State, StateError
from cfl_cli.encode.encode import Encoding
from cfl_cli.errors import CflError, Problem, UsageError
from cfl_cli.methods.interface import Fitted, Layout, Origin, Power
from cfl_cli.schema.model import Schema
from cfl_cli.trust.report import Report, Sources

if TYPE_CHECKING:
    from cfl_cli.models import Content
    from cfl_cli.run.learn import Learned
    from cfl_cli.tables.table import Blocks
    from cfl_cli.trust.reference import Reference

MOST_POWER = 1e3
CHANGEABLE = ("mode", "min_confidence", "keep_flagged", "bias")  # settings, when it is applied
Read = TypeVar("Read")


@dataclass(frozen=True, eq=False, repr=False)
class Kept:
    """What a method has learned from a table, and how to encode rows like that table's."""

    schema: Schema
    settings: Settings
    encoding: Encoding
    fitted: Fitted
    report: Report  # of the fitted rows
    powers: tuple[Power | None, ...] | None  # per CF; None: confidences are as they are
    reference: "Reference"  # how the fitted rows' hidden cells were predicted
    file: "Content | None" = None  # that it was read from, parts of which may be mapped

    @classmethod
    def of(cls, learned: "Learned", schema: Schema) -> Self:
        """Return what is kept of a table, or raise if the method learns nothing."""
        from cfl_cli.trust.drift import reference_of  # loads slowly, new rows do without

        encoded, estimate = learned.encoded, learned.estimate
        if estimate.fitted is None:
            raise refusal(learned.settings.method)
        return cls(
            schema,
            learned.settings,
            encoded.encoding,
            estimate.fitted,
            learned.report,
            estimate.powers,
            reference_of(encoded, estimate),
        )

    def __repr__(self) -> str:
        cfs = count(len(self.report.columns), "CF")
        rows = count(self.report.rows, "row")
        return f"{type(self).__name__}({self.settings.method}, {rows}, {cfs})"

    @property
    def layout(self) -> Layout:
        """The sizes of the table, and how its exclusions arise."""
        return Layout(self.encoding.width, self.encoding.mechanisms)

    @property
    def sources(self) -> Sources:
        """Return what is known of the schema, which is that of new rows too."""
        known = self.report.sources or Sources()
        return Sources(schema=known.schema, schema_sha256=known.schema_sha256)

    def as_observed(self, settings: Settings) -> frozenset[str]:
        """Return the CFs that are not filled in: those flagged at fitting, if they are kept."""
        flagged = (one.name for one in self.report.columns if one.flagged)
        return frozenset(flagged if settings.keep_flagged else ())

    def rows_seen(self, table: "Blocks") -> Ints:
        """Return which rows of a file it was fitted to, if they were drawn from that file."""
        sample, sources = self.report.sample, self.report.sources
        if (
            sample is None
            or sources is None
            or sample.of != table.height
            or sources.table_sha256 != table.sha256()
        ):
            return np.empty(0, dtype=np.int64)
        return some(sample.of, sample.rows, FITTED, self.settings.seed)

    @property
    def origins(self) -> tuple[Origin, ...]:
        """Return how each CF's answers come about."""
        return tuple(
            Origin(
                one.method,
                one.parts,
                one.round,
                one.iterations,
                cautious=one.cautious_blend,
                stops=one.stops,
                tried=one.tried,
            )
            for one in self.report.columns
        )

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> str:
        """Write one file, whole or not at all.

        Parameters
        ----------
        path : str or path
        overwrite : bool, default True
            Replace a file that is there already.

        Returns
        -------
        str
            The file's checksum, SHA-256 in hexadecimal.

        Raises
        ------
        ResourceError
            It cannot be written.

        Examples
        --------
        >>> checksum = model.save("jobs.cfl")
        """
        return self.content.write(Path(path), overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote; nothing in the file is run, and all of it is checked.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        Model

        Raises
        ------
        DataError
            It is no model, or damaged, or written by a newer cfl.

        Examples
        --------
        >>> cfl_cli.Model.load("jobs.cfl")
        Model(graph, 40 rows, 1 CF)
        """
        from cfl_cli.models import Content  # a table that is imputed needs none

        content = Content.read(Path(path))
        with content.checking():
            return cls._from(content)

    @property
    def keeps_rows(self) -> bool:
        """Return whether it holds points of single rows; a blend need not have a graph."""
        return _has_points(self.content.fitted)

    def check_unchanged(self) -> None:
        """Raise if the file that it was read from has been written to since then."""
        if self.file is not None and self.file.file is not None:
            self.file.file.check_unchanged()

    @cached_property
    def checksum(self) -> str:
        """The SHA-256 of the file that `save` writes."""
        return self.content.checksum

    @cached_property
    def content(self) -> "Content":
        from cfl_cli.models import Content  # a table that is imputed needs none

        return self.file or Content(
            method=self.settings.method,
            settings=self.settings.as_dict(),
            schema=self.schema.plain_text,
            encoding=self.encoding.facts(self.schema),
            fitted=self.fitted.state(),
            report=self.report.to_json(),
            more={
                "powers": self.powers and [power and power.value for power in self.powers],
                "reference": self.reference.facts(),
            },
        )

    @classmethod
    def _from(cls, content: "Content") -> Self:
        from cfl_cli.trust.reference import Reference  # a table that is imputed needs none

        schema = _checked("schema", lambda: Schema.parse(content.schema))
        settings = _checked("settings", lambda: Settings(**content.settings))
        report = _checked("report", lambda: Report.from_json(content.report, name="report"))
        if settings.method != content.method:
            raise StateError("its settings name another method")
        encoding = Encoding.from_facts(content.encoding, schema)
        names = [column.name for column in report.columns]
        if names != [*encoding.domains]:
            raise StateError("its report is of other CFs")
        layout = Layout(encoding.width, encoding.mechanisms)
        return cls(
            schema,
            settings,
            encoding,
            content.restore(layout),
            report,
            _powers(content.more.get("powers"), len(names)),
            Reference.from_facts(content.more.get("reference"), layout.domains),
            content,
        )


def _has_points(state: State) -> bool:
    return "points" in state.arrays or any(map(_has_points, state.parts.values()))


def refusal(method: str) -> UsageError:
    """Return why nothing is kept of a method."""
    text = "{option} learns nothing that could be kept: use one of {remedy}"
    others = ", ".join(name for name, traits in METHODS.items() if traits.learns)
    chosen = option("method", method)
    return UsageError(Problem("option-method-no-model", text, option=chosen, remedy=others))


def _checked(what: str, read: Callable[[], Read]) -> Read:
    try:
        return read()
    except CflError as error:
        raise StateError(f"its {what}: {error.problems[0].redacted((), ())}") from None
    except TypeError:  # settings of another version
        raise StateError(f"its {what} are not those of this cfl") from None


def _powers(facts: object, cfs: int) -> tuple[Power | None, ...] | None:
    if facts is None:
        return None
    if not isinstance(facts, list) or len(facts) != cfs:
        raise StateError("its powers are not one for each CF")
    powers = []
    for value in facts:
        if value is not None and not (isinstance(value, float) and 0 < value < MOST_POWER):
            raise StateError(f"a power must be a number from 0 to {MOST_POWER:g}")
        powers.append(None if value is None else Power(value, (value, value)))
    return tuple(powers)
