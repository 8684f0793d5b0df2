"""Columns of ranges and of prefixes: `30-40`, `<5`, `65+`, `62*`. Their cells are blocks of values."""

import re

from cfl_cli.commands.init.columns import Guess, Look
from cfl_cli.core.messages import count, quote

_FEWEST = 3  # different ranges, or prefixes
_MOSTLY = 0.8  # of the different texts
_MOST_VALUES = 200
_RANGE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:-|–|\.\.)\s*(\d+(?:\.\d+)?)")
_OPEN = re.compile(r"(?:<=|≤|<|>=|≥|>)\s*(\d+(?:\.\d+)?)|(\d+(?:\.\d+)?)\s*\+")
_BEGINS = re.compile(r"<\s*\d|>=|≥|\d")  # <5 and 65+ name the begin of a bin, ≤5 and >65 do not
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def guess_blocks(look: Look) -> Guess | None:
    """Return how a CF is read whose cells are mostly ranges or prefixes; None: they are not."""
    texts = look.rest.texts
    ranges = [found for text in texts if (found := _RANGE.fullmatch(text))]
    rising = [found for found in ranges if float(found[1]) < float(found[2])]
    opened = [(text, found) for text in texts if (found := _OPEN.fullmatch(text))]
    ends = [(float(found[1] or found[2]), text.startswith(("<", "≤"))) for text, found in opened]
    single = [text for text in texts if _NUMBER.fullmatch(text)]
    read = len(rising) + len(ends) + len(single)
    if len(rising) + len(ends) >= _FEWEST and read >= _MOSTLY * len(texts) and rising:
        exact = [float(text) for text in single]
        low = [end for end, below in ends if below] + exact
        high = [end for end, below in ends if not below] + exact
        begin = {float(found[1] or found[2]) for text, found in opened if _BEGINS.match(text)}
        return _ranges(look, rising, low, high, begin)
    prefixes = [text for text in texts if len(text) > 1 and text.endswith("*")]
    whole = sorted(text for text in texts if "*" not in text)
    if len(prefixes) >= _FEWEST and 2 <= len(whole) <= _MOST_VALUES:
        cells = count(sum(n for text, n in look.rest if text in prefixes), "cell")
        note = f"{cells} like {quote(prefixes[0])} mean all values with this beginning"
        entry = {"role": "complementary", "cells": "candidates", "values": whole}
        doubt = f"{len(whole)} values seen in full: are these all?"
        return Guess(entry, (note,), (doubt,), look.codes, values=frozenset(whole))
    return None


def _ranges(
    look: Look,
    ranges: list[re.Match[str]],
    low: list[float],
    high: list[float],
    begin: set[float],
) -> Guess:
    numbers = [(float(found[1]), float(found[2])) for found in ranges]
    lows, highs = {low for low, _ in numbers}, {high for _, high in numbers}
    # 30-39 and 40-49 meet between 39 and 40: the next range begins where one ends, or 1 later.
    inclusive = len({high + 1 for high in highs} & lows) > len(highs & lows)
    edges = sorted(lows | begin | {high + 1 if inclusive else high for high in highs})
    if low and min(low) <= edges[0] and edges[0] > 0:
        edges = [0.0, *edges]
    if high and max(high) >= edges[-1]:
        edges.append(max(high) + (edges[-1] - edges[-2]))
    shown = [int(edge) if edge == int(edge) else edge for edge in edges]
    cells = count(sum(n for text, n in look.rest if not _NUMBER.fullmatch(text)), "cell")
    note = (
        f"{cells} like {quote(ranges[0][0])} are ranges, and each means the bins that it overlaps"
    )
    doubt = "are these the edges of the bins, and the last one the largest possible number?"
    return Guess(
        {"role": "complementary", "bins": shown}, (note,), (doubt,), look.codes, values=frozenset()
    )
