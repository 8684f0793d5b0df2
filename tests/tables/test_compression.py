import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.errors import DataError, ResourceError
from cfl_cli.tables.formats import packed, packing_of, unpack

PACKINGS = pytest.mark.parametrize("packing", ["gz", "zst"])


def pack(data, packing):
    file = io.BytesIO()
    with packed(file, packing) as inner:
        inner.write(data)
    return file.getvalue()


@PACKINGS
@given(data=st.binary(max_size=200))
def test_what_is_packed_is_unpacked_and_says_how(packing, data):
    assert unpack(pack(data, packing), packing, name="t", limit=1000) == data
    assert packing_of(pack(data, packing)) == packing
    assert pack(data, packing) == pack(data, packing)


def test_gzip_packs_what_gzip_reads_with_no_time_or_name_inside():
    assert gzip.decompress(pack(b"abc", "gz")) == b"abc"
    assert pack(b"abc", "gz")[3:8] == bytes(5)  # no flags, no time


@PACKINGS
def test_parts_one_after_the_other_are_read_as_one(packing):
    data = pack(b"ab", packing) + pack(b"cd", packing)
    assert unpack(data, packing, name="t", limit=100) == b"abcd"


@PACKINGS
@given(cut=st.integers(1, 100))
def test_a_file_that_is_cut_short_is_refused(packing, cut):
    data = pack(bytes(range(256)) * 4, packing)
    with pytest.raises(DataError, match=r"^t: the .* is cut short|^t: not a well-formed"):
        unpack(data[: -min(cut, len(data))], packing, name="t", limit=10_000)


@PACKINGS
def test_damage_is_refused(packing):
    data = bytearray(pack(b"some text, and some more" * 20, packing))
    data[-6] ^= 0xFF
    with pytest.raises(DataError, match="not a well-formed"):
        unpack(bytes(data), packing, name="t", limit=10_000)
    with pytest.raises(DataError, match="not a well-formed"):
        unpack(b"a,b\n1,2\n", packing, name="t", limit=10_000)
    with pytest.raises(DataError, match="not a well-formed"):
        unpack(pack(b"a", packing) + b"rubbish", packing, name="t", limit=10_000)


@PACKINGS
def test_a_bomb_is_refused_before_it_fills_the_memory(packing):
    with pytest.raises(ResourceError, match=r"more than 2 MB, .*: unpack it on a larger"):
        unpack(pack(bytes(1 << 26), packing), packing, name="t", limit=2_000_000)
