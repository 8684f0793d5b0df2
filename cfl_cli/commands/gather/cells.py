"""From statements to one cell per id.

With E the values that an id's rows rule out, C those that they name as candidates (what is ruled
out is none) and V the domain, the cell of the id is

    =v                    if v is confirmed
    E                     if C holds fewer than two values: one suspicion is not knowledge
    V \\ C, which holds E  if C holds two or more: the value is one of them

Statements contradict each other if a value is both confirmed and ruled out, if two values are
confirmed, or if all values are ruled out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from cfl_cli.commands.gather.asked import (
    CANDIDATE,
    EXACT,
    EXCLUSION,
    FINER,
    NOTHING,
    SHOWN,
    Asked,
)
from cfl_cli.commands.gather.design import Design, design
from cfl_cli.core.messages import count, option
from cfl_cli.errors import DataError, Problem

_MOST = 100_000_000  # names in all cells of candidates; a cell with few of them is long
_MARKS, _SIGNS = ("=", "!", "exact:"), (";", "|", ",", "/", "&", "+")


@dataclass(frozen=True)
class Cells:
    texts: pl.Series  # of every person; null: nothing is known
    domain: tuple[str, ...]
    separator: str
    exact: str
    counts: Mapping[str, int]  # ids by what their cell is: exact, exclusions, candidates, empty
    lone: int  # ids whose only candidate says nothing
    conflicting: int  # ids whose cells were left empty
    finer: int  # ids with exclusions of finer codes that rule out a class
    design: Design | None


def as_values(said: pl.DataFrame, asked: Asked) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return statements of values: codes cut to the level; and those outside the domain."""
    if asked.level is not None:
        cut = r"^((?:[.\s]*[^.\s]){" + str(asked.level) + r"}).*$"
        short = pl.col("code").str.replace(cut, "${1}")
        # The very code both ruled out and confirmed is a contradiction at any level.
        confirmed = (pl.col("meaning") == EXACT).any().over("id", "code")
        is_finer = (short != pl.col("code")) & (pl.col("meaning") == EXCLUSION) & ~confirmed
        finer = FINER if asked.finer == "exclusion" else NOTHING
        meaning = pl.when(is_finer).then(finer).otherwise("meaning").cast(pl.Int8)
        said = said.with_columns(meaning=meaning, code=short)
    said = said.filter(pl.col("meaning") > NOTHING)
    if asked.values is None:
        return said, said.clear()
    inside = pl.col("code").is_in(asked.values)
    return said.filter(inside), said.filter(~inside)


def cells_of(said: pl.DataFrame, people: pl.DataFrame, asked: Asked, *, name: str) -> Cells:
    """Return the cell of each of the people (person, id), from statements (id, code, meaning …)."""
    domain = asked.values or tuple(sorted(said["code"].unique().to_list()))
    if len(domain) < 2:
        text = "{file}: {values} with a meaning seen, but a domain has two or more: {remedy}"
        facts = {"values": count(len(domain), "value"), "remedy": option("values")}
        raise DataError(Problem("gather-domain", text, file=name, **facts))
    separator, exact = _signs(domain, name)
    places = {value: place for place, value in enumerate(domain)}
    said = said.join(people.select("person", "id"), on="id", how="left").with_columns(
        value=pl.col("code").replace_strict(places, return_dtype=pl.Int64)
    )
    per = _latest(_strongest(said), asked)
    empty = _contradicting(per, asked, len(domain), name)
    per = per.join(empty, on="person", how="anti", maintain_order="left")
    known = per.filter(pl.col("meaning") == EXACT).select("person", "value")
    per = per.join(known, on="person", how="anti", maintain_order="left")
    maybe = per.filter(pl.col("meaning") == CANDIDATE)
    maybe = maybe.group_by("person", maintain_order=True).agg("value")
    alone = maybe.filter(pl.col("value").list.len() == 1)
    several = maybe.filter(pl.col("value").list.len() > 1)
    if asked.one_candidate == "exact":
        known = pl.concat([known, alone.with_columns(pl.col("value").list.first())])
    out = per.filter(pl.col("meaning").is_in([EXCLUSION, FINER])).select("person", "value")
    for others in (known, several):
        out = out.join(others, on="person", how="anti", maintain_order="left")
    texts = {
        "exact": known.select("person", cell=_named([f"{exact}{one}" for one in domain])),
        "exclusions": out.group_by("person", maintain_order=True).agg(
            cell=_named(domain).str.join(separator)
        ),
        "candidates": _complements(several, domain, separator, name),
    }
    found = pl.concat([*texts.values()])
    column = people.join(found, on="person", how="left", maintain_order="left")["cell"]
    counts = {kind: int(part["cell"].count()) for kind, part in texts.items()}
    outside = asked.values is not None and asked.other == "skip"
    return Cells(
        column,
        domain,
        separator,
        exact,
        counts | {"empty": column.null_count()},
        0 if asked.one_candidate == "exact" else alone.height,
        empty.height,
        per.filter(pl.col("meaning") == FINER)["person"].n_unique(),
        None if outside else _form(said, replace(asked, values=domain)),
    )


def _named(texts: tuple[str, ...] | list[str]) -> pl.Expr:
    return pl.col("value").replace_strict(dict(enumerate(texts)), return_dtype=pl.String)


