"""Text becomes UTF-8 as it was meant, or an error says what would help."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.errors import DataError
from cfl_cli.tables.encodings import (
    guess_encoding,
    mostly_utf8,
    to_utf8,
    utf8_lines,
    wide_encoding,
    words_in,
)

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"))


@given(TEXTS, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "UTF8"]))
def test_any_text_comes_back_as_utf_8_without_a_byte_order_mark(text, encoding):
    given_name = "utf-8" if encoding == "utf-8-sig" else encoding
    assert to_utf8(text.encode(encoding), name="t", encoding=given_name) == text.encode()


def test_an_encoding_of_one_byte_is_read_by_its_table():
    assert to_utf8(b"caf\xe9", name="t", encoding="latin-1") == "café".encode()
    assert to_utf8(b"\x80", name="t", encoding="cp1252") == "€".encode()


@pytest.mark.parametrize(
    ("data", "encoding", "problem"),
    [
        (
            b"a\nb\xe9",
            "utf-8",
            "line 2: byte E9 is not UTF-8; in cp1252 the word is 'bé': add --encoding cp1252",
        ),
        (b"a\n\0b", "utf-8", "line 2: a NUL byte: not a text file, or a damaged one: remove it"),
        ("a".encode("utf-16"), "utf-8", "this is UTF-16: add --encoding utf-16"),
        ("a".encode("utf-32"), "utf-8", "this is UTF-32: add --encoding utf-32"),
        (b"a,b\n1,23\n", "utf-16", "not utf-16 text: leave out --encoding, or give another one"),
        (b"a,b\n1,23\n\n\n", "utf-16-be", "not utf-16-be text: leave out --encoding"),
        (b"\x81", "cp1252", "not cp1252 text: leave out --encoding, or give another one"),
        (b"a", "utf-16-le", "not utf-16-le text: leave out --encoding, or give another one"),
        ("a,b\n".encode("utf-16")[:-1], "utf-16", "this begins as UTF-16, but a later part is not"),
        (
            "a,b\n".encode("utf-32") + b"\0",
            "utf-32",
            "this begins as UTF-32, but a later part is not",
        ),
    ],
)
def test_other_bytes_are_refused_with_the_way_out(data, encoding, problem):
    with pytest.raises(DataError) as error:
        to_utf8(data, name="t.csv", encoding=encoding)
    assert str(error.value).startswith(f"t.csv: {problem}")


# Guesses, by words; the answer is what encoded them.

WORDS = {  # a few words that were not looked at when the letters were chosen
    "Hüfte Öl böse Gruß": "cp1252",
    "après santé Hôtel lycée": "cp1252",
    "baño también área": "cp1252",
    "pão lições açúcar": "cp1252",
    "mjölk ålder väg": "cp1252",
    "kød vælge årlig": "cp1252",
    "księżyc głowa środa żaden": "cp1250",
    "století řeka člověk můj": "cp1250",
    "esőben fűtés születés": "cp1250",
    "fată înger judeţ oraş": "cp1250",
    "зима весна Ольга температура": "cp1251",
    "весна мій їздить": "cp1251",
    "άνοιξη χειμώνας Ελένη": "cp1253",
    "kış yağmur çağrı": "cp1254",
    "春 なつ テレビ 冬休み": "cp932",
    # Names in several languages, and blanks that do not break.
    "Bäcker Muñoz Fröhlich Sørensen Gonçalo Åberg Desprès": "cp1252",
    "1\xa0250 €": "cp1252",
    "7\xa0800,5\xa0€ über": "cp1252",
    # Encodings that are not ours, which a library guesses.
    "男 女 是 否": "gb18030",
    "发烧 咳嗽 流感": "gbk",
    "臺北市 醫師 會計": "big5",
    "서울 부산 기침": "cp949",
    "القاهرة طبيبة مهندس": "cp1256",
    "Москва учитель врач водитель": "koi8-r",
    "Москва врач водитель учитель": "cp866",
    "Jürgen Müller Käthe Köln Bäcker Verkäufer Düsseldorf": "cp437",
}


@pytest.mark.parametrize(("text", "encoding"), WORDS.items())
def test_a_few_words_show_the_encoding(text, encoding):
    data = text.encode(encoding)
    for written in (data, data.replace(b" ", b"\n")):
        found = guess_encoding(words_in(written))
        assert data.decode(found.encoding) == text
        assert found.encoding == "cp1252" or encoding != "cp1252"
        assert "\xa0" in text or set(found.words) <= set(text.split())


@pytest.mark.parametrize("data", [b"\x81\xfe\x9d\xff", b"q\x81\xfer\x9d\xffz\x90 \xd0\x8d"])
def test_what_reads_well_in_no_encoding_is_not_guessed(data):
    assert guess_encoding(words_in(data)) is None


def test_a_fault_in_a_text_that_is_utf_8_is_no_other_encoding():
    words = words_in("Köln Münster Düren ".encode() + b"K\xf6ln")
    assert mostly_utf8(words)
    assert guess_encoding(words) is None


def test_a_long_cell_of_letters_is_looked_at_once():
    letters = b"a" * 400_000  # from each letter to the end, this would be minutes
    assert not words_in(letters)
    assert words_in(letters + b",K\xf6ln") == {b"K\xf6ln": 1}
    assert words_in(b"K\xf6ln \xc4a1\xe4@b") == {b"K\xf6ln": 1, b"\xc4a": 1, b"\xe4@b": 1}


# A NUL byte is explained: by an encoding that would read it, a crash, or damage.

WIDE_TEXTS = {
    "latin": "name,job\nJürgen,x\nJörg,y\n",
    "russian": "имя,работа\nИван,врач\nОля,шофёр\n",
    "chinese": "名字,职业\n张三,医生\n上海,一\n" * 30,
    "greek, one column": "πόλη\nΑθήνα\nΠάτρα\n",
    "japanese, old Mac": "なまえ\tしごと\rあい\tう\r",
    "one line": "a,b",
    "emoji": "a;b\n🙂;🙃\n",
}
WIDE = ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]


def message(data):
    with pytest.raises(DataError) as whole:
        to_utf8(data, name="t", in_schema=True)
    chunks = (data[at : at + 7] for at in range(0, len(data), 7))
    with pytest.raises(DataError) as in_pieces:
        [*utf8_lines(chunks, name="t", limit=10**6, in_schema=True)]
    assert str(in_pieces.value) == str(whole.value)
    return str(whole.value)


@pytest.mark.parametrize("encoding", WIDE)
@pytest.mark.parametrize("text", WIDE_TEXTS)
def test_wide_characters_without_a_mark_are_known_and_their_encoding_is_proposed(text, encoding):
    data = WIDE_TEXTS[text].encode(encoding)
    do = f"add --encoding {encoding}, or file: {{encoding: {encoding}}} in the schema"
    assert message(data).endswith(f"a NUL byte: this looks like {encoding[:6].upper()}: {do}")
    assert to_utf8(data, name="t", encoding=encoding).decode() == WIDE_TEXTS[text]


@pytest.mark.parametrize("cut", [1, 3])
def test_an_encoding_that_does_not_read_the_file_is_not_proposed(cut):
    data = (WIDE_TEXTS["latin"] * 9).encode("utf-32-le")
    assert message(data[:-cut]).endswith(
        "UTF-32 that is damaged or cut short: get a new copy of the file"
    )
    data = (WIDE_TEXTS["latin"] * 9 + "\0").encode("utf-16-be")
    assert "damaged or cut short" in message(data)


def test_padding_up_to_the_end_is_called_so():
    told = message(b"a,b\n1,2\n3,4\n" + bytes(50))
    assert told.startswith("t: line 4: a NUL byte: only NUL bytes follow to the end")
    assert message(b"a,b\n1,2\n3," + bytes(5000)).startswith("t: line 3: a NUL byte: only NUL b")
    assert message(bytes(64)).startswith("t: line 1: a NUL byte: only NUL bytes follow")


@pytest.mark.parametrize(
    "data",
    [
        b"a,b\n1,2\n3\0,4\n5,6\n",
        b"a,b\n1,\0 2\n\0 3,4\n",
        "a,b\nKöln,\0 2\n\0 3,4\n".encode("cp1252"),
        b"a,b\n1,2\n" + bytes(50) + b"3,4\n",
        b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\0>\0\x01\0\0\0\x80\x0a\0\0" * 9,
    ],
)
def test_other_nuls_are_damage(data):
    assert message(data).endswith("a NUL byte: not a text file, or a damaged one: remove it")


@given(st.text(st.sampled_from("abc ,;\n12é"), min_size=8), st.data())
def test_plain_text_with_a_few_nuls_is_in_no_wide_encoding(text, data):
    raw = bytearray(text.encode())
    raw[data.draw(st.integers(0, len(raw) - 1))] = 0
    assert wide_encoding(bytes(raw)) is None


def test_what_was_decoded_from_wide_characters_is_not_said_to_be_so():
    data = "a\0,b\0\n".encode("utf-16-le")
    with pytest.raises(DataError, match="line 1: a NUL byte: not a text file"):
        to_utf8(data, name="t", encoding="utf-16-le")
