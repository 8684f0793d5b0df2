"""What the columns of a table mean: a YAML file, or keywords in Python, becomes a `Schema`.

    Schema ─┬─ version, file, missing, on_missing, scale, group
            ├─ columns     name → Ordinary, Complementary, Identifier or Ignored
            └─ settings    Settings

All are frozen and cannot be built invalid, so later code does not check again. Whatever is wrong
comes as one `SchemaError` with every problem in it, each with its place: `schema.yml:7:14` for a
file, `columns.age.type` for Python.
"""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeAlias, cast

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
    WrapValidator,
    create_model,
    field_validator,
    model_validator,
)
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

from cfl_cli.core.messages import (
    did_you_mean,
    lacking,
    nearest_word,
    option,
    printable,
    quote,
    seen,
    type_name_of,
    unknown,
)
from cfl_cli.core.settings import (
    SETTINGS,
    Choice,
    Number,
    RunSettings,
    Settings,
    entries,
    read_settings,
)
from cfl_cli.errors import Problem, SchemaError, UsageError
from cfl_cli.schema import yaml_text
from cfl_cli.schema.sets import (
    Notation,
    ancestors_problem,
    from_file,
    names_of,
    set_problems,
)
from cfl_cli.schema.validation import (
    FrozenModel,
    Loc,
    as_tuple,
    check_there,
    problem,
    refuse,
    rejection,
    scalar_text,
    schema_problems,
)
from cfl_cli.tables.dialect import NONE, OPTIONS, word

# How a schema says which values a cell rules out: a table, or a weight for each value.
#
#     mechanism: {a: 3, b: 1, c: 1}                      a is ruled out three times as often as b
#     mechanism: {a: {b: 0.9, c: 0.1}, b: {a: 1}, …}     P(excluded | true), by the true value
#     mechanism: [[0, 0.9, 0.1], [1, 0, 0], …]           the same, in the domain's order
#     mechanism: fit                                     weights that are fitted with exact cells
#
#
# Or how often a cell states the true value, if it states one that may be wrong:
#
#     mechanism: {keep: 0.55}                            all wrong values are equally likely
#     mechanism: {epsilon: 2}                            keep = e^ε/(e^ε + K − 1): randomized response
#     mechanism: {a: {a: 0.8, b: 0.2}, …}                P(stated | true): a table with a diagonal
#
# All but `fit` become P(excluded | true) or P(stated | true), K × K in the domain's order. A list of
# numbers is a list of weights.

Rates: TypeAlias = tuple[tuple[float, ...], ...]
_Fit: TypeAlias = Literal["fit"]
_ROUNDING = 1e-12  # of a sum of thousands of numbers
_LEAST = 1e-300  # of a rate above 0; much smaller numbers have fewer digits, and then none
_FAR_FROM_ONE = 1e-3  # a row of a table that was rounded to three digits still sums to 1

_WEIGHT = Number(least=0)
_NOISE = ("keep", "epsilon")
_MOST_EPSILON = 30.0
_MECHANISM_FOR_EDITORS: dict[str, Any] = {
    "anyOf": [
        {"type": "object", "additionalProperties": {"type": ["number", "object"]}},
        {"type": "array", "items": {"type": ["number", "array"]}},
        {"const": "fit"},
    ]
}


def _read_noise(name: str, entry: object, size: int) -> Rates:
    """Return the rates of values that are wrong with a known probability, all wrong ones alike."""
    try:
        said = float(_WEIGHT.read(entry))
    except ValueError:
        said = -1.0
    if name == "keep":
        keep = said
        if not 0 < keep < 1:
            raise rejection(f"expected a probability between 0 and 1, found {seen(entry)}", name)
    else:
        if not 0 < said <= _MOST_EPSILON:
            what = f"expected a number above 0, up to {_MOST_EPSILON:g}, found {seen(entry)}"
            raise rejection(what, name)
        keep = math.exp(said) / (math.exp(said) + size - 1)
    other = (1 - keep) / (size - 1)
    return tuple(tuple(keep if v == c else other for c in range(size)) for v in range(size))


def is_noisy(mechanism: object) -> bool:
    """Return whether a mechanism is that of cells that state a value, which may be wrong."""
    return isinstance(mechanism, tuple) and all(row[v] > 0 for v, row in enumerate(mechanism))


