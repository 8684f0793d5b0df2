"""What `cfl gather` is asked: the columns, what a status means, and what to do in doubt.

exclusion    the value is not this one
exact        the value is this one
candidate    the value may be this one; of several candidates, it is one
nothing      the status says nothing now, and takes the place of an earlier one
ignore       the row is void: it does not take the place of another row
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from cfl_cli.core.messages import did_you_mean, either, option, quote
from cfl_cli.core.settings import Choice, Whole, read_by
from cfl_cli.errors import Problem, UsageError, unreadable
from cfl_cli.texts import BLANKS

# Of several statuses of the same code, the strongest counts. An exclusion of a finer code, such as
# J10.1 where values are J10, is the weakest: it does not contradict that another J10 is the case.
IGNORE, NOTHING, FINER, CANDIDATE, EXCLUSION, EXACT = range(-1, 5)
MEANINGS = {
    "exclusion": EXCLUSION,
    "exact": EXACT,
    "candidate": CANDIDATE,
    "nothing": NOTHING,
    "ignore": IGNORE,
}
# G gesichert, V Verdacht, Z Zustand nach, A ausgeschlossen: the Zusatzkennzeichen of ICD-10-GM.
_ICD = {"A": EXCLUSION, "V": CANDIDATE, "Z": NOTHING, "G": EXACT}
_FHIR = {
    "refuted": EXCLUSION,
    "differential": CANDIDATE,
    "provisional": CANDIDATE,
    "unconfirmed": CANDIDATE,
    "confirmed": EXACT,
    "entered-in-error": IGNORE,
    "unknown": NOTHING,
}
ICD, FHIR, REDCAP, SHOWN, LONG = "icd-10-gm", "fhir", "redcap", "shown", "long"
PRESETS = {ICD: _ICD, FHIR: {**_FHIR, **_ICD}, REDCAP: {"1": EXCLUSION, "0": NOTHING}}
_OWN = {**PRESETS, SHOWN: {"picked": EXACT, "shown": EXCLUSION}, LONG: {}}
NEEDED = {
    LONG: ("id", "code", "status"),
    ICD: ("id", "code"),
    FHIR: (),
    REDCAP: ("id", "stem"),
    SHOWN: ("id", "code", "shown"),
}
_UNUSED = {
    LONG: ("stem", "none", "system", "separator"),
    ICD: ("stem", "none", "system", "separator"),
    FHIR: ("code", "status", "stem", "none", "separator"),
    REDCAP: ("code", "status", "system", "separator"),
    SHOWN: ("status", "stem", "system"),
}
PATIENT, DIAGNOSIS = "patient", "diagnosis"
CONFLICTS, OTHERS = ("error", "latest", "empty"), ("error", "skip")
LONE, FINER_ONES = ("nothing", "exact"), ("exclusion", "nothing")
DRAWN = ("at-random", "by-people")
CHOICES = {
    "preset": tuple(PRESETS),
    "conflict": CONFLICTS,
    "other": OTHERS,
    "one_candidate": LONE,
    "finer": FINER_ONES,
    "drawn": DRAWN,
}


@dataclass(frozen=True, kw_only=True)
class Asked:
    layout: str
    id: str
    cf: str
    meanings: Mapping[str, int]  # by status, in folded case
    code: str = ""
    status: str = ""
    time: str = ""
    time_format: str | None = None
    values: tuple[str, ...] | None = None
    level: int | None = None
    keep: tuple[str, ...] | None = None  # None: columns that are constant per id
    shown: tuple[str, ...] = ()
    none: tuple[str, ...] = ()
    separator: str | None = None
    stem: str = ""
    system: str = ""
    conflict: str = "error"
    other: str = "error"
    one_candidate: str = "nothing"
    finer: str = "exclusion"
    drawn: str | None = None

    @classmethod
    def of(cls, **given: Any) -> Self:
        """Return what is asked, or raise with what is wrong; None is not given."""
        said = {name: value for name, value in given.items() if value is not None and value != ()}
        chosen = {name: Choice(CHOICES[name]) for name in CHOICES if name in said}
        kinds = {**chosen, **({"level": Whole(least=1)} if "level" in said else {})}
        said |= read_by(kinds, {name: said[name] for name in kinds})
        layout = said.pop("preset", SHOWN if "shown" in said else LONG)
        _check(layout, said)
        names = {name: said[name] for name in ("code", "stem") if name in said}
        default = DIAGNOSIS if layout == FHIR else next(iter(names.values()))
        said = {"id": PATIENT, "cf": default, **said}
        said["meanings"] = {
            **{fold(status): meaning for status, meaning in _OWN[layout].items()},
            **read_map(said.pop("map", ())),
        }
        for name in ("shown", "none", "keep", "values"):
            if name in said:
                one = said[name]
                said[name] = (one,) if isinstance(one, str) else tuple(map(str, one))
        if "time" in said:
            said.setdefault("conflict", "latest")
        asked = cls(layout=layout, **said)
        asked.check_names()
        return asked

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """The columns that are read, by option."""
        single = {"id": self.id, "code": self.code, "status": self.status, "time": self.time}
        if self.layout == FHIR:
            single = {"time": self.time}
        return {
            **{name: (column,) for name, column in single.items() if column},
            "shown": self.shown,
            "keep": self.keep or (),
        }

    def column_of(self, what: str) -> str:
        """Return where ids, codes, statuses or times stand, as messages call it."""
        fhir = {"id": "subject", "code": "code", "status": "verificationStatus"}
        if self.layout == FHIR and what in fhir:
            return fhir[what]
        if self.layout == REDCAP and what != "id":
            return f"{self.stem}___"
        return str(getattr(self, what) or self.code)

    def check_names(self) -> None:
        used: dict[str, str] = {}
        for name, columns in self.columns.items():
            for column in columns:
                if (other := used.setdefault(column, name)) != name:
                    text = "{option} and {option2}: both name {column!r}; name it once"
                    options = {"option": option(other), "option2": option(name)}
                    raise UsageError(Problem("option-both", text, column=column, **options))
        if self.cf == self.id:
            text = "{option} and {option2}: both name {column!r}; name it once"
            options = {"option": option("id"), "option2": option("cf")}
            raise UsageError(Problem("option-both", text, column=self.cf, **options))
        if self.values is not None and len({*self.values}) < max(len(self.values), 2):
            text = "{option}: expected two different values or more"
            raise UsageError(Problem("gather-domain", text, option=option("values")))


def _check(layout: str, said: Mapping[str, Any]) -> None:
    problems = []
    for name in NEEDED[layout]:
        if name not in said:
            text = "{option} is required{where}"
            where = "" if layout in (LONG, SHOWN) else f" with {option('preset', layout)}"
            facts = {"option": option(name), "where": where}
            problems.append(Problem("option-missing", text, **facts))
    for name in _UNUSED[layout]:
        if name in said:
            where = "here" if layout in (LONG, SHOWN) else f"with {option('preset', layout)}"
            text = "{option} has no effect {where}: leave it out"
            problems.append(Problem("option-unused", text, option=option(name), where=where))
    if "shown" in said and layout != SHOWN:
        text = "{option} and {option2} do not go together: {remedy}"
        options = {"option": option("shown"), "option2": option("preset")}
        problems.append(Problem("option-conflict", text, **options, remedy="leave one of them out"))
    if said.get("conflict") == "latest" and "time" not in said:
        text = "{option} needs {remedy}: add it, or leave {option} out"
        facts = {"option": option("conflict", "latest"), "remedy": option("time")}
        problems.append(Problem("option-needs", text, **facts))
    if problems:
        raise UsageError(*problems)


def fold(status: str) -> str:
    return status.strip(BLANKS).casefold()


def read_map(given: Mapping[str, str] | Sequence[str] | str) -> dict[str, int]:
    """Return what statuses mean, by `status=meaning`; the last `=` is the one that counts."""
    if isinstance(given, Mapping):
        pairs = [(str(status), str(meaning)) for status, meaning in given.items()]
    else:
        texts = [given] if isinstance(given, str) else [*given]
        split = (text.rpartition("=") for text in texts)
        pairs = [(status, meaning) if sign else (meaning, "") for status, sign, meaning in split]
    found: dict[str, int] = {}
    problems = []
    for status, meaning in pairs:
        what = ""
        if meaning.strip() not in MEANINGS:
            near = did_you_mean(meaning, MEANINGS) if meaning else ""
            what = f"expected STATUS=MEANING, with the meaning {either([*MEANINGS])}{near}"
        elif found.setdefault(fold(status), MEANINGS[meaning.strip()]) != MEANINGS[meaning.strip()]:
            what = "the status has two meanings: give it one"
        if what:
            named = option("map", f"{status}={meaning}" if meaning else status, quoted=True)
            problems.append(Problem("gather-map", "{option}: {what}", option=named, what=what))
    if problems:
        raise UsageError(*problems)
    return found


def read_values(given: str) -> list[str]:
    """Return values from a file with one on each line, or from a list with commas."""
    path = Path(given)
    try:
        is_file = path.is_file()
    except (OSError, ValueError):
        is_file = False
    if is_file or given.endswith((".txt", ".csv")):
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError:
            text = "{file}: not UTF-8: {remedy}"
            problem = Problem("gather-values", text, file=given, remedy="save it as UTF-8")
            raise UsageError(problem) from None
        except OSError as error:
            raise unreadable(given, error) from error
    else:
        lines = given.split(",")
    values = [line.strip(BLANKS) for line in lines if line.strip(BLANKS)]
    again = next((one for place, one in enumerate(values) if one in values[:place]), None)
    if again is not None:
        text = "{option}: {what} is listed twice"
        facts = {"option": option("values"), "what": quote(again)}
        raise UsageError(Problem("gather-values", text, **facts))
    return values
