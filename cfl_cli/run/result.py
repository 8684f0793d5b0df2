"""A model as users hold it: it answers new rows, is saved and loaded."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import numpy as np
import polars as pl

from cfl_cli.core import process
from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.draws import FITTED, some
from cfl_cli.core.messages import count, did_you_mean, option
from cfl_cli.core.parallel import Engine, slices
from cfl_cli.core.progress import Stage, Stages, Work
from cfl_cli.core.settings import METHODS, Settings, Whole, read_by
from cfl_cli.core.state import StateError
from cfl_cli.encode.cells import used_columns
from cfl_cli.encode.encode import Encoded, Encoding, clashes, decode, encode, new_names, written
from cfl_cli.errors import CflError, DataError, Problem, UsageError
from cfl_cli.methods.interface import Answer, Estimate, Fitted, Layout, Origin, Power
from cfl_cli.models import Content
from cfl_cli.run import ToldProgress, called, labelled, labels_of, refuse_blurred
from cfl_cli.run.learn import JUDGE, Learned
from cfl_cli.schema.model import Schema
from cfl_cli.tables import frames
from cfl_cli.tables.codec import Table
from cfl_cli.tables.frames import RowLabels
from cfl_cli.trust.facts import raised_to
from cfl_cli.trust.report import Report, Sources

if TYPE_CHECKING:
    from cfl_cli.commands.explain.job import Explanation
    from cfl_cli.commands.suspects.job import SuspectCells
    from cfl_cli.run.draws import Drawable
    from cfl_cli.tables.table import Blocks
    from cfl_cli.trust.reference import Reference

# What is kept of a table that was learned from: all that new rows need, and nothing else of it.
#
# `models` says how it lies in a file, and here is what it means.

MOST_POWER = 1e3
CHANGEABLE = ("mode", "min_confidence", "keep_flagged", "bias")  # settings, when it is applied
Read = TypeVar("Read")


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A fitted method, which imputes new rows.

    `fit` returns one, and so does `impute` with `keep_model`. The prediction for a row depends only
    on that row. Do not apply a model of graph, ipal or auto to its fitted rows, because they would
    find themselves among their neighbors. Use `impute` for these rows.

    Attributes
    ----------
    schema : Schema
    settings : Settings
    report : Report
        The report on the fitted rows.
    keeps_rows : bool
        Whether the model holds features of single rows.
    checksum : str
        SHA-256 of the file that `save` writes.
    """

    schema: Schema
    settings: Settings
    encoding: Encoding
    fitted: Fitted
    report: Report  # of the fitted rows
    powers: tuple[Power | None, ...] | None  # per CF; None: confidences are as they are
    reference: "Reference"  # how the fitted rows' hidden cells were predicted
    file: "Content | None" = None  # that it was read from, parts of which may be mapped

    @classmethod
    def of(cls, learned: Learned, schema: Schema) -> Self:
        from cfl_cli.trust.drift import reference_of  # loads slowly, new rows do without

        encoded, estimate = learned.encoded, learned.estimate
        if estimate.fitted is None:
            raise refusal(learned.settings.method)
        kept = encoded.encoding, estimate.fitted, learned.report, estimate.powers
        return cls(schema, learned.settings, *kept, reference_of(encoded, estimate))

    def __repr__(self) -> str:
        rows, cfs = count(self.report.rows, "row"), count(len(self.report.columns), "CF")
        return f"Model({self.settings.method}, {rows}, {cfs})"

    @property
    def layout(self) -> Layout:
        return Layout(self.encoding.width, self.encoding.mechanisms)

    @property
    def sources(self) -> Sources:
        known = self.report.sources or Sources()
        return Sources(schema=known.schema, schema_sha256=known.schema_sha256)

    def as_observed(self, settings: Settings) -> frozenset[str]:
        flagged = (one.name for one in self.report.columns if one.flagged)
        return frozenset(flagged if settings.keep_flagged else ())

    def rows_seen(self, table: "Blocks") -> Ints:
        """Return which rows of a file it was fitted to, if they were drawn from that file."""
        sample, sources = self.report.sample, self.report.sources
        if (
            sample is None
            or sources is None
            or sample.of != table.height
            or sources.table_sha256 != table.source.sha256()
        ):
            return np.empty(0, dtype=np.int64)
        return some(sample.of, sample.rows, FITTED, self.settings.seed)

    @property
    def origins(self) -> tuple[Origin, ...]:
        return tuple(
            Origin(
                one.method,
                one.parts,
                one.round,
                one.iterations,
                cautious=one.cautious_blend,
                stops=one.stops,
                tried=one.tried,
                metric=one.metric,
            )
            for one in self.report.columns
        )

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> str:
        """Write the model to a file, which appears complete or not at all.

        Parameters
        ----------
        path : str or path
        overwrite : bool, default True
            Replace an existing file.

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
        """Read a model that `save` wrote. The whole file is checked, and nothing in it is run.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        Model

        Raises
        ------
        DataError
            The file is not a model, is damaged, or was written by a newer cfl.

        Examples
        --------
        >>> cfl_cli.Model.load("jobs.cfl")
        Model(graph, 40 rows, 1 CF)
        """
        from cfl_cli.trust.reference import Reference  # a table that is imputed needs none

        content = Content.read(Path(path))
        with content.checking():
            schema = _checked("schema", lambda: Schema.parse(content.schema))
            settings = _checked("settings", lambda: Settings(**content.settings))
            report = _checked("report", lambda: Report.from_json(content.report, name="report"))
            if settings.method != content.method:
                raise StateError("its settings name another method")
            encoding = Encoding.from_facts(content.encoding, schema)
            names = [column.name for column in report.columns]
            if names != [*encoding.domains]:
                raise StateError("its report has other CFs")
            layout = Layout(encoding.width, encoding.mechanisms)
            fitted = content.restore(layout)
            powers = _powers(content.more.get("powers"), len(names))
            reference = Reference.from_facts(content.more.get("reference"), layout.domains)
            return cls(schema, settings, encoding, fitted, report, powers, reference, content)

    @property
    def keeps_rows(self) -> bool:
        """Return whether the model holds features of single rows; a blend need not have a graph."""
        states = [self.content.fitted]
        for state in states:
            states += state.parts.values()
        return any("points" in state.arrays for state in states)

    def check_unchanged(self) -> None:
        """Raise if the file that it was read from has been written to since then."""
        if self.file is not None and self.file.file is not None:
            self.file.file.check_unchanged()

    @cached_property
    def checksum(self) -> str:
        return self.content.checksum

    @cached_property
    def content(self) -> Content:
        return self.file or Content(
            method=self.settings.method,
            settings=self.settings.recorded(),
            schema=self.schema.plain_text,
            encoding=self.encoding.facts(self.schema),
            fitted=self.fitted.state(),
            report=self.report.to_json(),
            more={
                "powers": self.powers and [power and power.value for power in self.powers],
                "reference": self.reference.facts(),
            },
        )

    def apply(
        self,
        frame: Any,
        *,
        bias: float | None = None,
        mode: Literal["hard", "soft", "both"] | None = None,
        min_confidence: float | None = None,
        keep_flagged: bool | None = None,
        jobs: int | None = None,
        engine: Literal["local", "dask"] | None = None,
        scheduler: str | None = None,
        workers: int | None = None,
        infer: str | Sequence[str] | None = None,
        name: str = "table",
        progress: ToldProgress = True,
    ) -> "Result":
        """Estimate the value behind every exclusion in new rows, and check the model for drift.

        Parameters
        ----------
        frame : polars.DataFrame, pandas.DataFrame or pyarrow.Table
            New rows, with the columns that the schema names.
        bias, mode, min_confidence, keep_flagged, jobs, engine, scheduler, workers, infer
            As in `impute`.
        name, progress
            As in `impute`.

        A setting that is None has its value from fitting. With `keep_flagged`, CFs that were
        flagged at fitting are left as observed.

        Returns
        -------
        Result
            Its report evaluates these rows and compares them with fitting.

        Raises
        ------
        DataError
            The rows do not fit the model.
        UsageError
            An argument is wrong, or is decided when a model is fitted.

        Examples
        --------
        >>> model.apply(table.head(3))
        Result(3 rows, 4 columns, 1 CF: job)
        """
        # Whoever fits a model does without what applies it.
        from cfl_cli.commands.apply.batch import NewRows, answering

        where: dict[str, Any] = {
            "jobs": jobs,
            "engine": engine,
            "scheduler": scheduler,
            "workers": workers,
            "infer": infer,
        }
        changed = {
            "bias": bias,
            "mode": mode,
            "min_confidence": min_confidence,
            "keep_flagged": keep_flagged,
        }
        limits, labels = self.schema.run.override(**where), labels_of(frame, self.schema)
        refuse_blurred(self.schema, limits.infer)
        with called(frame, progress, schema=self.schema) as told, answering(self, limits) as by:
            stages = Stages(told)
            batch = NewRows(self, self.changed(**changed), by.workers, name=name)
            cells = frames.as_polars(frame, batch.used, name=name)
            batch.check(frames.names(frame))
            cut = slices(cells.height, batch.rows_at_once) or [slice(0)]
            stages(ANSWER, 0, cells.height)
            parts = []
            for part, filled in batch.add(((part, cells[part]) for part in cut), by):
                stages(ANSWER, part.stop, cells.height)
                parts.append(filled)
            stages(JUDGE, 0, 1)
            judged = batch.judged()
        report = replace(
            judged.verdict.report,
            timings=stages.seconds(),
            peak_memory_mb=process.peak_mb(),
            sources=self.sources,
            answers_sha256=batch.answers.hexdigest(),
        )
        columns = map(pl.concat, zip(*(one.columns for one in parts), strict=True))
        arrays = {
            cf: np.vstack([part.confidences[cf] for part in parts]) for cf in parts[0].confidences
        }
        domains = {cf: domain.values for cf, domain in self.encoding.domains.items()}
        rows = frames.snapshot(frame, batch.used, name=name)
        return Result(
            frames.append(frame, [*columns]),
            Confidences(arrays, domains, like=frame),
            report,
            labelled(judged.diagnostics, labels),
            explainer=AnsweredRows.of_model(
                self, rows, batch.settings, name=name, jobs=jobs, labels=labels
            ),
        )

    def explain(
        self,
        frame: Any,
        row: Any,
        *,
        min_confidence: float | None = None,
        keep_flagged: bool | None = None,
        jobs: int | None = None,
        infer: str | Sequence[str] | None = None,
        cf: str | Sequence[str] | None = None,
        name: str = "table",
    ) -> "Explanation":
        """Explain the imputed values of one new row.

        Parameters
        ----------
        frame : polars.DataFrame, pandas.DataFrame or pyarrow.Table
            New rows.
        row : label
            The label of the row in a pandas index, otherwise its number, counted from 0.
        min_confidence, keep_flagged, jobs, infer
            As in `impute`.
        cf : str or list of str, optional
            CFs to explain, all by default.
        name : str, default "table"
            Name of the table in errors.

        Returns
        -------
        Explanation

        Examples
        --------
        >>> model.explain(table, 39, cf="job")
        Explanation(row 39, job retired)
        """
        limits = self.schema.run.override(infer=infer, jobs=jobs)
        refuse_blurred(self.schema, limits.infer, cfs=[cf] if isinstance(cf, str) else cf)
        changed = self.changed(min_confidence=min_confidence, keep_flagged=keep_flagged)
        with called(frame, schema=self.schema):
            cells = frames.as_polars(frame, used_columns(self.schema), name=name)
            given: dict[str, Any] = {
                "name": name,
                "jobs": jobs,
                "labels": RowLabels(frame, self.schema.identifiers),
            }
            return AnsweredRows.of_model(self, cells, changed, **given).explain(row, cf)

    def changed(self, **settings: Any) -> Settings:
        return self.settings.override(**settings)


def refusal(method: str) -> UsageError:
    text = "{option} has no model to save: use one of {remedy}"
    others = ", ".join(name for name, traits in METHODS.items() if traits.learns)
    chosen = option("method", method)
    return UsageError(Problem("option-method-no-model", text, option=chosen, remedy=others))


def _checked(what: str, read: Callable[[], Read]) -> Read:
    try:
        return read()
    except CflError as error:
        raise StateError(f"its {what}: {error.problems[0].redacted((), ())}") from None
    except TypeError:  # settings of another version
        raise StateError(f"its {what} do not fit this cfl") from None


def _powers(facts: object, cfs: int) -> tuple[Power | None, ...] | None:
    if facts is None:
        return None
    if not isinstance(facts, list) or len(facts) != cfs:
        raise StateError("it does not have one calibration power per CF")
    powers = []
    for value in facts:
        if value is not None and not (isinstance(value, float) and 0 < value < MOST_POWER):
            raise StateError(f"a power must be a number from 0 to {MOST_POWER:g}")
        powers.append(None if value is None else Power(value, (value, value)))
    return tuple(powers)


# Confidences as users hold them: for each CF a table of the kind that was given.


class Confidences(Mapping[str, Any]):
    """By CF, a table with a row for each row and a column for each value, in the domain's order.

    A table is made when it is first asked for. `arrays` has the same numbers by CF, n × K, without
    making one.
    """

    def __init__(
        self, arrays: Mapping[str, Floats], domains: Mapping[str, Sequence[str]], *, like: Any
    ) -> None:
        self.arrays = dict(arrays)
        self._domains, self._like = domains, frames.bare(like)
        self._made: dict[str, Any] = {}

    def __getitem__(self, cf: str) -> Any:
        if cf not in self.arrays:
            raise KeyError(f"no CF {cf!r}{did_you_mean(str(cf), self.arrays)}")
        if cf not in self._made:
            self._made[cf] = frames.of_array(self.arrays[cf], self._domains[cf], like=self._like)
        return self._made[cf]

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)

    def __repr__(self) -> str:
        sizes = (f"{cf}: {count(array.shape[1], 'value')}" for cf, array in self.arrays.items())
        return f"Confidences({', '.join(sizes)})"


@dataclass(frozen=True, eq=False, kw_only=True)
class AnsweredRows:
    """Rows that were answered, and what decided the answers: any of them can be explained."""

    schema: Schema
    settings: Settings  # with a γ that was settled on
    fitted: Fitted | None  # without points; None: nothing was, or graph as a report has it
    powers: tuple[Power | None, ...] | None
    origins: tuple[Origin, ...]  # per CF, of the run that it takes
    as_observed: frozenset[str]  # CFs that are kept so
    frame: Any  # the rows, which nobody changes
    name: str
    jobs: int | None
    fitted_rows: int
    table: Encoded | None = None  # all rows that were learned from; None: rows new to a model
    runs: tuple[tuple[Origin, ...], ...] = ()  # per CF, of one run, or two with `mechanism: fit`
    encoding: Encoding | None = None  # of a model
    first_row: int = 1  # number of the first row
    labels: RowLabels | None = None  # what a caller in Python calls the rows
    warnings: tuple[str, ...] = ()

    @classmethod
    def of_run(cls, learned: Learned, frame: Any, schema: Schema, *, name: str, **own: Any) -> Self:
        estimate = learned.estimate
        return cls(
            schema=schema,
            settings=learned.settings,
            fitted=None if estimate.fitted is None else estimate.fitted.without_points(),
            powers=estimate.powers,
            origins=estimate.origins,
            as_observed=frozenset(learned.report.kept),
            frame=frames.snapshot(frame, used_columns(schema), name=name),
            name=name,
            fitted_rows=len(learned.encoded.features),
            table=learned.encoded,
            runs=learned.runs,
            **own,
        )

    @classmethod
    def of_model(cls, kept: Model, frame: Any, settings: Settings, **more: Any) -> Self:
        return cls(
            schema=kept.schema,
            settings=settings,
            fitted=kept.fitted,
            powers=kept.powers,
            origins=kept.origins,
            as_observed=kept.as_observed(settings),
            frame=frame,
            fitted_rows=kept.report.rows,
            encoding=kept.encoding,
            **more,
        )

    @cached_property
    def cells(self) -> pl.DataFrame:
        return frames.as_polars(self.frame, used_columns(self.schema), name=self.name)

    def encoded_row(self, row: int) -> Encoded:
        if self.table is not None:
            return self.table.some(np.array([row - 1]))
        cells = self.cells[row - self.first_row : row - self.first_row + 1]
        return encode(cells, self.schema, name=self.name, encoding=self.encoding, first_row=row)

    def explain(self, row: Any, cf: str | Sequence[str] | None) -> "Explanation":
        # Few results need it.
        from cfl_cli.commands.explain.job import chosen_cfs, explain_row, number_of, relabelled

        cfs = chosen_cfs(cf, [*self.schema.complementary], self.name)
        labels = self.labels or RowLabels(self.frame, self.schema.identifiers)
        found = explain_row(self, number_of(row, labels, self.name), cfs=cfs)
        return relabelled(found, labels)


ANSWER = Stage("answer", Work.DECODE, "filling in new rows")
_MENTIONED = 5  # CFs, at most, of a result in a line


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The result of `impute` or `Model.apply`.

    Attributes
    ----------
    frame : polars.DataFrame, pandas.DataFrame or pyarrow.Table
        The table with its new columns, of the kind that was given.
    confidences : mapping
        For each CF a table of the same kind, with a column for each value in the domain's order;
        `confidences.arrays` has the same numbers as arrays.
    report : Report
        How accurate the imputed values are; `print` shows it.
    diagnostics : polars.DataFrame
        The cells to look at, and why.
    model : Model or None
        The fitted model, with `keep_model`.
    suspects : SuspectCells
        The cells that are most likely wrong, as `cfl suspects` lists them.
    """

    frame: Any  # of the kind that was given: polars, pandas or pyarrow
    confidences: Confidences  # per CF a table of that kind, with a column for each value
    report: Report
    diagnostics: pl.DataFrame  # which cells to look at, and why: see `jobs.diagnostics`
    model: "Model | None" = None  # what was learned from the table, if it was to be kept
    explainer: AnsweredRows | None = None  # what `explain` needs of the rows and of the run
    drawable: "Drawable | None" = None  # what `draws` needs of the run

    def explain(self, row: Any, cf: str | Sequence[str] | None = None) -> "Explanation":
        """Explain the imputed values of one row, by its neighbors and by the effects of its
        columns.

        Parameters
        ----------
        row : label
            The label of the row in a pandas index, otherwise its number, counted from 0.
        cf : str or list of str, optional
            CFs to explain, all by default.

        Returns
        -------
        Explanation
            Confidences are those of this result. The explanation holds cells of the row and of its
            neighbors. For graph, ipal and blends with graph, the propagation over all rows is
            repeated, unless a model imputed the row.

        Raises
        ------
        UsageError
            The table has no such row or CF.

        Examples
        --------
        >>> result.explain(0)
        Explanation(row 0, job student)
        """
        if self.explainer is None:
            text = (
                "this result was made with a reference, or not by `impute` or `Model.apply`: pass a "
                "result of one of them"
            )
            raise UsageError(Problem("result-not-explainable", text))
        return self.explainer.explain(row, cf)

    def draws(self, number: int = 20, *, by: str | Sequence[str]) -> pl.DataFrame:
        """Return completed tables for multiple imputation, stacked as R's mice has them.

        `.imp` is 0 for the table as observed, with empty cells where a value is not known, and then
        the number of the draw; `.id` counts rows from 1. Fit a model to each draw and `pool` the
        results. Do not train a predictor of a column in `by` on draws: they were made with it.

        Parameters
        ----------
        number : int, default 20
            How many draws, from 2 to 1000.
        by : str or list of str
            All columns of the analysis that are not OFs, especially its outcome. Without them,
            slopes would be too small.

        Returns
        -------
        polars.DataFrame

        Raises
        ------
        DataError
            A CF has more than four values, too few rows, a rare value, or exclusions that
            contradict its mechanism, so its draws would not be valid.
        UsageError
            A column cannot be in `by`, or the rows of `frame` were changed.

        Examples
        --------
        >>> long = result.draws(20, by=["y"])  # doctest: +SKIP
        >>> fits = [fit_model(one) for (k,), one in long.group_by(".imp") if k]  # doctest: +SKIP
        >>> cfl_cli.pool(fits)  # doctest: +SKIP
        """
        if self.drawable is None or self.explainer is None:
            text = "this result was not made by `impute`: call it"
            raise UsageError(Problem("result-not-drawable", text))
        from cfl_cli.run.draws import MOST, check_draws  # few runs draw values

        asked = read_by({"number": Whole(least=2, most=MOST)}, {"number": number})
        names, schema = [by] if isinstance(by, str) else [*by], self.drawable.schema
        cfs = self.drawable.encoded.blocks
        new = {one for cf in cfs for one in new_names(cf.name, cf.values, "both")}
        columns = [one for one in frames.names(self.frame) if one not in new]
        table = frames.as_polars(self.frame, columns, name=self.drawable.name).select(columns)
        if not table.select(self.explainer.cells.columns).equals(self.explainer.cells):
            text = "the rows of `frame` were changed after `impute`: impute again"
            raise UsageError(Problem("draws-other-rows", text))
        own = {"name": self.drawable.name, "method": self.drawable.method}
        check_draws(schema, columns, names, **own)
        found = self.drawable.draw(lambda one: table[one], asked["number"], names)
        parts: list[pl.DataFrame] = [one for one, _ in found.frames(lambda: [Table(table)])]
        return pl.concat(parts)

    def __repr__(self) -> str:
        report, columns = self.report, count(len(frames.names(self.frame)), "column")
        cfs = [f"{cf.name} (flagged)" if cf.flagged else cf.name for cf in report.columns]
        named = f"{', '.join(cfs[:_MENTIONED])}{', …' if len(cfs) > _MENTIONED else ''}"
        return f"Result({count(report.rows, 'row')}, {columns}, {count(len(cfs), 'CF')}: {named})"

    @property
    def suspects(self) -> "SuspectCells":
        """The cells that are most likely wrong, as `cfl suspects` shows them."""
        from cfl_cli.commands.suspects.job import suspects  # most results need none

        return suspects(self.report, self.diagnostics)

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.report._repr_html_()}"


