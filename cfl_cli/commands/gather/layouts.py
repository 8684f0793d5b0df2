"""The layouts of a long table, each as statements: in row `at`, a code has a status.

long         a row is one statement
icd-10-gm    the code may have its status behind it, J10.1 A
fhir         a row is a Condition; its status is verificationStatus, or ICD-10-GM's own mark
redcap       a column per option, x___1: 1 is ticked, 0 is not, an empty cell was not seen
shown        a row is a respondent: the options that were shown, and the one that was picked
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import polars as pl

from cfl_cli.commands.gather.asked import FHIR, ICD, REDCAP, SHOWN, Asked, fold
from cfl_cli.tables.frames import has_text
from cfl_cli.texts import BLANKS

STATEMENTS: Mapping[str, Any] = {"at": pl.UInt32, "code": pl.String, "status": pl.String}


class Read(NamedTuple):
    """What rows say; `ids` and `counts` are of every row, and rows that do not count say nothing."""

    ids: pl.Series
    statements: pl.DataFrame  # at, code, status; no code: nothing is said of any
    counts: pl.Series | None = None  # None: all rows do
    systems: tuple[str, ...] = ()  # FHIR's, of codes
    strange: pl.DataFrame | None = None  # at, code: options that were picked and not shown


def read(frame: pl.DataFrame, asked: Asked) -> Read:
    return _LAYOUTS.get(asked.layout, _long)(frame, asked)


def text_of(column: pl.Series) -> pl.Series:
    """Return a column as text without outer blanks, null where it is empty."""
    text = column.cast(pl.String)
    if column.dtype.is_float():
        text = text.str.replace(r"\.0$", "").set(column.is_nan().fill_null(value=False), None)
    text = text.str.strip_chars(BLANKS)
    return text.set((text == "").fill_null(value=False), None)


def _numbered(frame: pl.DataFrame) -> pl.Series:
    return pl.Series("at", range(frame.height), dtype=pl.UInt32)


def _long(frame: pl.DataFrame, asked: Asked) -> Read:
    columns = (_numbered(frame), text_of(frame[asked.code]), text_of(frame[asked.status]))
    made = [column.alias(name) for column, name in zip(columns, STATEMENTS, strict=True)]
    return Read(text_of(frame[asked.id]), pl.DataFrame(made))


# ICD-10-GM: a code, † * or ! of pairs of codes, the mark of certainty, and the side of the body.

_ICD = (
    r"(?i)^([A-Z][0-9]{2})[.]?([0-9]{0,2})[.]?-?\s*[+*†!#]?\s*"
    r"(?:([AVZG])\s*[RLB]?|[RLB]\s*([AVZG])|[RLB])?$"
)


def _icd(frame: pl.DataFrame, asked: Asked) -> Read:
    text = text_of(frame[asked.code])
    parts = text.str.extract_groups(_ICD).struct.unnest()
    chapter, rest, mark, behind = parts.get_columns()
    code = chapter.str.to_uppercase() + (pl.lit("") if rest is None else _dotted(rest))
    own = mark.fill_null(behind)
    status = text_of(frame[asked.status]) if asked.status else own.str.to_uppercase()
    code = code.fill_null(text)  # another code: as it is written
    columns = [_numbered(frame), code.alias("code"), status.alias("status")]
    return Read(text_of(frame[asked.id]), pl.DataFrame(columns))


def _dotted(rest: pl.Series) -> pl.Series:
    return pl.select(pl.when(rest == "").then(pl.lit("")).otherwise("." + rest)).to_series()


# FHIR: Conditions, as objects in columns or as the JSON that the reader makes of mixed ones.

CERTAINTY = "icd-10-gm-diagnosesicherheit"


def _fhir(frame: pl.DataFrame, asked: Asked) -> Read:
    nulls = pl.repeat(None, frame.height, dtype=pl.String, eager=True)

    def field(name: str, made: Callable[[Any], str | None]) -> pl.Series:
        return _mapped(frame[name], made) if name in frame.columns else nulls

    kind = text_of(frame["resourceType"]) if "resourceType" in frame.columns else nulls
    counts = (kind == "Condition").fill_null(value=True)
    chosen = field("code", lambda one: _text(_coding(one, asked.system).get("code")))
    said = field("verificationStatus", _status)
    marked = field("code", lambda one: _certainty(_coding(one, asked.system)))
    systems = field("code", lambda one: _text(_coding(one, asked.system).get("system")))
    both = pl.DataFrame({"said": said, "marked": marked}).unique().drop_nulls()
    meanings = asked.meanings
    odd = [f"{a} {b}" for a, b in both.rows() if meanings.get(fold(a)) != meanings.get(fold(b))]
    pairs = said + " " + marked
    status = said.fill_null(marked).zip_with(~pairs.is_in(odd).fill_null(value=False), pairs)
    columns = [_numbered(frame), chosen.alias("code"), status.alias("status")]
    statements = pl.DataFrame(columns).filter(counts)
    found = systems.filter(counts).drop_nulls().unique(maintain_order=True)
    return Read(field("subject", _patient), statements, counts, tuple(found))


def _mapped(column: pl.Series, made: Callable[[Any], str | None]) -> pl.Series:
    """Return what is made of each different cell, as parsed."""
    if isinstance(column.dtype, pl.Struct):
        column = column.struct.json_encode().replace("null", None)
    texts = column.cast(pl.String).drop_nulls().unique(maintain_order=True)
    if not len(texts):
        return pl.repeat(None, len(column), dtype=pl.String, eager=True)
    found = pl.Series([made(_parsed(text)) for text in texts], dtype=pl.String)
    return column.cast(pl.String).replace_strict(texts, found, default=None)


def _parsed(text: str) -> Any:
    if text[:1] in ("{", "["):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def _text(value: object) -> str | None:
    return str(value).strip(BLANKS) or None if isinstance(value, str | int) else None


def _codings(concept: Any) -> list[Mapping[str, Any]]:
    listed = concept.get("coding") if isinstance(concept, Mapping) else None
    return [one for one in listed or [] if isinstance(one, Mapping)]


def _coding(concept: Any, system: str) -> Mapping[str, Any]:
    """Return the first coding of a system, which may be named by the end of its address."""
    for one in _codings(concept):
        own = str(one.get("system") or "")
        if one.get("code") and (not system or own == system or own.endswith(f"/{system}")):
            return one
    return {}


def _status(concept: Any) -> str | None:
    if isinstance(concept, str):  # before FHIR R4
        return _text(concept)
    return next((_text(one["code"]) for one in _codings(concept) if one.get("code")), None)


def _certainty(coding: Mapping[str, Any]) -> str | None:
    for one in coding.get("extension") or []:
        if isinstance(one, Mapping) and str(one.get("url")).endswith(CERTAINTY):
            return _text((one.get("valueCoding") or {}).get("code"))
    return None


def _patient(subject: Any) -> str | None:
    """Return the id of the patient: `Patient/p1`, also behind an address, is p1."""
    if not isinstance(subject, Mapping):
        return None
    reference = _text(subject.get("reference"))
    if reference is None:
        return _text((subject.get("identifier") or {}).get("value"))
    return re.sub(r"^(?:.*/)?Patient/([^/]+)(?:/_history/.*)?$", r"\1", reference)


# Columns of options: 1, 0 or empty.

_TICKS = {"checked": "1", "true": "1", "unchecked": "0", "false": "0"}


def ticks(columns: list[str], stem: str) -> dict[str, str]:
    """Return the code of each column of options; x____1 is that of -1."""
    start = f"{stem}___"
    codes = {one: one.removeprefix(start) for one in columns if one.startswith(start)}
    return {one: re.sub(r"^_([0-9]+)$", r"-\1", code) for one, code in codes.items() if code}


def _redcap(frame: pl.DataFrame, asked: Asked) -> Read:
    cells = [
        _tick(frame[name]).alias(code) for name, code in ticks(frame.columns, asked.stem).items()
    ]
    wide = pl.DataFrame([_numbered(frame), *cells])
    long = wide.unpivot(index="at", variable_name="code", value_name="status")
    long = long.drop_nulls("status").select(*STATEMENTS)
    if asked.none:
        ticked = long.filter(pl.col("status") == "1")
        refused = ticked.filter(pl.col("code").is_in(asked.none)).select("at")
        long = long.join(ticked.select("at").unique(), on="at", how="semi", maintain_order="left")
        also = ticked.join(refused, on="at", how="semi", maintain_order="left")
        also = also.with_columns(status=pl.lit("0"))  # none of these, and one of them
        long = pl.concat([long, also]).filter(~pl.col("code").is_in(asked.none))
    return Read(text_of(frame[asked.id]), long)


def _tick(column: pl.Series) -> pl.Series:
    text = text_of(column.cast(pl.Int8) if column.dtype == pl.Boolean else column)
    return text.str.to_lowercase().replace(_TICKS).str.replace(r"\.0+$", "")


# Options that were shown to a respondent, and the one that was picked.

SEPARATORS = ("|", ";", ",")


def _shown(frame: pl.DataFrame, asked: Asked) -> Read:
    at = _numbered(frame)
    lists = [pl.DataFrame({"at": at, "code": _split(frame[one], asked)}) for one in asked.shown]
    shown = _exploded(pl.concat(lists))
    picks = _exploded(pl.DataFrame({"at": at, "code": _split(frame[asked.code], asked)}))
    answered = at.is_in(picks["at"].unique().to_list())
    none = [fold(one) for one in asked.none]
    folded = pl.Series([fold(one) for one in picks["code"]], dtype=pl.String)
    picks = picks.filter(~folded.is_in(none))
    strange = picks.join(shown, on=["at", "code"], how="anti", maintain_order="left")
    left = shown.filter(pl.col("at").is_in(at.filter(answered).to_list()))
    left = left.join(picks, on=["at", "code"], how="anti", maintain_order="left")
    statements = pl.concat(
        [left.with_columns(status=pl.lit("shown")), picks.with_columns(status=pl.lit("picked"))]
    )
    return Read(text_of(frame[asked.id]), statements, strange=strange)


def _split(column: pl.Series, asked: Asked) -> pl.Series:
    if isinstance(column.dtype, pl.List | pl.Array):
        lists = column.arr.to_list() if isinstance(column.dtype, pl.Array) else column
        return lists.cast(pl.List(pl.String))
    text = text_of(column)
    parts = text.str.split(asked.separator) if asked.separator else text.reshape((-1, 1))
    return parts.cast(pl.List(pl.String)) if asked.separator else parts.arr.to_list()


def _exploded(lists: pl.DataFrame) -> pl.DataFrame:
    one = lists.explode("code").with_columns(pl.col("code").str.strip_chars(BLANKS))
    return one.filter(pl.col("code").is_not_null() & (pl.col("code") != "")).unique(
        maintain_order=True
    )


def separator_in(column: pl.Series) -> str | None:
    """Return the sign that separates several options in a cell of text, if there are such."""
    if not has_text(column.dtype):
        return None
    text = column.cast(pl.String)
    return next((sign for sign in SEPARATORS if text.str.contains(sign, literal=True).any()), None)


_LAYOUTS = {ICD: _icd, FHIR: _fhir, REDCAP: _redcap, SHOWN: _shown}
