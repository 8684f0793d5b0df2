"""Cells become what a plain loop makes of them; whatever does not fit is named with its place."""

import math
import statistics
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from builders.encoding import ABC, NUMERIC, encoded, features, problem, problems
from hypothesis import example, given
from hypothesis import strategies as st

from cfl_cli.encode.encode import Block, best, clashes, decode, encode, new_names
from cfl_cli.schema.model import Complementary, Ordinary, Schema

FINITE = st.floats(allow_nan=False, allow_infinity=False)
HUGE = 1.7e308
TINY = 5e-324  # the smallest number above 0


@given(st.lists(FINITE, min_size=2))
@example([HUGE, -HUGE, 0.0])
@example([TINY, 0.0, 2 * TINY])
@example([HUGE, TINY, -TINY])
@example([1e308, 1e308])
@example([1.0, math.nextafter(1.0, 2.0)])
def test_any_finite_numbers_go_where_exact_arithmetic_puts_them(numbers):
    [found] = features(numbers, NUMERIC)
    exact = [Fraction(number) for number in numbers]
    low, width = min(exact), max(exact) - min(exact)
    expected = [float((number - low) / width) if width else 0.0 for number in exact]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)
    assert min(found) >= 0
    assert max(found) <= 1
    assert features([repr(number) for number in numbers], NUMERIC) == [found]


@given(st.lists(FINITE | st.none(), min_size=2).filter(lambda cells: set(cells) != {None}))
@example([1e308, HUGE, None])
@example([-HUGE, -1e308, None, None])
def test_a_missing_number_becomes_the_median(numbers):
    exact = [Fraction(number) for number in numbers if number is not None]
    low, width = min(exact), max(exact) - min(exact) or 1
    median = (statistics.median(exact) - low) / width
    rounding = Fraction(math.ulp(max(map(abs, exact)))) / width  # of the median as a double
    [found] = features(pl.Series(numbers, dtype=pl.Float64), NUMERIC)
    for number, feature in zip(numbers, found, strict=True):
        assert number is not None or abs(Fraction(feature) - median) <= rounding + Fraction(1e-15)


@pytest.mark.parametrize("cell", [" 12", "12 ", "\t12\n", "12.", "+12", "012", "1.2e1", "1.2E+01"])
def test_a_number_may_be_written_in_many_ways(cell):
    assert features(["10", cell, "14"], NUMERIC) == [[0.0, 0.5, 1.0]]


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("word", 'is not a number: correct it or set missing: ["word"]'),
        ("nan", 'means that the value is missing: set missing: ["nan"]'),
        ("1,5", 'is a number with a decimal comma: set decimal: ","'),
        ("12 kg", "has the unit 'kg': set unit: \"kg\""),
        (
            "<5",
            "is a bound, not a number: write numbers instead or set bounds: true, which reads it as the number",
        ),
        *(
            (odd, "is not a number: correct it or list it under `missing`")
            for odd in ("1_000", "0x10", "--1", "١٢")
        ),
    ],
)
def test_text_that_is_no_number_is_named(cell, said):
    [problem] = problems(lambda: features(["1", cell, "2"], NUMERIC))
    assert problem.startswith(f"table: column 'of': {cell!r} (row 2) {said}")


@pytest.mark.parametrize(
    "cells",
    [
        ["1", "inf"],
        ["1", "-inf"],
        ["1", "Infinity"],
        ["1", "-1e400"],
        ["1", "9" * 400],
        [1.0, math.inf],
    ],
)
def test_a_number_that_is_not_finite_is_named(cells):
    said = problem(lambda: features(cells, NUMERIC))
    assert said.startswith(f"table: column 'of': '{str(cells[1])[:40]}")
    assert "(row 2) is not finite: correct it or " in said
    assert len(said) < 200


