"""Every figure of `cfl risk` beside what it really is."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.risk.cases import Case
from cfl_cli.commands.risk.job import FEWER, MERGED, MORE, Risk, risk
from cfl_cli.core.arrays import Floats, Mask
from cfl_cli.run.impute import impute
from cfl_cli.trust.intervals import Interval

SHARES, CHANGES = "share", "change"


@dataclass(frozen=True)
class Line:
    """A figure, and what it really is."""

    case: str
    cf: str
    kind: str
    what: str
    said: Interval
    really: float

    @property
    def holds(self) -> bool:
        return self.said.low - 1e-9 <= self.really <= self.said.high + 1e-9

    def __str__(self) -> str:
        said = f"{self.said.value:+.3f} ({self.said.low:+.3f} to {self.said.high:+.3f})"
        mark = "" if self.holds else "MISSED"
        return f"{self.case:16} {self.cf:14} {self.what:40} {said:28} {self.really:+.3f} {mark}"


@dataclass(frozen=True, eq=False)
class Answered:
    """What is right among the answers to a table, and how confident they are: by CF."""

    right: dict[str, Mask]
    confidences: dict[str, Floats]

    def share(self, cf: str) -> float:
        return float(self.right[cf].mean())

    def sure(self, cf: str) -> Mask:
        return np.asarray(self.confidences[cf] >= 0.9)


def compared(case: Case, *, seed: int = 0, **how: Any) -> Iterator[Line]:
    """Yield every figure beside what it really is; `how` are the settings of `risk`."""
    how = {"method": "auto", "jobs": 1, **how}
    found = risk(case.frame, case.schema, rows=case.rows, **how)
    yield from of_shares(case, found, answered(case, **how))
    how |= {"method": found.tried_method or how["method"], "gamma": 0.0, "folds": 0}
    now = answered(case, **how)
    if len(case.ofs) > 1:
        for of in case.ofs:
            then = answered(case.without(of), **how)
            for column in found.columns:
                lost = next((one.gain_lost for one in column.features if one.name == of), None)
                if lost is None:
                    continue
                really = now.share(column.name) - then.share(column.name)
                yield Line(case.name, column.name, CHANGES, f"gain lost without {of}", lost, really)
    for way, other in _others(case, seed).items():
        said = {
            column.name: one.change
            for column in found.columns
            for one in column.otherwise
            if one.way == way
        }
        then = answered(other, **how) if said else now
        for cf, change in said.items():
            yield Line(case.name, cf, CHANGES, way, change, then.share(cf) - now.share(cf))


def of_shares(case: Case, found: Risk, given: Answered) -> Iterator[Line]:
    """Yield the figures of all rows, beside the truth of the answers that `impute` gives."""
    for column in found.columns:
        cf = column.name
        commonest = _commonest(case, cf)
        really = {
            "inferred right": (column.inferred_right, given.share(cf)),
            "commonest": (column.commonest_right, float(commonest.mean())),
            "gain": (column.gain, given.share(cf) - float(commonest.mean())),
        }
        states_it = (~case.excluded[cf]).sum(axis=1) == 1
        sure = given.sure(cf) & ~states_it
        if sure.any():
            really["sure ones right"] = (column.sure_right, float(given.right[cf][sure].mean()))
        for what, (said, true) in really.items():
            if said is not None:
                yield Line(case.name, cf, SHARES, what, said, true)
        assert np.isclose(column.sure_share, sure.mean())


def answered(case: Case, **how: Any) -> Answered:
    out = impute(case.frame, case.schema, diagnostics=False, **how).frame
    right, confidences = {}, {}
    for cf, true in case.truth.items():
        right[cf] = case.places(out[f"{cf}_imputed"]) == true
        confidences[cf] = out[f"{cf}_confidence"].to_numpy()
    return Answered(right, confidences)


def _others(case: Case, seed: int) -> dict[str, Case]:
    random = np.random.default_rng([seed, 1])
    return {
        MORE: case.with_more(random),
        FEWER: case.with_fewer(random),
        "numbers in 8 bins": case.binned(8),
        "numbers in 4 bins": case.binned(4),
        MERGED: case.merged(),
    }


def _commonest(case: Case, cf: str) -> Mask:
    """Return which rows are right if the commonest candidate is always answered.

    How common values are, the attacker has from the cells: 1 − (K − 1)/s · how often they are
    ruled out, pooled over the numbers of exclusions, s.
    """
    cells = case.excluded[cf]
    counts, size = cells.sum(axis=1), cells.shape[1]
    lists = counts > 0
    shares = 1 - (size - 1) * cells[lists].sum(axis=0) / counts[lists].sum()
    return np.asarray(np.where(cells, -9.0, shares).argmax(axis=1) == case.truth[cf])
