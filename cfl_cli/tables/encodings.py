"""Text of any encoding as UTF-8, or an error that says what would help."""

import codecs
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, Self

from cfl_cli.errors import DataError, Problem, ResourceError, UserText
from cfl_cli.tables.dialect import UTF8, Advice, Fix

# Which encoding text that is not UTF-8 has: the one whose letters make words of one language.
#
# For each encoding e and each language l that is written in it,
#
#     score(e, l) = Σ fit(letter, l) / number of letters beyond ASCII
#
# over the different words that hold such letters. A letter fits if the language has it and it stands
# where letters stand: no capital behind a small letter, no sign inside a word, no two alphabets in
# one. The best score wins, and the first encoding in the list if scores are equal. If none is good,
# the names of people and places may be of several Western languages: then each word has its own.
#
# Otherwise chardet is asked. Of 60 short tables in twenty encodings outside these seven (Chinese,
# Korean, Arabic, Thai, Baltic, KOI8, DOS, Macintosh) it read 58 right, charset-normalizer 53; within
# the seven ours is better on the words of tables.

_WORD = re.compile(rb"(?<![\x40-\xff])[\x40-\x7f]*[\x80-\xff][\x40-\xff]*")
_MANY = 5_000  # different words that are enough to judge by
GOOD = 0.85  # score from which an encoding may be guessed
_MOSTLY = 0.5  # share of words from which a text counts as UTF-8 with faults in it
LIKELY = 0.03  # confidence of chardet, which is low for few words and still right
_SHOWN = 2  # words that show a guess


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
CROWDED = re.compile(r"[^\W\d_a-zA-Z]{4,}")  # more letters beyond ASCII than Latin words have
# Signs that all have, which say nothing of the language, where they stand outside words.
_SIGNS = "€–—„“”‚‘’…«»°§£µ²³·¿¡½¼¾©®™±•×"
NO_BREAK = "\xa0"  # which all have, inside numbers
AMOUNTS = "²³½¼¾"  # which no letter follows
_RARE = 0.8  # what a letter of rare use counts


class _Guess(NamedTuple):
    encoding: str
    words: tuple[str, ...]  # some, as they read in it


def words_in(text: bytes, counted: Counter[bytes] | None = None) -> Counter[bytes]:
    """Return the words that hold bytes beyond ASCII with their counts, beside those counted.

    No character of an encoding that is guessed is cut; once there are many words, no new ones are
    added.
    """
    counted = Counter() if counted is None else counted
    for word in _WORD.findall(text):
        if word in counted or len(counted) < _MANY:
            counted[word] += 1
    return counted


def guess_encoding(words: Mapping[bytes, int]) -> _Guess | None:
    """Return the encoding that the words have; None: most are UTF-8, or none is likely."""
    if not words or mostly_utf8(words):
        return None
    scores = {encoding: _score(words, encoding) for encoding in LANGUAGES}
    first = max(scores, key=lambda one: scores[one])  # of equal ones
    best: str | None = first
    if scores[first] < GOOD:
        several = _score(words, "cp1252", mixed=True)
        best = "cp1252" if several >= GOOD else _second_opinion(words)
    if best is None:
        return None
    texts = [word.decode(best) for word in words]
    return _Guess(best, tuple([text for text in texts if text.isalpha()] or texts)[:_SHOWN])


def _second_opinion(words: Iterable[bytes]) -> str | None:
    import chardet  # only asked about few files

    found = chardet.detect(b"\n".join(words))
    if found["encoding"] is None or found["confidence"] < LIKELY:
        return None
    name = codecs.lookup(found["encoding"]).name
    whole = all(_decoded(word, name) is not None for word in words)
    return name if whole and name not in {*LANGUAGES, "ascii", UTF8} else None


def mostly_utf8(words: Iterable[bytes]) -> bool:
    """Return whether most words are UTF-8, so that the others are faults in such a text."""
    words = list(words)
    return sum(_decoded(word, "utf-8") is not None for word in words) > _MOSTLY * len(words)


def _decoded(word: bytes, encoding: str) -> str | None:
    with suppress(UnicodeDecodeError):
        return word.decode(encoding)
    return None


