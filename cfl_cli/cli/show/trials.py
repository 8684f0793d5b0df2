"""What a search of settings tried, as people and programs read it: table, JSON, CSV or Markdown.

Nothing here depends on how long the search took, so that the same trials give the same bytes.
"""

import csv
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict

from cfl_cli import __version__
from cfl_cli.jobs.tune import CHOICES, Tuning, Value
from cfl_cli.schema.edit import spelled
from cfl_cli.trust.intervals import Gain

HEADINGS = ("trial", *CHOICES, "score", "gain", "")


def table(tuning: Tuning) -> str:
    """Return a line per trial, in columns."""
    rows = [HEADINGS, *_rows(tuning)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=False))
        + f"  {row[-1]}"
        for row in rows
    )
    return "".join(f"{line.rstrip()}\n" for line in lines)


def markdown(tuning: Tuning) -> str:
    """Return the trials as a Markdown table."""
    rows = [HEADINGS, ["---:"] * (len(HEADINGS) - 1) + ["---"], *_rows(tuning)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def comma_separated(tuning: Tuning) -> str:
    """Return a CSV record per trial."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = ("gain", "gain_error", "tested_gain", "tested_gain_error")
    writer.writerow(["trial", *CHOICES, "score", *names, "chosen"])
    tests = {test.trial: [test.gain.value, test.gain.error] for test in tuning.tests}
    for number, trial in enumerate(tuning.trials):
        facts = [trial.score, trial.gain.value, trial.gain.error, *tests.get(number, ["", ""])]
        chosen = str(trial == tuning.chosen).lower()
        writer.writerow([number + 1, *map(spelled, trial.settings.values()), *facts, chosen])
    return text.getvalue()


def json_text(tuning: Tuning) -> str:
    """Return everything as one JSON object."""
    facts = asdict(tuning)
    facts.pop("seconds")
    facts["trials"] = [
        {"trial": number, **trial.pop("settings"), **trial}
        for number, trial in enumerate(facts["trials"], start=1)
    ]
    for test in facts["tests"]:
        test["trial"] += 1
    chosen = tuning.chosen.settings
    whole = {"version": 1, "cfl_version": __version__, "chosen": chosen, **facts}
    return json.dumps(whole, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


FORMATS: dict[str, Callable[[Tuning], str]] = {
    "table": table,
    "json": json_text,
    "csv": comma_separated,
    "md": markdown,
}


def summary(tuning: Tuning) -> Iterator[str]:
    """Yield in words what was done and what came of it, a line each."""
    yield from (f"warning: {warning}" for warning in tuning.warnings)
    count = len(tuning.trials)
    part = f"{tuning.searched_rows:,} of " if tuning.searched_rows < tuning.rows else ""
    yield (
        f"{count} trial{'s' if count > 1 else ''} on {part}{tuning.rows:,} rows "
        f"in {tuning.seconds:.1f} s"
    )
    if not tuning.complete:
        yield "the search was not at its end: more --budget or --trials may find better settings"
    for test in tuning.tests:
        verdict = "clearly better" if test.passed else "not clearly better, or worse for a CF,"
        settings = _words(tuning.trials[test.trial].settings)
        yield (
            f"{settings}: {verdict} on cells that the search did not use, of "
            f"{tuning.tested_rows:,} rows: gain {_signed(test.gain)}"
        )
    kept = tuning.chosen is tuning.trials[0]
    yield f"{'kept' if kept else 'chosen'}: {_words(tuning.chosen.settings)}"


def _rows(tuning: Tuning) -> Iterator[list[str]]:
    tested = {test.trial for test in tuning.tests}
    for number, trial in enumerate(tuning.trials):
        marks = {
            "start": number == 0,
            "tested": number in tested,
            "chosen": trial == tuning.chosen,
        }
        yield [
            str(number + 1),
            *map(spelled, trial.settings.values()),
            f"{trial.score:.4f}",
            _signed(trial.gain) if number else "-",
            ", ".join(mark for mark, so in marks.items() if so),
        ]


def _signed(gain: Gain) -> str:
    return f"{gain.value:+.4f} ± {gain.error:.4f}"


def _words(settings: dict[str, Value]) -> str:
    return ", ".join(f"{name}: {spelled(value)}" for name, value in settings.items())
