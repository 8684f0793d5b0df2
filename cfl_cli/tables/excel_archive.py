"""The parts of a spreadsheet file: XML in a ZIP archive, neither of which is to be trusted."""

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pyexpat import ExpatError, ParserCreate
from typing import Any, NamedTuple, Self, TypeAlias

from cfl_cli.core.quick import dataclass
from cfl_cli.errors import DataError, ResourceError
from cfl_cli.tables.source import roomy

CHUNK = 1 << 16  # bytes parsed at once
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    ExpatError,
    EOFError,
    LookupError,
    NotImplementedError,  # a way of packing that nobody uses
    OSError,
    OverflowError,
    RuntimeError,  # a part that wants a password
    ValueError,
)

Attributes: TypeAlias = dict[str, str]
Start: TypeAlias = Callable[[str, Attributes], None]


class Handlers(NamedTuple):
    """What takes the events of a document."""

    start: Start
    end: Callable[[str], None] | None = None
    text: Callable[[str], None] | None = None


@dataclass(frozen=True)
class Archive:
    """The parts of a file by name."""

    name: str  # what messages call the file
    parts: zipfile.ZipFile
    names: Mapping[str, str]  # as they are, by how they are asked for

    @classmethod
    def of(cls, data: bytes, *, name: str) -> Self:
        """Return the parts in the bytes of a file, or raise if they are too large to be read."""
        parts = zipfile.ZipFile(io.BytesIO(data))
        size = sum(part.file_size for part in parts.infolist())
        if size > roomy():
            raise ResourceError(
                f"{name}: unpacks to {size / 1e6:,.0f} MB, too much for the memory of this "
                "machine: delete what is not needed, or save the sheet as CSV UTF-8"
            )
        return cls(name, parts, {_folded(part): part for part in parts.namelist()})

    def __contains__(self, part: str) -> bool:
        return _folded(part) in self.names

    def size(self, part: str) -> int:
        """Return how many bytes a part has."""
        return self.parts.getinfo(self.names[_folded(part)]).file_size

    def parse(self, part: str, begin: Callable[[str, Attributes], Handlers]) -> None:
        """Go through the XML of a part; `begin` gets its first element and says who takes the rest.

        Names of elements and attributes come as they are written, with their prefixes. No document
        of this kind declares a document type, which is how entities that grow without end come in:
        one that does is refused.
        """
        parser = ParserCreate()
        parser.buffer_text = True
        parser.buffer_size = CHUNK

        def first(element: str, attributes: Attributes) -> None:
            handlers = begin(element, attributes)
            parser.StartElementHandler = handlers.start
            parser.EndElementHandler = handlers.end
            parser.CharacterDataHandler = handlers.text
            handlers.start(element, attributes)

        parser.StartElementHandler = first
        parser.StartDoctypeDeclHandler = _refuse
        with self.parts.open(self.names[_folded(part)]) as file:
            while chunk := file.read(CHUNK):
                parser.Parse(chunk, False)  # noqa: FBT003 — expat's signature
        parser.Parse(b"", True)  # noqa: FBT003 — the same

    def elements(self, part: str, start: Start) -> None:
        """Go through the elements of a part, whose names come without prefixes."""

        def bare(element: str, attributes: Attributes) -> None:
            start(element.rpartition(":")[2], attributes)

        self.parse(part, lambda *_: Handlers(bare))


def _folded(part: str) -> str:
    """Return a part's name as all spell it; some writers differ in case or in slashes."""
    return part.replace("\\", "/").lstrip("/").lower()


def _refuse(*_: Any) -> None:
    raise ValueError("a document type")


@contextmanager
def well_formed(name: str, title: str) -> Iterator[None]:
    """Turn errors that may quote cells of the table into one that does not."""
    try:
        yield
    except MemoryError as error:
        raise ResourceError(
            f"{name}: needs more memory than is available: it is too large, or damaged"
        ) from error
    except DAMAGED as error:
        raise DataError(
            f"{name}: not a well-formed {title} file: copy or export it again"
        ) from error


ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")


def unescaped(text: str) -> str:
    """Return a text of Excel, which spells characters that XML cannot hold as _x000D_."""
    return ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text