def _strongest(said: pl.DataFrame) -> pl.DataFrame:
    """Return a line for each person and value, with the times of what confirms it and rules it out."""
    kinds = {"exact": EXACT, "out": EXCLUSION}
    times = {
        f"time_{kind}": pl.col("time").filter(pl.col("meaning") == meaning).max()
        for kind, meaning in kinds.items()
    }
    per = said.group_by("person", "value").agg(pl.max("meaning"), pl.min("row"), **times)
    return per.sort("person", "value")


_BOTH = pl.col("time_exact").is_not_null() & pl.col("time_out").is_not_null()


def _latest(per: pl.DataFrame, asked: Asked) -> pl.DataFrame:
    """Return the lines without what a later one contradicts, if that is wanted."""
    if asked.conflict != "latest":
        return per
    later = _BOTH & (pl.col("time_out") > pl.col("time_exact"))
    earlier = _BOTH & (pl.col("time_out") < pl.col("time_exact"))
    per = per.with_columns(
        meaning=pl.when(later).then(EXCLUSION).otherwise("meaning").cast(pl.Int8),
        time_exact=pl.when(later).then(None).otherwise("time_exact"),
        time_out=pl.when(earlier).then(None).otherwise("time_out"),
    )
    is_exact = pl.col("meaning") == EXACT
    last = pl.col("time_exact").filter(is_exact).max().over("person")
    return per.filter(~is_exact | (pl.col("time_exact") == last))


CONFLICTS = {
    "both": "a value is both ruled out and confirmed",
    "two-exact": "two values are confirmed",
    "all-excluded": "every value is ruled out",
}


def _contradicting(per: pl.DataFrame, asked: Asked, size: int, name: str) -> pl.DataFrame:
    """Return the persons whose cells stay empty, or raise one problem for each kind."""
    both = per.filter(_BOTH)
    others = per.join(both, on="person", how="anti", maintain_order="left")
    exact = others.filter(pl.col("meaning") == EXACT)
    out = per.filter(pl.col("meaning").is_in([EXCLUSION, FINER]))
    found = {
        "both": both,
        "two-exact": exact.filter(pl.len().over("person") > 1),
        "all-excluded": out.filter(pl.len().over("person") == size),
    }
    remedy = f"correct the rows, or add {option('conflict', 'empty')}"
    if not asked.time:
        remedy += f", or {option('time', 'COLUMN')} so that the latest status counts"
    text = "{file}: {ids}: {what} (first in row {row}): {remedy}"
    problems = [
        Problem(
            f"gather-{kind}",
            text,
            file=name,
            row=lines["row"].min(),
            column=asked.column_of("code"),
            remedy=remedy,
            what=CONFLICTS[kind],
            ids=count(lines["person"].n_unique(), "id"),
        )
        for kind, lines in found.items()
        if lines.height
    ]
    if problems and asked.conflict != "empty":
        raise DataError(*problems)
    return pl.concat([lines.select("person") for lines in found.values()]).unique()


def _signs(domain: tuple[str, ...], name: str) -> tuple[str, str]:
    """Return a separator that no value holds, and an exact mark with which none begins."""
    separator = next((one for one in _SIGNS if not any(one in value for value in domain)), None)
    exact = next((one for one in _MARKS if not any(v.startswith(one) for v in domain)), None)
    if separator is None or exact is None:
        text = "{file}: no sign is left to separate the values, which hold all of {signs}: {remedy}"
        facts = {"signs": " ".join(_SIGNS), "remedy": "rename a value"}
        raise DataError(Problem("gather-separator", text, file=name, **facts))
    return separator, exact


def _complements(
    several: pl.DataFrame, domain: tuple[str, ...], separator: str, name: str
) -> pl.DataFrame:
    """Return for each person with candidates all other values, as exclusions."""
    sizes = several["value"].list.len()
    if len(domain) * several.height - int(sizes.sum()) > _MOST:
        text = "{file}: cells of candidates would rule out {names:,} values in all: {remedy}"
        names = len(domain) * several.height - int(sizes.sum())
        remedy = f"{option('level', 'N')} or {option('values')} for fewer values"
        raise DataError(Problem("gather-too-long", text, file=name, names=names, remedy=remedy))
    cells: dict[tuple[int, ...], str] = {}
    made = []
    for candidates in several["value"].to_list():
        key = tuple(candidates)
        if key not in cells:
            left = {*key}
            others = (value for place, value in enumerate(domain) if place not in left)
            cells[key] = separator.join(others)
        made.append(cells[key] or None)
    return pl.DataFrame({"person": several["person"], "cell": pl.Series(made, dtype=pl.String)})


def _form(said: pl.DataFrame, asked: Asked) -> Design | None:
    """Return how a form chose its options, if these are such: each id has some, and picks one or none."""
    sure = said.filter(pl.col("meaning").is_in([EXCLUSION, EXACT]))
    per = sure.group_by("person", maintain_order=True).agg(
        pl.col("value").unique().sort(), picked=(pl.col("meaning") == EXACT).any()
    )
    picked = per.filter("picked")
    if asked.layout != SHOWN:
        drawn = asked.drawn == "at-random" and picked.height
        if not drawn or picked["value"].list.len().min() == 1:
            return None
    sets = {tuple(codes): n for codes, n in per.group_by("value", maintain_order=True).len().rows()}
    return design(sets, picked.height, len(asked.values or ())) if sets else None