def _score(words: Iterable[bytes], encoding: str, *, mixed: bool = False) -> float:
    """Return how well words fit the encoding's best language; `mixed`: that of each word."""
    texts = [_decoded(word, encoding) for word in words]
    if None in texts:
        return 0.0
    parts = [part for text in texts if text for part in ASCII_SIGNS.split(text)]
    parts = [part for part in parts if not part.isascii()]
    if encoding == "cp932":
        return _mean([points for part in parts for points in _japanese(part)])
    alone, languages = encoding in ONE_ALPHABET, LANGUAGES[encoding]
    if mixed:
        best = [max(_mean([*_fits(part, one, alone=alone)]) for one in languages) for part in parts]
        return sum(best) / len(best) if best else 0.0
    return max(
        _mean([points for part in parts for points in _fits(part, one, alone=alone)])
        for one in languages
    )


def _mean(points: Sequence[float]) -> float:
    return sum(points) / len(points) if points else 1.0


def _fits(word: str, language: Language, *, alone: bool) -> Iterator[float]:
    if alone and LATIN.search(word):
        yield from (0.0 for sign in word if not sign.isascii())
        return
    never = re.finditer(language.never, word, re.IGNORECASE)
    misplaced = {place for match in never for place in range(*match.span())}
    crowded = not alone and CROWDED.search(word) is not None
    for place, sign in enumerate(word):
        if sign.isascii() or sign == NO_BREAK:
            continue
        inside = word[place - 1 : place].isalpha() and word[place + 1 : place + 2].isalpha()
        if sign in _SIGNS:
            behind = word[place + 1 : place + 2]
            amount = sign in AMOUNTS and behind.isalpha()
            beside = {*word[max(place - 1, 0) : place], *behind} & {*_SIGNS}
            yield 0.0 if inside or amount or beside else 1.0
        elif place in misplaced or crowded or (sign.isupper() and word[:place][-1:].islower()):
            yield 0.0
        else:
            small = sign.lower()
            yield 1.0 if small in language.common else _RARE if small in language.rare else 0.0


def _japanese(word: str) -> Iterator[float]:
    if SMALL.search(word):
        yield from (0.0 for sign in word if not sign.isascii())
        return
    for sign in word:
        if not sign.isascii():
            usual = "\u3000" <= sign <= "\u30ff" or "\u4e00" <= sign <= "\u9fff"
            yield 1.0 if usual or "\uff01" <= sign <= "\uff5e" else 0.0


# What NUL bytes in a text mean: characters of two or four bytes, padding after a crash, or damage.
#
# In UTF-16 and UTF-32 a line feed has NULs beside it. So a text is of such an encoding if it can be
# decoded so, to lines of characters that exist. What is plain text but for a few NULs is damaged.

_ENOUGH = 1 << 16  # bytes of a text that show its encoding
ENCODINGS = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
_WIDE = 0.15  # share of NULs from which plain text is not just damaged
PRINTABLE = 0.95  # share of characters that exist, and are shown
AS_NUL = "{file}: line {line}: a NUL byte: "


def wide_encoding(data: bytes) -> str | None:
    """Return in which encoding with NUL bytes a text is written, by its beginning; None: in none.

    There is no byte-order mark that says so.
    """
    start = data[:_ENOUGH]
    text = _without_nuls(start.replace(b"\0", b""), "utf-8")
    is_plain = bool(text) and all(one.isprintable() or one.isspace() for one in text)
    if is_plain and start.count(0) < _WIDE * len(start):
        return None
    return next((one for one in ENCODINGS if _are_lines(_without_nuls(start, one))), None)


def _without_nuls(start: bytes, encoding: str) -> str:
    with suppress(UnicodeDecodeError):
        return codecs.getincrementaldecoder(encoding)().decode(start)  # its end may be cut
    return ""


def _are_lines(text: str) -> bool:
    text = text.rstrip("\0")
    shown = sum(one.isprintable() or one.isspace() for one in text)
    ends = "\n" in text or "\r" in text or (text != "" and text.isascii())  # or a lone header
    return ends and shown >= PRINTABLE * len(text)


def _is_whole(texts: Iterable[bytes], encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for text in texts:
            if "\0" in decoder.decode(text):
                return False
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",  # which begins like the first one here
    codecs.BOM_UTF16_BE: "UTF-16",
}
CODE = "file-encoding"  # of all problems here
_WHOLE = {"idna", "punycode"}  # decoded in one go, because Python decodes their parts otherwise
ENDIAN = "le" if sys.byteorder == "little" else "be"
UNMARKED = {name: f"{name}-{ENDIAN}" for name in ("utf-16", "utf-32")}  # if no mark says more
NOT_PLAIN = re.compile(rb"[\0-\x08\x0e-\x1f\x80-\xff]")  # bytes that plain ASCII text lacks
WIDER = ("utf-16", "utf_16", "utf16", "utf-32", "utf_32", "utf32")
FIRST = 100  # lines before which the first NUL stands in a text of wide characters
LONE_RETURN = "a carriage return without a line feed: end lines with LF or CRLF"
NAME_IT = Advice(
    "name the encoding of the file with {option}, such as cp1252 (Western), cp437 (old DOS), gb18030 (Chinese) or cp949 (Korean)",
    "encoding",
)


