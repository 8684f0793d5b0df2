"""How far a text stands on a scale of words, in any of many languages: `rather good`, `çok iyi`.

A text is a step of a scale, such as good or bad, with words around it that shift it: very, rather,
not. Its level is 0 in the middle and ±5 at the ends:

    bad −2, rather bad −1, very bad −3, terrible −5; not good −2, not at all good −4
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from unicodedata import category, normalize

from cfl_cli.core.quick import dataclass

FEWEST, MOST = 3, 12  # texts of such a scale
PLACES = {5: (-5.0, -2.0, 0.0, 2.0, 5.0), 7: (-5.0, -2.0, -1.0, 0.0, 1.0, 2.0, 5.0)}
SHIFTED = {"extreme": 4.0, "strong": 3.0, "weak": 1.0, "almost": 1.0}
NEITHER = re.compile(
    r"(?:neither .* nor|weder .* noch|varken .* eller|h?verken .* eller|niet .* niet|noch .* noch"
    r"|ni .* ni|ne .* ne|nem .* nem|ani .* ani|nici .* nici|ни .* ни|ні .* ні|ουτε .* ουτε"
    r"|ei .* eika|sem .* sem|is .* is) .*"
)
MODIFIERS_USED = 3
STEM = 4  # letters of a word that counts
PREFIX = 4  # letters that turn a word around: dis, un, nie


@dataclass(frozen=True)
class Words:
    """What the words around a step do, and what the steps of every scale are."""

    scales: tuple[Mapping[str, float], ...]
    modifiers: tuple[tuple[str, str], ...]  # the longest first, each with its kind
    neutral: frozenset[str]


def levels(texts: Sequence[str]) -> dict[str, float]:
    """Return the levels of texts on the scale that has most of them."""
    if not FEWEST <= len(texts) <= MOST:
        return {}
    known = _words()
    read = {text: _readings(folded(text), known) for text in texts}
    best: dict[str, float] = {}
    for scale in known.scales:
        found = {text: _level(ways, scale, known) for text, ways in read.items()}
        here = {text: level for text, level in found.items() if level is not None}
        if _merit(here) > _merit(best):
            best = here
    return best


def shared_words(texts: Sequence[str]) -> bool:
    """Return whether texts look like steps of one scale, in whatever language.

    A text is another one with a word more, or with a few letters in front that turn it around; or
    half of the texts have a word in common.
    """
    if not FEWEST <= len(texts) <= MOST - 2:
        return False
    bare = [folded(text) for text in texts]
    lone = {text for text in bare if len(text) >= STEM}
    for text in bare:
        for other in lone - {text}:
            before = text.removesuffix(other)
            if before != text and (before.endswith(" ") or len(before) <= PREFIX):
                return True
            if text.startswith(f"{other} "):
                return True
    words = Counter(word for text in bare if " " in text for word in {*text.split()})
    return any(n >= 2 and 2 * n >= len(texts) and len(word) >= STEM for word, n in words.items())


def _merit(found: Mapping[str, float]) -> tuple[int, int]:
    return len(found), len({*found.values()})


def folded(text: str) -> str:
    """Return a text without case, accents, and signs around its words."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", text)  # StronglyAgree, very_good
    apart = normalize("NFKD", spaced.casefold().replace("ı", "i").replace("’", "'"))
    bare = normalize("NFC", "".join(sign for sign in apart if category(sign) != "Mn"))
    return " ".join(re.sub(r"[^\w'+]+", " ", bare).split())


Reading = tuple[str, tuple[str, ...]]  # what is left of a text, and the words around it by kind


def _readings(text: str, known: Words) -> list[Reading]:
    """Return what is left of a text without words that shift it, and their kinds in order."""
    found: dict[str, list[tuple[int, str]]] = {text: []}
    waiting = [text]
    while waiting:
        rest = waiting.pop(0)
        used = found[rest]
        if len(used) == MODIFIERS_USED:
            continue
        for phrase, kind in known.modifiers:
            for left, place in _without(rest, phrase):
                if left and left not in found:
                    found[left] = [*used, (text.find(phrase) if place < 0 else place, kind)]
                    waiting.append(left)
    return [(rest, tuple(kind for _, kind in sorted(used))) for rest, used in found.items()]


def _without(text: str, phrase: str) -> Iterator[tuple[str, int]]:
    """Yield a text without a phrase, and where it stood."""
    if phrase not in text:
        return
    place = f" {text} ".find(f" {phrase} ")
    if place >= 0:
        yield " ".join(f"{text[:place]} {text[place + len(phrase) :]}".split()), place
    elif ord(phrase[0]) > 0x2E00:  # scripts without blanks between words
        if text.startswith(phrase):
            yield text.removeprefix(phrase).strip(), 0
        elif text.endswith(phrase):
            yield text.removesuffix(phrase).strip(), len(text)


def _level(ways: Sequence[Reading], scale: Mapping[str, float], known: Words) -> float | None:
    """Return the level of a text by the reading that leaves most of it to the scale's step."""
    whole = ways[0][0]
    if whole in known.neutral:
        return 0.0
    for rest, kinds in ways:
        if rest in scale and (level := _shifted(scale[rest], kinds)) is not None:
            return level
    return (
        0.0 if NEITHER.fullmatch(whole) and any(word in scale for word in whole.split()) else None
    )


def _shifted(step: float, kinds: tuple[str, ...]) -> float | None:
    """Return the level of a step with words around it, None if they make no sense there."""
    sign, size = (1.0 if step > 0 else -1.0), abs(step)
    if not kinds:
        return step
    if size == 0 or (size == 5 and "not" in kinds):
        return None
    strength = max((SHIFTED[kind] for kind in kinds if kind in SHIFTED), default=0.0)
    if size == 5:
        level = 4.5 if "almost" in kinds else 5.0
    elif "not at all" in kinds:
        level = -4.0 * sign
    elif "not" in kinds:
        weakened = strength > 1 and kinds.index("not") < len(kinds) - 1  # not very good
        level = -1.5 if weakened else -(strength or size)
    elif "little" in kinds:
        level = -1.5
    else:
        level = strength if size == 2 and strength else size + strength / 10
    return sign * level


@cache
def _words() -> Words:
    """Return the words of the file beside this module."""
    parts: dict[str, list[str]] = {}
    text = files("cfl_cli.texts").joinpath("degrees.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.endswith(":"):
            heading = parts.setdefault(line[:-1], [])
        elif line and not line.startswith("#"):
            heading.append(line)
    scales = []
    for line in parts.pop("steps"):
        steps = line.split("|")
        at: dict[str, float] = {}
        for place, words in zip(PLACES[len(steps)], steps, strict=True):
            for word in words.split("/"):
                at.setdefault(folded(word), place)
        at.pop("", None)
        scales.append(at)
    neutral = frozenset(folded(word) for line in parts.pop("neutral") for word in line.split("/"))
    kinds = {
        folded(word): kind
        for kind, lines in parts.items()
        for line in lines
        for word in line.split("/")
    }
    longest = sorted(kinds.items(), key=lambda one: (-len(one[0]), one[0]))
    return Words(tuple(scales), tuple(longest), neutral)
