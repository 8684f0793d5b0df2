"""What `cfl init` drafts of ordinary columns as people have them: right, or marked as doubtful."""

import datetime as dt
import json

import polars as pl
import pytest
from builders.drafts import BRANDS, ROWS, Drafted, cf, lists, some

from cfl_cli.commands.init.draft import draft_schema
from cfl_cli.core.messages import on_command_line, quote
from cfl_cli.encode.encode import encode
from cfl_cli.schema.model import Schema, TextFile


@pytest.fixture(autouse=True)
def for_the_command_line():
    with on_command_line():
        yield


SEMICOLONS = TextFile(delimiter=";")


@pytest.mark.parametrize("row", [0, -1])
def test_one_code_among_many_numbers_leaves_them_numbers(row):
    cells = [f"{30 + number % 46 / 10:.1f}" for number in range(1200)]
    cells[row] = "k.A."
    found = Drafted(cells)
    assert found.column.type == "numeric"
    assert found.column.missing == ("k.A.",)
    assert "missing: 'k.A.' 1 cell" in found.line
    assert not found.is_marked


def test_an_unknown_word_among_numbers_is_missing_with_the_evidence():
    cells = [f"{30 + number % 46 / 10:.1f}" for number in range(230)] + ["verschollen"] * 10
    found = Drafted(cells)
    assert found.column.type == "numeric"
    assert found.column.missing == ("verschollen",)
    assert "# ? 46 of 47 different texts are numbers; the other is 'verschollen' 10 cells" in (
        found.line
    )


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
    assert """'1.234' read as 1234; if it means one and a bit set decimal: ".\"""" in found.line
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
    assert "# ? dates in two orders (row 241: 25/12/2023, row 242: 12/25/2023)" in both.line


@pytest.mark.parametrize(
    ("cells", "format_", "marked"),
    [
        (["2024-03-01", "2024-03-02", "2024-04-01"], None, False),
        (["2024-03-01T08:15:00", "2024-03-02T09:00:00", "2024-04-01T00:00:00"], None, False),
        (["3. März 2024", "25. Oktober 2023", "1. Mai 2022"], "%d. %B %Y", False),
        (["01.03.24", "25.12.23", "02.02.22"], "%d.%m.%y", True),
        (["20240301", "20231225", "20220202"], "%Y%m%d", True),
    ],
)
def test_dates_of_many_kinds(cells, format_, marked):
    found = Drafted(some(cells))
    assert (found.column.type, found.column.format) == ("date", format_)
    assert found.is_marked == marked


def test_a_date_that_means_open_is_missing_and_marked():
    found = Drafted(some(["2024-03-01", "2024-03-02", "2024-04-01", "9999-12-31"]))
    assert (found.column.type, found.column.missing) == ("date", ("9999-12-31",))
    assert found.is_marked


def test_sentinels_are_missing_with_their_counts():
    cells = [f"{35 + number % 62 / 10:.1f}" for number in range(221)] + ["999"] * 12 + ["-9"] * 7
    found = Drafted(cells)
    assert set(found.column.missing) == {"999", "-9"}
    assert "# ? '999' 12, '-9' 7 cells: the others lie in 35 to 41.1" in found.line


def test_a_code_among_codes_and_a_word_among_answers_are_marked():
    countries = Drafted(some(["DE", "FR", "NA", "US"]))
    assert countries.is_marked
    answers = Drafted(some(["red", "green", "none"]))
    assert answers.is_marked
    assert "none" not in answers.missing


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


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["Ja", "Nein"], ["Nein", "Ja"]),
        (["TRUE", "FALSE"], ["FALSE", "TRUE"]),
        (["1.0", "0.0"], ["0.0", "1.0"]),
        (["True", "False"], ["False", "True"]),
        ([True, False], ["false", "true"]),
        (["oui", "non"], ["non", "oui"]),
        (["tak", "nie"], ["nie", "tak"]),
        (["m", "w"], ["m", "w"]),
        (["true", "TRUE", "true", "false"], ["false", "true"]),
    ],
)
def test_truth_values_are_binary_and_false_comes_first(cells, values):
    found = Drafted(cells * 60)
    assert (found.column.type, list(found.column.values)) == ("binary", values)
    assert not found.is_marked


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


@pytest.mark.parametrize(
    ("cells", "values", "marked"),
    [(["ja", "-"], ["-", "ja"], True), (["Bd", "Co"], ["Bd", "Co"], True)],
)
def test_a_code_that_is_one_of_two_texts_may_be_an_answer(cells, values, marked):
    found = Drafted(some(cells))
    assert (list(found.column.values), found.is_marked) == (values, marked)


@pytest.mark.parametrize("numbers", [[0, 1, 9], [1, 2], [0, 1], [3, 40, 77], [1, 2, 3, 4]])
def test_whole_numbers_that_became_floats_are_drafted_as_their_texts_are(numbers):
    cells = some(numbers)
    texts, floats = Drafted([*map(str, cells), ""]), Drafted([*map(float, cells), float("nan")])
    assert floats.line == texts.line
    assert cf([*map(float, cells)])[1] == cf([*map(str, cells)])[1]


def test_an_answer_beside_a_sure_code_is_one_value():
    assert Drafted(some(["ja", "NA"])).column.role == "ignore"


def test_bounds_among_numbers_are_no_numbers_and_marked():
    found = Drafted([*(f"{number % 97 / 7:.1f}" for number in range(230)), *["<5"] * 10])
    assert getattr(found.column, "type", None) != "numeric"
    assert "# ? 10 cells like '<5' are bounds: replace them by a number" in found.line


