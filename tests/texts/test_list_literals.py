import json

import numpy as np
import pytest
from builders.tallies import tallied
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.texts.lists import elements, elements_of, hold_lists

TEXTS = st.lists(st.text(st.characters(codec="utf-8"), max_size=6), max_size=4)


@given(TEXTS)
def test_what_python_and_json_write_is_read_as_it_was(texts):
    for write in (repr, json.dumps, lambda it: json.dumps(it, ensure_ascii=False)):
        assert elements(write(texts)) == tuple(texts)
    assert elements(repr((*texts,))) == tuple(texts)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (str(np.array(["HR", "IT", "New York"])), ("HR", "IT", "New York")),
        (repr([np.str_("HR"), np.str_("IT")]), ("HR", "IT")),
        (str(np.array(["a long department"] * 6)), ("a long department",) * 6),
        ('{HR,IT,"New York",NULL}', ("HR", "IT", "New York")),
        ("[1, 2.5, None, nan]", ("1", "2.5")),
        ("{}", ()),
        (" [] ", ()),
    ],
)
def test_arrays_of_numpy_and_databases_are_lists_too(cell, expected):
    assert elements(cell) == expected


@pytest.mark.parametrize(
    "cell",
    [
        "HR",
        "[HR]",
        "(unknown)",
        "['HR'",
        "{'a': 1}",
        "{a:1}",
        "[['a']]",
        "['a''b']",
        "[f('a')]",
        "[",
    ],
)
def test_other_texts_are_no_lists(cell):
    assert elements(cell) is None


def test_a_column_holds_lists_if_nearly_all_its_cells_do():
    assert hold_lists(tallied(["['a']"] * 18 + ["b", "[]"]))
    assert not hold_lists(tallied(["['a']"] * 17 + ["b", "c", "d"]))
    assert not hold_lists(tallied(["[]"] * 3))
    assert dict(elements_of(tallied(["['a', 'b']", "['a']", "b", "[]"]))) == {"a": 2, "b": 2}
