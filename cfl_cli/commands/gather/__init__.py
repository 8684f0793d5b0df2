"""`cfl gather`: a long table (id, code, status) becomes one row per id; uses: init."""

from dataclasses import replace
from typing import Annotated

import typer

from cfl_cli.cli.options import (
    OUTPUT_FORMAT,
    SNIFFING,
    STYLE,
    Columns,
    Out,
    Values,
    takes,
)
from cfl_cli.core.settings import Choice, FileName, Setting, Whole

EXAMPLES = {
    "gather": "cfl gather long.csv --id patient --code code --status status --map 'ruled out=exclusion' "
    "--map confirmed=exact --cf diagnosis --with persons.csv --out wide.csv"
}


def _column(name: str, help: str, *, panel: str = "input", **facts: object) -> Setting:
    return Setting(name, FileName("COLUMN"), None, help, panel, variable=False, **facts)  # type: ignore[arg-type]  # facts of a setting


def _choice(
    name: str, words: tuple[str, ...], help: str, default: str, *, rare: bool = False
) -> Setting:
    return Setting(
        name, Choice(words), None, help, "method", default_text=default, variable=False, rare=rare
    )


_text = "Layout with known statuses: icd-10-gm (A, V, Z, G, also behind a code), fhir (NDJSON of Conditions) or redcap (0/1 columns)."
PRESET = _choice("preset", ("icd-10-gm", "fhir", "redcap"), _text, "none")
ID = _column("id", "Column of ids. Each id gets one row in OUT.")
CODE = _column(
    "code", "Column of codes, which become the values. With --shown, column of the options picked."
)
STATUS = _column("status", "Column of statuses.")
_text = (
    "Meaning of a status: exclusion, exact, candidate (the value is one of the candidates), nothing, or "
    "ignore (the row is void). Repeat it for more."
)
MAP = Setting("map", Columns("STATUS=MEANING"), None, _text, "input", variable=False)
CF = replace(_column("cf", "Name of the new column."), default_text="the name of --code")
_text = "Table with one row per id, to which the new column is added."
WITH = Setting("with_", FileName(), None, _text, "input", variable=False)
WITH_ID = _column(
    "with_id", "Column of ids in the table of --with.", default_text="as --id", rare=True
)
_text = "Column to keep. Repeat it for more."
KEEP = Setting(
    "keep", Columns(), None, _text, "input", variable=False, rare=True,
    default_text="columns that are constant per id and do not follow from the code",
)  # fmt: skip
_text = "The domain: a file with one value per line, or values separated by commas."
VALUES = Setting(
    "values", FileName("FILE|A,B,C"), None, _text, "input", default_text="the codes seen",
    variable=False,
)  # fmt: skip
_text = "What to do with codes outside --values. skip leaves the rows out and counts them."
OTHER = _choice("other", ("error", "skip"), _text, "error", rare=True)
_text = "Number of leading characters of a code to use as its value. 3 turns J10.1 into J10."
LEVEL = Setting("level", Whole(least=1), None, _text, "method", variable=False, default_text="all")
_text = (
    "With --level: what an exclusion of a longer code says about the shorter code. With nothing, J10 "
    "stays possible if J10.1 is ruled out."
)
FINER = _choice("finer", ("exclusion", "nothing"), _text, "exclusion", rare=True)
_text = "What a single candidate of an id means. With exact, it is the value."
ONE = _choice("one_candidate", ("nothing", "exact"), _text, "nothing", rare=True)
TIME = _column(
    "time",
    "Column of dates or numbers. Only the latest status of each code counts.",
    panel="method",
)
_text = "Format of the dates in --time, such as %d.%m.%Y."
TIME_FORMAT = Setting(
    "time_format", FileName("FORMAT"), None, _text, "method", default_text="ISO 8601",
    variable=False, rare=True,
)  # fmt: skip
_text = (
    "What to do with an id whose rows contradict each other. With latest, the latest confirmed "
    "value by --time counts. With empty, the cell stays empty."
)
CONFLICT = _choice("conflict", ("error", "latest", "empty"), _text, "error; latest with --time")
_text = (
    "Column with the options that a respondent was shown. Options that were not picked are "
    "excluded. Repeat it for more."
)
SHOWN = Setting("shown", Columns(), None, _text, "input", variable=False)
_text = "Text that means none of the options. Repeat it for more."
NONE = Setting("none", Columns("TEXT"), None, _text, "input", variable=False)
_text = "With --shown: character between several options in a cell."
SEPARATOR = Setting(
    "separator", FileName("SIGN"), None, _text, "input", default_text="detected", variable=False,
    rare=True,
)  # fmt: skip
_text = "With --preset redcap: beginning of the column names, x for x___1."
STEM = Setting("stem", FileName("NAME"), None, _text, "input", variable=False)
_text = "With --preset fhir: the code system, or the end of its address, such as icd-10-gm."
SYSTEM = Setting("system", FileName("URL"), None, _text, "input", variable=False, rare=True)
_text = (
    "How statuses arose, for the schema. at-random: a program drew the options that were shown. It is an "
    "error if the table contradicts this."
)
DRAWN = _choice(
    "drawn", ("at-random", "by-people"), _text, "by-people, except with --shown", rare=True
)
_text = "Write a schema for OUT to this file."
SCHEMA_OUT = Setting("schema_out", FileName(), None, _text, "output", variable=False)
WHAT = (
    *(PRESET, ID, CODE, STATUS, MAP, CF, VALUES, WITH, SHOWN, NONE, STEM, WITH_ID, KEEP, SEPARATOR),
    *(SYSTEM, OTHER, LEVEL, FINER, ONE, TIME, TIME_FORMAT, CONFLICT, DRAWN),
)
READING = tuple(replace(one, rare=True) for one in (*SNIFFING, OUTPUT_FORMAT, *STYLE))


@takes(
    "gather.work:run_gather",
    what=WHAT,
    how=READING,
    written=(SCHEMA_OUT,),
)
def gather(
    data: Annotated[
        str,
        typer.Argument(
            metavar="LONG",
            help="Table with a row for each statement: an id, a code and a status; - is standard "
            "input.",
        ),
    ],
    out: Out,
    *,
    given: Values,
    what: Values,
    how: Values,
    written: Values,
) -> None:
    """Turn a long table (id, code, status) into a table with one row per id.

    Codes that were ruled out become a list of exclusions, `A;C`. A confirmed code becomes an exact
    cell, `=B`. Several candidates exclude all other values. Columns that are constant per id are
    kept. The result is an exclusion column (CF), which `cfl impute` fills in.
    """
