"""Options that commands share and that are not settings, described like those in the table."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, get_args

import typer

from cfl_cli.cli.show import RENDERERS
from cfl_cli.core.entries import Setting
from cfl_cli.core.kinds import Choice, FileName, Kind
from cfl_cli.tables.formats import FORMATS, KINDS, Packing


@dataclass(frozen=True)
class Text(FileName):
    """Text that is not a file's name, such as a delimiter."""

    shown: str = "NAME"
    words: tuple[str, ...] = ()  # to complete it with

    @property
    def metavar(self) -> str:  # type: ignore[override]  # of the instance, not of the class
        """What help shows."""
        return self.shown

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]  # of the instance, not of the class
        """The words that it is usually one of."""
        return self.words


@dataclass(frozen=True)
class MaybeFile(FileName):
    """The name of a file, or nothing: an option that may stand alone."""

    metavar = "[FILE]"  # by which the parser knows it

    def read(self, value: object) -> str:
        """Return the name, empty if there is none."""
        return "" if value == "" else super().read(value)


@dataclass(frozen=True)
class Columns(FileName):
    """Names of columns: an option that is repeated, a variable with one name per line."""

    metavar = "COLUMN"

    def read(self, value: object) -> Any:
        """Return the names."""
        lines = value.splitlines() if isinstance(value, str) else value
        return [super(Columns, self).read(one) for one in lines if one]  # type: ignore[attr-defined]  # mypy does not follow it here


@dataclass(frozen=True)
class Files(Columns):
    """Names of files: an option that is repeated."""

    metavar = "FILE"


@dataclass(frozen=True)
class BadRows(Choice):
    """What to do with bad records; the words of earlier versions are understood."""

    words: tuple[str, ...] = ("fail", "set-aside")

    def read(self, value: object) -> str:
        """Return the word of today."""
        return super().read({"refuse": "fail", "reject": "set-aside"}.get(str(value), value))


def described(
    name: str,
    kind: Kind,
    text: str,
    *,
    panel: str,
    default: Any = None,
    default_text: str = "",
    short: str = "",
    variable: bool = True,
) -> Setting:
    """Return an option that only some commands have, in the form of a setting."""
    return Setting(
        name=name,
        kind=kind,
        default=default,
        help=text,
        panel=panel,
        commands=(),
        decides=False,
        short=short,
        opposite="",
        variable=variable,
        default_text=default_text,
    )


def variant(option: Setting, text: str, **changes: Any) -> Setting:
    """Return an option that a command describes in its own words."""
    return replace(option, help=text, **changes)


_WRITTEN = tuple(name for name, form in FORMATS.items() if not form.kind.is_only_read)
INPUT_FORMAT = described(
    "input_format",
    Text(words=tuple(FORMATS)),
    "Format of DATA, such as csv.gz.",
    panel="input",
    default_text="by its name",
    variable=False,  # of one file, like its name
)
OUTPUT_FORMAT = described(
    "output_format",
    Text(words=_WRITTEN),
    "Format of OUT, such as jsonl.",
    panel="output",
    default_text="by its name",
    variable=False,
)
DELIMITER = described(
    "delimiter",
    Text("CHAR"),
    "Delimiter of a text table.",
    panel="input",
    default_text="the schema's `file`, else comma; tab for .tsv",
)
QUOTE = described(
    "quote",
    Text("CHAR"),
    "Quote character of a text table.",
    panel="input",
    default_text="the schema's `file`, else \"",
)
ENCODING = described(
    "encoding",
    Text(),
    "Encoding of a text table.",
    panel="input",
    default_text="the schema's `file`, else UTF-8",
)
CHECKED_ENCODING = variant(
    ENCODING,
    "Encoding of --checked.",
    name="checked_encoding",
    variable=False,
    default_text="UTF-8",
)
ON_BAD_ROW = described(
    "on_bad_row",
    BadRows(),
    "What to do with bad records of a text table. fail: refuse the table; set-aside: write them to "
    "OUT.rejects.csv.",
    panel="input",
    default="fail",
)
SNIFFING = (
    INPUT_FORMAT,
    *(replace(one, default_text="as the file shows") for one in (DELIMITER, QUOTE, ENCODING)),
)
READING = (INPUT_FORMAT, DELIMITER, QUOTE, ENCODING)
READING_AND_WRITING = (*READING, ON_BAD_ROW, OUTPUT_FORMAT)
FORMAT = described(
    "format",
    Choice(tuple(RENDERERS)),
    "Output format.",
    panel="output",
    default="table",
    short="f",
)
REPORT_FORMAT = variant(
    FORMAT,
    "Output format. html: one file for browsers, with drawings, that loads nothing.",
    kind=Choice((*RENDERERS, "html")),
)
CHECK_FORMAT = variant(
    FORMAT,
    "Output format. json: every problem and warning as an object.",
    kind=Choice(("table", "json")),
)

HISTORY = described(
    "history",
    FileName(),
    "History of a model's batches that `cfl apply --history` wrote: shows the course of each CF.",
    panel="input",
    variable=False,
)


def _suffixes() -> str:
    """Return how the names of tables end, those that can be compressed first."""
    packed = [f".{kind.name}" for kind in KINDS.values() if not kind.packs_itself]
    others = [f".{kind.name}" for kind in KINDS.values() if kind.packs_itself]
    also = ", ".join(f".{packing}" for packing in get_args(Packing))
    return ", ".join([f"{', '.join(packed)} (also {also})", *others])


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help=f"Table: {_suffixes()}, or a folder of .parquet files; - is standard input.",
    ),
]


def model_option(text: str, *, panel: str) -> Any:
    """Return the option that names a model, described in a command's own words."""
    return typer.Option("--model", "-m", metavar="FILE", help=text, rich_help_panel=panel)


SchemaFile = Annotated[
    str,
    typer.Option(
        "--schema", "-s", metavar="FILE", help="Schema file (YAML).", rich_help_panel="Input"
    ),
]


def out_option(text: str) -> Any:
    """Return the option that names a table to write, described in a command's own words."""
    return typer.Option("--out", "-o", metavar="OUT", help=text, rich_help_panel="Output")


Out = Annotated[
    str,
    out_option(
        "Table to write; the format follows from its name; a name that ends in / is a folder of "
        ".parquet files; - is standard output."
    ),
]
TextOut = Annotated[
    str,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="File to write. Default: -, standard output.",
        rich_help_panel="Output",
    ),
]
