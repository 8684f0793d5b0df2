"""Texts that have an order: bands of numbers, rungs of a known scale, numbered answers."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from unicodedata import category, normalize

from cfl_cli.texts import LONGEST as LONGEST_tally
from cfl_cli.texts import Tally, word_list, word_lists

# How far a text stands on a scale of words, in any of many languages: `rather good`, `çok iyi`.
#
# A text is a step of a scale, such as good or bad, with words around it that shift it: very, rather,
# not. Its level is 0 in the middle and ±5 at the ends:
#
#     bad −2, rather bad −1, very bad −3, terrible −5; not good −2, not at all good −4

FEWEST_DEGREES, MOST_DEGREES = 3, 12  # texts of such a scale
PLACES = {5: (-5.0, -2.0, 0.0, 2.0, 5.0), 7: (-5.0, -2.0, -1.0, 0.0, 1.0, 2.0, 5.0)}
SHIFTED = {"extreme": 4.0, "strong": 3.0, "weak": 1.0, "almost": 1.0}
NEITHER = re.compile(
    r"(?:neither .* nor|weder .* noch|varken .* eller|h?verken .* eller|niet .* niet|noch .* noch"
    r"|ni .* ni|ne .* ne|nem .* nem|ani .* ani|nici .* nici|ни .* ни|ні .* ні|ουτε .* ουτε"
    r"|ei .* eika|sem .* sem|is .* is) .*"
)
MODIFIERS_USED = 3
DEGREE_STEM = 4  # letters of a word that counts
_PREFIX = 4  # letters that turn a word around: dis, un, nie


def degree_levels(texts: Sequence[str]) -> dict[str, float]:
    if not FEWEST_DEGREES <= len(texts) <= MOST_DEGREES:
        return {}
    steps, modifiers, neutral = _words()
    read = {text: _readings(folded_step(text), modifiers) for text in texts}
    levels = []
    for scale in steps:
        found = {text: _level(ways, scale, neutral) for text, ways in read.items()}
        levels.append({text: level for text, level in found.items() if level is not None})
    return max(levels, key=lambda one: (len(one), len({*one.values()})))


def shared_words(texts: Sequence[str]) -> bool:
    """Return whether texts look like steps of one scale, in whatever language.

    A text is another one with a word more, or with a few letters in front that turn it around; or
    half of the texts have a word in common.
    """
    if not FEWEST_DEGREES <= len(texts) <= MOST_DEGREES - 2:
        return False
    bare = [folded_step(text) for text in texts]
    lone = {text for text in bare if len(text) >= DEGREE_STEM}
    for text in bare:
        for other in lone - {text}:
            before = text.removesuffix(other)
            if before != text and (before.endswith(" ") or len(before) <= _PREFIX):
                return True
            if text.startswith(f"{other} "):
                return True
    words = Counter(word for text in bare if " " in text for word in {*text.split()})
    often = (word for word, n in words.items() if n >= 2 and 2 * n >= len(texts))
    return any(len(word) >= DEGREE_STEM for word in often)


def folded_step(text: str) -> str:
    """Return a text without case, accents, and signs around its words."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", text)  # StronglyAgree, very_good
    apart = normalize("NFKD", spaced.casefold().replace("ı", "i").replace("’", "'"))
    bare = normalize("NFC", "".join(sign for sign in apart if category(sign) != "Mn"))
    return " ".join(re.sub(r"[^\w'+]+", " ", bare).split())


_Reading = tuple[str, tuple[str, ...]]  # what is left of a text, and the words around it by kind


def _readings(text: str, modifiers: Sequence[tuple[str, str]]) -> list[_Reading]:
    found: dict[str, list[tuple[int, str]]] = {text: []}
    waiting = [text]
    while waiting:
        rest = waiting.pop(0)
        used = found[rest]
        if len(used) == MODIFIERS_USED:
            continue
        for phrase, kind in modifiers:
            for left, place in _without(rest, phrase):
                if left and left not in found:
                    found[left] = [*used, (text.find(phrase) if place < 0 else place, kind)]
                    waiting.append(left)
    return [(rest, tuple(kind for _, kind in sorted(used))) for rest, used in found.items()]


def _without(text: str, phrase: str) -> Iterator[tuple[str, int]]:
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


