"""Every setting, once: name, kind, default, bounds, a line of help, and which commands have it.

    Settings      what decides the answer
    RunSettings   how a command runs: threads, memory, files, messages

From these entries come the validated types themselves, the options of the command line with their
help and environment variables, the keys under `settings:` in a schema, what the report records,
and the table in the docs. A new setting is one entry here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Literal, Self, TypeAlias

from cfl_cli.core.kinds import AUTO, Bounds, Choice, FileName, Kind, Number, Size, Switch, Whole
from cfl_cli.core.messages import unknown
from cfl_cli.errors import SchemaError, UsageError

MethodName: TypeAlias = Literal["graph", "boost", "net", "ipal", "observed", "commonest", "auto"]
Auto: TypeAlias = Literal["auto"]
Panel: TypeAlias = Literal["input", "method", "judging", "output", "run"]
Flaw: TypeAlias = tuple[str, str]  # the name of a setting, and what is wrong with it

METHODS = ("graph", "boost", "net", "ipal", "observed", "commonest", "auto")
LEARNED = {"boost", "net", "auto"}  # methods that need hidden rows
DEFAULT_GAMMA = 0.25
EVERYWHERE = ("impute", "report", "check", "init", "tune", "mask", "evaluate", "schema")
WRITING = ("impute", "report", "init", "tune", "mask", "evaluate")


@dataclass(frozen=True)
class Setting:
    """One entry of the table."""

    name: str
    kind: Kind
    default: Any
    help: str
    panel: Panel
    commands: tuple[str, ...]
    decides: bool  # does the answer depend on it?
    short: str  # a letter, for `-j`; empty: none
    opposite: str  # the option that switches it off; empty: none
    variable: bool  # can an environment variable set it? Not if it names a file or lets one go
    default_text: str  # the default in words, where its value alone does not say it

    @property
    def option(self) -> str:
        """Return its name on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def env(self) -> str | None:
        """Return the environment variable that sets it, if there is one."""
        return f"CFL_{self.name.upper()}" if self.variable else None

    def read(self, value: object) -> Any:
        """Return the value, or raise ValueError with what is wrong with it; None is left out."""
        return None if value is None and self.default is None else self.kind.read(value, self.name)


def _entry(
    kind: Kind,
    default: Any,
    help: str,  # noqa: A002 — what it is
    *commands: str,
    panel: Panel,
    short: str = "",
    opposite: str = "",
    variable: bool = True,
    default_text: str = "",
) -> Any:
    texts = {"help": help, "short": short, "opposite": opposite, "default_text": default_text}
    facts = {"kind": kind, "panel": panel, "commands": commands, "variable": variable, **texts}
    return field(default=default, metadata=facts)


class _Table:
    """What both types can do; whatever is wrong comes as one error with every problem in it."""

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
        values, flaws = read(given, [type(self)])
        raise_flaws(flaws)
        changed = self.replaced(values)
        raise_flaws(changed.contradictions())
        return changed

    def replaced(self, values: Mapping[str, Any]) -> Self:
        """Return these settings with values that `read` has returned; others are passed over."""
        made = object.__new__(type(self))
        for name, value in vars(self).items():
            object.__setattr__(made, name, values.get(name, value))
        return made

    def as_dict(self) -> dict[str, Any]:
        """Return every setting by its name."""
        return asdict(self)  # type: ignore[call-overload,no-any-return]  # both are dataclasses


@dataclass(frozen=True)
class Settings(_Table):
    """What decides the answer; the command line wins over the schema."""

    decides: ClassVar[bool] = True

    method: MethodName = _entry(
        Choice(METHODS),
        "graph",
        "What estimates the values. graph: the paper's method; boost: gradient boosting; net: a "
        "small neural network; auto: the blend of these that hidden cells favor; ipal, observed, "
        "commonest: for comparison.",
        *("impute", "check"),
        panel="method",
    )
    k: int = _entry(
        Whole(Bounds(least=1)),
        20,
        "How many neighbors a row has.",
        *("impute", "check"),
        panel="method",
    )
    iterations: int | Auto = _entry(
        Whole(Bounds(least=1), auto=True),
        100,
        "Steps of propagation. auto: as many as hidden cells favor, for each CF.",
        *("impute", "check"),
        panel="method",
    )
    gamma: float | Auto = _entry(
        Number(Bounds(least=0), auto=True),
        DEFAULT_GAMMA,
        "How much the first round's confidences count in the second; 0: no second round. auto: a "
        "second round only for CFs whose hidden cells favor it.",
        *("impute", "check"),
        panel="method",
    )
    ridge: float = _entry(
        Number(Bounds(least=1e-6, most=1e6)),  # below, weights are not unique in double precision
        0.3,
        "How evenly a row's neighbors count: larger is more even.",
        "impute",
        panel="method",
    )
    seed: int = _entry(
        Whole(Bounds(least=0, less_than=2**63)),
        0,
        "Seed of everything random: ties between neighbors, hidden rows, masks.",
        *("impute", "tune", "mask"),
        panel="method",
    )
    folds: int | Auto = _entry(
        Whole(Bounds(least=0, most=100), auto=True),
        AUTO,
        "In how many parts rows are hidden in turn to judge the answers; 0: no judging. auto: "
        "five, or one part in five of a large table.",
        *("impute", "check"),
        panel="judging",
    )
    neighbors: Literal["auto", "exact"] = _entry(
        Choice(("auto", "exact")),
        "auto",
        "How neighbors are searched: exact, or auto: approximate on very large tables (recall at "
        "least 0.999, reported).",
        *("impute", "check", "tune"),
        panel="method",
    )
    correction: bool = _entry(
        Switch(),
        True,  # noqa: FBT003 — a default
        "Apply a row's own exclusions at every step; off only to see what that does.",
        "impute",
        panel="method",
        opposite="--no-correction",
    )
    mode: Literal["hard", "soft", "both"] = _entry(
        Choice(("hard", "soft", "both")),
        "hard",
        "Which columns to write. hard: imputed values; soft: a confidence for each value; both.",
        *("impute", "check"),
        panel="output",
    )
    min_confidence: float = _entry(
        Number(Bounds(least=0, most=1)),
        0.0,
        "Leave cells empty whose answer is less confident than this.",
        "impute",
        panel="output",
    )
    keep_flagged: bool = _entry(
        Switch(),
        False,  # noqa: FBT003
        "Leave flagged CFs as observed.",
        "impute",
        panel="output",
        opposite="--impute-flagged",
    )
    budget: float | None = _entry(
        Number(Bounds(more_than=0)),
        None,
        "With --method auto: how many seconds it may take; what would take longer is skipped.",
        "impute",
        panel="method",
        default_text="no limit",
    )

    def contradictions(self) -> list[Flaw]:
        """Return which settings do not go together."""
        if self.folds == 1:
            return [("folds", "one fold would hide every row: expected 0, 2 or more, or auto")]
        if self.folds != 0:
            return []
        flaws = [
            (name, "auto chooses by hidden cells: it needs folds other than 0")
            for name in ("iterations", "gamma", "method")
            if getattr(self, name) == AUTO
        ]
        if self.method in LEARNED - {AUTO}:
            stops = f"{self.method} stops learning when hidden cells no longer gain"
            flaws.append(("method", f"{stops}: it needs folds other than 0"))
        return flaws


