"""What polars can take of Arrow's types, without importing pyarrow before there is such a table."""

from typing import Any

FIRST_DAY, LAST_DAY = -719162, 2932896  # of the years 1 and 9999, counted from 1970


def has_text(kind: Any) -> bool:
    """Return whether pyarrow writes an Arrow type that polars lacks as a reader would."""
    from pyarrow import types  # noqa: PLC0415 — it is there if a table of it is

    return bool(types.is_decimal(kind) or types.is_date(kind) or types.is_timestamp(kind))


def in_calendar(column: Any) -> bool:
    """Return whether dates and moments lie in the years 1 to 9999; polars panics at others."""
    from pyarrow import types  # noqa: PLC0415 — it is there if a table of it is

    kind = column.type
    if not (types.is_date(kind) or types.is_timestamp(kind)):
        return True
    from pyarrow import compute  # noqa: PLC0415 — loads slowly, and few columns need it

    unit = {"day": 1, "s": 86400, "ms": 86400e3, "us": 86400e6, "ns": 86400e9}
    days = unit["day" if types.is_date32(kind) else "ms" if types.is_date64(kind) else kind.unit]
    numbers = column.cast("int32" if types.is_date32(kind) else "int64")
    extremes = compute.min_max(numbers).as_py()
    return all(
        number is None or FIRST_DAY <= number / days < LAST_DAY + 1 for number in extremes.values()
    )


def shared(kind: Any) -> bool:
    """Return whether polars, which panics at the others, has this Arrow type."""
    from pyarrow import types  # noqa: PLC0415 — it is there if a table of it is

    inner = [kind.field(number).type for number in range(kind.num_fields)]
    if types.is_dictionary(kind):
        inner = [kind.value_type]
    if types.is_interval(kind) or (types.is_dictionary(kind) and types.is_dictionary(inner[0])):
        return False
    simple = (
        types.is_primitive,  # numbers, truth values, dates, times
        types.is_null,
        types.is_string,
        types.is_large_string,
        types.is_string_view,
        types.is_binary,
        types.is_large_binary,
        types.is_binary_view,
        types.is_fixed_size_binary,
        types.is_decimal128,
        types.is_dictionary,
        types.is_list,
        types.is_large_list,
        types.is_fixed_size_list,
        types.is_struct,
        types.is_map,
    )
    return any(is_one(kind) for is_one in simple) and all(shared(one) for one in inner)
