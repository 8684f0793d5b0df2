"""What the columns of a table mean: a YAML file, or keywords in Python, becomes a `Schema`.

    Schema ─┬─ version, missing, on_missing, group
            ├─ columns     name → Ordinary, Complementary or Ignored
            └─ settings    Settings

All are frozen and cannot be built invalid, so later code does not check again. Whatever is wrong
comes as one `SchemaError` with every problem in it, each with its place: `schema.yml:7:14` for a
file, `columns.age.type` for Python.
"""

import os
from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PlainValidator,
    PrivateAttr,
    Strict,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic_core import InitErrorDetails

from cfl_cli.core.messages import lacking, quote, seen, unknown
from cfl_cli.core.settings import RunSettings, Settings
from cfl_cli.errors import SchemaError
from cfl_cli.schema import yaml_text
from cfl_cli.schema.domain import domain_problems, repeated, unwritable
from cfl_cli.schema.group import Group, problems
from cfl_cli.schema.mechanism import MECHANISM_FOR_EDITORS, Fit, Rates, read_fit, read_mechanism
from cfl_cli.schema.settings import SETTINGS_FOR_EDITORS, answer_of, entry_of, run_of
from cfl_cli.schema.validation import (
    Loc,
    Model,
    flaws,
    problem,
    refuse,
    refused,
    validate_and_refuse,
)
from cfl_cli.schema.written import Written, written

# To an editor `no`, `01` and `~` are what YAML makes of them; to us they are text. Strict, because
# a set would pass for a list too, in any order.
Text = Annotated[str, Strict(), WithJsonSchema({"type": ["string", "number", "boolean", "null"]})]
Texts = Annotated[
    tuple[Text, ...],
    Strict(),
    BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value),
]
NonEmpty = Annotated[Text, Field(min_length=1)]
OnMissing: TypeAlias = Literal["fill", "error"]


class Ordinary(Model):
    """An ordinary feature: its cells say what the value is."""

    where: ClassVar[str] = " for an ordinary column"
    model_config = ConfigDict(json_schema_extra={"required": ["role", "type"]})

    role: Literal["ordinary"] = "ordinary"
    type: Literal["numeric", "binary", "categorical"]
    """What the cells hold: numbers, one of two values, or one of several."""
    values: Texts | None = Field(None, json_schema_extra={"minItems": 2})
    """The values that cells may hold; the values seen if left out."""
    on_missing: OnMissing | None = None
    """What to do with this column's missing cells, if not what the schema says for all."""

    @field_validator("values", mode="before")
    @classmethod
    def _not_for_numbers(cls, values: object, info: ValidationInfo) -> object:
        if values is not None and info.data.get("type") == "numeric":
            raise refused("a numeric column has no list of values; leave it out")
        return values

    @field_validator("values")
    @classmethod
    def _a_domain(cls, values: Texts | None, info: ValidationInfo) -> Texts | None:
        refuse(domain_problems(values, binary=info.data.get("type") == "binary"))
        return values


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

    @field_validator("exact_cells", mode="before")
    @classmethod
    def _the_only_word(cls, exact_cells: object) -> object:
        if exact_cells is not None and exact_cells != "random":
            raise refused(f"expected random, found {seen(exact_cells)}")
        return exact_cells

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


ROLES: dict[str, type[Model]] = {
    "ordinary": Ordinary,
    "complementary": Complementary,
    "ignore": Ignored,
}


def _role_known(column: object) -> object:
    """Refuse a mapping that does not say which of the three it is."""
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
    missing = set(info.data.get("missing", ()))
    refuse(
        problem(f"no cell can say {quote(text)}: it is listed under 'missing'", *loc)
        for loc, text in said
        if text is not None and text in missing
    )
    return column


Column = Annotated[
    Ordinary | Complementary | Ignored,
    Field(discriminator="role"),
    BeforeValidator(_role_known),
    AfterValidator(_not_missing),
]


