import os
import sys
from collections.abc import Iterator
from pathlib import Path

# Before the package is imported: with --portable, what only Unix has is hidden, also from processes
# that tests start.
if "--portable" in sys.argv and "CFL_HIDES_UNIX" not in os.environ:
    from builders import portable

    os.environ["CFL_HIDES_UNIX"] = "yes"
    given = os.environ.get("PYTHONPATH", "")
    site = str(Path(__file__).parent / "builders/portable_site")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [site, given]))
    portable.hide()

# Before numpy and polars are imported: tests run side by side, each in few threads. What compares
# threads starts its own (`Workers`, `--jobs`), which these variables do not limit.
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "2"}

import pytest
from builders.command_line import ROWS, SCHEMA, on_command_line
from builders.forked import Forked
from hypothesis import settings

from cfl_cli.core.parallel import Workers, available_cores

# The same few examples every time while working, other ones at every run of the checks, and many
# for a night: HYPOTHESIS_PROFILE=long or --hypothesis-profile=long.
settings.register_profile("dev", deadline=None, print_blob=True, max_examples=25, derandomize=True)
settings.register_profile("ci", deadline=None, print_blob=True, max_examples=8)
settings.register_profile("long", deadline=None, print_blob=True, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--portable", action="store_true", help="hide what only Unix has")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return a worker for each core; none for a few files, which start sooner without."""
    named = config.invocation_params.args
    few = any(str(name).partition("::")[0].endswith(".py") for name in named)
    return 0 if few else available_cores()


def long_ends() -> set[str]:
    lines = (Path(__file__).parent / "long_ends.txt").read_text().splitlines()
    return {line for line in lines if not line.startswith("#")}


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    named = long_ends()
    portable = not hasattr(os, "geteuid")
    for item in items:
        if portable and item.get_closest_marker("unix"):
            item.add_marker(pytest.mark.skip(reason="needs what only Unix has"))
        name = item.nodeid.removeprefix("tests/")
        if name in named or name.partition("[")[0] in named:
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def workers() -> Iterator[Workers]:
    with Workers(2) as pool:
        yield pool


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("CFL_") and name != "CFL_HIDES_UNIX":
            monkeypatch.delenv(name)


@pytest.fixture
def for_the_command_line() -> Iterator[None]:
    with on_command_line():
        yield


@pytest.fixture(scope="module")
def learning_quickly() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cfl_cli.methods.net.STEPS", 24)
        patch.setattr("cfl_cli.methods.boost.MOST_ROUNDS", 6)
        yield


@pytest.fixture(scope="session")
def sample() -> Path:
    return Path(__file__).parent.parent / "sample_data"


@pytest.fixture(scope="session")
def forked() -> Iterator[Forked]:
    """Return what runs `cfl` in processes that have everything imported."""
    server = Forked()
    yield server
    server.close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, which has a small table and its schema."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.yml").write_text(SCHEMA)
    (tmp_path / "data.csv").write_text("\n".join(ROWS) + "\n")
    return tmp_path
