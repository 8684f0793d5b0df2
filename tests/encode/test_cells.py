"""A cell says what the schema reads in it; whatever does not fit is named with its place."""

import datetime as dt
import math
from decimal import Decimal

import polars as pl
import pytest
from builders.encoding import ABC, NUMERIC, candidates, encoded, features, problem, problems

from cfl_cli.encode.encode import encode
from cfl_cli.errors import DataError
from cfl_cli.schema.model import Complementary, Ordinary, Schema


@pytest.mark.parametrize(
    ("cells", "missing", "expected"),
    [
        (["1", "inf", "?", "3"], ["inf", "?"], [0, 0.5, 0.5, 1]),
        ([1.0, math.nan, 2.0, 4.0], ["?"], [0, 1 / 3, 1 / 3, 1]),
        (["1", None, "2"], [], [0, 0.5, 1]),
        ([1.0, -999.0, 3.0], ["", "-999"], [0, 0.5, 1]),
        ([1, -999, 3], ["-999"], [0, 0.5, 1]),
        (["1", "-999", "3"], ["-999"], [0, 0.5, 1]),
        ([1.0, -999.0, 3.0], [], [0.998003992015968, 0, 1]),
    ],
)
def test_a_number_is_missing_if_it_is_listed_and_null_and_nan_always_are(cells, missing, expected):
    assert features(cells, NUMERIC, missing=missing) == [expected]


@pytest.mark.parametrize(
    ("keys", "cells", "expected"),
    [
        ({"values": ["a", "b", "or"], "separator": " or "}, ["a or b", "or"], ["001", "110"]),
        ({"values": ["a;b", "a", "b"]}, ["a;b", "b"], ["011", "110"]),
        ({"values": ["1", "2", "3"]}, [2, 1, None, 3], ["101", "011", "111", "110"]),
    ],
)
def test_cells_are_split_by_the_separator_alone_and_numbers_name_values(keys, cells, expected):
    assert candidates(cells, Complementary(**keys)) == expected


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
        ([[["a"]], [["b"]]], "List(List(String))"),
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


def test_an_exact_cell_is_not_split_and_an_empty_one_says_nothing():
    cf = Complementary(values=["a", "b", "c"], separator=";", exact="=")
    expected = "table: column 'cf': '=a;b' (row 1) holds something besides values, which the schema does not describe: write only values and ';' and '='"
    assert problem(lambda: candidates(["=a;b", "a"], cf)) == expected
    assert candidates(["", None, "NA", "a"], ABC, missing=["", "NA"]) == ["111"] * 3 + ["011"]


def test_values_left_out_are_those_seen_sorted_and_not_names_or_notes():
    found = encoded(["b", "ä;B", "", "=c"], Complementary(separator=";", exact="="))
    assert found.blocks[0].values == ("B", "b", "c", "ä")  # by code point
    assert found.warnings == (
        "column 'cf': the schema lists no values, so the 4 seen count as the whole domain; list them under `values`",
    )
    assert encoded(["a", "b"], ABC).warnings == ()
    cells = [f"note {number}" for number in range(1001)]
    [problem] = problems(lambda: encoded(cells, Complementary()))
    assert problem.startswith("table: column 'cf': 1,001 different values seen")
    assert len(encoded(cells[:1000], Complementary()).blocks[0].values) == 1000
    assert len(encoded(cells, Complementary(values=cells)).blocks[0].values) == 1001


@pytest.mark.parametrize("cells", [["", None], ["a", "a"], ["=a", "a"]])
def test_values_left_out_must_show_two_at_least(cells):
    [problem] = problems(lambda: encoded(cells, Complementary(exact="=")))
    assert problem.startswith("table: column 'cf': ")
    assert problem.endswith("list all possible values under `values`")


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("cell", ["a;;", ";a", "a;;b", "=", ";", "=NA"])
def test_nothing_is_no_value_whether_the_domain_is_given_or_seen(cell, known):
    values = ["a", "b", "c"] if known else None
    cf = Complementary(values=values, separator=";", exact="=")
    nothing = "NA" if "NA" in cell else ""
    [problem] = problems(lambda: encoded(["a;b", cell, "c"], cf, missing=["", "NA"]))
    assert problem.startswith(
        f"table: column 'cf': {cell!r} (row 2) names {nothing!r}, which is not in the domain"
    )
    assert problem.endswith(": correct it")


