import pytest

from cfl_cli.core.progress import Expected, Stage, Stages, Work, forecast

NEAR = Stage("round 1: neighbors", Work.NEIGHBORS, "round 1, finding neighbors")
WALK = Stage("round 1: propagation", Work.PROPAGATION)
TREES = Stage("boosting", Work.BOOSTING)


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_every_stage_is_timed_and_passed_on():
    clock, heard = Clock(), []
    stages = Stages(lambda *news: heard.append(news), clock=clock)
    for stage, done, seconds in ((NEAR, 0, 2), (NEAR, 5, 3), (WALK, 0, 4), (NEAR, 0, 1)):
        stages(stage, done, 5)
        clock.now += seconds
    assert heard == [(NEAR, 0, 5), (NEAR, 5, 5), (WALK, 0, 5), (NEAR, 0, 5)]
    assert stages.spent() == {NEAR: 6, WALK: 4}
    assert stages.seconds() == {"round 1: neighbors": 6, "round 1: propagation": 4}
    assert Stages().seconds() == {}


def test_a_forecast_scales_every_stage_by_its_kind_of_work():
    assert forecast({WALK: 2.0}, rows=1000, more=8000) == 16
    with_fixed = forecast({TREES: 2.0}, rows=1000, more=8000)
    assert 2 < with_fixed < 16  # as many trees are grown for few rows as for many
    both = forecast({WALK: 2.0, TREES: 2.0}, rows=1000, more=8000)
    assert both == pytest.approx(16 + with_fixed)
    assert forecast({}, rows=1000, more=8000) == 0
    assert forecast({WALK: 2.0, TREES: 3.0, NEAR: 1.0}, rows=500, more=500) == pytest.approx(6)


def test_what_is_expected_of_a_stage_follows_the_same_growth():
    for stage in (NEAR, WALK, TREES):
        few, many = (Expected.of(stage, rows, 1e-3).seconds for rows in (2000, 15_000))
        assert forecast({stage: few}, rows=2000, more=15_000) == pytest.approx(many)


@pytest.mark.parametrize(
    ("work", "measured"),
    [
        *((Work.NEIGHBORS, 18.2), (Work.WEIGHTS, 19.5), (Work.PROPAGATION, 24.2)),
        (Work.BOOSTING, 13.9),
        (Work.NETWORK, 3.8),
    ],
)
def test_the_growth_is_about_what_was_measured_from_2000_to_45211_rows(work, measured):
    grown = forecast({Stage("", work): 1.0}, rows=2000, more=45_211)
    assert grown == pytest.approx(measured, rel=0.1)