def _read_mechanism(entry: object, values: Sequence[str], *, noisy: bool = True) -> Rates:
    if isinstance(entry, Mapping) and len(entry) == 1:
        ((name, said),) = entry.items()
        if noisy and name in _NOISE and name not in values:
            return _read_noise(str(name), said, len(values))
    if isinstance(entry, Mapping) and {*map(str, entry)}.isdisjoint(values):
        keys = [str(name) for name in entry]
        if not noisy and any(name in _NOISE for name in keys):
            raise rejection("cells that state one value each have no `cells`: leave out `cells`")
        if any(nearest_word(name, _NOISE) for name in keys):
            what = f"expected either `keep` or `epsilon`, found {quote(', '.join(keys))}"
            raise rejection(what)
    lines = _by_value(entry, values)
    if any(isinstance(line, Mapping | list | tuple) for line in lines.values()):
        table = {value: _by_value(lines.get(value, {}), values, value) for value in values}
        rates = [[_share(table[v].get(c, 0), v, c) for c in values] for v in values]
        noisy = noisy and all(row[place] > 0 for place, row in enumerate(rates))
        refuse(
            problem(f"{quote(v)} cannot rule itself out: set its probability to 0", v)
            if row[place] > 0 and not noisy
            else problem(
                f"expected probabilities that sum to 1 for {quote(v)}, found {sum(row):g}", v
            )
            for place, (v, row) in enumerate(zip(values, rates, strict=True))
            if (row[place] > 0 and not noisy) or abs(sum(row) - 1) > _FAR_FROM_ONE
        )
        least = f"is too small for a probability: use 0, or {_LEAST:g} or more"
        refuse(
            problem(f"{rate:g} {least}", v, c)
            for v, row in zip(values, rates, strict=True)
            for c, rate in zip(values, row, strict=True)
            if 0 < rate < _LEAST
        )
    else:
        refuse(
            problem(f"no weight for {quote(c)}: add one", code="schema-no-weight")
            for c in values
            if c not in lines
        )
        weights = {c: _share(lines[c], c) for c in values}
        largest = max(weights.values()) or 1.0  # or a sum may be too large
        least = f"the largest weight, {largest:g}: use 0, or at least {_LEAST:g} times that"
        refuse(
            problem(f"{weight:g} is too small compared with {least}", c)
            for c, weight in weights.items()
            if weight > 0 and weight / largest < _LEAST
        )
        rates = [[0.0 if c == v else weights[c] / largest for c in values] for v in values]
        if not any(map(any, rates)):
            raise rejection("expected a weight above 0 for two values or more")
        cannot = "has a weight, but a value cannot rule itself out: give another value a weight"
        refuse(
            problem(f"only {quote(v)} {cannot}", v)
            for v, row in zip(values, rates, strict=True)
            if sum(row) == 0
        )
    sums = [sum(row) for row in rates]
    return tuple(
        tuple(row) if abs(total - 1) <= _ROUNDING else tuple(rate / total for rate in row)
        for total, row in zip(sums, rates, strict=True)
    )


def _by_value(entry: object, values: Sequence[str], *place: str) -> dict[str, object]:
    if isinstance(entry, Mapping):
        entry = {str(scalar_text(name)): share for name, share in entry.items()}
        others = (name for name in entry if name not in values)
        refuse(problem(unknown("value", one, values), *place, one) for one in others)
        return entry
    if not isinstance(entry, list | tuple):
        near = did_you_mean(entry, ["fit"]) if isinstance(entry, str) and not place else ""
        expected = "expected a weight for each value, or a table of probabilities"
        what = f"{expected}, found {seen(entry)}{near}"
        raise rejection(what, *place, code="schema-mechanism")
    if len(entry) != len(values):
        wanted = f"expected {len(values)} entries, as many as there are values"
        raise rejection(f"{wanted}, found {len(entry)}", *place, code="schema-mechanism")
    return dict(zip(values, entry, strict=True))


def _share(entry: object, *place: str) -> float:
    try:
        return float(_WEIGHT.read(entry))
    except ValueError:
        what = f"expected a number, 0 or more, found {seen(entry)}"
        raise rejection(what, *place, code="schema-mechanism") from None


# What can be wrong with a list of values.


def _list_problems(
    values: tuple[str, ...], *, least: int = 0, most: int | None = None
) -> Iterator[InitErrorDetails]:
    first: dict[str, int] = {}
    for place, value in enumerate(values):
        if first.setdefault(value, place) != place:
            message = f"duplicate value {quote(value)} (first as item {first[value] + 1})"
            yield problem(message, place, code="schema-duplicate-value")
    if not least <= len(values) <= (most or len(values)):
        number = "exactly 2 values for a binary column" if most else f"at least {least} values"
        yield problem(f"expected {number}, found {len(values)}")


# What one column of a table means: ordinary, complementary, an identifier, or ignored.

# To an editor `no`, `01` and `~` are what YAML makes of them; to us they are text. Strict, because
# a set would pass for a list too, in any order.
_TEXT_TYPES = ["string", "number", "boolean", "null"]
_Text = Annotated[str, Strict(), WithJsonSchema({"type": _TEXT_TYPES})]
Text = Annotated[_Text, BeforeValidator(scalar_text)]
Texts = Annotated[tuple[Text, ...], Strict(), BeforeValidator(as_tuple)]
NonEmpty = Annotated[_Text, Field(min_length=1), BeforeValidator(scalar_text)]
_Switch = Annotated[
    bool,
    BeforeValidator(
        lambda said: (
            {"true": True, "false": False}.get(said, said) if isinstance(said, str) else said
        )
    ),
    Strict(),
]


def _by_texts(said: object) -> object:
    if not isinstance(said, Mapping):
        return said
    texts = {value: [one] if isinstance(one, str) else one for value, one in said.items()}
    return {str(scalar_text(value)): one for value, one in texts.items()}


_ALIASES_FOR_EDITORS: dict[str, Any] = {
    "type": "object",
    "additionalProperties": {
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": _TEXT_TYPES}}]
    },
}
_Aliases = Annotated[
    dict[str, Texts], Strict(), BeforeValidator(_by_texts), WithJsonSchema(_ALIASES_FOR_EDITORS)
]
_SETS_FOR_EDITORS: dict[str, Any] = {"anyOf": [{"type": "string"}, _ALIASES_FOR_EDITORS]}
_Sets = Annotated[
    dict[str, Texts], Strict(), BeforeValidator(_by_texts), WithJsonSchema(_SETS_FOR_EDITORS)
]
OnMissing: TypeAlias = Literal["fill", "error"]
Decimal: TypeAlias = Literal[".", ","]
Scale: TypeAlias = Literal["minmax", "robust", "auto"]
Cycles = Annotated[tuple[Literal["day", "week", "year"], ...], Strict(), BeforeValidator(as_tuple)]
_VALUED = ("binary", "categorical", "ordered")
_KEYS = {
    "bounds": ("numeric",),
    "decimal": ("numeric",),
    "unit": ("numeric",),
    "scale": ("numeric", "date"),
    "format": ("date",),
    "cycle": ("date",),
}