def test_a_binary_is_0_or_1_by_the_order_of_its_two_values():
    cells = ["yes", "no", "yes"]
    assert features(cells, Ordinary(type="binary", values=["no", "yes"])) == [[1, 0, 1]]
    assert features(cells, Ordinary(type="binary", values=["yes", "no"])) == [[0, 1, 0]]
    assert features(cells, Ordinary(type="binary")) == [[1, 0, 1]]  # sorted
    assert features(["n", "s", "n"], Ordinary(type="categorical")) == [[0, 1, 0]]
    of = Ordinary(type="categorical", values=["s", "n"])
    assert features(["n", "s", "n"], of) == [[1, 0, 1]]
    expected = "table: column 'of': 'c' (row 3) holds a third value, but a binary column has two: list it under `missing`, or set type: categorical"
    assert problem(lambda: features(["a", "b", "c"], Ordinary(type="binary"))) == expected


def test_a_category_is_one_hot_over_the_root_of_their_number():
    root = 1 / math.sqrt(3)
    assert features(["n", "s", "e", "s"], Ordinary(type="categorical")) == [
        [0, 0, root, 0],  # e
        [root, 0, 0, 0],  # n
        [0, root, 0, root],  # s
    ]
    of = Ordinary(type="categorical", values=["s", "w", "n", "e"])
    assert features(["n", "s"], of) == [[0, 0.5], [0, 0], [0.5, 0], [0, 0]]
    assert features(["n", "n"], Ordinary(type="categorical")) == [[0, 0]]


def test_a_missing_category_becomes_the_commonest():
    of = Ordinary(type="categorical", values=["x", "y", "z"])
    root = 1 / math.sqrt(3)
    assert features(["z", "x", "", "z"], of) == [[0, root, 0, 0], [0] * 4, [root, 0, root, root]]
    expected = [[1, 1, 1, 0]]
    assert features(["b", "NA", "b", "a"], Ordinary(type="binary"), missing=["NA"]) == expected


def test_a_value_outside_the_given_ones_is_named_with_the_nearest():
    of = Ordinary(type="binary", values=["left", "right"])
    assert problems(lambda: features(["left", "Right", "right", "both"], of)) == [
        "table: column 'of': 'Right' (row 2) differs from a value only in blanks or case: write 'right' or set ignore_case: true",
        (
            "table: column 'of': 'both' (row 4) is not among the column's `values`: correct it or "
            'set missing: ["both"]'
        ),
    ]


def test_more_than_a_thousand_categories_are_refused():
    cells = [f"id {number}" for number in range(1001)]
    assert len(features(cells[:1000], Ordinary(type="categorical"))) == 1000
    expected = "table: column 'of': 1,001 different values, but a categorical column has at most 1,000: mark it `role: ignore`, or group its values"
    assert problem(lambda: features(cells, Ordinary(type="categorical"))) == expected


def test_filled_cells_are_counted_per_column():
    frame = pl.DataFrame({"x": ["1", "", "NA", "4"], "y": ["p", "q", "p", "q"], "cf": ["a"] * 4})
    schema = Schema(
        missing=["", "NA"], columns={"x": NUMERIC, "y": Ordinary(type="binary"), "cf": ABC}
    )
    assert encode(frame, schema).warnings == ("column 'x': 2 missing cells filled in",)


@pytest.mark.parametrize(
    ("everywhere", "here", "refused"),
    [
        *(("fill", None, False), ("error", None, True), ("fill", "error", True)),
        ("error", "fill", False),
    ],
)
def test_on_missing_of_the_column_wins_over_the_schemas(everywhere, here, refused):
    def call():
        of = Ordinary(type="numeric", on_missing=here)
        return features(["1", "NA", "", None], of, missing=["", "NA"], on_missing=everywhere)

    if refused:
        expected = "table: column 'of': 3 cells like 'NA' (rows 2, 3, 4) are missing, but the schema says `on_missing: error`: fill them in or set on_missing: fill"
        assert problem(call) == expected
    else:
        assert call() == [[0, 0, 0, 0]]


def test_a_column_of_missing_cells_is_refused():
    expected = "table: column 'of': every cell is missing: mark it `role: ignore`"
    assert problem(lambda: features(["", None], NUMERIC)) == expected


CELL = st.one_of(
    st.tuples(st.just("exclusions"), st.sets(st.sampled_from("abcd"), min_size=1, max_size=3)),
    st.tuples(st.just("exact"), st.sets(st.sampled_from("abcd"), min_size=1, max_size=1)),
    st.tuples(st.just("empty"), st.just(set())),
)


