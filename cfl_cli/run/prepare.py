"""What every job with a method needs: an encoded table, the rows to hide, and the method's run."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from polars.exceptions import PolarsError

from cfl_cli import methods
from cfl_cli.core import draws
from cfl_cli.core.arrays import Floats, Ints, linked, ranks
from cfl_cli.core.messages import STORED, command, named_setting, option, quote
from cfl_cli.core.parallel import Engine, Workers, available_cores
from cfl_cli.core.progress import Progress
from cfl_cli.core.settings import AUTO, DEFAULT_GAMMA, METHODS, Settings
from cfl_cli.encode.cells import Cells, usable_columns, used_columns
from cfl_cli.encode.columns import FittedDates, FittedNumbers, fit_column
from cfl_cli.encode.encode import Empty, Encoded, clashes, encode, features_of, with_reference
from cfl_cli.encode.findings import Finding, MisfitError, Problems
from cfl_cli.errors import CflError
from cfl_cli.methods.interface import Estimate
from cfl_cli.schema.model import Scale, Schema, scalar
from cfl_cli.tables import frames
from cfl_cli.tables.codec import Columns, is_loading
from cfl_cli.texts.matching import as_text
from cfl_cli.trust.intervals import Gain
from cfl_cli.trust.verdict import few_distinct

FOLDS = 5  # unless their number is given …
ONE_FOLD_ABOVE = 20_000  # … but of more rows than this, one of the five is enough …
ENOUGH_HIDDEN, FEWEST_FOLDS = 2000, 2  # … and where folds are dear, so many rows, of two folds
FEW_ROWS = 30  # from which an estimate is worth while with fewer neighbors than were asked for
FEWER_HIDDEN_ABOVE = 1_000_000  # … and above this so many of them, at most
MOST_HIDDEN = 200_000
LARGE_GROUP = 0.01  # … unless a group holds more of them, for which one fold is no fair sample


def prepare(
    frame: Any,
    schema: Schema,
    settings: Settings,
    *,
    name: str,
    jobs: int | None = None,
    empty: Empty | None = None,
    reference: Any = None,
) -> Encoded:
    """Return the encoded table, or raise with everything that would keep a run from working.

    Its arrays are made by `empty`, in memory if it is left out. Rows that are copies of others
    belong together, like those that the schema groups.
    """
    k = settings.k
    loaded = is_loading(frame)
    table = frame if loaded else frames.as_polars(frame, used_columns(schema), name=name)
    rows, problems = table.height, []
    if METHODS[settings.method].needs_neighbors and 1 < rows <= k:
        if rows < FEW_ROWS:
            what = f"{rows} rows are too few to estimate from"
            model = command("apply", python="Model.apply", mark="")
            way_out = f"use a fitted model ({model}), or add rows"
        else:
            what = f"k = {k} needs more than {k} rows, and the table has {rows}"
            way_out = f"set {named_setting('k')} to {rows - 1} or less"
        problems.append(Finding("few-rows", what, way_out, count=rows))
    said: tuple[str, ...] = ()
    if "auto" in (schema.scale, *(of.scale for of in schema.ordinary.values())):
        schema, said = settle_scales(table, schema, settings, name=name, jobs=jobs)
    misfit: MisfitError | None = None
    try:
        encoded = encode(table, schema, name=name, empty=empty)
        domains = {block.name: block.values for block in encoded.blocks}
    except MisfitError as error:
        misfit = error
        domains = {cf: column.values or () for cf, column in schema.complementary.items()}
    taken = clashes(
        frames.names(frame), domains, mode=settings.mode, ancestors=schema.with_ancestors
    )
    problems += [Finding("column-name", told, "") for told in taken]
    if misfit is not None:
        raise MisfitError(name, (*misfit.findings, *problems), misfit.warnings)
    if encoded.groups is not None and settings.folds != 0:
        count = len(np.unique(encoded.groups))
        if count == 1:
            what = "all rows belong to one group, so none are left when the group is held out"
            by = ", ".join(schema.group)
            way_out = (
                f"take `group: {by}` out of the schema, or hold out no rows ({option('folds', 0)})"
            )
            problems.append(Finding("few-groups", what, way_out, patch={"group": None}))
        elif settings.folds != AUTO and count < settings.folds:
            what = (
                f"the rows belong to {count:,} groups, too few for {settings.folds:,} folds, because whole "
                "groups are held out"
            )
            way_out = f"set {named_setting('folds')} to {count:,} or less"
            problems.append(Finding("few-groups", what, way_out))
    if problems:
        raise MisfitError(name, problems, encoded.findings)
    encoded = replace(
        encoded,
        warnings=(*encoded.warnings, *said),
        findings=(
            *encoded.findings,
            *(Finding("scale-chosen", it, "", warning=True) for it in said),
        ),
    )
    if reference is not None:
        wanted = [one for one in used_columns(schema) if one in frames.names(reference)]
        cells = frames.as_polars(reference, wanted, name=REFERENCE)
        encoded = with_reference(encoded, cells, schema, name=REFERENCE)
    if settings.folds == 0:
        return encoded
    if len(encoded.features) > FEWER_HIDDEN_ABOVE:
        told = "duplicate rows were not looked for in so large a table: remove them, or intervals are too narrow"
        return replace(encoded, warnings=(*encoded.warnings, told))
    with Workers(jobs or available_cores()) as workers:
        keys = {} if schema.group else _keys(frame, schema, name=name)
        return with_copies(encoded, settings, keys=keys, workers=workers)


REFERENCE = "reference"  # what errors call the table of other rows


def settle_gamma(encoded: Encoded, settings: Settings) -> tuple[Settings, tuple[str, ...]]:
    """Return the settings with a γ, whether or not it was asked for, and what to warn of.

    Unless it was, and if there are cells to choose by, each CF takes the round that its hidden
    cells favor where few rows are distinct by their OFs.
    """
    if settings.gamma is not None:
        return settings, ()
    chooses = METHODS[settings.method].second_round and settings.folds != 0
    if any(block.mechanism.noisy for block in encoded.blocks):
        # Rows that state the same value become neighbors in a second round, whatever is true.
        return settings.replaced({"gamma": AUTO if chooses else 0.0}), ()
    few = few_distinct(encoded.features, k=settings.k) if chooses else None
    if few is None:
        return settings.replaced({"gamma": DEFAULT_GAMMA}), ()
    why = (
        f"only {few:,} rows have distinct OFs, where a second round often lowers the accuracy, so gamma "
        "is auto: a second round only for CFs whose held-out cells it predicts better; "
        f"{option('gamma', DEFAULT_GAMMA, to=STORED)} makes one for all CFs"
    )
    return settings.replaced({"gamma": AUTO}), (why,)


def with_copies(
    encoded: Encoded, settings: Settings, *, keys: Mapping[str, Ints] | None = None, workers: Engine
) -> Encoded:
    """Return the encoded table in which copies belong together; as it is, if there are none.

    `keys` are columns that may name whose a row is, with a number for each row. If rows of a key
    share cells, they belong together as well.
    """
    from cfl_cli.trust import copies  # the search for neighbors loads slowly

    names = [*(keys or {})]
    found = copies.find_copies(
        encoded.known,
        ofs=[*features_of(encoded).values()],
        keys=[copies.Key(keys[name], name in encoded.ordinary) for name in names] if keys else (),
        workers=workers,
        seed=settings.seed,
    )
    if found is None:
        return encoded
    groups, told = encoded.groups, []
    if found.key is not None and keys:
        groups = keys[names[found.key]]
        told.append(_shares(names[found.key]))
    if len(found.rows):
        count = len(found.rows)
        told.append(Finding("repeated-rows", found.warning, "", count=count, warning=True))
    warned = replace(
        encoded,
        warnings=(*encoded.warnings, *(finding.for_report for finding in told)),
        findings=(*encoded.findings, *told),
        copies_missed=found.missed,
    )
    groups = linked(len(encoded.features), found.rows, found.twins, groups)
    # One group of all rows would leave nothing to learn from.
    return replace(warned, groups=groups) if groups.any() else warned


def _shares(column: str) -> Finding:
    what = (
        "rows with the same cell share exclusions far more often than chance allows, so they are "
        "held out together and count as one"
    )
    fix = f"set `group: {scalar(column)}`"
    patch = {"group": column}
    return Finding(
        "shared-cells", what, fix, column, patch=patch, warning=True, brief=f"{what}; {fix}"
    )


LEAST_KEYS = 10  # different cells of a column that names whose a row is


def _keys(frame: Any, schema: Schema, *, name: str) -> dict[str, Ints]:
    """Return columns that may name whose a row is: for each row a number, its own if missing.

    These are columns that are left out of the estimate, and OFs of whole numbers or texts.
    """
    keys = {}
    for column in frames.names(frame):
        if not isinstance(column, str) or column in schema.complementary:
            continue
        try:
            loaded = frame if is_loading(frame) else frames.as_polars(frame, [column], name=name)
            text = as_text(cells) if frames.has_text((cells := loaded[column]).dtype) else None
        except (CflError, PolarsError, TypeError, ValueError):
            continue  # it may hold anything if it is left out
        if text is None or (cells.dtype.is_float() and text.dtype == pl.String and _broken(text)):
            continue
        known = text.set(text.is_in(schema.missing_in(column)).fill_null(value=True), None)
        different = known.drop_nulls().n_unique()
        if LEAST_KEYS <= different < known.len() - known.null_count():
            codes = known.rank("dense").fill_null(0).to_numpy().astype(np.int64)
            own = len(codes) + 1 + np.arange(len(codes))
            keys[column] = ranks(np.where(codes == 0, own, codes))
    return keys


def _broken(text: pl.Series) -> bool:
    return bool(text.str.contains(".", literal=True).any())


def hidden_together(n: int, settings: Settings, groups: Ints | None = None) -> list[Ints]:
    """Return the rows that are hidden together, fold by fold; `groups` are never split.

    The largest groups are dealt first, so that the first fold always has the largest of all.
    """
    if settings.folds != AUTO:
        return draws.folds(n, settings.folds, settings.seed, groups)
    if n > FEWER_HIDDEN_ABOVE and groups is None:
        return draws.folds(n, n // MOST_HIDDEN, settings.seed)[:1]
    dealt = draws.folds(n, FOLDS, settings.seed, groups)
    largest = 1 if groups is None else np.bincount(ranks(groups)).max(initial=0)
    if largest > LARGE_GROUP * n:
        return dealt
    if n > ONE_FOLD_ABOVE:
        return dealt[:1]
    if METHODS[settings.method].many_parts:
        return dealt[: max(-(-ENOUGH_HIDDEN * FOLDS // n), FEWEST_FOLDS)]
    return dealt


def run(
    encoded: Encoded,
    settings: Settings,
    *,
    folds: Sequence[Ints],
    jobs: int | None = None,
    progress: Progress,
    engine: Engine | None = None,
    fit: bool = True,
) -> Estimate:
    """Run the method on an encoded table, by an engine or else by as many threads as `jobs` says.

    Unless it is to `fit` something for later rows, that is left out where it costs anything.
    """
    with nullcontext(engine) if engine else Workers(jobs or available_cores()) as workers:
        return methods.load(settings.method, fit=fit).estimate(
            encoded.known, settings, folds=folds, workers=workers, progress=progress
        )


# `scale: auto` is chosen by held-out cells. A column takes `robust` if rows that are hidden are predicted clearly better with it, and none of
# the CFs clearly worse; otherwise it stays with `minmax`. Columns whose fences are their smallest and
# largest cell are scaled alike by both, and need no trial; the others are tried one after the other,
# each with what was chosen for those before, or all at once if they are many.
#
# A trial is the first round on a sample of the rows, but ranges and fences are those of all rows: a
# wild cell counts also where the sample lacks it. Methods that know only which of two numbers is
# larger, trees and the network, keep `minmax`.

SAMPLE = 10_000  # rows of a trial, if there are more
_MANY = 12  # columns, above which all are tried at once


# A column that fences scale otherwise: its name, the place of its feature, and that by fences.
Both: TypeAlias = tuple[str, int, Floats]


def settle_scales(
    table: Columns, schema: Schema, settings: Settings, *, name: str, jobs: int | None
) -> tuple[Schema, tuple[str, ...]]:
    """Return the schema in which every column has a scale, and what to say of the choice.

    Whatever is wrong with the table is left to the run itself to report.
    """
    scaled = [name for name, of in schema.ordinary.items() if of.type in ("numeric", "date")]
    left = [name for name in scaled if schema.scale_of(name) == "auto"]
    plain = _with(schema, dict.fromkeys(left, "minmax"))
    if not METHODS[settings.method].keeps_rows or table.height <= settings.k:
        return plain, _told(left, {})
    rows = draws.order(table.height, draws.TRIALS, settings.seed)[: max(SAMPLE, settings.k + 1)]
    try:
        encoded, differing = _sample(table, plain, left, np.sort(rows), name=name)
    except MisfitError:
        return plain, ()
    chosen = _chosen(encoded, differing, settings, jobs=jobs)
    return _with(plain, dict.fromkeys(chosen, "robust")), _told(left, chosen)


def _with(schema: Schema, scales: dict[str, Scale]) -> Schema:
    changed = {
        name: schema.ordinary[name].model_copy(update={"scale": scale})
        for name, scale in scales.items()
    }
    return schema.model_copy(update={"columns": {**schema.columns, **changed}})


def _sample(
    table: Columns, schema: Schema, left: Sequence[str], rows: Ints, *, name: str
) -> tuple[Encoded, list[Both]]:
    problems = Problems(name, _with(schema, dict.fromkeys(left, "robust")))
    used = used_columns(schema)
    usable_columns(table, used, problems, lists=schema.complementary)
    problems.raise_if_any()
    fitted, parts = {}, []
    for column in used:
        series = table[column]
        parts.append(series.gather(rows))
        if column in left:
            found = fit_column(Cells.of(series, schema), schema.ordinary[column], problems)
            if isinstance(found, FittedNumbers | FittedDates):
                fitted[column] = found
    problems.raise_if_any()
    some = pl.DataFrame(parts)
    encoded = encode(some, schema, name=name)
    features, differing, place = encoded.features.copy(), [], 0
    for column, own in encoded.ordinary.items():
        if (robust := fitted.get(column)) is not None:
            cells = Cells.of(some[column], schema)
            plain = replace(robust, lower=None, upper=None).features(cells, problems)
            fenced = robust.features(cells, problems)
            if plain is not None and fenced is not None:
                features[:, place] = plain[0][:, 0]
                if (robust.lower, robust.upper) != (robust.low, robust.high):
                    differing.append((column, place, fenced[0][:, 0]))
        place += own.width
    return replace(encoded, features=features), differing


def _chosen(
    encoded: Encoded, differing: Sequence[Both], settings: Settings, *, jobs: int | None
) -> dict[str, Gain]:
    from cfl_cli.run.search import Folds, Trials, gain, harms, is_clear  # few runs choose scales

    rows = draws.order(len(encoded.features), draws.TRIALS, settings.seed)
    folds = Folds.of(rows, encoded.groups)
    hidden = np.concatenate([*folds.confirming, np.empty(0, dtype=np.int64)])
    if not differing or encoded.candidates[hidden].all():
        return {}
    one_round = settings.replaced({"method": "graph", "gamma": 0.0})
    chosen: dict[str, Gain] = {}
    here, steps = encoded, [(it,) for it in differing] if len(differing) <= _MANY else [differing]
    with Workers(jobs or available_cores()) as workers:

        def judged(tried: Encoded) -> Floats:
            return Trials(tried, rows, workers).tested(one_round, folds)

        scores = judged(here)
        for step in steps:
            features = here.features.copy()
            for _, place, robust in step:
                features[:, place] = robust
            there = replace(here, features=features)
            other = judged(there)
            gained = gain(other, scores, mutual=folds.mutual)
            harm = harms(other, scores, mutual=folds.mutual)
            if is_clear(gained, rows=len(other)) and not harm:
                here, scores = there, other
                chosen |= {name: gained for name, _, _ in step}
    return chosen


def _told(left: Sequence[str], chosen: Mapping[str, Gain]) -> tuple[str, ...]:
    return tuple(
        f"column {quote(name)}: scale: auto chose "
        + (
            f"robust, which predicts held-out cells better (gain {gained.value:.3f} ± "
            f"{gained.value - gained.low:.3f})"
            if (gained := chosen.get(name)) is not None
            else "minmax, as robust does not clearly predict held-out cells better"
        )
        for name in left
    )
