"""Every setting, once: name, kind, default, bounds, a line of help, and which commands have it.

    Settings      what decides the answer
    RunSettings   how a command runs: threads, memory, files, messages

From these entries come the validated types themselves, the options of the command line with their
help and environment variables, the keys under `settings:` in a schema, what the report records,
and the table in the docs. A new setting is one entry here.
"""

import math
import numbers
import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Final, Literal, Self, SupportsIndex, TypeAlias

from cfl_cli.core.messages import did_you_mean, either, option, seen, shortened, unknown
from cfl_cli.errors import CflError, Problem, SchemaError, UsageError

# What a setting can take: a kind reads a value, from a file, an option or Python, or says why not.
#
# A file and the command line give text; Python may give the value itself, also as NumPy has it. Text
# is read strictly: `1_000`, ` 20 ` and `on` are refused, and True is not 1. pydantic's `Field` would
# take longer to load than `cfl --help` takes as a whole.

AUTO: Final = "auto"
PLAIN: Final = "plain"
_UNITS = {"": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
_UNITS |= {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}

_TEXT: Mapping[str, Any] = {"type": "string", "minLength": 1}
_TEXTS: Mapping[str, Any] = {"type": "array", "items": _TEXT}

_DIGITS = re.compile("[-+]?[0-9]{1,4000}")
_DECIMAL = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
_SIZE = re.compile("([0-9]+(?:[.][0-9]+)?) ?([a-z]*)")


class Kind(ABC):
    """What a setting can take."""

    metavar = ""  # what help shows in its place
    choices: tuple[str, ...] = ()  # the words that it can be, for completion
    json_schema: Mapping[str, Any]  # what an editor should accept

    @abstractmethod
    def read(self, value: object) -> Any:
        """Return the value, or raise ValueError: what was expected, and what was found."""


class Number(Kind):
    """A finite number, or `auto` where that is allowed; `word` stands for it in help."""

    json_type, called, letter = "number", "a number", "X"
    text: ClassVar = _DECIMAL  # how it may be written
    accepted: ClassVar[Any] = numbers.Real  # what else may be given
    made: ClassVar[Any] = float  # what is made of either

    def __init__(
        self,
        *,
        least: float | None = None,
        more_than: float | None = None,
        most: float | None = None,
        less_than: float | None = None,
        auto: bool = False,
        word: str = "",
    ) -> None:
        self.auto = auto
        self.metavar = (word or self.letter) + ("|auto" if auto else "")
        bounds = (
            ("minimum", "at least", least, operator.lt),
            ("exclusiveMinimum", "more than", more_than, operator.le),
            ("maximum", "at most", most, operator.gt),
            ("exclusiveMaximum", "less than", less_than, operator.ge),
        )
        self.bounds = [(words, end, out) for _, words, end, out in bounds if end is not None]
        schema = {"type": self.json_type} | {k: end for k, _, end, _ in bounds if end is not None}
        self.json_schema = {"anyOf": [{"const": AUTO}, schema]} if auto else schema
        self.choices = (AUTO,) if auto else ()

    def read(self, value: object) -> Any:
        value = as_python(value)
        if self.auto and value == AUTO:
            return AUTO
        or_auto, fits = f" or {AUTO}" if self.auto else "", isinstance(value, self.accepted)
        if isinstance(value, str):
            fits = self.text.fullmatch(value) is not None
        if not fits or isinstance(value, bool):
            raise _expected(f"{self.called}{or_auto}", value)
        number = self.made(value)
        if not math.isfinite(number):
            raise _expected(f"a finite number{or_auto}", value)
        for how, end, is_beyond in self.bounds:
            if is_beyond(number, end):  # the number is quoted as it was written
                limit = end if isinstance(end, int) else f"{end:g}"
                raise ValueError(f"expected {how} {limit}{or_auto}, found {shortened(str(value))}")
        return number


class Whole(Number):
    """A whole number, or `auto` where that is allowed."""

    json_type, called, letter = "integer", "a whole number", "N"
    text, accepted, made = _DIGITS, SupportsIndex, int


class Switch(Kind):
    json_schema: Mapping[str, Any] = {"type": "boolean"}

    def read(self, value: object) -> Any:
        value = as_python(value)
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value in {"true", "True", "false", "False"}:
            return value[0] in "Tt"
        raise _expected("true or false", value)


class Choice(Kind):
    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = self.choices = words
        self.metavar = "|".join(words)
        self.json_schema = {"enum": [*words]}

    def read(self, value: object) -> str:
        value = as_python(value)
        if isinstance(value, str) and value in self.choices:
            return value
        near = did_you_mean(value, self.choices) if isinstance(value, str) else ""
        raise ValueError(f"expected {either(self.choices)}, found {seen(value)}{near}")


class ByteSize(Kind):
    """A number of bytes, also as `500MB` or `1.5 GiB`."""

    metavar = "SIZE"
    json_schema: Mapping[str, Any] = {"type": ["string", "integer"]}

    def read(self, value: object) -> int:
        value = as_python(value)
        if not isinstance(value, str):
            return int(COUNT.read(value))
        parts = _SIZE.fullmatch(value.lower())
        if parts is None or parts[2] not in _UNITS:
            raise _expected("a size such as 500MB or 2GB", value)
        size = int(float(parts[1]) * _UNITS[parts[2]])
        if size < 1:
            raise ValueError(f"expected at least 1, found {shortened(value)}")
        return size


@dataclass(eq=False)
class FileName(Kind):
    """The name of a file, a folder or something else; `metavar` says of what."""

    metavar: str = "FILE"
    choices: tuple[str, ...] = ()
    json_schema = _TEXT

    def read(self, value: object) -> Any:
        value = as_python(value)
        if not isinstance(value, str):
            raise _expected("text", value)
        if not value:
            raise _expected("at least one character", value)
        return value


@dataclass(eq=False)
class Names(FileName):
    """Names of columns: an option that is repeated."""

    metavar: str = "COLUMN"
    json_schema = _TEXTS

    def read(self, value: object) -> Any:
        """Return the names; one alone may be given as it is."""
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list | tuple):
            raise _expected("names of columns", value)
        return tuple(dict.fromkeys(super(Names, self).read(one) for one in value))


