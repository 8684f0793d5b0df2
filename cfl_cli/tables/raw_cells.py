"""Cells of Arrow types that have no text in every format → bytes that depend on the cells alone.

Not on where a batch begins, which values a dictionary has, or what is stored below a null.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

LISTS = (
    types.is_list,
    types.is_large_list,
    types.is_fixed_size_list,
    types.is_list_view,
    types.is_large_list_view,
)


class Piece(NamedTuple):
    """A part of a column: where it is within the type, and what it holds."""

    path: str
    data: bytes | memoryview


def pieces(array: pa.Array) -> list[Piece]:
    """Return what an array holds, to be added up path by path with what follows it."""
    try:
        return [*_pieces(array, "")]
    except (pa.ArrowException, NotImplementedError, TypeError, AttributeError):
        texts = [repr(cell).encode() for cell in array.to_pylist()]
        return [Piece("/text", b"".join(b"%d:%b" % (len(text), text) for text in texts))]


def _pieces(array: pa.Array, path: str) -> Iterator[Piece]:  # noqa: C901 — a branch for each kind of type
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        yield from _pieces(array.storage, path)
        return
    if types.is_dictionary(kind):
        yield from _pieces(array.dictionary_decode(), path)
        return
    if types.is_string_view(kind) or types.is_binary_view(kind):
        yield from _pieces(array.cast(pa.large_binary()), path)
        return
    if types.is_run_end_encoded(kind):
        yield from _pieces(pc.run_end_decode(array), path)
        return
    if types.is_union(kind):
        yield from _of_union(array, path)
        return
    yield Piece(f"{path}/null", array.is_null().cast("uint8").to_numpy().tobytes())
    if types.is_null(kind):
        return
    if types.is_struct(kind):
        for number, child in enumerate(array.flatten()):
            yield from _pieces(child, f"{path}/{number}")
    elif types.is_map(kind):
        yield from _of_lists(_as_lists(array), path)
    elif any(is_one(kind) for is_one in LISTS):
        yield from _of_lists(array, path)
    else:
        yield from _of_leaf(array.drop_null(), path)


def _of_leaf(array: pa.Array, path: str) -> Iterator[Piece]:
    """Yield cells that hold no others, none of which is null."""
    kind = array.type
    if types.is_boolean(kind):
        yield Piece(f"{path}/cells", array.cast("uint8").to_numpy().tobytes())
        return
    if types.is_fixed_size_binary(kind) or types.is_primitive(kind) or types.is_decimal(kind):
        width = kind.bit_width // 8
        data = array.buffers()[1]
        if data is not None:
            start = array.offset * width
            yield Piece(f"{path}/cells", memoryview(data)[start : start + len(array) * width])
        return
    array = array.cast(pa.large_binary())
    _, offsets, data = array.buffers()
    places = np.frombuffer(offsets, "<i8")[array.offset : array.offset + len(array) + 1]
    yield Piece(f"{path}/lengths", np.diff(places).astype("<i8").tobytes())
    if data is not None and len(places):
        yield Piece(f"{path}/cells", memoryview(data)[places[0] : places[-1]])


def _of_lists(array: Any, path: str) -> Iterator[Piece]:
    lengths = pc.fill_null(pc.list_value_length(array).cast("int64"), 0)
    yield Piece(f"{path}/lengths", lengths.to_numpy().astype("<i8").tobytes())
    yield from _pieces(array.flatten(), f"{path}/element")


def _as_lists(array: pa.MapArray) -> pa.Array:
    """Return the pairs of a map as lists."""
    kind = array.type
    pairs = pa.struct([kind.key_field, kind.item_field])
    return array.cast(pa.list_(pa.field("entries", pairs, nullable=False)))


def _of_union(array: pa.UnionArray, path: str) -> Iterator[Piece]:
    rows = slice(array.offset, array.offset + len(array))  # pyarrow's own accessors forget it
    _, codes, *others = array.buffers()
    codes = np.frombuffer(codes, "i1")[rows]
    yield Piece(f"{path}/codes", codes.tobytes())
    for number, code in enumerate(array.type.type_codes):
        places = np.flatnonzero(codes == code)
        if array.type.mode == "dense":
            places = np.frombuffer(others[0], "<i4")[rows][places]
        yield from _pieces(array.field(number).take(pa.array(places)), f"{path}/{number}")
