"""A cell says what the schema reads in it; whatever does not fit is named with its place."""

import datetime as dt
import math
from decimal import Decimal

import polars as pl
import pytest
from builders.encoding import ABC, NUMERIC, candidates, encoded, features, problems

from cfl_cli.errors import DataError
from cfl_cli.schema.model import Complementary, Ordinary, Schema
from cfl_cli.steps.encode import encode


def test_an_outlaw_may_be_listed_as_missing():
    assert features(["1", "inf", "?", "3"], NUMERIC, missing=["inf", "?"]) == [[0, 0.5, 0.5, 1]]


def test_nan_among_floats_is_missing_whatever_the_missing_tokens_are():
    assert features([1.0, math.nan, 2.0, 4.0], NUMERIC, missing=["?"]) == [[0, 1 / 3, 1 / 3, 1]]


def test_a_missing_number_may_be_written_as_a_token():
    assert features([1.0, -999.0, 3.0], NUMERIC, missing=["", "-999"]) == [[0.0, 0.5, 1.0]]
    assert features([1, -999, 3], NUMERIC, missing=["-999"]) == [[0.0, 0.5, 1.0]]
    assert features(["1", "-999", "3"], NUMERIC, missing=["-999"]) == [[0.0, 0.5, 1.0]]
    assert features([1.0, -999.0, 3.0], NUMERIC, missing=[]) == [[0.998003992015968, 0.0, 1.0]]


def test_a_null_is_missing_whatever_the_missing_tokens_are():
    assert features(["1", None, "2"], NUMERIC, missing=[]) == [[0.0, 0.5, 1.0]]


DAYS = [dt.date(2024, 5, 2), dt.date(2024, 5, 1)]


@pytest.mark.parametrize(
    ("cells", "of", "expected"),
    [
        (pl.Series([3, 1, None], dtype=pl.Int8), NUMERIC, [1, 0, 0.5]),
        (pl.Series([3, 1, 2], dtype=pl.UInt64), NUMERIC, [1, 0, 0.5]),
        (pl.Series([3, 1, 2], dtype=pl.Float32), NUMERIC, [1, 0, 0.5]),
        (pl.Series([Decimal("0.3"), Decimal("0.1"), Decimal("0.1")]), NUMERIC, [1, 0, 0]),
        (pl.Series([True, False, None]), Ordinary(type="binary"), [1, 0, 0]),
        (
            pl.Series([True, False, None]),
            Ordinary(type="binary", values=["true", "false"]),
            [0, 1, 0],
        ),
        (pl.Series([7, 5, 7]), Ordinary(type="binary", values=["7", "5"]), [0, 1, 0]),
        (pl.Series(["p", "q", "p"], dtype=pl.Categorical), Ordinary(type="binary"), [0, 1, 0]),
        (pl.Series(["p", "q", "p"], dtype=pl.Enum(["q", "p"])), Ordinary(type="binary"), [0, 1, 0]),
        (pl.Series([*DAYS, None]), Ordinary(type="categorical"), [1, 0, 0]),
        (
            pl.Series([*DAYS, None]),
            Ordinary(type="binary", values=["2024-05-02", "2024-05-01"]),
            [0, 1, 0],
        ),
    ],
)
def test_a_typed_column_is_read_as_its_text_says(cells, of, expected):
    [found] = features(cells, of)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([["a"], ["b"]], "List(String)"),
        ([{"a": 1}, {"a": 2}], "Struct({'a': Int64})"),
        ([b"a", b"\xff"], "Binary"),
        ([dt.timedelta(1), dt.timedelta(2)], "Duration(time_unit='us')"),
        (pl.Series([object(), object()], dtype=pl.Object), "a type that cfl does not know"),
    ],
)
def test_a_column_of_anything_but_text_and_numbers_is_refused(cells, kind):
    expected = [f"table: column 'cf' holds {kind}, not text or numbers: mark it `role: ignore`"]
    assert problems(lambda: encoded(cells, ABC)) == expected
    ignored = pl.DataFrame({"of": [1, 2], "cf": ["a", "b"], "note": cells})
    assert encode(ignored, Schema(columns={"of": NUMERIC, "cf": ABC})).features.shape == (2, 1)


def test_a_cell_rules_out_one_value():
    assert candidates(["a", "c", "b"], ABC) == ["011", "110", "101"]


