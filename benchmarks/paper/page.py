"""Rows → `results.md`: every number in it comes from `results.json` or from the paper."""

from collections.abc import Callable, Iterable, Sequence

from benchmarks.paper.plots import NAMES
from benchmarks.paper.published import METRICS
from benchmarks.paper.summary import Row, Summary, claims

Show = Callable[[Summary, str, str], str]  # summary, table, part → Markdown

WORDS = {"accuracy": "accuracy", "f1": "F1", "cross_entropy": "cross entropy", "entropy": "entropy"}
NOT_IN_THE_PAPER = {"commonest", "boost", "auto", "auto-soft", "auto-hard"}
HEAD = """# Results

This page repeats the paper's evaluation. It is written by

    python -m benchmarks.paper --data DIR --out OUT --docs docs/background

`OUT/results.json` and `OUT/results.csv` hold every number with its standard deviation, also those
that this page leaves out. [Benchmarks](benchmarks.md#the-papers-evaluation) says what is run, and
how to check a number."""
CHANCE = """\
These claims compare means. All methods run on the same masks. A difference is beyond chance if the
mean difference over the seeds is more than twice its standard error; against the paper, if the
number is bold below. "The paper" means its proposed method. A classifier counts once per table."""
RULE = """\
Numbers are means over the seeds. A seed decides which exclusions are drawn, which rows a classifier
learns from, and all random draws of the methods. The paper's numbers are in parentheses.
**Bold** numbers are better and *italic* ones worse than the paper's by more than twice the
standard deviation of the difference plus half of the paper's last digit. `observed` is the paper's
`comp`, and `graph` its `proposed`. `commonest` (the majority value), `boost` and `auto` are not in
the paper and are compared with its `proposed`. The cross entropy takes a confidence of at least
1e-10, as the authors' code does."""
LABELS = """\
F1 of the target's positive value. Classifiers learn from one half of the rows and are evaluated on
the other. They get the OFs and, for each CF, its exact value (`ord`), the observed cell, the
confidences (`soft`), or the imputed value (`hard`, `ipal`)."""
KEPT = "Here, CFs that the report flags are given to the classifiers as observed."
CORRECTION = """\
Means over all CFs with γ = 0. "Off" does not apply a row's own exclusions at every step, so that
the imputed value may be one that the cell rules out."""
CHECKS = """\
Two variants test why `graph` differs from the paper's numbers: nearly no ridge, and on Adult no
`education-num` among the OFs."""
WHY = """\
The authors' code is in [their repository](https://github.com/KOHsEMP/learning_from_cf).

- **The code finds the columns of a CF by substring.** Adult's `education` therefore took the
  numeric OF `education-num` for a value of its own. This explains the paper's accuracy of 0.0176,
  which is below chance. The other CFs lost this OF in the first round, and the classifiers got it
  overwritten. Without `education-num`, `graph` matches the paper on the other CFs.
- **With more neighbors than features, weights are not unique.** The authors' solver stops early,
  which acts like a ridge. `cfl` solves the problem with a ridge of 0.3 to the end.
- **IPAL sees all rows at once here.** In the paper, it estimates the second half from the first.
- **One estimate of all rows serves both halves here.** The authors' classifiers learn from a half
  that was estimated without the other. Trees with `soft` columns lose most by that.
- **CFs are kept as observed if the report flags them.** The paper chose them by their true values.
- **AdaBoost** has decision stumps in the paper's text, and ten trees of depth 10 in the code
  (`AdaBoost trees`). The paper's one number stands beside both.
- **scikit-learn, the halves and the steps of logistic regression** differ. The paper's neural
  networks vary by up to 0.06."""
SLICE = """\
**These are parts of the tables, so the numbers cannot be compared with the paper's.**"""


