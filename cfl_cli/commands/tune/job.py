"""Chooses settings by hidden cells: a search on some rows, and a test of its winner on others.

    score  = mean over the CFs of (K − 1)/s · (mean over their hidden cells of log P(cell | prior))
    gain   = score of one trial − score of another, on the same hidden cells

K is the size of a CF's domain and s the mean number of its cells' exclusions: such a cell carries
about s/(K − 1) of the information in the value itself. So weighted, a CF counts for as much as it
would if the values were known, and scores rank settings as the cross entropy of the answers does.

A large table is searched on a part of its rows, and the test made on all of them. Hidden rows are
drawn from the seed. The number of threads changes nothing; the clock decides only how many trials
are made.
"""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from math import inf
from typing import Any, Literal, TypeAlias

import numpy as np

from cfl_cli import __version__
from cfl_cli.cli.inputs import check_is_schema, load, read_table, warn_of_rejects
from cfl_cli.cli.log import note, print_out, warn
from cfl_cli.cli.options import FORMAT, Values
from cfl_cli.cli.outputs import drawn, text_target
from cfl_cli.cli.pages import Field as AnyField
from cfl_cli.cli.pages import Page, render
from cfl_cli.cli.progress import shown_progress
from cfl_cli.cli.start import listen
from cfl_cli.core import Shown, draws
from cfl_cli.core.arrays import Floats
from cfl_cli.core.messages import command, count
from cfl_cli.core.parallel import Workers, available_cores
from cfl_cli.core.progress import Expected, Stage, heard_by
from cfl_cli.core.settings import AUTO, COUNT, METHODS, Auto, Number, RunSettings, Settings, read_by
from cfl_cli.encode.encode import Encoded
from cfl_cli.errors import DataError, Problem, ResourceError, SchemaError, UsageError
from cfl_cli.run import AnySchema, Arguments, Context, ToldProgress, called
from cfl_cli.run.cost import check_memory
from cfl_cli.run.learn import ENCODE
from cfl_cli.run.prepare import prepare, settle_gamma
from cfl_cli.run.search import (
    CHOICES,
    TESTING,
    TRIALS,
    Folds,
    Limit,
    Trial,
    Trials,
    confirm,
    search,
    tuned,
)
from cfl_cli.schema import edit, yaml_text
from cfl_cli.schema.edit import Value, spelled
from cfl_cli.schema.model import Schema
from cfl_cli.tables import files, frames
from cfl_cli.tables import table as tables
from cfl_cli.trust.intervals import Gain

SAMPLE = 10_000  # rows that are searched on, if there are more
BUDGET = 300.0  # seconds
_LIMITS = {"budget": Number(least=0), "trials": COUNT}


@dataclass(frozen=True)
class Test:
    trial: int  # its place among the trials
    gain: Gain
    passed: bool


@dataclass(frozen=True)
class Tuning(Shown):
    """The settings that were tried, and the chosen ones."""

    trials: tuple[Trial, ...]  # in the order of trying; the first is the start
    tests: tuple[Test, ...]  # in the order of testing; none after one that was passed
    complete: bool  # False: time or trials ran out before the search had ended
    rows: int
    searched_rows: int  # so many of them were searched on
    tested_rows: int  # and the tests made on so many
    seconds: float
    warnings: tuple[str, ...]
    given: Schema = field(repr=False)  # that was tuned for

    @property
    def settings(self) -> dict[str, Value]:
        """Return the settings to use, as `impute` takes them."""
        return dict(self.chosen.settings)

    @property
    def schema(self) -> Schema:
        """Return the schema with these settings, to be used, or to be written as its `text`."""
        try:
            return Schema.parse(edit.put(self.given.text, self.settings))
        except SchemaError:  # its text cannot be edited
            changed = self.given.settings.override(**self.settings)
            return self.given.model_copy(update={"settings": changed})

    @property
    def chosen(self) -> Trial:
        passed = (test.trial for test in self.tests if test.passed)
        return self.trials[next(passed, 0)]