_SPELLING = ("ignore_case", "aliases")


def _spelling_problems(column: "Ordinary | Complementary") -> Iterator[InitErrorDetails]:
    """Yield why the cells of a column cannot be read by its `ignore_case` and `aliases`."""
    values, seen_at = column.values or (), dict[str, str]()
    for key in _SPELLING:
        if getattr(column, key) and not values:
            yield problem("needs the values: list them under `values`", key)
            return
    for value, others in (column.aliases or {}).items():
        if value not in values:
            yield problem(unknown("value", value, values), "aliases", value)
        for place, text in enumerate(others):
            if text in values:
                yield problem(f"{quote(text)} is a value itself", "aliases", value, place)
            elif text in seen_at:
                what = f"{quote(text)} already means {quote(seen_at[text])}"
                yield problem(what, "aliases", value, place)
            seen_at.setdefault(text, value)
    folded: dict[str, str] = {}
    for value in values if column.ignore_case else ():
        if (other := folded.setdefault(value.casefold(), value)) != value:
            what = f"{quote(other)} and {quote(value)} differ in letter case only"
            yield problem(what, "ignore_case")


class Ordinary(FrozenModel):
    """An ordinary feature: its cells say what the value is."""

    where: ClassVar[str] = " for an ordinary column"
    model_config = ConfigDict(json_schema_extra={"required": ["role", "type"]})

    role: Literal["ordinary"] = "ordinary"
    type: Literal["numeric", "binary", "categorical", "ordered", "date"]
    """Type of the cells: numbers, one of two values, a category, a category with an order, or dates
    and times."""
    values: Texts | None = Field(None, json_schema_extra={"minItems": 2})
    """The values that cells may hold, in order if the type is `ordered`. Default: the values seen."""
    ignore_case: _Switch | None = None
    """Whether cells that differ from a value in letter case only mean that value."""
    aliases: _Aliases | None = None
    """Other spellings of the values. Each value has a list of texts that mean the same."""
    missing: Texts | None = None
    """Further cells of this column that count as missing."""
    on_missing: OnMissing | None = None
    """What to do with missing cells of this column. Default: as for the whole table."""
    decimal: Decimal | None = None
    """The decimal mark of this column's numbers, if it differs from the file's."""
    bounds: _Switch | None = None
    """Whether a cell such as <5 or 90+ is read as its number, 5 or 90."""
    unit: NonEmpty | None = None
    """The unit before or after the numbers, such as kg or %."""
    scale: Scale | None = None
    """How numbers and dates become 0 to 1: from the smallest to the largest (minmax), between
    fences that a few extreme cells cannot move (robust), or the better of the two on held-out cells
    (auto). Default: as for the whole table."""
    format: NonEmpty | None = None
    """Format of the dates, such as %d.%m.%Y. Default: ISO 8601."""
    cycle: Cycles | None = None
    """Cycles of a date that matter: day, week, year."""

    @model_validator(mode="after")
    def _keys_of_the_type(self) -> Self:
        wrong = [
            problem(f"only a {' or '.join(types)} column has `{key}`; leave it out", key)
            for key, types in _KEYS.items()
            if getattr(self, key) is not None and self.type not in types
        ]
        if self.values is None and self.type == "ordered":
            missing = "an ordered column needs its values in order: list them under `values`"
            wrong.insert(0, problem(missing))
        if self.type in _VALUED or not (self.ignore_case or self.aliases):
            wrong += _spelling_problems(self)
        else:
            what = f"a {self.type} column has no values that are spelled; leave it out"
            wrong += [problem(what, key) for key in _SPELLING if getattr(self, key)]
        refuse(wrong)
        return self

    @field_validator("missing", "cycle")
    @classmethod
    def _listed_once(cls, listed: tuple[str, ...] | None) -> tuple[str, ...] | None:
        refuse(_list_problems(listed or ()))
        return listed

    @field_validator("format")
    @classmethod
    def _reads_dates(cls, written: str | None, info: ValidationInfo) -> str | None:
        from cfl_cli.texts.dates import FormatError, pattern

        if written is not None and info.data.get("type") == "date":  # others have none
            try:
                pattern(written)
            except FormatError as error:
                raise rejection(f"{quote(written)} {error}", code="schema-date-format") from None
        return written

    @field_validator("values", mode="wrap")
    @classmethod
    def _a_domain(
        cls, values: object, validate: ValidatorFunctionWrapHandler, info: ValidationInfo
    ) -> Texts | None:
        kind = info.data.get("type")
        if values is not None and kind in ("numeric", "date"):
            raise rejection(f"a {kind} column has no list of values; leave it out")
        listed: Texts | None = validate(values)
        if listed is not None:
            refuse(_list_problems(listed, least=2, most=2 if kind == "binary" else None))
        return listed


def _read_otherwise(
    text: str, separator: str | None, exact: str | None, *place: int | str
) -> Iterator[InitErrorDetails]:
    found = [("holds the separator", separator)] if separator and separator in text else []
    if exact and text.startswith(exact):
        found.append(("starts with the exact mark", exact))
    for what, sign in found:
        yield problem(f"no cell can rule out {quote(text)}: it {what} {quote(sign)}", *place)


