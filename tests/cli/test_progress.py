import json
import sys
from collections import Counter
from datetime import datetime
from functools import partial

import pytest

from cfl_cli.cli.log import Log
from cfl_cli.cli.progress import Display, Outlook, shown_progress
from cfl_cli.core.progress import Expected, Stage, Team, Work, heard_by

FIND = Stage("round 1: neighbors", Work.NEIGHBORS, "round 1, finding neighbors")
JUDGE = Stage("judge", Work.JUDGE, "judging the answers")
NOON = datetime(2026, 5, 4, 12, 4, 31)  # noqa: DTZ001 — its zone is not shown


class Clock:
    def __init__(self):
        self.now = 7.0

    def __call__(self):
        return self.now


def run(*, seconds, form="text", fail=False, quiet=False):
    """Run two stages of equal length, in steps of a tenth of the time."""
    clock = Clock()
    shown = partial(Display, log=Log(form, now=lambda: NOON), clock=clock)
    with shown_progress(shown, quiet=quiet) as display:
        heard_by(display, "expect")([Expected(FIND, 10.0), Expected(JUDGE, 10.0)])
        for stage in (FIND, JUDGE):
            display(stage, 0, 5)
            for done in range(1, 6):
                clock.now += seconds / 10
                display(stage, done, 5)
        if fail:
            raise KeyboardInterrupt


def test_a_quick_run_and_a_quiet_one_show_nothing(capsys):
    run(seconds=0.9)
    run(seconds=100, quiet=True)
    assert capsys.readouterr() == ("", "")


def test_the_time_left_is_not_guessed_before_anything_is_done(capsys):
    clock = Clock()
    with Display(log=Log(now=lambda: NOON), clock=clock) as display:
        display.expect([Expected(FIND, 10.0)])
        clock.now += 3
        display(FIND, 0, 5)
    first, _ = capsys.readouterr().err.splitlines()
    assert first == "12:04:31 round 1, finding neighbors: 0 % of the run"


def test_lines_have_a_clock_the_stage_the_share_and_the_time_left(capsys):
    run(seconds=40)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "12:04:31 round 1, finding neighbors: 10 % of the run, about 36 s left"
    assert lines[-2] == "12:04:31 judging the answers: 90 % of the run, about 4 s left"
    assert lines[-1] == "12:04:31 done: 100 % of the run in 40 s"


@pytest.mark.parametrize(("seconds", "lines"), [(9, 3), (40, 6), (600, 11)])
def test_there_is_at_most_a_line_every_five_seconds(capsys, seconds, lines):
    run(seconds=seconds)
    assert len(capsys.readouterr().err.splitlines()) == lines


def test_json_tells_the_same_as_text(capsys):
    run(seconds=40, form="json")
    events = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert {event["level"] for event in events} == {"info"}
    assert (events[0]["stage"], events[0]["message"]) == (
        "round 1, finding neighbors",
        "10 % of the run, about 36 s left",
    )
    assert events[-1]["message"] == "100 % of the run in 40 s"


def test_a_run_that_fails_does_not_claim_to_be_done(capsys):
    with pytest.raises(KeyboardInterrupt):
        run(seconds=40, fail=True)
    assert "100 %" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "words"), [(40, "36 s left"), (1000, "15 min left"), (50_000, "12 h 30 min left")]
)
def test_the_time_left_is_no_more_exact_than_an_estimate(capsys, seconds, words):
    run(seconds=seconds)
    assert words in capsys.readouterr().err.splitlines()[0]


@pytest.mark.parametrize("columns", [80, 120])
def test_a_terminal_has_one_bar_in_one_line(monkeypatch, capsys, columns):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    run(seconds=40)
    drawn = capsys.readouterr().err
    assert "done:" not in drawn
    assert "12:04:31" not in drawn
    assert "% " in drawn
    assert "left" in drawn


