"""A text means the value that it equals, but for blanks, zeros behind the point, and spelling."""

import uuid
from itertools import product

import numpy as np
import pytest
from builders.tallies import tallied

from cfl_cli.texts.identifiers import id_kind, is_name_of_id, says_identifier, says_private
from cfl_cli.texts.matching import (
    Matcher,
    is_missing_code,
    is_pair,
    may_be_answers,
    missing_codes,
    misspelt,
    truth,
    truths,
)
from cfl_cli.texts.numbers import sentinels


@pytest.mark.parametrize(
    ("text", "values", "place"),
    [
        *(("b", "a b", 1), (" b\u00a0", "a b", 1), ("1.0", "0 1", 1), ("1", "0.0 1.0", 1)),
        *(("2.00", "1 2 3", 1), ("TRUE", "no yes", 1), ("ja ", "no yes", 1), ("0.0", "nein ja", 0)),
        *(("false", "ja nein", 1), ("B", "a b", -1), ("01", "1 2", -1), ("1.5", "1 2", -1)),
        *(("yes", "ja nein no", -1), ("yes", "a b", -1), ("", "no yes", -1), ("sí", "non oui", 1)),
        *(("да", "nie tak", 1), ("yes", "нет да", 1), ("True", "N Y", 1), ("0", "j n", 1)),
        *(("n", "N Y", 0), ("J", "nein ja", 1), ("y", "nein ja", -1), ("o", "off on", -1)),
        *(("x", "no yes", -1), ("✓", "0 1", -1), ("O", "no yes", -1), ("O", "n o", 1)),
        ("evet", "no yes", -1),
        ("12:30:00", "12:30:00.000 13:00:00.000", 0),
    ],
)
def test_a_text_means_a_value(text, values, place):
    matcher = Matcher(values.split())
    assert matcher.place(text) == place
    assert matcher(text) == ([*values.split(), text][place])


def test_the_exact_value_comes_first_and_what_fits_two_fits_none():
    assert Matcher(["a", "a "]).place("a ") == 1
    assert Matcher(["a", "a "]).place(" a") == -1
    assert Matcher(["1", "1.0"]).place("1.0") == 1
    assert Matcher(["1", "1.0"]).place("1.00") == -1
    assert Matcher(["", "x"]).place("X") == 1


@pytest.mark.parametrize("values", [["N", "S"], ["O", "N"], ["yes", "no"], ["0", "1"], ["", "x"]])
def test_letters_and_signs_mean_themselves_or_what_they_begin(values):
    matcher, own = Matcher(values), {value.casefold()[:1] for value in values}
    for text in "xostjyniadehfXOSTJY✓✗○":
        assert (matcher.place(text) >= 0) == (text.casefold() in own)


def test_what_truth_the_letters_of_a_scale_or_a_compass_have_is_not_guessed():
    assert [*map(Matcher(["N", "S"]).place, ["1", "true", "yes", "no", "s"])] == [-1, -1, -1, -1, 1]
    assert [*map(Matcher(["yes", "no"]).place, ["oui", "tak", "evet", "有"])] == [-1] * 4
    assert Matcher(["Yes", "yes", "no"]).place("YES") == -1


LISTED = (
    *("no/yes", "n/y", "false/true", "f/t", "0/1", "nein/ja", "n/j", "non/oui", "n/o", "no/sí"),
    *("n/s", "não/sim", "no/sì", "nie/tak", "ne/ano", "nem/igen", "нет/да", "いいえ/はい"),
    *("nej/ja", "ei/kyllä", "✗/✓"),
)


@pytest.mark.parametrize(
    ("false", "true"),
    [
        *(pair.split("/") for pair in LISTED),
        *(("FALSE", "TRUE"), ("False", "True"), ("0.0", "1.0"), (" Nein", "Ja\u00a0")),
    ],
)
def test_a_known_pair_is_one_in_any_spelling(false, true):
    assert truth(false) is False
    assert truth(true) is True
    assert is_pair([true, false])


def test_spellings_of_a_pair_are_one_and_no_text_means_both():
    falses, trues = ({pair[place] for pair in truths().pairs} for place in (0, 1))
    assert not falses & trues
    assert is_pair(["TRUE", "true", "False"])
    assert is_pair(["1", "1.0", "0"])


