"""gzip and Zstandard around a whole file."""

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

from cfl_cli.errors import DataError, ResourceError
from cfl_cli.tables.formats import Packing

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CHUNK = 1 << 18
MAGIC: dict[Packing, bytes] = {"gz": b"\x1f\x8b", "zst": b"\x28\xb5\x2f\xfd"}
CHECKED: dict[int, int] = {zstd.CompressionParameter.checksum_flag: 1}  # gzip always has one
NAMES: dict[str, str] = {"gz": "gzip", "zst": "Zstandard"}


def unpack(data: bytes, packing: Packing, *, name: str, limit: int) -> bytes:
    """Return what was packed, or raise if it is damaged or larger than `limit` bytes."""
    chunks, size = [], 0
    for chunk in unpacked(io.BytesIO(data), packing, name=name):
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:
            raise ResourceError(
                f"{name}: unpacks to more than {limit / 1e6:,.0f} MB, too much for the memory of "
                "this machine: unpack it on a larger machine, or split it"
            )
    return b"".join(chunks)


def unpacked(file: IO[bytes], packing: Packing, *, name: str) -> Iterator[bytes]:
    """Yield what was packed, chunk by chunk, and raise where it is damaged."""
    size = 0
    try:
        with gzip.open(file) if packing == "gz" else zstd.open(file) as inner:
            while chunk := inner.read(CHUNK):
                size += len(chunk)
                yield chunk
    except EOFError:
        raise DataError(f"{name}: the {NAMES[packing]} file is cut short") from None
    except (OSError, zlib.error, zstd.ZstdError):
        raise DataError(f"{name}: not a well-formed {NAMES[packing]} file") from None
    if not size and not file.tell():
        raise DataError(f"{name}: not a well-formed {NAMES[packing]} file: it is empty")


def packing_of(data: bytes) -> Packing | None:
    """Return how the bytes are packed, as their beginning shows."""
    return next((packing for packing, magic in MAGIC.items() if data.startswith(magic)), None)


@contextmanager
def packed(file: IO[bytes], packing: Packing | None) -> Iterator[IO[bytes]]:
    """Give a file whose content reaches `file` packed, the same bytes for the same content."""
    if packing is None:
        yield file
        return
    if packing == "gz":
        packer = cast("IO[bytes]", gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0))
    else:
        packer = cast("IO[bytes]", zstd.ZstdFile(file, "wb", options=CHECKED))
    with packer, Even(packer) as inner:
        yield cast("IO[bytes]", inner)


class Even(io.RawIOBase):
    """Passes on what is written in chunks of one size, so that only the content can count."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.held = bytearray()

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> int:
        """Take the bytes, and return how many."""
        view = memoryview(data).cast("B")
        self.held += view
        whole = len(self.held) // CHUNK * CHUNK
        for start in range(0, whole, CHUNK):
            self.file.write(self.held[start : start + CHUNK])
        del self.held[:whole]
        return len(view)

    def close(self) -> None:
        """Pass on the rest."""
        if not self.closed and not self.file.closed:
            self.file.write(self.held)
        super().close()