class Complementary(FrozenModel):
    """A complementary feature: its cells tell something about a value, mostly what it is not."""

    where: ClassVar[str] = " for a complementary column"
    model_config = ConfigDict(json_schema_extra={"required": ["role"]})

    role: Literal["complementary"] = "complementary"
    cells: Literal["exclusions", "candidates"] | None = None
    """What a cell lists: `exclusions`, which it rules out, or `candidates`, one of which is the
    value. Default: exclusions, or candidates if there is a `hierarchy`, `codes` or `bins`."""
    hierarchy: _Sets | None = None
    """The ancestors of the values, each with its values, or a file with a line `value;level 1;level 2`
    for each value. A cell may name any ancestor."""
    codes: _Sets | None = None
    """Old codes, each with the values that it may mean, or a file with a header and two columns, old
    code and value."""
    bins: Annotated[tuple[float, ...], BeforeValidator(as_tuple)] | None = None
    """The edges of the bins, from the smallest to the largest. The bins are the values. A cell may
    hold a number, or a range such as 30-40, <5 or 65+."""
    separator: NonEmpty | None = None
    """Separator between several exclusions in a cell."""
    exact: NonEmpty | None = None
    """The mark at the start of a cell that states the value itself."""
    exact_cells: Literal["random"] | None = None
    """How cells with the exact mark were chosen, if they are a random sample of the rows."""
    values: Texts | None = Field(None, json_schema_extra={"minItems": 2})
    """The domain, in order. Default: the values seen, sorted."""
    shares: dict[str, float] | None = None
    """The known shares of the values. They split the probability of values that no cell tells apart."""
    ordered: bool | None = None
    """Whether `values` are in order. If they are, a tendency to rule out neighbors of the true
    value can be detected."""
    drawn: Literal["at-random", "by-people", "in-blocks"] | None = None
    """How cells arose: drawn `at-random`, as by software that blurs, chosen `by-people`, or
    `in-blocks`, where each cell is the block that contains its value. For cells chosen by people, the
    accuracy is a range unless an audit or random exact cells narrow it. For blocks, it is not known."""
    ignore_case: _Switch | None = None
    """Whether cells that differ from a value in letter case only mean that value."""
    aliases: _Aliases | None = None
    """Other spellings of the values: for each value a list of texts that mean it."""
    missing: Texts | None = None
    """More cells of this column that count as missing, besides those of the whole table."""
    blurred: Literal["privacy"] | None = None
    """Why the values were blurred on purpose: `privacy`. The column is filled in only if a run
    names it."""
    mechanism: Annotated[Rates | _Fit, WithJsonSchema(_MECHANISM_FOR_EDITORS)] | None = None
    """How exclusions are drawn, if not uniformly: a weight for each value, a table of
    P(excluded | true), or `fit` for weights that are fitted with the help of exact cells. For cells
    that state values which may be wrong: the probability of a correct cell, {keep: 0.55}, the ε of a
    randomized response, {epsilon: 2}, or a table of P(stated | true)."""

    @model_validator(mode="before")
    @classmethod
    def _sets_from_files(cls, entries: object, info: ValidationInfo) -> object:
        """Return the entries with what their files hold, and the values that follow from it."""
        if not isinstance(entries, Mapping):
            return entries
        folder = info.context.get("folder") if isinstance(info.context, Mapping) else None
        listed, found = entries.get("values"), dict(entries)
        values = None
        if isinstance(listed, list | tuple):
            values = [one for one in listed if isinstance(one, str)]
        follow: dict[str, None] = {}
        for name in ("hierarchy", "codes"):
            said = entries.get(name)
            if isinstance(said, str):
                try:
                    found[name], more = from_file(name, said, folder, values)
                except ValueError as error:
                    raise rejection(str(error), name, code="schema-sets-file") from None
                follow |= dict.fromkeys(more)
            elif isinstance(said, Mapping):
                sets = [one if isinstance(one, list | tuple) else [one] for one in said.values()]
                follow |= {str(value): None for some in sets for value in some}
        bins = entries.get("bins")
        if isinstance(bins, list | tuple):
            try:
                numbers = tuple(float(str(one)) for one in bins)
            except ValueError:
                numbers = ()
            rising = len(numbers) > 2 and all(a < b for a, b in pairwise(numbers))
            if not rising or not all(map(math.isfinite, numbers)):
                what = "expected three numbers or more, from the smallest to the largest"
                raise rejection(what, "bins")
            found["bins"] = numbers
            follow = dict.fromkeys(names_of(numbers))
        if listed is None and follow:
            found["values"] = [*follow]
        return found

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        """Refuse entries that contradict each other."""
        wrong, values = [], self.values or ()
        blocks = [key for key in ("hierarchy", "codes", "bins") if getattr(self, key) is not None]
        for key in ("hierarchy", "codes"):
            told = [*set_problems(getattr(self, key) or {}, values)]
            wrong += [problem(what, key, name) for name, what in told]
        if self.hierarchy and not wrong and (what := ancestors_problem(self.hierarchy)):
            wrong.append(problem(what, "hierarchy"))
        if self.bins and self.values != names_of(self.bins):
            what = "the bins are the values: leave out `values`"
            wrong.append(problem(what, "values"))
        if self.mechanism is not None:
            what = "cells that are blocks are not drawn: leave out `mechanism`, or"
            wrong += [problem(f"{what} `{key}`", "mechanism") for key in blocks]
            if self.drawn == "in-blocks":
                wrong.append(problem(f"{what} `drawn: in-blocks`", "mechanism"))
        if is_noisy(self.mechanism):
            for key in ("separator", "cells", "drawn"):
                if getattr(self, key) not in (None, "at-random"):
                    what = "with this mechanism, cells state one value each: leave it out"
                    wrong.append(problem(what, key))
            if self.exact is not None and len(values) == 2:
                what = "a column of two values cannot have both exact and noisy cells: leave it out"
                wrong.append(problem(what, "exact"))
        if self.shares is not None:
            wrong += [
                problem(unknown("value", name, values), "shares", name)
                for name in self.shares
                if name not in values
            ]
            numbers = [*self.shares.values()]
            if not wrong and (min(numbers, default=0) < 0 or abs(sum(numbers) - 1) > _FAR_FROM_ONE):
                what = f"expected shares of 0 or more that sum to 1, found {sum(numbers):g}"
                wrong.append(problem(what, "shares"))
            missing = [value for value in values if value not in self.shares]
            wrong += [
                problem(f"no share for {quote(value)}: add one", "shares") for value in missing
            ]
        refuse(wrong)
        return self

    @property
    def by_name(self) -> bool:
        """Whether cells may name several values at once, and are blocks then."""
        sets = (self.hierarchy, self.codes, self.bins)
        return any(one is not None for one in sets) or bool(self.ordered and self.cells)

    @property
    def values_from(self) -> str | None:
        """The key that says which values there are, if it is not `values`."""
        keys = ("bins", "hierarchy", "codes")
        return next((key for key in keys if getattr(self, key) is not None), None)

    @property
    def holds_candidates(self) -> bool:
        """Whether a cell lists what the value may be, and not what it is not."""
        blocks = self.hierarchy is not None or self.codes is not None or self.bins is not None
        return self.cells == "candidates" or (self.cells is None and blocks)

    @property
    def in_blocks(self) -> bool:
        """Whether cells are blocks of values, by what the schema says of them."""
        return self.drawn == "in-blocks" or any((self.hierarchy, self.codes, self.bins))

    @property
    def noisy(self) -> bool:
        """Whether a cell states a value that may be wrong."""
        return is_noisy(self.mechanism)

    def notation(self, values: Sequence[str]) -> Notation:
        """Return how cells mean several of these values at once."""
        sets = {**(self.hierarchy or {}), **(self.codes or {})}
        candidates = self.holds_candidates
        return Notation(
            values,
            sets,
            ordered=bool(self.ordered) and candidates,
            bins=self.bins,
            prefixes=candidates,
            ignore_case=bool(self.ignore_case),
        )

    @model_validator(mode="after")
    def _spelled(self) -> Self:
        wrong = [*_spelling_problems(self)]
        for value, texts in (self.aliases or {}).items():
            for place, text in enumerate(texts):
                where = ("aliases", value, place)
                wrong += _read_otherwise(text, self.separator, self.exact, *where)
        refuse(wrong)
        return self

    @field_validator("mechanism", mode="before")
    @classmethod
    def _in_full(cls, mechanism: object, info: ValidationInfo) -> Rates | _Fit | None:
        if mechanism == "fit":
            if "exact_cells" in info.data and info.data["exact_cells"] is None:
                what = "fitting weights needs exact cells that are a random sample: add "
                raise rejection(what + "`exact_cells: random` if they are one, or give the weights")
            return "fit"
        if mechanism is None or "values" not in info.data:  # they are wrong, and reported
            return None
        values = info.data["values"] or ()
        if not values:
            what = "a mechanism needs the domain: list it under `values`"
            raise rejection(what, code="schema-mechanism")
        return _read_mechanism(mechanism, values, noisy=info.data.get("cells") is None)

    @field_validator("ordered", mode="before")
    @classmethod
    def _in_order(cls, said: object, info: ValidationInfo) -> object:
        found = {"true": True, "false": False}.get(str(said).lower()) if said is not None else None
        if said is not None and found is None:
            raise rejection(f"expected true or false, found {seen(said)}")
        if found and info.data.get("values", ()) is None:
            raise rejection("an order needs the domain: list it under `values`, in order")
        return found

    @field_validator("drawn", mode="before")
    @classmethod
    def _a_known_way(cls, said: object) -> object:
        ways = ("at-random", "by-people", "in-blocks")
        if said is not None and said not in ways:
            raise rejection(unknown("way", said, ways), code="schema-unknown-word")
        return said

    @field_validator("exact")
    @classmethod
    def _unlike_separator(cls, exact: str | None, info: ValidationInfo) -> str | None:
        if exact is not None and exact == info.data.get("separator"):
            raise rejection(f"{quote(exact)} is the separator too; choose another mark")
        return exact

    @field_validator("exact_cells", "blurred", mode="before")
    @classmethod
    def _the_only_word(cls, said: object, info: ValidationInfo) -> object:
        word = {"exact_cells": "random", "blurred": "privacy"}[info.field_name or ""]
        if said is not None and said != word:
            raise rejection(f"expected {word}, found {seen(said)}")
        exact = info.data.get("exact", "wrong, and reported")
        candidates = any(info.data.get(key) for key in ("cells", "hierarchy", "codes", "bins"))
        if (
            info.field_name == "exact_cells"
            and said is not None
            and exact is None
            and not candidates
        ):
            raise rejection('no cell can be exact without a mark: add `exact`, such as exact: "="')
        return said

    @field_validator("values")
    @classmethod
    def _a_domain(cls, values: Texts | None, info: ValidationInfo) -> Texts | None:
        separator, exact = info.data.get("separator"), info.data.get("exact")
        wrong = [] if values is None else [*_list_problems(values, least=2)]
        for place, value in enumerate(values or ()):
            wrong += _read_otherwise(value, separator, exact, place)
        refuse(wrong)
        return values


