"""Whatever is wrong with a command line, it is said in one style."""

import pytest
from builders.command_line import cfl, impute, refused

NEEDED = ["impute", "data.csv", "-s", "schema.yml", "-o", "out.csv"]
WRONG_VALUES = {
    ("--k", "twenty"): "--k: expected a whole number, found 'twenty'",
    ("--k", "0"): "--k: expected at least 1, found 0",
    ("--k=2.5",): "--k: expected a whole number, found '2.5'",
    ("-j", "-1"): "--jobs: expected at least 1, found -1",
    ("--ridge", "nan"): "--ridge: expected a number, found 'nan'",
    ("--folds", "101"): "--folds: expected at most 100 or auto, found 101",
    ("--mode", "sotf"): "expected hard, soft or both, found 'sotf' (did you mean 'soft'?)",
    ("--mode", "loud"): "--mode: expected hard, soft or both, found 'loud'",
    ("--on-bad-row", "foo"): "--on-bad-row: expected fail or set-aside, found 'foo'",
    ("--gamma", "-1"): "--gamma: expected at least 0 or auto, found -1",
    ("--max-memory", "lots"): "--max-memory: expected a size such as 500MB or 2GB, found 'lots'",
    ("--on-bad-row", "setaside"): "(did you mean 'set-aside'?)",
    ("--input-format", "cvs"): "--input-format: unknown format 'cvs'",
}
WRONG_LINES = {
    "an unknown option": ([*NEEDED, "--colour"], "--colour: unknown option"),
    "a misspelled option": (
        [*NEEDED, "--itertions", "3"],
        "--itertions: unknown option (did you mean '--iterations'?)",
    ),
    "a shortened option": (
        [*NEEDED, "--kee"],
        "--kee: unknown option (did you mean '--keep-flagged'?)",
    ),
    "an unknown letter": ([*NEEDED, "-z"], "-z: unknown option"),
    "an option without its value": ([*NEEDED, "--k"], "--k: expected a value"),
    "a switch with a value": ([*NEEDED, "--quiet=1"], "--quiet: takes no value"),
    "a missing option": (
        ["impute", "data.csv"],
        "--schema: this option is required: `cfl init DATA` drafts a schema",
    ),
    "a missing argument": (["impute"], "DATA: this argument is required"),
    "an argument too many": ([*NEEDED, "more.csv"], "'more.csv': one argument too many"),
}


@pytest.mark.parametrize("options", WRONG_VALUES, ids=" ".join)
def test_a_wrong_value_is_named_with_its_option_in_one_line(folder, options):
    result = impute(*options)
    refused(result, 2, WRONG_VALUES[options])
    assert result.stderr.startswith("cfl: --")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("name", WRONG_LINES)
def test_a_wrong_command_line_is_named_in_one_line_with_where_to_look(folder, name):
    arguments, said = WRONG_LINES[name]
    result = cfl(*arguments)
    refused(result, 2)
    assert result.stderr.replace("root impute", "cfl impute").splitlines() == [
        f"cfl: {said}",
        "see cfl impute --help",
    ]


def test_an_unknown_command_is_named_with_the_nearest_one(folder):
    result = cfl("imput")
    assert result.exit_code == 2
    assert result.stderr.startswith("cfl: 'imput': unknown command (did you mean 'impute'?)\nsee ")
    assert cfl("--nonsense").stderr.startswith("cfl: --nonsense: unknown option\n")
    assert cfl("--").stderr.startswith("cfl: missing command\n")


def test_all_wrong_values_are_named_at_once(folder):
    result = impute("--k", "0", "--gamma", "x", "--jobs", "none")
    assert [line.split(": ")[1] for line in result.stderr.splitlines()] == [
        "--k",
        "--gamma",
        "--jobs",
    ]


def test_the_words_of_earlier_versions_are_understood(folder):
    assert impute("--on-bad-row", "refuse").exit_code == 0
    assert impute("--on-bad-row", "reject", "--overwrite").exit_code == 0