@given(st.lists(CELL, min_size=2))
def test_candidates_and_counts_are_those_of_a_plain_loop(cells):
    texts, expected, listed, exact, empty = [], [], [], 0, 0
    for kind, values in cells:
        texts.append(("=" if kind == "exact" else "") + ";".join(values))
        if kind == "exact":
            expected.append([value in values for value in "dcba"])
        else:
            expected.append([value not in values for value in "dcba"])
        exact += sum(expected[-1]) == 1
        empty += kind == "empty"
        listed += [len(values)] if kind == "exclusions" else []
    found = encoded(texts, Complementary(values=[*"dcba"], separator=";", exact="="))
    assert found.candidates.tolist() == expected
    [block] = found.blocks
    assert (block.exact_cells, block.empty_cells) == (exact, empty)
    assert block.marked.tolist() == [text.startswith("=") for text in texts]
    assert block.exclusions_per_cell == pytest.approx(statistics.mean(listed) if listed else 0)


def test_some_rows_keep_their_own_exact_marks():
    cf = Complementary(values=[*"abc"], exact="=", exact_cells="random")
    some = encoded(["=a", "b", "=c", "", "a"], cf).some(np.array([1, 2, 4]))
    assert some.blocks[0].marked.tolist() == [False, True, False]
    assert some.known.sampled[0].tolist() == [False, True, False]


def test_columns_stand_in_the_schemas_order_whatever_the_tables():
    frame = pl.DataFrame({"q": ["b", "a"], "y": [1, 2], "p": ["u", "v"], "x": [4, 3], "other": 0})
    columns = {"p": Complementary(values=["u", "v"]), "x": NUMERIC, "q": ABC, "y": NUMERIC}
    found = encode(frame, Schema(columns=columns))
    assert found.features.tolist() == [[1, 0], [0, 1]]
    assert found.candidates.tolist() == [[0, 1, 1, 0, 1], [1, 0, 0, 1, 1]]
    expected = [("p", slice(0, 2)), ("q", slice(2, 5))]
    assert [(block.name, block.columns) for block in found.blocks] == expected
    assert found.known.blocks.tolist() == [0, 2]


@pytest.mark.parametrize(("rows", "said"), [(0, "no rows"), (1, "one row")])
def test_a_table_needs_two_rows(rows, said):
    frame = pl.DataFrame({"of": ["1"], "cf": ["a"]}).head(rows)
    expected = f"table: the table has {said}, too few to estimate from: add rows"
    assert problem(lambda: encode(frame, Schema(columns={"of": NUMERIC, "cf": ABC}))) == expected


def test_ofs_that_are_all_constant_and_right_are_refused():
    frame = pl.DataFrame({"x": [3, 3], "y": ["p", "p"], "cf": ["a", "b"]})
    columns = {"x": NUMERIC, "y": Ordinary(type="categorical", values=["p", "q", "r"]), "cf": ABC}
    expected = "table: all ordinary columns are constant, so all rows look the same: set `role: ordinary` for a column that varies"
    assert problem(lambda: encode(frame, Schema(columns=columns))) == expected
    frame = pl.DataFrame({"x": ["3", "wrong"], "y": ["1", "1"], "cf": ["a", "b"]})
    [said] = problems(
        lambda: encode(frame, Schema(columns={"x": NUMERIC, "y": NUMERIC, "cf": ABC}))
    )
    assert "column 'x': 'wrong' (row 2)" in said


# New columns: their names, their order, and what they hold.


def block(name, values, start=0):
    return Block(name, tuple(values), start, 1.0, 0, 0)


JOB, WARD = block("job", ["nurse", "clerk", "farmer"]), block("ward", ["B", "A"], start=3)
CONFIDENCES = np.array([[0.2, 0.8, 0.0, 1.0, 0.0], [0.5, 0.0, 0.5, 0.25, 0.75]])
CANDIDATES = CONFIDENCES > 0


def columns(mode, **kept):
    series = decode(CONFIDENCES, CANDIDATES, [JOB, WARD], mode=mode, **kept)
    return {column.name: column.to_list() for column in series}


