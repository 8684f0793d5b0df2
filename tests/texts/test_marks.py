from itertools import product

import pytest
from builders.tallies import tallied

from cfl_cli.texts.lists import exact_mark

VALUES = ["flu", "cold", "gout", "mumps"]


@pytest.mark.parametrize(
    "mark", ["=", "!", "+", "gesichert:", "gesichert: ", "confirmed: ", "IS=", "exakt: ", "= "]
)
def test_the_mark_before_known_values_is_found(mark):
    cells = [*VALUES, *(mark + value for value in VALUES[:3])]
    found = exact_mark(tallied(cells), VALUES)
    assert found.text == mark.strip()
    assert found.cells == 3
    assert sorted(found.values) == ["cold", "flu", "gout"]
    assert found.sure == (mark.strip() == "=")


@pytest.mark.parametrize(
    "cells",
    [
        [*VALUES, "pain: left", "pain: right"],
        [*VALUES, "gesichert: flu", "gesichert: cold"],  # two values are too few
        [*VALUES, "note: flu", "note: cold", "note: gout", "note: x", "note: y", "note: z"],
        VALUES,
        ["=", "<", ">"],
    ],
)
def test_other_beginnings_are_no_mark(cells):
    assert exact_mark(tallied(cells), VALUES) is None


def test_many_marks_of_many_values_are_looked_at_once():
    marks = ["".join(letters) for letters in product("abcdefghijklmnop", repeat=3)]
    cells = [f"{mark}: v" for mark in marks]  # each with each, this would be many seconds
    assert exact_mark(tallied(cells), cells) is None
    known = [f"value {mark}" for mark in marks]
    found = exact_mark(tallied([*known, *(f"sure: {one}" for one in known)]), known)
    assert (found.text, found.cells) == ("sure:", len(marks))
