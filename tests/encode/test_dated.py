"""Dates become a number from 0 to 1 and places in cycles, also those of later rows."""

import datetime as dt
import json
import math

import polars as pl
import pytest
from builders.encoding import ABC, NUMERIC, features, problem, problems

from cfl_cli.core.state import StateError
from cfl_cli.encode.columns import CellCounts
from cfl_cli.encode.encode import Encoding, encode
from cfl_cli.schema.model import Ordinary, Schema

DATE = Ordinary(type="date")
CYCLIC = Ordinary(type="date", cycle=["day", "week", "year"])
SIZES = ["S", "M", "L"]
SCHEMA = Schema(
    columns={
        "day": Ordinary(type="date", cycle=["week"]),
        "size": Ordinary(type="ordered", values=SIZES),
        "x": NUMERIC,
        "cf": ABC,
    }
)
FITTED = pl.DataFrame(
    {
        "day": ["2024-03-04", "2024-03-11", "2024-03-06", None],
        "size": ["S", "L", "M", "M"],
        "x": [1, 2, 3, 4],
        "cf": [*"abca"],
    }
)


def encoding():
    return encode(FITTED, SCHEMA).encoding


def new(*days, size="M"):
    rows = pl.DataFrame({"day": days, "size": size, "x": 1, "cf": "a"})
    return encode(rows, SCHEMA, encoding=encoding())


def test_a_date_is_its_share_of_the_range_and_a_missing_one_the_median():
    texts = ["2024-03-01", "2024-03-11", "", "2024-03-06", "2024-03-03T12:00"]
    assert features(texts, DATE) == [[0, 1, 0.375, 0.5, 0.25]]  # between the 3rd, 12:00, and 6th


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        (["01.03.2024", "11.03.2024", "06.03.2024"], "%d.%m.%Y"),
        (["1 March 2024", "11 mars 2024", "6 März 2024"], "%d %B %Y"),
        ([dt.date(2024, 3, day) for day in (1, 11, 6)], "%d.%m.%Y"),
        ([dt.datetime(2024, 3, day) for day in (1, 11, 6)], "%d.%m.%Y"),  # noqa: DTZ001 — a table's own time
        ([20240301, 20240311, 20240306], "%Y%m%d"),
        ([20240301.0, 20240311.0, 20240306.0], "%Y%m%d"),
    ],
)
def test_dates_are_the_same_in_any_form(cells, form):
    assert features(cells, Ordinary(type="date", format=form)) == [[0, 1, 0.5]]


def test_each_cycle_is_a_circle_whose_middle_is_a_missing_cell():
    _, *points = features(["2024-01-01", "2024-01-04T12:00", None, "2024-07-01"], CYCLIC)
    assert points[0] == pytest.approx([1, 0, 0.5, 1])  # midnight, and noon opposite
    assert points[2][:3] == pytest.approx([1, 0, 0.5])  # Monday, and Thursday noon
    assert points[4][0] == pytest.approx(1)
    assert points[5][0] == pytest.approx(0.5)
    share = (dt.date(2024, 7, 1) - dt.date(2024, 1, 1)).days / 366
    assert points[4][3] == pytest.approx((1 + math.cos(2 * math.pi * share)) / 2)
    assert points[5][2:] == pytest.approx([0.5, (1 + math.sin(2 * math.pi * share)) / 2])


def test_cells_that_are_no_dates_are_named_with_the_form_that_is_expected():
    expected = "table: column 'of': 2 cells like '1.3.2024' (rows 2, 3) are not dates (ISO 8601, such as 2024-03-01): correct them"
    assert problem(lambda: features(["2024-03-01", "1.3.2024", "2024-02-30"], DATE)) == expected
    with_form = Ordinary(type="date", format="%d.%m.%Y")
    (found,) = problems(lambda: features(["1.3.2024", "2024-03-01"], with_form))
    assert "'2024-03-01' (row 2) is a date, but not in the format of the schema" in found
    (found,) = problems(lambda: features(["1.3.2024", "30.2.2024"], with_form))
    assert "'30.2.2024' (row 2) is not a date (%d.%m.%Y)" in found
    (found,) = problems(lambda: features(["1.3.2024", "25.3.2024"], DATE))
    assert found.endswith('are dates in another format: set format: "%d.%m.%Y"')
    mixed = Ordinary(type="date", format="%d/%m/%Y")
    (found,) = problems(lambda: features(["25/12/2023", "12/25/2023", "1/2/2023"], mixed))
    assert "'12/25/2023' (row 2) has day and month in the opposite order from other cells" in found


