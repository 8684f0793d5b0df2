"""Texts that mean several values: ancestors, old codes, ranges and prefixes."""

import pytest

from cfl_cli.errors import SchemaError
from cfl_cli.schema.model import Complementary, Schema
from cfl_cli.schema.sets import Notation

AGES = [str(age) for age in range(20, 30)]
GRADES = ["low", "middle", "high"]


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("22-24", "22 23 24"),
        ("22 – 24", "22 23 24"),
        ("<22", "20 21"),
        ("<=22", "20 21 22"),
        ("28+", "28 29"),
        (">28", "29"),
        ("[22, 24[", "22 23"),
        ("2*", " ".join(AGES)),
        ("24-22", ""),
        ("abc", ""),
    ],
)
def test_a_range_means_the_values_in_it(text, meaning):
    found = Notation(AGES, {}, ordered=True, prefixes=True).meaning(text)
    assert found == tuple(meaning.split())


@pytest.mark.parametrize(
    ("text", "meaning"),
    [("low-middle", "low middle"), ("<high", "low middle"), ("middle+", "middle high"), ("-", "")],
)
def test_values_that_are_no_numbers_make_ranges_by_their_order(text, meaning):
    assert Notation(GRADES, {}, ordered=True).meaning(text) == tuple(meaning.split())


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("17", "0-18"),
        ("18", "18-30"),
        ("65", "30-65"),  # the end of the last bin belongs to it
        ("10-20", "0-18 18-30"),
        ("18-30", "18-30"),
        ("<18", "0-18"),
        ("30+", "30-65"),
        ("66", ""),
    ],
)
def test_a_number_or_a_range_means_the_bins_that_it_meets(text, meaning):
    cf = Complementary(bins=[0, 18, 30, 65])
    assert cf.notation(cf.values).meaning(text) == tuple(meaning.split())


def parsed(line, tmp_path):
    text = f"version: 1\ncolumns:\n  x: {{role: ordinary, type: numeric}}\n  cf: {line}\n"
    path = tmp_path / "s.yml"
    path.write_text(text)
    return Schema.load(path)


def test_a_hierarchy_is_read_as_arx_writes_it_beside_the_schema(tmp_path):
    (tmp_path / "h.csv").write_text("mouse;rodent;animal;*\nrat;rodent;animal;*\noak;tree;*;*\n")
    cf = parsed("{role: complementary, hierarchy: h.csv}", tmp_path).complementary["cf"]
    assert cf.values == ("mouse", "rat", "oak")
    assert cf.holds_candidates
    assert cf.hierarchy["rodent"] == cf.hierarchy["animal"] == ("mouse", "rat")
    assert sorted(cf.hierarchy["*"]) == ["mouse", "oak", "rat"]


def test_a_table_of_codes_lists_each_pair(tmp_path):
    (tmp_path / "c.csv").write_text("old,new\nA,a1\nA,a2\nB,a2\n")
    cf = parsed("{role: complementary, codes: c.csv}", tmp_path).complementary["cf"]
    assert cf.values == ("a1", "a2")
    assert cf.codes == {"A": ("a1", "a2"), "B": ("a2",)}


def test_a_schema_that_named_files_says_the_same_without_them(tmp_path):
    (tmp_path / "h.csv").write_text("mouse;rodent\nrat;rodent\n")
    schema = parsed("{role: complementary, hierarchy: h.csv}", tmp_path)
    (tmp_path / "h.csv").unlink()
    assert Schema.parse(schema.text) == schema


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("a;x\na;y\n", "line 2 lists 'a' a second time"),
        ("a;x\nb;a\n", "'a' is a value and the ancestor of another one"),
        ("a;x;y\nb;x;z\nc;w;z\n", "'x' and 'z' share 'b', but neither"),
        (";x\n", "line 1 has no value in its first column"),
        ("a\nb\n", "the file lists no ancestors"),
    ],
)
def test_a_hierarchy_that_is_none_is_refused_with_its_line(lines, message, tmp_path):
    (tmp_path / "h.csv").write_text(lines)
    with pytest.raises(SchemaError, match=message) as error:
        parsed("{role: complementary, hierarchy: h.csv}", tmp_path)
    assert "s.yml:4" in str(error.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "hierarchy: {x: [a, b], y: [b, c]}",
            r"'x' and 'y' share 'b', .* for codes that overlap, use `codes`",
        ),
        ("values: [a, b], codes: {x: [c]}", "'c' is not one of the values"),
        ("hierarchy: no.csv", "cannot read 'no.csv'"),
        ("bins: [1, 1, 2]", "expected three numbers or more, from the smallest"),
        ("values: [a, b], shares: {a: 0.5}", "sum to 1, found 0.5"),
        ("values: [a, b], shares: {a: 0.5, c: 0.5}", "unknown value 'c'"),
        ("hierarchy: {x: [a, b]}, mechanism: {a: 1, b: 1}", "leave out `mechanism`"),
        ("values: [a, b], mechanism: {keep: 1}", "between 0 and 1"),
        ("values: [a, b], mechanism: {epsilon: 0}", "above 0"),
        ("values: [a, b], mechanism: {keep: 0.7}, exact: '='", "both exact and noisy"),
        ("values: [a, b, c], separator: ;, mechanism: {keep: 0.7}", "state one value each"),
        ("values: [a, b], cells: sets", "cells"),
    ],
)
def test_entries_that_contradict_each_other_are_refused(line, message, tmp_path):
    with pytest.raises(SchemaError, match=message):
        parsed(f"{{role: complementary, {line}}}", tmp_path)


def test_epsilon_is_that_of_a_randomized_response(tmp_path):
    cf = parsed("{role: complementary, values: [a, b, c], mechanism: {epsilon: 2}}", tmp_path)
    ((keep, other, _), *_) = cf.complementary["cf"].mechanism
    assert keep / other == pytest.approx(2.718281828**2)
    assert keep + 2 * other == pytest.approx(1)


def test_a_table_of_codes_without_a_header_is_refused(tmp_path):
    (tmp_path / "codes.csv").write_text("100,101\n100,102\n200,201\n")
    with pytest.raises(SchemaError, match="line 1 is no header, as '100' is also a code: put one"):
        parsed("{role: complementary, codes: codes.csv}", tmp_path)
    headed = parsed(
        "{role: complementary, codes: codes.csv, values: ['101', '102', '201']}", tmp_path
    )
    assert dict(headed.columns["cf"].codes) == {"100": ("101", "102"), "200": ("201",)}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("mechanism: {keep: 0.6, epsilon: 2}", "either `keep` or `epsilon`, found 'keep, epsilon'"),
        ("mechanism: {epsilom: 2}", "either `keep` or `epsilon`, found 'epsilom'"),
        ("cells: candidates, mechanism: {keep: 0.6}", "leave out `cells`"),
    ],
)
def test_a_mistake_in_the_noise_is_told_from_a_weight(more, message, tmp_path):
    with pytest.raises(SchemaError, match=message):
        parsed(f"{{role: complementary, values: [a, b, c], {more}}}", tmp_path)
