"""Tests."""

import json
import random
from itertools import product

import numpy as np
import pytest
from builders.tallies import tallied
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.texts.lists import (
    elements,
    elements_of,
    exact_mark,
    hold_lists,
    is_name_of_exclusions,
    listing,
    negated,
    split,
)

VALUES = ["flu", "cold", "measles", "mumps", "gout"]


def lists(sign, values=VALUES, *, rows=200, seed=1):
    draw = random.Random(seed)
    return [sign.join(draw.sample(values, draw.randint(1, 3))) for _ in range(rows)]


@pytest.mark.parametrize("sign", [";", "; ", " | ", ",", ", ", " / ", " + ", " & ", "\n"])
def test_the_sign_between_values_is_found_with_blanks_around_it(sign):
    found = listing(tallied(lists(sign)))
    assert found.separator == (sign.strip() or sign)
    assert sorted(found.parts) == sorted(VALUES)
    assert found.sure


@pytest.mark.parametrize("values", [3, 8, 25, 40])
def test_domains_of_many_sizes_are_found(values):
    names = [f"value {chr(97 + number % 26)}{number}" for number in range(values)]
    for seed in range(5):
        found = listing(tallied(lists("; ", names, rows=400, seed=seed)))
        assert sorted(found.parts) == sorted(names)


@pytest.mark.parametrize(
    "cells",
    [
        ["Meyer, Anna", "Huber, Jan", "Meyer, Jan", "Huber, Anna", "Meyer, Bo"] * 3,
        ["km/h", "m/s", "kg"] * 5,
        [f"{top}/{bottom}" for top in range(110, 140, 3) for bottom in range(70, 90, 4)],
        ["Sales, north", "Sales, south", "Support, north", "Support, south", "HR, north"] * 3,
        ["R&D", "Sales", "HR"] * 5,
        ["a; b", "c", "d"],
        [f"Went home, slept {n} hours, came back" for n in range(50)],
    ],
)
def test_what_only_holds_the_sign_is_no_list(cells):
    assert listing(tallied(cells)) is None


def test_unordered_pairs_are_a_doubt_and_a_last_empty_part_is_none():
    found = listing(tallied([f"{a}/{b}" for a in VALUES for b in VALUES if a != b]))
    assert found.separator == "/"
    assert not found.sure
    assert split("a; b ;", ";") == ["a", "b"]
    assert split("a;b", None) == ["a;b"]


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


def test_a_column_holds_lists_if_nearly_all_its_cells_do_and_other_texts_are_none():
    cells = ["HR", "[HR]", "(unknown)", "['HR'", "{'a': 1}", "{a:1}", "[['a']]", "['a''b']"]
    assert [elements(cell) for cell in [*cells, "[f('a')]", "["]] == [None] * 10
    assert hold_lists(tallied(["['a']"] * 18 + ["b", "[]"]))
    assert not hold_lists(tallied(["['a']"] * 17 + ["b", "c", "d"]))
    assert not hold_lists(tallied(["[]"] * 3))
    assert dict(elements_of(tallied(["['a', 'b']", "['a']", "b", "[]"]))) == {"a": 2, "b": 2}


@pytest.mark.parametrize("word", ["not", "kein", "nicht", "pas de", "sin", "geen", "ruled out:"])
def test_cells_that_say_what_a_value_is_not_are_seen(word):
    assert negated(tallied([f"{word} flu", f"{word} cold", ""])) == f"{word} flu"
    assert negated(tallied([f"{word} flu", "cold", "gout"])) is None


def test_names_that_say_so_are_seen_and_a_bare_no_is_an_answer():
    assert negated(tallied(["no", "not", "nothing"])) is None
    assert negated(tallied(["Norway", "Notting Hill"])) is None
    named = ["not_diagnosis", "excluded", "Ausgeschlossen", "diagnosisExcluded"]
    others = ["note", "notes", "nose", "diagnosis", "exclusive_offer_price"]
    assert [name for name in [*named, *others] if is_name_of_exclusions(name)] == named


ILLNESSES = ["flu", "cold", "gout", "mumps"]


@pytest.mark.parametrize(
    "mark", ["=", "!", "+", "gesichert:", "gesichert: ", "confirmed: ", "IS=", "exakt: ", "= "]
)
def test_the_mark_before_known_values_is_found(mark):
    cells = [*ILLNESSES, *(mark + value for value in ILLNESSES[:3])]
    found = exact_mark(tallied(cells), ILLNESSES)
    assert found.text == mark.strip()
    assert found.cells == 3
    assert sorted(found.values) == ["cold", "flu", "gout"]
    assert found.sure == (mark.strip() == "=")


@pytest.mark.parametrize(
    "cells",
    [
        [*ILLNESSES, "pain: left", "pain: right"],
        [*ILLNESSES, "gesichert: flu", "gesichert: cold"],  # two values are too few
        [*ILLNESSES, "note: flu", "note: cold", "note: gout", "note: x", "note: y", "note: z"],
        ILLNESSES,
        ["=", "<", ">"],
    ],
)
def test_other_beginnings_are_no_mark(cells):
    assert exact_mark(tallied(cells), ILLNESSES) is None


def test_many_marks_of_many_values_are_looked_at_once():
    marks = ["".join(letters) for letters in product("abcdefghijklmnop", repeat=3)]
    cells = [f"{mark}: v" for mark in marks]  # each with each, this would be many seconds
    assert exact_mark(tallied(cells), cells) is None
    known = [f"value {mark}" for mark in marks]
    found = exact_mark(tallied([*known, *(f"sure: {one}" for one in known)]), known)
    assert (found.text, found.cells) == ("sure:", len(marks))