def test_a_value_outside_the_domain_is_named_with_the_nearest():
    cf = Complementary(values=["nurse", "teacher"], separator=";", exact="=")
    way_out = "correct it or add it to the column's `values`"
    assert problems(
        lambda: encoded(["nurse", "Nurse ", "teacher;nurce", "=teachers", "x"], cf)
    ) == [
        (
            "table: column 'cf': 3 cells like 'teacher;nurce' (rows 3, 4, 5) name 3 "
            "values that are "
            "not in the domain, such as 'nurce' (did you mean 'nurse'?): correct them "
            "or add them to "
            "the column's `values`"
        ),
        "table: column 'cf': 'Nurse ' (row 2) differs from a value only in blanks or case: write 'nurse' or set ignore_case: true",
    ]
    for cell, said in {
        "teacher;nurce": "names 'nurce', which is not in the domain (did you mean 'nurse'?)",
        "=teachers": "names 'teachers', which is not in the domain (did you mean 'teacher'?)",
        "x": "is not in the domain",
    }.items():
        fix = "correct it or list it under `aliases`" if "mean" in said else way_out
        expected = f"table: column 'cf': {cell!r} (row 2) {said}: {fix}"
        assert problem(lambda cell=cell: encoded(["nurse", cell], cf)) == expected


def test_a_cell_that_rules_out_the_whole_domain_is_refused():
    cf = Complementary(values=["a", "b", "c"], separator=";")
    expected = "table: column 'cf': 'c;b;a' (row 2) rules out the whole domain: leave at least one value possible"
    assert problem(lambda: encoded(["a;b", "c;b;a"], cf)) == expected


@pytest.mark.parametrize(("first", "second"), [(2, 0), (15, 15), (30, 500)])
def test_no_column_hides_another_however_many_cells_are_wrong(first, second):
    rows = max(first, second) + 1
    frame = pl.DataFrame(
        {
            "of": ["1"] + ["x"] * first + ["2"] * (rows - 1 - first),
            "cf": ["a"] + [f"d{row}" for row in range(second)] + ["b"] * (rows - 1 - second),
        }
    )
    found = problems(lambda: encode(frame, Schema(columns={"of": NUMERIC, "cf": ABC})))
    more = " …" if first > 3 else ""
    shown = ", ".join(str(row) for row in range(2, 2 + min(first, 3)))
    expected = [f"table: column 'of': {first} cells like 'x' (rows {shown}{more})"]
    if second:
        expected.append(f"table: column 'cf': {second} cells like 'd0' (rows 2, 3, 4 …)")
    by_share = expected if first >= second else expected[::-1]
    assert [
        problem[: len(start)] for problem, start in zip(found, by_share, strict=True)
    ] == by_share


def test_a_message_never_shows_another_cell():
    frame = pl.DataFrame(
        {
            "id": ["secret-1", "secret-2", "secret-3"],
            "age": ["1111", "wrong-1", "3333"],
            "sex": ["fff", "fff", "wrong-2"],
            "job": ["clerk", "wrong-3", "clerk"],
        }
    )
    columns = {
        "age": NUMERIC,
        "sex": Ordinary(type="binary", values=["fff", "mmmm"]),
        "job": Complementary(values=["clerk", "farmer"]),
    }
    said = "\n".join(problems(lambda: encode(frame, Schema(columns=columns))))
    for shown in ("wrong-1", "wrong-2", "wrong-3"):
        assert shown in said
    for hidden in ("secret", "1111", "3333", "fff", "clerk"):
        assert hidden not in said


def test_a_long_cell_is_cut_and_control_characters_are_escaped():
    [problem] = problems(lambda: encoded(["a", "\x1b[31m" + "x" * 10_000], ABC))
    assert "\x1b" not in problem
    assert len(problem) < 300


def test_columns_that_the_table_lacks_are_named_and_hide_nothing():
    frame = pl.DataFrame({"Age": [1, 2], "jobs": ["a", "b"]})
    columns = {"age": NUMERIC, "job": ABC, "ward": ABC}
    lacking, way_out = (
        "is in the schema but not in the table",
        "add it, or remove it from the schema",
    )
    assert problems(lambda: encode(frame, Schema(columns=columns))) == [
        f"table: column 'age' {lacking} (did you mean 'Age'?): rename it in the schema",
        f"table: column 'job' {lacking} (did you mean 'jobs'?): rename it in the schema",
        f"table: column 'ward' {lacking}: {way_out}",
    ]
    frame = pl.DataFrame({"age": ["1", "x"], "job": ["a", "d"], "tags": [["p"], ["q"]]})
    columns = {"age": NUMERIC, "tags": NUMERIC, "sex": NUMERIC, "job": ABC, "ward": ABC}
    found = problems(lambda: encode(frame, Schema(columns=columns)))
    assert [problem.split(": ")[1].split(",")[0] for problem in found] == [
        "column 'tags' holds List(String)",
        "column 'sex' is in the schema but not in the table",
        "column 'ward' is in the schema but not in the table",
        "column 'age'",
        "column 'job'",
    ]