def _level(
    ways: Sequence[_Reading], scale: Mapping[str, float], neutral: frozenset[str]
) -> float | None:
    whole = ways[0][0]
    if whole in neutral:
        return 0.0
    for rest, kinds in ways:
        if rest in scale and (level := _shifted(scale[rest], kinds)) is not None:
            return level
    neither = NEITHER.fullmatch(whole) and any(word in scale for word in whole.split())
    return 0.0 if neither else None


def _shifted(step: float, kinds: tuple[str, ...]) -> float | None:
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
def _words() -> tuple[list[dict[str, float]], list[tuple[str, str]], frozenset[str]]:
    parts = dict(word_lists("degrees"))
    scales = []
    for line in parts.pop("steps"):
        steps = line.split("|")
        at: dict[str, float] = {}
        for place, spellings in zip(PLACES[len(steps)], steps, strict=True):
            for word in spellings.split("/"):
                at.setdefault(folded_step(word), place)
        at.pop("", None)
        scales.append(at)
    middle = (word for line in parts.pop("neutral") for word in line.split("/"))
    neutral = frozenset(map(folded_step, middle))
    written = [(one, kind) for kind, lines in parts.items() for one in "/".join(lines).split("/")]
    kinds = {folded_step(word): kind for word, kind in written}
    longest = sorted(kinds.items(), key=lambda one: (-len(one[0]), one[0]))
    return scales, longest, neutral


# Bands of numbers, such as 18-24, 25-34 and 65+, in order.

_NUMBER = r"\d+(?:[., ]\d{3}(?!\d))*(?:[.,]\d+)?"
_TO = r"\s*(?:-|–|—|−|\.\.\.?|…|~|to|bis|à|a|au|tot|do|up to|bis unter|to under|<)\s*"
_FROM = (
    r"(?:≥|>=|>|over|above|more than|from|at least|über|ab|mehr als|mindestens|plus de|à partir de"
    r"|más de|oltre|più di|meer dan|vanaf|mais de|powyżej|od)\s*"
)
_UNDER = (
    r"(?:≤|<=|<|under|below|less than|up to|at most|unter|bis|bis zu|weniger als|höchstens"
    r"|moins de|jusqu'à|menos de|hasta|meno di|fino a|minder dan|onder|tot|até|poniżej|do)\s*"
)
_MORE = (
    r"\s*(?:\+|(?:and|or|und|oder|et|y|e|en|i|ou|o)\s+(?:over|older|above|more|up|mehr|älter|darüber"
    r"|plus|más|mayores|oltre|più|meer|ouder|mais|więcej|starsi))"
)
_LESS = (
    r"\s*(?:and|or|und|oder|et|y|e|en|i|ou|o)\s+(?:under|less|younger|below|weniger|jünger|moins"
    r"|menos|meno|minder|mniej)"
)
_BAND = re.compile(
    rf"(?P<stem>[^\d<>≥≤]*?)(?:(?P<low>{_NUMBER})(?P<unit>[^\d]*?){_TO}\W*(?P<high>{_NUMBER})"
    rf"|{_FROM}(?P<from>{_NUMBER})|(?P<plus>{_NUMBER})(?P<unit2>[^\d+]*?){_MORE}"
    rf"|{_UNDER}(?P<under>{_NUMBER})|(?P<less>{_NUMBER}){_LESS}|(?P<one>{_NUMBER}))(?P<end>[^\d]*)",
    re.IGNORECASE,
)
_FIGURE = re.compile(_NUMBER)
_UP = re.compile(
    r"\+|≥|>|över|over|above|more|older|from|mehr|älter|plus|más|più|mais|powyżej|więcej|yli|nad"
    r"|více|viac|peste|mult|más|felett|fölött|több|idősebb|более|больше|старше|свыше|більше|понад|старші|üzeri"
    r"|üstü|fazla|άνω|πάνω|以上|超|이상|초과|mer|eldre|ældre|äldre|mere|enemmän|vanhemm|starší|sobre"
    r"|oltre|dessus",
    re.IGNORECASE,
)
_DOWN = re.compile(
    r"≤|<|under|below|less|up to|younger|unter|bis|weniger|jünger|moins|menos|hasta|meno|fino"
    r"|poniżej|do\b|alle|pod|méně|menej|sub\b|până|puțin|alatt|kevesebb|до|менее|меньше|младше|менше"
    r"|молодші|altı|altında|kadar|az\b|κάτω|έως|μέχρι|λιγότερο|以下|未満|未满|미만|이하|yngre"
    r"|mindre|upp till|op til|opp til|enintään|mladší|abaixo|até|sotto|onder|tot\b|minder|jusqu",
    re.IGNORECASE,
)


