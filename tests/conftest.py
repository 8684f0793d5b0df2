import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from cfl_cli.core.parallel import Workers

settings.register_profile("cfl", deadline=None, print_blob=True)
settings.load_profile("cfl")


@pytest.fixture
def workers() -> Iterator[Workers]:
    with Workers(2) as pool:
        yield pool


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("CFL_"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def sample() -> Path:
    return Path(__file__).parent.parent / "sample_data"
