"""Words of degree stand in the order in which a speaker of the language would put them."""

import pytest
from builders.tallies import tallied

from cfl_cli.texts.scales import degree_levels, scale, shared_words

ORDERED = [
    ["18-24", "25–34", "35-64", "65+"],
    ["<5", "5 to 9", "10+"],
    ["unter 18", "18 bis 24", "über 24"],
    ["moins de 25", "25 à 49", "50 et plus"],
    ["$0-$9,999", "$10,000-$49,999", "$50,000+"],
    ["under 10k", "10k-20k", "20k-30k"],
    ["XS", "S", "M", "L", "XL"],
    ["low", "medium", "high"],
    ["never", "rarely", "sometimes", "often", "always"],
    ["nie", "selten", "manchmal", "oft", "immer"],
    ["very poor", "poor", "fair", "good", "very good"],
    *(["A1", "A2", "B1", "B2"], ["B-", "B", "B+", "A-"], ["Q1", "Q2", "Q3", "Q4"]),
    ["Klasse 5", "Klasse 6", "Klasse 10"],
    ["1 - poor", "2 - fair", "3 - good"],
    ["1 (schlecht)", "2", "3", "4", "5 (gut)"],
    ["mild", "moderate", "severe"],
    ["jan", "feb", "mar", "apr", "jun", "may"][:4],
    ["stimme gar nicht zu", "stimme eher nicht zu", "teils/teils", "stimme eher zu",
     "stimme voll zu"],
    ["pas du tout d’accord", "plutôt pas d'accord", "plutôt d'accord", "tout à fait d'accord"],
    ["totalmente en desacuerdo", "en desacuerdo", "de acuerdo", "totalmente de acuerdo"],
    ["zdecydowanie nie", "raczej nie", "raczej tak", "zdecydowanie tak"],
    ["per niente d'accordo", "poco d'accordo", "abbastanza d'accordo", "molto d'accordo"],
    ["helemaal mee oneens", "mee oneens", "neutraal", "mee eens", "helemaal mee eens"],
    ["discordo totalmente", "discordo", "concordo", "concordo totalmente"],
]  # fmt: skip


@pytest.mark.parametrize(
    "values",
    [
        *(["north", "south", "east"], ["Mon", "Tue", "Wed", "Thu"], ["A", "B", "C", "D"]),
        ["low", "high"],
        ["0-10", "5-15", "20+"],  # they overlap
        *(["1", "2", "3"], ["3b", "4b", "5c"], ["12:30", "13:30", "14:00"], ["a", "b", "c"]),
    ],
)
def test_texts_without_an_order_have_none(values):
    assert scale(tallied(values)) is None


def test_a_rung_never_seen_unknown_ends_and_roman_numbers_are_doubts():
    found = scale(tallied(["Mild", "Severe", "Absent", "Mild"]))
    assert found.values == ("Absent", "Mild", "Moderate", "Severe")
    assert found.doubt == "'Moderate' was never seen"
    values = ["I", "II", "III", "IV"]
    assert scale(tallied(values, "tumour_stage")).doubt == ""
    assert scale(tallied(values, "block")).doubt == "they may be labels without an order"
    found = scale(tallied(["kuni 20", "21-40", "41-60", "61 ja rohkem"]))
    assert found is not None
    assert found.values == ("kuni 20", "21-40", "41-60", "61 ja rohkem")
    assert "'kuni 20'" in found.doubt


@pytest.mark.parametrize(
    "values", [["ward 1", "ward 2", "ward 3"], ["1 - north", "2 - south", "3 - east"]]
)
def test_numbers_that_may_be_names_are_a_doubt(values):
    assert scale(tallied(values)).doubt


IN_ORDER = [  # from the lowest to the highest
    "Kesinlikle katılmıyorum|Katılmıyorum|Kararsızım|Katılıyorum|Kesinlikle katılıyorum",
    "Foarte nemulțumit|Nemulțumit|Neutru|Mulțumit|Foarte mulțumit",
    "Svært misfornøyd|Misfornøyd|Verken fornøyd eller misfornøyd|Fornøyd|Svært fornøyd",
    "Διαφωνώ απόλυτα|Διαφωνώ|Ούτε συμφωνώ ούτε διαφωνώ|Συμφωνώ|Συμφωνώ απόλυτα",
    "전혀 그렇지 않다|그렇지 않다|보통이다|그렇다|매우 그렇다",
    "全くそう思わない|あまりそう思わない|どちらともいえない|ややそう思う|とてもそう思う",
    "非常不满意|不满意|一般|满意|非常满意",
    "rozhodně nesouhlasím|spíše nesouhlasím|spíše souhlasím|rozhodně souhlasím",
    "Egyáltalán nem értek egyet|Inkább nem értek egyet|Inkább egyetértek|Teljesen egyetértek",
    "Pas du tout satisfait|Peu satisfait|Plutôt satisfait|Très satisfait",
    "Stimme gar nicht zu|stimme eher nicht zu|teils-teils|stimme zu|stimme voll und ganz zu",
    "Hiçbir zaman|Nadiren|Bazen|Sık sık|Her zaman",
    "Полностью не согласен|Скорее не согласен|Скорее согласен|Полностью согласен",
    "StronglyDisagree|Disagree|Agree|StronglyAgree",
    "aldrig|sällan|ibland|ofta|alltid",
    *("låg|medel|mycket hög", "--|-|0|+|++", "★☆☆|★★☆|★★★", "1 star|2 stars|5 stars"),
    "2 von 5|3 von 5|5 von 5",
    "do 20 lat|21-40|41-60|ponad 60",
    "20歳未満|20-39|40-59|60歳以上",
    "bis 20|21-40|40 und älter",
]


@pytest.mark.parametrize("values", [*ORDERED, *(line.split("|") for line in IN_ORDER)], ids=str)
def test_texts_with_an_order_are_put_in_it_however_they_are_met(values):
    shuffled = [*values[1::2], *values[::2], values[0]]
    for met in (shuffled, sorted(values, key=lambda text: text[::-1])):
        found = scale(tallied(met))
        assert (list(found.values), found.doubt) == (values, "")
    assert values not in ORDERED or scale(tallied([*shuffled, "foreign"])) is None


def test_words_around_a_step_shift_it():
    texts = ["good", "not good", "very good", "not very good", "not at all good", "rather good"]
    by_level = sorted(texts, key=degree_levels(texts).__getitem__)
    assert by_level == [
        "not at all good", "not good", "not very good", "rather good", "good", "very good",
    ]  # fmt: skip
    assert degree_levels(["red", "green", "blue"]) == {}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rahul|väga rahul|pole rahul", True),  # a language that nobody wrote down
        ("apmierināts|neapmierināts|cits", True),
        ("red|green|blue", False),
        ("single|married|divorced|widowed", False),
        ("North|South|East|West", False),
    ],
)
def test_texts_that_share_words_may_be_steps(line, expected):
    assert shared_words(line.split("|")) is expected
