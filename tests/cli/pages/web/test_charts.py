from itertools import combinations

import numpy as np
import pytest
from builders.reports import column
from builders.web_reports import full_column, history
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.cli.pages import Dot, Surroundings
from cfl_cli.cli.pages.history import courses_of
from cfl_cli.cli.pages.web import charts, picture
from cfl_cli.cli.pages.web.charts import LEFT, LETTER, LINE, RIGHT, TOP, Point, Tick
from cfl_cli.methods.interface import Tried
from cfl_cli.trust.heldout import Bin, Calibration
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.report import Coverage


@given(st.floats(-1e12, 1e12), st.floats(0, 1e12), st.integers(2, 8))
def test_round_numbers_are_few_and_within_the_range(low, width, most):
    found = charts.round_numbers(low, low + width, most)
    assert 1 <= len(found) <= max(most, 2)
    room = 1e-6 * max(abs(low), abs(low + width), 1)
    low, high = (min(max(x, -charts.FARTHEST), charts.FARTHEST) for x in (low, low + width))
    assert all(low - room <= number <= high + room for number in found)


def test_numbers_at_an_axis_are_round_few_and_apart():
    assert charts.round_numbers(0, 1) == pytest.approx((0, 0.5, 1))
    assert charts.round_numbers(1, 12) == (5, 10)
    assert charts.round_numbers(3, 3) == (3,)
    assert charts.thinned([1, 2, 3]) == (1, 2, 3)
    assert charts.thinned(range(101)) == (0, 25, 50, 75, 100)
    ticks = [Tick(0, "1"), Tick(10, "2"), Tick(60, "3")]
    assert [tick.text for tick in charts.spaced(ticks)] == ["1", "3"]


@given(
    st.lists(
        st.tuples(st.floats(LEFT, RIGHT), st.floats(TOP, 214), st.floats(0, 30)),
        min_size=1,
        max_size=12,
    )
)
def test_no_two_labels_meet(places):
    points = [Point(x, y, min(y + by, 214), max(y - by, TOP)) for x, y, by in places]
    drawn = charts.labelled(points, ["0.50"] * len(points), top=TOP, bottom=214)
    assert len(drawn) == len(points)
    shown = [point for point in drawn if point.text]
    half = 4 * LETTER / 2
    for number, one in enumerate(shown):
        assert one.text_x - half + 0.1 >= LEFT
        assert one.text_x + half - 0.1 <= RIGHT
        for other in shown[number + 1 :]:
            beside = abs(one.text_x - other.text_x) >= 2 * half
            assert beside or abs(one.text_y - other.text_y) >= LINE - 0.2


def test_reliability_draws_bins_where_they_are_and_few_cells_hollow():
    bins = (
        Bin(0.4, 0.5, 29, 0.45, Interval(0.5, -0.2, 1.3)),
        Bin(0.9, 1.0, 300, 0.95, Interval(0.9, 0.8, 1.0)),
    )
    plot = charts.reliability(Calibration(0.1, Interval(0.05, 0.01, 0.09), bins, ""), ())
    few, many = plot.points
    assert (few.hollow, many.hollow) == (True, False)
    assert (few.low, few.high) == (TOP + charts.SIDE, TOP)  # cut at 0 and 1
    assert few.x == LEFT + 0.45 * charts.SIDE
    assert many.y == pytest.approx(TOP + 0.1 * charts.SIDE)
    assert plot.counted == "share of held-out cells"
    assert plot.bars[1].height == 50
    assert plot.bars[0].height == pytest.approx(50 * 29 / 300, abs=0.05)
    assert plot.finding.startswith("Imputed values are correct less often than their confidence")
    assert plot.rows[1] == ("0.9 to 1.0", "300", "90 % (80–100)")


def test_coverage_says_what_is_not_known_by_a_dash():
    points = (
        Coverage(0.5, 1.0, Interval(0.8, 0.75, 0.85)),
        Coverage(0.9, 0.25, Interval(0.95, 0.9, 1.0)),
        Coverage(0.95, 0.0, None),
    )
    plot = charts.coverage_curve(points, Interval(0.6, 0.5, 0.7))
    assert plot.rows == (
        ("0.50", "100 %", "80 % (75–85)"),
        ("0.90", "25 %", "95 % (90–100)"),
        ("0.95", "none", "–"),
    )
    assert len(plot.points) == 2
    assert plot.points[1].x == LEFT + 0.25 * (RIGHT - LEFT)
    assert plot.baseline == pytest.approx(214 - (0.6 - 0.5) / 0.5 * (214 - TOP))  # from 50 to 100
    assert "With --min-confidence 0.90, 25 % of the cells are imputed" in plot.finding


def test_the_chosen_step_is_marked_else_the_best_if_there_was_a_choice():
    plot = charts.tried_steps(full_column())
    (chosen,) = plot.marked
    assert chosen.text == "chosen: 50 steps"
    assert chosen.y == min(point.y for line in plot.lines for point in line.points)
    assert [line.name for line in plot.lines] == ["round 1", "round 2"]
    plot = charts.tried_steps(full_column(round=None, iterations=None))
    assert [point.text for point in plot.marked] == ["best: 50 steps"]
    assert plot.finding == "Best: round 2, after 50 steps."
    assert charts.tried_steps(column()) is None
    assert charts.tried_steps(column(tried=(Tried(1, (5,), (0.1,)),))) is None


