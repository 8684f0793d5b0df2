import ast
import re
from pathlib import Path
from threading import Thread

import pytest
import typer
from typer.main import get_command

from cfl_cli.cli.app import app
from cfl_cli.core.messages import (
    STORED,
    Caller,
    caller,
    command,
    named_setting,
    on_command_line,
    option,
)
from cfl_cli.core.parallel import Workers

PACKAGE = Path(__file__).parents[2] / "cfl_cli"
# What only the command line does: read and write text tables.
READING = {*(PACKAGE / "tables").glob("*.py")} - {
    PACKAGE / "tables" / name for name in ("files.py", "frames.py")
}
# Where options are made, and the manual's words for exit codes.
DEFINING = {PACKAGE / "core" / "settings.py", PACKAGE / "errors.py"}
DEFINING |= {
    *(PACKAGE / "commands").glob("*/__init__.py"),
    *(PACKAGE / "commands").glob("*/work.py"),
}


@pytest.mark.parametrize(
    ("say", "typed", "called"),
    [
        (lambda: option("max_memory"), "--max-memory", "max_memory"),
        (lambda: option("folds", 0), "--folds 0", "folds=0"),
        (lambda: option("gamma", "auto"), "--gamma auto", "gamma='auto'"),
        (lambda: option("keep_flagged", value=True), "--keep-flagged", "keep_flagged=True"),
        (lambda: option("calibration", value=False), "--no-calibration", "calibration=False"),
        (lambda: option("cf", "a\nb", quoted=True), r"--cf 'a\nb'", r"cf='a\nb'"),
        (lambda: option("draw", 5, python="rows"), "--draw 5", "rows=5"),
        (lambda: named_setting("k"), "k (--k)", "k"),
        (lambda: command("impute"), "`cfl impute`", "`impute`"),
        (lambda: command("audit --draw", python="draw"), "`cfl audit --draw`", "`draw`"),
    ],
)
def test_a_message_names_what_its_reader_can_type(say, typed, called):
    assert str(say()) == called
    with on_command_line():
        assert str(say()) == typed
    assert str(say()) == called


def test_what_is_stored_does_not_depend_on_who_stores_it():
    stored = (
        f"try {option('gamma', 'auto', to=STORED)}, or {option('gamma', 0.25, to=STORED)}; not "
        f"{option('calibration', value=False, to=STORED)}, {option('k', to=STORED)} or "
        f"{command('impute', to=STORED)} -- 5."
    )
    assert (
        stored
        == "try --gamma auto, or --gamma 0.25; not --no-calibration, --k or `cfl impute` -- 5."
    )


def test_threads_of_a_pool_speak_to_whom_their_caller_does_and_no_others():
    def heard(*_):
        return caller()

    with on_command_line(), Workers(2) as workers:
        assert {*workers.map(heard, range(4))} == {Caller.COMMAND_LINE}
        others = []
        other = Thread(target=lambda: others.append(caller()))
        other.start()
        other.join()
    assert others == [Caller.PYTHON]
    with Workers(2) as workers:
        assert {*workers.map(heard, range(4))} == {Caller.PYTHON}


def options():
    group = get_command(app)
    for name in group.list_commands(None):
        for parameter in group.get_command(typer.Context(group), name).params:
            for one in (*parameter.opts, *parameter.secondary_opts):
                if one.startswith("--"):
                    yield one[2:]


OPTION = re.compile(rf"--({'|'.join(sorted({*options()}, key=len, reverse=True))})(?![a-z-])")


def texts(path):
    source = path.read_text()
    if "--" not in source:
        return
    raised = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Raise)]
    nodes = [node for one in raised for node in ast.walk(one)]
    named = {call.args[0] for call in nodes if isinstance(call, ast.Call) and call.args}
    commands = {one for one in named if isinstance(one, ast.Constant)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in commands:
            yield node.lineno, node.value


def test_only_the_command_line_names_an_option_by_itself():
    rooms = {*PACKAGE.glob("**/*.py")} - {*(PACKAGE / "cli").glob("**/*.py")} - DEFINING - READING
    named = [
        f"{path.relative_to(PACKAGE)}:{line}: {text!r}: use core.messages.option"
        for path in sorted(rooms)
        for line, text in texts(path)
        if OPTION.search(text)
    ]
    assert not named