def page(summary: Summary) -> str:
    parts = [
        HEAD,
        _measured(summary),
        SLICE if any(row.part_of_table for row in summary.rows) else "",
        "## In short",
        _short(summary),
        CHANCE,
        means(summary),
        RULE,
        "## The values behind CFs (Tables 1 and 2)",
        *_each(summary, "estimates", _estimates),
        "![Accuracy and cross entropy of every CF by every method](results/estimates.svg)",
        "## The target predicted (Tables 3 and 4)",
        LABELS,
        *_each(summary, "labels", _predictions),
        "## Flagged CFs kept as observed (Table 5)",
        KEPT,
        *_each(summary, "kept", _kept),
        "## A row's own exclusions (Table 6)",
        CORRECTION,
        *_each(summary, "correction", _correction),
        "## Iterations, k and γ",
        "Means over all CFs. Settings that do not vary are T = 100, k = 20 and γ = 0.",
        "![Accuracy and cross entropy over iterations](results/iterations.svg)",
        "![Accuracy and cross entropy over k and over γ](results/settings.svg)",
        "## Why numbers differ from the paper",
        CHECKS,
        *_each(summary, "checks", _checks),
        WHY,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _measured(summary: Summary) -> str:
    machine = summary.machine
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    sizes = {row.table: (row.rows, row.seeds) for row in summary.rows if row.part != "iterations"}
    tables = "; ".join(
        f"{NAMES[table]}, {rows:,} rows, seeds: {seeds}" for table, (rows, seeds) in sizes.items()
    )
    missing = f" **{summary.missing} tasks are yet to be run.**" if summary.missing else ""
    hours = sum(summary.hours.values())
    return (
        f"{tables}. Python {machine['python']}; {versions}; {hours:.1f} hours of one core.{missing}"
    )


def _short(summary: Summary) -> str:
    lines = []
    several = all(row.seeds > 1 for row in summary.rows if row.part == "estimates")
    for claim in claims(summary):
        total = len(claim.holds) + len(claim.fails)
        failing = f" (not {', '.join(claim.fails)})" if 0 < len(claim.fails) < total else ""
        surely = f", beyond chance for {claim.surely}" if several else ""
        lines.append(
            f"- {claim.words} for {len(claim.holds)} of {total} {claim.of}{failing}{surely}."
        )
    return "\n".join(lines) or "Nothing here can be compared with the paper."


def means(summary: Summary) -> str:
    methods = _series(row for row in summary.rows if row.part == "estimates")
    wanted = [
        (table, metric) for table in summary.tables for metric in ("accuracy", "cross_entropy")
    ]
    head = ["mean over CFs", *(f"{NAMES[table]}, {WORDS[metric]}" for table, metric in wanted)]
    body = []
    for method in methods:
        found = [summary.get("estimates", table, "", method, metric) for table, metric in wanted]
        body.append([f"`{method}`", *map(_cell, found)])
    return _table(head, body) if methods else ""


def _estimates(summary: Summary, table: str, part: str) -> str:
    rows = [row for row in summary.of(part, table) if row.subject]
    methods = _series(rows)
    shown = []
    for metric in ("accuracy", "cross_entropy"):
        found = {(row.subject, row.series): row for row in rows if row.metric == metric}
        body = [
            [cf, *(_cell(found.get((cf, method))) for method in methods)]
            for cf in dict.fromkeys(row.subject for row in rows)
        ]
        head = f"{NAMES[table]}, {WORDS[metric]}"
        shown.append(_table([head, *(f"`{method}`" for method in methods)], body))
    return "\n\n".join(shown)


def _predictions(summary: Summary, table: str, part: str) -> str:
    rows = summary.of(part, table)
    classifiers = list(dict.fromkeys(row.subject for row in rows))
    body = []
    for series in _series(rows):
        found = {row.subject: row for row in rows if row.series == series}
        body.append([f"`{series}`", *(_cell(found.get(one)) for one in classifiers)])
    return _table([f"{NAMES[table]}, F1", *classifiers], body)


def _kept(summary: Summary, table: str, part: str) -> str:
    lines = []
    for method in ("ipal", "graph", "auto"):
        counts = summary.flagged.get(f"{table} {method}")
        if counts is not None:
            cfs = ", ".join(f"{cf} ({seeds})" for cf, seeds in counts.items()) or "none"
            lines.append(f"- CFs that `{method}` flags, and in how many seeds: {cfs}")
    return "\n".join(lines) + "\n\n" + _predictions(summary, table, part)


def _checks(summary: Summary, table: str, part: str) -> str:
    rows = [row for row in summary.of(part, table) if row.subject and row.metric == "accuracy"]
    lines = []
    for series in _series(rows):
        verdicts = [row.verdict for row in rows if row.series == series and row.verdict]
        matches = verdicts.count("matches")
        lines.append(
            f"- {NAMES[table]}, `{series}`: matches the paper's accuracy for {matches} of "
            f"{len(verdicts)} CFs"
        )
    return "\n".join(lines)


def _correction(summary: Summary, table: str, part: str) -> str:
    rows = summary.of(part, table)
    body = [
        [series, *(_cell(row) for row in rows if row.series == series)] for series in _series(rows)
    ]
    return _table([NAMES[table], *map(WORDS.__getitem__, METRICS)], body)


def _each(summary: Summary, part: str, show: Show) -> Iterable[str]:
    return (show(summary, table, part) for table in summary.tables if summary.of(part, table))


def _series(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(row.series for row in rows))


def _cell(row: Row | None) -> str:
    """Return a mean, marked by how it compares with the paper's, and the paper's in parentheses."""
    if row is None:
        return ""
    mark = {"better": "**", "worse": "*"}.get(row.verdict or "", "")
    mean = f"{mark}{row.mean:.3f}{mark}"
    if row.paper_mean is None or row.series in NOT_IN_THE_PAPER:
        return mean
    return f"{mean} ({row.paper_mean:.3f})"


def _table(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
