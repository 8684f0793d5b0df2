import json
import pickle
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from builders.command_line import ROWS, SCHEMA
from builders.reports import column, report
from typer.testing import CliRunner

from cfl_cli.cli.app import app
from cfl_cli.cli.log import LOG, Log, asked_for
from cfl_cli.cli.outputs import Outputs, note_rejects, summarise
from cfl_cli.core.messages import cells_filled
from cfl_cli.encode.columns import CellCounts, Unusual
from cfl_cli.errors import Problem, Warned
from cfl_cli.tables.table import Place

NOON = datetime(2026, 5, 4, 12, 4, 31, 250_000, tzinfo=timezone(timedelta(hours=2)))


def everything(log):
    log.note("out.csv: 6 rows")
    log.warning("column 'x': odd")
    log.error("data.csv: not there")
    log.say("info", "45 % of the run, about 20 s left", stage="round 1, finding neighbors")


def test_text_has_a_line_per_message_and_progress_has_a_clock(capsys):
    everything(Log(now=lambda: NOON))
    assert capsys.readouterr().err.splitlines() == [
        "out.csv: 6 rows",
        "warning: column 'x': odd",
        "cfl: data.csv: not there",
        "12:04:31 round 1, finding neighbors: 45 % of the run, about 20 s left",
    ]


def test_json_has_an_object_per_line_with_time_level_command_stage_and_message(capsys):
    everything(Log("json", command="impute", now=lambda: NOON))
    captured = capsys.readouterr()
    assert captured.out == ""
    time, stage = "2026-05-04T12:04:31.250+02:00", "round 1, finding neighbors"
    progress = "45 % of the run, about 20 s left"
    names = ("time", "level", "command", "stage", "message")
    assert [json.loads(line) for line in captured.err.splitlines()] == [
        dict(zip(names, (time, level, "impute", at, message), strict=True))
        for level, at, message in (
            ("info", None, "out.csv: 6 rows"),
            ("warning", None, "column 'x': odd"),
            ("error", None, "data.csv: not there"),
            ("info", stage, progress),
        )
    ]


def test_a_problem_and_a_warning_have_what_they_are_about_as_fields(capsys):
    log = Log("json")
    text = "{file}: column {column!r}: {value!r} (row {row}) is odd: {remedy}"
    log.error(Problem("odd", text, file="a.csv", row=3, column="x", value="7", remedy="mend it"))
    log.warning(Warned("column 'x': 2 missing cells filled in", "filled-in", "x"), file="a.csv")
    problem, warning = (json.loads(line) for line in capsys.readouterr().err.splitlines())
    assert problem["message"] == "a.csv: column 'x': '7' (row 3) is odd: mend it"
    facts = ("event", "file", "code", "place", "column", "value", "remedy")
    place = {"file": "a.csv", "row": 3}
    assert [problem[name] for name in facts] == [
        "problem", "a.csv", "odd", place, "x", "7", "mend it",
    ]  # fmt: skip
    facts = ("level", "event", "file", "code", "column")
    assert [warning[name] for name in facts] == ["warning", "warning", "a.csv", "filled-in", "x"]
    again = pickle.loads(pickle.dumps(Warned("a", "b", "c")))
    assert (again, again.code, again.column) == ("a", "b", "c")


def test_the_time_has_a_zone(capsys):
    Log("json").note("now")
    time = datetime.fromisoformat(json.loads(capsys.readouterr().err)["time"])
    assert abs(datetime.now(UTC) - time) < timedelta(minutes=1)


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_message_steers_a_terminal_or_breaks_a_line(form, capsys):
    Log(form).error("a\x1b[31m\nb é")
    written = capsys.readouterr().err
    assert "\x1b" not in written
    assert len(written.splitlines()) == 1


def test_nobody_listening_is_no_failure(monkeypatch):
    class Closed:
        def isatty(self):
            return True

        def fileno(self):
            raise OSError

        def write(self, _):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Closed())
    Log().note("unheard")


def test_a_traceback_is_one_event_too(capsys):
    try:
        raise ValueError("gone")
    except ValueError as error:
        Log().trace(error)
        Log("json").trace(error)
    *text, last = capsys.readouterr().err.splitlines()
    assert text[-1] == "ValueError: gone"
    event = json.loads(last)
    assert event["level"] == "error"
    assert event["message"].splitlines()[-1] == "ValueError: gone"


@pytest.mark.parametrize(
    ("arguments", "variable", "expected"),
    [
        (["impute", "--log-format", "json"], "", "json"),
        (["impute", "--log-format=json", "--k", "no"], "", "json"),
        (["impute", "--log-format", "json", "--log-format", "text"], "json", "text"),
        (["impute", "--log-format"], "", "text"),
        (["impute", "json"], "", "text"),
        (["impute"], "json", "json"),
    ],
)
def test_the_format_is_known_before_options_are_read(monkeypatch, arguments, variable, expected):
    monkeypatch.setenv("CFL_LOG_FORMAT", variable)
    assert asked_for(arguments) == expected


