import os
import shutil
import signal
import subprocess
import sys
import time

import polars as pl
import pytest

from cfl_cli.tables.formats import Place
from cfl_cli.tables.table import write

LATER = pytest.mark.slow


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        (signal.SIGTERM, 143),
        *([(signal.SIGHUP, 129)] if hasattr(signal, "SIGHUP") else []),
    ],
)
def test_an_interrupt_ends_a_run_within_seconds_and_leaves_nothing(folder, number, code):
    rows = ["x,y,cf", *(f"{n * 37 % 9973},{n * 91 % 9967},{'abc'[n % 3]}" for n in range(30_000))]
    (folder / "data.csv").write_text("\n".join(rows) + "\n")
    command = [sys.executable, "-m", "cfl_cli", "impute", "data.csv", "--schema", "schema.yml"]
    with subprocess.Popen(
        [*command, "--out", "out.csv", "--iterations", "100000", "--folds", "0"],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509 — as under nohup
    ) as process:
        begun = process.stderr.readline()
        process.send_signal(number)
        began = time.monotonic()
        _, stderr = process.communicate(timeout=60)
    assert "round 1" in begun, "the work began"
    assert time.monotonic() - began < 10
    assert process.returncode == code
    assert "Traceback" not in stderr
    assert sorted(path.name for path in folder.iterdir()) == ["data.csv", "schema.yml"]


STRACE = shutil.which("strace")

# What `cfl` does first, and a word when it has done it: before that, it is Python that starts.
BEGIN = """\
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
print("ready", flush=True)
sys.argv[0] = "cfl"
from cfl_cli.__main__ import main
main()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("delay", [0.0, 0.2, *(pytest.param(x, marks=LATER) for x in (0.1, 0.3))])
def test_a_signal_while_the_command_starts_ends_it_without_a_traceback(folder, number, delay):
    run = subprocess.Popen(
        [sys.executable, "-c", BEGIN, "check", "data.csv", "-s", "schema.yml"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert run.stdout.readline() == b"ready\n"
    time.sleep(delay)
    run.send_signal(number)
    said = run.communicate()[1]
    assert run.returncode in {-number, 128 + number}
    assert b"Traceback" not in said


@pytest.mark.unix
@pytest.mark.parametrize(
    ("name", "kept"),
    [("/bin/cfl", False), (r"C:\\Scripts\\cfl.exe", False), ("/bin/somebody-elses", True)],
)
def test_ctrl_c_ends_the_command_quietly_from_its_first_line_and_stays_others_own(name, kept):
    program = (
        f"import sys; sys.argv = ['{name}']; import signal, cfl_cli; before = "
        "signal.getsignal(2); import cfl_cli.__main__; print(before is signal.default_int_handler, "
        "signal.getsignal(2) is signal.default_int_handler)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        preexec_fn=hears_ctrl_c,
        capture_output=True,
        text=True,
    )
    assert run.stdout.split() == ["True", str(kept)]


def hears_ctrl_c():
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(not STRACE, reason="strace is not installed")
@pytest.mark.parametrize(
    ("call", "number"), [("write", 2), pytest.param("openat", 700, marks=pytest.mark.slow)]
)
def test_a_signal_in_the_midst_of_a_call_is_not_lost(folder, call, number):
    at = ["-e", f"trace={call}", "-e", f"inject={call}:signal=SIGINT:when={number}"]
    cfl = [sys.executable, "-m", "cfl_cli", "impute", "data.csv", "-s", "schema.yml"]
    run = subprocess.run(
        [STRACE, "-f", "-o", "/dev/null", *at, *cfl, "--out", "out.csv", "--folds", "0", "-q"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert (run.returncode, run.stderr) == (130, "cfl: interrupted; no partial file was left\n")
    assert sorted(path.name for path in folder.iterdir()) == ["data.csv", "schema.yml"]


def test_a_signal_that_polars_would_swallow_is_raised_when_it_has_written(folder, monkeypatch):
    frame = pl.DataFrame({"a": [1, 2]})
    real = os.write

    def interrupted(handle, data):
        signal.raise_signal(signal.SIGINT)
        return real(handle, data)

    monkeypatch.setattr(os, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(frame, Place.to_write("out.csv"), report=None)
    assert not (folder / "out.csv").exists()
