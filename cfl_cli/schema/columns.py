"""What one column of a table means: ordinary, complementary, an identifier, or ignored."""

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic_core import InitErrorDetails

from cfl_cli.core.messages import lacking, quote, seen, unknown
from cfl_cli.schema.domain import domain_problems, repeated, unwritable
from cfl_cli.schema.given import as_text, as_tuple
from cfl_cli.schema.mechanism import MECHANISM_FOR_EDITORS, Fit, Rates, read_fit, read_mechanism
from cfl_cli.schema.validation import Loc, Model, problem, refuse, refused

# To an editor `no`, `01` and `~` are what YAML makes of them; to us they are text. Strict, because
# a set would pass for a list too, in any order.
_Text = Annotated[str, Strict(), WithJsonSchema({"type": ["string", "number", "boolean", "null"]})]
Text = Annotated[_Text, BeforeValidator(as_text)]
Texts = Annotated[tuple[Text, ...], Strict(), BeforeValidator(as_tuple)]
NonEmpty = Annotated[_Text, Field(min_length=1), BeforeValidator(as_text)]
OnMissing: TypeAlias = Literal["fill", "error"]
Decimal: TypeAlias = Literal[".", ","]
Scale: TypeAlias = Literal["minmax", "robust", "auto"]
Cycles = Annotated[
    tuple[Literal["day", "week", "year"], ...],
    Strict(),
    BeforeValidator(as_tuple),
]
KEYS = {
    "decimal": ("numeric",),
    "unit": ("numeric",),
    "scale": ("numeric", "date"),
    "format": ("date",),
    "cycle": ("date",),
}


class Ordinary(Model):
    """An ordinary feature: its cells say what the value is."""

    where: ClassVar[str] = " for an ordinary column"
    model_config = ConfigDict(json_schema_extra={"required": ["role", "type"]})

    role: Literal["ordinary"] = "ordinary"
    type: Literal["numeric", "binary", "categorical", "ordered", "date"]
    """What the cells hold: numbers, one of two values, one of several, one of several that have an
    order, or dates and times."""
    values: Texts | None = Field(None, json_schema_extra={"minItems": 2})
    """The values that cells may hold, in order if the type is `ordered`; the values seen if left
    out."""
    missing: Texts | None = None
    """Further cells of this column that count as missing, beside those of the whole table."""
    on_missing: OnMissing | None = None
    """What to do with this column's missing cells, if not what the schema says for all."""
    decimal: Decimal | None = None
    """The decimal sign of this column's numbers, if not the file's."""
    unit: NonEmpty | None = None
    """What stands before or behind the numbers, such as kg or %."""
    scale: Scale | None = None
    """How numbers and dates become 0 to 1: from the smallest to the largest (minmax), between
    fences that a few wild cells cannot move (robust), or as hidden cells favor (auto); if not what
    the schema says for all."""
    format: NonEmpty | None = None
    """How dates are written, such as %d.%m.%Y; ISO 8601 if left out."""
    cycle: Cycles | None = None
    """Cycles in which the place of a date counts too: day, week, year."""

    @model_validator(mode="after")
    def _keys_of_the_type(self) -> Self:
        refuse(_out_of_place(self))
        return self

    @field_validator("missing", "cycle")
    @classmethod
    def _listed_once(cls, listed: tuple[str, ...] | None) -> tuple[str, ...] | None:
        refuse(repeated(listed or ()))
        return listed

    @field_validator("format")
    @classmethod
    def _reads_dates(cls, written: str | None, info: ValidationInfo) -> str | None:
        from cfl_cli.texts.dates import FormatError, pattern  # noqa: PLC0415 — polars loads slowly

        if written is not None and info.data.get("type") == "date":  # others have none
            try:
                pattern(written)
            except FormatError as error:
                raise refused(f"{quote(written)} {error}") from None
        return written

    @field_validator("values", mode="before")
    @classmethod
    def _not_for_numbers(cls, values: object, info: ValidationInfo) -> object:
        if values is not None and (kind := info.data.get("type")) in ("numeric", "date"):
            raise refused(f"a {kind} column has no list of values; leave it out")
        return values

    @field_validator("values")
    @classmethod
    def _a_domain(cls, values: Texts | None, info: ValidationInfo) -> Texts | None:
        refuse(domain_problems(values, binary=info.data.get("type") == "binary"))
        return values


def _out_of_place(column: Ordinary) -> Iterator[InitErrorDetails]:
    """Yield a problem for every key that columns of another type have, and for one that lacks."""
    if column.values is None and column.type == "ordered":
        yield problem("an ordered column needs its values in order: list them under `values`")
    for key, types in KEYS.items():
        if getattr(column, key) is not None and column.type not in types:
            yield problem(f"only a {' or '.join(types)} column has `{key}`; leave it out", key)


