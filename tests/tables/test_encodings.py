"""Text becomes UTF-8 as it was meant, or an error says what would help."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.errors import DataError, UsageError
from cfl_cli.tables.encodings import check_encoding, line_of, to_utf8

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
            "line 2: byte E9 is not UTF-8; as cp1252 it reads 'bé': add --encoding cp1252",
        ),
        (b"a\n\0b", "utf-8", "line 2: a NUL byte: not a text file, or a damaged one: remove it"),
        ("a".encode("utf-16"), "utf-8", "this is UTF-16: add --encoding utf-16"),
        ("a".encode("utf-32"), "utf-8", "this is UTF-32: add --encoding utf-32"),
        (b"a,b\n1,23\n", "utf-16", "not utf-16 text: leave out --encoding, or name another"),
        (b"a,b\n1,23\n\n\n", "utf-16-be", "not utf-16-be text: leave out --encoding"),
        (b"\x81", "cp1252", "not cp1252 text: leave out --encoding, or name another"),
        (b"a", "utf-16-le", "not utf-16-le text: leave out --encoding, or name another"),
        ("a,b\n".encode("utf-16")[:-1], "utf-16", "this begins as UTF-16, and not all of it is"),
        ("a,b\n".encode("utf-32") + b"\0", "utf-32", "this begins as UTF-32, and not all of it is"),
    ],
)
def test_other_bytes_are_refused_with_the_way_out(data, encoding, problem):
    with pytest.raises(DataError) as error:
        to_utf8(data, name="t.csv", encoding=encoding)
    assert str(error.value).startswith(f"t.csv: {problem}")


@pytest.mark.parametrize("encoding", ["utf-9", "", "hex", "a\0b"])
def test_what_is_not_an_encoding_of_text_is_refused(encoding):
    with pytest.raises(UsageError, match="--encoding: unknown encoding"):
        check_encoding(encoding)


def test_lines_are_counted_from_one():
    assert [line_of(b"a\nb\n", position) for position in range(4)] == [1, 1, 2, 2]