def tune(
    frame: Any,
    schema: AnySchema,
    *,
    method: str | None = None,
    k: int | None = None,
    iterations: int | Auto | None = None,
    gamma: float | Auto | None = None,
    metric: Literal["plain", "learned"] | None = None,
    ridge: float | None = None,
    seed: int | None = None,
    folds: int | Auto | None = None,
    calibration: bool | None = None,
    neighbors: Literal["auto", "exact"] | None = None,
    correction: bool | None = None,
    jobs: int | None = None,
    max_memory: int | str | None = None,
    budget: float | None = None,
    trials: int | None = None,
    name: str = "table",
    progress: ToldProgress = True,
) -> Tuning:
    """Find the settings of method graph that predict held-out cells best.

    Parameters
    ----------
    frame, schema
        As in `impute`. The search starts from these settings.
    method, k, iterations, gamma, metric, ridge, seed, folds, calibration, neighbors, correction,
    jobs, max_memory
        As in `impute`.
    budget : float, optional
        Approximate number of seconds that the search may take; 300 unless `trials` is given.
    trials : int, optional
        Maximum number of trials. The start is always scored.
    name, progress
        As in `impute`.

    Returns
    -------
    Tuning
        The `settings`, the `schema` with them, and all `trials` and `tests`.

    Raises
    ------
    UsageError
        An argument is wrong, or the method is not graph.

    Examples
    --------
    With `table` and `schema` as in `impute`:

    >>> cfl_cli.tune(table, schema, k=5, trials=1).settings
    {'iterations': 100, 'k': 5, 'gamma': 0.25, 'ridge': 0.3}
    """
    asked = {"budget": budget, "trials": trials}
    read = read_by(_LIMITS, {one: value for one, value in asked.items() if value is not None})
    given = Arguments.of_call(locals() | {"budget": None})
    with called(frame, progress, schema=given.schema) as told:
        return tune_frame(frame, given, Context(name, told), **read)


def tune_frame(
    frame: Any,
    given: Arguments,
    context: Context,
    *,
    budget: float | None = None,
    trials: int | None = None,
) -> Tuning:
    start, limits, name, progress = given.settings, given.limits, context.name, context.progress
    if budget is None:
        budget = BUDGET if trials is None else inf
    limit = Limit(budget, inf if trials is None else trials)
    if start.method != "graph":
        raise UsageError(_other_method(start.method))
    progress(ENCODE, 0, 1)
    encoded = prepare(frame, given.schema, start, name=name, jobs=limits.jobs)
    start, warnings = settle_gamma(encoded, start)
    table = frames.size(frame)
    check_memory(encoded, start, table=table, jobs=limits.jobs, max_memory=limits.max_memory)
    n = len(encoded.features)
    dealt = draws.order(n, draws.TRIALS, start.seed)
    some = dealt[: max(SAMPLE, start.k + 1)]
    folds, all_folds = (Folds.of(rows, encoded.groups) for rows in (some, dealt))
    _check(encoded, folds, name=name)
    with Workers(limits.jobs or available_cores()) as workers:
        sample_trials = Trials(encoded, some, workers)

        def test_seconds(trial: float, *, on_all: bool) -> float:
            if on_all:
                return trial * sample_trials.times_longer(n) * all_folds.test_in_trials
            return trial * folds.test_in_trials

        def kept_back(trial: float) -> float:
            on_all = 4 * test_seconds(trial, on_all=True) <= limit.seconds
            return 2 * test_seconds(trial, on_all=on_all)

        def tell(stage: Stage, done: int, total: int) -> None:
            """Show trials as far as there is time for them, and how long these and tests take."""
            if limit.times:
                trial = sum(limit.times) / len(limit.times)
                room = max(limit.left - kept_back(limit.longest), 0) / trial
                total = int(min(total, limit.trials, max(done, done + room)))
                ahead = [Expected(TRIALS, trial * total), Expected(TESTING, kept_back(trial))]
                heard_by(progress, "expect")(ahead)
            progress(stage, done, total)

        limit.kept_back = kept_back

        def score(candidate: Settings) -> Floats | None:
            if not limit.allows():
                return None
            return limit.time(lambda: sample_trials.judged(candidate, folds))

        choices = _possible(encoded, start, limits, rows=len(some), table=table)
        result = search(start, choices, score, progress=tell)
        each = test_seconds(limit.longest, on_all=True)
        tested, tested_folds = sample_trials, folds
        if result.path and n > len(some) and limit.left >= 2 * each:
            tested, tested_folds = Trials(encoded, dealt, workers), all_folds
        else:
            each = test_seconds(limit.longest, on_all=False)
        ahead = [Expected(TRIALS, sum(limit.times)), Expected(TESTING, 2 * each)]
        heard_by(progress, "expect")(ahead)
        tests = confirm(
            start,
            result.path,
            lambda candidate: tested.tested(candidate, tested_folds),
            mutual=tested_folds.mutual,
            may=lambda: limit.left > each,
            progress=progress,
        )
    return Tuning(
        trials=result.trials,
        tests=tuple(
            Test(result.place(settings), gained, passed) for settings, gained, passed in tests
        ),
        complete=result.complete,
        rows=n,
        searched_rows=len(some),
        tested_rows=len(tested.rows) if tests else 0,
        seconds=limit.elapsed,
        warnings=(*encoded.warnings, *warnings),
        given=given.schema,
    )


