"""The header of a model file: facts, and arrays' types, shapes and places ↔ bytes.

    {"__metadata__": {"cfl": JSON text of the facts},
     name: {"dtype": type, "shape": lengths, "data_offsets": first and last byte + 1}, …}

Equal facts and arrays have one header, so a header is accepted only if it is to the byte what would
be written for what it says: whatever else it could hold is refused without being looked for.
"""

import re
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from cfl_cli import __version__
from cfl_cli.core.messages import printable, quote, shortened
from cfl_cli.core.state import KINDS, NAME
from cfl_cli.errors import DataError
from cfl_cli.models.json_text import facts_of, text_of

Spec: TypeAlias = tuple[str, tuple[int, ...]]  # of an array: its type and shape

FORMAT = 1
TYPES = dict(zip(("F64", "F32", "I64", "I32", "U8"), KINDS, strict=True))
CHECKSUM = "~sha256"
DIGEST = 32  # bytes of it
ALIGNED = 64
LONGEST_HEADER = 4 << 20
MOST_AXES = 4
NAMES = re.compile(rf"{NAME}(/{NAME})*")


def parsed(header: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the facts of a header and its entries of arrays, or raise ValueError."""
    if not header.isascii():
        raise ValueError("its header is not ASCII")
    entries = facts_of(header.decode("ascii").rstrip(" "))
    metadata = entries.pop("__metadata__", None)
    if not isinstance(metadata, dict) or not isinstance(text := metadata.get("cfl"), str):
        raise ValueError("its header holds no facts")  # noqa: TRY004 — as all that is wrong here
    return facts_of(text), entries


def check_size(entries: Mapping[str, Any], size: int) -> None:
    """Raise ValueError unless the checksum is the last of so many bytes."""
    match entries.get(CHECKSUM):
        case {"data_offsets": [int(start), int(end)]} if end - start == DIGEST:
            if end != size:
                raise ValueError("it is cut off" if end > size else "there is more behind its end")
        case _:
            raise ValueError("its checksum is not described")


def check_format(facts: Mapping[str, Any], path: Path) -> None:
    """Raise DataError if a newer cfl wrote it; that, too, ends with the checksum of all before."""
    written_by, number = facts.get("written_by"), facts.get("format")
    if not isinstance(written_by, str) or type(number) is not int or number < 1:
        raise ValueError("its header does not say what wrote it")
    if number > FORMAT:
        writer = shortened(printable(written_by))
        raise DataError(
            f"{path}: written by cfl {writer} in format {number}; this cfl {__version__} reads "
            f"format {FORMAT}: update cfl"
        )


def described(
    facts: dict[str, Any], entries: dict[str, Any], header: bytes, size: int
) -> dict[str, Spec]:
    """Return the arrays' types and shapes, or raise ValueError; take their list from the facts."""
    arrays = {name: entry for name, entry in entries.items() if name != CHECKSUM}
    specs = {name: _spec(name, entry, size) for name, entry in arrays.items()}
    listed = facts.pop("arrays", None)
    if listed != _listed(specs) or header_of(facts, specs)[8:] != header:
        raise ValueError("its arrays are not described as cfl does")
    return specs


def _spec(name: str, entry: object, size: int) -> Spec:
    """Return an array's type and shape, or raise ValueError."""
    if not NAMES.fullmatch(name):
        raise ValueError(f"an array is called {quote(name)}")
    match entry:
        case {"dtype": str(code), "shape": list(shape)} if code in TYPES:
            pass
        case _:
            raise ValueError(f"array {quote(name)} has no type and shape that cfl writes")
    if len(shape) > MOST_AXES or not all(type(n) is int and 0 <= n <= size for n in shape):
        raise ValueError(f"array {quote(name)} has a shape that it cannot have")
    return code, tuple(shape)


def header_of(facts: Mapping[str, Any], specs: Mapping[str, Spec]) -> bytes:
    """Return the one header that these facts and arrays have, with its length before it."""
    text = text_of({**facts, "arrays": _listed(specs)})
    entries: dict[str, Any] = {"__metadata__": {"cfl": text}}
    for name, place in places_of(specs).items():
        code, shape = specs.get(name, ("U8", (DIGEST,)))
        entries[name] = {"dtype": code, "shape": list(shape), "data_offsets": list(place)}
    header = text_of(entries).encode("ascii")
    header += b" " * (-(8 + len(header)) % ALIGNED)
    return len(header).to_bytes(8, "little") + header


def _listed(specs: Mapping[str, Spec]) -> dict[str, list[Any]]:
    return {name: [code, list(shape)] for name, (code, shape) in specs.items()}


def places_of(specs: Mapping[str, Spec]) -> dict[str, tuple[int, int]]:
    """Return where each array begins and ends behind the header, the checksum at last."""
    places, end = {}, 0
    for name in in_order(specs):
        start, end = end, end + length_of(specs[name])
        places[name] = start, end
    places[CHECKSUM] = end, end + DIGEST
    return places


def in_order(specs: Mapping[str, Spec]) -> list[str]:
    """Return the names of the arrays as they follow each other."""
    return sorted(specs, key=lambda name: (-np.dtype(TYPES[specs[name][0]]).itemsize, name))


def length_of(spec: Spec) -> int:
    """Return how many bytes an array has."""
    code, shape = spec
    return np.dtype(TYPES[code]).itemsize * prod(shape)
