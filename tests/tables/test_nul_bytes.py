"""A NUL byte in a text is explained: by an encoding that would read it, a crash, or damage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.errors import DataError
from cfl_cli.tables.encodings import to_utf8, utf8_lines, wide_encoding

TEXTS = {
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
@pytest.mark.parametrize("text", TEXTS)
def test_wide_characters_without_a_mark_are_known_and_their_encoding_is_proposed(text, encoding):
    data = TEXTS[text].encode(encoding)
    do = f"add --encoding {encoding}, or file: {{encoding: {encoding}}} in the schema"
    assert message(data).endswith(f"a NUL byte: this looks like {encoding[:6].upper()}: {do}")
    assert to_utf8(data, name="t", encoding=encoding).decode() == TEXTS[text]


@pytest.mark.parametrize("cut", [1, 3])
def test_an_encoding_that_does_not_read_the_file_is_not_proposed(cut):
    data = (TEXTS["latin"] * 9).encode("utf-32-le")
    assert message(data[:-cut]).endswith("UTF-32 that is damaged or cut short: get the file anew")
    data = (TEXTS["latin"] * 9 + "\0").encode("utf-16-be")
    assert "damaged or cut short" in message(data)


def test_padding_up_to_the_end_is_called_so():
    told = message(b"a,b\n1,2\n3,4\n" + bytes(50))
    assert told.startswith("t: line 4: a NUL byte: there is nothing but NUL bytes up to the end")
    assert message(b"a,b\n1,2\n3," + bytes(5000)).startswith("t: line 3: a NUL byte: there is noth")
    assert message(bytes(64)).startswith("t: line 1: a NUL byte: there is nothing but NUL bytes")


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