def bound(text: str) -> bool:
    """Return whether a text is an open band, such as <5, 90+ or under 5."""
    match = _BAND.fullmatch(text) if len(text) <= LONGEST_tally else None
    if match is None or not any(match[key] for key in ("from", "plus", "under", "less")):
        return False
    stem = match["stem"]
    return not stem[-1:].isalpha() or text[len(stem)] in "<>≤≥"  # tab 5 is not ab 5


def bands(texts: Sequence[str]) -> tuple[str, ...] | None:
    rows, stems, closed = [], set(), 0
    for text in texts:
        match = _BAND.fullmatch(text)
        if match is None:
            return None
        part = {key: _value(match[key]) for key in ("low", "high", "from", "plus", "under", "less")}
        if part["low"] is not None and part["high"] is not None:
            low, high = part["low"], part["high"]
            closed += 1
        elif starts := [one for one in (part["from"], part["plus"]) if one is not None]:
            low, high = starts[0], float("inf")
        elif ends := [one for one in (part["under"], part["less"]) if one is not None]:
            low, high = float("-inf"), ends[0]
        else:
            low = high = _value(match["one"]) or 0.0
        if high < low:
            return None
        rows.append((low, high, text))
        stems.add(match["stem"].strip(" $€£").casefold())
    open_ends = sum(low == float("-inf") or high == float("inf") for low, high, _ in rows)
    rows.sort()
    disjoint = all(one[1] <= other[0] and one[:2] != other[:2] for one, other in pairwise(rows))
    if not disjoint or len(stems) > 1 or closed + open_ends < 2 or open_ends > 2 or not closed:
        return None
    return tuple(text for *_, text in rows)


def _value(text: str | None) -> float | None:
    if text is None:
        return None
    whole = re.sub(r"[., ](?=\d{3}(?!\d))", "", text)
    return float(whole.replace(",", "."))


def by_numbers(texts: Sequence[str]) -> tuple[tuple[str, ...], bool] | None:
    """Return bands whose first and last are said in words, and whether these words are known.

    The others have two numbers and are written alike, the first and the last have one: in whatever
    language, `bis 20` comes before 21-40, and `60 y más` behind 41-59.
    """
    rows, forms, ends = [], set(), []
    for text in texts:
        figures = [_value(found) or 0.0 for found in _FIGURE.findall(text)]
        if len(figures) == 2 and figures[0] <= figures[1]:
            rows.append((figures[0], figures[1], text))
            forms.add(
                " ".join(re.sub(r"[\s–—−-]+", " ", _FIGURE.sub("#", text.casefold())).split())
            )
        elif len(figures) == 1:
            ends.append((figures[0], text))
        else:
            return None
    rows.sort()
    ends.sort()
    disjoint = all(one[1] <= other[0] for one, other in pairwise(rows))
    unfit = len(texts) < _FEWEST or not rows or len(forms) > 1 or not disjoint
    if unfit or not 1 <= len(ends) <= 2:
        return None
    low = [text for figure, text in ends if figure <= rows[0][0]]
    high = [text for figure, text in ends if figure >= rows[-1][1] and text not in low]
    if len(low) > 1 or len(high) > 1 or len(low) + len(high) < len(ends):
        return None
    plain = [text for text in low + high if _FIGURE.fullmatch(text)]
    known = all(text in plain or _DOWN.search(text) for text in low) and all(
        text in plain or _UP.search(text) for text in high
    )
    return (*low, *(text for *_, text in rows), *high), known


_FEWEST = 3  # texts that make a scale; two are a binary column
_MOST = 40
_LONGEST = 80

