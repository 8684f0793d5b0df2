"""Which encoding a text has that is not UTF-8, by its words; the answer is what encoded them."""

import pytest

from cfl_cli.tables.encodings import guess_encoding, mostly_utf8, words_in

WORDS = {  # a few words that were not looked at when the letters were chosen
    ("German", "cp1252"): "Hüfte Öl böse Gruß",
    ("French", "cp1252"): "après santé Hôtel lycée",
    ("Spanish", "cp1252"): "baño también área",
    ("Portuguese", "cp1252"): "pão lições açúcar",
    ("Swedish", "cp1252"): "mjölk ålder väg",
    ("Danish", "cp1252"): "kød vælge årlig",
    ("Polish", "cp1250"): "księżyc głowa środa żaden",
    ("Czech", "cp1250"): "století řeka člověk můj",
    ("Hungarian", "cp1250"): "esőben fűtés születés",
    ("Romanian", "cp1250"): "fată înger judeţ oraş",
    ("Russian", "cp1251"): "зима весна Ольга температура",
    ("Ukrainian", "cp1251"): "весна мій їздить",
    ("Greek", "cp1253"): "άνοιξη χειμώνας Ελένη",
    ("Turkish", "cp1254"): "kış yağmur çağrı",
    ("Japanese", "cp932"): "春 なつ テレビ 冬休み",
}


@pytest.mark.parametrize(("language", "encoding"), WORDS)
def test_a_few_words_show_the_encoding(language, encoding):
    text = WORDS[language, encoding]
    found = guess_encoding(words_in("\n".join(text.split()).encode(encoding)))
    assert found is not None
    assert text.encode(encoding).decode(found.encoding) == text
    assert set(found.words) <= set(text.split())


@pytest.mark.parametrize(
    "text",
    ["Bäcker Muñoz Fröhlich Sørensen Gonçalo Åberg Desprès", "1\xa0250 €", "7\xa0800,5\xa0€ über"],
)
def test_names_of_several_western_languages_and_no_break_blanks_are_cp1252(text):
    found = guess_encoding(words_in(text.encode("cp1252")))
    assert found is not None
    assert found.encoding == "cp1252"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("男 女 是 否", "gb18030"),
        ("남 여 예", "cp949"),
        ("서울 부산 기침", "cp949"),
        ("发烧 咳嗽 流感", "gbk"),
    ],
)
def test_what_reads_well_in_no_encoding_is_not_guessed(text, encoding):
    assert guess_encoding(words_in(text.encode(encoding))) is None


def test_a_fault_in_a_text_that_is_utf_8_is_no_other_encoding():
    words = words_in("Köln Münster Düren ".encode() + b"K\xf6ln")
    assert mostly_utf8(words)
    assert guess_encoding(words) is None


def test_words_are_counted_and_never_cut_a_character():
    data = "表,表;ポスト|10".encode("cp932")  # whose second bytes are \ and |
    assert [word.decode("cp932").rstrip("|") for word in words_in(data)] == ["表", "ポスト"]
    assert words_in(data)["表".encode("cp932")] == 2


def test_a_long_cell_of_letters_is_looked_at_once():
    letters = b"a" * 400_000  # from each letter to the end, this would be minutes
    assert not words_in(letters)
    assert words_in(letters + b",K\xf6ln") == {b"K\xf6ln": 1}
    assert words_in(b"K\xf6ln \xc4a1\xe4@b") == {b"K\xf6ln": 1, b"\xc4a": 1, b"\xe4@b": 1}
