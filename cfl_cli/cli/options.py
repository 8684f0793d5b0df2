"""The options that commands share: their names, what they take, and a line of help each."""

from enum import StrEnum
from typing import Annotated

import typer

from cfl_cli import __version__


class Mode(StrEnum):
    """Which columns a CF gets."""

    hard = "hard"
    soft = "soft"
    both = "both"


class Search(StrEnum):
    """How neighbors are searched for."""

    auto = "auto"
    exact = "exact"


class OnBadRow(StrEnum):
    """What happens to records of a text table that do not fit."""

    refuse = "refuse"
    reject = "reject"


class Format(StrEnum):
    """How a report is written."""

    table = "table"
    json = "json"
    csv = "csv"
    md = "md"


def be_verbose(ctx: typer.Context, value: bool) -> bool:  # noqa: FBT001 — Typer's signature
    """Remember that errors should come with a traceback."""
    ctx.meta["verbose"] = value
    return value


def show_version(value: bool) -> None:  # noqa: FBT001 — Typer's signature
    """Print the version and stop."""
    if value:
        typer.echo(f"cfl {__version__}")
        raise typer.Exit


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Table: .csv, .tsv, .jsonl (also .gz, .zst), .parquet, .arrow; - is standard input.",
    ),
]
InputFormat = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Format of DATA, such as csv.gz. Default: by its name."),
]
Out = Annotated[
    str,
    typer.Option(
        "--out", "-o", metavar="OUT", help="Table to write, like DATA; - is standard output."
    ),
]
OutputFormat = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Format of OUT, such as jsonl. Default: by its name."),
]
SchemaFile = Annotated[
    str, typer.Option("--schema", "-s", metavar="FILE", help="Schema file (YAML).")
]
ModeOption = Annotated[
    Mode | None,
    typer.Option("--mode", help="Imputed values, confidences per value, or both. Default: hard."),
]
MethodOption = Annotated[
    str | None,
    typer.Option(
        "--method",
        metavar="NAME",
        help="What estimates the values: graph, boost, net, ipal, observed or commonest; auto: the "
        "best blend, as hidden cells favor. Default: graph.",
    ),
]
Budget = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="With --method auto: leave out what would take longer."),
]
K = Annotated[int | None, typer.Option("--k", help="Neighbors of a row. Default: 20.")]
Iterations = Annotated[
    str | None,
    typer.Option(
        metavar="N|auto", help="Steps of propagation; auto: as hidden cells favor. Default: 100."
    ),
]
Gamma = Annotated[
    str | None,
    typer.Option(
        metavar="X|auto",
        help="Weight of the first round in the second; 0: no second; auto: where hidden cells "
        "favor it. Default: 0.25.",
    ),
]
Folds = Annotated[
    str | None,
    typer.Option(
        metavar="N|auto",
        help="Parts of the rows to hide in turn, to judge the answers; 0: none. Default: auto.",
    ),
]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", help="Threads. Default: all cores.")]
NeighborsOption = Annotated[
    Search | None,
    typer.Option(
        "--neighbors", help="May the search miss a few (recall is measured)? Default: auto."
    ),
]
MaxMemory = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Refuse a run that needs more, such as 2GB."),
]
OnBadRowOption = Annotated[
    OnBadRow,
    typer.Option(
        "--on-bad-row",
        help="Refuse a text table with bad records, or put them in OUT.rejects.csv.",
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(metavar="SIGN", help="Between a text table's cells. Default: comma; .tsv: tab."),
]
Quote = Annotated[
    str | None, typer.Option(metavar="SIGN", help="Around a text table's cells. Default: \".")
]
Encoding = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of a text table. Default: UTF-8.")
]
Overwrite = Annotated[
    bool | None, typer.Option("--overwrite/--no-overwrite", help="Replace files that exist.")
]
Quiet = Annotated[bool | None, typer.Option("--quiet", "-q", help="Print errors only.")]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Show a traceback with errors.", callback=be_verbose),
]