HARD_JOB = {"job_imputed": ["clerk", "nurse"], "job_confidence": [0.8, 0.5]}
HARD_WARD = {"ward_imputed": ["B", "A"], "ward_confidence": [1.0, 0.75]}
SOFT_JOB = {"job__nurse": [0.2, 0.5], "job__clerk": [0.8, 0.0], "job__farmer": [0.0, 0.5]}
SOFT_WARD = {"ward__B": [1.0, 0.25], "ward__A": [0.0, 0.75]}


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("hard", HARD_JOB | HARD_WARD),
        ("soft", SOFT_JOB | SOFT_WARD),
        ("both", HARD_JOB | SOFT_JOB | HARD_WARD | SOFT_WARD),
    ],
)
def test_columns_come_cf_by_cf_hard_before_soft_in_the_domains_order(mode, expected):
    found = columns(mode)
    assert found == expected
    assert list(found) == list(expected)
    assert [
        *new_names(JOB.name, JOB.values, mode),
        *new_names(WARD.name, WARD.values, mode),
    ] == list(expected)


def test_a_cf_that_is_kept_is_as_observed_without_values_and_with_all_candidates_alike():
    assert columns("both", kept={"ward"}) == {
        **HARD_JOB,
        **SOFT_JOB,
        "ward_imputed": [None, None],
        "ward_confidence": [None, None],
        "ward__B": [1.0, 0.5],
        "ward__A": [0.0, 0.5],
    }
    kept = decode(CONFIDENCES, CANDIDATES, [WARD], mode="hard", kept={"ward"})
    assert [column.dtype for column in kept] == [pl.String, pl.Float64]


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=4, max_size=4).filter(
            lambda row: any(candidate for _, candidate in row)
        ),
        min_size=1,
    )
)
def test_the_best_is_that_of_a_plain_loop(rows):
    expected = []
    for row in rows:
        found = None
        for place, (mass, candidate) in enumerate(row):
            if candidate and (found is None or mass > row[found][0]):
                found = place
        expected.append(found)
    table = np.array(rows)
    assert best(table[:, :, 0] / 10, table[:, :, 1].astype(bool)).tolist() == expected


def clash(existing, *blocks, mode="both"):
    return clashes(existing, {each.name: each.values for each in blocks}, mode=mode)


def test_new_names_that_the_table_has_are_refused():
    way_out = "would be a duplicate: rename a column of the table"
    assert clash(["job", "ward", "job_confidence", "ward__A"], JOB, WARD) == [
        f"column 'job_confidence', which the output adds for 'job', {way_out}",
        f"column 'ward__A', which the output adds for 'ward', {way_out}",
    ]
    (message,) = clash(["job", "job_imputed", "job_confidence"], JOB, mode="hard")
    assert message.startswith("column 'job_imputed' already exists, as in the output of `impute`")
    assert not clash(["a"], block("a", ["_imputed", "imputed", "confidence"]))
    for each in (block("a\0", ["x", "y"]), block("a", ["x\0", "y"])):
        [problem] = clash(["a"], each)
        assert problem.endswith("holds a NUL character, which a column's name cannot hold")


@pytest.mark.parametrize(
    ("mode", "taken"),
    [
        *(("hard", "job__nurse"), ("soft", "job_imputed"), ("both", "job_imputed_")),
        ("hard", "Job_imputed"),
    ],
)
def test_only_the_names_that_the_mode_adds_must_be_free(mode, taken):
    assert not clash(["job", taken], JOB, mode=mode)


@pytest.mark.parametrize(
    "blocks",
    [
        (block("a", ["imputed", "y"]), block("a_", ["x", "y"])),  # a__imputed
        (block("a", ["b__c", "y"]), block("a__b", ["c", "x"])),  # a__b__c
        (block("a_", ["x", "y"]), block("a", ["confidence", "y"])),  # a__confidence
    ],
)
def test_new_names_that_equal_each_other_are_refused(blocks):
    [problem] = clash([each.name for each in blocks], *blocks)
    assert f"which the output adds for {blocks[1].name!r}" in problem
