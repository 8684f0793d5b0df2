import datetime as dt
import json

import polars as pl
import pytest
from builders.drafts import BRANDS, ROWS, Drafted, cf, lists, some

from cfl_cli.commands.init.draft import draft_schema
from cfl_cli.core.messages import quote
from cfl_cli.encode.encode import encode
from cfl_cli.schema.model import Schema, TextFile

pytestmark = pytest.mark.usefixtures("for_the_command_line")
SEMICOLONS = TextFile(delimiter=";")


DAYS = [dt.date(2020, 1, 5) + dt.timedelta(days=3 * n) for n in range(ROWS)]
TENTHS = [f"{30 + number % 46 / 10:.1f}" for number in range(1199)]
NOTES = {0: "great survey", 5: "too long, honestly"}


def sparse(every):
    return [str(n * 7 % 41 / 8) if n % every == 0 else "" for n in range(ROWS)]


def written(every, other=None):
    """Return days as people write them, and every so many of them otherwise."""
    return [f"{day:%d.%m.%Y}" if n % every else other or f"{day}" for n, day in enumerate(DAYS)]


# What it is about: the cells, what they are drafted as, whether that is marked, and what is said.
DRAFTS = {
    "a code above many numbers": (
        ["k.A.", *TENTHS], {"type": "numeric", "missing": {"k.A."}}, False,
        "missing: 'k.A.' (1 cell)"),
    "a code below many numbers": (
        [*TENTHS, "k.A."], {"type": "numeric", "missing": {"k.A."}}, False,
        "missing: 'k.A.' (1 cell)"),
    "an unknown word among numbers": (
        [*TENTHS[:230], *["verschollen"] * 10], {"type": "numeric", "missing": {"verschollen"}},
        True, "# ? 46 of 47 different texts are numbers; the other is 'verschollen' (10 cells)"),
    "sentinels": (
        [*(f"{35 + n % 62 / 10:.1f}" for n in range(221)), *["999"] * 12, *["-9"] * 7],
        {"missing": {"999", "-9"}}, True, "# ? '999' (12 cells), '-9' (7 cells): the others are 35 to 41.1"),
    "bounds among numbers": (
        [*(f"{n % 97 / 7:.1f}" for n in range(230)), *["<5"] * 10], {"type": "numeric", "bounds": True}, True,
        "# ? 10 cells like '<5' are bounds, read as '5'"),
    "a code among codes": (some(["DE", "FR", "NA", "US"]), {}, True, ""),
    "a word among answers": (some(["red", "green", "none"]), {"missing": None}, True, ""),
    "a code or an answer": (some(["ja", "-"]), {"values": {"-", "ja"}}, True, ""),
    "two short texts": (some(["Bd", "Co"]), {"values": {"Bd", "Co"}}, True, ""),
    "an answer beside a sure code": (some(["ja", "NA"]), {"role": "ignore"}, None, ""),
    "spellings of one value": (
        some(["Nike", "nike", "Puma", "Asics"]), {}, True,
        "# ? one value in several spellings? 'Nike'"),
    "one more word beside yes and no": (
        ["Evet", "Hayır"] * 20 + ["Emin değil"] * 4,
        {"type": "binary", "values": {"Hayır", "Evet"}, "missing": {"Emin değil"}}, True, ""),
    "often one more word beside yes and no": (
        ["Evet", "Hayır", "Kısmen"] * 20, {"type": "categorical"}, True, ""),
    "steps in an unknown language": (
        ["apmierināts", "ļoti apmierināts", "neapmierināts"] * 9, {"type": "categorical"}, True,
        "# ? if the values have an order, set type: ordered"),
    "notes in few cells": (
        [NOTES.get(n % 10, "") for n in range(ROWS)], {"role": "ignore"}, True, ""),
    "two notes in all cells": (some(["New York", "San Diego"]), {"type": "binary"}, False, ""),
    "mostly empty": (sparse(6), {}, True, "# ? 83% of the cells are empty"),
    "often empty": (sparse(3), {}, False, ""),
    "digits": ([f"{n:05}" for n in range(ROWS)], {"role": "ignore"}, False, ""),
    "addresses": ([f"a{n}@b.org" for n in range(ROWS)], {"role": "identifier"}, False, ""),
    "row numbers": ([str(n) for n in range(ROWS)], {"role": "ignore"}, False, ""),
    "postal codes": (some(["01067", "04109", "50667"]), {"role": "ordinary"}, False, ""),
    "ISO dates": (
        some(["2024-03-01", "2024-03-02", "2024-04-01"]), {"type": "date", "format": None}, False, ""),
    "ISO times": (
        some(["2024-03-01T08:15:00", "2024-03-02T09:00:00", "2024-04-01T00:00:00"]),
        {"type": "date", "format": None}, False, ""),
    "months in words": (
        some(["3. März 2024", "25. Oktober 2023", "1. Mai 2022"]),
        {"type": "date", "format": "%d. %B %Y"}, False, ""),
    "years of two digits": (
        some(["01.03.24", "25.12.23", "02.02.22"]), {"type": "date", "format": "%d.%m.%y"}, True, ""),
    "dates in one number": (
        some(["20240301", "20231225", "20220202"]), {"type": "date", "format": "%Y%m%d"}, True, ""),
    "a date that means open": (
        some(["2024-03-01", "2024-03-02", "2024-04-01", "9999-12-31"]),
        {"type": "date", "missing": {"9999-12-31"}}, True, ""),
    "days": ([f"{day:%d.%m.%Y}" for day in DAYS], {"type": "date"}, False, ""),
    "a first day of the calendar in many cells": (
        written(20, "01.01.1900"), {"type": "date"}, True,
        "# ? '01.01.1900' (12 cells): a date or a missing-value code?"),
    "a few that are no dates": (
        ["31.02.1980" if n in (0, 9) else f"{day:%d.%m.%Y}" for n, day in enumerate(DAYS)],
        {"role": "ignore"}, True,
        "# ? 238 of 239 different texts are dates like '08.01.2020'; '31.02.1980' (2 cells) is not",
        ': correct it and set type: date, format: "%d.%m.%Y"'),
    **{
        f"dates in two formats, one in {every}": (
            written(every), {"role": "ignore"}, True, f"{ROWS // every} like '2020-01-05'",
            "dates in two formats", 'format: "%d.%m.%Y"')
        for every in (2, 5, 12, 80)
    },
    **{
        f"{false} and {true}": (
            [true, false] * 60, {"type": "binary", "values": [false, true]}, False, "")
        for false, true in [
            ("Nein", "Ja"), ("FALSE", "TRUE"), ("0.0", "1.0"), ("False", "True"), ("non", "oui"),
            ("nie", "tak"), ("m", "w"),
        ]
    },
    "truth values": (
        [True, False] * 60, {"type": "binary", "values": ["false", "true"]}, False, ""),
    "true and TRUE": (
        ["true", "TRUE", "true", "false"] * 60, {"type": "binary", "values": ["false", "true"]},
        False, ""),
}  # fmt: skip


