"""Results → `tried.md`: every number in its tables comes from `tried.json`."""

from collections.abc import Iterable, Sequence
from math import hypot
from statistics import fmean, median

from benchmarks.tried.results import Results
from benchmarks.tried.variants import GROUPS, NOTES, SUMMARY, VARIANTS, Variant

NAMES = {"bank": "Bank", "adult": "Adult", "generated": "generated"}
METRICS = {"score": "score", "accuracy": "accuracy", "cross_entropy": "cross entropy"}
CLEAR = 2.0  # standard errors
# The variants that are shown CF by CF.
SHOWN = ("graph", "graph, both chosen", "distance own", "boost", "third", "net", "auto")
HEAD = """# What was tried

What might close the gap between the paper's method and what is reachable, and what it gave. What
the held-out score proves is kept; what failed is listed as well. Written by

    python -m benchmarks.tried --data DIR --out docs/tried.json

from [tried.json](tried.json), which holds the scores of every CF and seed. `DIR` holds `bank.csv`
and `adult.csv`. `--rows` and `--seeds` try other parts of the tables; `--page` writes this page
anew from the file."""
WRITTEN = """\
The words between the tables were written about 10,000 rows and the seeds 0 and 1. In short:"""
JUDGED = """## How it is judged

- **score**: the held-out score, without any truth; higher is better. The cells of a fifth of the
  rows are hidden, the same rows for all variants, and nothing of them may reach what is said of
  these rows: boosting and importances that feed a graph are fitted without them. What is chosen by
  hidden cells (when to stop, how to blend) is chosen by the same ones, as in `cfl`, but weights of
  a blend come from one half of them and are judged on the other, and the scales of a distance are
  searched by other hidden rows.
- **gain**: by how much the score is above that of the variant in brackets, and the standard error
  of that difference over the hidden rows. **Bold**: more than two errors from nothing.
- **accuracy** and **cross entropy**: of the final confidences of all rows, given the truth, which
  has no say in anything.

All are means over CFs and seeds."""


def page(results: Results) -> str:
    """Return all results as Markdown."""
    parts = [HEAD, _of_what(results), WRITTEN, SUMMARY, JUDGED, *_noise(results)]
    for title, variants in GROUPS.items():
        parts += [f"## {title}", _table(results, variants), NOTES[title]]
    parts += ["## CF by CF", "Score / accuracy / cross entropy, means over the seeds."]
    parts += [_cfs(results, table) for table in results.tables]
    return "\n\n".join(parts) + "\n"


def _of_what(results: Results) -> str:
    names = " and ".join(NAMES[table] for table in results.tables)
    seeds = ", ".join(map(str, results.seeds))
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    return (
        f"{results.rows:,} rows of {names}, every CF cell replaced by one wrong value, drawn "
        f"uniformly; seeds {seeds}, which decide the rows, the exclusions and all else that is "
        f"drawn. {versions}."
    )


def _noise(results: Results) -> Iterable[str]:
    """Yield how far chance reaches, if there are seeds to measure it by."""
    if len(results.seeds) < 2:
        return
    body = []
    for table in results.tables:
        for metric, name in METRICS.items():
            own = [_range(results, variant.name, None, table, metric) for variant in VARIANTS]
            apart = {
                _range(results, variant.name, variant.against, table, metric): variant.name
                for variant in VARIANTS
                if variant.against
            }
            spread = f"{median(own):.4f}", f"{median(apart):.4f}", f"{max(apart):.4f}"
            body.append([NAMES[table], name, *spread, apart[max(apart)]])
    head = ["", "", "itself", "its difference", "at most", "which is that of"]
    rule = ["---", "---", "---:", "---:", "---:", "---"]
    yield "## How far chance reaches"
    yield (
        f"{len(results.seeds)} seeds are few. This is how far a variant's result lies apart from "
        "seed to\nseed (the median over the variants), and how far its difference from the variant "
        "in brackets does:"
    )
    yield _lines(head, rule, body)


def _range(results: Results, variant: str, against: str | None, table: str, metric: str) -> float:
    """Return how far a metric, or its difference from another variant's, varies over the seeds."""
    values = [run.mean(metric) for run in results.of(variant, table)]
    if against:
        others = [run.mean(metric) for run in results.of(against, table)]
        values = [own - other for own, other in zip(values, others, strict=True)]
    return max(values) - min(values)


def _table(results: Results, variants: Sequence[Variant]) -> str:
    head = ["variant", "what"]
    for table in results.tables:
        head += [f"{NAMES[table]} score", "gain", "accuracy", "cross entropy"]
    body = []
    for variant in variants:
        line = [variant.name, variant.what]
        if variant.against:
            line[1] += f" [{variant.against}]"
        for table in results.tables:
            means = [results.mean(variant.name, table, metric) for metric in METRICS]
            line.append(f"{means[0]:.4f}")
            line.append(_gain(results, variant, table))
            line += [f"{mean:.3f}" for mean in means[1:]]
        body.append([*line, variant.kept])
    numbers = ["---:"] * (4 * len(results.tables))
    return _lines([*head, "kept"], ["---", "---", *numbers, "---"], body)


def _gain(results: Results, variant: Variant, table: str) -> str:
    runs = results.of(variant.name, table)
    gains = [run.gain for run in runs if run.gain is not None]
    if not gains:
        return ""
    gain = fmean(gains)
    error = hypot(*(run.gain_error or 0.0 for run in runs)) / len(runs)
    shown = f"{round(gain, 4) + 0.0:+.4f} ± {error:.4f}"
    return f"**{shown}**" if abs(gain) > CLEAR * error else shown


def _cfs(results: Results, table: str) -> str:
    cfs = list(results.of(SHOWN[0], table)[0].cfs)
    body = []
    for cf in cfs:
        line = [cf]
        for variant in SHOWN:
            runs = results.of(variant, table)
            means = [fmean(run.cfs[cf][metric] for run in runs) for metric in METRICS]
            line.append(" / ".join(f"{mean:.3f}" for mean in means))
        body.append(line)
    head = [NAMES[table], *SHOWN]
    return _lines(head, ["---", *["---:"] * len(SHOWN)], body)


def _lines(head: Sequence[str], rule: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *body))
