"""Every setting, once: name, kind, default, bounds, a line of help, and which commands have it.

    Settings      what decides the answer
    RunSettings   how a command runs: threads, memory, files, messages (in `run_settings`)

From these entries come the validated types themselves, the options of the command line with their
help and environment variables, the keys under `settings:` in a schema, what the report records,
and the table in the docs. A new setting is one entry here.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias

from cfl_cli.core.entries import (
    Flaw,
    Setting,
    SettingsTable,
    entries,
    entry,
    raise_flaws,
    read_given,
)
from cfl_cli.core.kinds import (
    AUTO,
    COUNT,
    SHARE,
    Bounds,
    Choice,
    Number,
    Switch,
    Whole,
)
from cfl_cli.core.methods import METHODS
from cfl_cli.core.quick import dataclass
from cfl_cli.core.run_settings import RunSettings

__all__ = ["DEFAULT_GAMMA", "SETTINGS", "TABLES", "RunSettings", "Settings", "override", "read"]

Auto: TypeAlias = Literal["auto"]

DEFAULT_GAMMA = 0.25


@dataclass(frozen=True)
class Settings(SettingsTable):
    """What decides the answer; the command line wins over the schema."""

    decides: ClassVar[bool] = True

    method: str = entry(
        Choice(tuple(METHODS)),
        "graph",
        "What estimates the values. "
        + "; ".join(f"{name}: {traits.summary}" for name, traits in METHODS.items())
        + ".",
        *("impute", "fit", "check", "explain"),
        panel="method",
    )
    k: int = entry(
        COUNT,
        20,
        "How many neighbors a row has.",
        *("impute", "fit", "check", "explain", "risk"),
        panel="method",
    )
    iterations: int | Auto = entry(
        Whole(Bounds(least=1), auto=True),
        100,
        "Steps of propagation. auto: chosen for each CF by hidden cells.",
        *("impute", "fit", "check", "explain"),
        panel="method",
    )
    gamma: float | Auto | None = entry(
        Number(Bounds(least=0), auto=True),
        None,
        "How much the first round's confidences count in the second; 0: no second round. auto: a "
        "second round only for CFs whose hidden cells favor it.",
        *("impute", "fit", "check", "explain"),
        panel="method",
        default_text=f"{DEFAULT_GAMMA}; auto where few rows are distinct by their OFs",
    )
    ridge: float = entry(
        Number(Bounds(least=1e-6, most=1e6)),  # below, weights are not unique in double precision
        0.3,
        "How evenly a row's neighbors count: larger is more even.",
        *("impute", "fit", "check", "explain"),
        panel="method",
    )
    seed: int = entry(
        Whole(Bounds(least=0, less_than=2**63)),
        0,
        "Seed of everything random: ties between neighbors, hidden rows, masks, audits.",
        *("impute", "fit", "check", "explain", "tune", "mask", "audit", "risk"),
        panel="method",
    )
    folds: int | Auto = entry(
        Whole(Bounds(least=0, most=100), auto=True),
        AUTO,
        "Number of folds: parts of the rows whose cells are hidden in turn, to estimate accuracy; "
        "0: none. auto: five, or one part in five of a large table.",
        *("impute", "fit", "check", "explain", "risk"),
        panel="judging",
    )
    bias: float = entry(
        Number(Bounds(least=1, most=1000)),
        1.0,
        "How many times as readily some wrong values may have been ruled out as others: above 1, "
        "the report says what the accuracy may be then.",
        *("impute", "fit", "apply", "check"),
        panel="judging",
    )
    calibration: bool = entry(
        Switch(),
        True,  # noqa: FBT003 — a default
        "Calibrate confidences of graph by hidden cells, with one power per CF; answers stay the "
        "same.",
        *("impute", "fit", "check", "explain"),
        panel="judging",
        opposite="--no-calibration",
    )
    neighbors: Literal["auto", "exact"] = entry(
        Choice(("auto", "exact")),
        "auto",
        "How neighbors are searched: exact, or auto: approximate on very large tables (recall at "
        "least 0.999, reported).",
        *("impute", "fit", "check", "explain", "tune"),
        panel="method",
    )
    correction: bool = entry(
        Switch(),
        True,  # noqa: FBT003 — a default
        "Apply a row's own exclusions at every step; off only to see what that does.",
        *("impute", "fit", "check", "explain"),
        panel="method",
        opposite="--no-correction",
    )
    mode: Literal["hard", "soft", "both"] = entry(
        Choice(("hard", "soft", "both")),
        "hard",
        "Which columns to write. hard: imputed values; soft: a confidence for each value; both.",
        *("impute", "fit", "apply", "check"),
        panel="output",
    )
    min_confidence: float = entry(
        SHARE,
        0.0,
        "Leave an answer empty if its confidence is below this.",
        *("impute", "fit", "apply", "check", "explain"),
        panel="output",
    )
    keep_flagged: bool = entry(
        Switch(),
        False,  # noqa: FBT003 — a default
        "Leave flagged CFs as observed.",
        *("impute", "fit", "apply", "check", "explain"),
        panel="output",
        opposite="--impute-flagged",
    )
    budget: float | None = entry(
        Number(Bounds(more_than=0), word="SECONDS"),
        None,
        "With --method auto: how many seconds it may take; what would take longer is skipped.",
        *("impute", "fit", "check", "explain"),
        panel="method",
        default_text="no limit",
    )

    sample: int | None = entry(
        Whole(Bounds(least=2)),
        None,
        "Learn from so many rows, drawn at random; `cfl apply` answers the others.",
        "fit",
        panel="input",
        default_text="all rows",
        in_schema=False,
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
        if METHODS[self.method].needs_hidden_rows and self.method != AUTO:
            stops = f"{self.method} stops learning when hidden cells no longer gain"
            flaws.append(("method", f"{stops}: it needs folds other than 0"))
        return flaws


TABLES: tuple[type[SettingsTable], ...] = (Settings, RunSettings)
SETTINGS: dict[str, Setting] = {
    setting.name: setting for table in TABLES for setting in entries(table)
}


def read(given: Mapping[str, object]) -> tuple[dict[str, Any], list[Flaw]]:
    """Return settings of both types as values, and what is wrong with them; None is not given."""
    return read_given(given, TABLES)


def override(
    settings: Settings, run: RunSettings, given: Mapping[str, object]
) -> tuple[Settings, RunSettings]:
    """Return settings of both types with those given in their place; None means not given."""
    values, flaws = read(given)
    raise_flaws(flaws)
    chosen = settings.replaced(values)
    how = run.replaced(values)
    raise_flaws([*chosen.contradictions(), *how.contradictions()])
    return chosen, how
