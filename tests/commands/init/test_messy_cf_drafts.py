"""What `cfl init` drafts of lists, marks and exclusions as people write them."""

import json

import polars as pl
import pytest
from builders.drafts import BRANDS, ROWS, Drafted, cf, lists, some

from cfl_cli.commands.init.draft import draft_schema
from cfl_cli.core.messages import on_command_line, quote
from cfl_cli.encode.encode import encode
from cfl_cli.schema.model import Schema


@pytest.fixture(autouse=True)
def for_the_command_line():
    with on_command_line():
        yield


@pytest.mark.parametrize("joint", ["; ", ";", " | ", ", ", " / ", " & ", "、"])
def test_parts_of_cells_are_the_domain_and_no_joined_value_is(joint):
    column, line = cf(lists(joint))
    assert column.separator == joint.strip()
    assert list(column.values) == BRANDS
    assert "# ?" not in line


def test_codes_are_no_values_of_a_cf_and_an_open_one_is_marked():
    column, line = cf([*lists("; "), *["-", "k.A.", "n/a", "offen"] * 3])
    assert list(column.values) == BRANDS
    assert set(column.missing) == {"-", "k.A.", "n/a", "offen"}
    assert "# ? 'offen' 3 cells: rules nothing out" in line


@pytest.mark.parametrize("mark", ["gesichert: ", "confirmed:", "!"])
def test_a_beginning_of_exact_cells_is_a_mark_and_no_value_begins_with_it(mark):
    column, line = cf([*lists("; "), *(mark + brand for brand in BRANDS)])
    assert column.exact == mark.strip()
    assert list(column.values) == BRANDS
    assert f"# ? 5 cells like {mark + 'Adidas'!r} are exact" in line


@pytest.mark.parametrize(
    ("name", "cells", "said"),
    [
        ("it", ["not flu", "not cold", "not gout"], "cells like 'not flu'; run with --cf it"),
        ("it", lists(";"), "if they say what it is not run with --cf it"),
        ("excluded", ["flu", "cold", "gout"], "run with --cf excluded"),
    ],
)
def test_columns_that_look_complementary_are_pointed_out(name, cells, said):
    found = Drafted(some(cells), name=name)
    assert found.is_marked
    assert said in found.line
    assert found.column.role != "complementary"


def test_a_value_that_never_stands_beside_others_is_named():
    cells = ["a|b", "b|c", "c|d", "a|d", "b|d", "a", "c"] * 6 + ["not told"] * 9
    text = draft_schema(pl.DataFrame({"cf": cells}), cfs=["cf"], ignored=[])
    assert 'values: [a, b, c, d], separator: "|", missing: ["not told"]' in text
    assert "# ? 'not told' 9 cells, never beside others: a value, or missing?" in text


@pytest.mark.parametrize("write", [str, json.dumps, lambda one: "{" + ",".join(one) + "}"])
def test_lists_that_programs_write_into_cells_are_drafted_and_read_as_lists(write):
    cells = [cell.split(";") for cell in lists(";")]
    cells[3:9] = [[], ["n/a"], ["Nike", "n/a"], ["=Puma"], ["=Nike"], ["=Asics"]]
    of = [str(n % 89 + 7) for n in range(ROWS)]
    frames = [pl.DataFrame({"of": of, "it": form}) for form in (cells, [*map(write, cells)])]
    texts = [draft_schema(frame, cfs=["it"], ignored=[]) for frame in frames]
    schemas = [Schema.parse(text) for text in texts]
    assert schemas[0].columns == schemas[1].columns
    assert f"cells are lists such as {quote(write(cells[0]))}" in texts[1]
    unlisted = {"version": 1, "missing": ["", "n/a"], "columns": {
        "of": {"role": "ordinary", "type": "numeric"},
        "it": {"role": "complementary", "exact": "="},
    }}  # fmt: skip
    for schema in (schemas[0], Schema.of(unlisted)):
        wanted, found = (encode(frame, schema) for frame in frames)
        assert found.blocks[0].values == wanted.blocks[0].values == tuple(sorted(BRANDS))
        assert (found.candidates == wanted.candidates).all()
        assert found.blocks[0].empty_cells == wanted.blocks[0].empty_cells == 2


def test_lists_in_a_column_that_is_no_cf_are_pointed_out():
    found = Drafted([repr(cell.split(";")) for cell in lists(";")])
    assert found.column.role == "ignore"
    assert "run with --cf it" in found.line


def test_values_that_look_like_lists_are_values_where_the_schema_lists_them():
    schema = Schema.of({"columns": {
        "of": {"role": "ordinary", "type": "numeric"},
        "it": {"role": "complementary", "values": ["[0, 18]", "[19, 99]", "none"]},
    }})  # fmt: skip
    frame = pl.DataFrame({"of": ["1", "2"], "it": ["[0, 18]", "none"]})
    assert encode(frame, schema).candidates.tolist() == [[False, True, True], [True, True, False]]


@pytest.mark.parametrize(
    ("other", "said"), [(" / ", "hold '/'"), (" und ", "hold 'und'"), ("|", "hold '|'")]
)
def test_the_commoner_of_two_separators_wins_and_the_other_is_to_be_replaced(other, said):
    cells = [
        cell.replace("; ", other) if row % 10 == 0 else cell for row, cell in enumerate(lists("; "))
    ]
    column, line = cf(cells)
    assert (column.separator, list(column.values)) == (";", BRANDS)
    number = sum(other in cell for cell in cells)
    first = next(cell for cell in cells if other in cell)
    assert f"# ? {number} cells like {quote(first)} {said}: replace it by ';'" in line


def test_a_word_may_separate_values_alone_or_before_the_last():
    column, line = cf(lists(" und "))
    assert (column.separator, list(column.values)) == (" und ", BRANDS)
    assert "# ?" in line
    column, line = cf([" and ".join(cell.rsplit(", ", 1)) for cell in lists(", ")])
    assert (column.separator, list(column.values)) == (",", BRANDS)
    assert "hold 'and': replace it by ','" in line


def test_values_of_several_words_are_no_lists():
    values = ["Marks and Spencer", "Fish and Chips", "Salt", "Pepper / Chili", "Rock and Roll"]
    column, _ = cf(lists("; ", values))
    assert list(column.values) == sorted(values)


def test_several_values_behind_an_exact_mark_and_marks_in_other_letters_are_to_be_corrected():
    cells = [*lists(" / "), *[f"sure: {brand}" for brand in BRANDS] * 6]
    cells[5:9] = ["sure: Nike / Puma", "sure: Nike / Puma", "SURE: Nike", "NIKE / Puma"]
    column, line = cf(cells)
    assert (column.separator, column.exact) == ("/", "sure:")
    assert list(column.values) == sorted([*BRANDS, "NIKE"])
    assert "2 cells like 'sure: Nike / Puma' name several values behind 'sure:': leave one" in line
    assert "1 cell like 'SURE: Nike' begin with 'sure:' in other letters: write it so" in line
    nikes = sum("Nike" in cell for cell in cells) - 3
    assert f"one value in several spellings? 'NIKE' 1, 'Nike' {nikes} cells" in line


def test_rare_values_one_letter_from_a_frequent_one_may_be_misspelt():
    cells = some(BRANDS)
    cells[7] = "Rebok"
    assert "# ? 'Rebok' (1 cell) may be 'Reebok' misspelt" in cf(cells)[1]
    assert "# ? 'Rebok' (1 cell) may be 'Reebok' misspelt" in Drafted(cells).line
    levels = [*some(["type A", "grade 1"]), "type B", "grade 2", "Typ", "XL"]
    assert "misspelt" not in Drafted(levels).line
