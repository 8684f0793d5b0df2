"""Frozen models that cannot be built invalid and report everything that is wrong in plain words.

Pydantic checks, and words its findings for programmers. Here its errors become problems: a code, the
place where the user wrote it, and a sentence with the way out.
"""

import ast
import inspect
import os
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    GetJsonSchemaHandler,
    ValidationError,
)
from pydantic_core import CoreSchema, ErrorDetails, InitErrorDetails, PydanticCustomError

from cfl_cli.core.messages import did_you_mean, lacking, nearest_word, quote, seen, unknown
from cfl_cli.core.settings import as_python
from cfl_cli.errors import Problem, SchemaError
from cfl_cli.schema.yaml_text import Document

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)  # the same, by its public door

Loc: TypeAlias = tuple[int | str, ...]

_EXPECTED = {
    "bool_type": "true or false",
    "dict_type": "a mapping (key: value)",
    "model_attributes_type": "a mapping (key: value)",
    "model_type": "a mapping (key: value)",
    "string_too_short": "at least one character",
    "string_type": "text",
    "tuple_type": "a list such as [a, b]",
}
_ABOUT_A_KEY = frozenset(  # codes of problems with a key, not with its value
    "schema-unknown-key schema-missing-key schema-unknown-setting schema-no-weight "
    "schema-no-column".split()
)


class _Raising(ModelMetaclass):
    def __call__(cls, *args: Any, **entries: Any) -> Any:  # noqa: N805 — of a metaclass
        try:
            return super().__call__(*args, **entries)
        except ValidationError as error:
            # Only `FrozenModel` and its children have this metaclass, which mypy cannot know.
            raise SchemaError(*schema_problems(error, cls)) from None  # type: ignore[arg-type]  # see above


class FrozenModel(BaseModel, metaclass=_Raising):
    """A frozen set of entries, each described by the text below it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    where: ClassVar[str] = ""  # behind "unknown type 'numerc'": " for an ordinary column"

    @classmethod
    def locate(cls, loc: Loc) -> "tuple[Loc, type[FrozenModel]]":
        """Return where the user wrote what pydantic finds at `loc`, and the model it belongs to."""
        return loc, cls

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Return the model's JSON Schema, with the text below each entry.

        Pydantic's `use_attribute_docstrings` would read the source at every import.
        """
        schema = handler(core)
        entries = handler.resolve_ref_schema(schema)["properties"]
        try:
            source = inspect.getsource(cls)
        except OSError:  # installed without its source
            return schema
        (definition,) = ast.parse(source).body
        for entry, below in pairwise(cast("ast.ClassDef", definition).body):
            match entry, below:
                case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                    entries[name]["description"] = " ".join(text.split())
        return schema


def problem(message: str, *loc: int | str, code: str = "schema-value") -> InitErrorDetails:
    """Return a problem at `loc` below what is being validated, for `refuse`."""
    return InitErrorDetails(type=PydanticCustomError(code, message), loc=loc, input=None)


def refuse(problems: Iterable[InitErrorDetails]) -> None:
    if details := list(problems):
        raise ValidationError.from_exception_data("model", details)


def rejection(message: str, *loc: int | str, code: str = "schema-value") -> ValidationError:
    return ValidationError.from_exception_data("model", [problem(message, *loc, code=code)])


def schema_problems(
    error: ValidationError, model: type[FrozenModel], document: Document | None = None
) -> list[Problem]:
    """Return every error that pydantic found in `model` as the user should read it.

    Each has its place in the document or, without one, its path: `columns.age.type`. A key that is
    there under a misspelt name is not reported as missing, too.
    """
    details = error.errors(include_url=False)
    misspelt = {
        (*one["loc"][:-1], near)
        for one in details
        if one["type"] == "extra_forbidden"
        and (near := nearest_word(str(one["loc"][-1]), [*model.locate(one["loc"])[1].model_fields]))
    }
    found = []
    for detail in details:
        if detail["type"] == "missing" and detail["loc"] in misspelt:
            continue
        path, owner = model.locate(detail["loc"])
        path = path[:-1] if detail["type"] == "missing" else path
        code, message = _in_plain_words(detail, owner)
        if document is not None:
            found.append(document.problem(path, code, message, at_key=code in _ABOUT_A_KEY))
            continue
        column = str(path[1]) if path[:1] == ("columns",) and path[1:] else None
        where = ".".join(map(str, path))
        text = "{path}: {what}" if where else "{what}"
        found.append(Problem(code, text, path=where, what=message, column=column))
    return found


def _in_plain_words(detail: ErrorDetails, owner: type[FrozenModel]) -> tuple[str, str]:
    kind, value = detail["type"], detail["input"]
    key = next((part for part in reversed(detail["loc"]) if isinstance(part, str)), "")
    if kind == "extra_forbidden":
        return "schema-unknown-key", unknown("key", key, [*owner.model_fields], where=owner.where)
    if kind == "literal_error":
        return "schema-unknown-word", unknown(key, value, _choices(owner, key), where=owner.where)
    if kind == "missing":
        return "schema-missing-key", lacking(key, _choices(owner, key))
    if kind in _EXPECTED:
        return "schema-type", f"expected {_EXPECTED[kind]}, found {seen(value)}"
    return kind if kind.startswith("schema-") else "schema-value", detail["msg"]


def _choices(model: type[FrozenModel], key: str) -> list[str]:
    def words(annotation: object) -> Iterator[str]:
        for part in get_args(annotation):
            yield from [part] if isinstance(part, str) else words(part)

    return list(words(model.model_fields[key].annotation))


# What Python may give for a schema, or where it has a text: a path, numbers, switches, arrays.
#
# YAML leaves every scalar the text that was written. Python has 0 and True instead, which are spelled
# as tables spell them: `0` and `true`. A float is refused: 1.0 may stand for cells `1` or `1.0`.


def scalar_text(value: object) -> object:
    """Return the text that a scalar stands for; what cannot be one is left for others to refuse."""
    value = as_python(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        what = f"expected text, found the number {value!r}: write it as the cells do"
        raise rejection(f"{what}, such as {quote(f'{value:g}')}")
    return str(value) if isinstance(value, int | str) else value


def as_tuple(value: object) -> object:
    """Return a list, or a column of a table or an array, as a tuple; other things as they are."""
    value = as_python(value)
    listed: Any = getattr(value, "to_list", None) or getattr(value, "tolist", None)
    items = listed() if listed else value
    return tuple(items) if isinstance(items, list | range) else value


def check_there(path: str | os.PathLike[str]) -> None:
    if os.path.exists(path):  # noqa: PTH110 — Path raises at names that no file can have
        return
    name, folder = os.fspath(path), Path(path).parent
    near = did_you_mean(Path(path).name, [one.name for one in folder.glob("*.y*ml")])
    text = "schema: no file {file!r} in {folder}{near}: {remedy}"
    facts = {"folder": str(folder.absolute()), "near": near}
    do = "pass the path of a YAML file, a dict or a Schema"
    raise SchemaError(Problem("schema-no-file", text, file=name, remedy=do, **facts))
