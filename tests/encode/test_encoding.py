"""New rows are encoded as the fitted ones were; what those did not hold is counted or named."""

import json
import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from builders.encoding import ABC, NUMERIC, problem, problems
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.core.state import StateError
from cfl_cli.encode.columns import CellCounts, Unusual
from cfl_cli.encode.encode import Encoding, encode
from cfl_cli.schema.model import Complementary, Ordinary, Schema

WEIGHTS = {"a": 3, "b": 1, "c": 1}
SCHEMA = Schema(
    columns={
        "x": NUMERIC,
        "sex": Ordinary(type="binary", values=["f", "m"]),
        "city": Ordinary(type="categorical"),
        "seen": Complementary(separator=";"),
        "listed": Complementary(values=[*"cab"], exact="=", mechanism=WEIGHTS),
    },
    group="home",
    missing=["", "NA"],
)
FITTED = pl.DataFrame(
    {
        "x": ["10", "30", "", "20", "12"],
        "sex": ["f", "m", "m", "NA", "f"],
        "city": ["rome", "oslo", "rome", "bern", None],
        "seen": ["p;q", "q", "", "r", "q"],
        "listed": ["a", "=b", "c", "", "a"],
        "home": ["1", "1", "2", "", ""],
    }
)
NEW = {"x": "20", "sex": "m", "city": "rome", "seen": "p", "listed": "a", "home": "1", "more": "?"}


def rows(*changes):
    return pl.DataFrame([{**NEW, **change} for change in changes])


def fitted(frame=FITTED, schema=SCHEMA):
    return encode(frame, schema).encoding


def encoded(*changes, **keywords):
    return encode(rows(*changes), SCHEMA, encoding=fitted(), **keywords)


def test_new_rows_are_coded_by_what_was_fitted_also_out_of_range_or_missing():
    root = 1 / math.sqrt(3)
    found = encoded({}, {"x": "10", "sex": "f", "city": "bern"})
    assert found.features.tolist() == [[0.5, 1, 0, 0, root], [0, 0, root, 0, 0]]
    assert found.candidates.tolist() == [[0, 1, 1, 1, 0, 1]] * 2  # p, q, r; c, a, b
    assert found.unusual == Unusual({name: CellCounts(2) for name in ("x", "sex", "city")})
    assert found.warnings == ()
    found = encoded({"x": "40"}, {"x": "0"}, {"x": "30"}, {"x": "-1e308"}, {"x": "9e307"})
    assert found.features[:, 0].tolist() == [1.5, -0.5, 1, -1e6, 1e6]
    assert found.unusual.columns["x"] == CellCounts(5, out_of_range=4, beyond=2)
    found = encoded({"x": None}, {"x": "NA"}, {"x": "28"})
    assert found.features[:, 0].tolist() == [0.3, 0.3, 0.9]  # 16, between 12 and 20
    assert found.unusual.columns["x"] == CellCounts(3, missing=2)


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1.0, 1e300])
def test_a_number_however_far_out_has_a_finite_feature(scale):
    frame = pl.DataFrame({"x": [0.0, scale, 2 * scale], "cf": [*"abc"]})
    schema = Schema(columns={"x": NUMERIC, "cf": ABC})
    new = pl.DataFrame({"x": [scale, 3 * scale, 1.7e308, -1.7e308], "cf": [""] * 4})
    found = encode(new, schema, encoding=fitted(frame, schema))
    assert found.features[:2, 0].tolist() == [0.5, 1.5]
    assert np.isfinite(found.features).all()
    assert found.unusual.columns["x"].out_of_range == 3


def test_a_category_never_seen_counts_as_missing_ones_do():
    cities = [{"city": "bonn"}, {"city": None}, {"sex": "x"}, {"sex": ""}]
    found = encoded(*cities)
    commonest = encoded({"city": "rome", "sex": "f"}).features  # of two as common the first
    assert found.features[:2].tolist() == [[0.5, 1, *commonest[0, 2:]]] * 2
    assert found.features[2:, 1].tolist() == [0, 0]
    assert found.unusual.columns["city"] == CellCounts(4, missing=1, new_categories=1)
    assert found.unusual.columns["sex"] == CellCounts(4, missing=1, new_categories=1)


