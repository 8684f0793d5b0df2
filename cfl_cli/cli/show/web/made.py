"""How a report was made: settings, versions, checksums, warnings, times."""

from cfl_cli.cli.show.web import numbers
from cfl_cli.cli.show.web.names import Piece, sentence, visible
from cfl_cli.core.quick import dataclass
from cfl_cli.trust.report import Report, SettingValue, Sources

Facts = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Made:
    """What is needed to make the same again."""

    sources: Facts
    settings: Facts
    versions: Facts
    run: Facts
    warnings: tuple[tuple[Piece, ...], ...]
    not_recorded: str  # by which version, where something lacks


def made(report: Report) -> Made:
    """Return how a report was made."""
    names = [column.name for column in report.columns]
    return Made(
        _sources(report),
        tuple((visible(name), _value(value)) for name, value in sorted(report.settings.items())),
        _versions(report),
        _run(report),
        tuple(sentence(f"{warning}.", names) for warning in report.warnings),
        f"not recorded by cfl {visible(report.cfl_version)}",
    )


def _value(value: SettingValue) -> str:
    match value:
        case None:
            return "not set"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}"
        case int():
            return str(value)
        case _:
            return visible(value)


def _sources(report: Report) -> Facts:
    lacking = f"not recorded by cfl {visible(report.cfl_version)}"
    sources = report.sources or Sources()
    found = []
    for what, name, checksum in (
        ("table", sources.table, sources.table_sha256),
        ("schema", sources.schema, sources.schema_sha256),
        ("diagnostics", sources.diagnostics, sources.diagnostics_sha256),
    ):
        if what == "diagnostics" and name is None:
            continue
        if name is not None:
            found.append((what, "standard input" if name == "-" else visible(name)))
        missing = lacking if report.sources is None else "no file"
        found.append((f"SHA-256 of the {what}", visible(checksum) if checksum else missing))
    if report.answers_sha256 is not None:
        found.append(("SHA-256 of the new columns", visible(report.answers_sha256)))
    found += [(f"read with {visible(name)}", _value(one)) for name, one in sources.reading.items()]
    if report.batch is not None:
        found.append(("SHA-256 of the model", visible(report.batch.model)))
        found.append(("SHA-256 of the batch", visible(report.batch.checksum)))
    return tuple(found)


def _versions(report: Report) -> Facts:
    others = tuple((visible(name), visible(one)) for name, one in report.versions.items())
    if not others:
        others = (("Python and libraries", f"not recorded by cfl {visible(report.cfl_version)}"),)
    return (("cfl", visible(report.cfl_version)), *others)


def _run(report: Report) -> Facts:
    found = [("rows", numbers.whole(report.rows))]
    if report.groups is not None:
        found.append(("groups of rows", numbers.whole(report.groups)))
    if report.batch is not None:
        found.append(("rows judged", numbers.whole(report.batch.rows_judged)))
    if report.steps:
        found.append(("steps of each round", ", ".join(map(numbers.whole, report.steps))))
    found.append(("share of true neighbors found", numbers.percent(report.neighbor_recall, 2)))
    if report.rescued_rows:
        found.append(("rows solved by the exact solver", numbers.whole(report.rescued_rows)))
    memory = report.peak_memory_mb
    # A table's own report leaves out what differs from run to run.
    absent = "not in this copy of the report"
    found.append(
        ("memory, at most", absent if memory is None else f"{numbers.decimal(memory, 0)} MB")
    )
    total = sum(report.timings.values())
    found.append(("time", numbers.seconds(total) if report.timings else absent))
    found += [
        (f"time: {visible(stage)}", numbers.seconds(time)) for stage, time in report.timings.items()
    ]
    return tuple(found)