COUNT = Whole(least=1)  # of things
SHARE = Number(least=0, most=1, word="P")  # of things; or a probability


def as_python(value: object) -> object:
    """Return a number, a switch or a text of NumPy's as Python has it, and all else as it is."""
    is_scalar = getattr(value, "shape", None) == () and hasattr(value, "item")
    return value.item() if is_scalar else value  # type: ignore[attr-defined]  # it has


def _expected(what: str, value: object) -> ValueError:
    return ValueError(f"expected {what}, found {seen(value)}")


# What an entry in a table of settings is, and what a type made of such entries can do.

EVERY_COMMAND = "all"  # in the place of the commands that have a setting
Flaw: TypeAlias = tuple[str, str]  # the name of a setting, and what is wrong with it


@dataclass(frozen=True)
class Setting:
    name: str
    kind: Kind
    default: Any
    help: str
    panel: str  # of the help: input, method, judging, output or run
    commands: tuple[str, ...] = ()  # that have it
    decides: bool = False  # does the answer depend on it?
    short: str = ""  # a letter, for `-j`
    opposite: str = ""  # the option that switches it off
    variable: bool = True  # can an environment variable set it? No file, nothing that is let go
    default_text: str = ""  # the default in words, where its value alone does not say it
    in_schema: bool = True  # may a schema say it? Not if it is of one run, on one machine
    rare: bool = False  # is it listed by --help-all only?
    in_python: bool = True  # is it an argument of Python's functions, too?

    option: str = field(init=False)
    env: str | None = field(init=False)

    def __post_init__(self) -> None:  # frozen, but for this
        name = self.name.rstrip("_").replace("_", "-")  # `for_`, as `for` is a word of Python
        object.__setattr__(self, "option", f"--{name}")
        object.__setattr__(self, "env", f"CFL_{self.name.upper()}" if self.variable else None)


def entry(panel: str, kind: Kind, default: Any, *commands: str) -> Callable[..., Any]:
    """Return what makes the field of a table from a line of help and facts as `Setting` has them."""

    def made(help: str, **facts: Any) -> Any:
        facts |= {"kind": kind, "help": help, "commands": commands, "panel": panel}
        return field(default=default, metadata=facts)

    return made


