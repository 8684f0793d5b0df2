import json
from pathlib import Path

import pytest
from builders.command_line import ROWS, SCHEMA, cfl, done, impute, refused

BLURRED = SCHEMA.replace("[a, b, c]}", "[a, b, c], blurred: privacy}")
WHO = "Grüß-4711"  # what no message may show
NAMED = SCHEMA.replace("columns:\n", "columns:\n  who: {role: identifier}\n")


@pytest.fixture
def blurred(folder):
    (folder / "schema.yml").write_text(BLURRED)
    return folder


@pytest.fixture
def named(folder):
    """Write a table whose first column names somebody, twice the same."""
    whom = [WHO, WHO, *(f"{WHO}{n}" for n in range(2, 12))]
    rows = [f"{who},{row}" for who, row in zip(["who", *whom], ROWS, strict=True)]
    (folder / "data.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (folder / "schema.yml").write_text(NAMED)
    return folder


def test_a_blurred_cf_is_refused_by_name_with_the_way_out(blurred):
    refused(impute(), 1, "column 'cf' was blurred for privacy", "--infer cf", "role: ignore")
    run = cfl("fit", "data.csv", "--schema", "schema.yml", "--model", "out.cfl")
    refused(run, 1, "column 'cf' was blurred for privacy", "--infer cf")
    run = cfl("explain", "data.csv", "--schema", "schema.yml", "--row", 1)
    refused(run, 1, "--infer cf")


def test_it_is_inferred_if_the_run_names_it_and_the_report_says_so(blurred):
    done(impute("--infer", "cf"))
    report = json.loads(Path("out.csv.report.json").read_text())
    assert report["columns"][0]["blurred"] == "privacy"
    said = (
        "cf: - The column was blurred on purpose (privacy) and inferred because --infer names it."
    )
    assert said in " ".join(cfl("report", "out.csv", "--details").output.split())
    page = cfl("report", "out.csv", "--format", "html").stdout
    assert "blurred on purpose (privacy)" in page.lower()


def test_a_model_asks_again_when_it_is_applied(blurred):
    fit = ("fit", "data.csv", "--schema", "schema.yml", "--model", "m.cfl", "--infer", "cf")
    assert cfl(*fit).exit_code == 0
    refused(cfl("apply", "data.csv", "--model", "m.cfl", "--out", "out.csv"), 1, "--infer cf")
    refused(cfl("explain", "data.csv", "--model", "m.cfl", "--row", 1), 1, "--infer cf")
    done(cfl("apply", "data.csv", "--model", "m.cfl", "--out", "out.csv", "--infer", "cf"))
    report = json.loads(Path("out.csv.report.json").read_text())
    assert report["columns"][0]["blurred"] == "privacy"


@pytest.mark.parametrize(
    ("name", "said"), [("x", "column 'x' is not a CF"), ("cg", "no column 'cg'")]
)
def test_only_a_blurred_cf_can_be_named(blurred, name, said):
    refused(impute("--infer", "cf", "--infer", name), 2, "--infer", said)


def test_a_cf_that_is_not_blurred_need_not_be_named(folder):
    refused(impute("--infer", "cf"), 2, "--infer", "column 'cf' is not marked `blurred: privacy`")


def test_neither_a_schema_nor_a_variable_can_allow_it(blurred):
    refused(impute(CFL_INFER="cf"), 1, "was blurred for privacy")
    Path("schema.yml").write_text(BLURRED.replace("{k: 3", "{infer: [cf], k: 3"))
    refused(impute(), 1, "not a key of the schema but of a single run")


def test_check_says_what_would_be_refused(blurred):
    run = cfl("check", "data.csv", "--schema", "schema.yml", "--format", "json")
    assert run.exit_code == 1
    assert [one["cause"] for one in json.loads(run.stdout)["problems"]] == ["blurred"]
    done(cfl("check", "data.csv", "--schema", "schema.yml", "--infer", "cf"))


def test_other_words_for_blurred_are_refused(folder):
    Path("schema.yml").write_text(BLURRED.replace("privacy", "secret"))
    refused(impute(), 1, "schema.yml:5", "expected privacy, found 'secret'")


def test_identifiers_pass_as_they_are_and_are_no_features(named):
    assert impute().exit_code == 0
    before, after = (Path(name).read_text().splitlines() for name in ("data.csv", "out.csv"))
    assert all(new.startswith(old) for old, new in zip(before, after, strict=True))
    alone = "\n".join(",".join(line.split(",")[1:]) for line in before) + "\n"
    Path("data.csv").write_text(alone)
    assert impute("--overwrite").exit_code == 0
    without = Path("out.csv").read_text().splitlines()
    assert [line.split(",", 1)[1] for line in after] == without


def test_no_message_shows_a_cell_of_an_identifier(named):
    asked = ("explain", "data.csv", "--schema", "schema.yml", "--where")
    explained = cfl(*asked, f"who={WHO}5", "--format", "html")
    twice = cfl(*asked, f"who={WHO}")
    nobody = cfl(*asked, f"who={WHO}99")
    assert (explained.exit_code, twice.exit_code, nobody.exit_code) == (0, 1, 1)
    assert "2 rows have --where 'who=…' (rows 1, 2)" in twice.stderr
    impute()
    Path("truth.csv").write_text(Path("data.csv").read_text())
    key = cfl("evaluate", "out.csv", "--truth", "truth.csv", "-s", "schema.yml", "--key", "who")
    assert "a key occurs in several rows, in column 'who': one key in rows 1, 2" in key.stderr
    Path("data.csv").write_bytes(Path("data.csv").read_text().encode("cp1252"))
    undecoded = impute("--overwrite")
    assert (undecoded.exit_code, "is not UTF-8" in undecoded.stderr) == (1, True)
    assert "--encoding cp1252" in undecoded.stderr
    for run in (explained, twice, nobody, key, undecoded):
        assert "4711" not in run.output


@pytest.mark.parametrize("command", ["impute", "check"])
def test_no_cell_of_a_file_without_header_is_shown_as_a_name(named, command):
    rows = Path("data.csv").read_text(encoding="utf-8").splitlines()
    twice = [f"{row},{row.partition(',')[0]}" for row in rows[1:]]
    Path("data.csv").write_text("\n".join(twice) + "\n", encoding="utf-8")
    out = ("--out", "out.csv", "--verbose") if command == "impute" else ()
    run = cfl(command, "data.csv", "--schema", "schema.yml", *out)
    assert (run.exit_code, "4711" in run.output) == (1, False)
    assert "line 1: duplicate column (not shown): rename one of them" in run.stderr
    Path("data.csv").write_text("\n".join([f"{rows[0]},who", *twice]) + "\n", encoding="utf-8")
    assert (
        "line 1: duplicate column 'who': rename"
        in cfl("check", "data.csv", "-s", "schema.yml").stderr
    )


@pytest.mark.parametrize("name", ["Who", " who", "w-h-o"])
def test_an_identifier_that_is_spelled_otherwise_in_the_schema_is_refused(named, name):
    Path("schema.yml").write_text(NAMED.replace("  who:", f'  "{name}":'))
    refused(impute(), 1, f"column '{name}' is an identifier in the schema", "did you mean 'who'?")
    asked = cfl("explain", "data.csv", "--schema", "schema.yml", "--where", f"who={WHO}")
    assert (asked.exit_code, WHO in asked.output) == (1, False)


FAULTY = {
    "a wrong key": NAMED.replace("identifier}", "identifier, typ: x}"),
    "a wrong setting": f"{NAMED}settings: {{k: frog}}\n",
    "not YAML": f"{NAMED}settings: {{k: 3\n",
    "a typing error": NAMED.replace("identifier", "Identifer"),
    "not UTF-8": f"{NAMED}# \xe4\n",
}


@pytest.mark.parametrize("schema", FAULTY)
def test_a_faulty_schema_lets_no_message_show_a_cell_of_an_identifier(named, schema):
    Path("schema.yml").write_text(FAULTY[schema], encoding="latin-1")
    rows = Path("data.csv").read_text(encoding="utf-8").splitlines()
    one = rows[1].partition(",")[0]
    runs = []
    for data, options in (
        ("\n".join(rows).encode("cp1252"), ()),
        (f"{one},{one},b\n1,2,3\n".encode(), ()),
        (f"{one},{one},b\n1,2,3\n".encode(), ("--rename-columns",)),
        (b"id,job\n4711,5,a\n4712,6,b\n", ()),
    ):
        Path("data.csv").write_bytes(data)
        runs.append(cfl("check", "data.csv", "--schema", "schema.yml", *options))
    for run in runs:
        assert (run.exit_code, "4711" in run.output) == (1, False), run.output
    if schema not in ("not YAML", "not UTF-8"):  # by which it may be written otherwise
        assert "in cp1252 the word is (not shown): add --encoding cp1252" in runs[0].stderr
    assert "column 2 is a duplicate of (not shown), renamed (not shown)" in runs[2].stderr
    assert "is (not shown) a number with a decimal comma?" in runs[3].stderr


def test_a_faulty_schema_without_identifiers_lets_words_be_shown(folder):
    Path("schema.yml").write_text(f"{SCHEMA}settings: {{k: frog}}\n")
    Path("data.csv").write_bytes("x,y,cf\n1,2,Zürich\n".encode("cp1252"))
    run = cfl("check", "data.csv", "--schema", "schema.yml")
    assert "in cp1252 the word is 'Zürich'" in run.stderr


def test_init_drafts_identifiers_and_asks_about_private_cfs(folder):
    rows = [f"{n}-17,p{n}@x.org,{n % 3},{'abc'[n % 3]}" for n in range(40)]
    Path("people.csv").write_text("\n".join(["patient_id,contact,age,Diagnose", *rows]) + "\n")
    text = cfl("init", "people.csv", "--cf", "Diagnose").stdout
    assert "patient_id: {role: identifier}" in text
    assert "contact: {role: identifier}  # e-mail addresses" in text
    assert "    #blurred: privacy  # ? the name sounds private; if the column was blurred" in text
    assert "role: identifier     names a person or a thing" in text
    assert "x.org" not in text


def test_the_line_that_init_proposes_for_a_private_cf_holds_as_it_stands(folder):
    rows = [f"{n % 7},{'abc'[n % 3]}" for n in range(40)]
    Path("people.csv").write_text("\n".join(["age,religion", *rows]) + "\n")
    text = cfl("init", "people.csv", "--cf", "religion").stdout
    Path("schema.yml").write_text(text.replace("#blurred: privacy", "blurred: privacy"))
    run = cfl("impute", "people.csv", "--schema", "schema.yml", "--out", "out.csv")
    refused(
        run,
        1,
        "column 'religion' was blurred for privacy",
        "add --infer religion if you are allowed",
    )


def test_init_shows_no_word_of_an_identifier_that_the_encoding_was_guessed_from(folder):
    rows = [f"{WHO}{n},{n % 7},{'abc'[n % 3]}" for n in range(40)]
    Path("people.csv").write_text("\n".join(["last_name,age,cf", *rows]) + "\n", encoding="cp1252")
    run = cfl("init", "people.csv", "--cf", "cf")
    assert "last_name: {role: identifier}" in run.stdout
    assert "encoding cp1252 guessed from 40 cells" in run.stdout
    assert "encoding cp1252 guessed from 40 cells" in run.stderr
    assert "Gr" not in run.output