class Schema(Model):
    """What the columns of a table mean to cfl, and how it is run."""

    model_config = ConfigDict(
        title="cfl schema", json_schema_extra={"required": ["version", "columns"]}
    )

    version: Literal[1] = 1
    """The version of this format."""
    missing: Texts = ("",)
    """The cells that count as missing."""
    on_missing: OnMissing = "fill"
    """Whether a missing cell of an ordinary column is filled in or an error."""
    columns: Mapping[Annotated[str, Strict()], Column] = Field(
        json_schema_extra={"minProperties": 2}
    )
    """The columns by name; those not listed are ignored."""
    group: Group = ()
    """The column, or columns, whose equal cells name rows that belong together."""
    settings: Annotated[
        Settings, PlainValidator(answer_of), WithJsonSchema(SETTINGS_FOR_EDITORS)
    ] = Field(default_factory=Settings)
    """How the method is run."""
    _run: RunSettings = PrivateAttr(default_factory=RunSettings)
    _written: Written = PrivateAttr(default_factory=Written)

    @model_validator(mode="wrap")
    @classmethod
    def _with_run(cls, entries: object, validate: ModelWrapValidatorHandler[Self]) -> Self:
        schema = validate(entries)
        if isinstance(entries, Mapping):
            schema._run = run_of(entries.get("settings"))  # noqa: SLF001 — its own
        return schema

    @property
    def run(self) -> RunSettings:
        """How a command runs, as far as the schema says it under `settings`."""
        return self._run

    @field_validator("version", mode="before")
    @classmethod
    def _read_here(cls, version: object) -> object:
        if str(version) != "1":
            raise refused(f"this cfl reads version 1, found {quote(str(version))}")
        return 1

    @field_validator("missing")
    @classmethod
    def _listed_once(cls, missing: Texts) -> Texts:
        refuse(repeated(missing))
        return missing

    @field_validator("group")
    @classmethod
    def _no_cf(cls, group: Group, info: ValidationInfo) -> Group:
        columns = info.data.get("columns", {})
        refuse(problems(group, [cf for cf, it in columns.items() if isinstance(it, Complementary)]))
        return group

    @field_validator("columns", mode="wrap")
    @classmethod
    def _of_both_kinds(cls, columns: object, validate: ValidatorFunctionWrapHandler) -> object:
        return validate_and_refuse(columns, validate, list(_lacking_roles(columns)))

    @classmethod
    def locate(cls, loc: Loc) -> tuple[Loc, type[Model]]:
        """Return the path in the file, and the model there; pydantic adds a level for the role."""
        match loc:
            case "columns", name, "[key]":
                return ("columns", name), cls
            case "columns", name, str(role), *rest if role in ROLES:
                return ("columns", name, *rest), ROLES[role]
            case _:
                return loc, cls

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the schema in a YAML file."""
        return cls.from_document(yaml_text.load(path))

    @classmethod
    def parse(cls, text: str, name: str = "schema") -> Self:
        """Return the schema in YAML text; `name` is what messages call it."""
        return cls.from_document(yaml_text.read(text, name=name))

    @classmethod
    def from_document(cls, document: yaml_text.Document) -> Self:
        """Return the schema in a YAML document."""
        problems = list(document.problems)
        if document.data == "":
            problems.append(document.problem((), "the file is empty; start with 'version: 1'"))
        elif document.data is not None:
            if isinstance(document.data, dict) and "version" not in document.data:
                problems.append(document.problem((), "'version' is missing; add 'version: 1'"))
            try:
                schema = cls.model_validate(document.data)
            except ValidationError as error:
                problems += (
                    document.problem(flaw.path, flaw.message, at_key=flaw.at_key)
                    for flaw in flaws(error, cls)
                )
        if problems:
            raise SchemaError(*map(str, sorted(problems)))
        schema._written = Written(document.text)  # noqa: SLF001 — its own
        return schema

    @property
    def text(self) -> str:
        """The schema as YAML that `parse` makes it from again: as it was written, if it was."""
        if self._written.text and Schema.parse(self._written.text) == self:
            return self._written.text
        entries = self.model_dump(exclude={"settings"}, exclude_none=True)
        text = written({**entries, "settings": entry_of(self.settings, self._run)})
        if len(text) > yaml_text.LIMIT:
            raise SchemaError(f"the schema as text is {yaml_text.TOO_LARGE}")
        return text

    @property
    def ordinary(self) -> dict[str, Ordinary]:
        """The ordinary columns by name, in the schema's order."""
        return {name: c for name, c in self.columns.items() if isinstance(c, Ordinary)}

    @property
    def complementary(self) -> dict[str, Complementary]:
        """The complementary columns by name, in the schema's order."""
        return {name: c for name, c in self.columns.items() if isinstance(c, Complementary)}

    def fills_missing(self, name: str) -> bool:
        """Return whether missing cells of an ordinary column are filled in rather than refused."""
        return (self.ordinary[name].on_missing or self.on_missing) == "fill"


def _lacking_roles(columns: object) -> Iterator[InitErrorDetails]:
    """Yield a problem for each role that no column has, as long as all roles can be read."""
    if not isinstance(columns, Mapping):
        return
    roles = [
        column.get("role") if isinstance(column, Mapping) else getattr(column, "role", None)
        for column in columns.values()
    ]
    reasons = {
        "ordinary": "rows are compared by them",
        "complementary": "there is nothing to impute",
    }
    for role, reason in reasons.items():
        if role not in roles and all(other in [*ROLES] for other in roles):
            yield problem(f"no {role} column: mark at least one, {reason}", kind="lacking")