class SettingsTable:
    """A frozen dataclass of entries; all that is wrong with its values comes as one error."""

    decides: ClassVar[bool]

    def __post_init__(self) -> None:
        table = {one.name: one for one in entries(type(self))}
        others = {k: it for k, it in vars(self).items() if it is not table[k].default}
        values, flaws = _read({name: table[name].kind for name in others}, others)
        for name, value in values.items():
            object.__setattr__(self, name, value)  # frozen, but for this
        raise_flaws(flaws or self.contradictions(), SchemaError, str)

    def contradictions(self) -> list[Flaw]:
        return []

    def override(self, **given: object) -> Self:
        """Return these settings with those given in their place; None means not given."""
        values, flaws = read_settings(given, {one.name: one for one in entries(type(self))})
        raise_flaws(flaws)
        changed = self.replaced(values)
        raise_flaws(changed.contradictions())
        return changed

    def replaced(self, values: Mapping[str, Any]) -> Self:
        """Return these settings with values that were read already; ignore others."""
        # Not by `dataclasses.replace`: that would read every value again, and a search for good
        # settings comes here often.
        made = object.__new__(type(self))
        for name, value in vars(self).items():
            object.__setattr__(made, name, values.get(name, value))
        return made


def entries(table: type[SettingsTable]) -> Iterator[Setting]:
    for one in fields(table):  # type: ignore[arg-type]  # a dataclass
        yield Setting(name=one.name, default=one.default, decides=table.decides, **one.metadata)


def _read(
    kinds: Mapping[str, Kind], given: Mapping[str, object]
) -> tuple[dict[str, Any], list[Flaw]]:
    values, flaws = {}, list[Flaw]()
    for name, value in given.items():
        try:
            values[name] = kinds[name].read(value)
        except ValueError as error:
            flaws.append((name, str(error)))
    return values, flaws


def read_settings(
    given: Mapping[str, object], settings: Mapping[str, Setting] | None = None
) -> tuple[dict[str, Any], list[Flaw]]:
    """Return settings as values, and what is wrong with them; None is not given.

    They are those of both types if no others are named.
    """
    settings = SETTINGS if settings is None else settings
    said = {name: value for name, value in given.items() if value is not None}
    strange = [(one, unknown("key", one, [*settings])) for one in said if one not in settings]
    known = {name: settings[name].kind for name in said if name in settings}
    values, flaws = _read(known, {name: said[name] for name in known})
    return values, sorted([*strange, *flaws], key=lambda flaw: [*said].index(flaw[0]))


def read_by(kinds: Mapping[str, Kind], given: Mapping[str, object]) -> dict[str, Any]:
    values, flaws = _read(kinds, given)
    raise_flaws(flaws)
    return values


def raise_flaws(
    flaws: Sequence[Flaw], kind: type[CflError] = UsageError, said: Callable[[str], object] = option
) -> None:
    """Raise what is wrong with settings, if anything is; named as the caller writes them."""
    if flaws:
        text = "{option}: {message}"
        problems = [
            Problem("setting-wrong", text, option=said(name), message=message, setting=name)
            for name, message in flaws
        ]
        raise kind(*problems)


# The settings of a run that change nothing in its answer: one entry each, as in `Settings`.

_RUNS = ("impute", "fit", "apply", "check")
_LEARNS = ("impute", "fit", "check", "explain")
_WRITES = (
    *_RUNS,
    *"report suspects explain init tune mask evaluate audit risk tabulate gather".split(),
)