def to_utf8(data: bytes, *, name: str, encoding: str = UTF8, in_schema: bool = False) -> bytes:
    """Return the text as UTF-8 without a byte-order mark.

    `in_schema`: an error may say that a schema can name the encoding, too.
    """
    plain = _plain([data], name=name, encoding=encoding, in_schema=in_schema)
    return b"".join(_checked(plain, name=name, encoding=encoding, in_schema=in_schema))


def utf8_lines(
    chunks: Iterable[bytes],
    *,
    name: str,
    encoding: str = UTF8,
    limit: int,
    in_schema: bool = False,
    returns: bool = False,
) -> Iterator[bytes]:
    """Yield the same text in pieces of whole lines, or raise the same error after the last chunk.

    A line of more than `limit` bytes is an error, too. `returns`: a carriage return may end one.
    """
    plain = _plain(chunks, name=name, encoding=encoding, in_schema=in_schema)
    lines = _whole_lines(plain, name=name, limit=limit, returns=returns)
    return _checked(lines, name=name, encoding=encoding, in_schema=in_schema)


def exhaust(rest: Iterable[object]) -> None:
    """Go through what is left; an error in there comes before any that is known already."""
    for _ in rest:
        pass


def _plain(
    chunks: Iterable[bytes], *, name: str, encoding: str, in_schema: bool
) -> Iterator[bytes]:
    codec, longest = codecs.lookup(encoding), max(map(len, MARKS))
    for recodes in (False, True):
        if not recodes or codec.name != UTF8:
            again = _recoded(chunks, codec, name=name, encoding=encoding) if recodes else chunks
            start, rest = b"", iter(again)
            while len(start) < longest and (chunk := next(rest, None)) is not None:
                start = start + chunk if start else chunk
            chunks = chain([start], rest)
    marked = next((title for mark, title in MARKS.items() if start.startswith(mark)), None)
    if marked and codec.name == UTF8:
        exhaust(rest)
        do = Fix("encoding", marked.lower(), in_schema)
        text = "{file}: this is {encoding}: {remedy}"
        raise DataError(Problem(CODE, text, file=name, encoding=marked, remedy=do))
    yield start.removeprefix(codecs.BOM_UTF8)
    yield from rest


def _recoded(
    chunks: Iterable[bytes], codec: codecs.CodecInfo, *, name: str, encoding: str
) -> Iterator[bytes]:
    chunks = iter(chunks)
    marked = False
    try:
        if codec.incrementaldecoder is None or codec.name in _WHOLE:
            yield b"".join(chunks).decode(encoding).encode()
            return
        start = next(chunks)
        marks = tuple(mark for mark, title in MARKS.items() if title.lower() == codec.name)
        marked = start.startswith(marks)
        part = codec.incrementaldecoder("strict")
        if codec.name in UNMARKED and not marked:  # the parts of Python's would be refused
            part = codecs.getincrementaldecoder(UNMARKED[codec.name])("strict")
        # Whose characters have several bytes each, and NULs among those of a line's end.
        plain, lines = codec.name.startswith(("utf-16", "utf-32")), False
        for chunk in chain([start], chunks):
            yield part.decode(chunk).encode()
            plain = plain and NOT_PLAIN.search(chunk) is None
            lines = lines or b"\n" in chunk
        yield part.decode(b"", final=True).encode()
    except UnicodeError:
        exhaust(chunks)
        plain = lines = True
        if marked:  # so nobody need have named it
            text = "{file}: this begins as {encoding}, but a later part is not: it was cut off or damaged: {remedy}"
            facts = {"encoding": encoding.upper(), "remedy": "get a new copy of the file"}
            raise DataError(Problem(CODE, text, file=name, **facts)) from None
    if plain and lines:
        do = Advice("leave out {option}, or give another one", "encoding")
        text = "{file}: not {encoding} text: {remedy}"
        raise DataError(Problem(CODE, text, file=name, encoding=encoding, remedy=do))