_LEADING = re.compile(r"\(?(?P<number>[+-]?\d{1,2})\)?\s*(?:[-–—=:.)]\s*|\s)(?P<label>[^\d\s].*)")
_ENDS = re.compile(r"(?P<number>\d{1,2})(?:\s*[-–—=:.(]?\s*(?P<label>[^\d\s].*))?")
_COUNTED = re.compile(r"(?P<number>\d{1,2})\s*(?P<word>\D+?)\s*(?:(?P<of>\d{1,2})\D*)?")
_STARS = re.compile(r"[★☆⭐●○]+|\*+")
_SIGNS = re.compile(r"[-–−]{1,3}|\+{1,3}|0|o|±|\+/[-–−]|[-–−]/\+", re.IGNORECASE)
STEM = 3  # letters that one star and two stars share
_NUMBERED = re.compile(r"(?P<stem>[^\d]*[^\d\s._-])[\s._-]*(?P<number>\d{1,2})")
NAMES_TOO = frozenset({"green", "bronze", "i"})  # scales whose words often have no order


@dataclass(frozen=True)
class _Scale:
    values: tuple[str, ...]
    kind: str  # what shows the order, in a few words
    unseen: tuple[str, ...] = ()  # rungs among the values that no cell holds
    doubt: str = ""  # why it may be otherwise


def scale(tally: Tally) -> _Scale | None:
    """Return the order of a column's texts, None if none is seen.

    Missing codes are to be taken out before.
    """
    texts = tally.texts
    if not _FEWEST <= len(texts) <= _MOST or max(map(len, texts)) > _LONGEST:
        return None
    return (
        _known(texts, tally.name)
        or _numbered_answers(texts)
        or _bands(texts)
        or _numbered(texts)
        or _by_degree(texts)
        or _signs(texts)
        or _counted(texts)
    )


def are_weekdays(texts: Sequence[str]) -> bool:
    """Return whether the texts are days of the week, which have a cycle and no order."""
    folded = {text.casefold().rstrip(".") for text in texts}
    return any(folded <= {*line.split()} for line in word_lists("scales")["weekdays"])


@cache
def _scales() -> tuple[tuple[tuple[tuple[str, ...], bool], ...], ...]:
    return tuple(
        tuple(
            (tuple(rung.strip("()").casefold().split("/")), rung.startswith("("))
            for rung in line.split("|")
        )
        for line in word_lists("scales")["scales"]
    )


def _known(texts: Sequence[str], name: str = "") -> _Scale | None:
    plain = {text: text.casefold().replace("’", "'") for text in texts}
    folded = {text: re.sub(r"[\s/]+", " ", one).rstrip(".!") for text, one in plain.items()}
    if are_weekdays(texts) or not any(len(bare) > 1 or bare in "sml" for bare in folded.values()):
        return None  # A, B and C alone are names
    best: tuple[int, list[tuple[int, str]], int] | None = None
    for number, rungs in enumerate(_scales()):
        places = {word: place for place, (words, _) in enumerate(rungs) for word in words}
        if not all(text in places for text in folded.values()):
            continue
        at = sorted((places[bare], text) for text, bare in folded.items())
        seen = {place for place, _ in at}
        if len(seen) < _FEWEST:
            continue
        gaps = sum(
            place not in seen and not rungs[place][1] for place in range(at[0][0], at[-1][0])
        )
        if best is None or gaps < best[0]:
            best = gaps, at, number
    if best is None:
        return None
    _, at, number = best
    rungs, seen = _scales()[number], {place for place, _ in at}
    style: Callable[[str], str] = str
    if all(text.isupper() for text in texts):
        style = str.upper
    elif all(text[:1].isupper() for text in texts):
        style = str.capitalize
    unseen = [
        (place, style(rungs[place][0][0]))
        for place in range(at[0][0], at[-1][0])
        if place not in seen and not rungs[place][1]
    ]
    doubts = ["two texts mean the same"] if len(seen) < len(at) else []
    words = {*re.split(r"[\W\d_]+", name.casefold())}
    if rungs[0][0][0] in NAMES_TOO and words.isdisjoint(word_list("scales", "numbered")):
        doubts.append("they may be labels without an order")
    doubts += [f"{text!r} was never seen" for _, text in unseen]
    doubts += _no_opinions([text for _, text in at])
    values = tuple(text for _, text in sorted([*at, *unseen]))
    return _Scale(values, "a known scale", tuple(text for _, text in unseen), "; ".join(doubts))


