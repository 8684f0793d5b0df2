"""What NUL bytes in a text mean: characters of two or four bytes, padding after a crash, or damage.

In UTF-16 and UTF-32 a line feed has NULs beside it. So a text is of such an encoding if it can be
decoded so, to lines of characters that exist. What is plain text but for a few NULs is damaged.
"""

import codecs
from collections.abc import Iterable

ENOUGH = 1 << 16  # bytes of a text that show its encoding
ENCODINGS = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
WIDE = 0.15  # share of NULs from which plain text is not just damaged
PRINTABLE = 0.95  # share of characters that exist, and are shown
DAMAGED = ": not a text file, or a damaged one: remove it"
PADDED = (
    ": there is nothing but NUL bytes up to the end, as a crash leaves them: rows may be missing: "
    "get the file anew, or remove these bytes"
)


def wide_encoding(data: bytes) -> str | None:
    """Return in which encoding with NUL bytes a text is written, by its beginning; None: in none.

    There is no byte-order mark that says so.
    """
    start = data[:ENOUGH]
    if _is_plain(start.replace(b"\0", b"")) and start.count(0) < WIDE * len(start):
        return None
    return next((one for one in ENCODINGS if _are_lines(_decoded(start, one))), None)


def _decoded(start: bytes, encoding: str) -> str:
    """Return the beginning of a text; nothing if it is not in that encoding."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(start)  # its end may be cut
    except UnicodeDecodeError:
        return ""


def _are_lines(text: str) -> bool:
    """Return whether a text could be a table's, perhaps with padding at its end."""
    text = text.rstrip("\0")
    shown = sum(one.isprintable() or one.isspace() for one in text)
    ends = "\n" in text or "\r" in text or (text != "" and text.isascii())  # or a lone header
    return ends and shown >= PRINTABLE * len(text)


def _is_plain(start: bytes) -> bool:
    """Return whether a text is UTF-8 without control characters; its last one may be cut."""
    text = _decoded(start, "utf-8")
    return bool(text) and all(one.isprintable() or one.isspace() for one in text)


def is_whole(texts: Iterable[bytes], encoding: str) -> bool:
    """Return whether all of a text can be decoded, to no NULs."""
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for text in texts:
            if "\0" in decoder.decode(text):
                return False
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def are_only(texts: Iterable[bytes]) -> bool:
    """Return whether there is nothing but NULs, and ends of lines."""
    return all(not text.strip(b"\0\r\n") for text in texts)