@pytest.mark.parametrize("known", [True, False])
def test_blanks_around_parts_and_marks_count_only_where_a_value_has_them(known):
    values = ["a", "b", "c"] if known else None
    cf = Complementary(values=values, separator=";", exact="=")
    cells = ["a; b", " c\u00a0", "= b", " =c ", "b ;a;", "c"]
    assert candidates(cells, cf) == ["001", "110", "010", "001", "001", "110"]


def test_a_value_or_a_mark_with_blanks_is_read_as_it_is():
    cf = Complementary(values=["a", "a ", "b"])
    assert candidates(["a", "a ", "b "], cf) == ["011", "101", "110"]
    cf = Complementary(values=[" a", "b", ""], exact="a", separator=";")
    assert candidates([" a", " a;b", "b;"], cf, missing=[]) == ["011", "001", "100"]
    assert candidates([[" a"], [" a", "b"], ["ab"]], cf, missing=[]) == ["011", "001", "010"]
    cf = Complementary(values=["land", "sea"], exact="is ")
    assert candidates(["is land", "sea"], cf) == ["10", "10"]
    assert problems(lambda: encoded(["island", "sea"], cf))[0].startswith(
        "table: column 'cf': 'island' (row 1) is not in the domain"
    )
    cf = Complementary(values=["flu", "cold"], exact="sure: ")
    assert candidates(["sure:flu", "sure: cold"], cf) == ["10", "01"]


@pytest.mark.parametrize(
    "cells",
    [
        *(["1", "2", "3"], ["1.0", "2.0", "3.0"], [1, 2, 3], [1.0, 2.0, 3.0], [" 1", "2 ", "3.0"]),
        pl.Series(["1", "2", "3"], dtype=pl.Categorical),
    ],
)
@pytest.mark.parametrize("values", [["1", "2", "3"], ["1.0", "2.0", "3.0"], None])
def test_whole_numbers_are_the_same_however_they_are_written(cells, values):
    assert candidates(cells, Complementary(values=values)) == ["011", "101", "110"]
    of = Ordinary(type="categorical", values=values)
    assert features(cells, of) == features(["1", "2", "3"], of)


def test_floats_that_are_not_all_whole_keep_their_text():
    assert encoded([1.0, 2.5], Complementary()).blocks[0].values == ("1.0", "2.5")
    assert encoded([1.0, 2.0], Complementary()).blocks[0].values == ("1", "2")


@pytest.mark.parametrize(
    "cells",
    [
        *(["no", "yes", "yes", None], ["No", "YES", "yes ", ""], ["nein", "ja", "Ja", None]),
        *(["0", "1", "1.0", ""], [0.0, 1.0, 1.0, math.nan], [False, True, True, None]),
        ["False", "True", "TRUE", None],
    ],
)
@pytest.mark.parametrize("values", [["no", "yes"], ["0", "1"], ["false", "true"], ["nein", "ja"]])
def test_truth_values_are_the_same_in_any_spelling(cells, values):
    assert features(cells, Ordinary(type="binary", values=values)) == [[0, 1, 1, 1]]


def test_spellings_and_outer_blanks_of_values_that_are_not_listed():
    cells = ["TRUE", "false", "true", "FALSE", "True"]
    assert features(cells, Ordinary(type="binary")) == [[1, 0, 1, 0, 1]]
    with pytest.raises(DataError, match=r"'maybe' \(row 3\) holds a third value"):
        features(["TRUE", "false", "maybe"], Ordinary(type="binary"))
    assert features(["p", "p ", "q", "\u00a0q"], Ordinary(type="binary")) == [[0, 0, 1, 1]]
    frame = pl.DataFrame({"of": [1, 2, 3], "cf": ["a"] * 3, "home": ["x", "x ", "y"]})
    schema = Schema(columns={"of": NUMERIC, "cf": ABC}, group="home")
    groups = encode(frame, schema).groups
    assert groups[0] == groups[1] != groups[2]
    again = encode(frame, schema, encoding=encode(frame, schema).encoding).groups
    assert again[0] == again[1] != again[2]


