"""Where memory is limited: no start with too little, and a message when there was too little."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cfl_cli.cli.start import lacks_memory
from cfl_cli.core.process import own_groups

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits are Linux's")

MB = 1_000_000
# A process that is limited, and then does what a test wants of a command.
LIMITED = """
import os, resource, signal, sys, time
resource.setrlimit(resource.RLIMIT_AS, (4_000_000_000, 4_000_000_000))
from cfl_cli.cli.start import stay_within_limits
from cfl_cli.core.process import say_code
stay_within_limits()
"""


def limited(code):
    return subprocess.run(
        [sys.executable, "-c", LIMITED + code], capture_output=True, text=True, check=False
    )


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


def test_a_process_that_leaves_by_itself_leaves_with_its_code():
    assert limited("say_code(3); os._exit(3)").returncode == 3
    assert limited("print('done')").stdout == "done\n"


@pytest.mark.parametrize("end", ["os._exit(1)", "os.abort()"])
def test_a_package_that_ends_the_process_had_no_memory(end):
    run = limited(end)
    assert run.returncode == 4
    assert "cfl: out of memory: ulimit -v allows 4,000 MB: use fewer rows" in run.stderr


def test_a_kill_by_somebody_is_passed_on():
    assert limited("os.kill(os.getpid(), signal.SIGKILL)").returncode == -signal.SIGKILL


def test_signals_reach_the_one_that_works():
    code = """
signal.signal(signal.SIGTERM, lambda *_: (say_code(143), os._exit(143)))
print("ready", flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", LIMITED + code], stdout=subprocess.PIPE) as run:
        assert run.stdout.readline() == b"ready\n"
        run.send_signal(signal.SIGTERM)
        assert run.wait(timeout=30) == 143


def test_nobody_works_on_when_the_one_that_waits_is_killed():
    code = "print(os.getpid(), flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", LIMITED + code], stdout=subprocess.PIPE) as run:
        worker = int(run.stdout.readline())
        run.kill()
        run.wait()
    for _ in range(100):
        if not Path(f"/proc/{worker}").exists():
            return
        if " Z " in Path(f"/proc/{worker}/stat").read_text():
            return
        time.sleep(0.05)
    raise AssertionError(f"process {worker} is still there")


@pytest.fixture
def small_group():
    """Return a control group of version 1 or 2 that may have 300 MB."""
    around = [group.folder for group in own_groups()]
    name = f"cfl-test-{os.getpid()}"
    for folder in reversed(around):
        made = folder / name
        for limit in ("memory.max", "memory.limit_in_bytes"):
            try:
                made.mkdir(exist_ok=True)
                (made / limit).write_text(str(300 * MB))
            except OSError:
                continue
            yield made
            made.rmdir()
            return
        if made.is_dir():
            made.rmdir()
    pytest.skip("control groups can be made by the system's administrator only")


def test_a_group_without_memory_left_is_named(small_group):
    code = f"""
open({str(small_group / "cgroup.procs")!r}, "w").write(str(os.getpid()))
from cfl_cli.cli.start import stay_within_limits
stay_within_limits()
held = [bytearray(os.urandom(1 << 20)) for _ in range(400)]
"""
    run = subprocess.run(
        [sys.executable, "-c", "import os" + code], capture_output=True, text=True, check=False
    )
    assert run.returncode == 4
    limit = "its container or control group allows 300 MB"
    assert f"cfl: out of memory: {limit}" in run.stderr


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
