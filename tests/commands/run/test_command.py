from pathlib import Path

import polars as pl
import pytest
from builders.command_line import cfl, done, failed, refused

ROWS = ["x,y,cf", *(f"{n},{n * n % 7},{'abc'[n % 3]}" for n in range(60))]


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("\n".join(ROWS) + "\n")
    return tmp_path


def run(*options, data="people.csv"):
    return cfl("run", data, "--cf", "cf", "--method", "graph", *options)


def last_line(*command):
    return cfl(*command).stdout.splitlines()[-1]


def files():
    return sorted(path.name for path in Path().iterdir())


def test_one_command_writes_table_schema_and_report_and_shows_the_report(people):
    result = done(run())
    name = "people_imputed.csv"
    assert files() == ["people.csv", name, f"{name}.report.json", f"{name}.schema.yml"]
    assert "cf_imputed" in pl.read_csv(name).columns
    assert (result.stdout, result.stderr.splitlines()[-1]) == ("", last_line("report", name))
    by_hand = cfl("init", "people.csv", "--cf", "cf").stdout
    assert Path(f"{name}.schema.yml").read_text() == by_hand


def test_it_writes_what_the_four_commands_write(people):
    done(run("--out", "a.csv", "--mode", "both", "--seed", 3))
    cfl("init", "people.csv", "--cf", "cf", "--out", "s.yml")
    given = ("--method", "graph", "--mode", "both", "--seed", 3)
    done(cfl("impute", "people.csv", "--schema", "s.yml", "--out", "b.csv", *given))
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()


def test_it_stops_where_the_draft_is_doubtful_and_says_what_to_decide(people):
    text = Path("people.csv").read_text().replace("x,y,cf", "x,y,diagnosis")
    Path("people.csv").write_text(text)
    command = ("run", "people.csv", "--cf", "diagnosis", "--method", "graph")
    result = cfl(*command)
    schema = "people_imputed.csv.schema.yml"
    failed(
        result, 1, f"{schema}: line ", "'diagnosis': the name sounds private", "--infer diagnosis"
    )
    following = f"cfl impute people.csv --schema {schema} --out people_imputed.csv --method graph"
    assert result.stderr.endswith(f"  {following}\n")
    assert files() == ["people.csv", schema]
    failed(cfl(*command), 1, f"{schema}: line ")  # nobody has decided it
    done(cfl(*following.split()[1:]))
    Path("people_imputed.csv").unlink()
    Path("people_imputed.csv.report.json").unlink()
    done(cfl(*command, "--infer", "diagnosis"))
    assert "blurred" not in Path(schema).read_text()


def test_a_doubt_that_is_left_in_an_edited_schema_stops_the_run_until_it_is_decided(people):
    text = Path("people.csv").read_text().replace("x,y,cf", "x,y,diagnosis")
    Path("people.csv").write_text(text)
    command = ("run", "people.csv", "--cf", "diagnosis", "--method", "graph")
    schema = Path("people_imputed.csv.schema.yml")
    cfl(*command)
    schema.write_text(f"{schema.read_text()}# mine\n")
    failed(cfl(*command, "--infer", "diagnosis"), 1, "If it may be inferred, delete the line")
    lines = schema.read_text().splitlines(keepends=True)
    schema.write_text("".join(line for line in lines if "# ? " not in line))
    done(cfl(*command))


def test_an_edited_schema_is_kept_and_used_also_with_overwrite(people):
    name = "people_imputed.csv.schema.yml"
    done(run())
    assert f"{name}: the schema of this run\n" in done(run("--overwrite")).stderr
    edited = Path(name).read_text().replace("values: [a, b, c]", "values: [a, b, c, d]")
    Path(name).write_text(edited)
    result = done(run("--overwrite", "--mode", "soft"))
    assert (
        f"{name}: kept and used, because it differs from a new draft; delete it to draft it anew\n"
        in (result.stderr)
    )
    assert Path(name).read_text() == edited
    assert "cf__d" in pl.read_csv("people_imputed.csv").columns
    Path("people_imputed.csv").unlink()
    Path("people_imputed.csv.report.json").unlink()
    done(run())  # also where it stopped before, and the schema was decided then
    assert Path(name).read_text() == edited


def test_options_that_contradict_an_edited_schema_are_refused(people):
    name = "people_imputed.csv.schema.yml"
    done(run())
    Path(name).write_text(Path(name).read_text() + "# mine\n")
    for options in (["--cf", "y"], ["--ignore", "y"]):
        result = run("--overwrite", *options)
        refused(result, 2, f"{name}: column 'y' is no", "delete the file to draft it anew", out="x")


def test_other_doubts_are_named_with_line_and_column(people):
    rows = [f"{n},{n if n < 10 else ''},{'abc'[n % 3]}" for n in range(60)]
    Path("people.csv").write_text("\n".join(["x,y,cf", *rows]) + "\n")
    result = run()
    drafted = Path("people_imputed.csv.schema.yml").read_text().splitlines()
    line = 1 + next(at for at, one in enumerate(drafted) if one.startswith("  y: "))
    failed(result, 1, f"line {line}: column 'y': ", "83% of the cells are empty")


def test_existing_files_are_kept_unless_they_may_be_replaced(people):
    done(run())
    refused(run(), 2, "people_imputed.csv: already exists", out="other")
    done(run("--overwrite"))


@pytest.mark.parametrize("out", ["x.xyz", "none/x.csv", "people.csv"])
def test_an_output_that_cannot_be_written_is_refused_before_a_schema_is_drafted(people, out):
    refused(run("--out", out), 2, out, out="x.")
    assert files() == ["people.csv"]


def test_without_a_cf_or_with_a_standard_stream_it_is_refused(people):
    refused(cfl("run", "people.csv"), 2, "--cf: name the columns", out="people_")
    refused(run(data="-"), 2, "name files, not -", out="people_")
    refused(run("--out", "-"), 2, "name files, not -", out="people_")


@pytest.mark.parametrize(
    ("data", "out"),
    [("people.parquet", "people_imputed.parquet"), ("people.csv.gz", "people_imputed.csv.gz")],
)
def test_the_output_has_the_format_of_the_table(people, data, out):
    import gzip

    if data.endswith("gz"):
        Path(data).write_bytes(gzip.compress(Path("people.csv").read_bytes()))
    else:
        pl.read_csv("people.csv").write_parquet(data)
    done(run(data=data))
    assert Path(out).exists()


def test_a_quiet_run_prints_nothing(people):
    result = done(run("-q"))
    assert (result.stdout, result.stderr) == ("", "")


def test_a_flag_ends_with_code_3_after_the_report_is_shown(people):
    result = run("--fail-on", "any")
    assert result.exit_code == 3
    assert last_line("report", "people_imputed.csv") in result.stderr
