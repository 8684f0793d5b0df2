"""Texts that have an order: bands of numbers, rungs of a known scale, numbered answers."""

import re
from collections.abc import Callable, Sequence

from cfl_cli.core.quick import dataclass
from cfl_cli.texts import bands, degrees
from cfl_cli.texts.scale_words import SCALES, WEEKDAYS
from cfl_cli.texts.tally import Tally
from cfl_cli.texts.words import words

FEWEST = 3  # texts that make a scale; two are a binary column
MOST = 40
LONGEST = 80

_LEADING = re.compile(r"\(?(?P<number>[+-]?\d{1,2})\)?\s*(?:[-–—=:.)]\s*|\s)(?P<label>[^\d\s].*)")
_ENDS = re.compile(r"(?P<number>\d{1,2})(?:\s*[-–—=:.(]?\s*(?P<label>[^\d\s].*))?")
_COUNTED = re.compile(r"(?P<number>\d{1,2})\s*(?P<word>\D+?)\s*(?:(?P<of>\d{1,2})\D*)?")
_STARS = re.compile(r"[★☆⭐●○]+|\*+")
SIGNS = re.compile(r"[-–−]{1,3}|\+{1,3}|0|o|±|\+/[-–−]|[-–−]/\+", re.IGNORECASE)
STEM = 3  # letters that one star and two stars share
_NUMBERED = re.compile(r"(?P<stem>[^\d]*[^\d\s._-])[\s._-]*(?P<number>\d{1,2})")
NAMES_TOO = frozenset({"green", "bronze", "i"})  # scales whose words often have no order
NO_OPINION = frozenset(
    {
        "geen mening", "nie mam zdania", "trudno powiedzieć", "undecided", "en osaa sanoa", "nevím",
        "neviem", "затрудняюсь ответить", "не знаю", "важко сказати", "vet ej", "ved ikke",
        "fikrim yok", "わからない",
    }
)  # fmt: skip
STEMS = frozenset(
    words("""q quarter quartal trimestre kwartał kw week woche semaine semana settimana tydzień
        klasse class classe clase grade level stufe stage stadium stade phase step grad
        niveau nivel livello poziom tier year jahr jahrgang année rank rang étape etap
        stopień schritt cohort category cat kategorie pflegegrad schuljahr band""")
)


@dataclass(frozen=True)
class Scale:
    """The texts of a column in order."""

    values: tuple[str, ...]
    kind: str  # what shows the order, in a few words
    unseen: tuple[str, ...] = ()  # rungs among the values that no cell holds
    doubt: str = ""  # why it may be otherwise


def scale(tally: Tally) -> Scale | None:
    """Return the order of a column's texts, None if none is seen.

    Missing codes are to be taken out before.
    """
    texts = tally.texts
    if not FEWEST <= len(texts) <= MOST or max(map(len, texts)) > LONGEST:
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
    return any(folded <= {*line.split()} for line in WEEKDAYS)


def _known(texts: Sequence[str], name: str = "") -> Scale | None:
    """Return the order by a known scale that has all texts."""
    folded = {text: _folded(text) for text in texts}
    if are_weekdays(texts) or not any(len(bare) > 1 or bare in "sml" for bare in folded.values()):
        return None  # A, B and C alone are names
    best: tuple[int, list[tuple[int, str]], int] | None = None
    for number, rungs in enumerate(SCALES):
        places = {word: place for place, (words, _) in enumerate(rungs) for word in words}
        if not all(text in places for text in folded.values()):
            continue
        at = sorted((places[bare], text) for text, bare in folded.items())
        seen = {place for place, _ in at}
        if len(seen) < FEWEST:
            continue
        gaps = sum(
            place not in seen and not rungs[place][1] for place in range(at[0][0], at[-1][0])
        )
        if best is None or gaps < best[0]:
            best = gaps, at, number
    return None if best is None else _scale(best[1], SCALES[best[2]], texts, name)


def _scale(
    at: list[tuple[int, str]],
    rungs: tuple[tuple[tuple[str, ...], bool], ...],
    texts: Sequence[str],
    name: str,
) -> Scale:
    seen = {place for place, _ in at}
    alike = len(seen) < len(at)
    style = _style(texts)
    unseen = [
        (place, style(rungs[place][0][0]))
        for place in range(at[0][0], at[-1][0])
        if place not in seen and not rungs[place][1]
    ]
    doubts = ["two texts mean the same"] if alike else []
    if rungs[0][0][0] in NAMES_TOO and not _says_order(name):
        doubts.append("they may be names")
    doubts += [f"{text!r} never seen" for _, text in unseen]
    doubts += [f"is {text!r} an answer?" for _, text in at if text.casefold() in NO_OPINION]
    values = tuple(text for _, text in sorted([*at, *unseen]))
    return Scale(values, "a known scale", tuple(text for _, text in unseen), "; ".join(doubts))


