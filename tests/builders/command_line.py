"""The command line in this process, and a small table with its schema."""

from contextlib import contextmanager
from pathlib import Path

from typer.testing import CliRunner

from cfl_cli.cli.app import app
from cfl_cli.core.messages import CALLER, Caller

SCHEMA = """\
version: 1
columns:
  x: {role: ordinary, type: numeric}
  y: {role: ordinary, type: numeric}
  cf: {role: complementary, values: [a, b, c]}
settings: {k: 3, iterations: 5}
"""
ROWS = ["x,y,cf", *(f"{n},{n * n % 7},{'abc'[n % 3]}" for n in range(12))]


@contextmanager
def on_command_line():
    before = CALLER.set(Caller.COMMAND_LINE)
    try:
        yield
    finally:
        CALLER.reset(before)


def cfl(*arguments, **environment):
    return CliRunner().invoke(app, [str(part) for part in arguments], env=environment)


def impute(*options, data="data.csv", schema="schema.yml", out="out.csv", **environment):
    return cfl("impute", data, "--schema", schema, "--out", out, *options, **environment)


def done(result):
    """Check that a run did what it was asked for, and return what came of it."""
    assert result.exit_code == 0, result.output
    return result


def failed(result, code, *words):
    """Check that a run failed with `code`, said `words` and showed no traceback."""
    assert result.exit_code == code, result.output
    for word in words:
        assert word in result.stderr
    assert "Traceback" not in result.output


def refused(result, code, *words, out="out"):
    """Check that a run failed so, and that it wrote nothing."""
    failed(result, code, *words)
    assert not [path for path in Path().iterdir() if path.name.startswith((out, ".cfl"))]
