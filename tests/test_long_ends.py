"""The list of long tests names tests that exist."""

from pathlib import Path

import pytest
from conftest import long_ends

HERE = Path(__file__).parent


@pytest.mark.parametrize("name", sorted(long_ends()))
def test_every_line_names_a_test(name):
    file, _, test = name.partition("::")
    assert f"def {test.partition('[')[0]}(" in (HERE / file).read_text()