def test_a_cell_may_rule_out_several_values_in_any_order():
    cf = Complementary(values=["a", "b", "c", "d"], separator=";")
    assert candidates(["d;a", "b", "a;b;a"], cf) == ["0110", "1011", "0011"]


def test_a_separator_may_be_longer_than_a_character():
    cf = Complementary(values=["a", "b", "or"], separator=" or ")
    assert candidates(["a or b", "or", "or or a"], cf) == ["001", "110", "010"]


def test_without_a_separator_nothing_is_split():
    cf = Complementary(values=["a;b", "a", "b"])
    assert candidates(["a;b", "b"], cf) == ["011", "110"]


def test_an_exact_cell_leaves_its_value_only():
    cf = Complementary(values=["a", "b", "c"], exact="=")
    assert candidates(["=b", "b", "=a"], cf) == ["010", "101", "100"]


def test_an_exact_cell_is_not_split():
    cf = Complementary(values=["a", "b", "c"], separator=";", exact="=")
    assert problems(lambda: candidates(["=a;b", "a"], cf)) == [
        (
            "table: row 1, column 'cf': '=a;b' names 'a;b', which is not in the domain: "
            "correct it or add it to the column's `values`"
        )
    ]


def test_an_empty_cell_says_nothing():
    assert candidates(["", None, "NA", "a"], ABC, missing=["", "NA"]) == ["111"] * 3 + ["011"]


def test_whole_numbers_name_values_by_their_digits():
    assert candidates([2, 1, None, 3], Complementary(values=["1", "2", "3"])) == [
        "101",
        "011",
        "111",
        "110",
    ]


def test_values_left_out_are_those_seen_sorted_with_a_warning():
    cf = Complementary(separator=";", exact="=")
    found = encoded(["b", "ä;B", "", "=c"], cf)
    assert found.blocks[0].values == ("B", "b", "c", "ä")  # by code point
    assert found.warnings == (
        (
            "column 'cf': the schema gives no values, so the 4 seen are taken for the whole "
            "domain; list them under `values`"
        ),
    )
    assert encoded(["a", "b"], ABC).warnings == ()


@pytest.mark.parametrize("cells", [["", None], ["a", "a"], ["=a", "a"]])
def test_values_left_out_must_show_two_at_least(cells):
    [problem] = problems(lambda: encoded(cells, Complementary(exact="=")))
    assert problem.startswith("table: column 'cf': ")
    assert problem.endswith("list all possible ones under `values`")


def test_names_or_notes_are_not_taken_for_a_domain():
    cells = [f"note {number}" for number in range(1001)]
    [problem] = problems(lambda: encoded(cells, Complementary()))
    assert problem.startswith("table: column 'cf': 1,001 different values seen")
    assert len(encoded(cells[:1000], Complementary()).blocks[0].values) == 1000
    assert len(encoded(cells, Complementary(values=cells)).blocks[0].values) == 1001


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("cell", ["a;", ";a", "a;;b", "=", ";", "a;NA", "=NA"])
def test_nothing_is_no_value_whether_the_domain_is_given_or_seen(cell, known):
    values = ["a", "b", "c"] if known else None
    cf = Complementary(values=values, separator=";", exact="=")
    nothing = "NA" if "NA" in cell else ""
    [problem] = problems(lambda: encoded(["a;b", cell, "c"], cf, missing=["", "NA"]))
    assert problem.startswith(
        f"table: row 2, column 'cf': {cell!r} names {nothing!r}, which is not in the domain"
    )


def test_a_value_outside_the_domain_is_named_with_the_nearest():
    cf = Complementary(values=["nurse", "teacher"], separator=";", exact="=")
    way_out = "correct it or add it to the column's `values`"
    cells = ["nurse", "Nurse ", "teacher;nurce", "=teachers", "x"]
    assert problems(lambda: encoded(cells, cf)) == [
        "table: row 2, column 'cf': 'Nurse ' is not in the domain (did you mean 'nurse'?): "
        + way_out,
        "table: row 3, column 'cf': 'teacher;nurce' names 'nurce', which is not in the domain "
        "(did you mean 'nurse'?): " + way_out,
        "table: row 4, column 'cf': '=teachers' names 'teachers', which is not in the domain "
        "(did you mean 'teacher'?): " + way_out,
        "table: row 5, column 'cf': 'x' is not in the domain: " + way_out,
    ]