def _no_opinions(texts: Sequence[str]) -> list[str]:
    silent = word_list("scales", "no opinion", "|")
    return [f"is {text!r} a step of the scale?" for text in texts if text.casefold() in silent]


def _numbered_answers(texts: Sequence[str]) -> _Scale | None:
    ends = [_ENDS.fullmatch(text) for text in texts]
    labels = [match["label"] for match in ends if match]
    if all(ends) and 1 <= sum(label is not None for label in labels) <= 2 < len(texts):
        numbers = [int(match["number"]) for match in ends if match]
        if len({*numbers}) == len(texts) and max(numbers) - min(numbers) < 2 * len(texts):
            return _Scale(_by(numbers, texts), "numbers with labels at the ends")
    leading = [_LEADING.fullmatch(text) for text in texts]
    if not all(leading):
        return None
    numbers = [int(match["number"]) for match in leading if match]
    words = tuple(match["label"].strip(" )") for match in leading if match)
    if len({*numbers}) < len(texts) or len({*words}) < len(texts):
        return None
    if max(numbers) - min(numbers) >= 2 * len(texts):
        return None
    known, ordered = _known(words), _by(numbers, words)
    in_order = known is not None and known.values in (ordered, ordered[::-1])
    doubt = "" if in_order else "the numbers may be codes without an order"
    return _Scale(_by(numbers, texts), "each begins with its number", doubt=doubt)


def _by(keys: Sequence[float], texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(text for _, text in sorted(zip(keys, texts, strict=True)))


def _bands(texts: Sequence[str]) -> _Scale | None:
    if found := bands(texts):
        return _Scale(found, "bands of numbers")
    loosely = by_numbers(texts)
    if loosely is None:
        return None
    values, sure = loosely
    doubt = "" if sure else f"are {values[0]!r} and {values[-1]!r} the first and the last?"
    return _Scale(values, "bands of numbers", doubt=doubt)


def _by_degree(texts: Sequence[str]) -> _Scale | None:
    found = degree_levels(texts)
    if len(found) < len(texts) or len({*found.values()}) < _FEWEST:
        return None
    doubts = ["two texts mean the same"] if len({*found.values()}) < len(texts) else []
    doubts += _no_opinions(texts)
    return _Scale(_by([*found.values()], [*found]), "words of degree", doubt="; ".join(doubts))


def _signs(texts: Sequence[str]) -> _Scale | None:
    if all(map(_STARS.fullmatch, texts)):
        filled = [len(re.sub("[^★⭐*●]", "", text)) for text in texts]
        return _Scale(_by(filled, texts), "stars") if len({*filled}) == len(texts) else None
    if not all(map(_SIGNS.fullmatch, texts)):
        return None
    levels = [text.count("+") - len(re.sub("[^-–−]", "", text)) for text in texts]
    return _Scale(_by(levels, texts), "signs") if len({*levels}) == len(texts) else None


def _counted(texts: Sequence[str]) -> _Scale | None:
    found = [_COUNTED.fullmatch(text) for text in texts]
    if not all(found):
        return None
    numbers = [int(match["number"]) for match in found if match]
    of = {match["of"] for match in found if match}
    words = {match["word"].strip().casefold()[:STEM] for match in found if match}
    if len({*numbers}) < len(texts) or len(of) > 1 or len(words) > 1 or max(numbers) > _MOST:
        return None
    total = next(iter(of))
    if total is not None and int(total) < max(numbers):
        return None
    return _Scale(_by(numbers, texts), "counted")


def _numbered(texts: Sequence[str]) -> _Scale | None:
    matches = [_NUMBERED.fullmatch(text) for text in texts]
    if not all(matches):
        return None
    stems = {match["stem"].strip().casefold() for match in matches if match}
    numbers = [int(match["number"]) for match in matches if match]
    if len(stems) > 1 or len({*numbers}) < len(texts):
        return None
    known = stems.pop().rstrip(".") in word_list("scales", "numbered")
    doubt = "" if known else "the numbers may be labels without an order"
    return _Scale(_by(numbers, texts), "one word with numbers", doubt=doubt)
