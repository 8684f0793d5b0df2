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

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cfl_cli import __version__, methods
from cfl_cli.core.messages import quote
from cfl_cli.core.settings import METHODS
from cfl_cli.core.state import DEEPEST, NAME, State, StateError
from cfl_cli.errors import Problem, ResourceError
from cfl_cli.models import file
from cfl_cli.models.file import Array, SafeFile, damaged, facts_of, is_model, text_of
from cfl_cli.tables.files import Staging

if TYPE_CHECKING:
    from cfl_cli.methods.interface import Fitted, Layout

__all__ = ["Content", "is_model"]

FITTED = "fitted"
TEXTS = ("schema", "report", "facts")
LONGEST_TEXT = 4 << 20  # bytes; read as JSON they may take 15 times that
HEADER = {"method", "versions", "keeps_rows"}
FACTS = {"settings", "encoding", "fitted", "more"}


@dataclass(frozen=True, eq=False)
class Content:
    """What a model file holds."""

    method: str
    settings: Mapping[str, Any]  # as `Settings.as_dict` gives them
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
        return self.file.checksum if self.file else self.digest()

    def write(self, path: Path, *, overwrite: bool = False) -> str:
        """Write the file, whole or not at all, and return its checksum, hexadecimal.

        It is read back and compared before it takes its place.
        """
        try:
            facts, arrays = self._header(), self._arrays()
            with Staging(overwrite=overwrite) as staging:
                staged = staging.begin(path)
                with staged.guarded():
                    checksum = file.write(staged.file, facts, arrays)
                    staged.file.flush()
                    handle = staged.raw.handle
                    os.fsync(handle)
                    there = file.read_open(os.dup(handle), path)
                    Content._of(there)  # raises if it could not be read
                    wrong = [*file.differences(there, arrays)]
                    if there.checksum != checksum or wrong:
                        raise StateError("it reads back otherwise")
                    staged.finish()
        except ValueError as error:  # a StateError, too
            text = "{file}: cannot be written: {why}"
            problem = Problem("model-not-writable", text, file=str(path), why=str(error))
            raise ResourceError(problem) from error
        return checksum

    def digest(self) -> str:
        """Return the checksum that the file will have."""
        with open(os.devnull, "wb") as nowhere:
            return file.write(nowhere, self._header(), self._arrays())

    @staticmethod
    def read(path: Path) -> "Content":
        """Read a file, or raise DataError in one line; large arrays stay mapped to it."""
        return Content._of(file.read(path))

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

    def _arrays(self) -> dict[str, Array]:
        arrays, fitted = _flat(self.fitted, FITTED)
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
    def _of(opened: SafeFile) -> "Content":
        try:
            return _content(opened)
        except ValueError as error:  # a StateError, too
            damaged(opened.path, str(error))


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version  # slow to load

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
    _check_keys("its header", header, HEADER)
    _check_keys("its facts", facts, FACTS)
    method, versions = header["method"], header["versions"]
    if not (isinstance(method, str) and method in METHODS and METHODS[method].learns):
        raise StateError("it names no method that this cfl has")
    if header["keeps_rows"] is not METHODS[method].keeps_rows:
        raise StateError("it does not say whether it keeps fitted rows")
    if not isinstance(versions, dict) or not all(isinstance(one, str) for one in versions.values()):
        raise StateError("it does not say what it was made with")
    mappings = {name: facts[name] for name in ("settings", "encoding", "more")}
    if wrong := [name for name, value in mappings.items() if not isinstance(value, dict)]:
        raise StateError(f"its {wrong[0]} are no mapping")
    return Content(
        method=method,
        schema=texts["schema"],
        report=texts["report"],
        fitted=_tree(facts["fitted"], arrays),
        versions=versions,
        file=opened,
        **mappings,
    )


def _check_keys(title: str, facts: Mapping[str, Any], keys: set[str]) -> None:
    for name in sorted(keys ^ facts.keys()):
        what = "lacks" if name in keys else "has surplus"
        raise StateError(f"{title} {what} {quote(name)}")


def _text(name: str, array: Array | None) -> str:
    if array is None or array.dtype != np.uint8 or array.ndim != 1:
        raise StateError(f"its {name} is missing")
    if len(array) > LONGEST_TEXT:
        raise StateError(f"its {name} is too long")
    try:
        return array.tobytes().decode()
    except UnicodeDecodeError:
        raise StateError(f"its {name} is not UTF-8") from None


def _flat(state: State, path: str, depth: int = 1) -> tuple[dict[str, Array], dict[str, Any]]:
    _check_parts(state.parts, depth)
    arrays = {f"{path}/{name}": array for name, array in state.arrays.items()}
    parts = {}
    for name, part in state.parts.items():
        further, parts[name] = _flat(part, f"{path}/{name}", depth + 1)
        arrays |= further
    return arrays, {"facts": dict(state.facts), "parts": parts}


def _tree(facts: object, arrays: Mapping[str, Array]) -> State:
    by_path: dict[str, dict[str, Array]] = {}
    for path, array in arrays.items():
        parent, _, name = path.rpartition("/")
        by_path.setdefault(parent, {})[name] = array
    state = _branch(facts, FITTED, by_path, 1)
    for path, named in sorted(by_path.items()):
        raise StateError(f"array {quote(f'{path}/{min(named)}')} is not known")
    return state


def _branch(facts: object, path: str, by_path: dict[str, dict[str, Array]], depth: int) -> State:
    match facts:
        case {"facts": dict(own), "parts": dict(parts), **others} if not others:
            pass
        case _:
            raise StateError("the facts of what was fitted are no such tree")
    _check_parts(parts, depth)
    made = {
        name: _branch(part, f"{path}/{name}", by_path, depth + 1) for name, part in parts.items()
    }
    return State(by_path.pop(path, {}), own, made)


def _check_parts(names: Iterable[str], depth: int) -> None:
    if depth > DEEPEST:
        raise StateError(f"more than {DEEPEST} parts within each other")
    for name in names:
        if not re.fullmatch(NAME, name):
            raise StateError(f"a part cannot be called {quote(name)}")