def test_later_dates_are_usual_and_values_outside_the_order_count_as_missing_ones():
    found = new("2024-03-18", "2024-03-11", "2024-02-26", None)
    assert found.features[:, 0] == pytest.approx([2, 1, -1, 2 / 7])
    assert found.unusual.columns["day"] == CellCounts(4, missing=1, out_of_range=1, beyond=1)
    assert encoding().beyond_chance(found.unusual) == ()
    found = new("2024-03-05", size="XXL")
    assert found.features[0, 3] == 0.5
    assert found.unusual.columns["size"] == CellCounts(1, new_categories=1)


def test_dates_that_were_constant_stay_0():
    found = encode(FITTED.with_columns(day=pl.lit("2024-03-04")), SCHEMA)
    assert found.features[:, :3].tolist() == [[0, 0, 0]] * 4
    later = encode(FITTED, SCHEMA, encoding=found.encoding)
    assert later.features[:, :3].tolist() == [[0, 0, 0]] * 4


def test_a_robust_date_is_scaled_between_the_fences_and_ends_there():
    cells = [*(f"2024-03-{day:02}" for day in range(1, 22)), "9999-12-31", None]
    first, *circle = features(cells, Ordinary(type="date", scale="robust", cycle=["week"]))
    assert first == [*(day / 20 for day in range(21)), 1, 0.525]  # the median: noon of the 11th
    plain = features(cells, Ordinary(type="date", cycle=["week"]))
    assert plain[0][20] < 1e-4
    assert circle == plain[1:]


@pytest.mark.parametrize("scale", ["robust", "minmax"])
def test_later_dates_are_scaled_by_the_fences_of_the_fitted_ones(scale):
    own = SCHEMA.model_copy(update={"scale": scale})
    days = [*(f"2024-03-{day:02}" for day in range(1, 22)), "1900-01-01"]
    rows = pl.DataFrame({"day": days, "size": "M", "x": range(22), "cf": "a"})
    fitted = encode(rows, own).encoding
    facts = json.loads(json.dumps(fitted.facts(own)))
    assert ("lower" in facts["ordinary"]["day"]) == (scale == "robust")
    again = Encoding.from_facts(facts, own)
    assert again.ordinary == fitted.ordinary
    later = rows.with_columns(day=pl.lit("2024-04-10"))
    feature = encode(later, own, encoding=again).features[0, 0]
    assert feature == (1 if scale == "robust" else pytest.approx(1.0004, abs=1e-4))
    if scale == "robust":
        older = {name: it for name, it in facts["ordinary"]["day"].items() if "er" not in name}
        facts["ordinary"]["day"] = older  # of a version without fences
        assert encode(later, own, encoding=Encoding.from_facts(facts, own)).features[0, 0] > 1
        facts["ordinary"]["day"] = older | {"lower": -1e5, "upper": 1.0}
        with pytest.raises(StateError):
            Encoding.from_facts(facts, own)


def restored(facts):
    return Encoding.from_facts(json.loads(json.dumps(facts)), SCHEMA)


def test_facts_make_the_same_dates_and_order_again():
    facts = encoding().facts(SCHEMA)
    assert facts["ordinary"]["day"].keys() == {"rows", "low", "high", "median"}
    assert facts["ordinary"]["size"].keys() == {"rows", "median", "seen", "once", "twice"}
    assert restored(facts).ordinary == encoding().ordinary
    again = encode(FITTED, SCHEMA, encoding=restored(facts))
    assert again.features.tobytes() == encode(FITTED, SCHEMA).features.tobytes()


@pytest.mark.parametrize(
    ("column", "change"),
    [
        *(("day", {"low": 19800.0}), ("day", {"high": 1e7}), ("day", {"low": -1e6})),
        *(("day", {"median": math.nan}), ("day", {"rows": 0}), ("day", {"cycle": ["day"]})),
        *(("day", {"exponent": 0}), ("size", {"median": 3}), ("size", {"median": -1})),
        *(("size", {"seen": 4}), ("size", {"rows": 5}), ("size", {"commonest": 1})),
        ("size", {"values": SIZES}),
    ],
)
def test_facts_that_nothing_fitted_can_have_had_are_refused(column, change):
    facts = encoding().facts(SCHEMA)
    facts["ordinary"][column] |= change
    with pytest.raises(StateError):
        restored(facts)