class Ignored(FrozenModel):
    """A column that is not used, like columns that are not listed."""

    where: ClassVar[str] = " for an ignored column"
    model_config = ConfigDict(json_schema_extra={"required": ["role"]})

    role: Literal["ignore"] = "ignore"


class Identifier(FrozenModel):
    """A column that identifies a person or a thing. It is not a feature, and no message shows its
    cells."""

    where: ClassVar[str] = " for an identifier"
    model_config = ConfigDict(json_schema_extra={"required": ["role"]})

    role: Literal["identifier"] = "identifier"


ROLES: dict[str, type[FrozenModel]] = {
    "ordinary": Ordinary,
    "complementary": Complementary,
    "identifier": Identifier,
    "ignore": Ignored,
}


def _checked(
    column: object, validate: ValidatorFunctionWrapHandler, info: ValidationInfo
) -> FrozenModel:
    if isinstance(column, Mapping):
        if "role" not in column:
            raise rejection(lacking("role", [*ROLES]), code="schema-missing-key")
        if column["role"] not in [*ROLES]:
            what = unknown("role", column["role"], [*ROLES])
            raise rejection(what, "role", code="schema-unknown-word")
    valid: FrozenModel = validate(column)
    said: list[tuple[Loc, str | None]] = [
        *(((name,), getattr(valid, name, None)) for name in ("separator", "exact")),
        *((("values", i), value) for i, value in enumerate(getattr(valid, "values", None) or ())),
        *(
            (("aliases", value, i), text)
            for value, texts in (getattr(valid, "aliases", None) or {}).items()
            for i, text in enumerate(texts)
        ),
    ]
    missing = {*info.data.get("missing", ()), *(getattr(valid, "missing", None) or ())}
    if getattr(valid, "type", None) == "binary":
        missing -= {""}  # x beside empty cells: yes and no
    refuse(
        problem(f"no cell can say {quote(text)}: it is listed under 'missing'", *loc)
        for loc, text in said
        if text is not None and text in missing
    )
    return valid