@pytest.mark.parametrize(
    "arguments",
    [
        ["impute", "--k", "twenty", "none.csv", "-s", "none.yml", "-o", "out.csv"],
        ["impute", "none.csv", "-s", "none.yml", "-o", "out.csv", "-v"],
        ["impute", "--unknown"],
        ["unknown"],
    ],
)
def test_errors_are_json_and_nothing_else(arguments):
    result = CliRunner().invoke(app, [*arguments, "--log-format", "json"])
    assert result.exit_code > 0
    events = [json.loads(line) for line in result.stderr.splitlines()]
    assert events[0]["level"] == "error"
    assert {*events[0]} == {
        "time", "level", "command", "stage", "message", "event",
        "file", "code", "place", "column", "value", "remedy",
    }  # fmt: skip
    assert ("--k" in arguments) == (events[0]["code"] == "setting-wrong")
    assert events[0]["command"] == (None if arguments == ["unknown"] else "impute")
    assert LOG.format == "json"
    CliRunner().invoke(app, ["--version"])
    assert LOG.format == "text"


def test_as_json_a_run_and_the_verdict_on_each_cf_are_fields(monkeypatch, capsys):
    monkeypatch.setattr(LOG, "format", "json")
    facts = report(column("a"), timings={"encode": 1.0, "decode": 2.0})
    summarise(facts, "out.csv", None)
    run, verdict = (json.loads(line) for line in capsys.readouterr().err.splitlines())
    assert [run[name] for name in ("event", "file", "rows", "cfs", "seconds")] == [
        "imputed", "out.csv", 1234, ["a"], 3.0,
    ]  # fmt: skip
    names = ("event", "file", "cf", "verdict", "reasons", "next", "accuracy", "flags", "action")
    assert [verdict[name] for name in names] == [
        "verdict", "out.csv", "a", "not-known", ["not-measured"], None, None, [], "imputed",
    ]  # fmt: skip
    assert verdict["message"] == "a: its accuracy is not known. Do not rely on it yet."
    summarise(facts, "m.cfl", None, fitted=True)
    assert json.loads(capsys.readouterr().err.splitlines()[0])["event"] == "fitted"


def test_the_summary_says_rows_time_and_flagged_cfs_after_the_warnings(capsys):
    facts = report(column(), column("ward"), warnings=("odd",), timings={"encode": 1, "decode": 2})
    summarise(facts, "out.csv", None)
    assert capsys.readouterr().err.splitlines()[:3] == [
        "warning: odd",
        "out.csv: 1,234 rows, 2 CFs in 3.0 s",
        "To count values, use `cfl tabulate`: counts of imputed values are biased.",
    ]
    flagged = column(flags=("exclusions-not-uniform",), flagged=True)
    summarise(report(flagged), "out.csv", Path("out.csv"))
    *_, line, last = capsys.readouterr().err.splitlines()
    assert line.split("  ")[:2] == ["job", "not known"]
    assert line.endswith("not ruled out at random")
    assert last == "Next, for job: cfl audit OUT --draw 100 --out rows.csv. All figures: --details"


def test_many_columns_with_missing_cells_get_one_line(capsys):
    missing = {f"of {number}": number for number in range(1, 61)}
    warnings = ("odd", *(cells_filled(*one) for one in missing.items()))
    assert warnings[1:] == Unusual({of: CellCounts(99, n) for of, n in missing.items()}).warnings
    summarise(report(column(), warnings=warnings, missing_cells=missing), "out.csv", None)
    assert capsys.readouterr().err.splitlines()[:2] == [
        "warning: 60 columns had missing cells, which were filled in: see --details",
        "warning: odd",
    ]


def test_bad_records_are_counted_with_their_place(capsys):
    outputs = Outputs.without_report(Place.to_write("out.csv"), reject=True)
    source = Place.to_read("data.csv")
    note_rejects(outputs, 0, source)
    assert capsys.readouterr().err == ""
    note_rejects(outputs, 2, source)
    said = "out.csv.rejects.csv: 2 bad records of data.csv set aside\n"
    assert capsys.readouterr().err == said