def test_bounds_beside_decimal_commas_are_no_lists():
    found = Drafted([*(f"{n % 197 / 7:.1f}".replace(".", ",") for n in range(230)), *["<5"] * 10])
    assert "# ? 10 cells like '<5' are bounds: replace them by a number" in found.line
    assert "separated" not in found.line


@pytest.mark.parametrize(
    ("name", "cells", "role"),
    [
        ("it", [f"{number:05}" for number in range(ROWS)], "ignore"),
        ("it", [f"a{number}@b.org" for number in range(ROWS)], "identifier"),
        ("it", [str(number) for number in range(ROWS)], "ignore"),
        ("it", some(["01067", "04109", "50667"]), "ordinary"),
        ("year", [str(1950 + number % 70) for number in range(ROWS)], "ordinary"),
    ],
)
def test_ids_codes_and_years_leave_no_doubt(name, cells, role):
    found = Drafted(cells, name=name)
    assert found.column.role == role
    assert not found.is_marked


def test_spellings_of_one_value_are_marked():
    found = Drafted(some(["Nike", "nike", "Puma", "Asics"]))
    assert "# ? one value in several spellings? 'Nike'" in found.line


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
    assert "search for these first" in text


def test_one_more_word_beside_yes_and_no_is_missing_if_it_is_rare_and_doubtful_always():
    found = Drafted(["Evet", "Hayır"] * 20 + ["Emin değil"] * 4)
    assert (found.column.type, found.column.values) == ("binary", ("Hayır", "Evet"))
    assert found.column.missing == ("Emin değil",)
    assert found.is_marked
    often = Drafted(["Evet", "Hayır", "Kısmen"] * 20)
    assert often.column.type == "categorical"
    assert often.is_marked


def test_texts_of_an_unknown_language_that_look_like_steps_are_marked():
    found = Drafted(["apmierināts", "ļoti apmierināts", "neapmierināts"] * 9)
    assert found.column.type == "categorical"
    assert "# ? have they an order? then type: ordered" in found.line


def test_a_first_column_without_a_name_is_an_index():
    frame = pl.DataFrame({"": ["Mazda", "Fiat"], "a": ["1", "2"]})
    line = next(
        line for line in draft_schema(frame, cfs=[], ignored=[]).splitlines() if '"":' in line
    )
    assert (
        line == '  "": {role: ignore}  # a column without a name, different in every row: an index'
    )


def test_yes_and_no_in_many_spellings_are_a_boolean():
    found = Drafted(some(["ja", "Ja", "JA", "j", "nein", "Nein"]))
    assert found.column.type == "binary"
    assert {value.casefold() for value in found.column.values} <= {"ja", "nein", "j"}
    assert not found.is_marked
    assert found.missing == ("",)


DAYS = [dt.date(2020, 1, 5) + dt.timedelta(days=3 * n) for n in range(ROWS)]


def test_dates_with_a_few_that_are_none_are_left_out_until_they_are_corrected():
    cells = [f"{day:%d.%m.%Y}" for day in DAYS]
    cells[0] = cells[9] = "31.02.1980"
    found = Drafted(cells)
    assert found.column.role == "ignore"
    said = "238 of 239 different texts are dates like '08.01.2020'; '31.02.1980' 2 cells is not"
    assert f'# ? {said}: correct it, then type: date, format: "%d.%m.%Y"' in found.line


@pytest.mark.parametrize("every", [2, 5, 12, 80])
def test_dates_in_two_formats_are_named(every):
    cells = [f"{day:%d.%m.%Y}" if n % every else f"{day}" for n, day in enumerate(DAYS)]
    found = Drafted(cells)
    assert found.column.role == "ignore"
    assert f"{ROWS // every} like '2020-01-05'" in found.line
    assert "dates in two formats" in found.line
    assert 'format: "%d.%m.%Y"' in found.line


def test_a_first_day_of_the_calendar_in_many_cells_may_be_a_code():
    cells = [f"{day:%d.%m.%Y}" if n % 20 else "01.01.1900" for n, day in enumerate(DAYS)]
    found = Drafted(cells)
    assert found.column.type == "date"
    assert "# ? is '01.01.1900' 12 cells a date, or a code?" in found.line
    assert not Drafted([f"{day:%d.%m.%Y}" for day in DAYS]).is_marked


def test_columns_most_cells_of_which_are_empty_are_marked():
    cells = [str(n * 7 % 41 / 8) if n % 6 == 0 else "" for n in range(ROWS)]
    assert "# ? 83% of the cells are empty" in Drafted(cells).line
    assert not Drafted([str(n * 7 % 41 / 8) if n % 3 == 0 else "" for n in range(ROWS)]).is_marked


def test_two_notes_in_few_cells_are_no_boolean():
    cells = [{0: "great survey", 5: "too long, honestly"}.get(n % 10, "") for n in range(ROWS)]
    found = Drafted(cells)
    assert found.column.role == "ignore"
    assert found.is_marked
    full = Drafted(some(["New York", "San Diego"]))
    assert full.column.type == "binary"
    assert not full.is_marked


@pytest.mark.parametrize("name", ["ZIP", "PLZ", "zip_code", "Region code"])
def test_numbers_that_are_codes_by_their_name_are_marked(name):
    found = Drafted(some(["90210", "10001", "2139", "60614"]), name=name)
    assert found.column.type == "categorical"
    assert "# ? codes, by the column's name? then type: categorical, or role" in found.line


# What `cfl init` drafts of lists, marks and exclusions as people write them.


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
