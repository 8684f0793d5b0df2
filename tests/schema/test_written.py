"""The text of a schema makes the same schema again, whether it was read or made in Python."""

import pytest
from builders.schemas import EXAMPLE, GOOD
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.errors import SchemaError
from cfl_cli.schema.model import Complementary, Ordinary, Schema

FULL = {
    "version": 1,
    "missing": ["", "NA", "no", "~"],
    "on_missing": "error",
    "group": ["house no", "id"],
    "columns": {
        "age": {"role": "ordinary", "type": "numeric", "on_missing": "fill"},
        "housing": {"role": "ordinary", "type": "binary", "values": ["12:30", "01"]},
        "region": {"role": "ordinary", "type": "categorical"},
        "job": {
            "role": "complementary",
            "values": ["clerk", "nurse", "true"],
            "mechanism": {"clerk": 3, "nurse": 1, "true": 1e-7},
        },
        "ward": {
            "role": "complementary",
            "values": [*"ABC"],
            "separator": "; ",
            "exact": "=",
            "exact_cells": "random",
            "mechanism": [[0, 0.1, 0.9], [0.3, 0, 0.7], [1 / 3, 2 / 3, 0]],
        },
        "fit": {
            "role": "complementary",
            "exact": "!",
            "exact_cells": "random",
            "mechanism": "fit",
        },
        "id": {"role": "ignore"},
    },
    "settings": {
        "method": "boost",
        "gamma": 0.1,
        "iterations": "auto",
        "calibration": False,
        "jobs": 3,
        "max_memory": "2GB",
        "report": "my report.json",
        "fail_on_flag": True,
    },
}


def test_a_schema_that_was_read_keeps_its_text(tmp_path):
    assert Schema.parse(EXAMPLE).text == EXAMPLE
    path = tmp_path / "schema.yml"
    path.write_bytes(EXAMPLE.replace("\n", "\r\n").encode("utf-8-sig"))
    assert Schema.load(path).text.encode() == path.read_bytes()
    assert Schema.parse(Schema.load(path).text) == Schema.load(path)


def test_a_text_is_no_part_of_what_a_schema_says():
    assert Schema.parse(EXAMPLE) == Schema.parse(EXAMPLE + "# a comment")


def test_a_schema_that_was_changed_has_another_text():
    changed = Schema.parse(EXAMPLE).model_copy(update={"missing": ("?",)})
    assert Schema.parse(changed.text) == changed
    assert Schema.parse(changed.text).missing == ("?",)


def test_a_schema_made_in_python_is_written_an_entry_a_line():
    assert Schema(columns=GOOD, settings={"k": 7}).text == (
        "version: 1\n"
        'missing: [""]\n'
        "on_missing: fill\n"
        "columns:\n"
        "  age: {role: ordinary, type: numeric}\n"
        "  job: {role: complementary, values: [clerk, nurse]}\n"
        "group: []\n"
        "settings: {k: 7}\n"
    )


def test_all_that_a_schema_can_say_survives_its_text_to_the_bit():
    schema = Schema(**FULL)
    again = Schema.parse(schema.text)
    assert again == schema
    assert again.run == schema.run
    assert again.run.max_memory == 2 * 10**9
    assert list(again.columns) == list(FULL["columns"])
    assert again.complementary["ward"].mechanism == schema.complementary["ward"].mechanism
    assert again.text == schema.text == again.plain_text
    commented = Schema.parse(f"# a comment\n{schema.text}")
    assert (commented.text, commented.plain_text) == (f"# a comment\n{schema.text}", schema.text)


@given(st.lists(st.lists(st.floats(1e-100, 1e100), min_size=4, max_size=4), min_size=2, max_size=4))
def test_any_mechanism_survives_to_the_bit(weights):
    for row in weights:
        cf = Complementary(values=[*"abcd"], mechanism=row)
        schema = Schema(columns={"x": Ordinary(type="numeric"), "cf": cf})
        assert Schema.parse(schema.text) == schema


NAMES = st.text(st.characters(codec="utf-8"), max_size=20)
ODD = st.sampled_from(
    ["", " ", "a: b", "#", "? ", "- x", "\n", "'", '"\\"', "\x85\u2028", "é" * 2000]
)


@given(st.lists(NAMES | ODD, min_size=3, max_size=8, unique=True))
def test_any_names_and_values_survive(texts):
    of, cf, *others = texts
    columns = {
        of: {"role": "ordinary", "type": "categorical", "values": texts},
        cf: {"role": "complementary", "values": texts[::-1]},
        **{name: {"role": "ignore"} for name in others},
    }
    schema = Schema(columns=columns, missing=[], group=[name for name in others if name])
    assert Schema.parse(schema.text) == schema
    assert list(Schema.parse(schema.text).columns) == texts


def test_a_schema_that_no_file_could_hold_is_refused():
    cf = Complementary(values=[f"value {number}" for number in range(30_000)])
    schema = Schema(columns={"x": Ordinary(type="numeric"), "cf": cf})
    with pytest.raises(SchemaError, match="larger than 256 KiB"):
        _ = schema.text