@pytest.mark.parametrize(
    "values",
    [["männlich", "weiblich"], ["m", "f"], ["yes"], ["yes", "nein"], ["no", "yes", "x"], ["x"], []],
)
def test_other_texts_are_no_pair(values):
    assert not is_pair(values)


def test_an_empty_cell_says_nothing_but_goes_with_a_cross():
    assert truth("") is truth(" ") is truth("männlich") is truth("2") is None
    assert truth("X") is True
    assert is_pair(["", "x"])


def edits(word):
    """Return all words one edit away, as a checker of spelling makes them."""
    splits = [(word[:n], word[n:]) for n in range(len(word) + 1)]
    letters = "abmort"
    found = {a + b[1:] for a, b in splits if b}
    found |= {a + b[1] + b[0] + b[2:] for a, b in splits if len(b) > 1}
    found |= {a + c + b[1:] for (a, b), c in product(splits, letters) if b}
    found |= {a + c + b for (a, b), c in product(splits, letters)}
    return found - {word}


def test_all_words_one_edit_away_are_found_and_no_others():
    near = edits("motor")
    for word in near | {one for it in edits("moor") for one in edits(it)}:
        right = {"motor": 100, word: 1}
        expected = {word: "motor"} if word in near and word != "motor" else {}
        if word != "motor":
            assert misspelt(right, 101) == expected, word


@pytest.mark.parametrize(
    "counts", [{"motor": 100, "moter": 30}, {"A1": 90, "A2": 1}, {"Motor": 9, "motor": 1}]
)
def test_frequent_values_codes_and_case_are_no_slips(counts):
    assert misspelt(counts, sum(counts.values())) == {}


def test_row_numbers_are_an_id_and_measurements_are_not():
    up = [str(number) for number in range(7, 40)]
    assert id_kind(tallied(up), numbers=True)[1]
    assert id_kind(tallied(up[::-1]), numbers=True) is None
    assert id_kind(tallied(up[::-1], "patient_id"), numbers=True) is not None
    assert id_kind(tallied(["1.5", "2.5", "3.5"]), numbers=True, whole=False) is None


@pytest.mark.parametrize(
    "text",
    [lambda n: str(uuid.UUID(int=n)), "user{}@example.org".format, "DE{:020d}".format,
     "https://example.org/{}".format],
)  # fmt: skip
def test_shapes_of_ids_are_known_even_if_they_repeat(text):
    assert id_kind(tallied([text(number % 5) for number in range(10)]), numbers=False)[1]


def test_texts_that_differ_almost_everywhere_are_an_id():
    cells = [f"p{number}" for number in range(97)] + ["p0", "p1", "p2"]
    assert id_kind(tallied(cells[:97]), numbers=False) == ("a different value in every row", True)
    assert id_kind(tallied(cells), numbers=False) is None
    expected = ("97 different values in 100 cells", False)
    assert id_kind(tallied(cells, "key"), numbers=False) == expected


def test_names_of_ids_and_of_what_people_keep_to_themselves_are_known():
    named, others = ["id", "patientId", "Kd.-Nr.", "row_no"], ["width", "idea", "node", "normal"]
    assert [name for name in [*named, *others] if is_name_of_id(name)] == named
    private = ["diagnosis_code", "Krankheit", "état de santé", "renda", "INCOME", "race"]
    private.append("sexualOrientation")
    others = ["job", "trace", "embrace", "contact", "colour", "weekday", ""]
    assert [name for name in [*private, *others] if says_private(name)] == private
    alone = ["e-mail", "SSN", "last_name", "Nachname", "phoneNumber"]
    every = [*alone, "id", "patientId", "name", "Patientennummer", "customer no"]
    assert [name for name in every if says_identifier(name, different=0.1)] == alone
    assert [name for name in every if says_identifier(name, different=0.2)] == alone
    assert [name for name in every if says_identifier(name, different=1.0)] == every


# Sentinels are found where they stand apart, and clean columns of many shapes stay silent.


CODES = {
    "surely": "-|—|.|?|NA|n/a|N.A.|#N/A|NaN|k.A.|k. A.|keine Angabe|NSP|s/o|sin dato|Non renseigné"
    "|onbekend|brak danych|Don't know|weiß nicht|#DIV/0!|PREFER NOT TO SAY|b.d.",
    "perhaps": "none|Keine|no|offen|Other|Nie dotyczy",  # mostly an answer
    "never": "flu|0|Nadal|NAB|-1|1-|a.b|Norge",
}


