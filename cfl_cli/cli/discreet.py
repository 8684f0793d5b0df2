"""Keeps cells out of errors where a schema marks identifiers, which no message may show."""

from collections.abc import Iterator
from contextlib import contextmanager

from cfl_cli.errors import DataError
from cfl_cli.schema.model import Schema
from cfl_cli.tables.encodings import CAUSE, without_word


@contextmanager
def without_words(schema: Schema | None) -> Iterator[None]:
    """Leave words of a file that cannot be decoded out of errors, if it has identifiers."""
    try:
        yield
    except DataError as error:
        if schema is None or not schema.identifiers or error.cause != CAUSE:
            raise
        said = map(without_word, error.problems)
        raise DataError(*said, more=error.more, cause=error.cause) from None
