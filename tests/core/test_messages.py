"""What the user wrote is quoted so that it can be recognised and cannot harm."""

import ast
import re
from pathlib import Path
from threading import Thread

import pytest
import typer
from builders.command_line import on_command_line
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_command

from cfl_cli.cli.app import app
from cfl_cli.core.messages import (
    CALLER,
    LONGEST,
    STORED,
    Caller,
    command,
    count,
    did_you_mean,
    edits,
    meant,
    named_setting,
    option,
    printable,
    quote,
)
from cfl_cli.core.parallel import Workers


@given(st.text())
def test_a_quote_is_short_printable_and_on_one_line(text):
    shown = quote(text)
    assert len(shown) <= LONGEST
    assert shown.isprintable()


def test_a_short_text_is_quoted_whole_and_a_long_one_cut():
    assert quote("a 'b'\n") == "\"a 'b'\\n\""
    assert quote("x" * 58) == f"'{'x' * 58}'"
    assert quote("x" * 59) == f"'{'x' * 58}…"


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 CFs"), (1, "1 CF"), (2, "2 CFs"), (1234, "1,234 CFs")]
)
def test_a_count_has_its_noun_in_the_right_number(number, words):
    assert count(number, "CF") == words


@pytest.mark.parametrize(
    ("text", "choices", "hint"),
    [
        ("numerc", ["binary", "numeric"], " (did you mean 'numeric'?)"),
        (" AGE ", ["Age", "sex"], " (did you mean 'Age'?)"),
        ("zzz", ["binary", "numeric"], ""),
        ("a", [], ""),
    ],
)
def test_the_nearest_choice_is_offered_if_there_is_one(text, choices, hint):
    assert did_you_mean(text, choices) == hint


@given(st.text())
def test_printable_text_cannot_steer_a_terminal(text):
    assert printable(text).isprintable()
    if text.isprintable():
        assert printable(text) == text


def test_control_characters_are_escaped():
    assert printable("a\x1b[31m\nü") == "a\\x1b[31m\\nü"


@pytest.mark.parametrize(
    ("text", "values", "near"),
    [
        ("Gripe", ["Grippe", "Masern"], "Grippe"),
        ("Adidsa", ["Adidas", "Asics"], "Adidas"),
        ("nurs", ["nurse"], "nurse"),
        ("Strongly agre", ["Strongly disagree", "Strongly agree"], "Strongly agree"),
        ("Strongly agree", ["Strongly disagree", "Disagree", "Agree"], None),
        ("male", ["female"], None),
        ("interested", ["uninterested"], None),
        ("probably", ["improbably"], None),
        ("Grade 1", ["Grade 2"], None),
        ("hot", ["cold"], None),
    ],
)
def test_a_cell_is_a_slip_of_a_value_but_never_its_opposite(text, values, near):
    assert meant(text, values) == (f" (did you mean {near!r}?)" if near else "")


WORDS = st.text(alphabet="ab", max_size=5)


@given(WORDS, WORDS)
def test_edits_are_those_of_the_recursive_definition(one, other):
    def by_definition(one, other):
        if not one or not other:
            return len(one) + len(other)
        ways = [
            by_definition(one[1:], other) + 1,
            by_definition(one, other[1:]) + 1,
            by_definition(one[1:], other[1:]) + (one[0] != other[0]),
        ]
        if one[:2] == other[1::-1] and len(one) > 1:
            ways.append(by_definition(one[2:], other[2:]) + 1)
        return min(ways)

    assert edits(one, other) == by_definition(one, other)


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
    expected = "try --gamma auto, or --gamma 0.25; not --no-calibration, --k or `cfl impute` -- 5."
    assert stored == expected


def test_threads_of_a_pool_speak_to_whom_their_caller_does_and_no_others():
    def heard(*_):
        return CALLER.get()

    with on_command_line(), Workers(2) as workers:
        assert {*workers.map(heard, range(4))} == {Caller.COMMAND_LINE}
        others = []
        other = Thread(target=lambda: others.append(CALLER.get()))
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