# Fills in new rows by what is kept of a table, block by block; nothing is remembered of them.

ROWS_AT_ONCE = 32_768  # the more, the more of them look at the same neighbors
NUMBERS_AT_ONCE = 1 << 20  # features and confidences of a block, about


@dataclass(frozen=True, eq=False)
class Filled:
    cells: pl.DataFrame  # of the columns that are used
    encoded: Encoded
    answer: Answer
    estimate: Estimate  # the answer with calibrated confidences
    columns: list[pl.Series]  # the new ones
    confidences: dict[str, Floats]  # per CF: m × K, as they are written


class RowFiller:
    def __init__(self, kept: Model, settings: Settings, workers: Engine, *, name: str) -> None:
        self.kept, self.settings, self.workers, self.name = kept, settings, workers, name
        self.used, self.width = used_columns(kept.schema), kept.layout.width
        self.as_observed = kept.as_observed(settings)

    @property
    def rows_at_once(self) -> int:
        width = self.width + self.kept.layout.features
        return max(min(ROWS_AT_ONCE, NUMBERS_AT_ONCE // width), 1)

    def check(self, columns: Sequence[str]) -> None:
        """Raise if the columns of the new rows leave no room for those that are to be added."""
        domains = {name: domain.values for name, domain in self.kept.encoding.domains.items()}
        told = clashes(
            columns,
            domains,
            mode=self.settings.mode,
            ancestors=self.kept.schema.with_ancestors,
        )
        if told:
            text = "{file}: {why}"
            raise DataError(*(Problem("column-name", text, file=self.name, why=it) for it in told))

    def fill(self, frame: Any, *, first_row: int) -> Filled:
        """Answer some rows; `first_row` is the number of the first of them, from 1."""
        cells = frames.as_polars(frame, self.used, name=self.name)
        encoded = self.encoded(cells, first_row=first_row)
        return self.filled(cells, encoded, self.kept.fitted.answer(encoded.known, self.workers))

    def filled(self, cells: pl.DataFrame, encoded: Encoded, said: Answer) -> Filled:
        facts = said.confidences, said.fell_back, said.mass, self.kept.origins
        estimate = self.calibrated(encoded, Estimate(*facts, answers=said.answers))
        columns = decode(
            estimate.confidences,
            encoded.candidates,
            encoded.blocks,
            answers=estimate.answers,
            mode=self.settings.mode,
            kept=self.as_observed,
            min_confidence=self.settings.min_confidence,
        )
        confidences = {
            block.name: written(estimate.confidences, encoded.candidates, block, self.as_observed)
            for block in encoded.blocks
        }
        return Filled(cells.select(self.used), encoded, said, estimate, columns, confidences)

    def encoded(self, cells: pl.DataFrame, *, first_row: int) -> Encoded:
        own = self.kept
        return encode(cells, own.schema, name=self.name, encoding=own.encoding, first_row=first_row)

    def calibrated(self, encoded: Encoded, estimate: Estimate) -> Estimate:
        powers = self.kept.powers
        return estimate if powers is None else raised_to(powers, encoded, estimate)