SUCCESS = [  # in this order, each with an event of its log
    ("init data.csv --cf cf --out drafted.yml --delimiter ,", None),
    ("check data.csv -s schema.yml", "checked"),
    ("impute data.csv -s schema.yml -o out.csv --diagnostics cells.csv", "verdict"),
    ("impute gaps.csv -s schema.yml -o gaps_out.csv", "warning"),
    ("fit data.csv -s schema.yml --model m.cfl", "model"),
    ("apply data.csv --model m.cfl -o applied.csv --history h.jsonl", "batch"),
    ("report out.csv", None),
    ("explain out.csv --row 1", None),
    ("suspects out.csv", None),
    ("audit out.csv --draw 3 --out rows.csv", "next"),
    ("audit out.csv --checked checked.csv", "audited"),
    ("evaluate out.csv --truth truth.csv -s schema.yml", None),
    ("mask truth.csv -s schema.yml -o masked.csv", "masked"),
    ("tune data.csv -s schema.yml --out tuned.yml --trials 2 --budget 1", "tuned"),
    ("risk data.csv -s schema.yml --method graph", None),
    ("tabulate data.csv -s schema.yml --cf cf", None),
    ("run data.csv --cf cf --method graph --out ran.csv", "schema"),
    ("impute data.csv gaps.csv -s schema.yml -o all/", "tables"),
]
FAULTS = [  # the command, its exit code, and the code and the column of its first problem
    ("check bad.csv -s schema.yml", 1, "not-in-domain", "cf"),
    ("impute bad.csv -s schema.yml -o o.csv", 1, "not-in-domain", "cf"),
    ("check data.csv -s wrong.yml", 1, "no-column", "z"),
    ("impute data.csv -s broken.yml -o o.csv", 1, None, "x"),
    ("check none.csv -s schema.yml", 1, "file-unreadable", None),
    ("apply data.csv --model data.csv -o o.csv", 1, "model-other-file", None),
    ("report data.csv", 1, "report-missing", None),
    ("impute data.csv -s schema.yml -o none/o.csv", 2, "out-no-directory", None),
    ("impute data.csv -s schema.yml -o data.csv", 2, "out-is-input", None),
    ("impute data.csv -s schema.yml -o o.csv --max-memory 1kB", 4, None, None),
    ("impute data.csv -s schema.yml -o o.csv --k 0", 2, "setting-wrong", None),
    ("impute data.csv --nothing", 2, "command-line", None),
    ("impute noise.csv -s schema.yml -o o.csv --fail-on any", 3, "failing-flags", None),
]


def events_of(command):
    result = CliRunner().invoke(app, [*command.split(), "--log-format", "json"])
    events = [json.loads(line) for line in result.stderr.splitlines()]
    for event in events:
        assert {"time", "level", "command", "stage", "message"} <= {*event}
        assert event["command"] == command.split()[0]
        assert isinstance(event["message"], str)
    return result, events


@pytest.fixture
def tables_of_each_kind(folder, learning_quickly):
    head, *rows = ROWS
    (folder / "data.csv").write_text("\n".join([head, *rows * 3]) + "\n")
    (folder / "bad.csv").write_text("\n".join([head, *rows, "1,2,zzz"]) + "\n")
    (folder / "gaps.csv").write_text("\n".join([head, *rows, "1,,a"]) + "\n")
    noise = [f"{n},{n * 7 % 11},{'abc'[n * n % 5 % 3]}" for n in range(40)]
    (folder / "noise.csv").write_text("\n".join([head, *noise]) + "\n")
    (folder / "truth.csv").write_text("\n".join([head, *rows * 3]) + "\n")
    (folder / "wrong.yml").write_text(SCHEMA.replace("  y:", "  z:"))
    (folder / "broken.yml").write_text(SCHEMA.replace("numeric}", "numric}"))
    return folder


def test_each_command_writes_nothing_but_objects_to_a_log_in_json(tables_of_each_kind):
    for command, expected in SUCCESS:
        if "--checked" in command:
            rows = Path("rows.csv").read_text().splitlines()
            at = rows[0].split(",").index("cf")
            filled = [row.split(",") for row in rows[1:]]
            filled = [",".join([*row[:at], "a", *row[at + 1 :]]) for row in filled]
            Path("checked.csv").write_text("\n".join([rows[0], *filled]) + "\n")
        result, events = events_of(command)
        assert result.exit_code in (0, 1), (command, result.output)
        assert expected is None or expected in [one.get("event") for one in events], command
    result, (*_, last) = events_of("check gaps.csv -s schema.yml")
    assert result.stdout == ""
    facts = ("event", "problems", "warnings", "rows")
    assert [last[name] for name in facts] == ["checked", 0, 1, 13]


def test_each_fault_is_an_object_with_what_it_is_about(tables_of_each_kind):
    for command, exit_code, code, of in FAULTS:
        result, events = events_of(command)
        assert result.exit_code == exit_code, (command, result.output)
        problem = next(one for one in events if one["level"] == "error")
        assert {"code", "place", "column", "value", "remedy"} <= {*problem}, command
        assert code in (None, problem["code"]), command
        assert problem["column"] == of, command