def test_a_column_that_was_constant_stays_0_and_another_number_is_counted():
    frame = pl.DataFrame({"x": [1, 2], "y": [7, 7], "cf": ["a", "b"]})
    schema = Schema(columns={"x": NUMERIC, "y": NUMERIC, "cf": ABC})
    new = pl.DataFrame({"x": [1, 1, 1], "y": [7, 8, None], "cf": ["a"] * 3})
    found = encode(new, schema, encoding=fitted(frame, schema))
    assert found.features.tolist() == [[0, 0]] * 3
    assert found.unusual.columns["y"] == CellCounts(3, missing=1, out_of_range=1, beyond=1)


@pytest.mark.parametrize("number", [0, 1])
def test_one_new_row_or_none_will_do(number):
    found = encode(rows({}).head(number), SCHEMA, encoding=fitted())
    assert found.features.shape == (number, fitted().width)
    assert found.candidates.shape == (number, 6)
    assert len(found.known) == number
    assert found.unusual.columns["x"] == CellCounts(number)
    assert len(found.groups) == number


def test_columns_that_new_rows_lack_are_named_with_the_nearest():
    frame = rows({}).drop("sex", "home").rename({"x": "X"})
    assert problems(lambda: encode(frame, SCHEMA, name="new.csv", encoding=fitted())) == [
        "new.csv: column 'x' is not in the table (did you mean 'X'?): add it; the model needs it",
        "new.csv: column 'sex' is not in the table: add it; the model needs it",
        "new.csv: column 'home' is not in the table: add it; the model needs it",
    ]


def test_cells_that_cannot_be_read_are_named_by_their_row_in_the_whole_table():
    values = "correct it, or add it to the column's `values` and fit again"
    leave = "leave at least one value possible"
    changes = [{}, {"x": "old"}, {"x": "inf"}, {"seen": "s"}, {"seen": "p;q;r"}, {"listed": "=d"}]
    assert problems(lambda: encoded(*changes, name="new.csv", first_row=1001)) == [
        (
            "new.csv: column 'x': 'inf' (row 1003) is not finite: correct it, or set missing: "
            '["inf"] and fit again'
        ),
        (
            "new.csv: column 'x': 'old' (row 1002) is not a number: correct it, or set missing: "
            '["old"] and fit again'
        ),
        f"new.csv: column 'seen': 's' (row 1004) is not in the domain: {values}",
        f"new.csv: column 'seen': 'p;q;r' (row 1005) rules out the whole domain: {leave}",
        "new.csv: column 'listed': '=d' (row 1006) names 'd', which is not in the domain: "
        + values,
    ]


def test_a_cell_that_the_mechanism_makes_impossible_is_named():
    cf = Complementary(values=[*"abc"], mechanism={"a": 1, "b": 1, "c": 0})
    schema = Schema(columns={"x": NUMERIC, "cf": cf})
    model = fitted(pl.DataFrame({"x": [1, 2], "cf": ["a", "b"]}), schema)
    new = pl.DataFrame({"x": [1], "cf": ["c"]})
    expected = (
        "table: column 'cf': 'c' (row 1) is impossible under the column's `mechanism`: correct it"
    )
    assert problem(lambda: encode(new, schema, encoding=model)) == expected


def test_a_missing_cell_stays_an_error_where_the_schema_says_so():
    schema = SCHEMA.model_copy(update={"on_missing": "error"})
    model = fitted(FITTED[[0, 1]].with_columns(seen=pl.Series(["p", "q"])), schema)
    found = encode(rows({"city": "new"}), schema, encoding=model)  # which is not a missing cell
    assert found.unusual.columns["city"].new_categories == 1
    why = "an empty cell (row 8) is missing, but the schema says `on_missing: error`"
    way_out = "fill it in, or set on_missing: fill and fit again"
    expected = f"table: column 'x': {why}: {way_out}"
    assert (
        problem(lambda: encode(rows({}, {"x": ""}), schema, encoding=model, first_row=7))
        == expected
    )