@dataclass(frozen=True)
class RunSettings(_Table):
    """How a command runs; nothing here changes the answer."""

    decides: ClassVar[bool] = False

    jobs: int | None = _entry(
        Whole(Bounds(least=1)),
        None,
        "How many threads work at once.",
        *("impute", "check", "tune"),
        panel="run",
        short="j",
        default_text="all cores",
    )
    max_memory: int | None = _entry(
        Size(),
        None,
        "Refuse a run that needs more memory than this, such as 2GB.",
        *("impute", "check", "tune"),
        panel="run",
        default_text="what the machine has",
    )
    fail_on_flag: bool = _entry(
        Switch(),
        False,  # noqa: FBT003
        "Exit with code 3 if a CF is flagged.",
        "impute",
        panel="judging",
        opposite="--no-fail-on-flag",
    )
    report: str | None = _entry(
        FileName(),
        None,
        "Where to write the report, as JSON; - is standard output.",
        "impute",
        panel="output",
        variable=False,
        default_text="OUT.report.json for CSV and JSONL; inside OUT for Parquet and Arrow",
    )
    overwrite: bool = _entry(
        Switch(),
        False,  # noqa: FBT003
        "Replace files that exist.",
        *WRITING,
        panel="output",
        opposite="--no-overwrite",
        variable=False,
    )
    quiet: bool = _entry(
        Switch(),
        False,  # noqa: FBT003
        "Print errors only.",
        *("impute", "tune", "mask"),
        panel="run",
        short="q",
    )
    verbose: bool = _entry(
        Switch(),
        False,  # noqa: FBT003
        "Show a traceback with errors.",
        *EVERYWHERE,
        panel="run",
        short="v",
    )
    log_format: Literal["text", "json"] = _entry(
        Choice(("text", "json")),
        "text",
        "How messages are written to stderr. json: one object per event, for cron jobs.",
        *EVERYWHERE,
        panel="run",
    )


def entries(table: type[_Table]) -> Iterator[Setting]:
    """Yield the entries of one of the two types."""
    for entry in fields(table):  # type: ignore[arg-type]  # both are dataclasses
        facts = entry.metadata
        yield Setting(name=entry.name, default=entry.default, decides=table.decides, **facts)


TABLES: tuple[type[_Table], ...] = (Settings, RunSettings)
SETTINGS: dict[str, Setting] = {
    setting.name: setting for table in TABLES for setting in entries(table)
}


def read(
    given: Mapping[str, object], tables: Sequence[type[_Table]] = TABLES
) -> tuple[dict[str, Any], list[Flaw]]:
    """Return what is given as values, and what is wrong with it; None is not given."""
    names = [setting.name for table in tables for setting in entries(table)]
    values, flaws = {}, []
    for name, value in given.items():
        if value is None:
            continue
        if name not in names:
            flaws.append((name, unknown("key", name, names)))
            continue
        try:
            values[name] = SETTINGS[name].read(value)
        except ValueError as error:
            flaws.append((name, str(error)))
    return values, flaws


def override(
    settings: Settings, run: RunSettings, given: Mapping[str, object]
) -> tuple[Settings, RunSettings]:
    """Return settings of both types with those given in their place; None means not given."""
    values, flaws = read(given)
    raise_flaws(flaws)
    chosen = settings.replaced(values)
    raise_flaws(chosen.contradictions())
    return chosen, run.replaced(values)


def raise_flaws(flaws: Sequence[Flaw]) -> None:
    """Raise what is wrong with settings, if anything is, by their names on the command line."""
    if flaws:
        raise UsageError(*(f"--{name.replace('_', '-')}: {message}" for name, message in flaws))
