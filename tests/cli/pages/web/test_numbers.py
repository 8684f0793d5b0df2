import pytest

from cfl_cli.cli.pages.web import charts
from cfl_cli.trust.intervals import Interval


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


def test_numbers_of_any_size_have_a_short_text():
    for number in (1e308, -1e308, 1.7e6):
        assert len(charts.percent(number)) < 12
        assert len(charts.decimal(number, 4)) < 12
    assert charts.decimal(-0.0001) == "0.00"


def test_a_rare_share_is_a_bound_and_what_is_not_known_has_nothing_to_sort_by():
    assert charts.share_or_rare(None, 1000) == "under 1 %"
    assert charts.share_or_rare(None, 999) == "under 10 rows"
    assert charts.share_or_rare(0.123, 1000) == "12.3 %"
    assert charts.sort_key(None) == ""
    assert float(charts.sort_key(0.123456789)) == pytest.approx(0.123457)
