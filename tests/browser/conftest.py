import os

import pytest
from builders.browser import browser as opened
from builders.browser import lacking

NEEDED = os.environ.get("CFL_NEED_BROWSER") == "1"  # before a test clears its environment


@pytest.fixture(scope="session")
def browser():
    """A browser for all tests of a worker; without one they are skipped, unless it is needed."""
    if missing := lacking():
        if NEEDED:
            pytest.fail(f"CFL_NEED_BROWSER=1, and not there: {missing}")
        pytest.skip(f"no browser to look at pages with: {missing}")
    with opened() as made:
        yield made
