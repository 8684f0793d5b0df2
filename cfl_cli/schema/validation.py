"""Frozen models that cannot be built invalid and report everything that is wrong in plain words.

Pydantic checks, and words its findings for programmers. Here its errors become flaws: a path as the
user wrote it, and a sentence with the way out.
"""

import ast
import inspect
import os
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    NamedTuple,
    TypeAlias,
    cast,
    get_args,
)

from pydantic import (
    BaseModel,
    ConfigDict,
    GetJsonSchemaHandler,
    ValidationError,
    ValidatorFunctionWrapHandler,
)
from pydantic_core import CoreSchema, ErrorDetails, InitErrorDetails, PydanticCustomError

from cfl_cli.core.messages import did_you_mean, lacking, nearest, printable, quote, seen, unknown
from cfl_cli.core.settings import plain
from cfl_cli.errors import SchemaError

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)  # the same, by its public door

Loc: TypeAlias = tuple[int | str, ...]

_EXPECTED = {
    "dict_type": "a mapping (key: value)",
    "model_attributes_type": "a mapping (key: value)",
    "model_type": "a mapping (key: value)",
    "string_too_short": "at least one character",
    "string_type": "text",
    "tuple_type": "a list such as [a, b]",
}
_ABOUT_A_KEY = {"extra_forbidden", "missing", "union_tag_not_found", "lacking"}


class Flaw(NamedTuple):
    """What is wrong with the entry at `path`, or with its key."""

    path: Loc
    message: str
    at_key: bool

    def __str__(self) -> str:
        """Return `path.to.entry: message`."""
        path = printable(".".join(map(str, self.path)))
        return f"{path}: {self.message}" if path else self.message


class _Raising(ModelMetaclass):
    """Lets a call of the class raise `SchemaError`; `model_validate` still raises pydantic's."""

    def __call__(cls, *args: Any, **entries: Any) -> Any:  # noqa: N805 — of a metaclass
        try:
            return super().__call__(*args, **entries)
        except ValidationError as error:
            # Only `Model` and its children have this metaclass, which mypy cannot know.
            raise SchemaError(*map(str, flaws(error, cls))) from None  # type: ignore[arg-type]  # see above


