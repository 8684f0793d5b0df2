"""Keeps cells out of messages where a schema marks identifiers, which no message may show."""

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from cfl_cli.core.messages import quote
from cfl_cli.errors import DataError
from cfl_cli.schema.model import Schema
from cfl_cli.tables.encodings import CAUSE, without_word

_TWICE = re.compile(
    r"(?<=: duplicate column) (?P<name>['\"].+?)(?=(?: in cells? [^'\"]+)?: rename one)"
)
_AGAIN = re.compile(r"(?<= is )(?P<name>['\"].+['\"]) again, and called ['\"].+['\"]")
_KEY = re.compile(r"(?<=: duplicate key) (?P<name>['\"].+['\"])")
_NAMES = ((_TWICE, ""), (_KEY, ""), (_AGAIN, "called as another, and renamed"))
_NUMBER = re.compile(r"(?<=: is )\S+(?= a number with a decimal comma)")
_GUESSED = re.compile(r"(encoding \S+ guessed) from ['\"].*['\"] \((\d[\d,]* cells?)\)")


@contextmanager
def without_words(schema: Schema | None) -> Iterator[None]:
    """Leave words of a file out of errors, if it has identifiers and the words may be theirs.

    These are words that cannot be decoded, and names of a header that the schema does not know:
    where there is no header they are cells.
    """
    if schema is None or not schema.identifiers:
        yield
        return
    with only_names(schema.columns):
        yield


@contextmanager
def only_names(known: Collection[str]) -> Iterator[None]:
    """Leave all words of a file out of errors but these names of columns."""
    try:
        yield
    except DataError as error:
        said = [without_cells(one, known) for one in error.problems]
        if error.cause == CAUSE:
            said = [*map(without_word, said)]
        if said == [*error.problems]:
            raise
        raise DataError(*said, more=error.more, cause=error.cause) from None


def without_cells(message: str, known: Collection[str]) -> str:
    """Return a message without numbers of a file, and without names of columns but the known."""
    names = {quote(name) for name in known}
    message = _NUMBER.sub("a cell", message)
    for pattern, otherwise in _NAMES:
        found = pattern.search(message)
        if found and found["name"] not in names:
            message = pattern.sub(otherwise, message, count=1)
    return message


def may_mark_identifiers(text: str | None) -> bool:
    """Return whether the text of a schema, right or wrong, marks a column as an identifier.

    A word that is nearly that counts too; None is a schema that cannot be read.
    """
    return text is None or "ident" in text.casefold()


def without_guessed_words(text: str) -> str:
    """Return a draft, or a note about it, without the words that its encoding was guessed from."""
    return _GUESSED.sub(r"\1 by \2", text)