@pytest.mark.parametrize("what", DRAFTS)
def test_a_column_is_drafted_as_what_it_is_and_what_is_doubtful_is_marked(what):
    cells, expected, is_marked, *words = DRAFTS[what]
    found = Drafted(cells)
    for name, value in expected.items():
        drafted = getattr(found.column, name, None)
        assert (type(value)(drafted) if isinstance(value, set | list) else drafted) == value
    assert is_marked is None or found.is_marked == is_marked
    assert all(word in found.line for word in words)


@pytest.mark.parametrize("name", ["ZIP", "PLZ", "zip_code", "Region code"])
def test_the_name_of_a_column_counts(name):
    found = Drafted(some(["90210", "10001", "2139", "60614"]), name=name)
    assert found.column.type == "categorical"
    assert "# ? the name suggests codes; if so, set type: categorical or role" in found.line
    year = Drafted([str(1950 + number % 70) for number in range(ROWS)], name="year")
    assert (year.column.role, year.is_marked) == ("ordinary", False)


@pytest.mark.parametrize(
    ("cells", "unit"),
    [(["39,3", "38,1", "40"], None), (["1.234,50 €", "7,10 €", "12,00 €"], "€"),
     (["12,5 %", "7,0 %", "8,1 %"], "%"), (["1 234,5", "7,1", "8"], None)],
)  # fmt: skip
def test_a_decimal_comma_is_the_files_or_without_a_file_the_columns(cells, unit):
    for file in (SEMICOLONS, TextFile()):
        found = Drafted(some(cells), file=file)
        assert (found.column.type, found.column.unit) == ("numeric", unit)
        assert (found.schema.file.decimal, found.column.decimal) == (",", None)
        assert not found.is_marked
    assert Drafted(some(cells)).column.decimal == ","


def test_a_column_with_a_point_in_a_file_with_commas_says_so():
    others = [some(["1,2", "3,4", "5"]), some(["7,8", "1,1", "2"])]
    found = Drafted(some(["1.25", "2.5", "3"]), *others, file=SEMICOLONS)
    assert found.schema.file.decimal == ","
    assert found.column.decimal == "."
    assert found.schema.decimal_of("other 0") == ","


