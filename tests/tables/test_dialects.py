"""Files of all kinds are read to the cell by the options that the messages themselves propose."""

from random import Random

import pytest
from builders.dialects import KINDS_OF_FILES, cells, following

ROUNDS = 6


@pytest.mark.parametrize("kind", KINDS_OF_FILES)
def test_a_file_is_read_by_following_the_messages(kind):
    for seed in range(ROUNDS):
        check(kind, seed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS_OF_FILES)
def test_many_files_are_read_by_following_the_messages(kind):
    for seed in range(ROUNDS, 300):
        check(kind, seed)


def check(kind, seed):
    written = KINDS_OF_FILES[kind](Random(seed))  # noqa: S311 — not for secrets
    table, how = following(written.data)
    assert table is not None, (kind, seed, how, written.data)
    assert cells(table) == written.rows, (kind, seed, how, written.data)
    if written.names:
        assert table.frame.columns == written.names