def test_json_is_lines_on_a_terminal_too(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    run(seconds=40, form="json")
    assert all(json.loads(line) for line in capsys.readouterr().err.splitlines())


def test_lines_say_how_many_workers_are_at_work(capsys):
    clock, team = Clock(), Team()
    with Display(log=Log(now=lambda: NOON), clock=clock) as display:
        display.meet(team)
        for workers in ((), ("b", "a"), ("a",)):
            clock.now += 10
            team.at_work = {*workers}
            display(FIND, 0, 5)
    none, two, one, _ = capsys.readouterr().err.splitlines()
    assert none == "12:04:31 round 1, finding neighbors: 0 % of the run"
    assert two.endswith("of the run, 2 workers")
    assert one.endswith("of the run, 1 worker")


def test_a_bar_has_a_line_of_what_each_worker_has_done(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    team = Team({"a", "b"}, Counter(a=1200, b=7, dead=3))
    clock = Clock()
    with Display(log=Log(now=lambda: NOON), clock=clock) as display:
        display.meet(team)
        clock.now += 10
        display(FIND, 1, 5)
    assert "2 workers, tasks done: 1,200, 7" in capsys.readouterr().err


NEAREST, WEIGH = Stage("one: neighbors", Work.NEIGHBORS), Stage("one: weights", Work.WEIGHTS)
AGAIN, JUDGED = Stage("two: neighbors", Work.NEIGHBORS), Stage("judge", Work.JUDGE)
AHEAD = [
    Expected(NEAREST, 10.0),
    Expected(WEIGH, 20.0),
    Expected(AGAIN, 30.0),
    Expected(JUDGED, 40.0),
]


class Run:
    """An outlook whose clock is moved by hand."""

    def __init__(self, ahead=AHEAD):
        self.now = 50.0
        self.outlook = Outlook(lambda: self.now)
        self.outlook.ahead = tuple(ahead)

    @property
    def share(self):
        return self.outlook.look()[0]

    @property
    def left(self):
        return self.outlook.look()[1]

    @property
    def is_known(self):
        return self.outlook.look()[2]

    def work(self, stage, seconds, *, steps=10, most=10):
        """Work on a stage, and return what share was shown at every step."""
        shares = []
        self.outlook.note(stage, 0, steps)
        for done in range(1, most + 1):
            self.now += seconds / steps
            self.outlook.note(stage, done, steps)
            shares.append(self.share)
        return shares


def test_a_run_as_expected_is_as_far_as_its_time_says():
    run = Run()
    assert (run.share, run.left) == (0, 100)
    run = Run()
    run.work(NEAREST, 10)
    assert run.share == pytest.approx(0.1)
    run.work(WEIGH, 20, most=5)
    assert run.share == pytest.approx(0.2)
    assert run.left == pytest.approx(80)


def test_stages_may_be_left_out_be_new_or_come_several_times():
    run = Run()
    run.work(NEAREST, 10)
    run.outlook.note(JUDGED, 0, 1)
    assert run.left == pytest.approx(40)
    run = Run()
    run.work(NEAREST, 10)
    run.work(Stage("new", Work.JUDGE), 5, most=5)
    assert run.left == pytest.approx(2.5 + 20 + 30 + 40)
    run = Run([Expected(NEAREST, 10.0), Expected(WEIGH, 10.0), Expected(NEAREST, 10.0)])
    run.work(NEAREST, 10)
    run.work(WEIGH, 10)
    run.work(NEAREST, 10, most=5)
    assert run.left == pytest.approx(5)


@pytest.mark.parametrize("pace", [0.1, 1.0, 7.0])
def test_the_share_never_goes_back_and_ends_at_all(pace):
    run = Run()
    shares = run.work(NEAREST, 10)
    for stage, seconds in ((WEIGH, 20), (Stage("extra", Work.WEIGHTS), 50), (AGAIN, 30)):
        shares += run.work(stage, pace * seconds)
    shares += run.work(JUDGED, 90)
    assert shares == sorted(shares)
    assert shares[-1] <= 0.99
    run.outlook.ended = run.now
    assert (run.share, run.left) == (1, 0)


def test_a_stage_that_takes_longer_than_expected_is_not_about_to_end():
    run = Run([Expected(NEAREST, 10.0), Expected(JUDGED, 5.0)])
    run.work(NEAREST, 10)
    run.outlook.note(JUDGED, 0, 2)
    run.now += 120
    assert run.left == pytest.approx(60)
    assert run.share < 0.7


def test_what_is_expected_can_be_told_again_and_better():
    run = Run([Expected(NEAREST, 10.0), Expected(WEIGH, 20.0)])
    run.work(NEAREST, 30, most=5)  # half of it took 15 s
    assert run.left == pytest.approx(15 + 3 * 20)
    run.outlook.expect([Expected(NEAREST, 30.0), Expected(JUDGED, 40.0)])
    assert run.left == pytest.approx(15 + 40)
    run.outlook.note(JUDGED, 0, 1)
    assert run.outlook.ahead == ()


def test_silence_is_never_said_to_end_in_a_second():
    clock = Clock()
    outlook = Outlook(clock)
    outlook.expect([Expected(FIND, 10.0)])
    outlook.note(FIND, 0, 10)
    clock.now += 9
    outlook.note(FIND, 9, 10)
    assert outlook.look()[1] == pytest.approx(1)
    clock.now += 120
    outlook.note(FIND, 9, 10)
    assert outlook.look()[1] >= 60