def _whole_lines(
    chunks: Iterable[bytes], *, name: str, limit: int, returns: bool
) -> Iterator[bytes]:
    held: list[bytes] = []
    for chunk in chunks:
        end = chunk.rfind(b"\n") + 1
        if returns:  # the last byte may belong to a line feed that is still to come
            end = max(end, chunk.rfind(b"\r", 0, -1) + 1)
        if end:
            yield b"".join([*held, chunk[:end]])
            held = []
        held.append(chunk[end:])
        if sum(map(len, held)) > limit:
            text = "{file}: a line of more than {limit:,.0f} MB does not fit into memory: split the file, or use a larger machine"
            raise ResourceError(Problem("memory-line", text, file=name, limit=limit / 1e6))
    if rest := b"".join(held):
        yield rest


def _checked(
    texts: Iterator[bytes], *, name: str, encoding: str, in_schema: bool
) -> Iterator[bytes]:
    """Yield the texts, which are UTF-8 without a NUL, or raise; a NUL comes before other faults.

    `encoding` is the one that they were in.
    """
    lines, before, fault, plain = 0, b"", None, True
    start: list[bytes] = []  # of the text, to find out what a NUL means
    for text in texts:
        lines += before.count(b"\n")
        before = text
        start = [*start, text] if lines <= FIRST else []
        nul = text.find(b"\0")
        if nul >= 0:
            start = [] if encoding.lower().startswith(WIDER) else start
            problem = _about_nul(start, text[nul:], texts, in_schema=in_schema)
            exhaust(texts)
            raise DataError(problem.changed(file=name, line=lines + line_of(text, nul)))
        if fault:
            words_in(text, fault.words)
        elif not text.isascii():
            try:
                text.decode()
            except UnicodeDecodeError as error:
                fault = _NotUtf8.at(text, error.start, lines, plain=plain)
            plain = False
        if not fault:
            yield text
    if fault:
        raise DataError(fault.problem(name, in_schema=in_schema))


def _about_nul(
    start: list[bytes], text: bytes, rest: Iterator[bytes], *, in_schema: bool
) -> Problem:
    """Return what a NUL may mean, and what to do.

    `text` begins with it, and the rest comes behind. `start` is all up to there; nothing if that is
    much, or was in an encoding with NULs.
    """
    more: list[bytes] = []
    while sum(map(len, [*start, *more])) < _ENOUGH and (one := next(rest, None)) is not None:
        more.append(one)
    encoding = wide_encoding(b"".join([*start, *more])) if start else None
    facts: dict[str, object] = {}
    if encoding is not None:
        what, facts = "this looks like {encoding}", {"encoding": encoding[:6].upper()}
        remedy: object = Fix("encoding", encoding, in_schema)
        if not _is_whole(chain(start, more, rest), encoding):
            what, remedy = f"{what} that is damaged or cut short", "get a new copy of the file"
    elif all(not one.strip(b"\0\r\n") for one in chain([text], more, rest)):
        what = "only NUL bytes follow to the end of the file, as after a crash: rows may be"
        what, remedy = f"{what} missing", "get a new copy of the file, or remove these bytes"
    else:
        what, remedy = "not a text file, or a damaged one", "remove it"
    return Problem(CODE, f"{AS_NUL}{what}: {{remedy}}", remedy=remedy, **facts)


@dataclass
class _NotUtf8:
    """The first byte that is not UTF-8, and the words from its line on, to guess by."""

    line: int
    byte: int
    word: bytes  # that it stands in
    words: Counter[bytes]
    above: bool  # the lines above hold letters beyond ASCII, and are UTF-8

    @classmethod
    def at(cls, text: bytes, position: int, lines: int, *, plain: bool) -> Self:
        """Return what is wrong at a position of a text, before which there are so many lines.

        `plain`: these are ASCII.
        """
        start = text.rfind(b"\n", 0, position) + 1
        word = next(one[0] for one in _WORD.finditer(text, start) if position < one.end())
        words, above = words_in(text[start:]), not plain or not text[:start].isascii()
        return cls(lines + line_of(text, position), text[position], word, words, above)

    def problem(self, name: str, *, in_schema: bool) -> Problem:
        text = "{file}: line {line}: byte {byte} is not UTF-8{but}: {remedy}"
        facts = {"byte": f"{self.byte:02X}", "but": "", "remedy": NAME_IT}
        found = Problem(CODE, text, file=name, line=self.line, **facts)
        if self.above or mostly_utf8(self.words):
            return found.changed(but=", though other lines are", remedy="correct this line")
        if guess := guess_encoding(self.words):
            return found.changed(
                text="{file}: line {line}: byte {byte} is not UTF-8; in {encoding} the word is {word!r}: {remedy}",
                encoding=guess.encoding,
                word=UserText(self.word.decode(guess.encoding)),
                remedy=Fix("encoding", guess.encoding, in_schema),
            )
        return found


def line_of(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1
