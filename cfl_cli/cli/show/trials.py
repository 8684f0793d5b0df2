"""The page of a search of settings: a line for each trial; and what came of it, in words.

Nothing on the page depends on how long the search took, so that the same trials give the same
bytes.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TypeAlias

from cfl_cli import __version__
from cfl_cli.cli.show.page import Field as AnyField
from cfl_cli.cli.show.page import Page
from cfl_cli.core.messages import count
from cfl_cli.core.quick import dataclass
from cfl_cli.jobs.search import Trial
from cfl_cli.jobs.tune import Tuning
from cfl_cli.schema.edit import Value, spelled
from cfl_cli.trust.intervals import Gain


@dataclass(frozen=True)
class Line:
    """A trial, its number from 1, and what was done with it."""

    number: int
    trial: Trial
    test: Gain | None  # None: not tested
    chosen: bool

    @property
    def status(self) -> str:
        """Return what was done with the trial, in words."""
        marks = {"start": self.number == 1, "tested": self.test, "chosen": self.chosen}
        return ", ".join(mark for mark, holds in marks.items() if holds)


Field: TypeAlias = AnyField[Line]


def page(tuning: Tuning) -> Page[Line]:
    """Return what there is to show of a search."""
    tests = {test.trial: test.gain for test in tuning.tests}
    lines = [
        Line(place + 1, trial, tests.get(place), trial == tuning.chosen)
        for place, trial in enumerate(tuning.trials)
    ]
    chosen = next(line.number for line in lines if line.chosen)
    outcome = "the start kept" if chosen == 1 else f"trial {chosen} chosen"
    return Page(
        title=f"{count(len(lines), 'trial')}, {outcome}",
        fields=[
            Field("trial", lambda line: str(line.number), right=True),
            *map(_setting, tuning.chosen.settings),
            Field("score", lambda line: f"{line.trial.score:.4f}", right=True),
            Field("gain", _gain, right=True),
            Field("status", lambda line: line.status),
        ],
        facts=lines,
        notes=(),
        records=[_flat(line) for line in lines],
        json=_json(tuning),
    )


def summary(tuning: Tuning) -> Iterator[str]:
    """Yield in words what was done and what came of it, a line each."""
    part = f"{tuning.searched_rows:,} of " if tuning.searched_rows < tuning.rows else ""
    yield (
        f"{count(len(tuning.trials), 'trial')} on {part}{tuning.rows:,} rows "
        f"in {tuning.seconds:.1f} s"
    )
    if not tuning.complete:
        yield "the search did not finish: more --budget or --trials may find better settings"
    for test in tuning.tests:
        verdict = (
            "accepted: a clear gain"
            if test.passed
            else "rejected: no clear gain, or a loss for some CF,"
        )
        settings = _words(tuning.trials[test.trial].settings)
        yield (
            f"{settings}: {verdict} on cells that the search did not use, of "
            f"{tuning.tested_rows:,} rows: gain {_signed(test.gain)}"
        )
    kept = tuning.chosen is tuning.trials[0]
    yield f"{'kept' if kept else 'chosen'}: {_words(tuning.chosen.settings)}"


def _setting(name: str) -> Field:
    """Return the column of a setting."""
    return Field(name, lambda line: spelled(line.trial.settings[name]), right=True)


def _gain(line: Line) -> str:
    return _signed(line.trial.gain) if line.number > 1 else "-"


def _signed(gain: Gain) -> str:
    return f"{gain.value:+.4f} ± {gain.error:.4f}"


def _words(settings: dict[str, Value]) -> str:
    return ", ".join(f"{name}: {spelled(value)}" for name, value in settings.items())


def _flat(line: Line) -> dict[str, object]:
    """Return the trial's facts as one record: nothing nested."""
    trial, test = line.trial, line.test
    return {
        "trial": line.number,
        **{name: spelled(value) for name, value in trial.settings.items()},
        "score": trial.score,
        "gain": trial.gain.value,
        "gain_error": trial.gain.error,
        "tested_gain": test.value if test else None,
        "tested_gain_error": test.error if test else None,
        "chosen": str(line.chosen).lower(),
    }


def _json(tuning: Tuning) -> str:
    facts = asdict(tuning)
    facts.pop("seconds")
    facts.pop("given")
    facts["trials"] = [
        {"trial": number, **trial.pop("settings"), **trial}
        for number, trial in enumerate(facts["trials"], start=1)
    ]
    for test in facts["tests"]:
        test["trial"] += 1
    chosen = tuning.chosen.settings
    whole = {"version": 1, "cfl_version": __version__, "chosen": chosen, **facts}
    return json.dumps(whole, ensure_ascii=False, indent=2, allow_nan=False)