@dataclass(frozen=True)
class RunSettings(SettingsTable):
    """Settings of how a command runs, which do not change the result."""

    decides: ClassVar[bool] = False

    jobs: int | None = entry("run", COUNT, None, *_RUNS, "explain", "tune", "risk", "run")(
        "Number of threads.", short="j", default_text="all cores"
    )
    engine: Literal["local", "dask"] = entry("run", Choice(("local", "dask")), "local", *_RUNS)(
        "Where the work is done. local: threads of this process; dask: worker processes, started "
        "here or by a scheduler.",
        in_schema=False,
        rare=True,
    )
    scheduler: str | None = entry("run", FileName("ADDRESS"), None, *_RUNS)(
        "With --engine dask: address of a scheduler whose workers run on this host. A scheduler on "
        "another host needs TLS (tls://HOST:PORT).",
        default_text="none; workers are started here",
        in_schema=False,
        rare=True,
    )
    workers: int | None = entry("run", COUNT, None, *_RUNS)(
        "With --engine dask: number of worker processes to start.",
        default_text="all cores",
        in_schema=False,
        rare=True,
    )
    run_dir: str | None = entry("run", FileName("DIR"), None, "impute", "fit", "check")(
        "Save checkpoints in this folder (about 2 kB a row), from which --resume continues; deleted "
        "on success.",
        variable=False,
        default_text="none",
        in_schema=False,
        rare=True,
    )
    resume: bool = entry("run", Switch(), False, "impute", "fit", "check")(
        "Resume the run saved in --run-dir, or start a new one.",
        variable=False,
        in_schema=False,
        rare=True,
    )
    max_memory: int | None = entry("run", ByteSize(), None, *_LEARNS, "tune", "risk")(
        "Refuse a run that needs more memory than this, such as 2GB.",
        default_text="the memory of this machine",
        rare=True,
    )
    infer: tuple[str, ...] = entry("input", Names(), (), *_RUNS, "explain")(
        "Infer this CF although the schema marks it as blurred for privacy; repeat it for more.",
        variable=False,
        default_text="none",
        in_schema=False,
        rare=True,
    )
    fail_on: Literal["never", "any", "new", "drifted"] = entry(
        "judging", Choice(("never", "any", "new", "drifted")), "never", *_RUNS, "run"
    )(
        "When to exit with code 3, after everything is written. any: a CF is flagged; new: a CF has a "
        "flag that it did not have when the model was fitted; drifted: a CF has drifted.",
        in_python=False,
    )
    fail_on_flag: bool = entry("judging", Switch(), False, *_RUNS)(
        "Same as --fail-on any.", opposite="--no-fail-on-flag", rare=True, in_python=False
    )
    max_set_aside: float = entry("judging", SHARE, 0.05, *_RUNS)(
        "With --on-bad-row set-aside: warn if more than this share of the rows is set aside, and exit "
        "with code 3 if --fail-on any is given.",
        rare=True,
        in_python=False,
    )
    report: str | None = entry("output", FileName(), None, "impute", "apply", "check")(
        "Write the report to this file, as JSON; - is standard output.",
        variable=False,
        default_text="OUT.report.json, or inside OUT if its format can hold it",
        rare=True,
        in_python=False,
    )
    diagnostics: str | None = entry("output", FileName(), None, "impute", "check")(
        "Write a ranked list of suspicious cells to this file: CSV, or another format by its name.",
        variable=False,
        default_text="none",
        in_python=False,
    )
    overwrite: bool = entry("output", Switch(), False, *_WRITES, "run")(
        "Replace existing files.", opposite="--no-overwrite", variable=False, in_python=False
    )
    quiet: bool = entry(
        "run", Switch(), False, *_RUNS, *"explain tune mask audit risk run tabulate gather".split()
    )("Print only errors.", short="q", in_python=False)
    verbose: bool = entry("run", Switch(), False, EVERY_COMMAND)(
        "Show a traceback with errors.", short="v", rare=True, in_python=False
    )
    log_format: Literal["text", "json"] = entry(
        "run", Choice(("text", "json")), "text", EVERY_COMMAND
    )(
        "Format of messages on stderr. json: one object per event, for cron jobs.",
        rare=True,
        in_python=False,
    )

    def contradictions(self) -> list[Flaw]:
        flaws = []
        if self.resume and self.run_dir is None:
            folder = option("run_dir")
            flaws.append(("resume", f"needs a folder to resume from: add {folder}"))
        if self.engine != "dask":
            dask = option("engine", "dask")
            flaws += [
                (name, f"needs {dask}: add it, or leave {option(name)} out")
                for name in ("scheduler", "workers")
                if getattr(self, name) is not None
            ]
        elif self.scheduler is not None and self.workers is not None:
            scheduler = option("scheduler")
            said = f"cannot be given with {scheduler}, which has its own workers: leave one out"
            flaws.append(("workers", said))
        if self.fail_on_flag and self.fail_on not in ("never", "any"):
            said = f"is the same as {option('fail_on', 'any')}: leave one out"
            flaws.append(("fail_on_flag", said))
        return flaws