def test_scores_of_any_size_stay_within_the_drawing():
    odd = column(tried=(Tried(1, (0, 7), (-1e308, 1e308)), Tried(2, (3,), (0.0,))), round=1)
    for line in charts.tried_steps(odd).lines:
        assert all(LEFT <= point.x <= RIGHT and TOP <= point.y <= 214 for point in line.points)


def test_a_history_shows_its_alarm_and_its_limit_and_a_single_batch_a_sentence():
    (course,) = courses_of(history().lines)
    drawn = charts.drifted(course)
    (alarm,) = drawn.loss.marked
    assert alarm.text == "drift: batch 8"
    assert len(drawn.limits.split()) == 12
    assert drawn.sentence.startswith("Cells have been predicted worse than those at fitting")
    assert [tick.text for tick in drawn.loss.x_ticks] == ["5", "10"]
    (course,) = courses_of(history(batches=1).lines)
    drawn = charts.drifted(course)
    assert (drawn.accuracy, drawn.loss) == (None, None)
    assert drawn.sentence == "One batch so far, no drift (loss 0.0520, limit 0.0800)."


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.924, "92 %"), (0.0, "0 %"), (-0.001, "0 %"), (1.0, "100 %"), (-0.03, "-3 %")],
)
def test_a_share_is_shown_in_hundredths(share, text):
    assert charts.percent(share) == text


def test_a_few_are_not_none_and_an_estimate_has_its_interval():
    assert [*map(charts.some_percent, (0.0, 0.001, 0.01))] == ["none", "under 1 %", "1 %"]
    assert charts.percents(Interval(0.92, 0.9, 0.966)) == "92 % (90–97)"
    assert charts.percents(Interval(0.06, -0.04, 0.1)) == "6 % (-4 to 10)"
    assert charts.decimals(Interval(0.92, 0.9, 0.966)) == "0.92 (0.90–0.97)"


def test_a_rare_share_is_a_bound_and_what_is_not_known_has_nothing_to_sort_by():
    assert charts.share_or_rare(None, 1000) == "under 1 %"
    assert charts.share_or_rare(None, 999) == "under 10 rows"
    assert charts.share_or_rare(0.123, 1000) == "12.3 %"
    assert charts.sort_key(None) == ""
    assert float(charts.sort_key(0.123456789)) == pytest.approx(0.123457)


def around(*dots, spread=(0.5, 0.25)):
    return picture(Surroundings(dots, "flu", spread))


def test_the_farthest_neighbor_is_at_the_rim_and_the_heaviest_is_the_largest():
    far = Dot("7", (0.2, -0.4), 0.75, "flu", alike=True)
    near = Dot("1,050", (0.1, 0.0), 0.25, "cold", alike=False)
    one, two = around(far, near).marks
    assert (one.x, one.y) == (160 + 64, 160 - 128)
    assert (two.x, two.y) == (160 + 32, 160)
    assert one.radius == 13
    assert two.radius == pytest.approx(3 + 10 * (1 / 3) ** 0.5, abs=0.1)
    assert (one.alike, two.alike) == (True, False)
    assert two.text == "1,050: weight 25.0 %, supports cold"


def test_the_finding_says_how_many_agree_and_how_much_a_picture_shows():
    dots = [Dot("1", (1, 0), 0.75, "flu", alike=True), Dot("2", (0, 1), 0.25, "cold", alike=False)]
    assert around(*dots).finding == (
        "Neighbors with 75 % of the weight support the imputed value. The picture shows 75 % of the "
        "squared distances."
    )


@pytest.mark.parametrize("seed", range(20))
def test_labels_touch_neither_each_other_nor_the_edge(seed):
    rng = np.random.default_rng(seed)
    places, weights = rng.normal(size=(20, 2)), -np.sort(-rng.dirichlet(np.ones(20)))
    dots = [
        Dot(f"{9000 + n:,}", tuple(place), float(weight), "flu", alike=True)
        for n, (place, weight) in enumerate(zip(places.tolist(), weights, strict=True))
    ]
    half = LETTER * 2.5
    labels = [
        (one.x - half, one.label_y - LINE * 5 / 6, one.x + half, one.label_y + LINE / 6)
        for one in around(*dots).marks
        if one.label
    ]
    assert 1 <= len(labels) <= 8
    assert all(min(box) >= -0.1 for box in labels)
    assert all(max(box) <= 320.1 for box in labels)
    for one, two in combinations(labels, 2):
        beside = one[2] <= two[0] + 0.1 or two[2] <= one[0] + 0.1
        assert beside or one[3] <= two[1] + 0.1 or two[3] <= one[1] + 0.1


def test_rows_that_are_all_at_one_place_are_drawn_there():
    [mark] = around(Dot("1", (0.0, 0.0), 1.0, "flu", alike=True)).marks
    assert (mark.x, mark.y) == (160, 160)
