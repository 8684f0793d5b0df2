import pytest
from builders.command_line import SCHEMA, cfl, impute, refused

NEEDED = ["impute", "data.csv", "-s", "schema.yml", "-o", "out.csv"]
WRONG_VALUES = {
    ("--k", "twenty"): "--k: expected a whole number, found 'twenty'",
    ("--k=2.5",): "--k: expected a whole number, found '2.5'",
    ("-j", "-1"): "--jobs: expected at least 1, found -1",
    ("--folds", "101"): "--folds: expected at most 100 or auto, found 101",
    ("--mode", "sotf"): "expected hard, soft or both, found 'sotf' (did you mean 'soft'?)",
    ("--on-bad-row", "foo"): "--on-bad-row: expected fail or set-aside, found 'foo'",
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
    "an argument too many": (
        ["check", *NEEDED[1:], "more.csv"],
        "'more.csv': one argument too many",
    ),
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
    assert result.stderr.replace("root ", "cfl ").splitlines() == [
        f"cfl: {said}",
        f"see cfl {arguments[0]} --help",
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


BAD_TABLES = {
    "unknown column": (
        "x,z,cf\n1,2,a\n2,3,b\n",
        ["column 'y' is in the schema but not in the table"],
    ),
    "value outside the domain": ("x,y,cf\n1,2,a\n2,3,d\n3,4,b\n4,5,c\n", ["row 2", "'cf'", "'d'"]),
    "not a number": ("x,y,cf\n1,2,a\n2,many,b\n3,4,b\n4,5,c\n", ["row 2", "'y'", "'many'"]),
    "infinity": ("x,y,cf\n1,2,a\n2,inf,b\n3,4,b\n4,5,c\n", ["row 2", "'y'", "'inf'"]),
    "no rows": ("x,y,cf\n", ["no rows"]),
    "empty file": ("", ["the header is empty"]),
    "one row": ("x,y,cf\n1,2,a\n", ["one row"]),
    "fewer rows than neighbors": (
        "x,y,cf\n1,2,a\n2,3,b\n3,5,c\n",
        ["too few to estimate from", "cfl apply"],
    ),
    "constant OFs": ("x,y,cf\n1,2,a\n1,2,b\n1,2,c\n1,2,c\n", ["constant"]),
    "a column twice": ("x,y,cf,x\n1,2,a,1\n1,2,b,1\n", ["'x'", "duplicate"]),
    "a new column's name": ("x,y,cf,cf_imputed\n1,2,a,\n2,2,b,\n3,2,c,\n4,3,a,\n", ["duplicate"]),
    "not UTF-8": (b"x,y,cf\n1,2,\xff\n", ["line 2", "UTF-8"]),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_a_bad_table_is_refused_with_a_clear_message(name, folder):
    content, words = BAD_TABLES[name]
    data = content if isinstance(content, bytes) else content.encode()
    (folder / "data.csv").write_bytes(data)
    refused(impute(), 1, "cf_imputed" if words == ["duplicate"] else "data.csv", *words)


BAD_SCHEMAS = {
    "not YAML": ("{[", ["schema.yml:"]),
    "no OF": ("version: 1\ncolumns: {cf: {role: complementary, values: [a, b]}}", ["ordinary"]),
    "no CF": ("version: 1\ncolumns: {x: {role: ordinary, type: numeric}}", ["complementary"]),
    "binary rubbish": ("\0\1", ["schema.yml"]),
    "a wrong word": (SCHEMA.replace("numeric", "numerc"), ["schema.yml:3:29", "'numeric'"]),
}


@pytest.mark.parametrize("name", BAD_SCHEMAS)
def test_a_bad_schema_is_refused_with_its_place(name, folder):
    content, words = BAD_SCHEMAS[name]
    (folder / "schema.yml").write_text(content)
    refused(impute(), 1, *words)


def test_files_that_cannot_be_read_are_refused(folder):
    refused(impute(data="no.csv"), 1, "no.csv", "No such file")
    refused(impute(schema="no.yml"), 1, "no.yml", "No such file")
    (folder / "folder.csv").mkdir()
    refused(impute(data="folder.csv"), 1, "folder.csv")
    (folder / "data.parquet").write_bytes(b"PAR1 not really PAR1")
    refused(impute(data="data.parquet"), 1, "data.parquet", "Parquet")


def test_a_wrong_command_line_is_refused(folder):
    refused(impute(data="other.xyz"), 2, "other.xyz", ".parquet")
    refused(impute(out="result.xyz"), 2, "result.xyz", ".parquet")
    refused(impute(out="data.csv"), 2, "data.csv")
    refused(impute("--overwrite", out="data.csv"), 2, "data.csv")
    refused(impute("--report", "data.csv", "--overwrite"), 2, "data.csv")
    refused(impute("--report", "out.csv"), 2, "out.csv")
    refused(impute(out="no/folder/result.csv"), 2, "no/folder")


def test_at_most_twenty_problems_are_spelled_out(folder):
    columns = "".join(f"  x{n}: {{role: ordinary, type: numeric}}\n" for n in range(50))
    (folder / "schema.yml").write_text(SCHEMA.replace("columns:\n", f"columns:\n{columns}"))
    result = impute()
    refused(result, 1, "and 30 more")
    assert len(result.stderr.splitlines()) == 21


def test_verbose_shows_where_an_error_arose(folder):
    result = impute("-v", data="no.csv")
    assert result.exit_code == 1
    assert "Traceback" in result.stderr


def test_a_file_that_does_not_exist_is_answered_by_one_with_a_similar_name(folder):
    refused(impute(data="dat.csv"), 1, "dat.csv", "(did you mean 'data.csv'?)")
    refused(impute(data="data.cvs"), 1, "data.cvs", "(did you mean 'data.csv'?)")
    refused(impute(schema="schema.yaml"), 1, "(did you mean 'schema.yml'?)")
    assert "did you mean" not in impute(data="quite_another.csv").stderr


def test_a_panic_of_any_package_is_one_line_that_shows_no_cell(folder, monkeypatch):
    panic = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})

    def run(**_):
        raise panic("cell 'secret'")

    monkeypatch.setattr("cfl_cli.commands.impute.work.run_impute", run)
    result = impute()
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith("cfl: a package that cfl uses failed on this input: ")
    assert "secret" not in line
