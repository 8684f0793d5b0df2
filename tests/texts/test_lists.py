import random

import pytest
from builders.tallies import tallied

from cfl_cli.texts.lists import listing, split

VALUES = ["flu", "cold", "measles", "mumps", "gout"]


def lists(sign, values=VALUES, *, rows=200, seed=1):
    draw = random.Random(seed)  # noqa: S311 — any will do
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


def test_unordered_pairs_are_a_doubt():
    cells = [f"{a}/{b}" for a in VALUES for b in VALUES if a != b]
    found = listing(tallied(cells))
    assert found.separator == "/"
    assert not found.sure


def test_a_last_empty_part_is_none():
    assert split("a; b ;", ";") == ["a", "b"]
    assert split("a;b", None) == ["a;b"]
