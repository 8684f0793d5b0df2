"""Values that may be others misspelt: rare, and one letter away from a frequent one."""

from collections.abc import Mapping

SHORTEST = 4  # letters of a word in which one may be wrong
RARE, FEW = 0.02, 3  # share of the cells, or cells, that a slip has at most
OFTEN = 5  # times as many cells hold the right spelling, at least


def misspelt(counts: Mapping[str, int], cells: int) -> dict[str, str]:
    """Return the frequent value that each rare one may be; `counts` are the cells that hold each.

    Numbers, and words that differ in case only, are none of them.
    """
    most = max(FEW, RARE * cells)
    found = {}
    for rare, few in counts.items():
        if few > most:
            continue
        near = [
            (many, other)
            for other, many in counts.items()
            if many >= OFTEN * few and _is_slip(rare.casefold(), other.casefold())
        ]
        if near:
            found[rare] = max(near)[1]
    return found


def _is_slip(one: str, other: str) -> bool:
    """Return whether two texts differ in one word of letters, by one of them."""
    words, others = one.split(), other.split()
    if len(words) != len(others):
        return False
    differ = [pair for pair in zip(words, others, strict=True) if pair[0] != pair[1]]
    return len(differ) == 1 and _one_apart(*differ[0])


def _one_apart(one: str, other: str) -> bool:
    """Return whether a letter was left out, added or changed, or two were swapped."""
    short, long = sorted((one, other), key=len)
    if len(short) < SHORTEST or len(long) - len(short) > 1 or not (one + other).isalpha():
        return False
    start = next((n for n, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), None)
    if start is None:
        return True  # the last letter
    if len(short) < len(long):
        return short[start:] == long[start + 1 :]
    changed = short[start + 1 :] == long[start + 1 :]
    swapped = short[start : start + 2] == long[start : start + 2][::-1]
    return changed or (swapped and short[start + 2 :] == long[start + 2 :])
