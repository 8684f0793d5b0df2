"""Messy files: the generators hold what their truth says, and the judge knows right from wrong."""

from datetime import datetime

import pytest

from benchmarks.messy import drafts, held_out, score
from benchmarks.messy.cells import Dice
from benchmarks.messy.files import MessyFile, boolean, comma, excluded, ordered
from cfl_cli import Schema

FILES = [*held_out.files()]


def small():
    dice = Dice(30, 0)
    return MessyFile(
        "small",
        (
            comma("x", dice.sprinkled(["1,5", "2,25"] * 15, {"k.A.": 0.1}), codes=("k.A.",)),
            boolean("b", dice.pick(["ja", "nein"])),
            ordered("o", dice.pick(["low", "mid", "high"]), ["low", "mid", "high"]),
            excluded("cf", dice.lists(["a", "b", "c"], "; ", 2), ["a", "b", "c"], separator=";"),
        ),
        delimiter=";",
    )


RIGHT = """\
version: 1
file: {delimiter: ";", decimal: ","}
columns:
  x: {role: ordinary, type: numeric, missing: [k.A.]}
  b: {role: ordinary, type: binary, values: [nein, ja]}
  o: {role: ordinary, type: ordered, values: [low, mid, high]}
  cf: {role: complementary, values: [a, b, c], separator: ";"}  # ? a list
"""


def wrong(text):
    schema = Schema.parse(text)
    return {
        column.name: score.problems(column, schema, is_marked=False)
        for column in small().columns
        if score.problems(column, schema, is_marked=False)
    }


def test_the_right_schema_is_right_and_every_fault_is_found_in_its_column():
    assert wrong(RIGHT) == {}
    assert wrong(RIGHT.replace(', decimal: ","', "")) == {"x": ["decimal None, not ','"]}
    assert wrong(RIGHT.replace("[k.A.]", "[]")) == {"x": ["'k.A.' is not missing"]}
    assert wrong(RIGHT.replace("low, mid", "mid, low")).keys() == {"o"}
    assert wrong(RIGHT.replace('separator: ";"', "separator: ','")).keys() == {"cf"}
    assert wrong(RIGHT.replace("ordered", "categorical")).keys() == {"o"}
    assert wrong(RIGHT.replace("ja]", "oui]")) == {"b": ["'ja' is not in the values"]}


def test_a_mark_belongs_to_the_column_whose_line_has_it():
    notes, above = drafts.commented(RIGHT + "# ? run again\n")
    assert [name for name, lines in notes.items() if drafts.MARK in lines] == ["cf"]
    assert "decimal" in above


def test_a_file_is_drafted_and_judged_as_the_command_drafts_it(tmp_path):
    found = score.score_file(small(), tmp_path, told=True, run=False)
    assert not found.why
    assert [one.column.name for one in found.columns] == ["x", "b", "o", "cf"]
    assert "| all | 4 |" in score.report([found])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_cells_hold_what_the_truth_says(file):
    assert file.data().decode(file.encoding).count(file.newline) == file.rows + 1 + bool(file.above)
    for column in file.columns:
        texts = {cell.strip() for cell in column.cells}
        assert {*column.codes} <= texts
        if column.domain:
            marks = [text.removeprefix(column.exact or "\0").strip() for text in score.seen(column)]
            parts = {part.strip() for text in marks for part in text.split(column.separator)}
            assert parts - {*column.either} == {*column.domain} - {*column.either}
        if column.order:
            assert {*score.seen(column)} == {*column.order}
        for form in (form for form in column.formats[:1] if form and "%B" not in form):
            assert all(datetime.strptime(text, form) for text in score.seen(column))  # noqa: DTZ007 — a table's own time
