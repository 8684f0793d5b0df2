"""New columns: their names, their order, and what they hold."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.encode.encode import Block, best, clashes, decode, new_names


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


def test_imputed_values_are_text_and_confidences_are_numbers():
    kinds = [column.dtype for column in decode(CONFIDENCES, CANDIDATES, [WARD], mode="both")]
    assert kinds == [pl.String, pl.Float64, pl.Float64, pl.Float64]


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
    domains = {each.name: each.values for each in blocks}
    return clashes(existing, domains, mode=mode)


def test_a_new_name_that_the_table_has_is_refused():
    way_out = "would be a duplicate: rename a column of the table"
    assert clash(["job", "ward", "job_confidence", "ward__A"], JOB, WARD) == [
        f"column 'job_confidence', which the output adds for 'job', {way_out}",
        f"column 'ward__A', which the output adds for 'ward', {way_out}",
    ]


def test_a_table_that_has_all_new_columns_is_an_output():
    (message,) = clash(["job", "job_imputed", "job_confidence"], JOB, mode="hard")
    assert message.startswith("column 'job_imputed' is there already, as in what `impute` writes")


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


def test_a_value_that_looks_like_a_suffix_is_no_clash():
    assert not clash(["a"], block("a", ["_imputed", "imputed", "confidence"]))


def test_a_nul_in_a_name_or_a_value_is_refused():
    for each in (block("a\0", ["x", "y"]), block("a", ["x\0", "y"])):
        [problem] = clash(["a"], each)
        assert problem.endswith("holds a NUL character, which a column's name cannot hold")
