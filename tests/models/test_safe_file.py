import errno
import hashlib
import io
import json
import os
import pickle
import threading
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from builders.models import header_of, repaired, with_facts, with_header
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from cfl_cli import __version__
from cfl_cli import models as safe_file
from cfl_cli.core.state import StateError
from cfl_cli.errors import DataError
from cfl_cli.models import DEEPEST, LONGEST_HEADER, MOST_VALUES, array_specs, facts_of, text_of

ARRAYS = {
    "a/bytes": np.frombuffer(b"text", np.uint8),
    "a/counts": np.array([[1, 2], [3, 4], [5, 6]], "i4"),
    "a/nothing": np.zeros((0, 5), "f4"),
    "a/places": np.array([2**60, -1]),
    "b": np.array([[0.1, -0.0, np.inf], [np.nan, 1e-300, 5]]),
    "c": np.array(2.5, "f4"),
}
SMALL = {"a": np.array([0.5])}
FACTS = {"method": "graph"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.cfl"


@pytest.fixture(scope="module")
def data():
    return written(ARRAYS)


@pytest.fixture(scope="module")
def small():
    return written(SMALL)


def written(arrays, facts=FACTS):
    file = io.BytesIO()
    safe_file.write(file, facts, arrays)
    return file.getvalue()


def refusal(path, data):
    """Return why a file is refused; only a DataError in one line will do."""
    path.write_bytes(data)
    with pytest.raises(DataError) as caught:
        safe_file.read(path)
    message = str(caught.value)
    assert message.isprintable()
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


def test_the_safetensors_library_reads_the_same_arrays(path, data):
    path.write_bytes(data)
    loaded = load_file(path)
    assert loaded.pop("~sha256").tobytes() == hashlib.sha256(data[:-32]).digest()
    assert loaded.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert loaded[name].dtype == array.dtype
        assert loaded[name].shape == array.shape
        assert loaded[name].tobytes() == array.tobytes()
    with safe_open(path, "np") as opened:
        assert json.loads(opened.metadata()["cfl"])["method"] == "graph"


def test_what_was_written_is_read_to_the_bit_and_cannot_be_altered(path, data):
    path.write_bytes(data)
    opened = safe_file.read(path)
    assert opened.facts == FACTS
    assert opened.version == __version__
    assert opened.checksum == hashlib.sha256(data[:-32]).hexdigest()
    assert not list(safe_file.differences(opened, ARRAYS))
    for array in opened.arrays.values():
        assert array.flags.aligned
        assert not array.flags.writeable


def test_arrays_stand_by_size_then_name_without_gaps(data):
    header, _ = header_of(data)
    del header["__metadata__"]
    names = sorted(header, key=lambda name: header[name]["data_offsets"])
    assert names == ["a/places", "b", "a/counts", "a/nothing", "c", "a/bytes", "~sha256"]
    ends = [0, *(header[name]["data_offsets"][1] for name in names)]
    assert [header[name]["data_offsets"][0] for name in names] == ends[:-1]
    assert (8 + int.from_bytes(data[:8], "little")) % 64 == 0


def test_layout_in_memory_and_order_of_insertion_do_not_matter(data):
    strided = np.zeros((6, 4), "i4")
    strided[::2, ::2] = ARRAYS["a/counts"]
    others = ARRAYS | {
        "a/counts": strided[::2, ::2],
        "a/places": ARRAYS["a/places"].astype(">i8"),
        "b": np.asfortranarray(ARRAYS["b"])[::-1][::-1],
    }
    assert written(dict(reversed(others.items()))) == data


@pytest.mark.parametrize(
    "array", [np.zeros(2, bool), np.zeros(2, "f2"), np.array(["a"]), np.zeros([1] * 5)]
)
def test_an_array_of_another_kind_is_not_written(array):
    with pytest.raises(StateError, match="array 'a' is"):
        written({"a": array})


@pytest.mark.parametrize("name", ["a//b", "a/../b", "a\0", "a\x1b[2J", "~sha256", "é", "a" * 65])
def test_an_array_of_another_name_is_neither_written_nor_read(name, path, data):
    with pytest.raises(StateError, match="an array cannot be called"):
        written({name: np.zeros(1)})
    header, facts = header_of(data)
    if name == "~sha256":
        return
    header[name], facts["arrays"][name] = header.pop("b"), facts["arrays"].pop("b")
    assert "is damaged (an array is called" in refusal(
        path, with_facts(with_header(data, header), facts)
    )


def test_a_file_that_changes_while_it_is_in_use_is_noticed(path, data):
    path.write_bytes(data)
    opened = safe_file.read(path)
    opened.check_unchanged()
    path.write_bytes(data[:-1])
    with pytest.raises(DataError, match="the file changed while it was in use"):
        opened.check_unchanged()


def test_a_file_that_is_cut_while_it_is_read_is_refused(path, monkeypatch):
    large = np.arange(safe_file.PIECE // 8)
    for arrays in ({"large": large}, {"small": large[:999]}):
        path.write_bytes(written(arrays))

        def cut(*given):
            os.truncate(path, 2000)
            return array_specs(*given)

        monkeypatch.setattr(safe_file, "array_specs", cut)
        with pytest.raises(DataError, match="cut off while it was read"):
            safe_file.read(path)


def test_a_disk_that_cannot_be_read_is_named(path, data, monkeypatch):
    path.write_bytes(data)

    def broken(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "pread", broken)
    with pytest.raises(DataError, match="cannot be read: Input/output error"):
        safe_file.read(path)


def test_a_file_that_another_takes_the_place_of_stays_as_it_was(path, data):
    path.write_bytes(data)
    opened = safe_file.read(path)
    (path.parent / "new").write_bytes(b"other")
    (path.parent / "new").replace(path)
    opened.check_unchanged()
    assert not list(safe_file.differences(opened, ARRAYS))


def test_a_closed_file_leaves_no_open_handle(path, data):
    path.write_bytes(data)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 — names are all we want
    for _ in range(3):
        safe_file.read(path)
        refusal(path.parent / "bad", data[:-1])
    assert len(os.listdir("/proc/self/fd")) <= before  # noqa: PTH208 — names only


def test_a_newer_format_is_told_with_the_way_out(path, data):
    _, facts = header_of(data)
    newer = with_facts(data, facts | {"format": 2, "written_by": "9.0\x1b[2J"})
    assert refusal(path, newer) == (
        rf"written by cfl 9.0\x1b[2J in format 2; this cfl {__version__} reads format 1: update cfl"
    )


def test_a_cut_at_any_byte_is_refused(path, small):
    for length in range(len(small)):
        message = refusal(path, small[:length])
        known = length >= 8 + len(safe_file.BEGINNING)
        assert message.startswith("is damaged (" if known else "not a model of cfl (")


def test_a_flip_of_any_byte_is_refused(path, small):
    for place in range(len(small)):
        refusal(path, flipped(small, place, 1))


def test_a_flip_is_refused_or_says_something_else_if_the_checksum_was_repaired(path, small):
    for place in range(len(small) - 32):
        path.write_bytes(repaired(flipped(small, place, 0x04)))
        with suppress(DataError):
            opened = safe_file.read(path)
            same = (opened.facts, opened.version) == (FACTS, __version__)
            assert not same or list(safe_file.differences(opened, SMALL))


def flipped(data, place, sign):
    return data[:place] + bytes([data[place] ^ sign]) + data[place + 1 :]


def odd_headers(data):
    """Yield what a header could hold that ours never does."""
    header, facts = header_of(data)
    metadata = header["__metadata__"]
    raw = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    yield "no JSON", raw[:-1]
    yield "more behind it", raw + b"x"
    yield "a duplicate key", raw[:-1] + b',"b":' + json.dumps(header["b"]).encode() + b"}"
    yield "no UTF-8", raw[:-1] + b',"\xff":1}'
    yield "nested", raw[:-1] + b',"z":' + b"[" * 50_000 + b"]" * 50_000 + b"}"
    yield "a huge number", raw[:-1] + b',"z":' + b"9" * 5000 + b"}"
    yield "NaN", raw[:-1] + b',"z":NaN}'
    yield "half a character", raw[:-1] + b',"z":"\\ud800"}'
    yield "many arrays", raw[:-1] + b"".join(b',"z%d":{}' % i for i in range(250_000)) + b"}"
    yield "another order", json.dumps(dict(reversed(header.items()))).encode()
    yield "a second text", header | {"__metadata__": metadata | {"x": "y"}}
    yield "no checksum", {name: entry for name, entry in header.items() if name != "~sha256"}
    yield "a surplus array", header | {"z": header["a/nothing"]}
    yield "a missing array", {name: entry for name, entry in header.items() if name != "b"}
    entry = header["b"]
    for what, other in {
        "an unknown field": entry | {"x": 1},
        "no shape": {"dtype": "F64", "data_offsets": entry["data_offsets"]},
        "another type": entry | {"dtype": "I64"},
        "a type that we do not write": entry | {"dtype": "BF16", "shape": [24]},
        "another shape": entry | {"shape": [3, 2]},
        "a negative shape": entry | {"shape": [-2, -3]},
        "a fraction": entry | {"shape": [2.0, 3]},
        "true": entry | {"shape": [True, 6]},
        "a huge shape": entry | {"shape": [2**62, 2**62]},
        "a huge shape of nothing": entry | {"shape": [0, 2**40]},
        "many axes": entry | {"shape": [1] * 65},
        "another place": entry | {"data_offsets": [0, 48]},
        "a hole": entry | {"data_offsets": [24, 72]},
        "a list": [1],
        "nothing": None,
    }.items():
        yield what, header | {"b": other}
    for what, other in {
        "no format": {name: value for name, value in facts.items() if name != "format"},
        "format true": facts | {"format": True},
        "format 0": facts | {"format": 0},
        "a version that is no text": facts | {"written_by": 1},
        "no list of arrays": {name: value for name, value in facts.items() if name != "arrays"},
        "another list of arrays": facts | {"arrays": {}},
    }.items():
        yield what, header | {"__metadata__": {"cfl": json.dumps(other, sort_keys=True)}}
        text = json.dumps(other, sort_keys=True, separators=(",", ":"))
        yield what, header | {"__metadata__": {"cfl": text}}


def test_whatever_a_header_could_hold_that_ours_never_does_is_refused(path, data):
    for what, header in odd_headers(data):
        assert refusal(path, with_header(data, header)).startswith(("is dam", "not a mod")), what


def test_a_header_of_impossible_length_is_refused(path, data):
    for length in (0, 56, LONGEST_HEADER + 56, 2**63, 2**64 - 1):
        refusal(path, repaired(length.to_bytes(8, "little") + data[8:]))
    huge = with_header(data, data[8:-32] + b" " * LONGEST_HEADER)
    assert "no valid length" in refusal(path, huge)


def test_bytes_beyond_the_arrays_are_refused(path, data):
    assert "it has extra bytes at its end" in refusal(path, data + b"x")
    assert "it has extra bytes at its end" in refusal(path, repaired(data[:-32] + b"x" * 64))


def test_a_file_that_only_claims_to_be_large_is_refused_unread(path, data):
    path.write_bytes(data)
    os.truncate(path, 1 << 42)  # no disk holds as much; all of it is holes
    with pytest.raises(DataError, match="it has extra bytes at its end"):
        safe_file.read(path)


SCHEMA = b"version: 1\ncolumns:\n  age: {role: ordinary, type: numeric}\n"


def test_files_of_other_kinds_are_refused_by_their_kind(path):
    assert refusal(path, b"") == "not a model of cfl (it is empty)"
    assert refusal(path, pickle.dumps({"a": 1})) == "not a model of cfl (a pickle)"
    assert refusal(path, b"words") == "not a model of cfl (it does not begin like a model)"
    for data, what in ((b"age,job\n1,a\n", "a table (CSV)"), (SCHEMA, "a schema")):
        assert refusal(path, data) == f"this is {what}, not a model: pass what `fit` wrote"
    file = io.BytesIO()
    np.savez(file, a=np.zeros(3))
    assert refusal(path, file.getvalue()) == "not a model of cfl (a ZIP or NPZ file)"
    with zipfile.ZipFile(file := io.BytesIO(), "w"):
        pass
    assert refusal(path, file.getvalue()) == "not a model of cfl (a ZIP file)"
    save_file({"a": np.zeros(3)}, path, {"made by": "another"})
    assert "a safetensors file of another program" in refusal(path, path.read_bytes())
    assert not safe_file.is_model(path)


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name, said in {
        "pipe": "a pipe or a device",
        ".": "a directory",
        "/dev/zero": "a pipe or a device",
        "none": "cannot be read: No such file",
        "nul\0": "cannot be read: ",
    }.items():
        assert not safe_file.is_model(tmp_path / name)
        waiting = threading.Timer(5, os._exit, (1,))  # rather than for ever
        waiting.start()
        with pytest.raises(DataError, match=said):
            safe_file.read(tmp_path / name)
        waiting.cancel()


def test_a_model_is_recognised_by_its_beginning(path, data):
    path.write_bytes(data[:40])
    assert safe_file.is_model(path)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abé"), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text("abé\0"), values, max_size=4))
def test_facts_survive_to_the_bit(facts):
    text = text_of(facts)
    assert text.isascii()
    assert facts_of(text) == facts
    assert text_of(facts_of(text)) == text


def test_the_order_of_insertion_does_not_matter():
    assert text_of({"b": 1, "a": {"d": 2, "c": 3}}) == text_of({"a": {"c": 3, "d": 2}, "b": 1})


def test_a_numpy_float_is_written_as_a_float():
    assert text_of({"a": np.float64(0.1)}) == '{"a":0.1}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "invalid JSON"),
        ("[1]", "not a mapping"),
        ('{"a":1}x', "invalid JSON"),
        ('{"a":1,"a":1}', "duplicate key"),
        ('{"a":{"b":1,"b":2}}', "duplicate key"),
        ('{"a":NaN}', "not finite"),
        ('{"a":-Infinity}', "not finite"),
        ('{"a":1e999}', "not finite"),
        (f'{{"a":{2**63}}}', "beyond 64 bits"),
        ('{"a":' + "9" * 5000 + "}", "beyond 64 bits"),
        ('{"a":"\\ud800"}', "half a character"),
        ('{"a":"\\uDC00"}', "half a character"),
        ('{"a":' + "[" * DEEPEST + "]" * DEEPEST + "}", "nested too deeply"),
        ('{"a":' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ('{"a":[' + "{}," * MOST_VALUES + "{}]}", "more than 200,000 values"),
        ('{"a":"\n"}', "invalid JSON"),
    ],
)
@pytest.mark.parametrize("ours", [True, False])
def test_what_other_readers_let_pass_is_refused(text, said, ours):
    with pytest.raises(ValueError, match=said):
        facts_of(text, ours=ours)


@pytest.mark.parametrize(
    "text", ['{"a": 1}', '{"b":1,"a":1}', '{"a":1.00}', '{"a":"é"}', '{"a":-0}', '{"a":"\\u0061"}']
)
def test_another_spelling_of_the_same_facts_is_not_ours(text):
    assert facts_of(text, ours=False) == json.loads(text)
    with pytest.raises(ValueError, match="not as cfl writes it"):
        facts_of(text)


def test_a_handle_that_fails_to_close_says_nothing(path, data, monkeypatch):
    path.write_bytes(data)
    found = safe_file.read(path)

    def fails(handle):
        system(handle)
        raise OSError(errno.EIO, "Input/output error")

    system = os.close
    monkeypatch.setattr(os, "close", fails)
    found.source.close()  # an error here would be "Exception ignored in" with a traceback
