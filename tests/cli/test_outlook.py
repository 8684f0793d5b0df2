import pytest

from cfl_cli.cli.progress import Outlook
from cfl_cli.core.progress import Expected, Stage, Work

FIND, WEIGH = Stage("one: neighbors", Work.NEIGHBORS), Stage("one: weights", Work.WEIGHTS)
AGAIN, JUDGE = Stage("two: neighbors", Work.NEIGHBORS), Stage("judge", Work.JUDGE)
AHEAD = [Expected(FIND, 10.0), Expected(WEIGH, 20.0), Expected(AGAIN, 30.0), Expected(JUDGE, 40.0)]


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
    run.work(FIND, 10)
    assert run.share == pytest.approx(0.1)
    run.work(WEIGH, 20, most=5)
    assert run.share == pytest.approx(0.2)
    assert run.left == pytest.approx(80)


def test_the_pace_is_that_of_all_stages_so_far_and_of_the_first_in_part():
    run = Run()
    run.work(FIND, 30, most=3)
    assert run.left == pytest.approx(300 - 9)
    run = Run()
    run.work(FIND, 20)  # twice as long as expected
    run.work(WEIGH, 10)  # half as long
    run.outlook.note(AGAIN, 0, 1)
    assert run.left == pytest.approx(30 + 40)


def test_time_passes_within_a_stage_that_says_nothing():
    run = Run([Expected(FIND, 10.0), Expected(WEIGH, 10.0)])
    run.work(FIND, 10)
    run.outlook.note(WEIGH, 0, 1)
    run.now += 4
    assert run.left == pytest.approx(6)
    run.now += 100
    assert run.left == 0
    assert run.share == 0.99


def test_nothing_is_claimed_before_a_pace_was_seen_which_first_rows_do_not_show():
    run = Run()
    run.now += 1000  # to read the table, and to load packages
    run.outlook.note(FIND, 0, 10)
    assert (run.is_known, run.share) == (False, 0)
    run.work(FIND, 10)
    assert run.is_known
    assert run.left == pytest.approx(90)
    run = Run()
    run.outlook.note(FIND, 1, 1000)
    run.now += 300
    assert not run.is_known
    run.outlook.note(FIND, 10, 1000)
    assert run.is_known


def test_stages_may_be_left_out_be_new_or_come_several_times():
    run = Run()
    run.work(FIND, 10)
    run.outlook.note(JUDGE, 0, 1)
    assert run.left == pytest.approx(40)
    run = Run()
    run.work(FIND, 10)
    run.work(Stage("new", Work.PILOT), 5, most=5)
    assert run.left == pytest.approx(2.5 + 20 + 30 + 40)
    run = Run([Expected(FIND, 10.0), Expected(WEIGH, 10.0), Expected(FIND, 10.0)])
    run.work(FIND, 10)
    run.work(WEIGH, 10)
    run.work(FIND, 10, most=5)
    assert run.left == pytest.approx(5)


@pytest.mark.parametrize("pace", [0.1, 1.0, 7.0])
def test_the_share_never_goes_back_and_ends_at_all(pace):
    run = Run()
    shares = run.work(FIND, 10)
    for stage, seconds in ((WEIGH, 20), (Stage("extra", Work.WEIGHTS), 50), (AGAIN, 30)):
        shares += run.work(stage, pace * seconds)
    shares += run.work(JUDGE, 90)
    assert shares == sorted(shares)
    assert shares[-1] <= 0.99
    run.outlook.ended = run.now
    assert (run.share, run.left) == (1, 0)