class Complementary(Model):
    """A complementary feature: its cells say what the value is not."""

    where: ClassVar[str] = " for a complementary column"
    model_config = ConfigDict(json_schema_extra={"required": ["role"]})

    role: Literal["complementary"] = "complementary"
    separator: NonEmpty | None = None
    """What separates the exclusions of a cell that holds several."""
    exact: NonEmpty | None = None
    """What a cell starts with if it says what the value is."""
    exact_cells: Literal["random"] | None = None
    """How cells with the exact mark were chosen, if they are a random sample of the rows."""
    values: Texts | None = Field(None, json_schema_extra={"minItems": 2})
    """The domain, in order; the values seen, sorted, if left out."""
    missing: Texts | None = None
    """Further cells of this column that count as missing, beside those of the whole table."""
    blurred: Literal["privacy"] | None = None
    """Why cells do not say the value, if that was done on purpose: `privacy`. Then it is inferred
    only where a run asks for it by name."""
    mechanism: Annotated[Rates | Fit, WithJsonSchema(MECHANISM_FOR_EDITORS)] | None = None
    """How exclusions are drawn if not uniformly: a weight for each value, or P(excluded | true), or
    `fit`: weights that are fitted with the help of exact cells."""

    @field_validator("mechanism", mode="before")
    @classmethod
    def _in_full(cls, mechanism: object, info: ValidationInfo) -> Rates | Fit | None:
        if mechanism == "fit":
            return read_fit(info.data)
        if mechanism is None or "values" not in info.data:  # they are wrong, and reported
            return None
        values = info.data["values"] or ()
        if not values:
            raise refused("a mechanism needs the domain: list it under `values`")
        return read_mechanism(mechanism, values)

    @field_validator("exact")
    @classmethod
    def _unlike_separator(cls, exact: str | None, info: ValidationInfo) -> str | None:
        if exact is not None and exact == info.data.get("separator"):
            raise refused(f"{quote(exact)} is the separator too; choose another mark")
        return exact

    @field_validator("exact_cells", "blurred", mode="before")
    @classmethod
    def _the_only_word(cls, said: object, info: ValidationInfo) -> object:
        word = {"exact_cells": "random", "blurred": "privacy"}[info.field_name or ""]
        if said is not None and said != word:
            raise refused(f"expected {word}, found {seen(said)}")
        return said

    @field_validator("exact_cells")
    @classmethod
    def _with_a_mark(cls, exact_cells: str | None, info: ValidationInfo) -> str | None:
        if exact_cells is not None and "exact" in info.data and info.data["exact"] is None:
            raise refused('no cell can be exact without a mark: add `exact`, such as exact: "="')
        return exact_cells

    @field_validator("values")
    @classmethod
    def _a_domain(cls, values: Texts | None, info: ValidationInfo) -> Texts | None:
        marks = info.data.get("separator"), info.data.get("exact")
        refuse([*domain_problems(values), *unwritable(values, *marks)])
        return values


class Ignored(Model):
    """A column that plays no part, like those that are not listed."""

    where: ClassVar[str] = " for an ignored column"
    model_config = ConfigDict(json_schema_extra={"required": ["role"]})

    role: Literal["ignore"] = "ignore"


class Identifier(Model):
    """A column that names a person or a thing: it plays no part, and no message shows its cells."""

    where: ClassVar[str] = " for an identifier"
    model_config = ConfigDict(json_schema_extra={"required": ["role"]})

    role: Literal["identifier"] = "identifier"


ROLES: dict[str, type[Model]] = {
    "ordinary": Ordinary,
    "complementary": Complementary,
    "identifier": Identifier,
    "ignore": Ignored,
}


def _role_known(column: object) -> object:
    """Refuse a mapping that does not say which of these it is."""
    if isinstance(column, Mapping):
        if "role" not in column:
            raise refused(lacking("role", [*ROLES]), kind="lacking")
        if column["role"] not in [*ROLES]:
            raise refused(unknown("role", column["role"], [*ROLES]), "role")
    return column


def _not_missing(column: Model, info: ValidationInfo) -> Model:
    """Refuse what a column could only say with a cell that counts as missing."""
    said: list[tuple[Loc, str | None]] = [
        *(((name,), getattr(column, name, None)) for name in ("separator", "exact")),
        *((("values", i), value) for i, value in enumerate(getattr(column, "values", None) or ())),
    ]
    missing = {*info.data.get("missing", ()), *(getattr(column, "missing", None) or ())}
    if getattr(column, "type", None) == "binary":
        missing -= {""}  # x beside empty cells: yes and no
    refuse(
        problem(f"no cell can say {quote(text)}: it is listed under 'missing'", *loc)
        for loc, text in said
        if text is not None and text in missing
    )
    return column


Column = Annotated[
    Ordinary | Complementary | Identifier | Ignored,
    Field(discriminator="role"),
    BeforeValidator(_role_known),
    AfterValidator(_not_missing),
]
