"""Cells that say what a value may be, in which block it lies, or which value it probably is."""

import numpy as np
import polars as pl
import pytest

from cfl_cli.encode.encode import decode, encode, shared_out, told_apart, with_reference
from cfl_cli.errors import DataError
from cfl_cli.schema.model import Schema

X = {"role": "ordinary", "type": "numeric"}
TREE = {"mammal": ["mouse", "rat", "cow"], "rodent": ["mouse", "rat"], "*": ["mouse", "rat", "cow"]}


def encoded(column, **cf):
    schema = Schema(columns={"x": X, "cf": {"role": "complementary", **cf}})
    table = pl.DataFrame({"x": range(len(column)), "cf": column})
    return encode(table, schema), schema


def left(column, **cf):
    found, _ = encoded(column, **cf)
    values = np.array(found.blocks[0].values)
    return ["".join(values[row]) for row in found.candidates]


def test_candidates_are_the_complement_of_exclusions():
    abc = {"values": [*"abc"], "separator": "|"}
    assert left(["a|b", "c", ""], cells="candidates", **abc) == ["ab", "c", "abc"]
    assert left(["c", "a|b", ""], **abc) == ["ab", "c", "abc"]


def test_lists_hold_candidates_as_well():
    found = left([["a", "b"], ["c"], None], cells="candidates", values=[*"abc"])
    assert found == ["ab", "c", "abc"]


def test_an_ancestor_leaves_the_values_below_it():
    cells = ["rodent", "cow", "mammal", "*", ""]
    found, _ = encoded(cells, hierarchy=TREE)
    (block,) = found.blocks
    assert found.candidates.sum(axis=1).tolist() == [2, 1, 3, 3, 3]
    assert block.blocks.tolist() == [True, False, False, False, False]
    assert (block.exact_cells, block.cells) == (1, "candidates")


def test_letter_case_of_ancestors_is_ignored_if_the_schema_says_so():
    assert left(["Rodent", "COW"], hierarchy=TREE, ignore_case=True) == ["mouserat", "cow"]


def test_an_ancestor_among_exclusions_rules_out_all_below_it():
    found = left(["rodent", "cow"], hierarchy=TREE, cells="exclusions")
    assert found == ["cow", "mouserat"]


def test_an_old_code_leaves_its_new_ones_even_if_it_is_one_itself():
    cells = left(["A", "B"], codes={"A": ["A", "a"], "B": ["b"]})
    assert cells == ["Aa", "b"]


def test_a_candidate_outside_the_domain_is_refused_with_its_place():
    with pytest.raises(DataError, match=r"column 'cf': 'a\|z' \(row 2\)"):
        encoded(["a", "a|z"], cells="candidates", separator="|", values=[*"abc"])


def test_a_noisy_cell_leaves_all_values_possible():
    found, _ = encoded(["a", "b", "", "=c"], values=[*"abc"], mechanism={"keep": 0.8}, exact="=")
    (block,) = found.blocks
    likelihood = found.known.evidence
    assert likelihood[0] == pytest.approx([1, 0.125, 0.125])
    assert likelihood[2].tolist() == [1, 1, 1]
    assert likelihood[3].tolist() == [0, 0, 1]
    possible = block.mechanism.leaves(found.candidates).sum(axis=1)
    assert possible.tolist() == [3, 3, 3, 1]


def test_values_are_alike_if_all_cells_leave_them_together():
    masks = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]], dtype=bool)
    assert told_apart(masks).tolist() == [0, 0, 1, 2]
    assert told_apart(np.eye(3, dtype=bool)) is None


def written(column, confidences, **cf):
    found, _ = encoded(column, **cf)
    columns = decode(
        np.array(confidences), found.candidates, found.blocks, mode="hard", min_confidence=0.6
    )
    return [column.to_list() for column in columns]


def test_values_that_are_not_told_apart_are_answered_together():
    names, confidence, *_ = written(
        ["b1|b2", "c"],
        [[0.3, 0.6, 0.1], [0, 0, 1]],
        cells="candidates",
        separator="|",
        drawn="in-blocks",
        values=["b1", "b2", "c"],
    )
    assert names == ["b1|b2", "c"]
    assert confidence == pytest.approx([0.9, 1])


def test_known_shares_divide_what_is_not_told_apart():
    found, _ = encoded(
        ["rodent", "cow"], hierarchy=TREE, shares={"mouse": 0.6, "rat": 0.2, "cow": 0.2}
    )
    parts = shared_out(np.array([[0.5, 0.5, 0], [0, 0, 1.0]]), found.candidates, found.blocks[0])
    assert parts[0] == pytest.approx([0.75, 0.25, 0])


def test_the_lowest_ancestor_that_is_sure_is_named():
    confidences = [[0.5, 0.4, 0.1], [0.7, 0.2, 0.1], [0.4, 0.1, 0.5]]
    cells = ["*", "mouse", "rat"]  # so that all are told apart
    names, _, ancestors, sure = written(cells, confidences, hierarchy=TREE)
    assert names[:2] == [None, "mouse"]
    assert ancestors[:2] == ["rodent", "mouse"]
    assert sure[:2] == pytest.approx([0.9, 0.7])


def test_a_reference_is_appended_as_known_values():
    found, schema = encoded(["rodent", "rodent"], hierarchy=TREE)
    assert found.blocks[0].alike is not None
    others = pl.DataFrame({"x": [0, 1, 1], "cf": ["mouse", "rat", "cow"]})
    both = with_reference(found, others, schema, name="reference")
    assert both.reference == 3
    assert both.candidates.sum(axis=1).tolist() == [2, 2, 1, 1, 1]
    assert both.blocks[0].alike is None


def test_a_reference_with_unknown_values_is_refused_by_its_name():
    found, schema = encoded(["rodent", "rodent"], hierarchy=TREE)
    others = pl.DataFrame({"x": [0], "cf": ["dog"]})
    with pytest.raises(DataError, match="reference: column 'cf': 'dog'"):
        with_reference(found, others, schema, name="reference")


@pytest.mark.parametrize(
    ("cell", "cf", "fix"),
    [
        ("cat", {"hierarchy": TREE}, "add a line for it to the `hierarchy`"),
        ("C9", {"codes": {"C1": ["a", "b"], "C2": ["c"]}}, "add a line for it to the `codes`"),
        ("40-5O", {"bins": [0, 18, 65]}, "widen the `bins`"),
    ],
)
def test_unknown_cells_are_to_be_added_where_the_values_come_from(cell, cf, fix):
    with pytest.raises(DataError) as refused:
        encoded([cell, ""], **cf)
    assert f"correct it or {fix}" in str(refused.value)
