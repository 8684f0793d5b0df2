"""Frozen models that cannot be built invalid and tell everything that is wrong in plain words.

Pydantic checks, and words its findings for programmers. Here its errors become flaws: a path as the
user wrote it, and a sentence with the way out.
"""

import ast
import inspect
import operator
import re
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    TypeAlias,
    cast,
    get_args,
)

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    Strict,
    Tag,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, ErrorDetails, InitErrorDetails, PydanticCustomError

from cfl_cli.core.messages import did_you_mean, printable, quote
from cfl_cli.errors import SchemaError

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)  # the same, by its public door

Loc: TypeAlias = tuple[int | str, ...]

_EXPECTED = {
    "bool_type": "true or false",
    "dict_type": "a mapping (key: value)",
    "finite_number": "a finite number",
    "float_type": "a number",
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "at least {ge:g}",
    "int_type": "a whole number",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le:g}",
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
            raise SchemaError(*map(str, flaws(error, cls))) from None  # type: ignore[arg-type]


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


def from_text(convert: Callable[[str], object], pattern: str) -> BeforeValidator:
    """Return a step that types text of one form, and leaves all else to the strict check."""
    form = re.compile(pattern)
    return BeforeValidator(
        lambda value: convert(value) if isinstance(value, str) and form.fullmatch(value) else value
    )


# A file holds text, Python may give the type itself. Pydantic's own reading of text is too kind:
# 1_000, " 20 " and "on" would pass, and so would True for 1.
_Digits = from_text(int, "[-+]?[0-9]{1,4000}")
# NumPy's whole numbers are no `int`, but say that they stand for one; so does a bool, which is one.
_Whole = BeforeValidator(
    lambda value: (
        operator.index(value)
        if hasattr(value, "__index__") and not isinstance(value, bool)
        else value
    )
)
Integer = Annotated[int, Strict(), _Digits, _Whole]
Count = Annotated[int, Strict(), Field(ge=1), _Digits, _Whole]
Number = Annotated[
    float, Strict(), from_text(float, r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
]
Switch = Annotated[bool, Strict(), from_text(lambda text: text[0] in "Tt", "[Tt]rue|[Ff]alse")]

# A number, or `auto`: the error of one that is neither tells of the number, at this place.
_OR_AUTO = "or auto"
_Auto = Annotated[Literal["auto"], Tag("auto")]
_auto_or_number = Discriminator(lambda value: "auto" if value == "auto" else _OR_AUTO)
AutoCount = Annotated[_Auto | Annotated[Count, Tag(_OR_AUTO)], _auto_or_number]
AutoNumber = Annotated[
    _Auto | Annotated[Number, Field(ge=0, allow_inf_nan=False), Tag(_OR_AUTO)], _auto_or_number
]
AutoFolds = Annotated[
    _Auto | Annotated[Integer, Field(ge=0, le=100), Tag(_OR_AUTO)], _auto_or_number
]

_UNITS = {"": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
_UNITS |= {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}


def _bytes(value: object) -> object:
    """Return a size given as text in bytes; leave all else to the strict check."""
    if not isinstance(value, str):
        return value
    found = re.fullmatch("([0-9]+(?:[.][0-9]+)?) ?([a-z]*)", value.lower())
    if found is None or found[2] not in _UNITS:
        said = "expected a size such as 500MB or 2GB, found {found}"
        raise PydanticCustomError("said", said, {"found": seen(value)})
    return int(float(found[1]) * _UNITS[found[2]])


Size = Annotated[
    int,
    Strict(),
    Field(ge=1),
    BeforeValidator(_bytes),
    WithJsonSchema({"type": ["string", "integer"]}),
]
"""A number of bytes, also as `500MB` or `1.5 GiB`."""


def problem(message: str, *loc: int | str, kind: str = "said") -> InitErrorDetails:
    """Return a problem at `loc` below what is being validated, for `refuse`."""
    return InitErrorDetails(type=PydanticCustomError(kind, message), loc=loc, input=None)


def refuse(problems: Iterable[InitErrorDetails]) -> None:
    """Raise all problems together, if there are any."""
    if found := list(problems):
        raise ValidationError.from_exception_data("model", found)


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
    """Yield every error that pydantic found in `model` as the user should read it."""
    for detail in error.errors(include_url=False):
        loc = detail["loc"]
        if loc and loc[-1] == _OR_AUTO:
            detail["loc"] = loc[:-1]
        path, owner = model.locate(detail["loc"])
        kind = detail["type"]
        message = _in_plain_words(detail, owner, " or auto" if detail["loc"] != loc else "")
        yield Flaw(path[:-1] if kind == "missing" else path, message, kind in _ABOUT_A_KEY)


def _in_plain_words(detail: ErrorDetails, owner: type[Model], otherwise: str = "") -> str:
    """Return what is wrong with an entry of `owner`, and the way out."""
    kind, value = detail["type"], detail["input"]
    key = str(detail["loc"][-1]) if detail["loc"] else ""
    if kind == "extra_forbidden":
        return unknown("key", key, list(owner.model_fields), where=owner.where)
    if kind == "literal_error":
        return unknown(key, value, _choices(owner, key), where=owner.where)
    if kind == "missing":
        return lacking(key, _choices(owner, key))
    if kind in _EXPECTED:
        expected = _EXPECTED[kind].format_map(detail.get("ctx", {}))
        return f"expected {expected}{otherwise}, found {seen(value)}"
    return detail["msg"]


def unknown(noun: str, value: object, choices: Sequence[str], *, where: str = "") -> str:
    """Return that `value` is no such noun, and the nearest choice, or all of them."""
    if not isinstance(value, str):
        return f"unknown {noun} {seen(value)}{where}{_either(choices)}"
    return f"unknown {noun} {quote(value)}{where}{did_you_mean(value, choices) or _either(choices)}"


def lacking(key: str, choices: Sequence[str] = ()) -> str:
    """Return that an entry is not there, and what it could be."""
    return f"{quote(key)} is missing{_either(choices)}"


def _choices(model: type[Model], key: str) -> list[str]:
    """Return the words that an entry's type allows, if it is a `Literal` or an optional one."""

    def words(annotation: object) -> Iterator[str]:
        for part in get_args(annotation):
            yield from [part] if isinstance(part, str) else words(part)

    return list(words(model.model_fields[key].annotation))


def _either(choices: Sequence[str]) -> str:
    *others, last = choices or [""]
    return f" ({', '.join(others)} or {last})" if others else ""


def seen(value: object) -> str:
    """Return what was found instead, in few words."""
    match value:
        case None | "":
            return "nothing"
        case str():
            return quote(value)
        case Mapping():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case _:
            return reprlib.repr(value)