def test_rows_of_different_blocks_belong_together_by_equal_cells():
    one = encoded({"home": "1"}, {"home": ""}, {"home": "2"}, first_row=1).groups
    two = encoded({"home": "2"}, {"home": ""}, {"home": "1"}, first_row=4).groups
    assert [*two[[2, 0]]] == [*one[[0, 2]]]
    assert len({*one, *two}) == 4  # two homes, and two rows of none


CELLS = {
    "x": st.none() | st.integers(-9, 9).map(str) | st.floats(-1e300, 1e300).map(repr),
    "sex": st.sampled_from(["f", "m", "", "NA"]),
    "city": st.sampled_from(["rome", "oslo", "bern", "NA"]),
    "seen": st.sampled_from(["p", "q", "r", "p;q", "", "r;q"]),
    "listed": st.sampled_from(["a", "b", "c", "=a", ""]),
    "home": st.sampled_from(["1", "2", ""]),
}
TABLE = st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=12).map(
    lambda more: pl.concat([FITTED, pl.DataFrame(more, schema=FITTED.schema)])
)


@given(TABLE, st.data())
def test_fitted_rows_come_out_as_they_were_fitted_to_the_bit_in_any_blocks(frame, data):
    whole = encode(frame, SCHEMA)
    picked = data.draw(st.lists(st.integers(0, frame.height - 1), unique=True))
    cut = data.draw(st.integers(0, len(picked)))
    parts = [
        encode(frame[places], SCHEMA, encoding=whole.encoding)
        for places in (picked[:cut], picked[cut:])
    ]
    together = np.vstack([part.features for part in parts])
    assert together.tobytes() == whole.features[picked].tobytes()
    assert np.array_equal(np.vstack([p.candidates for p in parts]), whole.candidates[picked])
    both = parts[0].unusual + parts[1].unusual
    assert both == encode(frame[picked], SCHEMA, encoding=whole.encoding).unusual
    assert {counts.rows for counts in both.columns.values()} == {len(picked)}
    assert {counts.share for counts in both.columns.values()} == {0}
    assert [part.blocks[1].mechanism.rates.tolist() for part in parts] == [
        whole.blocks[1].mechanism.rates.tolist()
    ] * 2


def restored(facts, schema=SCHEMA):
    return Encoding.from_facts(json.loads(json.dumps(facts)), schema)


@given(TABLE)
def test_facts_make_the_same_encoding_again_to_the_bit(frame):
    encoding = fitted(frame)
    again = restored(encoding.facts(SCHEMA))
    assert again.ordinary == encoding.ordinary
    assert [cf.values for cf in again.domains.values()] == [("p", "q", "r"), ("c", "a", "b")]
    assert again.width == encoding.width == encode(frame, SCHEMA).features.shape[1]
    for one, other in zip(again.mechanisms, encoding.mechanisms, strict=True):
        assert np.array_equal(one.rates, other.rates)
    assert again.facts(SCHEMA) == encoding.facts(SCHEMA)


FIT = Schema(
    columns={
        "x": NUMERIC,
        "cf": Complementary(values=[*"abc"], exact="=", exact_cells="random", mechanism="fit"),
    }
)
RATES = np.array([[0, 0.25, 0.75], [0.5, 0, 0.5], [0.1, 0.9, 0]])


def test_a_mechanism_that_was_settled_later_is_kept_with_the_encoding():
    table = encode(pl.DataFrame({"x": [1, 2], "cf": ["a", "=b"]}), FIT)
    assert restored(table.encoding.facts(FIT), FIT).mechanisms[0].rates is None
    settled = replace(table, blocks=(replace(table.blocks[0], rates=RATES),))
    again = restored(settled.encoding.facts(FIT), FIT)
    assert again.domains["cf"].rates.tobytes() == RATES.tobytes()
    new = encode(pl.DataFrame({"x": [9], "cf": ["a"]}), FIT, encoding=again)
    assert new.known.evidence.tolist() == settled.known.evidence[:1].tolist()