@pytest.mark.parametrize("said", CODES)
def test_a_code_is_known_in_any_spelling_and_a_likely_answer_only_doubtful(said):
    for text in CODES[said].split("|"):
        assert is_missing_code(text) == (said == "surely"), text
        assert said == "surely" or is_missing_code(text, "doubtful") == (said == "perhaps"), text


def test_the_commonest_code_comes_first():
    column = tallied(["a", "-", "k.A.", "k.A.", "none", "a", " ", None])
    assert missing_codes(column) == ("k.A.", "-")
    assert missing_codes(column, "doubtful") == ("none",)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["NA", "DE", "FR", "US"], ("NA",)),  # Namibia
        (["-", "+", "*", "="], ("*", "-")),
        (["NA", "Peru", "Chile", "Cuba"], ()),
        (["NA", "1", "2", "3"], ()),
        (["?", "?", "?", "?", "a", "b"], ("?",)),
    ],
)
def test_a_code_that_looks_like_the_others_or_holds_most_cells_may_be_an_answer(cells, expected):
    column = tallied(cells)
    assert may_be_answers(column, missing_codes(column)) == expected


def found(values):
    column = tallied([f"{value:g}" for value in values])
    flagged = sentinels(column, [float(text) for text in column.texts])
    return set(flagged.texts) if flagged else set()


SHAPES = {
    "temperature": lambda d, n: d.normal(37.5, 1, n).round(1),
    "celsius": lambda d, n: d.normal(8, 9, n).round(),
    "age": lambda d, n: d.integers(0, 96, n),
    "income": lambda d, n: d.lognormal(10, 1, n).round(),
    "pareto": lambda d, n: (d.pareto(0.8, n) * 100).round(),
    "pareto 1.2": lambda d, n: d.pareto(1.2, n).round(2),
    "counts": lambda d, n: d.poisson(3, n),
    "rare counts": lambda d, n: d.poisson(0.2, n),
    "t2": lambda d, n: d.standard_t(2, n).round(2),
    "cauchy": lambda d, n: d.standard_cauchy(n).round(),
    "spend with zeros": lambda d, n: np.where(d.random(n) < 0.6, 0, d.lognormal(3, 1, n).round()),
    "goal difference": lambda d, n: d.poisson(1.4, n) - d.poisson(1.4, n),
    "score": lambda d, n: d.integers(-2, 3, n),
    "prices": lambda d, n: d.integers(1, 100, n) * 10 - 1,
    "geometric": lambda d, n: d.geometric(0.05, n),
    "years": lambda d, n: d.integers(1950, 2025, n),
    "percent": lambda d, n: d.integers(0, 101, n),
    "scale": lambda d, n: d.integers(1, 6, n),
    "log": lambda d, n: np.log(d.random(n)).round(2),
    "two humps": lambda d, n: np.where(d.random(n) < 0.5, d.normal(0, 1, n), d.normal(50, 1, n)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rows", [100, 1000])
def test_a_clean_column_has_no_sentinels(shape, rows):
    for seed in range(5):
        assert found(SHAPES[shape](np.random.default_rng(seed), rows)) == set()


@pytest.mark.parametrize(
    ("shape", "planted"),
    [
        *(("temperature", {"999", "-9"}), ("age", {"999", "-9"}), ("counts", {"99", "-9"})),
        *(("years", {"9999", "-9"}), ("scale", {"99", "98"}), ("scale", {"9"})),
        ("income", {"-999"}),
    ],
)
def test_planted_codes_are_found_and_nothing_else(shape, planted):
    values = [*SHAPES[shape](np.random.default_rng(1), 500), *(2 * [float(p) for p in planted])]
    assert found([*values, *values[-len(planted) :]]) == planted


def test_beside_one_code_another_is_found_in_a_single_cell():
    values = [*SHAPES["temperature"](np.random.default_rng(1), 100), 999, 999]
    assert found([*values, -9]) == {"999", "-9"}
    assert found([*values[:-1], -9]) == set()


@pytest.mark.parametrize("values", [[0, 99, 0, 99], [1, 2, 3, 4, 999], [5, 5, 999, 999]])
def test_one_cell_or_too_few_others_show_nothing(values):
    assert found(values) == set()
