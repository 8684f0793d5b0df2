"""Truth values as people write them, in the languages that tables come in."""

from collections.abc import Iterable, Sequence

from cfl_cli.texts.tally import BLANKS

UNIVERSAL = ("no yes", "false true", "0 1")  # that columns of every language may hold
_FAMILIES = (  # whose words stand for each other
    """no yes|off on|nein ja|falsch wahr|nee ja|onwaar waar|nej ja|nei ja|falsk sann|falskt sant""",
    """non oui|faux vrai|no sí|no si|falso verdadero|não sim|nao sim|falso verdadeiro|no sì
    |falso vero|nu da|fals adevărat""",
    """nie tak|fałsz prawda|ne ano|nepravda pravda|nie áno|nie ano|ne da|нет да|ложь истина|не да
    |ні так|няма има""",
    "nem igen|hamis igaz",
    "ei kyllä|epätosi tosi|ei jah",
    "nē jā|ne taip",
    "hayır evet|hayir evet|yanlış doğru|yok var",
    "όχι ναι|οχι ναι|ψευδής αληθής",
    "いいえ はい|無 有|なし あり",
    "否 是|没有 有|沒有 有|错 对",
    """아니오 예|아니요 예|아니오 네|아니요 네|아니요 그렇다|없음 있음|거짓 참""",
    "tidak ya",
    "không có",
    "ไม่ใช่ ใช่",
    "לא כן",
    "لا نعم",
    "नहीं हाँ",
)
_LETTERS = "n y|f t|n j|n o|n s|n t|n a|n i|n d|н д|h e"
_SIGNS = (
    ("", "x"),
    ("✗", "✓"),
    ("✘", "✔"),
    ("☐", "☑"),
    ("☐", "☒"),
    ("×", "○"),
    ("✕", "✓"),
    ("❌", "✅"),
)


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    pairs = (pair.split() for pair in text.casefold().split("|"))
    return tuple((false, true) for false, true in pairs)


WORDS = _pairs("|".join((*UNIVERSAL, *_FAMILIES, _LETTERS)))  # false, true
PAIRS = (*WORDS, *_SIGNS)
FAMILIES = tuple(frozenset(text for pair in _pairs(one) for text in pair) for one in _FAMILIES)
ANYWHERE = frozenset(text for pair in _pairs("|".join(UNIVERSAL)) for text in pair)
OF_TYPES = ANYWHERE - {"no", "yes"}  # how programs write truth
LETTERS = frozenset("yntfj10")  # that say the same in whatever pair they stand
YES_NO = frozenset("ynj")  # that hardly ever mean anything else
TRUTHS = {text: truth for pair in PAIRS for text, truth in zip(pair, (False, True), strict=True)}
KNOWN = frozenset(map(frozenset, PAIRS))
SAID_IN_WORDS = frozenset(text for pair in WORDS for text in pair)


def truth(text: str) -> bool | None:
    """Return what a text says, None if that is not clear; an empty one says nothing."""
    bare = folded(text)
    return TRUTHS.get(bare) if bare else None


def is_sure(text: str) -> bool:
    """Return whether a text says yes or no whatever stands beside it."""
    bare = folded(text)
    known = bare in TRUTHS and bare != ""
    return known and (len(bare) > 1 or bare in LETTERS or bare not in SAID_IN_WORDS)


def means(text: str, values: Sequence[str]) -> str | None:
    """Return which of two values, a known pair, a text means; None if that is not sure.

    It may be spelled in other letter case, as programs write truth, or in a word of the same family
    of languages, or be its first letter. Other letters and signs stand for themselves: N and S may
    be north and south.
    """
    bare, pair = folded(text), [*map(folded, values)]
    if pair.count(bare) == 1:
        return values[pair.index(bare)]
    said = [TRUTHS.get(one) for one in pair]
    if bare not in TRUTHS or sorted(map(str, said)) != ["False", "True"]:
        return None
    language = {*pair} - OF_TYPES
    families = [family for family in FAMILIES if language <= family]
    if families:
        initials = frozenset(one[0] for one in pair)
        letter = bare in initials and initials in KNOWN
        sure = letter or bare in ANYWHERE or any(bare in family for family in families)
    else:
        sure = bare in OF_TYPES and all(one in LETTERS for one in pair)
    return values[said.index(TRUTHS[bare])] if sure else None


def and_others(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the texts beside a known pair of words, all of them if there is none."""
    listed = tuple(texts)
    bare = {text: folded(text) for text in listed}
    there = {*bare.values()}
    for pair in WORDS:
        sure = all(len(word) > 1 or word in YES_NO or not word.isascii() for word in pair)
        if sure and there.issuperset(pair):
            return tuple(text for text in listed if means(text, pair) is None)
    return listed


def is_pair(values: Iterable[str]) -> bool:
    """Return whether texts are the two of a known pair, each perhaps in several spellings."""
    return frozenset(map(folded, values)) in KNOWN


def are_truths(texts: Iterable[str]) -> bool:
    """Return whether texts are a known pair, or one of words and others that mean either."""
    listed = tuple(texts)
    return is_pair(listed) or not and_others(listed)


def folded(text: str) -> str:
    """Return a text without case and outer blanks; 1.0 and 0.0 are how pandas writes 1 and 0."""
    bare = text.strip(BLANKS).casefold()
    return {"1.0": "1", "0.0": "0"}.get(bare, bare)