def _other_method(method: str) -> Problem:
    text = "tune works only for the method graph, and the method is {method}: {remedy}"
    remedy = "set `method: graph` in the schema to tune graph"
    if METHODS[method].needs_hidden_rows:
        impute = command("impute")
        remedy = (
            "it needs no tuning, because it chooses its settings on held-out cells: run "
            f"{impute}, or {remedy}"
        )
    return Problem("tune-other-method", text, method=method, remedy=remedy)


def _possible(
    encoded: Encoded, start: Settings, limits: RunSettings, *, rows: int, table: int
) -> dict[str, tuple[Value, ...]]:
    def is_possible(name: str, value: Value) -> bool:
        if value == AUTO:
            return start.folds != 0  # it chooses by held-out cells
        candidate = start.override(**{name: value})
        if candidate.k >= rows:
            return False
        try:
            check_memory(
                encoded, candidate, table=table, jobs=limits.jobs, max_memory=limits.max_memory
            )
        except ResourceError:
            return False
        return True

    return {
        name: tuple(value for value in values if is_possible(name, value))
        for name, values in CHOICES.items()
    }


def _check(encoded: Encoded, folds: Folds, *, name: str) -> None:
    cells = [encoded.candidates[:, block.columns] for block in encoded.blocks]
    informative = np.any([~part.all(axis=1) for part in cells], axis=0)
    if not informative.any():
        code, text = "table-no-cells", "{file}: every CF cell is empty: {remedy}"
        remedy = "fill in some cells; settings are chosen on them"
    elif not folds.confirming:
        code = "tune-one-group"
        text = "{file}: all rows for the search belong to one group: {remedy}"
        remedy = "add rows of other groups; the choice is tested on them"
    elif not all(
        informative[rows].any() for rows in (folds.searching, np.concatenate(folds.confirming))
    ):
        code = "table-few-cells"
        text = "{file}: too few rows have CF cells that are not empty: {remedy}"
        remedy = "add rows; some are needed to choose settings, and others to test the choice"
    else:
        return
    raise DataError(Problem(code, text, file=name, remedy=remedy))


# The page of a search of settings: a line for each trial; and what came of it, in words.
#
# Nothing on the page depends on how long the search took, so that the same trials give the same
# bytes.


@dataclass(frozen=True)
class _Line:
    number: int
    trial: Trial
    test: Gain | None  # None: not tested
    chosen: bool

    @property
    def status(self) -> str:
        marks = {"start": self.number == 1, "tested": self.test, "chosen": self.chosen}
        return ", ".join(mark for mark, holds in marks.items() if holds)


_Field: TypeAlias = AnyField[_Line]


