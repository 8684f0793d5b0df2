"""Things on their way to another host: sealed at home, sent in chunks, opened there.

Large arrays in them lie beside the pickled rest, so that whoever opens a parcel that is a mapped
file has them where they are, not copied. What is lasting is left out, and named by a key: that of
an array which is a file is the checksum of its content, so that it cannot be taken for another.
"""

import io
import pickle
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt

from cfl_cli.core.portable import Lasting
from cfl_cli.core.quick import dataclass
from cfl_cli.engines.maps import Mapped, plain_view, reference_to

CHUNK = 16 << 20  # bytes that travel at once
LARGE = 1 << 16  # bytes of an array that lies beside the rest
ALIGNED = 64  # where each such array begins


@dataclass(frozen=True)
class Sealed:
    """Something as bytes, and what they leave out."""

    sizes: list[int]  # of the pickled part, and of each array beside it
    parts: list[memoryview]
    lasting: dict[str, Lasting]

    def chunks(self) -> Iterator[tuple[int, bytes]]:
        """Yield all bytes, in chunks, and where each begins."""
        for begin, part in zip(starts(self.sizes), self.parts, strict=True):
            for at in range(0, len(part), CHUNK):
                yield begin + at, bytes(part[at : at + CHUNK])


def seal(thing: Any, keys: dict[Any, str] | None = None) -> Sealed:
    """Return something as bytes; what is lasting is left out.

    `keys` gets those of arrays that are files, which must not change while it is used; None: such
    arrays travel too.
    """
    target, found = io.BytesIO(), Sealed([], [], {})
    _Pickler(target, found, keys).dump(thing)
    found.parts.insert(0, target.getbuffer())
    found.sizes.extend(len(part) for part in found.parts)
    return found


class _Pickler(pickle.Pickler):
    """Leaves out what is lasting, and lays large arrays beside the rest."""

    def __init__(self, target: io.BytesIO, found: Sealed, keys: dict[Any, str] | None) -> None:
        super().__init__(target, protocol=5, buffer_callback=self._is_small)
        self.found, self.keys = found, keys

    def _is_small(self, buffer: pickle.PickleBuffer) -> bool:
        content = buffer.raw()
        if len(content) < LARGE:
            return True
        self.found.parts.append(content)
        return False

    def persistent_id(self, thing: Any) -> str | None:
        if isinstance(thing, np.ndarray) and self.keys is not None and thing.nbytes >= LARGE:
            thing = _lasting(thing, self.keys)
        if not isinstance(thing, Lasting):
            return None
        self.found.lasting[thing.key] = thing
        return thing.key

    def reducer_override(self, thing: Any) -> Any:
        return plain_view(thing).__reduce_ex__(5) if isinstance(thing, Mapped) else NotImplemented


def _lasting(array: npt.NDArray[Any], keys: dict[Any, str]) -> Lasting | None:
    """Return an array that is a file as something lasting."""
    reference = reference_to(array)
    if reference is None or not array.flags.c_contiguous:
        return None
    plain, place = array.view(np.ndarray), reference[1]
    if place not in keys:
        content = sha256(f"{plain.dtype.str} {plain.shape} ".encode())
        content.update(plain.reshape(-1).view(np.uint8).data)
        keys[place] = content.hexdigest()
    return Lasting(lambda: plain, keys[place])


class _Unpickler(pickle.Unpickler):
    def __init__(
        self, head: memoryview, parts: list[memoryview], find: Callable[[str], Any]
    ) -> None:
        super().__init__(io.BytesIO(head), buffers=parts)
        self.find = find

    def persistent_load(self, key: str) -> Any:
        return self.find(key)


def open_sealed(content: Any, sizes: list[int], find: Callable[[str], Any]) -> Any:
    """Return what was sealed; only for bytes of a run's own processes."""
    view = memoryview(content).toreadonly()
    places = zip(starts(sizes), sizes, strict=True)
    head, *parts = (view[begin : begin + size] for begin, size in places)
    return _Unpickler(head, parts, find).load()


def starts(sizes: list[int]) -> list[int]:
    """Return where parts of these sizes begin."""
    found, at = [], 0
    for size in sizes:
        found.append(at)
        at += -(-size // ALIGNED) * ALIGNED
    return found


def total(sizes: list[int]) -> int:
    """Return how many bytes parts of these sizes take."""
    return starts(sizes)[-1] + sizes[-1]
