"""Words of degree stand in the order in which a speaker of the language would put them."""

import pytest
from builders.tallies import tallied

from cfl_cli.texts.scales import degree_levels, scale, shared_words

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
    "låg|medel|mycket hög",
    "--|-|0|+|++",
    "★☆☆|★★☆|★★★",
    "1 star|2 stars|5 stars",
    "2 von 5|3 von 5|5 von 5",
    "do 20 lat|21-40|41-60|ponad 60",
    "20歳未満|20-39|40-59|60歳以上",
    "bis 20|21-40|40 und älter",
]


@pytest.mark.parametrize("line", IN_ORDER)
def test_texts_come_in_order_however_they_are_met(line):
    texts = line.split("|")
    mixed = sorted(texts, key=lambda text: text[::-1])
    found = scale(tallied(mixed))
    assert found is not None
    assert list(found.values) == texts
    assert not found.doubt


def test_bands_whose_ends_are_in_unknown_words_are_doubtful():
    found = scale(tallied(["kuni 20", "21-40", "41-60", "61 ja rohkem"]))
    assert found is not None
    assert found.values == ("kuni 20", "21-40", "41-60", "61 ja rohkem")
    assert "'kuni 20'" in found.doubt


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
