"""How bias is dealt with: python -m benchmarks.field.bias --cases DIR [--redraw].

Reads cases that `python -m benchmarks.field --to DIR` made, judges them again, and prints a table
in Markdown, a line for each mechanism and size of the domain:

    not known      CFs whose accuracy is left out
    holds          CFs whose interval holds the true accuracy of the answers
    holds or not   one of the two, by CFs
    in order       CFs that hold, are not known, or are not recommended without a condition
    break-even     CFs whose break-even is above the odds that were at work, and of these the CFs
                   whose answers are truly better than the commonest candidate
    unnoticed      CFs that were not noticed though a value was favored, and of these the CFs that
                   were right to say that such a bias might not be noticed

With --redraw, cells of uniform cases are drawn anew for the same hidden priors, one exclusion each,
with a value favored, each in turn, and the answers that these priors give are judged:

    noticed        draws that were refuted
    due            draws whose favor is at least what would have been noticed, as was said of the
                   cells as they were, and of these the draws that were refuted (95 % or more)
    within         draws whose true accuracy is within the interval under that bias
    break-even     draws whose break-even is above the odds at work, and of these the draws whose
                   answers are truly better than the commonest candidate
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.field.cases import Case, kept, markdown, show
from cfl_cli.core.arrays import Ints, most_confident
from cfl_cli.core.exclusions import Mechanism, Uniformity
from cfl_cli.trust import Verdict
from cfl_cli.trust.bias import Biased
from cfl_cli.trust.heldout import HiddenCells, judge
from cfl_cli.trust.report import ColumnReport

# The odds between wrong values, where they are known.
ODDS = {
    "uniform": 1.0,
    "uniform, one to three": 1.0,
    "twice as often": 2.0,
    "three times as often": 3.0,
}


REDRAWN = (1.0, 1.2, 1.5, 2.0, 3.0, 5.0)  # odds
HEADINGS = (
    *("exclusions", "values", "CFs", "not known", "holds", "holds or not known"),
    *("in order", "break-even", "unnoticed"),
)


@dataclass(frozen=True)
class Judged:
    """What the report says of one CF, and what is true."""

    mechanism: str
    column: ColumnReport
    right: float  # share of the answers
    commonest: float  # share of the commonest candidates that are right

    @property
    def known(self) -> bool:
        return self.column.estimated_accuracy is not None

    @property
    def holds(self) -> bool:
        accuracy = self.column.estimated_accuracy
        return accuracy is not None and accuracy.low <= self.right <= accuracy.high

    @property
    def in_order(self) -> bool:
        recommended = self.column.verdict in (Verdict.USE, Verdict.CARE)
        return self.holds or not self.known or not recommended

    @property
    def promises(self) -> bool:
        """Return whether answers are said to be better than the commonest under these odds."""
        odds = ODDS.get(self.mechanism)
        least = self.column.break_even_bias
        return odds is not None and least is not None and least > odds

    @property
    def went_unnoticed(self) -> bool:
        return self.known and ODDS.get(self.mechanism, 1.0) > 1

    @property
    def owned_up(self) -> bool:
        """Return whether such a bias is said to go unnoticed."""
        noticed = self.column.unnoticed_bias
        return noticed is None or noticed > ODDS[self.mechanism]


def judged(case: Case) -> Iterator[Judged]:
    columns = zip(case.report().columns, case.facts, case.truth.T, strict=True)
    for column, facts, truth in columns:
        shares = facts.block.mechanism.shares(facts.candidates)
        prior = np.ones(column.domain_size) if shares is None else shares.prior
        common, _ = most_confident(np.tile(prior, (len(truth), 1)), facts.evidence.astype(float))
        right = float((facts.answers == truth).mean())
        yield Judged(case.mechanism, column, right, float((common == truth).mean()))


def table(cfs: list[Judged]) -> Iterator[str]:
    groups: dict[tuple[str, str], list[Judged]] = defaultdict(list)
    for cf in cfs:
        values = "4 or more" if cf.column.domain_size > 3 else str(cf.column.domain_size)
        groups[cf.mechanism, values].append(cf)
    rows = []
    for (mechanism, values), group in sorted(groups.items()):
        promised = [cf for cf in group if cf.promises]
        unnoticed = [cf for cf in group if cf.went_unnoticed]
        numbers = (
            len(group),
            sum(not cf.known for cf in group),
            sum(cf.holds for cf in group),
            sum(cf.holds or not cf.known for cf in group),
            sum(cf.in_order for cf in group),
            f"{sum(cf.right > cf.commonest for cf in promised)} of {len(promised)}",
            f"{sum(cf.owned_up for cf in unnoticed)} of {len(unnoticed)}",
        )
        rows.append((mechanism, values, *numbers))
    return markdown(HEADINGS, rows, texts=2)


def redrawn(cases: Iterable[Case]) -> Iterator[str]:
    """Draw cells of uniform cases anew, with each value favored in turn."""
    counts: dict[float, Counter[str]] = defaultdict(Counter)
    for case in cases:
        for number, facts in enumerate(case.facts):
            hidden, before = facts.hidden_cells, facts.uniformity
            places = case.estimate.hidden.rows if case.estimate.hidden else None
            if hidden is None or before is None or places is None or hidden.mechanism.size < 3:
                continue
            truth = case.truth[places, number]
            for odds in REDRAWN:
                for value in range(hidden.mechanism.size):
                    rng = np.random.default_rng([case.seed, number, value, round(100 * odds)])
                    counts[odds] += _drawn_anew(hidden, before, truth, value, odds, rng)
    rows = [
        (
            f"{odds:g}",
            seen["draws"],
            seen["noticed"],
            f"{seen['due and noticed']} of {seen['due']}",
            f"{seen['within']} of {seen['draws'] - seen['noticed']}",
            f"{seen['better']} of {seen['promised']}",
        )
        for odds, seen in counts.items()
    ]
    return markdown(("odds", "draws", "noticed", "due", "within", "break-even"), rows, texts=0)


def _drawn_anew(
    hidden: HiddenCells,
    before: Uniformity,
    truth: Ints,
    value: int,
    odds: float,
    rng: np.random.Generator,
) -> Counter[str]:
    size = hidden.mechanism.size
    weights = np.where(np.arange(size) == value, odds, 1.0) * (1 - np.eye(size))
    how = Mechanism.of(size, weights / weights.sum(axis=1, keepdims=True))
    cells = how.draw(truth, np.ones(len(truth), dtype=int), rng.random((len(truth), size)))
    drawn = replace(hidden, cells=cells)
    uniform = hidden.mechanism
    due = before.noticed_bias is not None and odds >= before.noticed_bias
    noticed = bool(len(uniform.too_often(cells))) or replace(before, cells=cells).refuted
    seen = Counter({"draws": 1, "due": due, "noticed": noticed, "due and noticed": due and noticed})
    shares = uniform.shares(cells)
    found = judge(drawn, cells, shares=shares.prior) if shares and not noticed else None
    if found is None or shares is None:
        return seen
    biased = Biased(drawn, cells)
    right = float((most_confident(drawn.prior, cells.astype(float))[0] == truth).mean())
    common, _ = most_confident(np.tile(shares.prior, (len(truth), 1)), cells.astype(float))
    band = biased.interval(found.accuracy, odds)
    least = biased.break_even(found.accuracy, found.commonest.value)
    promised = least is not None and least > odds
    seen["within"] = band.low <= right <= band.high
    seen["promised"] = promised
    seen["better"] = promised and right > float((common == truth).mean())
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description="Judge kept cases by how they treat bias.")
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("--exact", type=float, default=0.0)
    parser.add_argument("--redraw", action="store_true")
    asked = parser.parse_args()
    cases = map(kept, sorted(asked.cases.glob(f"*-{asked.exact}-*.pkl")))
    if asked.redraw:
        show(redrawn(case for case in cases if case.mechanism == "uniform"))
    else:
        show(table([one for case in cases for one in judged(case)]))


if __name__ == "__main__":
    main()