def test_a_cell_that_rules_out_the_whole_domain_is_refused():
    cf = Complementary(values=["a", "b", "c"], separator=";")
    assert problems(lambda: encoded(["a;b", "c;b;a"], cf)) == [
        "table: row 2, column 'cf': 'c;b;a' rules out the whole domain: leave at least one value"
    ]


@pytest.mark.parametrize(("first", "second"), [(19, 0), (20, 0), (21, 0), (15, 15), (30, 500)])
def test_twenty_problems_are_spelled_out_and_the_rest_counted(first, second):
    rows = max(first, second) + 1
    frame = pl.DataFrame(
        {
            "of": ["1"] + ["x"] * first + ["2"] * (rows - 1 - first),
            "cf": ["a"] + [f"d{row}" for row in range(second)] + ["b"] * (rows - 1 - second),
        }
    )
    with pytest.raises(DataError) as caught:
        encode(frame, Schema(columns={"of": NUMERIC, "cf": ABC}))
    total = first + second
    assert len(caught.value.problems) == min(total, 20)
    assert caught.value.more == max(total - 20, 0)
    expected = [f"table: row {row}, column 'of'" for row in range(2, 2 + first)]
    expected += [f"table: row {row}, column 'cf'" for row in range(2, 2 + second)]
    found = [problem.split(":")[0:2] for problem in caught.value.problems]
    assert [":".join(place) for place in found] == expected[:20]


def test_a_message_never_shows_another_cell():
    frame = pl.DataFrame(
        {
            "id": ["secret-1", "secret-2", "secret-3"],
            "age": ["1111", "wrong-1", "3333"],
            "sex": ["fff", "mmm", "wrong-2"],
            "job": ["clerk", "wrong-3", "baker"],
        }
    )
    columns = {
        "age": NUMERIC,
        "sex": Ordinary(type="binary", values=["fff", "mmmm"]),
        "job": Complementary(values=["clerk", "farmer"]),
    }
    said = "\n".join(problems(lambda: encode(frame, Schema(columns=columns))))
    for shown in ("wrong-1", "wrong-2", "wrong-3", "mmm", "baker"):
        assert shown in said
    for hidden in ("secret", "1111", "3333", "fff", "clerk"):
        assert hidden not in said


def test_a_long_cell_is_cut_and_control_characters_are_escaped():
    [problem] = problems(lambda: encoded(["a", "\x1b[31m" + "x" * 10_000], ABC))
    assert "\x1b" not in problem
    assert len(problem) < 300


def test_near_values_are_looked_for_only_where_they_are_shown(monkeypatch):
    asked = []
    monkeypatch.setattr("cfl_cli.steps.cells.did_you_mean", lambda *words: str(asked.append(words)))
    cells = ["a", *(f"person {number}" for number in range(500))]
    assert len(problems(lambda: encoded(cells, ABC))) == 20
    assert len(asked) == 20  # each takes a while


def test_columns_that_the_table_lacks_are_named_with_the_nearest():
    frame = pl.DataFrame({"Age": [1, 2], "jobs": ["a", "b"]})
    columns = {"age": NUMERIC, "job": ABC, "ward": ABC}
    lacking, way_out = (
        "is in the schema but not in the table",
        "add it, or remove it from the schema",
    )
    assert problems(lambda: encode(frame, Schema(columns=columns))) == [
        f"table: column 'age' {lacking} (did you mean 'Age'?): {way_out}",
        f"table: column 'job' {lacking} (did you mean 'jobs'?): {way_out}",
        f"table: column 'ward' {lacking}: {way_out}",
    ]


def test_a_column_that_is_not_there_does_not_hide_what_is_wrong_elsewhere():
    frame = pl.DataFrame({"age": ["1", "x"], "job": ["a", "d"], "tags": [["p"], ["q"]]})
    columns = {"age": NUMERIC, "tags": NUMERIC, "sex": NUMERIC, "job": ABC, "ward": ABC}
    found = problems(lambda: encode(frame, Schema(columns=columns)))
    assert [problem.split(": ")[1].split(",")[0] for problem in found] == [
        "column 'tags' holds List(String)",
        "column 'sex' is in the schema but not in the table",
        "column 'ward' is in the schema but not in the table",
        "row 2",
        "row 2",
    ]