def page(tuning: Tuning) -> Page[_Line]:
    tests = {test.trial: test.gain for test in tuning.tests}
    lines = [
        _Line(place + 1, trial, tests.get(place), trial == tuning.chosen)
        for place, trial in enumerate(tuning.trials)
    ]
    chosen = next(line.number for line in lines if line.chosen)
    facts: dict[str, Any] = {
        "version": 1,
        "cfl_version": __version__,
        "chosen": tuning.chosen.settings,
    }
    facts |= asdict(tuning)
    for left_out in ("seconds", "given"):
        facts.pop(left_out)
    facts["trials"] = [
        {"trial": number, **trial.pop("settings"), **trial}
        for number, trial in enumerate(facts["trials"], start=1)
    ]
    for test in facts["tests"]:
        test["trial"] += 1
    outcome = "settings unchanged" if chosen == 1 else f"trial {chosen} chosen"
    return Page(
        title=f"{count(len(lines), 'trial')}, {outcome}",
        fields=[
            _Field("trial", lambda line: str(line.number), right=True),
            *map(_setting, tuning.chosen.settings),
            _Field("score", lambda line: f"{line.trial.score:.4f}", right=True),
            _Field(
                "gain",
                lambda line: _signed(line.trial.gain) if line.number > 1 else "-",
                right=True,
            ),
            _Field("status", lambda line: line.status),
        ],
        facts=lines,
        notes=(),
        records=[
            {
                "trial": line.number,
                **{name: spelled(value) for name, value in line.trial.settings.items()},
                "score": line.trial.score,
                "gain": line.trial.gain.value,
                "gain_error": line.trial.gain.error,
                "tested_gain": line.test.value if line.test else None,
                "tested_gain_error": line.test.error if line.test else None,
                "chosen": str(line.chosen).lower(),
            }
            for line in lines
        ],
        json=json.dumps(facts, ensure_ascii=False, indent=2, allow_nan=False),
    )


def summary(tuning: Tuning) -> Iterator[str]:
    part = f"{tuning.searched_rows:,} of " if tuning.searched_rows < tuning.rows else ""
    yield (
        f"{count(len(tuning.trials), 'trial')} on {part}{tuning.rows:,} rows "
        f"in {tuning.seconds:.1f} s"
    )
    if not tuning.complete:
        yield "the search did not finish; a larger --budget or more --trials may find better settings"
    for test in tuning.tests:
        verdict = (
            "clearly better than the start"
            if test.passed
            else "not clearly better than the start, or worse for a CF,"
        )
        settings = _words(tuning.trials[test.trial].settings)
        yield (
            f"{settings}: {verdict} on held-out cells of "
            f"{tuning.tested_rows:,} rows that the search did not use (gain {_signed(test.gain)})"
        )
    kept = tuning.chosen is tuning.trials[0]
    yield f"{'settings unchanged' if kept else 'chosen'}: {_words(tuning.chosen.settings)}"


def _setting(name: str) -> _Field:
    return _Field(name, lambda line: spelled(line.trial.settings[name]), right=True)


def _signed(gain: Gain) -> str:
    return f"{gain.value:+.4f} ± {gain.error:.4f}"


def _words(settings: dict[str, Value]) -> str:
    return ", ".join(f"{name} {spelled(value)}" for name, value in settings.items())


# The work of `cfl tune`.


def run_tune(data: str, schema: str, out: str, given: Values, search: Values, how: Values) -> None:
    listen()
    check_is_schema(schema, data)
    text = yaml_text.file_text(tables.local(schema))
    inputs = load(schema, given, text)
    run = inputs.limits
    source = tables.Place.to_read(data, how.get("input_format"))
    target = text_target(out, [source.path], overwrite=run.overwrite)
    # Before the work: can the settings be written at all?
    edit.put(text, tuned(inputs.schema.settings), name=schema)
    table = read_table(source, how, inputs.schema, may_set_aside=True)
    warn_of_rejects(len(table.rejects), source)
    printed = target is None or not run.quiet
    with (
        files.standard_output() if printed else nullcontext(),  # which OSQP might print on
        shown_progress(quiet=run.quiet) as display,
    ):
        context = Context(source.name, display)
        limits = {name: search.get(name) for name in ("budget", "trials")}  # of the search
        result = tune_frame(table.frame, inputs, context, **limits)
    written = edit.put(text, result.chosen.settings, name=schema)
    shown, form = page(result), search.get("format", FORMAT.default)
    if target is None:
        print_out(written.encode())  # as it is, whatever the terminal's encoding
    else:
        tables.write_text(written, target, overwrite=run.overwrite)
    if run.quiet:
        return
    if target is None:
        note(*render(shown, form).splitlines())
    else:
        print_out(drawn(shown, form, None))
    warn(*result.warnings)
    note(*summary(result))
