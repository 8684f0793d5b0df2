"""Keeps cells out of errors where a schema marks identifiers, which no message may show."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from cfl_cli.core.messages import quote
from cfl_cli.errors import DataError
from cfl_cli.schema.model import Schema
from cfl_cli.tables.encodings import CAUSE, without_word

_TWICE = re.compile(
    r"(?<=: duplicate column) (?P<name>['\"].+?)(?=(?: in cells? [^'\"]+)?: rename one)"
)

_GUESSED = re.compile(r"(encoding \S+ guessed) from ['\"].*['\"] \((\d[\d,]* cells?)\)")


@contextmanager
def without_words(schema: Schema | None) -> Iterator[None]:
    """Leave words of a file out of errors, if it has identifiers and the words may be theirs.

    These are words that cannot be decoded, and names of a header that the schema does not know:
    where there is no header they are cells.
    """
    try:
        yield
    except DataError as error:
        if schema is None or not schema.identifiers:
            raise
        said = [_nameless(one, schema) for one in error.problems]
        if error.cause == CAUSE:
            said = [*map(without_word, said)]
        if said == [*error.problems]:
            raise
        raise DataError(*said, more=error.more, cause=error.cause) from None


def _nameless(problem: str, schema: Schema) -> str:
    """Return a problem without the name that two columns have, unless the schema has it too."""
    known = {quote(name) for name in schema.columns}
    return _TWICE.sub(lambda found: found[0] if found["name"] in known else "", problem)


def without_guessed_words(text: str) -> str:
    """Return a draft, or a note about it, without the words that its encoding was guessed from."""
    return _GUESSED.sub(r"\1 by \2", text)
