"""What a model file holds: the schema, the settings, what was fitted, and the report.

    header        format, versions of cfl and of what it was made with, method, and whether there
                  are features and confidences of fitted rows in it
    text/schema   the schema as it was read
    text/report   the report, JSON
    text/facts    JSON: settings, the encoding, facts of what was fitted, more
    fitted/…      arrays of what was fitted; `fitted/graph/points` is `points` of its part `graph`

There is no date, path, user or host in it. What is read here is well-formed; whether it makes sense
is for those to say who know what it means: they raise StateError, and `checking` makes a line of it
that names the file.
"""

import hashlib
import json
import mmap
import os
import re
import stat
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from math import isfinite, prod
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from cfl_cli import __version__, methods
from cfl_cli.core.messages import command, printable, quote, shortened
from cfl_cli.core.settings import METHODS
from cfl_cli.core.state import DEEPEST as DEEPEST_STATE
from cfl_cli.core.state import KINDS, NAME, State, StateError
from cfl_cli.errors import DataError, Problem, ResourceError, unreadable
from cfl_cli.tables.files import Staging
from cfl_cli.tables.formats import not_a_model

if TYPE_CHECKING:
    from cfl_cli.methods.interface import Fitted, Layout

# Arrays and facts ↔ a file that is safe to open: raw numbers and JSON, with a checksum over all.
#
#     8 bytes      n, the length of the header, little-endian; 8 + n is a multiple of 64
#     n bytes      JSON: {"__metadata__": {"cfl": JSON text of the facts}, name: type, shape, place …}
#     arrays       64-bit ones first, then 32-bit ones, then bytes; by name; little-endian, in C order
#     last array   "~sha256": of every byte before it
#
# That is a safetensors file, so other tools can look inside. Equal content is equal bytes. The
# checksum shows accidents; whoever means harm computes it anew, so whatever comes from a file is
# checked as if there were none.
#
# It is not read by the safetensors library: that accepts 117 of 299 damaged files (this module none),
# and needs 636 MB where this one maps 31.

# Facts ↔ JSON text, strictly: equal facts are equal texts, and a text of others is read warily.
#
# What Python's reader lets pass is refused: a key that comes twice, NaN and infinity, numbers beyond
# 64 bits, halves of characters, and what would take far more memory than its text.

DEEPEST = 24  # lists and mappings within each other
MOST_VALUES = 200_000  # in one text: an empty mapping takes 30 times the memory of its two signs
_LARGEST = 2**63
HALF = re.compile(r"\\u[dD]")  # how half a character may be written


def text_of(facts: Mapping[str, Any]) -> str:
    """Return the one text of these facts, in ASCII; floats survive to the bit."""
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False)


def facts_of(text: str, *, ours: bool = True) -> dict[str, Any]:
    """Return the facts, or raise ValueError in a line without any of the text.

    `ours`: it must be the one text that these facts have.
    """
    if sum(map(text.count, ",[{")) > MOST_VALUES:
        raise ValueError(f"JSON of more than {MOST_VALUES:,} values")
    try:
        facts = _DECODER.decode(text)
    except json.JSONDecodeError:
        raise ValueError("invalid JSON") from None
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None
    if not isinstance(facts, dict):
        raise ValueError("JSON that is not a mapping")
    halves = HALF.search(text) is not None
    level: list[Any] = [facts]
    for _ in range(DEEPEST):
        children: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                children += (*value, *value.values())
            elif isinstance(value, list):
                children += value
            elif halves and isinstance(value, str):
                try:
                    value.encode()
                except UnicodeEncodeError:
                    raise ValueError("JSON with half a character") from None
        level = children
    if level:
        raise ValueError("JSON that is nested too deeply")
    if ours and text_of(facts) != text:
        raise ValueError("JSON that is not as cfl writes it")
    return facts


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("JSON with a duplicate key")
    return made


def _whole(digits: str) -> int:
    if len(digits) > 20 or not -_LARGEST <= (number := int(digits)) < _LARGEST:
        raise ValueError("JSON with a number beyond 64 bits")
    return number


def _finite(digits: str) -> float:
    if not isfinite(number := float(digits)):
        raise ValueError("JSON with a number that is not finite")
    return number


_DECODER = json.JSONDecoder(
    object_pairs_hook=_mapping, parse_int=_whole, parse_float=_finite, parse_constant=_finite
)


