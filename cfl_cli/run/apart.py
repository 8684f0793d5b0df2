"""Large domains whose cells are blocks: each part of the domain is estimated by itself.

Old codes mean few of thousands of new ones, and no row of one old code says anything of the new codes
of another. So values that share a cell are linked, linked values make a part, and the rows of a part
are a small table with a small domain. The whole as one would take thousands of columns, nearly all
of them 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, best, components, most_confident
from cfl_cli.core.exclusions import distinct
from cfl_cli.core.progress import Progress
from cfl_cli.core.settings import METHODS, Settings
from cfl_cli.encode.encode import Encoded
from cfl_cli.errors import DataError, Problem
from cfl_cli.methods.interface import Estimate, Hidden
from cfl_cli.run.prepare import hidden_together, run

LARGE = 100  # values, above which a domain is taken apart
_FEWEST = 40  # rows, below which only the shares of a part are estimated


def parts_of(encoded: Encoded) -> dict[int, tuple[Ints, Ints]]:
    """Return the CFs to be taken apart, with the part of each value, K, and of each row, n.

    The part of a row is −1 if its cell leaves the values of several parts.
    """
    found = {}
    for number, block in enumerate(encoded.blocks):
        if block.blocks is None or len(block.values) <= LARGE:
            continue
        cells = encoded.candidates[:, block.columns]
        first, places = distinct(cells)
        different = cells[first]
        telling = different[~different.all(axis=1)]
        rows, values = np.nonzero(telling)
        same = rows[1:] == rows[:-1]
        of_value = components(len(block.values), values[:-1][same], values[1:][same])
        if of_value.max(initial=0) == 0:
            continue
        of_cell = np.where(different.all(axis=1), -1, of_value[different.argmax(axis=1)])
        found[number] = of_value, of_cell[places]
    return found


def estimate(
    encoded: Encoded,
    settings: Settings,
    *,
    folds: Sequence[Ints],
    progress: Progress,
    fit: bool,
    **how: Any,
) -> Estimate:
    """Run the method on the table, and on each part of the CFs that are taken apart.

    Nothing that is fitted to parts is kept for later rows.
    """
    taken = parts_of(encoded)
    if not taken:
        return run(encoded, settings, folds=folds, progress=progress, fit=fit, **how)
    if fit:
        name = encoded.blocks[next(iter(taken))].name
        text = "column {column!r}: a model cannot contain blocks in so large a domain: {remedy}"
        remedy = "impute it without a model"
        raise DataError(Problem("model-large-domain", text, column=name, remedy=remedy))
    rest = [cf for cf in range(len(encoded.blocks)) if cf not in taken]
    base = None
    if rest:
        left = _of_cfs(encoded, rest)
        base = run(left, settings, folds=folds, progress=progress, fit=False, **how)
    found = {
        cf: _by_parts(_of_cfs(encoded, [cf]), settings, *parts, jobs=how.get("jobs"))
        for cf, parts in taken.items()
    }
    return _together(encoded, base, rest, found)


def _of_cfs(encoded: Encoded, cfs: Sequence[int]) -> Encoded:
    """Return the table with some of its CFs."""
    blocks, start, columns = [], 0, []
    for cf in cfs:
        block = encoded.blocks[cf]
        columns.append(encoded.candidates[:, block.columns])
        blocks.append(replace(block, start=start))
        start += len(block.values)
    return replace(encoded, candidates=np.hstack(columns), blocks=tuple(blocks))


def _by_parts(
    encoded: Encoded, settings: Settings, of_value: Ints, of_row: Ints, *, jobs: int | None
) -> Estimate:
    """Return the estimate of the one CF of a table, each part of its values by itself."""
    n, size = encoded.candidates.shape
    confidences, mass = np.zeros((n, size)), np.ones((n, 1))
    fell_back = np.zeros((n, 1), dtype=bool)
    hidden_rows, priors = list[Ints](), list[Floats]()
    largest: tuple[int, Estimate | None] = (0, None)
    for part in range(int(of_value.max()) + 1):
        rows, values = np.flatnonzero(of_row == part), np.flatnonzero(of_value == part)
        if len(rows) == 0:
            continue
        if len(values) == 1:
            confidences[rows, values[0]] = 1.0
            continue
        found = _of_part(encoded, rows, values, settings, jobs=jobs)
        confidences[np.ix_(rows, values)] = found.confidences
        mass[rows], fell_back[rows] = found.mass, found.fell_back
        if len(rows) > largest[0]:
            largest = len(rows), found
        if found.hidden is not None:
            wide = np.zeros((len(found.hidden.rows), size))
            wide[:, values] = found.hidden.priors
            hidden_rows.append(rows[found.hidden.rows])
            priors.append(wide)
    lost = of_row < 0  # nothing is known of them but how common values are
    confidences[lost] = confidences[~lost].mean(axis=0) if (~lost).any() else 1 / size
    hidden = Hidden(np.concatenate(hidden_rows), np.concatenate(priors)) if hidden_rows else None
    first = largest[1] or run(
        encoded, settings.replaced({"method": "commonest"}), folds=[], progress=_silent, jobs=jobs
    )
    return replace(
        first,
        confidences=confidences,
        mass=mass,
        fell_back=fell_back,
        hidden=hidden,
        null=None,
        answers=None,
        fitted=None,
    )


def _of_part(
    encoded: Encoded, rows: Ints, values: Ints, settings: Settings, *, jobs: int | None
) -> Estimate:
    some = encoded.some(rows)
    (block,) = some.blocks
    names = tuple(np.array(block.values, dtype=object)[values].tolist())
    block = replace(block, values=names, start=0, alike=None, shares=None, lineage=None)
    part = replace(some, candidates=some.candidates[:, values], blocks=(block,))
    few = len(rows) < max(_FEWEST, settings.k + 2) and METHODS[settings.method].learns
    if few or not np.ptp(part.features, axis=0).any():
        settings = settings.replaced({"method": "commonest"})
    folds = [] if few else hidden_together(len(rows), settings, part.groups)
    return run(part, settings, folds=folds, progress=_silent, jobs=jobs, fit=False)


def _together(
    encoded: Encoded, base: Estimate | None, rest: Sequence[int], found: Mapping[int, Estimate]
) -> Estimate:
    """Return one estimate of all CFs."""
    n, width = encoded.candidates.shape
    one = base or next(iter(found.values()))
    hidden = None
    if one.hidden is not None:
        rules = None
        if base is not None and base.hidden is not None and base.hidden.rules is not None:
            of = base.hidden.rules
            cfs = range(len(encoded.blocks))
            rules = tuple(most_confident if cf in found else of[rest.index(cf)] for cf in cfs)
        hidden = Hidden(one.hidden.rows, np.zeros((len(one.hidden.rows), width)), rules)
    confidences, mass = np.zeros((n, width)), np.ones((n, len(encoded.blocks)))
    fell_back = np.zeros((n, len(encoded.blocks)), dtype=bool)
    origins, start = [], 0
    for cf, block in enumerate(encoded.blocks):
        size = len(block.values)
        source, own = found.get(cf, one), slice(start, start + size)
        if cf in found:
            own = slice(0, size)
        at = 0 if cf in found else rest.index(cf)
        start += 0 if cf in found else size
        confidences[:, block.columns] = source.confidences[:, own]
        mass[:, cf], fell_back[:, cf] = source.mass[:, at], source.fell_back[:, at]
        origins.append(source.origins[at])
        if hidden is not None:
            hidden.priors[:, block.columns] = _priors_at(hidden.rows, source, own, n)
    answers = None
    if base is not None and base.answers is not None:  # not always the most confident candidate
        columns = [
            best(confidences[:, block.columns], encoded.candidates[:, block.columns])
            if cf in found
            else base.answers[:, rest.index(cf)]
            for cf, block in enumerate(encoded.blocks)
        ]
        answers = np.column_stack(columns)
    return replace(
        one,
        confidences=confidences,
        mass=mass,
        fell_back=fell_back,
        origins=tuple(origins),
        hidden=hidden,
        null=None,
        answers=answers,
        fitted=None,
    )


def _priors_at(rows: Ints, source: Estimate, own: slice, n: int) -> Floats:
    """Return the priors of some rows, even ones where the rows were not held out."""
    priors = np.full((len(rows), own.stop - own.start), 1 / (own.stop - own.start))
    if source.hidden is not None:
        place = np.full(n, -1)
        place[source.hidden.rows] = np.arange(len(source.hidden.rows))
        known = place[rows] >= 0
        priors[known] = source.hidden.priors[place[rows[known]], own]
    return priors


def _silent(*_: object) -> None:
    """Show no progress: parts are many and small."""
