"""What texts look like: numbers, dates, scales, lists, codes. No schema is known here.

Here are the different texts of a column with their counts: what every guess is made from.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import polars as pl

BLANKS = " \t\r\n\f\v\u00a0\u2007\u2009\u202f\u3000\ufeff"  # also those of spreadsheets
LONGEST = 200  # of a text that may be a number, a band or the like; longer ones are not looked at


@dataclass(frozen=True)
class Tally:
    """The different texts of a column, in order of first appearance, without outer blanks."""

    name: str
    texts: tuple[str, ...]
    counts: tuple[int, ...]  # cells that hold each
    rows: tuple[int, ...]  # the first row of each, counted from 1
    empty: int  # cells that hold nothing, or blanks only

    @property
    def cells(self) -> int:
        return sum(self.counts)

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return iter(zip(self.texts, self.counts, strict=True))

    def without(self, texts: "frozenset[str] | set[str]") -> "Tally":
        """Return the tally of the other cells; those that hold these texts count as empty."""
        if not texts:
            return self
        kept = [
            one
            for one in zip(self.texts, self.counts, self.rows, strict=True)
            if one[0] not in texts
        ]
        left, counts, rows = zip(*kept, strict=True) if kept else ((), (), ())
        return Tally(self.name, left, counts, rows, self.empty + self.cells - sum(counts))


def tally(column: pl.Series) -> Tally:
    texts = column.cast(pl.String).str.strip_chars(BLANKS).rename("text")
    frame = (
        pl.DataFrame({"text": texts, "row": pl.int_range(1, len(texts) + 1, eager=True)})
        .group_by("text", maintain_order=True)
        .agg(pl.len().alias("count"), pl.col("row").first())
    )
    held = (frame["text"] != "").fill_null(value=False)
    found = frame.filter(held)
    return Tally(
        column.name,
        tuple(found["text"].to_list()),
        tuple(found["count"].to_list()),
        tuple(found["row"].to_list()),
        int(frame.filter(~held)["count"].sum()),
    )


@cache
def word_lists(name: str) -> dict[str, tuple[str, ...]]:
    """Return the lines below each heading of a file in `texts/data`."""
    found: dict[str, list[str]] = {}
    text = files("cfl_cli.texts").joinpath("data", f"{name}.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.endswith(":"):
            heading = found.setdefault(line[:-1], [])
        elif line and not line.startswith("# ") and line != "#":
            heading.append(line)
    return {name: tuple(lines) for name, lines in found.items()}


@cache
def word_list(name: str, heading: str, sign: str | None = None) -> frozenset[str]:
    """Return the words below a heading, which blanks separate, or another sign."""
    return frozenset(word for line in word_lists(name)[heading] for word in line.split(sign))