# The header of a model file: facts, and arrays' types, shapes and places ↔ bytes.
#
#     {"__metadata__": {"cfl": JSON text of the facts},
#      name: {"dtype": type, "shape": lengths, "data_offsets": first and last byte + 1}, …}
#
# Equal facts and arrays have one header, so a header is accepted only if it is to the byte what would
# be written for what it says: whatever else it could hold is refused without being looked for.

Spec: TypeAlias = tuple[str, tuple[int, ...]]  # of an array: its type and shape

_FORMAT = 1
TYPES = dict(zip(("F64", "F32", "I64", "I32", "U8"), KINDS, strict=True))
CHECKSUM = "~sha256"
DIGEST = 32  # bytes of it
ALIGNED = 64
LONGEST_HEADER = 4 << 20
MOST_AXES = 4
_NAMES = re.compile(rf"{NAME}(/{NAME})*")


def _parsed(header: bytes, size: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the facts of a header and its entries of arrays, or raise ValueError.

    So many bytes must follow it, of which the last are the checksum.
    """
    if not header.isascii():
        raise ValueError("its header is not ASCII")
    entries = facts_of(header.decode("ascii").rstrip(" "))
    metadata = entries.pop("__metadata__", None)
    if not isinstance(metadata, dict) or not isinstance(text := metadata.get("cfl"), str):
        raise ValueError("its header holds no facts")
    facts = facts_of(text)
    match entries.get(CHECKSUM):
        case {"data_offsets": [int(start), int(end)]} if end - start == DIGEST:
            if end != size:
                raise ValueError("it is cut off" if end > size else "it has extra bytes at its end")
        case _:
            raise ValueError("its checksum is not described")
    return facts, entries


def _check_format(facts: Mapping[str, Any], path: Path) -> None:
    """Raise DataError if a newer cfl wrote it; that, too, ends with the checksum of all before."""
    written_by, number = facts.get("written_by"), facts.get("format")
    if not isinstance(written_by, str) or type(number) is not int or number < 1:
        raise ValueError("its header does not say what wrote it")
    if number > _FORMAT:
        writer = shortened(printable(written_by))
        raise DataError(
            Problem(
                "model-newer-format",
                "{file}: written by cfl {writer} in format {number}; this cfl {version} reads "
                "format {format}: {remedy}",
                file=str(path),
                writer=writer,
                number=number,
                version=__version__,
                format=_FORMAT,
                remedy="update cfl",
            )
        )


def array_specs(
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
    if not _NAMES.fullmatch(name):
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
    sizes = {name: np.dtype(TYPES[code]).itemsize for name, (code, _) in specs.items()}
    places, end = {}, 0
    for name in sorted(specs, key=lambda name: (-sizes[name], name)):
        start, end = end, end + sizes[name] * prod(specs[name][1])
        places[name] = start, end
    places[CHECKSUM] = end, end + DIGEST
    return places


_Array: TypeAlias = npt.NDArray[Any]

CODES = {kind: code for code, kind in TYPES.items()}
BEGINNING = b'{"__metadata__":{"cfl":"'
PIECE = 1 << 20  # bytes read at once; arrays of fewer are copied, others mapped
OTHERS = {
    b"PK\x03\x04": "a ZIP or NPZ file",
    b"PK\x05\x06": "a ZIP file",
    b"\x93NUMPY": "a NumPy file",
    b"\x80": "a pickle",
    b"PAR1": "a Parquet table",
    b"ARROW1": "an Arrow table",
    b"\x1f\x8b": "a gzip file",
    b"tree\n": "the text of a LightGBM model",
}


@dataclass(frozen=True, eq=False)
class SafeFile:
    """What a file holds; large arrays are views of the file itself, and none can be written to."""

    path: Path
    facts: Mapping[str, Any]  # beside those of the layout
    arrays: Mapping[str, _Array]
    version: str  # of the cfl that wrote it
    checksum: str  # of all content, hexadecimal
    source: "_Source"

    def check_unchanged(self) -> None:
        if self.source.now() != self.source.opened:
            text = "{file}: the file changed while it was in use: {remedy}"
            problem = Problem(
                "model-changed", text, file=str(self.path), remedy="run the command again"
            )
            raise DataError(problem)


def _close(handle: int) -> None:
    with suppress(OSError):  # nothing was written to it
        os.close(handle)


class _Source:
    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.close = weakref.finalize(self, _close, handle)
        self.opened = self.now()

    def now(self) -> tuple[int, ...]:
        found = os.fstat(self.handle)
        return found.st_size, found.st_mtime_ns

    def read(self, start: int, length: int) -> bytes:
        pieces = []
        while length > 0 and (piece := os.pread(self.handle, min(length, PIECE), start)):
            pieces.append(piece)
            start += len(piece)
            length -= len(piece)
        return b"".join(pieces)

    def digest(self, end: int) -> bytes:
        made = hashlib.sha256()
        for start in range(0, end, PIECE):
            made.update(self.read(start, min(PIECE, end - start)))
        return made.digest()


def write(file: IO[bytes], facts: Mapping[str, Any], arrays: Mapping[str, _Array]) -> str:
    plain = {name: _plain(name, array) for name, array in arrays.items()}
    specs = {name: (CODES[array.dtype.str], array.shape) for name, array in plain.items()}
    facts = {**facts, "format": _FORMAT, "written_by": __version__}
    header = header_of(facts, specs)
    if len(header) > LONGEST_HEADER:
        raise StateError(f"{len(plain):,} arrays are too many for one file")
    made = hashlib.sha256()
    places = places_of(specs)
    del places[CHECKSUM]
    raw = (plain[name].reshape(-1).view(np.uint8).data for name in places)
    for piece in (memoryview(header), *raw):
        made.update(piece)
        file.write(piece)
    file.write(made.digest())
    return made.hexdigest()


def read(path: Path) -> SafeFile:
    """Open a file that `write` wrote, or raise DataError in one line."""
    try:
        return read_open(_open(path), path)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise unreadable(path, error) from error


def _open(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a FIFO would wait otherwise


def read_open(handle: int, path: Path) -> SafeFile:
    """Read an open file, which is closed when nothing of the result is in use any more."""
    source = _Source(handle)
    try:
        return _opened(source, path)
    except BaseException:
        source.close()
        raise


def _opened(source: _Source, path: Path) -> SafeFile:
    mode = os.fstat(source.handle).st_mode
    if not stat.S_ISREG(mode):
        foreign(path, "it is a directory" if stat.S_ISDIR(mode) else "it is a pipe or a device")
    start = source.read(0, 8 + len(BEGINNING))
    if start[8:] != BEGINNING:
        signs = (kind for sign, kind in OTHERS.items() if start.startswith(sign))
        kind = next(signs, None) if start else "it is empty"
        if kind is None and start[8:9] == b"{":
            kind = "a safetensors file of another program"
        if kind is not None or (what := not_a_model(path)) is None:
            foreign(path, kind or "it does not begin like a model")
        text, by = "{file}: this is {what}, not a model: pass what {remedy} wrote", command("fit")
        raise DataError(Problem("model-other-file", text, file=str(path), what=what, remedy=by))
    length, size = int.from_bytes(start[:8], "little"), source.opened[0]
    if (8 + length) % ALIGNED or length > LONGEST_HEADER:
        damaged(path, "its header has no valid length")
    if 8 + length + DIGEST > size:
        damaged(path, "it is cut off")
    try:
        header = source.read(8, length)
        facts, entries = _parsed(header, size - 8 - length)  # before all of it is read
        if source.digest(size - DIGEST) != (checksum := source.read(size - DIGEST, DIGEST)):
            damaged(path, "its checksum does not match, so it was changed")
        _check_format(facts, path)
        specs = array_specs(facts, entries, header, size)
    except ValueError as error:
        damaged(path, str(error))
    try:
        arrays = _arrays(source, specs, 8 + length)
    except ValueError:
        damaged(path, "it was cut off while it was read")
    version = facts.pop("written_by")
    del facts["format"]
    opened = SafeFile(path, facts, arrays, version, checksum.hex(), source)
    opened.check_unchanged()
    return opened


def is_model(path: Path) -> bool:
    """Return whether a file begins like one that `write` wrote; it may be damaged all the same."""
    try:
        handle = _open(path)
    except (OSError, ValueError):
        return False
    try:
        regular = stat.S_ISREG(os.fstat(handle).st_mode)
        return regular and os.pread(handle, 8 + len(BEGINNING), 0)[8:] == BEGINNING
    finally:
        os.close(handle)


def foreign(path: Path, why: str) -> NoReturn:
    text = "{file}: not a model of cfl ({why})"
    raise DataError(Problem("model-other-file", text, file=str(path), why=why))


def damaged(path: Path, why: str) -> NoReturn:
    text, fix = "{file}: is damaged ({why}): {remedy}", "copy it again, or fit again"
    raise DataError(Problem("model-damaged", text, file=str(path), why=why, remedy=fix))


def _plain(name: str, array: _Array) -> _Array:
    if not _NAMES.fullmatch(name):
        raise StateError(f"an array cannot be called {quote(name)}")
    little = array.dtype.newbyteorder("<") if array.dtype.byteorder != "|" else array.dtype
    if little.str not in CODES or array.ndim > MOST_AXES:
        raise StateError(
            f"array {quote(name)} is {array.dtype.name} with {array.ndim} axes, which no model has"
        )
    return np.asarray(array, dtype=little, order="C")  # not ascontiguousarray: it adds an axis to 0


def _arrays(source: _Source, specs: Mapping[str, Spec], first: int) -> dict[str, _Array]:
    mapped, places, arrays = None, places_of(specs), {}
    for name, (code, shape) in specs.items():
        start, length = first + places[name][0], places[name][1] - places[name][0]
        if length < PIECE:
            flat: _Array = np.frombuffer(source.read(start, length), TYPES[code])
        else:
            mapped = mapped or mmap.mmap(source.handle, source.opened[0], access=mmap.ACCESS_READ)
            flat = np.frombuffer(mapped, TYPES[code], prod(shape), start)
        arrays[name] = flat.reshape(shape)
    return arrays


def differences(opened: SafeFile, arrays: Mapping[str, _Array]) -> Iterator[str]:
    for name in sorted({*opened.arrays, *arrays}):
        there, given = opened.arrays.get(name), arrays.get(name)
        if there is None or given is None:
            yield name
            continue
        plain = _plain(name, given)
        same = there.dtype == plain.dtype and there.shape == plain.shape
        one, other = (array.reshape(-1).view(np.uint8) for array in (there, plain))
        if not same or not all(
            np.array_equal(one[start : start + PIECE], other[start : start + PIECE])
            for start in range(0, len(one), PIECE)
        ):
            yield name


_FITTED = "fitted"
TEXTS = ("schema", "report", "facts")
LONGEST_TEXT = 4 << 20  # bytes; read as JSON they may take 15 times that
_HEADER = {"method", "versions", "keeps_rows"}
FACTS = {"settings", "encoding", "fitted", "more"}


@dataclass(frozen=True, eq=False)
class Content:
    method: str
    settings: Mapping[str, Any]  # as `asdict` gives them
    schema: str  # its text
    encoding: Mapping[str, Any]  # facts of what encodes new rows
    fitted: State
    report: str  # its JSON text
    more: Mapping[str, Any] = field(default_factory=dict)  # further facts
    versions: Mapping[str, str] = field(default_factory=dict)  # what it was made with, by name
    file: SafeFile | None = None  # that it was read from

    @property
    def checksum(self) -> str:
        """The checksum of the file that it was read from, or that it will have, hexadecimal."""
        if self.file:
            return self.file.checksum
        with Path(os.devnull).open("wb") as nowhere:
            return write(nowhere, self._header(), self._arrays())

    def write(self, path: Path, *, overwrite: bool = False) -> str:
        """Write the file, whole or not at all, and return its checksum, hexadecimal.

        It is read back and compared before it takes its place.
        """
        try:
            facts, arrays = self._header(), self._arrays()
            with Staging(overwrite=overwrite) as staging:
                staged = staging.begin(path)
                with staged.guarded():
                    checksum = write(staged.file, facts, arrays)
                    staged.file.flush()
                    handle = staged.raw.handle
                    os.fsync(handle)
                    there = read_open(os.dup(handle), path)
                    Content.of(there)  # raises if it could not be read
                    wrong = [*differences(there, arrays)]
                    if there.checksum != checksum or wrong:
                        raise StateError("it reads back differently")
                    staged.finish()
        except ValueError as error:  # a StateError, too
            text = "{file}: cannot be written: {why}"
            problem = Problem("model-not-writable", text, file=str(path), why=str(error))
            raise ResourceError(problem) from error
        return checksum

    @staticmethod
    def read(path: Path) -> "Content":
        return Content.of(read(path))

    def restore(self, layout: "Layout") -> "Fitted":
        """Return what was fitted, or raise DataError if that cannot be for such a table."""
        with self.checking():
            made = methods.restore(self.method, self.fitted, layout)
            self.fitted.refuse_surplus()
        return made

    @contextmanager
    def checking(self) -> Iterator[None]:
        """Turn a StateError into the DataError of a damaged file."""
        try:
            yield
        except StateError as error:
            if self.file is None:
                raise
            damaged(self.file.path, str(error))

    def _header(self) -> dict[str, Any]:
        traits, versions = METHODS[self.method], dict(self.versions)
        if not versions:  # it is written first now
            names = {"numpy", *([traits.package] if traits.package else [])}
            versions = {"cfl": __version__} | {name: _version(name) for name in names}
        return {"method": self.method, "keeps_rows": traits.keeps_rows, "versions": versions}

    def _arrays(self) -> dict[str, _Array]:
        arrays, fitted = _flat(self.fitted, _FITTED)
        facts = {
            "settings": dict(self.settings),
            "encoding": dict(self.encoding),
            "fitted": fitted,
            "more": dict(self.more),
        }
        texts = {"schema": self.schema, "report": self.report, "facts": text_of(facts)}
        facts_of(texts["facts"])  # raises if it could not be read
        facts_of(texts["report"], ours=False)
        for name, text in texts.items():
            data = text.encode()
            if len(data) > LONGEST_TEXT:
                limit = LONGEST_TEXT >> 20
                raise StateError(f"its {name} would take more than {limit} MB: list fewer values")
            arrays[f"text/{name}"] = np.frombuffer(data, np.uint8)
        return arrays

    @staticmethod
    def of(opened: SafeFile) -> "Content":
        try:
            return _content(opened)
        except ValueError as error:  # a StateError, too
            damaged(opened.path, str(error))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _content(opened: SafeFile) -> Content:
    arrays = dict(opened.arrays)
    texts = {name: _text(name, arrays.pop(f"text/{name}", None)) for name in TEXTS}
    facts = facts_of(texts["facts"])
    facts_of(texts["report"], ours=False)
    header = opened.facts
    for title, given, keys in (("its header", header, _HEADER), ("its facts", facts, FACTS)):
        for name in sorted(keys ^ given.keys()):
            what = "lacks" if name in keys else "has surplus"
            raise StateError(f"{title} {what} {quote(name)}")
    method, versions = header["method"], header["versions"]
    if not (isinstance(method, str) and method in METHODS and METHODS[method].learns):
        raise StateError("it names a method that this cfl does not have")
    if header["keeps_rows"] is not METHODS[method].keeps_rows:
        raise StateError("it does not say whether it keeps fitted rows")
    if not isinstance(versions, dict) or not all(isinstance(one, str) for one in versions.values()):
        raise StateError("it does not name the versions that made it")
    mappings = {name: facts[name] for name in ("settings", "encoding", "more")}
    if wrong := [name for name, value in mappings.items() if not isinstance(value, dict)]:
        raise StateError(f"its {wrong[0]} are not a mapping")
    by_path: dict[str, dict[str, _Array]] = {}
    for path, array in arrays.items():
        parent, _, name = path.rpartition("/")
        by_path.setdefault(parent, {})[name] = array
    fitted = _branch(facts["fitted"], _FITTED, by_path, 1)
    for path, named in sorted(by_path.items()):
        raise StateError(f"array {quote(f'{path}/{min(named)}')} is not known")
    return Content(
        method=method,
        schema=texts["schema"],
        report=texts["report"],
        fitted=fitted,
        versions=versions,
        file=opened,
        **mappings,
    )


def _text(name: str, array: _Array | None) -> str:
    if array is None or array.dtype != np.uint8 or array.ndim != 1:
        raise StateError(f"its {name} is missing")
    if len(array) > LONGEST_TEXT:
        raise StateError(f"its {name} is too long")
    try:
        return array.tobytes().decode()
    except UnicodeDecodeError:
        raise StateError(f"its {name} is not UTF-8") from None


def _flat(state: State, path: str, depth: int = 1) -> tuple[dict[str, _Array], dict[str, Any]]:
    _check_parts(state.parts, depth)
    arrays = {f"{path}/{name}": array for name, array in state.arrays.items()}
    parts = {}
    for name, part in state.parts.items():
        further, parts[name] = _flat(part, f"{path}/{name}", depth + 1)
        arrays |= further
    return arrays, {"facts": dict(state.facts), "parts": parts}


def _branch(facts: object, path: str, by_path: dict[str, dict[str, _Array]], depth: int) -> State:
    match facts:
        case {"facts": dict(own), "parts": dict(parts), **others} if not others:
            pass
        case _:
            raise StateError("the facts of the fitted method do not form a valid tree")
    _check_parts(parts, depth)
    made = {name: _branch(one, f"{path}/{name}", by_path, depth + 1) for name, one in parts.items()}
    return State(by_path.pop(path, {}), own, made)


def _check_parts(names: Iterable[str], depth: int) -> None:
    if depth > DEEPEST_STATE:
        raise StateError(f"more than {DEEPEST_STATE} parts within each other")
    for name in names:
        if not re.fullmatch(NAME, name):
            raise StateError(f"a part cannot be called {quote(name)}")
