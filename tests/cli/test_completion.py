import os
import shutil
import subprocess
import sys

import polars as pl
import pytest
from builders.command_line import cfl

from cfl_cli.cli import app


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
        ("cfl impute --meth", ["--method"]),
        ("cfl impute --method bo", ["boost"]),
        ("cfl impute data.csv --mode ", ["hard", "soft", "both"]),
        ("cfl impute data.csv --on-bad-row se", ["set-aside"]),
        ("cfl report out.csv --format js", ["json"]),
        ("cfl impute data.csv --output-format csv.g", ["csv.gz"]),
    ],
)
def test_commands_options_and_words_are_completed(line, offered):
    assert completed(line) == offered


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("id;my job;age;a$(x)\n1;a;3;4\n")
    (tmp_path / "o.csv").write_text("id,job,job_imputed,job_confidence\n")
    (tmp_path / "bad.csv").write_bytes(b"\xff\xfe\x00")
    pl.DataFrame({"x": [1], "y": [2]}).write_parquet("p.parquet")


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("cfl init t.csv --cf ", ["id", "my\\", "job", "age"]),
        ("cfl init t.csv --cf my", ["my\\", "job"]),
        ("cfl init --ignore id t.csv --cf a", ["age"]),
        ("cfl explain o.csv --cf ", ["job"]),
        ("cfl init p.parquet --cf ", ["x", "y"]),
        ("cfl init bad.csv --cf ", []),
        ("cfl init none.csv --cf ", []),
        ("cfl init --cf ", []),
    ],
)
def test_columns_of_a_table_that_is_typed_are_completed(line, offered, tables):
    assert completed(line) == offered


def test_a_table_that_is_a_pipe_is_not_waited_for(tables):
    os.mkfifo("pipe.csv")
    assert completed("cfl init pipe.csv --cf ", "zsh") == ["_files"]


@pytest.mark.parametrize("line", ["cfl impute sam", "cfl impute data.csv --schema ", "cfl report "])
def test_file_names_are_left_to_the_shell(line):
    assert completed(line) == []
    assert completed(line, "zsh") == ["_files"]


@pytest.fixture(params=["bash", "zsh"])
def shell(request):
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return request.param


def from_shell(shell, option, home):
    line = f'"{sys.executable}" -m cfl_cli {option}; true'  # or the shell would give way to cfl
    run = subprocess.run(
        [shell, "-c", line],
        env={**os.environ, "HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout


def test_the_script_for_the_shell_in_use_can_be_shown(shell, tmp_path):
    script = from_shell(shell, "--show-completion", tmp_path)
    assert f"_CFL_COMPLETE=complete_{shell}" in script
    assert not list(tmp_path.iterdir())


def test_the_script_is_installed_where_the_shell_finds_it(shell, tmp_path):
    said = from_shell(shell, "--install-completion", tmp_path)
    path = tmp_path / {"bash": ".bash_completions/cfl.sh", "zsh": ".zfunc/_cfl"}[shell]
    assert said == f"{shell} completion is in {path}; it works in new terminals\n"
    assert path.read_text().strip() == from_shell(shell, "--show-completion", tmp_path).strip()


def test_zsh_completes_at_the_first_tab_when_it_loads_the_script(tmp_path):
    # What zsh loads as the function `_cfl` must complete then, and again at the next Tab.
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    (tmp_path / "_cfl").write_text(app.ZSH)
    line = (
        f"fpath=({tmp_path}); autoload -U _cfl; words=(cfl im); CURRENT=2; "
        "cfl() { print -r -- 'print asked'; }; env() { cfl; }; compdef() { print registered; }; "
        f"_cfl; _cfl; source {tmp_path}/_cfl"
    )
    run = subprocess.run(["zsh", "-f", "-c", line], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["asked", "asked", "registered"]


def test_completion_is_for_the_shell_that_runs_cfl_and_takes_no_name(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for option in ("--install-completion", "--show-completion"):
        monkeypatch.setattr("sys.argv", ["cfl", option, "fish"])
        result = cfl(option, "fish")
        assert result.exit_code == 2
        assert f"{option}: takes no value" in result.stderr
    assert not list(tmp_path.iterdir())
