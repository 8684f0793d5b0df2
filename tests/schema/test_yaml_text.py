"""Text stays text, everything has its place, and hostile input gets a sentence, not a crash."""

import os
import re
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cfl_cli.errors import SchemaError
from cfl_cli.schema import yaml_text
from cfl_cli.schema.yaml_text import file_text, read_yaml


def read(text):
    return read_yaml(text, name="s.yml")


def problems(text):
    return [str(problem) for problem in read(text).problems]


def written(value):
    """Write text as a double-quoted scalar by YAML's rules, without PyYAML."""
    plain = re.compile(r"[ !#-\[\]-~]")
    return '"' + "".join(c if plain.match(c) else f"\\U{ord(c):08x}" for c in value) + '"'


@pytest.mark.parametrize(
    "scalar", ["no", "01", "12:30", "~", "null", "1e3", "0x1F", "1_000", "2020-01-01", "<<", ".nan"]
)
def test_a_scalar_stays_the_text_that_was_written(scalar):
    assert read(f"{{a: {scalar}}}").data == {"a": scalar}
    assert read(f"[{scalar}]").data == [scalar]
    assert read(scalar).data == scalar


def test_an_empty_value_is_empty_text():
    assert read("a:\nb: ''\n").data == {"a": "", "b": ""}


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_lines_are_counted_whatever_ends_them(line_break):
    assert read(f"a: b{line_break}c: d{line_break}").data == {"a": "b", "c": "d"}
    assert problems(f"a: b{line_break}a: d") == ["s.yml:2:1: duplicate key 'a' (first at line 1)"]


def test_a_byte_order_mark_is_no_column():
    assert problems("\ufeffa: @b")[0].startswith("s.yml:1:4: ")


def test_everything_refused_is_reported_at_once():
    assert problems("a: &x 1\nb: !!str 2\n? [c]\n: 3\nd: *x\na: 4\n") == [
        "s.yml:1:4: anchors are not supported; remove '&x'",
        "s.yml:2:4: tags are not supported; remove what starts with '!'",
        "s.yml:3:3: a key must be text, not a mapping or a list",
        "s.yml:5:4: aliases are not supported; write out '*x'",
        "s.yml:6:1: duplicate key 'a' (first at line 1)",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a:\n\tb: c", "2:1: not valid YAML: a tab is not allowed here; indent with spaces"),
        ("a: 'x\n", "2:1: not valid YAML: a quote is never closed (opened on line 1)"),
        ("a:\n  - [b\n", "3:1: not valid YAML: a bracket is never closed (opened on line 2)"),
        ("a: [b, , c]", "1:8: not valid YAML: a value is missing here"),
        ("a: b\nc\n", "3:1: not valid YAML: a key without a ':' after it"),
        ("a: @b", "1:4: not valid YAML: text that starts with this character needs quotes"),
        ('"\\UFFFFFFFF"', "1:4: not valid YAML: the number in this escape is too large"),
        ("a: !x!y z", "1:4: not valid YAML: tags are not supported; remove what starts with '!'"),
        ('"\\ud83d"', "1:1: this escape is only half of a character; write the character itself"),
    ],
)
def test_a_syntax_error_is_one_plain_sentence(text, problem):
    assert problems(text) == [f"s.yml:{problem}"]


@pytest.mark.parametrize("character", ["\0", "\x07", "\x1b", "\x7f", "\x85", "\u2028", "\ud800"])
def test_a_character_that_yaml_forbids_is_named_with_its_place(character):
    [problem] = problems(f"\ufeffa: b\r\nc: {character}{character}")
    assert problem.startswith(
        f"s.yml:2:4: the character U+{ord(character):04X} is not allowed here"
    )


def test_tags_never_build_objects_and_aliases_of_aliases_never_grow():
    document = read("!!python/object/apply:os.system ['exit 1']")
    assert document.data == ["exit 1"]
    assert len(document.problems) == 1
    lines = ["a0: &a0 [lol, lol]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30)]
    assert len(problems("\n".join(lines))) == 30 + 29 * 9


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? ", "[[a, b], "])
def test_deep_nesting_is_refused_at_once(opening):
    start = time.perf_counter()
    [problem] = problems(opening * 10_000)
    assert problem.endswith("nested more than 20 levels deep")
    assert time.perf_counter() - start < 5


def test_twenty_levels_are_read_and_text_above_the_limit_is_not():
    assert problems("[" * 20 + "]" * 20) == []
    expected = ["s.yml:1:1: larger than 256 KiB, the limit for a schema"]
    assert problems("a" * (yaml_text.LIMIT + 1)) == expected
    assert problems("a" * yaml_text.LIMIT) == []


@given(st.lists(st.text()))
@example(["\0", "\x85", "\u2028", "\ufeff", "\N{GRINNING FACE}", "\ufffe", " a ", "\\", '"', "\t"])
def test_any_text_in_double_quotes_comes_back(values):
    document = read("[" + ", ".join(map(written, values)) + "]")
    assert document.problems == ()
    assert document.data == values


@given(st.text() | st.text(alphabet="[]{}:,-?&*!|>'\"%@#\\ \n\tab01U~."))
def test_any_text_gives_data_or_problems(text):
    document = read(text)
    assert document.problems or document.data is not None
    for problem in document.problems:
        assert problem.place.line >= 1
        assert problem.facts["at"] >= 1
        assert "\n" not in str(problem)


def loading(path):
    with pytest.raises(SchemaError) as caught:
        file_text(path)
    return str(caught.value)


def test_a_file_is_read_with_or_without_a_byte_order_mark(tmp_path: Path):
    path = tmp_path / "s.yml"
    for start in (b"", b"\xef\xbb\xbf"):
        path.write_bytes(start + "a: ü\r\n".encode())
        assert read(file_text(path)).data == read(file_text(str(path))).data == {"a": "ü"}


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path):
    path = tmp_path / "s.yml"
    assert loading(path) == f"{path}: No such file or directory"
    assert loading(tmp_path) == f"{tmp_path}: Is a directory"
    assert loading("") == ": No such file or directory"
    assert loading("a\0b") == "'a\\x00b': embedded null byte"
    path.write_bytes("a: b".encode("utf-16"))
    assert loading(path) == f"{path}: this is UTF-16; save the file as UTF-8"
    path.write_bytes(b"\xef\xbb\xbfa: b\nc: \xc3\xbc\xe4\n")
    assert loading(path) == f"{path}:2:5: the byte 0xe4 is not UTF-8; save the file as UTF-8"
    path.write_bytes(b"[" * (1 << 20))  # before it is parsed
    assert loading(path) == f"{path}: larger than 256 KiB, the limit for a schema"


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root may read everything")
def test_a_file_without_permission_is_named_with_the_reason(tmp_path: Path):
    path = tmp_path / "s.yml"
    path.touch(mode=0)
    assert loading(path) == f"{path}: Permission denied"


def test_json_may_escape_a_character_in_two_halves():
    assert read('{"a": "\\ud83d\\udc4d"}').data == {"a": "👍"}