_Column = Annotated[
    Ordinary | Complementary | Identifier | Ignored,
    Field(discriminator="role"),
    WrapValidator(_checked),
]


# How text tables are written: what a schema says of it, so that no call has to repeat it.


_DECIMAL = "The decimal mark of numbers; if given, thousands separators are read too."


def _meant(text: str | None, info: ValidationInfo) -> str | None:
    try:
        return None if text is None else word(info.field_name or "", text)
    except ValueError as error:
        raise rejection(str(error)) from None


_Word = Annotated[NonEmpty | None, AfterValidator(_meant)]


class _TextFile(FrozenModel):
    """The form of CSV and TSV files. Missing keys have their defaults."""

    where: ClassVar[str] = " for `file`"

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> dict[str, Any]:
        schema = handler(core)
        entries = handler.resolve_ref_schema(schema)["properties"]
        for name, one in OPTIONS.items():
            entries[name]["description"] = one.description
        entries["decimal"]["description"] = _DECIMAL
        return cast("dict[str, Any]", schema)

    @field_validator("quote", "escape", check_fields=False)
    @classmethod
    def _one_sign(cls, sign: str | None, info: ValidationInfo) -> str | None:
        for other in ("delimiter", "quote"):
            same = info.field_name != other and sign == info.data.get(other)
            if same and sign not in (None, NONE):
                raise rejection(f"{quote(sign or '')} is the {other} too; choose another")
        return sign


if TYPE_CHECKING:

    class TextFile(_TextFile):
        """How CSV and TSV files are written; what is left out is as usual."""

        def __init__(self, **entries: str | None) -> None: ...
        def __getattr__(self, name: str) -> Any: ...

else:
    TextFile = create_model(
        "TextFile",
        __base__=_TextFile,
        __doc__=_TextFile.__doc__,
        __module__=__name__,
        **{
            name: (Literal[kind.choices] | None if isinstance(kind, Choice) else _Word, None)
            for name, kind in ((name, one.kind) for name, one in OPTIONS.items())
        },
        decimal=(Decimal | None, None),
    )


# The settings in a schema: one mapping in the file, two types in Python.


def answer_of(entry: object) -> Settings:
    """Return the settings that decide the answer, or refuse with all that is wrong with `entry`."""
    if isinstance(entry, Settings):
        return entry
    if not isinstance(entry, Mapping):
        raise rejection(f"expected a mapping (key: value), found {seen(entry)}")
    values, flaws = read_settings({str(name): value for name, value in entry.items()})
    flaws += [
        (name, f"not a key of the schema but of a single run: use {option(name)} instead")
        for name in values
        if not SETTINGS[name].in_schema
    ]
    settings = Settings().replaced(values)
    codes = {True: "schema-setting", False: "schema-unknown-setting"}  # by whether it is one
    said = flaws or settings.contradictions()
    refuse(problem(message, name, code=codes[name in SETTINGS]) for name, message in said)
    return settings


SETTINGS_FOR_EDITORS: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        setting.name: {
            **setting.kind.json_schema,
            **({} if setting.default is None else {"default": setting.default}),
            "description": setting.help,
        }
        for setting in SETTINGS.values()
        if setting.in_schema
    },
}


# The columns that name rows which belong together: one, or a list of them.

_NAME = {"type": ["string", "number", "boolean"]}  # what YAML may make of a name


