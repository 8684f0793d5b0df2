"""Facts ↔ JSON text, strictly: equal facts are equal texts, and a text of others is read warily.

What Python's reader lets pass is refused: a key that comes twice, NaN and infinity, numbers beyond
64 bits, halves of characters, and what would take far more memory than its text.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

DEEPEST = 24  # lists and mappings within each other
MOST_VALUES = 200_000  # in one text: an empty mapping takes 30 times the memory of its two signs
LARGEST = 2**63
HALF = re.compile(r"\\u[dD]")  # how half a character may be written


def text_of(facts: Mapping[str, Any]) -> str:
    """Return the one text of these facts, in ASCII; floats survive to the bit."""
    return json.dumps(
        facts, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def facts_of(text: str, *, ours: bool = True) -> dict[str, Any]:
    """Return the facts, or raise ValueError in a line without any of the text.

    `ours`: it must be the one text that these facts have.
    """
    if sum(map(text.count, ",[{")) > MOST_VALUES:
        raise ValueError(f"JSON of more than {MOST_VALUES:,} values")
    try:
        facts = _DECODER.decode(text)
    except json.JSONDecodeError:
        raise ValueError("no valid JSON") from None
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None
    if not isinstance(facts, dict):
        raise ValueError("JSON that is no mapping")  # noqa: TRY004 — the one error of this function
    halves = HALF.search(text) is not None
    for value in _walk(facts):
        if halves and isinstance(value, str):
            _check_characters(value)
    if ours and text_of(facts) != text:
        raise ValueError("JSON that is not as cfl writes it")
    return facts


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("JSON with a duplicate key")
    return made


def _whole(digits: str) -> int:
    if len(digits) > 20 or not -LARGEST <= (number := int(digits)) < LARGEST:
        raise ValueError("JSON with a number beyond 64 bits")
    return number


def _finite(digits: str) -> float:
    number = float(digits)
    if number - number != 0:
        return _constant(digits)
    return number


def _constant(name: str) -> float:  # noqa: ARG001 — json passes it
    raise ValueError("JSON with a number that is not finite")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_mapping, parse_int=_whole, parse_float=_finite, parse_constant=_constant
)


def _walk(facts: object) -> Iterator[object]:
    """Yield all values, and the keys; raise if they are too deep."""
    level = [facts]
    for _ in range(DEEPEST):
        level = [child for value in level for child in _children(value)]
        if not level:
            return
        yield from level
    raise ValueError("JSON that is nested too deeply")


def _children(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return (*value, *value.values())
    return value if isinstance(value, list) else ()


def _check_characters(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("JSON with half a character") from None