def test_thousands_that_may_be_decimals_are_marked_unless_the_file_shows_it():
    cells = some(["1.234", "2.500", "3.117"])
    found = Drafted(cells, file=SEMICOLONS)
    assert found.is_marked
    assert (
        """'1.234' read as 1234; if the point is the decimal mark, set decimal: ".\""""
        in found.line
    )
    shown = Drafted(cells, some(["12.345,6", "7,5", "8"]), file=SEMICOLONS)
    assert not shown.is_marked
    assert shown.schema.decimal_of("it") == ","
    pointed = Drafted(cells, some(["12.5", "7.25", "8"]), file=TextFile())
    assert not pointed.is_marked
    assert pointed.schema.decimal_of("it") is None


def test_dates_show_whether_the_day_comes_first_or_are_marked():
    early = [f"{number % 12 + 1:02}/{number % 7 + 1:02}/2023" for number in range(ROWS)]
    day_first = Drafted([*early, "25/12/2023"])
    assert (day_first.column.format, day_first.is_marked) == ("%d/%m/%Y", False)
    month_first = Drafted([*early, "12/25/2023"])
    assert (month_first.column.format, month_first.is_marked) == ("%m/%d/%Y", False)
    nothing = Drafted(early)
    assert (nothing.column.format, nothing.is_marked) == ("%d/%m/%Y", True)
    by_another = Drafted(early, [*early[:-1], "12/25/2023"])
    assert (by_another.column.format, by_another.is_marked) == ("%m/%d/%Y", False)
    both = Drafted([*early, "25/12/2023", "12/25/2023"])
    assert getattr(both.column, "type", None) != "date"
    assert (
        "# ? some dates have the day first, others the month (row 241: 25/12/2023, row 242: 12/25/2023)"
        in both.line
    )


@pytest.mark.parametrize(
    "values",
    [
        ["18-24", "25-34", "35-64", "65+"],
        ["XS", "S", "M", "L", "XL"],
        ["A1", "A2", "B1", "B2"],
        ["stimme gar nicht zu", "stimme eher nicht zu", "stimme eher zu", "stimme voll zu"],
        ["jamais", "rarement", "parfois", "souvent", "toujours"],
    ],
)
def test_scales_are_ordered_and_one_foreign_text_makes_them_categories(values):
    found = Drafted(some(values[::-1]))
    assert (found.column.type, list(found.column.values)) == ("ordered", values)
    assert not found.is_marked
    assert Drafted(some([*values, "foreign"])).column.type == "categorical"
    for code, is_marked in (("k.A.", False), ("weiß nicht", True)):
        coded = Drafted(some([*values, code]))
        assert (coded.column.type, coded.column.missing) == ("ordered", (code,))
        assert coded.is_marked == is_marked


@pytest.mark.parametrize("truth", ["x", "✓", "Ja"])
def test_a_cross_beside_empty_cells_is_yes_beside_no(truth):
    cells = [truth, "", "", truth, "", " "]
    found = Drafted(cells)
    assert list(found.column.values) == ["", truth]
    assert found.is_marked
    for column in (cells, [cell.strip() or None for cell in cells]):
        frame = pl.DataFrame(
            {"it": column, "of": ["1", "2", "3", "5", "8", "9"], "cf": [*"ababab"]}
        )
        schema = Schema.parse(found.text.replace("Adidas, Asics, Nike, Puma, Reebok", "a, b"))
        assert encode(frame, schema).features[:, 0].tolist() == [1, 0, 0, 1, 0, 0]


@pytest.mark.parametrize("numbers", [[0, 1, 9], [1, 2], [0, 1], [3, 40, 77], [1, 2, 3, 4]])
def test_whole_numbers_that_became_floats_are_drafted_as_their_texts_are(numbers):
    cells = some(numbers)
    texts, floats = Drafted([*map(str, cells), ""]), Drafted([*map(float, cells), float("nan")])
    assert floats.line == texts.line
    assert cf([*map(float, cells)])[1] == cf([*map(str, cells)])[1]


def test_bounds_beside_decimal_commas_are_no_lists():
    found = Drafted([*(f"{n % 197 / 7:.1f}".replace(".", ",") for n in range(230)), *["<5"] * 10])
    assert "# ? 10 cells like '<5' are bounds, read as '5'" in found.line
    assert "separated" not in found.line


def test_the_draft_says_how_the_file_is_written_and_why():
    table = pl.DataFrame({"of": some(["1,5", "2,5", "3"]), "cf": some(BRANDS)})
    text = draft_schema(
        table,
        cfs=["cf"],
        ignored=[],
        file=TextFile(delimiter="\t", encoding="cp1252"),
        file_notes=["? encoding guessed from 'Köln'"],
    )
    assert "# ? encoding guessed from 'Köln'\nfile: " in text
    file = Schema.parse(text).file
    assert (file.delimiter, file.encoding, file.decimal) == ("\t", "cp1252", ",")
    assert "check these first" in text


