"""What the rows say in short: for how many CFs a method is better than another."""

from dataclasses import dataclass

from benchmarks.paper.summary import Row, Summary, compared, noise

NO_WORSE = {"matches", "better"}


@dataclass(frozen=True)
class Claim:
    """Something that holds for some of all CFs."""

    words: str
    holds: tuple[str, ...]  # for which CFs
    of: int


def claims(summary: Summary) -> list[Claim]:
    """Return the claims for which there are rows."""
    both = ("accuracy", "cross_entropy")
    paper = _paper(summary, "auto")
    others = {
        other: _against(summary, "auto", other, both, {"better"}) for other in ("ipal", "graph")
    }
    found = [
        _claim(
            "`graph` is at least as accurate as the paper's own numbers",
            {cf: [row.verdict in NO_WORSE] for cf, row in _rows(summary, "graph").items()},
        ),
        _claim(
            "`graph` is at least as accurate as `ipal`",
            _against(summary, "graph", "ipal", ("accuracy",), NO_WORSE),
        ),
        _claim(
            "`graph` is more accurate than always the commonest candidate",
            _against(summary, "graph", "commonest", ("accuracy",), {"better"}),
        ),
        _claim("`auto` beats the paper's own numbers, on accuracy and cross entropy", paper),
        *(
            _claim(f"`auto` beats `{other}`, on accuracy and cross entropy", tests)
            for other, tests in others.items()
        ),
        _claim(
            "`auto` beats both the paper's own numbers and `ipal`, on accuracy and cross entropy",
            {cf: tests + paper[cf] for cf, tests in others["ipal"].items()},
        ),
    ]
    return [claim for claim in found if claim.of]


def _claim(words: str, cfs: dict[tuple[str, str], list[bool]]) -> Claim:
    holds = tuple(f"{table} {cf}" for (table, cf), tests in cfs.items() if all(tests))
    return Claim(words, holds, len(cfs))


def _rows(summary: Summary, series: str, metric: str = "accuracy") -> dict[tuple[str, str], Row]:
    """Return the rows of a method that the paper has numbers for, by table and CF."""
    return {
        (row.table, row.subject): row
        for row in summary.rows
        if (row.part, row.series, row.metric) == ("estimates", series, metric) and row.verdict
    }


def _paper(summary: Summary, series: str) -> dict[tuple[str, str], list[bool]]:
    surprise = _rows(summary, series, "cross_entropy")
    return {
        cf: [row.verdict == "better", surprise[cf].verdict == "better"]
        for cf, row in _rows(summary, series).items()
    }


def _against(
    summary: Summary, one: str, other: str, metrics: tuple[str, ...], good: set[str]
) -> dict[tuple[str, str], list[bool]]:
    """Return for every CF whether one method does well against another, metric by metric."""
    found: dict[tuple[str, str], list[bool]] = {}
    for metric in metrics:
        theirs = _rows(summary, other, metric)
        for cf, ours in _rows(summary, one, metric).items():
            if cf in theirs:
                margin = noise(ours.sd, theirs[cf].sd)
                word = compared(metric, ours.mean - theirs[cf].mean, margin)
                found.setdefault(cf, []).append(word in good)
    return found