def changed(facts, *path, to):
    copy = json.loads(json.dumps(facts))
    place = copy
    for step in path[:-1]:
        place = place[step]
    if to is None:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return copy


X, SEX, CITY = (("ordinary", name) for name in ("x", "sex", "city"))
SEEN = ("complementary", "seen")


@pytest.mark.parametrize(
    ("path", "to"),
    [
        (("more",), 1),
        ((*X, "more"), 1),
        ((*SEX, "values"), ["f", "m"]),  # as the schema says already
        (("complementary", "listed", "rates"), RATES.tolist()),
        *((("ordinary",), None), (("ordinary",), []), (("complementary",), {}), (X, None), (X, 3)),
        *((("ordinary", "y"), {}), ((*X, "low"), None), ((*X, "low"), "0.1"), ((*X, "low"), 0.9)),
        *(((*X, "median"), math.nan), ((*X, "high"), math.inf), ((*X, "high"), 10**400)),
        *(((*X, "high"), 1.5), ((*X, "exponent"), 5.0), ((*X, "exponent"), 10**6)),
        *(((*X, "exponent"), True), ((*X, "rows"), 0), ((*X, "rows"), -(10**400))),
        *(((*SEX, "commonest"), 2), ((*SEX, "commonest"), -1), ((*SEX, "seen"), 3)),
        *(((*SEX, "seen"), 0), ((*SEX, "once"), 1), ((*SEX, "twice"), -1), ((*CITY, "rows"), 5)),
        ((*CITY, "values"), None),
        ((*CITY, "values"), []),
        ((*CITY, "values"), ["bern", "oslo"]),
        ((*CITY, "values"), ["oslo", "bern", "rome"]),
        ((*CITY, "values"), ["bern", "bern", "rome"]),
        ((*CITY, "values"), ["bern", "oslo", 3]),
        ((*CITY, "values"), ["bern", "oslo", "\ud800"]),
        ((*CITY, "values"), ["NA", "bern", "oslo"]),
        ((*CITY, "values"), [f"{number:04}" for number in range(1001)]),
        ((*SEEN, "values"), ["p"]),
        ((*SEEN, "values"), [f"{number:04}" for number in range(1001)]),
        ((*SEEN, "rates"), RATES.tolist()),
    ],
)
def test_facts_that_nothing_fitted_can_have_are_refused(path, to):
    facts = changed(fitted().facts(SCHEMA), *path, to=to)
    with pytest.raises(StateError) as caught:
        Encoding.from_facts(facts, SCHEMA)
    assert len(path) < 3 or path[1] in str(caught.value) or "holds more" in str(caught.value)


@pytest.mark.parametrize(
    "rates",
    [
        *(3, [], [[0, 1.0], [1.0, 0]]),
        [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0]],
        [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, "0", 0.0]],
        [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, math.nan]],
        [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.5, -0.5, 0.0]],
        [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.0, 0.5]],
        [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.0, 0.0]],
    ],
)
def test_rates_that_are_no_mechanism_are_refused(rates):
    table = encode(pl.DataFrame({"x": [1, 2], "cf": ["a", "=b"]}), FIT)
    facts = changed(table.encoding.facts(FIT), "complementary", "cf", "rates", to=rates)
    with pytest.raises(StateError, match="column 'cf': "):
        Encoding.from_facts(facts, FIT)


def test_constant_columns_only_are_refused():
    facts = fitted().facts(SCHEMA)
    facts = changed(
        facts, *X, to={"rows": 1, "exponent": 0, "low": 0.0, "high": 0.0, "median": 0.0}
    )
    one = {"rows": 4, "commonest": 0, "seen": 1, "once": 0, "twice": 0}
    facts = changed(facts, *SEX, to=one)
    assert Encoding.from_facts(facts, SCHEMA).width == 5
    with pytest.raises(StateError, match="constant"):
        Encoding.from_facts(changed(facts, *CITY, to={**one, "values": ["bern"]}), SCHEMA)
