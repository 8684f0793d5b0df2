import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.errors import DataError
from cfl_cli.tables import jsonl
from cfl_cli.tables.codec import ReadOptions, read_bytes
from cfl_cli.tables.formats import KINDS


def load(text, *, set_aside=False, **signs):
    data = text if isinstance(text, bytes) else text.encode()
    return read_bytes(data, ReadOptions(KINDS["jsonl"], "t.jsonl", signs, set_aside))


def rewritten(table, frame):
    return jsonl.rewrite(table, table.lines, frame)


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    SCALARS | TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=5
)
ROWS = st.lists(
    st.dictionaries(TEXTS.filter(lambda key: key != "new"), VALUES, min_size=1, max_size=4),
    min_size=1,
    max_size=6,
)


@given(rows=ROWS, ascii_only=st.booleans())
def test_whatever_goes_in_comes_out_with_new_members_behind_it(rows, ascii_only):
    text = "\n".join(json.dumps(row, ensure_ascii=ascii_only) for row in rows)
    table = load(text)
    new = pl.DataFrame({"new": range(len(rows))})
    out = jsonl._append(table.lines, new).decode().split("\n")
    assert out.pop() == ""
    for number, (before, after) in enumerate(zip(rows, out, strict=True)):
        assert list(json.loads(after).items()) == [*before.items(), ("new", number)]


@given(rows=ROWS)
def test_columns_that_are_not_mixed_hold_exactly_the_values(rows):
    table = load("\n".join(map(json.dumps, rows)))
    for column in table.frame.columns:
        if column not in table.mixed:
            assert table.frame[column].to_list() == [row.get(column) for row in rows]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ('{"a":1}\n{"a":1', "line 2: not JSON: "),
        ('{"a":1}\n\n{"a":2}', "line 2: a blank line"),
        ('{"a":1}\n[1]', "line 2: not a JSON object"),
        ('{"a":1,"a":2}', "line 1: duplicate key 'a'"),
        ('{"a":{"b":1,"b":2}}', "line 1: duplicate key 'b'"),
        ('{"a":NaN}', "line 1: NaN is not JSON: write null"),
        ('{"a":-Infinity}', "line 1: -Infinity is not JSON"),
        ('{"a":"\\ud800"}', "line 1: half of a surrogate pair"),
        ('{"a":' + "[" * 100_000, "line 1: nested too deeply"),
        ('{"a":' + "[" * 900 + "]" * 900 + "}", "a cell is nested too deeply"),
        ('{"a":1} {"a":2}', "line 1: not JSON"),
        ("{'a':1}", "line 1: not JSON"),
        ('{"a":01}', "line 1: not JSON"),
        ('{"a":"\t"}', "line 1: not JSON"),
        (b'{"a":"\xe9"}', "line 1: byte E9 is not UTF-8"),
        ('{"a":1}'.encode("utf-16"), "this is UTF-16"),
        ("", "no columns: no line holds an object"),
        ("{}\n{}", "no columns: every object is empty"),
    ],
)
def test_what_is_no_table_is_refused_with_line_and_cause(text, cause):
    with pytest.raises(DataError) as error:
        load(text)
    assert error.value.texts[0].startswith(f"t.jsonl: {cause}")


def test_bad_lines_are_set_aside_with_number_cause_and_text():
    table = load('{"a":1}\nrubbish\r\n\n{"a":2}\n', set_aside=True)
    assert table.frame["a"].to_list() == [1, 2]
    assert [(number, text) for number, _, text in table.rejects] == [(2, "rubbish"), (3, "")]


def test_a_byte_order_mark_line_ends_of_windows_and_other_encodings_are_accepted():
    text = '{"a":"é"}\r\n{"a":"b"}\r\n\r\n'
    assert load(text.encode("utf-8-sig")).frame["a"].to_list() == ["é", "b"]
    assert load(text.encode("latin-1"), encoding="latin-1").frame["a"].to_list() == ["é", "b"]
    out = jsonl._append(load(text).lines, pl.DataFrame({"n": [1, 2]}))
    assert out.decode() == '{"a":"é","n":1}\n{"a":"b","n":2}\n'