_Group = Annotated[
    tuple[Annotated[str, Strict(), Field(min_length=1)], ...],
    Strict(),
    BeforeValidator(lambda one: (one,) if isinstance(one, str) else one),
    BeforeValidator(lambda names: tuple(names) if isinstance(names, list) else names),
    WithJsonSchema({"anyOf": [_NAME, {"type": "array", "items": _NAME}]}),
]


# Entries of a schema as YAML text: every text as it is, whatever characters it holds.

_LONG_KEY = 1000  # YAML reads a key of up to 1024 characters by its colon alone


def flow(entry: object) -> str:
    """Return an entry on one line: `{role: ordinary, values: [a, b]}`."""
    match entry:
        case str():
            return scalar(entry)
        case bool():
            return str(entry).lower()
        case Mapping():
            return f"{{{', '.join(f'{scalar(name)}: {flow(one)}' for name, one in entry.items())}}}"
        case Sequence():
            return f"[{', '.join(map(flow, entry))}]"
        case _:
            return repr(entry)


def key(name: str) -> str:
    """Return a column's name as a key in a block of its own, up to its colon."""
    text = scalar(name)
    return text if len(text) < _LONG_KEY else f"? {text}\n  "


def scalar(text: str) -> str:
    """Return the text as a YAML scalar: bare where that is safe, in double quotes otherwise."""
    bare = text.replace("_", "").replace("-", "").replace(".", "")
    safe = bare.isascii() and bare.isalnum() and text[0].isalnum()
    if safe:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{printable(escaped)}"'


__all__ = ["Complementary", "Identifier", "Ignored", "Ordinary", "Schema"]


@dataclass(frozen=True)
class _Aside:
    """By what schemas are not compared: its text, the settings that it names, its columns by role."""

    text: str = field(default="", compare=False)
    named: frozenset[str] = field(default=frozenset(), compare=False)
    columns: Mapping[str, _Column] | None = field(default=None, compare=False)
    ordinary: dict[str, Ordinary] = field(default_factory=dict, compare=False)
    complementary: dict[str, Complementary] = field(default_factory=dict, compare=False)