def _says_order(name: str) -> bool:
    """Return whether a column's name says that its values have an order."""
    return any(word in STEMS for word in re.split(r"[\W\d_]+", name.casefold()))


def _folded(text: str) -> str:
    return re.sub(r"[\s/]+", " ", text.casefold().replace("’", "'")).rstrip(".!")


def _style(texts: Sequence[str]) -> Callable[[str], str]:
    """Return how to spell a rung like the texts."""
    if all(text.isupper() for text in texts):
        return str.upper
    return str.capitalize if all(text[:1].isupper() for text in texts) else str


def _numbered_answers(texts: Sequence[str]) -> Scale | None:
    """Return the order of `1 - poor`, `2 - fair`, or of `1 (poor)`, 2, 3."""
    ends = [_ENDS.fullmatch(text) for text in texts]
    labels = [match["label"] for match in ends if match]
    if all(ends) and 1 <= sum(label is not None for label in labels) <= 2 < len(texts):
        numbers = [int(match["number"]) for match in ends if match]
        if len({*numbers}) == len(texts) and max(numbers) - min(numbers) < 2 * len(texts):
            return Scale(_by(numbers, texts), "numbers, the ends with a label")
    leading = [_LEADING.fullmatch(text) for text in texts]
    if not all(leading):
        return None
    numbers = [int(match["number"]) for match in leading if match]
    words = tuple(match["label"].strip(" )") for match in leading if match)
    if len({*numbers}) < len(texts) or len({*words}) < len(texts):
        return None
    if max(numbers) - min(numbers) >= 2 * len(texts):
        return None
    known = _known(words)
    in_order = known is not None and known.values in (
        _by(numbers, words),
        _by(numbers, words)[::-1],
    )
    doubt = "" if in_order else "the numbers may be codes of things without an order"
    return Scale(_by(numbers, texts), "each begins with its number", doubt=doubt)


def _by(keys: Sequence[float], texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(text for _, text in sorted(zip(keys, texts, strict=True)))


def _bands(texts: Sequence[str]) -> Scale | None:
    if found := bands.bands(texts):
        return Scale(found, "bands of numbers")
    loosely = bands.by_numbers(texts)
    if loosely is None:
        return None
    values, sure = loosely
    doubt = "" if sure else f"are {values[0]!r} and {values[-1]!r} the first and the last?"
    return Scale(values, "bands of numbers", doubt=doubt)


def _by_degree(texts: Sequence[str]) -> Scale | None:
    """Return the order of words such as good and bad, with very or rather around them."""
    found = degrees.levels(texts)
    if len(found) < len(texts) or len({*found.values()}) < FEWEST:
        return None
    doubts = ["two texts mean the same"] if len({*found.values()}) < len(texts) else []
    doubts += [f"is {text!r} an answer?" for text in texts if text.casefold() in NO_OPINION]
    return Scale(_by([*found.values()], [*found]), "words of degree", doubt="; ".join(doubts))


def _signs(texts: Sequence[str]) -> Scale | None:
    """Return the order of --, -, 0, + and ++, or of stars."""
    if all(map(_STARS.fullmatch, texts)):
        filled = [len(re.sub("[^★⭐*●]", "", text)) for text in texts]
        return Scale(_by(filled, texts), "stars") if len({*filled}) == len(texts) else None
    if not all(map(SIGNS.fullmatch, texts)):
        return None
    levels = [text.count("+") - len(re.sub("[^-–−]", "", text)) for text in texts]
    return Scale(_by(levels, texts), "signs") if len({*levels}) == len(texts) else None


def _counted(texts: Sequence[str]) -> Scale | None:
    """Return the order of `1 star`, `2 stars`, or of `3 von 5`."""
    found = [_COUNTED.fullmatch(text) for text in texts]
    if not all(found):
        return None
    numbers = [int(match["number"]) for match in found if match]
    of = {match["of"] for match in found if match}
    words = {match["word"].strip().casefold()[:STEM] for match in found if match}
    if len({*numbers}) < len(texts) or len(of) > 1 or len(words) > 1 or max(numbers) > MOST:
        return None
    total = next(iter(of))
    if total is not None and int(total) < max(numbers):
        return None
    return Scale(_by(numbers, texts), "counted")


def _numbered(texts: Sequence[str]) -> Scale | None:
    """Return the order of `Klasse 5`, `Klasse 6`, or of Q1, Q2."""
    matches = [_NUMBERED.fullmatch(text) for text in texts]
    if not all(matches):
        return None
    stems = {match["stem"].strip().casefold() for match in matches if match}
    numbers = [int(match["number"]) for match in matches if match]
    if len(stems) > 1 or len({*numbers}) < len(texts):
        return None
    known = stems.pop().rstrip(".") in STEMS
    doubt = "" if known else "the numbers may be names"
    return Scale(_by(numbers, texts), "one word with numbers", doubt=doubt)
