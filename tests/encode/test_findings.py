"""What is wrong is said once per column and cause, and what a schema can mend is mended by it."""

import json

import numpy as np
import polars as pl
import pytest

from cfl_cli.core.messages import quote
from cfl_cli.encode.encode import encode
from cfl_cli.encode.findings import Cause, MisfitError, Problems
from cfl_cli.errors import DataError
from cfl_cli.schema.model import Schema
from cfl_cli.texts.scales import bound

SCHEMA = {
    "version": 1,
    "columns": {
        "of": {"role": "ordinary", "type": "numeric"},
        "temp": {"role": "ordinary", "type": "numeric"},
        "weight": {"role": "ordinary", "type": "numeric", "on_missing": "error"},
        "seen": {"role": "ordinary", "type": "date"},
        "smoker": {"role": "ordinary", "type": "binary"},
        "grade": {"role": "ordinary", "type": "ordered", "values": ["low", "mid", "high"]},
        "dx": {"role": "complementary", "values": ["flu", "cold", "measles"]},
    },
}


def patched(entries, patch):
    """Apply a JSON merge patch, as RFC 7396 defines it."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(entries) if isinstance(entries, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = patched(merged.get(key), value)
    return merged


def found(frame, entries):
    try:
        encode(frame, Schema.parse(json.dumps(entries)), name="t.csv")
    except MisfitError as error:
        return {(one.column, one.code): one for one in error.findings}
    return {}


def planted():
    rows = 40
    cells = {
        "of": [str(row) for row in range(rows)],
        "temp": [f"{36 + row / 10:.1f}" for row in range(rows)],
        "weight": [str(50 + row) for row in range(rows)],
        "seen": [f"{1 + row % 28:02d}.03.2024" for row in range(rows)],
        "smoker": ["no", "yes"] * (rows // 2),
        "grade": ["low", "mid", "high", "mid"] * (rows // 4),
        "dx": ["flu", "cold", "measles", "cold"] * (rows // 4),
    }
    cells["temp"][3:5] = ["k.A.", "k.A."]
    cells["temp"][7] = "<35"
    cells["weight"][4] = "72 kg"
    cells["weight"][6] = ""
    cells["smoker"][5] = "sometimes"
    cells["grade"][9:12] = ["top", "top", "top"]
    cells["dx"][2:4] = ["flu;cold", "cold; measles"]
    cells["dx"][8] = "=flu"
    cells["dx"][11] = "mumps"
    return pl.DataFrame(cells)


@pytest.mark.parametrize(
    ("cells", "way_out"),
    [
        (["2024-03-01", "2024-12-24"], "set type: date"),
        (["01.03.2024", "24.12.2024"], 'set type: date, format: "%d.%m.%Y"'),
        (["01/03/2024", "02/12/2024"], 'set type: date, format: "%d/%m/%Y" (or "%m/%d/%Y")'),
    ],
)
def test_dates_in_a_numeric_column_are_named_and_mended(cells, way_out):
    frame = planted().select("of", "dx").with_columns(temp=pl.Series(cells * 20))
    columns = {name: SCHEMA["columns"][name] for name in ("of", "temp")}
    entries = {"version": 1, "columns": columns | {"dx": {"role": "complementary"}}}
    one = found(frame, entries)["temp", "not-a-number"]
    assert (one.said, one.fix) == ("are dates", way_out)
    assert not found(frame, patched(entries, one.patch))


TEN = {
    *(("temp", "missing-code"), ("temp", "bound"), ("weight", "unit"), ("weight", "required")),
    *(("seen", "not-a-date"), ("smoker", "binary-values"), ("grade", "not-in-domain")),
    *(("dx", "separator"), ("dx", "exact"), ("dx", "not-in-domain")),
}
BY_HAND = {("grade", "not-in-domain")}  # 'top' has no known place in the order


def test_ten_causes_in_six_columns_are_ten_lines():
    with pytest.raises(DataError) as caught:
        encode(planted(), Schema.parse(json.dumps(SCHEMA)), name="t.csv")
    assert {(one.column, one.code) for one in caught.value.findings} == TEN
    assert len(caught.value.texts) == 10
    assert caught.value.texts[0] == (
        "t.csv: column 'seen': 40 cells like '01.03.2024' (rows 1, 2, 3 …) are dates in another "
        'format: set format: "%d.%m.%Y"'
    )
    assert (
        "t.csv: column 'dx': 2 cells like 'flu;cold' (rows 3, 4) hold several values, separated "
        "by ';': set separator: \";\""
    ) in caught.value.texts
    assert (
        "t.csv: column 'temp': 2 cells like 'k.A.' (rows 4, 5) mean that the value is missing: set "
        'missing: ["k.A."]'
    ) in caught.value.texts


@pytest.mark.parametrize("place", sorted(TEN - BY_HAND))
def test_a_pasted_way_out_removes_its_line_and_no_other(place):
    frame = planted()
    one = found(frame, SCHEMA)[place]
    assert found(frame, patched(SCHEMA, one.patch)).keys() == TEN - {place}


def test_all_ways_out_together_leave_what_only_the_table_can_mend():
    frame, entries = planted(), SCHEMA
    for _ in range(10):
        patches = [one.patch for one in found(frame, entries).values() if one.patch]
        if not patches:
            break
        entries = patched(entries, patches[0])
    assert found(frame, entries).keys() == BY_HAND


@pytest.mark.parametrize("cell", ["[ask|them]", "{held}", "it's {them!r}", 20 * "all [a|b] "])
def test_what_cells_hold_is_no_template(cell):
    problems = Problems("t", Schema.parse(json.dumps(SCHEMA)))
    facts = {"held": cell, "listed": json.dumps([cell])}
    cause = Cause("odd", "[hold|holds] {held!r}", "set missing: {listed}", facts=facts)
    problems.add_cells(pl.Series("temp", [cell]), np.array([True]), cause)
    (found,) = problems.found
    shown = quote(cell)
    assert found.text == (
        f"column 'temp': {shown} (row 1) holds {shown}: set missing: {json.dumps([cell])}"
    )
    (problem,) = problems.as_problems()
    assert (problem.code, problem.column, problem.value) == ("odd", "temp", cell)
    assert cell not in str(problem.redacted(["of"], []))


def of_numbers(cells, **keys):
    columns = {"n": {"role": "ordinary", "type": "numeric", **keys}, "cf": SCHEMA["columns"]["dx"]}
    frame = pl.DataFrame({"n": cells, "cf": ["flu", "cold"] + ["measles"] * (len(cells) - 2)})
    with pytest.raises(MisfitError) as caught:
        encode(frame, Schema(columns=columns))
    return [
        (one.said, one.fix, one.patch and one.patch["columns"]["n"])
        for one in caught.value.findings
    ]


def test_decimal_signs_are_changed_only_where_no_cell_suffers():
    assert of_numbers(["36,5", "1.234,5", "37"]) == [
        ("are numbers with a decimal comma", 'set decimal: ","', {"decimal": ","})
    ]
    assert of_numbers(["36.5", "1,234.5", "37"]) == [
        ("is a number with thousands separators", 'set decimal: "."', {"decimal": "."})
    ]
    assert of_numbers(["36.5", "37,5", "37"]) == [
        ("is a number with a decimal comma", "write it with a decimal point", None)
    ]
    assert of_numbers(["36,5", "37.5", "37"], decimal=",") == [
        ("is a number with a decimal point", "write it with a decimal comma", None)
    ]
    assert of_numbers(["36.5", "37,5", "38,5"]) == [
        ("are numbers with a decimal comma", "write all numbers with one decimal sign", None)
    ]
    [(_, fix, patch)] = of_numbers(["1,234", "5,678", "37"])
    assert patch == {"decimal": ","}
    assert fix == 'set decimal: "," (or decimal: ".", if the comma separates thousands)'
    assert of_numbers(["1.234", "2.345", "1,5"]) == [
        ("is a number with a decimal comma", "write it with a decimal point", None)
    ]
    told = [("has the unit 'kg'", "write it like the other cells", None)]
    assert of_numbers(["1.234", "2.345", "1,5 kg"]) == told
    expected = [("is a number with a decimal comma", 'set decimal: ","', {"decimal": ","})]
    assert of_numbers(["1.234", "2", "1.234,5"]) == expected


@pytest.mark.parametrize("cell", ["<5", "90+", "unter 5", "under 5", "5 or more", "≥ 3,5"])
def test_bounds_are_bounds_whether_a_table_is_drafted_or_checked(cell):
    assert of_numbers(["1", "2", cell])[0][0] == "is a bound, not a number"
    assert bound(cell)
    assert not bound("tab 5")


def one_of(column, cells, **entry):
    frame = pl.DataFrame({"x": cells, "dx": ["flu", "cold"] * (len(cells) // 2)})
    columns = {"x": {"role": "ordinary", **entry}, "dx": {"role": "complementary"}}
    entries = {"version": 1, "columns": columns}
    problem = found(frame, entries)["x", column]
    assert problem.patch is None or not found(frame, patched(entries, problem.patch))
    return problem.fix, problem.patch and problem.patch["columns"]["x"]


GENDERS = ["Female", "Male", "Other", "Female"] * 10
NUMBERS = [str(number) for number in range(60)]
GRADES = {"type": "ordered", "values": ["niedrig", "hoch"]}


@pytest.mark.parametrize("kind", ["numeric", "date"])
def test_a_column_of_words_is_categorical_and_its_words_are_not_missing(kind):
    way_out = ("set type: categorical", {"type": "categorical"})
    assert one_of(f"not-a-{kind.replace('numeric', 'number')}", GENDERS, type=kind) == way_out


def test_words_of_a_known_order_are_ordered_and_a_type_takes_its_keys_along():
    fix, keys = one_of("not-a-number", ["low", "high", "medium", "low"] * 5, type="numeric")
    assert fix == 'set type: ordered, values: ["low", "medium", "high"]'
    assert keys == {"type": "ordered", "values": ["low", "medium", "high"]}
    fix, keys = one_of("not-a-date", NUMBERS, type="date", format="%Y-%m-%d", cycle=["year"])
    assert fix == "set type: numeric"
    assert keys == {"type": "numeric", "format": None, "cycle": None}


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        (["offen", "offen"], 'correct them or set missing: ["offen"]'),
        (["a", "b", "c", "a"], 'correct them or set missing: ["a", "b", "c"]'),
        (["a", "b", "c", "d"], "correct them or list those that mean missing under `missing`"),
        (["offen"] * 20, 'correct them or set missing: ["offen"]'),
        (["offen", "zu"] * 20, "correct them"),  # 62 values: neither missing nor categories
    ],
)
def test_few_words_among_numbers_may_be_missing_and_many_may_not(words, fix):
    assert one_of("not-a-number", NUMBERS + words, type="numeric")[0] == fix


def test_texts_of_many_kinds_in_a_numeric_column_are_a_note():
    notes = [f"see letter {chr(65 + n % 26)}{chr(65 + n // 26)}" for n in range(60)]
    columns = {name: {"role": "ordinary", "type": "numeric"} for name in ("x", "y")}
    entries = {"version": 1, "columns": columns | {"dx": {"role": "complementary"}}}
    frame = pl.DataFrame({"x": notes, "y": NUMBERS, "dx": ["flu", "cold"] * 30})
    problem = found(frame, entries)["x", "not-a-number"]
    assert problem.fix == "mark it `role: ignore`"
    assert not found(frame, patched(entries, problem.patch))


def test_a_rung_that_lacks_gets_its_place_only_where_that_is_known():
    fix, keys = one_of("not-in-domain", ["niedrig", "mittel", "hoch", "hoch"] * 5, **GRADES)
    assert fix == 'correct them or set values: ["niedrig", "mittel", "hoch"]'
    assert keys == {"values": ["niedrig", "mittel", "hoch"]}
    fix, keys = one_of("not-in-domain", ["niedrig", "hoch", "hoch", "rot"] * 5, **GRADES)
    assert fix == "correct them or add them to the column's `values`, in order"
    assert keys is None


def test_many_third_values_of_a_binary_column_are_categories():
    fix, keys = one_of("binary-values", GENDERS, type="binary", values=["Female", "Other"])
    assert fix == 'correct them or set missing: ["Male"]'
    cells = ["Female", "Male", "Other", "Divers"] * 10
    fix, keys = one_of("binary-values", cells, type="binary", values=["Female", "Other"])
    assert fix == "correct them or set type: categorical"
    assert keys == {"values": None, "type": "categorical"}


def test_values_outside_a_domain_are_counted_without_their_blanks():
    frame = pl.DataFrame({"of": ["1", "2", "3", "4"], "dx": ["a; c", "c;b", "c", "b"]})
    columns = {
        "of": {"role": "ordinary", "type": "numeric"},
        "dx": {"role": "complementary", "values": ["a", "b"], "separator": ";"},
    }
    problem = found(frame, {"version": 1, "columns": columns})["dx", "not-in-domain"]
    assert problem.said == "name 'c', which is not in the domain"
    assert problem.patch == {"columns": {"dx": {"values": ["a", "b", "c"]}}}


def test_units_and_words_are_told_apart():
    assert of_numbers(["1,5 kg", "2", "3 kg", "word"]) == [
        ("have the unit 'kg'", 'set unit: "kg", decimal: ","', {"unit": "kg", "decimal": ","}),
        ("is not a number", 'correct it or set missing: ["word"]', {"missing": ["word"]}),
    ]
    expected = ("has the unit 'lb'", "write it like the other cells")
    assert of_numbers(["1 kg", "2 lb", "3"], unit="kg")[0][:2] == expected
    assert of_numbers(["1", "12b", "3"])[0][0] == "is not a number"
    assert of_numbers(["1", "k.A.", "-"], missing=["x"]) == [
        (
            "mean that the value is missing",
            'set missing: ["x", "k.A.", "-"]',
            {"missing": ["x", "k.A.", "-"]},
        )
    ]


def of_cf(cells, **keys):
    cf = {"role": "complementary", "values": ["flu", "cold", "measles"], **keys}
    frame = pl.DataFrame({"n": [str(row) for row in range(len(cells))], "cf": cells})
    columns = {"n": {"role": "ordinary", "type": "numeric"}, "cf": cf}
    with pytest.raises(MisfitError) as caught:
        encode(frame, Schema(columns=columns))
    found = {one.code: one for one in caught.value.findings}
    assert "more-than-values" not in found or found["more-than-values"].patch is None
    return {cause: one.fix for cause, one in found.items()}


def test_what_is_more_than_a_value_is_not_added_to_the_domain_but_explained():
    correct = "correct it or add it to the column's `values`"
    assert of_cf(["not flu", "keine COLD", "flu"]) == {"negation": "write only the values"}
    assert of_cf(["no mumps", "mumps", "flu"]) == {
        "negation": "write only the values",
        "not-in-domain": correct,
    }
    assert of_cf(["cough / flu", "flu;cold"]) == {
        "separator": 'set separator: ";"',
        "more-than-values": "write only values and ';'",
    }
    assert of_cf(["gesichert: mumps", "flu"]) == {"more-than-values": "write only values"}
    told = {"exact": 'set exact: "gesichert:"', "not-in-domain": correct}
    assert of_cf(["gesichert: mumps", "gesichert: flu"]) == told
    assert of_cf(["a: d", "a: c"], values=["a: b", "a: c"]) == {"not-in-domain": correct}
    assert of_cf(["flu, cold", "flu"], separator=";") == {"separator-other": 'set separator: ","'}
    expected = {"separator-other": "write ';' instead"}
    assert of_cf(["flu, cold", "flu;cold"], separator=";") == expected
    assert of_cf(["!flu", "cold"]) == {"exact": 'set exact: "!"'}
    assert of_cf(["!flu", "=cold"], exact="=") == {"exact": "write '=' instead"}
    assert of_cf(["k.A.", "cold"]) == {"missing-code": 'set missing: ["k.A."]'}
    assert of_cf(["flu;cold", "flu;colt", "flu;cold;measles"]) == {
        "separator": 'set separator: ";"',
        "not-in-domain": "correct it or list it under `aliases`",
        "all-excluded": "leave at least one value possible",
    }


def test_a_column_that_is_not_there_is_renamed_by_its_way_out():
    frame = planted().rename({"temp": "Temp"}).select("of", "Temp", "dx")
    columns = {name: SCHEMA["columns"][name] for name in ("of", "temp", "dx")}
    one = found(frame, {"version": 1, "columns": columns})["temp", "no-column"]
    assert one.patch == {"columns": {"temp": None, "Temp": SCHEMA["columns"]["temp"]}}


SPELLED = {
    "version": 1,
    "columns": {
        "n": {"role": "ordinary", "type": "numeric"},
        "ward": {"role": "ordinary", "type": "categorical", "values": ["east", "west"]},
        "cf": {
            "role": "complementary",
            "values": ["flu", "appendicitis", "cold"],
            "separator": ";",
            "exact": "=",
        },
    },
}


def test_each_odd_spelling_and_bound_has_a_change_of_the_schema_that_reads_it():
    odd = pl.DataFrame(
        {
            "n": ["1", "<5", "≥ 2.5", "90+", "3", ">=4"],
            "ward": ["East", "WEST", "east", "west", "east", "EAST "],
            "cf": ["flu", "APPENDICITIS;Cold", "apendicitis", "=Flu", "cold;apendicitis", ""],
        }
    )
    plain = odd.with_columns(
        n=pl.Series(["1", "5", "2.5", "90", "3", "4"]),
        ward=pl.Series(["east", "west", "east", "west", "east", "east"]),
        cf=pl.Series(["flu", "appendicitis;cold", "appendicitis", "=flu", "cold;appendicitis", ""]),
    )
    entries = SPELLED
    causes = {
        ("n", "bound"),
        ("ward", "blanks-case"),
        ("cf", "blanks-case"),
        ("cf", "not-in-domain"),
    }
    first = found(odd, entries)
    assert {*first} == causes
    for one in first.values():
        entries = patched(entries, one.patch)
    assert entries["columns"]["cf"]["aliases"] == {"appendicitis": ["apendicitis"]}
    read = encode(odd, Schema.parse(json.dumps(entries)))
    same = encode(plain, Schema.parse(json.dumps(SPELLED)))
    assert (read.features == same.features).all()
    assert (read.candidates == same.candidates).all()
    assert read.blocks[0].exact_cells == same.blocks[0].exact_cells
    assert read.warnings == ("column 'n': 4 bounds such as <5, read as the number",)
    assert not same.warnings


def test_ignored_case_and_aliases_never_fit_two_values():
    frame = pl.DataFrame({"n": ["1", "2"], "cf": ["A", "b"]})
    cf = {
        "role": "complementary",
        "values": ["a", "b"],
        "aliases": {"b": ["A"]},
        "ignore_case": True,
    }
    columns = {"n": SPELLED["columns"]["n"], "cf": cf}
    read = encode(frame, Schema(columns=columns))
    assert read.candidates.tolist() == [[True, False], [True, False]]  # A is b, as the schema says