def test_a_first_column_without_a_name_is_an_index():
    frame = pl.DataFrame({"": ["Mazda", "Fiat"], "a": ["1", "2"]})
    line = next(
        line for line in draft_schema(frame, cfs=[], ignored=[]).splitlines() if '"":' in line
    )
    assert line == '  "": {role: ignore}  # no name, and a different value in every row: an index'


def test_yes_and_no_in_many_spellings_are_a_boolean():
    found = Drafted(some(["ja", "Ja", "JA", "j", "nein", "Nein"]))
    assert found.column.type == "binary"
    assert {value.casefold() for value in found.column.values} <= {"ja", "nein", "j"}
    assert not found.is_marked
    assert found.missing == ("",)


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
    assert "# ? 'offen' (3 cells): a value, or does it rule nothing out?" in line


@pytest.mark.parametrize("mark", ["gesichert: ", "confirmed:", "!"])
def test_a_beginning_of_exact_cells_is_a_mark_and_no_value_begins_with_it(mark):
    column, line = cf([*lists("; "), *(mark + brand for brand in BRANDS)])
    assert column.exact == mark.strip()
    assert list(column.values) == BRANDS
    assert f"# ? 5 cells like {mark + 'Adidas'!r}: exact values?" in line


@pytest.mark.parametrize(
    ("name", "cells", "said"),
    [
        ("it", ["not flu", "not cold", "not gout"], "cells like 'not flu': run with --cf it"),
        ("it", lists(";"), "if they name what a value is not, run with --cf it"),
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
    assert "# ? 'not told' (9 cells), never in a list: a value or a missing-value code?" in text


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
    ("other", "said"), [(" / ", "replace '/'"), (" und ", "replace 'und'"), ("|", "replace '|'")]
)
def test_the_commoner_of_two_separators_wins_and_the_other_is_to_be_replaced(other, said):
    cells = [
        cell.replace("; ", other) if row % 10 == 0 else cell for row, cell in enumerate(lists("; "))
    ]
    column, line = cf(cells)
    assert (column.separator, list(column.values)) == (";", BRANDS)
    number = sum(other in cell for cell in cells)
    first = next(cell for cell in cells if other in cell)
    assert f"# ? {number} cells like {quote(first)}: {said} with ';'" in line


def test_a_word_may_separate_values_alone_or_before_the_last():
    column, line = cf(lists(" und "))
    assert (column.separator, list(column.values)) == (" und ", BRANDS)
    assert "# ?" in line
    column, line = cf([" and ".join(cell.rsplit(", ", 1)) for cell in lists(", ")])
    assert (column.separator, list(column.values)) == (",", BRANDS)
    assert "replace 'and' with ','" in line


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
    assert "2 cells like 'sure: Nike / Puma': keep one value after 'sure:'" in line
    assert "1 cell like 'SURE: Nike': write the mark as 'sure:'" in line
    nikes = sum("Nike" in cell for cell in cells) - 3
    assert f"one value in several spellings? 'NIKE' (1 cell), 'Nike' ({nikes} cells)" in line


def test_rare_values_one_letter_from_a_frequent_one_may_be_misspelt():
    cells = some(BRANDS)
    cells[7] = "Rebok"
    assert "# ? 'Rebok' (1 cell) may be a typo for 'Reebok'" in cf(cells)[1]
    assert "# ? 'Rebok' (1 cell) may be a typo for 'Reebok'" in Drafted(cells).line
    levels = [*some(["type A", "grade 1"]), "type B", "grade 2", "Typ", "XL"]
    assert "misspelt" not in Drafted(levels).line


def test_a_mark_with_few_values_behind_it_is_proposed():
    cells = [*some(["flu", "cold", "measles"]), "confirmed: flu", "confirmed: flu"]
    _, line = cf(cells)
    said = "# ? 2 cells like 'confirmed: flu': exact? then exact: 'confirmed: ', and not among the"
    assert said in line
    assert "exact?" not in cf([*some(["flu", "cold", "measles"]), "other: flu", "other: mumps"])[1]


def test_a_list_that_looks_like_a_missing_value_code_is_a_list_beside_its_parts():
    found, _ = cf(some(["a", "b", "c", "d", "a/c", "a/d", "b/d"]))
    assert (found.separator, found.missing) == ("/", None)


def test_open_ranges_are_edges_of_bins():
    found, line = cf(some(["<5", "5-20", "20-40", "40-70", "65+", "33"]))
    assert found.bins == (0, 5, 20, 40, 65, 70)
    assert "# ?" in line