def test_an_empty_object_gets_its_first_members():
    out = jsonl._append(load('{"a":1}\n { } \n').lines, pl.DataFrame({"n": [1, 2]}))
    assert [json.loads(line) for line in out.split(b"\n")[:-1]] == [{"a": 1, "n": 1}, {"n": 2}]


@given(rows=ROWS, ascii_only=st.booleans(), separators=st.sampled_from([None, (",", ":")]))
def test_cells_that_change_are_put_where_they_stood_and_all_else_keeps_its_spelling(
    rows, ascii_only, separators
):
    def spelled(cells):
        return [json.dumps(row, ensure_ascii=ascii_only, separators=separators) for row in cells]

    before = [{"first": n, **row, "cf": "a\u00e9", "last": [n]} for n, row in enumerate(rows)]
    table = load("\n".join(spelled(before)))
    other = pl.Series("cf", [None if n % 3 else '"}' for n in range(len(rows))], dtype=pl.String)
    written = rewritten(table, table.frame.with_columns(other)).decode().split("\n")
    assert written.pop() == ""
    # The new text is plain ASCII, so that spelling it takes no choice.
    assert written == spelled(
        row | {"cf": cell} for row, cell in zip(before, other.to_list(), strict=True)
    )


def test_a_line_without_the_member_or_with_blanks_in_odd_places_is_rewritten_too():
    table = load('{ "x" :1.50 , "cf"\t:\t"a" }\r\n{"x":2}\n{}\n{"x":3,"cf":null}\n')
    cells = pl.Series("cf", ["=b", None, None, None])
    assert rewritten(table, table.frame.with_columns(cells)) == (
        b'{ "x" :1.50 , "cf"\t:\t"=b" }\r\n{"x":2}\n{}\n{"x":3,"cf":null}\n'
    )


# A column gets a type only if that changes no cell.


def typed(cells):
    """Return the column with these cells, each written as JSON, and why it is mixed if it is."""
    table = load("".join(f'{{"a": {cell}}}\n' for cell in cells))
    return table.frame["a"], table.mixed.get("a", "")


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "null", "-3"], pl.Int64),
        (["1", "18446744073709551615"], pl.UInt64),
        (["1", "2.5"], pl.Float64),
        (["1e5", "-0.0"], pl.Float64),
        (["true", "null"], pl.Boolean),
        (['"a"', "null"], pl.String),
        (["null", "null"], pl.String),
        (['["a", null]', "[]", "null"], pl.List(pl.String)),
        (["[1]", "[2, 3]"], pl.List(pl.Int64)),
        (["[1]", "[2.5]"], pl.List(pl.Float64)),
        # What a type would change stays text.
        *((odd, "") for odd in (["1", '"1"'], ["true", "1"], ["[1]", '["a"]'], ["[[1]]", "[[2]]"])),
        *((odd, "") for odd in (["[1]", "[-0]"], ['["a"]', '"a"'], ['{"b":1}', "null"], ["-0"])),
        *((odd, "") for odd in (["-1", "9223372036854775808"], ["18446744073709551616"])),
        *((odd, "") for odd in (["1e400"], ["1e-400"], ["0.12345678901234567890"], ["1" * 5000])),
        (["9007199254740993", "0.5"], ""),
    ],
)
def test_a_column_of_one_kind_gets_its_type(cells, kind):
    column, what = typed(cells)
    assert column.dtype == (kind or pl.String)
    assert (what == "") == (kind != "")


def test_numbers_in_a_mixed_column_keep_their_spelling():
    column, what = typed(["1.50", '"a"', '[1e5, {"b": -0}]', "null"])
    assert column.to_list() == ["1.50", "a", '[1e5, {"b": -0}]', None]
    assert what == "cells of different kinds"
