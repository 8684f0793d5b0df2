import pytest
from builders.command_line import SCHEMA, impute, refused

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
    refused(impute(data="data.xyz"), 2, "data.xyz", ".parquet")
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