class Schema(FrozenModel):
    """The roles and types of a table's columns, and the settings of a run."""

    model_config = ConfigDict(
        title="cfl schema", json_schema_extra={"required": ["version", "columns"]}
    )

    version: Literal[1] = 1
    """The version of this format."""
    file: TextFile = Field(default_factory=TextFile)
    """The form of text tables. Options on the command line take precedence."""
    missing: Texts = ("",)
    """Cells that count as missing."""
    on_missing: OnMissing = "fill"
    """Whether a missing cell of an ordinary column is filled in or an error."""
    scale: Scale | None = None
    """How numbers and dates are scaled. Default: minmax. A column may override it."""
    columns: Mapping[Annotated[str, Strict()], _Column] = Field(
        json_schema_extra={"minProperties": 2}
    )
    """The columns by name; those not listed are ignored."""
    group: _Group = ()
    """The column or columns whose equal cells mark rows that belong together."""
    settings: Annotated[
        Settings, PlainValidator(answer_of), WithJsonSchema(SETTINGS_FOR_EDITORS)
    ] = Field(default_factory=Settings)
    """Settings of the method and of the run."""
    _run: RunSettings = PrivateAttr(default_factory=RunSettings)
    _aside: _Aside = PrivateAttr(default_factory=_Aside)

    @model_validator(mode="wrap")
    @classmethod
    def _with_run(cls, entries: object, validate: ModelWrapValidatorHandler[Self]) -> Self:
        schema = validate(entries)
        if isinstance(entries, Mapping):
            settings = entries.get("settings")
            values = read_settings(settings)[0] if isinstance(settings, Mapping) else {}
            schema._run = RunSettings().replaced(values)  # noqa: SLF001 — its own
            named = SETTINGS if isinstance(settings, Settings) else values
            schema._aside = replace(schema._aside, named=frozenset(named))  # noqa: SLF001 — its own
        return schema

    @property
    def run(self) -> RunSettings:
        """How a command runs, as far as the schema says it under `settings`."""
        return self._run

    @property
    def named_settings(self) -> frozenset[str]:
        """The settings that the schema itself names; all others are as by default."""
        return self._aside.named

    @field_validator("version", mode="before")
    @classmethod
    def _read_here(cls, version: object) -> object:
        if str(version) != "1":
            what = f"this cfl reads version 1, found {quote(str(version))}"
            raise rejection(what, code="schema-version")
        return 1

    @field_validator("missing")
    @classmethod
    def _listed_once(cls, missing: Texts) -> Texts:
        refuse(_list_problems(missing))
        return missing

    @field_validator("group")
    @classmethod
    def _no_cf(cls, group: _Group, info: ValidationInfo) -> _Group:
        wrong, columns = [], info.data.get("columns", {})
        for place, name in enumerate(group):
            if name in group[:place]:
                wrong.append(problem(f"column {quote(name)} is named twice; once is enough", place))
            if isinstance(columns.get(name), Complementary):
                what = (
                    f"column {quote(name)} is complementary, and exclusions do not say which rows"
                )
                wrong.append(problem(f"{what} belong together: choose another column", place))
        refuse(wrong)
        return group

    @field_validator("columns", mode="wrap")
    @classmethod
    def _of_both_kinds(cls, columns: object, validate: ValidatorFunctionWrapHandler) -> object:
        if not isinstance(columns, Mapping):
            return validate(columns)
        roles = [
            column.get("role") if isinstance(column, Mapping) else getattr(column, "role", None)
            for column in columns.values()
        ]
        reasons = {
            "ordinary": "rows are compared by them",
            "complementary": "there is nothing to impute",
        }
        unmarked = [
            problem(f"no {role} column: mark at least one, {reason}", code="schema-no-column")
            for role, reason in reasons.items()
            if role not in roles and all(other in [*ROLES] for other in roles)
        ]
        try:
            valid = validate(columns)
        except ValidationError as error:  # all problems at once: pydantic's, and these
            again = []
            for one in error.errors():
                kind = PydanticCustomError(one["type"], one["msg"], one.get("ctx"))
                again.append(InitErrorDetails(type=kind, loc=one["loc"], input=one["input"]))
            refuse([*again, *unmarked])
            raise
        refuse(unmarked)
        return valid

    @classmethod
    def locate(cls, loc: Loc) -> tuple[Loc, type[FrozenModel]]:
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
                check_there(what)
                return cls.load(what)
        raise UsageError(
            Problem(
                "schema-argument",
                "schema: expected a Schema, a dict, or the path or text of a YAML file, found {kind}"
                + ("; the table comes first" if hasattr(what, "columns") else ""),
                kind=type_name_of(what),
            )
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        return cls.parse(yaml_text.file_text(path), os.fspath(path))

    @classmethod
    def parse(cls, text: str, name: str = "schema") -> Self:
        """Return the schema in YAML text; `name` is what messages call it."""
        document = yaml_text.read_yaml(text, name=name)
        problems = list(document.problems)
        if document.data == "":
            what = "the file is empty; start with 'version: 1'"
            problems.append(document.problem((), "schema-empty", what))
        elif document.data is not None:
            if isinstance(document.data, dict) and "version" not in document.data:
                what = "'version' is missing; add 'version: 1'"
                problems.append(document.problem((), "schema-version", what))
            try:
                folder = str(Path(name).parent)
                schema = cls.model_validate(document.data, context={"folder": folder})
            except ValidationError as error:
                problems += schema_problems(error, cls, document)
        if problems:
            problems.sort(key=lambda one: (one.place.line or 0, one.facts["at"], str(one)))
            raise SchemaError(*problems)
        if not _names_files(document.data):  # or it says less without them
            schema._aside = replace(schema._aside, text=document.text)  # noqa: SLF001 — its own
        return schema

    @property
    def text(self) -> str:
        """The schema as YAML that `parse` makes it from again: as it was written, if it was."""
        text = self._aside.text
        return text if text and Schema.parse(text) == self else self.plain_text

    @property
    def plain_text(self) -> str:
        """The same as YAML of its own, without the comments, which may hold cells of the table."""
        facts = self.model_dump(exclude={"settings"}, exclude_none=True)
        if not facts["file"]:
            del facts["file"]
        facts["settings"] = {  # that are not as by default
            setting.name: getattr(table, setting.name)
            for table in (self.settings, self._run)
            for setting in entries(type(table))
            if setting.in_schema and getattr(table, setting.name) != setting.default
        }
        lines = []  # an entry on each, and so are those of `columns`
        for name, entry in facts.items():
            if name == "columns":
                lines.append("columns:")
                lines += [f"  {key(column)}: {flow(it)}" for column, it in entry.items()]
            else:
                lines.append(f"{key(name)}: {flow(entry)}")
        text = "\n".join(lines) + "\n"
        if len(text) > yaml_text.LIMIT:
            text = f"the schema as text is {yaml_text.TOO_LARGE}"
            raise SchemaError(Problem("schema-too-large", text))
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
    def with_ancestors(self) -> frozenset[str]:
        """The CFs whose values have ancestors, which answers may name."""
        return frozenset(name for name, cf in self.complementary.items() if cf.hierarchy)

    @property
    def blurred(self) -> dict[str, str]:
        """The CFs that were blurred on purpose, and why, in the schema's order."""
        return {name: cf.blurred for name, cf in self.complementary.items() if cf.blurred}

    def _sorted(self) -> _Aside:
        if self._aside.columns is not self.columns:
            columns = self.columns.items()
            self._aside = replace(
                self._aside,
                columns=self.columns,
                ordinary={name: it for name, it in columns if isinstance(it, Ordinary)},
                complementary={name: it for name, it in columns if isinstance(it, Complementary)},
            )
        return self._aside

    def missing_in(self, name: str) -> tuple[str, ...]:
        column = self.columns.get(name)
        own: Texts = getattr(column, "missing", None) or ()
        said = {""} & {*(getattr(column, "values", None) or ())}  # empty cells that say no
        return tuple(text for text in dict.fromkeys((*self.missing, *own)) if text not in said)

    def decimal_of(self, name: str) -> str | None:
        """Return the decimal sign of a numeric column; None: a point, and no thousands signs."""
        return self.ordinary[name].decimal or self.file.decimal

    def scale_of(self, name: str) -> Scale:
        return self.ordinary[name].scale or self.scale or "minmax"


def _names_files(entries: object) -> bool:
    columns = entries.get("columns") if isinstance(entries, Mapping) else None
    found = columns.values() if isinstance(columns, Mapping) else ()
    return any(
        isinstance(column, Mapping) and isinstance(column.get(key), str)
        for column in found
        for key in ("hierarchy", "codes")
    )


# The JSON Schema of schema files, with which editors complete and check them.


def json_schema() -> dict[str, Any]:
    body = Schema.model_json_schema(schema_generator=_ForEditors)
    return {"$schema": GenerateJsonSchema.schema_dialect, **body}


class _ForEditors(GenerateJsonSchema):
    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        left_out = schema.get("default", ...) is None
        return self.generate_inner(schema["schema"]) if left_out else super().default_schema(schema)

    def field_title_should_be_set(self, schema: object) -> bool:
        return False