# The methods by name, and what each needs; light, so that help and schema can know it.


@dataclass(frozen=True)
class Traits:
    """What one method is, and what follows for whoever runs it."""

    name: str  # and the name of its module in `estimators`
    summary: str
    needs_neighbors: bool = False  # does it fail where the table has no more than k rows?
    needs_hidden_rows: bool = False  # does it choose by hidden cells, and so fail with folds 0?
    many_parts: bool = False  # does a fold cost so much that there should be no more than needed?
    second_round: bool = False  # does γ above 0 mean a second round for every CF?
    calibrated: bool = False  # are its confidences raised to powers that hidden cells choose?
    learns: bool = True  # is there anything to keep, by which other rows can be answered?
    # What helps beside fewer rows: words, or a setting and its value.
    saves_memory: tuple[str | tuple[str, str | int], ...] = ()
    package: str | None = None  # beside numpy, whose version a model file records
    arrays_may_be_files: bool = False  # need memory not hold what an engine keeps on disk?
    keeps_rows: bool = False  # may a model file hold features and confidences of fitted rows?


METHODS = {
    traits.name: traits
    for traits in (
        Traits(
            "graph",
            "the paper's method, on a graph of similar rows",
            needs_neighbors=True,
            second_round=True,
            calibrated=True,
            saves_memory=("a smaller k", ("gamma", 0)),
            arrays_may_be_files=True,
            keeps_rows=True,
        ),
        Traits(
            "boost",
            "gradient boosting fitted to the exclusions",
            needs_hidden_rows=True,
            calibrated=True,
            package="lightgbm",
        ),
        Traits(
            "net",
            "a small neural network for all CFs at once",
            needs_hidden_rows=True,
            calibrated=True,
        ),
        Traits(
            "forest",
            "bagged trees fitted to the exclusions",
            needs_hidden_rows=True,
            calibrated=True,
        ),
        Traits(
            "ipal",
            "the paper's baseline, which may pick an excluded value",
            needs_neighbors=True,
            keeps_rows=True,
        ),
        Traits("observed", "only the row's own cell, with equal confidences", learns=False),
        Traits("commonest", "the majority value, whatever the row (the baseline)"),
        Traits(
            "auto",
            "for each CF, a blend of graph, boost, forest and net chosen by cross-validation",
            needs_hidden_rows=True,
            calibrated=True,
            saves_memory=(("method", "graph"),),
            many_parts=True,
            package="lightgbm",
            keeps_rows=True,
        ),
    )
}


Auto: TypeAlias = Literal["auto"]

DEFAULT_GAMMA = 0.25


