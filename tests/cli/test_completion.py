"""What the Tab key offers, as bash and zsh ask for it."""

import os
import subprocess
import sys

import pytest


def completed(line, shell="bash"):
    """Return what `cfl` answers to the shell when Tab is pressed at the end of the line."""
    words = line.split(" ")
    asked = {
        "bash": {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
    }[shell]
    start = "import sys; sys.argv[0] = 'cfl'; from cfl_cli.__main__ import main; main()"
    run = subprocess.run(
        [sys.executable, "-c", start],
        env={**os.environ, **asked, "_CFL_COMPLETE": f"complete_{shell}"},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("cfl im", ["impute"]),
        ("cfl impute --me", ["--method"]),
        ("cfl impute --method bo", ["boost"]),
        ("cfl impute data.csv --mode ", ["hard", "soft", "both"]),
        ("cfl impute data.csv --on-bad-row se", ["set-aside"]),
        ("cfl report out.csv --format js", ["json"]),
        ("cfl impute data.csv --output-format csv.g", ["csv.gz"]),
    ],
)
def test_commands_options_and_words_are_completed(line, offered):
    assert completed(line) == offered


@pytest.mark.parametrize("line", ["cfl impute sam", "cfl impute data.csv --schema ", "cfl report "])
def test_file_names_are_left_to_the_shell(line):
    assert completed(line) == []
    assert completed(line, "zsh") == ["_files"]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_script_for_a_shell_can_be_shown(shell):
    start = "import sys; sys.argv[0] = 'cfl'; from cfl_cli.__main__ import main; main()"
    run = subprocess.run(
        [sys.executable, "-c", start],
        env={**os.environ, "_CFL_COMPLETE": f"source_{shell}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "_CFL_COMPLETE=complete_" + shell in run.stdout
