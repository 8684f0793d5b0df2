"""What an entry in a table of settings is, and what a type made of such entries can do."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, field, fields
from typing import Any, ClassVar, Self, TypeAlias

from cfl_cli.core.kinds import Kind
from cfl_cli.core.messages import unknown
from cfl_cli.core.quick import dataclass
from cfl_cli.core.wording import option
from cfl_cli.errors import SchemaError, UsageError

EVERY_COMMAND = "all"  # in the place of the commands that have a setting
Flaw: TypeAlias = tuple[str, str]  # the name of a setting, and what is wrong with it


@dataclass(frozen=True)
class Setting:
    """One entry of the table."""

    name: str
    kind: Kind
    default: Any
    help: str
    panel: str  # of the help: input, method, judging, output or run
    commands: tuple[str, ...]  # that have it
    decides: bool  # does the answer depend on it?
    short: str  # a letter, for `-j`; empty: none
    opposite: str  # the option that switches it off; empty: none
    variable: bool  # can an environment variable set it? Not if it names a file or lets one go
    default_text: str  # the default in words, where its value alone does not say it
    in_schema: bool = True  # may a schema say it? Not if it is of one run, on one machine

    @property
    def option(self) -> str:
        """Return its name on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def env(self) -> str | None:
        """Return the environment variable that sets it, if there is one."""
        return f"CFL_{self.name.upper()}" if self.variable else None

    def belongs_to(self, command: str) -> bool:
        """Return whether a command has this setting."""
        return bool({command, EVERY_COMMAND} & {*self.commands})

    def read(self, value: object) -> Any:
        """Return the value, or raise ValueError with what is wrong with it; None is left out."""
        return None if value is None and self.default is None else self.kind.read(value)


def entry(
    kind: Kind,
    default: Any,
    help: str,  # noqa: A002 — what it is
    *commands: str,
    panel: str,
    short: str = "",
    opposite: str = "",
    variable: bool = True,
    default_text: str = "",
    in_schema: bool = True,
) -> Any:
    """Return the field of a table that is this entry; its name and type are the field's."""
    texts = {"help": help, "short": short, "opposite": opposite, "default_text": default_text}
    facts = {"kind": kind, "panel": panel, "commands": commands, "variable": variable, **texts}
    return field(default=default, metadata={**facts, "in_schema": in_schema})


class SettingsTable:
    """A frozen dataclass of entries; all that is wrong with its values comes as one error."""

    decides: ClassVar[bool]

    def __post_init__(self) -> None:
        flaws = []
        for setting in entries(type(self)):
            try:
                value = setting.read(getattr(self, setting.name))
            except ValueError as error:
                flaws.append((setting.name, str(error)))
            else:
                object.__setattr__(self, setting.name, value)  # frozen, but for this
        flaws += [] if flaws else self.contradictions()
        if flaws:
            raise SchemaError(*(f"{name}: {message}" for name, message in flaws))

    def contradictions(self) -> list[Flaw]:
        """Return which settings do not go together."""
        return []

    def override(self, **given: object) -> Self:
        """Return these settings with those given in their place; None means not given."""
        values, flaws = read_given(given, [type(self)])
        raise_flaws(flaws)
        changed = self.replaced(values)
        raise_flaws(changed.contradictions())
        return changed

    def replaced(self, values: Mapping[str, Any]) -> Self:
        """Return these settings with values that `read_given` has returned; ignore others."""
        # Not by `dataclasses.replace`: that would read every value again, and a search for good
        # settings comes here often.
        made = object.__new__(type(self))
        for name, value in vars(self).items():
            object.__setattr__(made, name, values.get(name, value))
        return made

    def as_dict(self) -> dict[str, Any]:
        """Return every setting by its name."""
        return asdict(self)  # type: ignore[call-overload,no-any-return]  # a dataclass


def entries(table: type[SettingsTable]) -> Iterator[Setting]:
    """Yield the entries of a table."""
    for one in fields(table):  # type: ignore[arg-type]  # a dataclass
        facts = one.metadata
        yield Setting(name=one.name, default=one.default, decides=table.decides, **facts)


def read_given(
    given: Mapping[str, object], tables: Sequence[type[SettingsTable]]
) -> tuple[dict[str, Any], list[Flaw]]:
    """Return what is given as values, and what is wrong with it; None is not given."""
    settings = {setting.name: setting for table in tables for setting in entries(table)}
    values, flaws = {}, []
    for name, value in given.items():
        if value is None:
            continue
        if name not in settings:
            flaws.append((name, unknown("key", name, list(settings))))
            continue
        try:
            values[name] = settings[name].read(value)
        except ValueError as error:
            flaws.append((name, str(error)))
    return values, flaws


def read_by(kinds: Mapping[str, Kind], given: Mapping[str, object]) -> dict[str, Any]:
    """Return what is given as values of these kinds, or raise all that is wrong with it."""
    values, flaws = {}, []
    for name, value in given.items():
        try:
            values[name] = kinds[name].read(value)
        except ValueError as error:
            flaws.append((name, str(error)))
    raise_flaws(flaws)
    return values


def raise_flaws(flaws: Sequence[Flaw]) -> None:
    """Raise what is wrong with settings, if anything is; named as the caller writes them."""
    if flaws:
        raise UsageError(*(f"{option(name)}: {message}" for name, message in flaws))