@pytest.mark.parametrize(
    ("cells", "missing"),
    [
        (["1", "k.A.", "3"], ["k.A."]),
        (["1", " k.A. ", "3"], ["k.A."]),
        *((["1", "\u00a0", "3"], [""]), (["1", "-9.0", "3"], ["-9"]), (["1", "-9", "3"], ["-9.0"])),
        ([1, -9, 3], ["-9.0"]),
        ([1.0, -9.0, 3.0], ["-9"]),
        (["1", "a8 ", "3"], [f"a{number}" for number in range(9)]),
    ],
)
def test_what_is_missing_is_so_but_for_blanks_and_zeros(cells, missing):
    assert features(cells, NUMERIC, missing=missing) == [[0, 0.5, 1]]
    own = Ordinary(type="numeric", missing=missing)
    assert features(cells, own, missing=["?"]) == [[0, 0.5, 1]]


def test_a_listed_value_is_not_missing_for_its_blanks():
    of = Ordinary(type="binary", values=["x", " "])
    assert features(["x", " ", "", "x"], of) == [[0, 1, 0, 0]]


@pytest.mark.parametrize(
    "cells",
    [
        [["a"], ["b", "a"], ["=c"], [], None],
        [["a"], ["b ", " a", None], ["= c"], [""], [None]],
        pl.Series([["a"], ["a", "b"], ["=c"], None, None], dtype=pl.List(pl.Categorical)),
    ],
)
@pytest.mark.parametrize("values", [["a", "b", "c"], None])
def test_a_list_is_several_exclusions(cells, values):
    cf = Complementary(values=values, exact="=")
    found = encoded(cells, cf)
    assert candidates(cells, cf) == ["011", "001", "001", "111", "111"]
    assert found.blocks[0].empty_cells == 2
    assert found.blocks[0].exclusions_per_cell == 1.5


def test_elements_of_lists_are_not_split_and_others_are_named_with_their_list():
    cf = Complementary(values=["a;b", "c", "d"], exact="=")
    assert candidates([["a;b"], ["c"]], cf) == ["011", "101"]
    cf = Complementary(values=["1", "2", "3"])
    assert candidates([[1, 2], [3]], cf) == candidates([[1.0, 2.0], [3.0]], cf) == ["001", "110"]
    array = pl.Series([[1, 2], [3, 1]], dtype=pl.Array(pl.Int64, 2))
    assert candidates(array, cf) == ["001", "010"]
    assert problems(lambda: encoded([["a"], ["a", "d"], ["a", "b", "c"]], ABC)) == [
        "table: column 'cf': '[\"a\",\"d\"]' (row 2) names 'd', which is not in the domain: correct it or add it to the column's `values`",
        'table: column \'cf\': \'["a","b","c"]\' (row 3) rules out the whole domain: leave at least one value possible',
    ]


def test_numbers_are_read_by_the_decimal_sign_and_the_unit_of_the_column_or_the_file():
    comma = ["1.234,5 €", "€ 34,5", "", "2.434,5"]
    of = Ordinary(type="numeric", decimal=",", unit="€")
    assert features(comma, of) == [[0.5, 0, 0.5, 1]]
    of = Ordinary(type="numeric", unit="€")
    assert features(comma, of, file={"decimal": ","}) == [[0.5, 0, 0.5, 1]]
    numbers = [1234.5, 34.5, None, 2434.5]
    assert features(numbers, of, file={"decimal": ","}) == [[0.5, 0, 0.5, 1]]
    own = Ordinary(type="numeric", decimal=".")
    assert features(["1.5", "2.5"], own, file={"decimal": ","}) == [[0, 1]]


def test_ordered_values_are_equally_spaced_and_a_missing_one_is_the_median_value():
    of = Ordinary(type="ordered", values=["low", "middle", "high"])
    assert features(["high", "low", " middle", "", "low"], of) == [[1, 0, 0.5, 0, 0]]
    of = Ordinary(type="ordered", values=["18-24", "25-34", "35-44", "45-54", "65+"])
    assert features(["65+", "18-24", "35-44", None], of) == [[1, 0, 0.5, 0.5]]
    assert problem(lambda: features(["65+", "65-"], of)) == (
        "table: column 'of': '65-' (row 2) is not among the column's `values` (did you mean "
        "'65+'?): correct it or set values: "
        '["18-24", "25-34", "35-44", "45-54", "65-", "65+"]'
    )
