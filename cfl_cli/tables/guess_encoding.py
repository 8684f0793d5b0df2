"""Which encoding text that is not UTF-8 has: the one whose letters make words of one language.

For each encoding e and each language l that is written in it,

    score(e, l) = Σ fit(letter, l) / number of letters beyond ASCII

over the different words that hold such letters. A letter fits if the language has it and it stands
where letters stand: no capital behind a small letter, no sign inside a word, no two alphabets in
one. The best score wins, and the first encoding in the list if scores are equal. If none is good,
the names of people and places may be of several Western languages: then each word has its own.
Otherwise nothing is guessed.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from cfl_cli.core.quick import dataclass

WORD = re.compile(rb"(?<![\x40-\xff])[\x40-\x7f]*[\x80-\xff][\x40-\xff]*")
MANY = 5_000  # different words that are enough to judge by
GOOD = 0.85  # score from which an encoding may be guessed
MOSTLY = 0.5  # share of words from which a text counts as UTF-8 with faults in it


@dataclass(frozen=True)
class Language:
    """What a language has beyond ASCII, in small letters, and where these never stand."""

    common: str
    rare: str = ""
    never: str = "(?!)"  # a pattern; the letters in what it matches do not fit


GRAVE = "è(?![bcdfghlmnpqrstvz]{1,3}(e|$))"  # in French, a consonant and an e follow
CONSONANTS = "бвгджзйклмнпрстфхцчшщђјљњћџґ"
CYRILLIC_NEVER = f"^[ьы]|[{CONSONANTS}]{{5,}}|^[{CONSONANTS}]{{2,}}$"
GREEK_VOWELS = "αεηιουωάέήίόύώϊϋΐΰ"
WESTERN = (
    Language("äöüß", "é"),  # German
    Language("éèàçêâîôûëïùœ", "æüÿ", f"{GRAVE}|ù(?=[a-z])|[ûî]$"),  # French
    Language("áéíóúñ", "üçªº", "ñ(?![aeiouáéíóú])"),  # Spanish
    Language("ãçáéíóõâêôú", "àüªº", "õ(?!e)|(?<![hmlçn])ã$|ã(?=[a-np-z])(?!e)"),  # Portuguese
    Language("àèéìòù", "íóúîªº", "[àèìòù](?=[a-z])"),  # Italian
    Language("æøå", "éóüäö", "ø(?=[aiou])"),  # Danish, Norwegian
    Language("äöå", "éüšž"),  # Swedish, Finnish
    Language("ëéïèöüç", "áóêà", GRAVE),  # Dutch
    Language("áéíóúæö", "ýþð"),  # Icelandic
    Language("àèéíòóúç", "ïü", "^[èò]|è(?=[aeiouíkj])"),  # Catalan
    Language("äõöü", "šžé", "õ$|(?<=[fyz])õ|^õ(?=sz|r)"),  # Estonian
)
CENTRAL = (
    Language("ąćęłńóśźż"),  # Polish
    Language("áčéěířšůýž", "ďňóťúöü"),  # Czech
    Language("áčéíľňšťúýž", "äďĺóôŕ"),  # Slovak
    Language("áéíóöőúüű"),  # Hungarian
    Language("čćđšž"),  # Croatian, Slovene
    Language("ăâîşţ"),  # Romanian
)
CYRILLIC = (
    Language("абвгдежзийклмнопрстуфхцчшщъыьэюя", "ё", CYRILLIC_NEVER),  # Russian, Bulgarian
    Language("абвгдежзийклмнопрстуфхцчшщьюяєії", "ґ", CYRILLIC_NEVER),  # Ukrainian
    Language("абвгдђежзијклљмнњопрстћуфхцчџш", never=CYRILLIC_NEVER),  # Serbian
)
GREEK = Language(
    "αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώ",
    "ϊϋΐΰ",
    f"[^{GREEK_VOWELS}]{{5,}}|^[^{GREEK_VOWELS}]{{2,}}$|(?-i:ς.|σ$|[ΆΈΉΊΌΎΏ][Α-Ω]|.[ΆΈΉΊΌΎΏ])",
)
HEBREW = Language("אבגדהוזחטיכךלמםנןסעפףצץקרשת", never="[ךםןףץ](?=.)")
TURKISH = Language("çğıöşüi\u0307", "âîû")  # the capital İ becomes a small i with a dot above

LANGUAGES = {
    "cp1252": WESTERN,
    "cp1250": CENTRAL,
    "cp1251": CYRILLIC,
    "cp932": (),
    "cp1253": (GREEK,),
    "cp1254": (TURKISH,),
    "cp1255": (HEBREW,),
}
ONE_ALPHABET = {"cp1251", "cp1253", "cp1255"}  # whose words hold no Latin letters
ASCII_SIGNS = re.compile(r"[@\[\\\]^_`{|}~]+")
LATIN, SMALL = re.compile(r"[A-Za-z]"), re.compile(r"[a-z]")
CROWDED = re.compile(
    r"[^\W\d_a-zA-Z]{4,}"
)  # Latin words have no more letters beyond ASCII in a row
# Signs that all have, which say nothing of the language, where they stand outside words.
SIGNS = "€–—„“”‚‘’…«»°§£µ²³·¿¡½¼¾©®™±•×"
NO_BREAK = "\xa0"  # which all have, inside numbers
AMOUNTS = "²³½¼¾"  # which no letter follows
RARE = 0.8  # what a letter of rare use counts


@dataclass(frozen=True)
class Guess:
    """An encoding, the score of its best language, and some words as they read in it."""

    encoding: str
    score: float
    words: tuple[str, ...]


def words_in(text: bytes, counted: Counter[bytes] | None = None) -> Counter[bytes]:
    """Return the words that hold bytes beyond ASCII with their counts, beside those counted.

    No character of an encoding that is guessed is cut; once there are many words, no new ones are
    added.
    """
    counted = Counter() if counted is None else counted
    for word in WORD.findall(text):
        if word in counted or len(counted) < MANY:
            counted[word] += 1
    return counted


def guess(words: Mapping[bytes, int]) -> Guess | None:
    """Return the encoding that the words have; None: most are UTF-8, or none is likely."""
    if not words or mostly_utf8(words):
        return None
    best = max(
        (
            Guess(encoding, score, ())
            for encoding in LANGUAGES
            if (score := _score(words, encoding))
        ),
        key=lambda one: one.score,  # the first of equal ones
        default=None,
    )
    if best is None or best.score < GOOD:
        best = Guess("cp1252", _score_of_several(words), ())
    if best.score < GOOD:
        return None
    return Guess(best.encoding, best.score, tuple(_shown(words, best.encoding)))


def mostly_utf8(words: Iterable[bytes]) -> bool:
    """Return whether most words are UTF-8, so that the others are faults in such a text."""
    words = list(words)
    return sum(_decoded(word, "utf-8") is not None for word in words) > MOSTLY * len(words)


def _decoded(word: bytes, encoding: str) -> str | None:
    try:
        return word.decode(encoding)
    except UnicodeDecodeError:
        return None


def _parts(words: Iterable[bytes], encoding: str) -> list[str] | None:
    """Return what words hold between signs, as it reads in an encoding; None: it does not."""
    texts = [_decoded(word, encoding) for word in words]
    if None in texts:
        return None
    parts = [part for text in texts if text for part in ASCII_SIGNS.split(text)]
    return [part for part in parts if not part.isascii()]


def _score_of_several(words: Iterable[bytes]) -> float:
    """Return how well the words read in cp1252, each in the Western language that fits it best."""
    parts = _parts(words, "cp1252") or []
    best = [
        max(_mean([*_fits(part, language, alone=False)]) for language in WESTERN) for part in parts
    ]
    return sum(best) / len(best) if best else 0.0


def _score(words: Iterable[bytes], encoding: str) -> float:
    """Return how well the words read in an encoding, in the language that fits best."""
    parts = _parts(words, encoding)
    if parts is None:
        return 0.0
    if encoding == "cp932":
        return _mean([points for part in parts for points in _japanese(part)])
    alone = encoding in ONE_ALPHABET
    return max(
        _mean([points for part in parts for points in _fits(part, language, alone=alone)])
        for language in LANGUAGES[encoding]
    )


def _mean(points: Sequence[float]) -> float:
    """Return the mean; nothing but no-break blanks fits everywhere."""
    return sum(points) / len(points) if points else 1.0


def _fits(word: str, language: Language, *, alone: bool) -> Iterator[float]:
    """Yield for each sign beyond ASCII how well it fits; `alone`: Latin letters do not go along."""
    if alone and LATIN.search(word):
        yield from (0.0 for sign in word if not sign.isascii())
        return
    misplaced = {
        place
        for match in re.finditer(language.never, word, re.IGNORECASE)
        for place in range(*match.span())
    }
    crowded = not alone and CROWDED.search(word) is not None
    for place, sign in enumerate(word):
        if sign.isascii() or sign == NO_BREAK:
            continue
        inside = word[place - 1 : place].isalpha() and word[place + 1 : place + 2].isalpha()
        if sign in SIGNS:
            behind = word[place + 1 : place + 2]
            amount = sign in AMOUNTS and behind.isalpha()
            beside = {*word[max(place - 1, 0) : place], *behind} & {*SIGNS}
            yield 0.0 if inside or amount or beside else 1.0
        elif place in misplaced or crowded or (sign.isupper() and word[:place][-1:].islower()):
            yield 0.0
        else:
            small = sign.lower()
            yield 1.0 if small in language.common else RARE if small in language.rare else 0.0


def _japanese(word: str) -> Iterator[float]:
    """Yield for each sign beyond ASCII whether it is a usual one, and not beside small letters."""
    if SMALL.search(word):
        yield from (0.0 for sign in word if not sign.isascii())
        return
    for sign in word:
        if not sign.isascii():
            usual = "\u3000" <= sign <= "\u30ff" or "\u4e00" <= sign <= "\u9fff"
            yield 1.0 if usual or "\uff01" <= sign <= "\uff5e" else 0.0


def _shown(words: Mapping[bytes, int], encoding: str, number: int = 2) -> list[str]:
    """Return some words as they read in an encoding: the first of those with letters."""
    texts = [word.decode(encoding) for word in words]
    plain = [text for text in texts if text.isalpha()] or texts
    return plain[:number]
