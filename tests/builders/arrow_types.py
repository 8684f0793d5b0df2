"""A column of every Arrow type, seven cells each, some of them null."""

import io
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

ROWS = 7
NUMBERS = pa.array([1, None, 3, 4, 5, 6, 7])
TEXTS = pa.array(["a", None, "", "bé", "c", "dd", "e"])
LISTS = [[1, 2], None, [], [None], [3], [4], [5, 6, 7]]
ONE_EACH = pa.array(range(ROWS + 1), pa.int32())
CODES = pa.array([0, 1, 0, 1, 0, 0, 1], pa.int8())


def columns():
    numbers = [pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.timestamp("ns")]
    numbers += [pa.timestamp("us", "Europe/Berlin"), pa.duration("ms"), pa.time64("ns")]
    texts = [pa.string(), pa.large_string(), pa.string_view()]
    texts += [pa.binary(), pa.large_binary(), pa.binary_view()]
    decimals = [pa.decimal32(5, 2), pa.decimal64(12, 2), pa.decimal128(20, 3), pa.decimal256(50, 3)]
    lists = [pa.list_(pa.int64()), pa.large_list(pa.int64())]
    lists += [pa.list_view(pa.int64()), pa.large_list_view(pa.int64())]
    intervals = pa.array([pa.MonthDayNano([1, 2, 3]), None] * 3 + [pa.MonthDayNano([4, 5, 6])])
    coded = TEXTS.dictionary_encode()
    places = pa.array([0, 0, 1, 1, 2, 3, 2], pa.int32())
    dense = pa.UnionArray.from_dense(CODES, places, [NUMBERS[:4], TEXTS[:3]])
    pairs = pa.array([[1, 2], None] * 3 + [[3, 4]], pa.list_(pa.int32(), 2))
    return {
        **{str(kind): NUMBERS.cast(kind) for kind in numbers},
        **{str(kind): TEXTS.cast(kind) for kind in texts},
        **{str(kind): pa.array([Decimal("1.20"), None] * 3 + [None], kind) for kind in decimals},
        **{str(kind): pa.array(LISTS, kind) for kind in lists},
        "half float": pa.array(np.arange(ROWS, dtype=np.float16)),
        "truth": pa.array([True, None, False, True, True, False, None]),
        "null": pa.nulls(ROWS),
        "date": pa.array([10**7, None, 0, 1, 2, 3, -(10**7)], pa.int32()).cast(pa.date32()),
        "fixed size binary": pa.array([b"abc", None] * 3 + [b"xyz"], pa.binary(3)),
        "fixed size list": pairs,
        "interval": intervals,
        "struct": pa.array([{"a": 1, "b": "x"}, None] * 3 + [{"a": None, "b": "y"}]),
        "map": pa.array([[("a", 1)], None] * 3 + [[("b", None)]], pa.map_(pa.string(), pa.int64())),
        "dictionary": coded,
        "list of dictionary": pa.ListArray.from_arrays(ONE_EACH, coded),
        "run-end encoded": pc.run_end_encode(pa.array(["a", "a", None, "b", "b", "b", "c"])),
        "sparse union": pa.UnionArray.from_sparse(CODES, [NUMBERS, TEXTS]),
        "dense union": dense,
        "list of union": pa.ListArray.from_arrays(ONE_EACH, dense),
        "struct of interval": pa.StructArray.from_arrays([intervals], ["m"]),
        "uuid": pa.array([bytes([row] * 16) for row in range(ROWS)], pa.uuid()),
        "json": pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}", None] * 3 + ["[]"])),
        "bool8": pa.ExtensionArray.from_storage(pa.bool8(), CODES),
        "opaque": pa.ExtensionArray.from_storage(pa.opaque(pa.int64(), "t", "v"), NUMBERS),
        "tensor": pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.int32(), [2]), pairs),
    }


def twice_coded():
    """Return a dictionary of a dictionary, which pyarrow cannot put together with another."""
    places = pa.array([0, 1, 2, 0, 1, 2, None], pa.int8())
    return pa.DictionaryArray.from_arrays(places, TEXTS.dictionary_encode())


def as_file(table, *, stream=False):
    file = io.BytesIO()
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(file, table.schema) as writer:
        writer.write_table(table)
    return file.getvalue()


def with_interval(table, unit):
    """Return an Arrow stream whose column "c" of intervals has a unit that pyarrow cannot make."""
    data = as_file(table, stream=True)
    for place in (place for place, byte in enumerate(data) if byte == 2):  # MONTH_DAY_NANO
        changed = data[:place] + bytes([unit]) + data[place + 1 :]
        try:
            if "month_day" not in str(pa.ipc.open_stream(changed).schema.field("c").type):
                return changed
        except (pa.ArrowException, OSError):
            continue
    raise ValueError("there is no such place")
