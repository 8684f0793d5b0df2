"""Where memory is limited: no start with too little, and a message when there was too little."""

import subprocess
import sys

import pytest

from cfl_cli.cli.start import lacks_memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits are Linux's")


@pytest.mark.unix
@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_too_little_to_load_packages_is_said_before_they_are_loaded(limit):
    code = f"""
import resource, sys
resource.setrlimit(resource.{limit}, (90 << 20, 90 << 20))
sys.argv = ["cfl", "impute"]
from cfl_cli.__main__ import main
main()
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 4
    assert run.stderr.startswith("cfl: at least ")
    assert run.stderr.endswith(" allows 94 MB: allow more\n")


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(12, "Cannot allocate memory"),
        RuntimeError("can't start new thread"),
        ImportError("libarrow.so: failed to map segment from shared object"),
    ],
)
def test_errors_that_say_that_memory_was_short(error):
    assert lacks_memory(error)
    other = ValueError("what came of it")
    other.__cause__ = error
    assert lacks_memory(other)


def test_other_errors_do_not():
    assert not lacks_memory(ValueError("wrong"))
    assert not lacks_memory(OSError(28, "No space left on device"))


def test_a_python_without_its_global_lock_is_refused_at_the_start():
    code = """
import sys
sys._is_gil_enabled = lambda: False
from cfl_cli.__main__ import main
main()
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 4
    assert run.stderr.startswith("cfl: this Python runs without its global lock")
    assert run.stderr.endswith(": set PYTHON_GIL=1, or use another Python\n")
