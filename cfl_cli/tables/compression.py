"""gzip and Zstandard around a whole file."""

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, cast

from cfl_cli.errors import DataError, ResourceError
from cfl_cli.tables.formats import Packing

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CHUNK = 1 << 20
MAGIC: dict[Packing, bytes] = {"gz": b"\x1f\x8b", "zst": b"\x28\xb5\x2f\xfd"}
NAMES: dict[str, str] = {"gz": "gzip", "zst": "Zstandard"}


def unpack(data: bytes, packing: Packing, *, name: str, limit: int) -> bytes:
    """Return what was packed, or raise if it is damaged or larger than `limit` bytes."""
    packed = io.BytesIO(data)
    chunks, size = [], 0
    try:
        with gzip.open(packed) if packing == "gz" else zstd.open(packed) as file:
            while chunk := file.read(CHUNK):
                chunks.append(chunk)
                size += len(chunk)
                if size > limit:
                    raise ResourceError(
                        f"{name}: unpacks to more than {limit / 1e6:,.0f} MB, too much for the "
                        "memory of this machine: unpack it on a larger machine, or split it"
                    )
    except EOFError:
        raise DataError(f"{name}: the {NAMES[packing]} file is cut short") from None
    except (OSError, zlib.error, zstd.ZstdError):
        raise DataError(f"{name}: not a well-formed {NAMES[packing]} file") from None
    if not size and not data:
        raise DataError(f"{name}: not a well-formed {NAMES[packing]} file: it is empty")
    return b"".join(chunks)


def packing_of(data: bytes) -> Packing | None:
    """Return how the bytes are packed, as their beginning shows."""
    return next((packing for packing, magic in MAGIC.items() if data.startswith(magic)), None)


@contextmanager
def packed(file: IO[bytes], packing: Packing | None) -> Iterator[IO[bytes]]:
    """Give a file whose content reaches `file` packed, the same bytes for the same content."""
    if packing is None:
        yield file
    elif packing == "gz":
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as inner:
            yield cast("IO[bytes]", inner)
    else:
        with zstd.ZstdFile(file, "wb") as inner:
            yield cast("IO[bytes]", inner)