class Model(BaseModel, metaclass=_Raising):
    """A frozen set of entries, each described by the text below it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    where: ClassVar[str] = ""  # behind "unknown type 'numerc'": " for an ordinary column"

    @classmethod
    def locate(cls, loc: Loc) -> "tuple[Loc, type[Model]]":
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
        for name, text in _texts_below(cls):
            entries[name]["description"] = text
        return schema


def _texts_below(model: type[Model]) -> Iterator[tuple[str, str]]:
    """Yield the name of every entry that has a text below it, and the text."""
    try:
        source = inspect.getsource(model)
    except OSError:  # installed without its source
        return
    (definition,) = ast.parse(source).body
    for entry, below in pairwise(cast("ast.ClassDef", definition).body):
        match entry, below:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                yield name, " ".join(text.split())


def problem(message: str, *loc: int | str, kind: str = "said") -> InitErrorDetails:
    """Return a problem at `loc` below what is being validated, for `refuse`."""
    return InitErrorDetails(type=PydanticCustomError(kind, message), loc=loc, input=None)


def refuse(problems: Iterable[InitErrorDetails]) -> None:
    """Raise all problems together, if there are any."""
    if details := list(problems):
        raise ValidationError.from_exception_data("model", details)


def refused(message: str, *loc: int | str, kind: str = "said") -> ValidationError:
    """Return one problem as an error to raise."""
    return ValidationError.from_exception_data("model", [problem(message, *loc, kind=kind)])


def validate_and_refuse(
    value: object, validate: ValidatorFunctionWrapHandler, problems: Iterable[InitErrorDetails]
) -> Any:
    """Return the valid value; raise what `validate` finds together with `problems`."""
    try:
        valid = validate(value)
    except ValidationError as error:
        refuse([*map(_again, error.errors()), *problems])
        raise
    refuse(problems)
    return valid


def _again(detail: ErrorDetails) -> InitErrorDetails:
    error = PydanticCustomError(detail["type"], detail["msg"], detail.get("ctx"))
    return InitErrorDetails(type=error, loc=detail["loc"], input=detail["input"])


def flaws(error: ValidationError, model: type[Model]) -> Iterator[Flaw]:
    """Yield every error that pydantic found in `model` as the user should read it.

    A key that is there under a misspelt name is not said to be missing, too.
    """
    details = error.errors(include_url=False)
    misspelt = {
        (*detail["loc"][:-1], near)
        for detail in details
        if detail["type"] == "extra_forbidden"
        and (near := nearest(str(detail["loc"][-1]), [*_owner(detail, model).model_fields]))
    }
    for detail in details:
        path, owner = model.locate(detail["loc"])
        kind = detail["type"]
        if kind == "missing" and detail["loc"] in misspelt:
            continue
        message = _in_plain_words(detail, owner)
        yield Flaw(path[:-1] if kind == "missing" else path, message, kind in _ABOUT_A_KEY)


def _owner(detail: ErrorDetails, model: type[Model]) -> type[Model]:
    """Return the model that an entry belongs to."""
    return model.locate(detail["loc"])[1]


def _in_plain_words(detail: ErrorDetails, owner: type[Model]) -> str:
    """Return what is wrong with an entry of `owner`, and the way out."""
    kind, value = detail["type"], detail["input"]
    key = next((part for part in reversed(detail["loc"]) if isinstance(part, str)), "")
    if kind == "extra_forbidden":
        return unknown("key", key, list(owner.model_fields), where=owner.where)
    if kind == "literal_error":
        return unknown(key, value, _choices(owner, key), where=owner.where)
    if kind == "missing":
        return lacking(key, _choices(owner, key))
    if kind in _EXPECTED:
        expected = _EXPECTED[kind].format_map(detail.get("ctx", {}))
        return f"expected {expected}, found {seen(value)}"
    return detail["msg"]


def _choices(model: type[Model], key: str) -> list[str]:
    """Return the words that an entry's type allows, if it is a `Literal` or an optional one."""

    def words(annotation: object) -> Iterator[str]:
        for part in get_args(annotation):
            yield from [part] if isinstance(part, str) else words(part)

    return list(words(model.model_fields[key].annotation))


# What Python may give for a schema, or where it has a text: a path, numbers, switches, arrays.
#
# YAML leaves every scalar the text that was written. Python has 0 and True instead, which are spelled
# as tables spell them: `0` and `true`. A float is refused: 1.0 may stand for cells `1` or `1.0`.


def as_text(value: object) -> object:
    """Return the text that a scalar stands for; what cannot be one is left for others to refuse."""
    value = plain(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        raise refused(
            f"expected text, found the number {value!r}: write it as the cells do, such as "
            f"{quote(f'{value:g}')}"
        )
    return str(value) if isinstance(value, str) else value


def as_tuple(value: object) -> object:
    """Return a list, or a column of a table or an array, as a tuple; other things as they are."""
    value = plain(value)
    listed: Any = getattr(value, "to_list", None) or getattr(value, "tolist", None)
    items = listed() if listed else value
    return tuple(items) if isinstance(items, list | range) else value


def there(path: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """Return the path of a schema if there is anything, or raise with what is there instead."""
    if os.path.exists(path):  # noqa: PTH110 — Path raises at names that no file can have
        return path
    name, folder = os.fspath(path), Path(path).parent
    near = did_you_mean(Path(path).name, [one.name for one in folder.glob("*.y*ml")])
    raise SchemaError(
        f"schema: no file {quote(name)} in {folder.absolute()}{near}: pass the path of a YAML "
        "file, a dict or a Schema"
    )