@dataclass(frozen=True)
class Settings(SettingsTable):
    """Settings that decide the result. The command line wins over the schema."""

    decides: ClassVar[bool] = True

    method: str = entry("method", Choice(tuple(METHODS)), "graph", *_LEARNS)(
        "How values are estimated. "
        + "; ".join(f"{name}: {traits.summary}" for name, traits in METHODS.items())
        + "."
    )
    k: int = entry("method", COUNT, 20, *_LEARNS, "risk")("Number of neighbors per row.", rare=True)
    iterations: int | Auto = entry("method", Whole(least=1, auto=True), 100, *_LEARNS)(
        "Number of propagation steps. auto: chosen for each CF on held-out cells.", rare=True
    )
    gamma: float | Auto | None = entry("method", Number(least=0, auto=True), None, *_LEARNS)(
        "Weight of the first round's confidences in the second round; 0: no second round. auto: a "
        "second round only for CFs whose held-out cells it predicts better.",
        default_text=f"{DEFAULT_GAMMA}; auto if few rows have distinct OFs",
        rare=True,
    )
    metric: Literal["plain", "learned"] = entry(
        "method", Choice((PLAIN, "learned")), PLAIN, *_LEARNS
    )(
        "For graph, also within auto: how much each OF counts in the distance between rows. plain: "
        "all equally; learned: by how well it predicts a CF, if held-out cells clearly confirm it.",
        rare=True,
    )
    # Below the least ridge, weights are not unique in double precision.
    ridge: float = entry("method", Number(least=1e-6, most=1e6), 0.3, *_LEARNS)(
        "How evenly a row's neighbors are weighted; a larger value is more even.", rare=True
    )
    seed: int = entry(
        "method", Whole(least=0, less_than=2**63), 0, *_LEARNS, *"tune mask audit risk run".split()
    )("Seed of everything random, such as held-out rows.")
    folds: int | Auto = entry(
        "judging", Whole(least=0, most=100, auto=True), AUTO, *_LEARNS, "risk"
    )(
        "Number of cross-validation folds that estimate the accuracy; 0: no estimate. auto: five, or fewer "
        "for a large table."
    )
    bias: float = entry("judging", Number(least=1, most=1000), 1.0, *_RUNS)(
        "Assume some values are ruled out up to X times "
        "as often as other values, and show the accuracy range.",
        rare=True,
    )
    calibration: bool = entry("judging", Switch(), True, *_LEARNS)(
        "Calibrate confidences on held-out cells where that helps; imputed values stay the same.",
        opposite="--no-calibration",
        rare=True,
    )
    neighbors: Literal["auto", "exact"] = entry(
        "method", Choice(("auto", "exact")), "auto", *_LEARNS, "tune"
    )(
        "How neighbors are searched. auto: approximately on very large tables, with a recall of at "
        "least 0.999 (see the report).",
        rare=True,
    )
    correction: bool = entry("method", Switch(), True, *_LEARNS)(
        "Apply a row's own exclusions at every step. Turn it off for experiments only.",
        opposite="--no-correction",
        rare=True,
    )
    mode: Literal["hard", "soft", "both"] = entry(
        "output", Choice(("hard", "soft", "both")), "hard", *_RUNS, "run"
    )(
        "Columns to add for each CF. hard: the imputed value and its confidence; soft: a confidence "
        "for every value; both: hard and soft."
    )
    min_confidence: float = entry("output", SHARE, 0.0, *_RUNS, "explain")(
        "Leave cells empty whose confidence is lower than this."
    )
    keep_flagged: bool = entry("output", Switch(), False, *_RUNS, "explain")(
        "Don't fill in columns that are flagged.", opposite="--impute-flagged"
    )
    budget: float | None = entry("method", Number(more_than=0, word="SECONDS"), None, *_LEARNS)(
        "With --method auto: approximate time limit of the command, in seconds. graph always runs; slower parts "
        "are skipped or abandoned.",
        default_text="no limit",
        rare=True,
    )
    sample: int | None = entry("input", Whole(least=2), None, "fit")(
        "Learn from this many rows, drawn at random; `cfl apply` fills in the other rows.",
        default_text="all rows",
        in_schema=False,
    )

    def recorded(self) -> dict[str, Any]:
        """Return the settings as reports and models record them; a plain metric is left out."""
        said = asdict(self)
        return {name: said[name] for name in said if (name, said[name]) != ("metric", PLAIN)}

    def contradictions(self) -> list[Flaw]:
        if self.folds == 1:
            return [("folds", "one fold would hold out every row: expected 0, 2 or more, or auto")]
        if self.folds != 0:
            return []
        flaws = [
            (name, "auto chooses on held-out cells, so folds cannot be 0")
            for name in ("iterations", "gamma", "method")
            if getattr(self, name) == AUTO
        ]
        if self.metric != PLAIN:
            flaws.append(("metric", "a metric is chosen on held-out cells, so folds cannot be 0"))
        if METHODS[self.method].needs_hidden_rows and self.method != AUTO:
            stops = f"{self.method} needs held-out cells to stop training"
            flaws.append(("method", f"{stops}, so folds cannot be 0"))
        return flaws


SETTINGS: dict[str, Setting] = {
    setting.name: setting for table in (Settings, RunSettings) for setting in entries(table)
}


def override(
    settings: Settings, run: RunSettings, values: Mapping[str, Any]
) -> tuple[Settings, RunSettings]:
    """Return settings of both types with values, which `read_settings` has read, in their place."""
    chosen, how = settings.replaced(values), run.replaced(values)
    raise_flaws([*chosen.contradictions(), *how.contradictions()])
    return chosen, how
