"""What the columns of a table mean: a YAML file, or keywords in Python, becomes a `Schema`.

    Schema ─┬─ version, file, missing, on_missing, scale, group
            ├─ columns     name → Ordinary, Complementary, Identifier or Ignored
            └─ settings    Settings

All are frozen and cannot be built invalid, so later code does not check again. Whatever is wrong
comes as one `SchemaError` with every problem in it, each with its place: `schema.yml:7:14` for a
file, `columns.age.type` for Python.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Annotated, Any, Literal, Self

from pydantic import (
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

from cfl_cli.core.messages import kind_of, quote
from cfl_cli.core.quick import dataclass
from cfl_cli.core.settings import RunSettings, Settings
from cfl_cli.errors import SchemaError, UsageError
from cfl_cli.schema import yaml_text
from cfl_cli.schema.columns import (
    ROLES,
    Column,
    Complementary,
    Identifier,
    Ignored,
    OnMissing,
    Ordinary,
    Scale,
    Texts,
)
from cfl_cli.schema.domain import repeated
from cfl_cli.schema.file import TextFile
from cfl_cli.schema.given import there
from cfl_cli.schema.group import Group, problems
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

__all__ = ["Complementary", "Identifier", "Ignored", "Ordinary", "Schema"]


@dataclass(frozen=True)
class _Roles:
    """The columns by their roles; what schemas say does not depend on whether they were sorted."""

    columns: Mapping[str, Column] | None = field(default=None, compare=False)
    ordinary: dict[str, Ordinary] = field(default_factory=dict, compare=False)
    complementary: dict[str, Complementary] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, columns: Mapping[str, Column]) -> Self:
        """Return them in the schema's order."""
        return cls(
            columns,
            {name: it for name, it in columns.items() if isinstance(it, Ordinary)},
            {name: it for name, it in columns.items() if isinstance(it, Complementary)},
        )


class Schema(Model):
    """What the columns of a table mean to cfl, and how it is run."""

    model_config = ConfigDict(
        title="cfl schema", json_schema_extra={"required": ["version", "columns"]}
    )

    version: Literal[1] = 1
    """The version of this format."""
    file: TextFile = Field(default_factory=TextFile)
    """How text tables are written; the command line wins."""
    missing: Texts = ("",)
    """The cells that count as missing."""
    on_missing: OnMissing = "fill"
    """Whether a missing cell of an ordinary column is filled in or an error."""
    scale: Scale | None = None
    """How numbers and dates are scaled, minmax if left out; a column may say otherwise."""
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
    _roles: _Roles = PrivateAttr(default_factory=_Roles)

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
            case "file", _:
                return loc, TextFile
            case _:
                return loc, cls

    @classmethod
    def of(cls, what: "Self | Mapping[str, Any] | str | os.PathLike[str]") -> Self:
        """Return the schema that is given as such, as a dict, as a YAML file's path or as its text.

        Text has several lines, or begins with a brace.
        """
        match what:
            case Schema():
                return what
            case Mapping():
                return cls(**{str(key): entry for key, entry in what.items()})
            case str() if "\n" in what or what.lstrip().startswith("{"):
                return cls.parse(what)
            case str() | os.PathLike():
                return cls.load(there(what))
        raise UsageError(
            "schema: expected a Schema, a dict, or the path or text of a YAML file, found "
            f"{kind_of(what)}{'; the table comes first' if hasattr(what, 'columns') else ''}"
        )

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
        return self.plain_text

    @property
    def plain_text(self) -> str:
        """The same as YAML of its own, without the comments, which may hold cells of the table."""
        entries = self.model_dump(exclude={"settings"}, exclude_none=True)
        if not entries["file"]:
            del entries["file"]
        text = written({**entries, "settings": entry_of(self.settings, self._run)})
        if len(text) > yaml_text.LIMIT:
            raise SchemaError(f"the schema as text is {yaml_text.TOO_LARGE}")
        return text

    @property
    def ordinary(self) -> dict[str, Ordinary]:
        """The ordinary columns by name, in the schema's order."""
        return self._sorted().ordinary

    @property
    def complementary(self) -> dict[str, Complementary]:
        """The complementary columns by name, in the schema's order."""
        return self._sorted().complementary

    @property
    def identifiers(self) -> frozenset[str]:
        """The columns whose cells no message may show."""
        return frozenset(name for name, it in self.columns.items() if isinstance(it, Identifier))

    @property
    def blurred(self) -> dict[str, str]:
        """The CFs that were blurred on purpose, and why, in the schema's order."""
        return {name: cf.blurred for name, cf in self.complementary.items() if cf.blurred}

    def _sorted(self) -> _Roles:
        """Return the columns by their roles, sorted once; a copy with other columns sorts anew."""
        if self._roles.columns is not self.columns:
            self._roles = _Roles.of(self.columns)
        return self._roles

    def missing_in(self, name: str) -> tuple[str, ...]:
        """Return the texts that count as missing in a column."""
        column = self.columns.get(name)
        own: Texts = getattr(column, "missing", None) or ()
        said = {""} & {*(getattr(column, "values", None) or ())}  # empty cells that say no
        return tuple(text for text in dict.fromkeys((*self.missing, *own)) if text not in said)

    def decimal_of(self, name: str) -> str | None:
        """Return the decimal sign of a numeric column; None: a point, and no thousands signs."""
        return self.ordinary[name].decimal or self.file.decimal

    def scale_of(self, name: str) -> Scale:
        """Return how a column of numbers or dates is scaled."""
        return self.ordinary[name].scale or self.scale or "minmax"

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
