"""What an output was made from: the table, and the schema or the model, by what its report says.

A report holds names without folders and checksums. A file of that name, beside the output, in the
current folder or in a folder of that, is the right one if its checksum is. A model has no name in a
report of `cfl impute`: it is found by its own report, which is that of the same run.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Self

from cfl_cli.cli.options import Values
from cfl_cli.cli.outputs import DIGITS, report_of
from cfl_cli.errors import CflError, DataError, Problem, UsageError
from cfl_cli.models import Content, is_model
from cfl_cli.tables import table as tables
from cfl_cli.tables.table import STANDARD, Place
from cfl_cli.trust.report import Report, Sources

_MODELS = 50  # files of a folder, at most, that are looked at for a model
_MOST = 1000  # files and folders of the current folder, at most, that are looked at
_BY_HAND = "explain it by `cfl explain TABLE --schema SCHEMA`"


@dataclass(frozen=True)
class Origins:
    report: Report
    table: Place
    how: Values  # the table was read
    schema: Path | None  # None: a batch of new rows, which a model answered
    model: Path | None

    @classmethod
    def of(cls, output: str, given: Values) -> Self:
        """Return what an output was made from; `given` says how the table is read, if it does."""
        try:
            report = report_of(output)
        except DataError as error:
            if error.code != "report-missing":
                raise
            text = "{file}: no report found, so this is not an output of cfl: {remedy}"
            remedy = "add --schema for a row of this table, or --model for a new row"
            raise UsageError(
                Problem("explain-no-output", text, file=output, remedy=remedy)
            ) from None
        sources = report.sources or Sources()
        path = None if output == STANDARD else tables.local(output)
        near = [*([path.parent] if path else []), Path()]
        below = sorted(one for one in islice(Path().iterdir(), _MOST) if one.is_dir())
        folders = [*dict.fromkeys([*near, *below])]
        found = _found("table", sources.table, sources.table_sha256, output, folders)
        recorded: dict[str, Any] = dict(sources.reading)
        sheet = recorded.pop("sheet", None)
        how = recorded | given
        place = Place.to_read(str(found), how.get("input_format"))
        place = replace(place, sheet=sheet) if sheet else place
        if report.batch is None:
            named = sources.schema, sources.schema_sha256
            schema = _found("schema", *named, output, folders)
            return cls(report, place, how, schema, _same_run(report, [*near, found.parent]))
        for model, content in _models([*near, found.parent]):
            if content.checksum == report.batch.model:
                return cls(report, place, how, None, model)
        text = (
            "{file}: the model that filled it in (SHA-256 {recorded}…) is neither beside it nor in "
            "{folder}: {remedy}"
        )
        remedy = "explain it by `cfl explain NEW --model MODEL`"
        facts = {"recorded": report.batch.model[:DIGITS], "folder": "the current folder"}
        raise DataError(Problem("explain-no-model", text, file=output, remedy=remedy, **facts))


def _found(
    what: str, name: str | None, checksum: str | None, output: str, folders: list[Path]
) -> Path:
    """Return the file of this name and checksum, or raise."""
    facts: dict[str, Any] = {"file": output, "what": what, "remedy": _BY_HAND}
    if name in (None, STANDARD) or checksum is None or Path(str(name)).name != name:
        text = "{file}: its report names no {what} that it was made from: {remedy}"
        raise DataError(Problem("explain-no-source", text, **facts))
    other = None
    for path in (folder / str(name) for folder in folders):
        if path.exists():
            found = tables.sha256_of(path)
            if found == checksum:
                return path
            other = other or (path, found)
    if other is None:
        text = (
            "{file}: the {what} that it was made from, {name}, is neither beside it nor in or below "
            "the current folder: {remedy}"
        )
        facts["remedy"] = f"put it there, or {_BY_HAND}"
        raise DataError(Problem("explain-no-source", text, name=name, **facts))
    text = (
        "{file}: {name} is not the {what} that it was made from (SHA-256 {now}…, recorded {was}…): "
        "{remedy}"
    )
    facts |= {"name": str(other[0]), "now": other[1][:DIGITS], "was": checksum[:DIGITS]}
    facts["remedy"] = "restore it, or impute again"
    raise DataError(Problem("explain-other-source", text, **facts))


def _models(folders: list[Path]) -> Iterator[tuple[Path, Content]]:
    for folder in dict.fromkeys(folders):
        for path in sorted(folder.glob("*.cfl"))[:_MODELS]:
            with suppress(CflError, OSError):  # a damaged file, or no model
                if is_model(path):
                    yield path, Content.read(path)


def _same_run(report: Report, folders: list[Path]) -> Path | None:
    """Return the model that the run wrote which wrote this report; None: it is not there."""

    def facts(one: Report) -> tuple[Any, ...]:
        sources = one.sources or Sources()
        own = {name: value for name, value in one.settings.items() if name != "mode"}
        return one.cfl_version, sources.table_sha256, sources.schema_sha256, own, one.columns

    for path, content in _models(folders):
        with suppress(CflError):
            if facts(Report.from_json(content.report, name=str(path))) == facts(report):
                return path
    return None
