"""No output of any command shows a cell of an identifier, however bad the file is.

A secret stands in every kind of place of every kind of bad file. What reads such a file may refuse
it or not: the secret is in no standard output, message, log or report.
"""

from pathlib import Path

import polars as pl
import pytest
from builders.command_line import cfl

xlsxwriter = pytest.importorskip("xlsxwriter")

SECRET = "Grünbaum47110815"
ROWS = [[f"{SECRET}-{n}", str(n), str(n * n % 7), "abc"[n % 3]] for n in range(24)]
HEADER = ["who", "x", "y", "cf"]
SCHEMA = """\
version: 1
columns:
  who: {role: identifier}
  x: {role: ordinary, type: numeric}
  y: {role: ordinary, type: numeric}
  cf: {role: complementary, values: [a, b, c]}
settings: {k: 3, iterations: 5}
"""
SCHEMAS = {
    "marked": SCHEMA,
    "misspelled column": SCHEMA.replace("  who:", "  Who:"),
    "misspelled role": SCHEMA.replace("identifier", "identifer"),
    "wrong setting": SCHEMA.replace("k: 3", "k: frog"),
}


def text(rows=ROWS, header=HEADER, sign=","):
    return "".join(f"{sign.join(row)}\n" for row in ([header] if header else []) + rows)


def changed(number, row):
    return [row if at == number else one for at, one in enumerate(ROWS)]


def lines(rows=ROWS):
    return "".join(
        "{" + ", ".join(f'"{k}": "{v}"' for k, v in zip(HEADER, row, strict=True)) + "}\n"
        for row in rows
    )


LINE = lines().splitlines()[0]
FILES = {
    "good.csv": text(),
    "good.tsv": text(sign="\t"),
    "good.jsonl": lines(),
    "headerless.csv": text(header=None),
    "headerless_twice.csv": text([[*row, row[0]] for row in ROWS], header=None),
    "headerless.tsv": text(header=None, sign="\t"),
    "undecodable.csv": text().encode("cp1252"),
    "undecodable.tsv": text(sign="\t").encode("cp1252"),
    "undecodable.jsonl": lines().encode("cp1252"),
    "nul.csv": text().replace(f"{SECRET}-3", f"{SECRET}-\0"),
    "duplicate_column.csv": text([[*row, row[0]] for row in ROWS], [*HEADER, "who"]),
    "duplicate_secret.csv": text([[*row, "1", "2"] for row in ROWS], [*HEADER, SECRET, SECRET]),
    "no_name.csv": text([[*row, row[0]] for row in ROWS], [*HEADER, ""]),
    "short.csv": text(changed(5, [f"{SECRET}-5"])),
    "long.csv": text(changed(5, [*ROWS[5], SECRET])),
    "every_long.csv": text([[*row, SECRET] for row in ROWS]),
    "decimal.csv": text([[f"{SECRET},5", *row[1:]] for row in ROWS]),
    "number.csv": text([["47110815,5", *row[1:]] for row in ROWS]),
    "semicolons.csv": text(sign=";"),
    "open_quote.csv": text(changed(5, [f'"{SECRET}', "1", "2", "a"])),
    "stray_quote.csv": text(changed(5, [f'{SECRET}"x', "1", "2", "a"])),
    "after_quote.csv": text(changed(5, [f'"{SECRET}"x', "1", "2", "a"])),
    "lone_return.csv": text().replace("\n", "\r"),
    "wrong_cf.csv": text(changed(5, [ROWS[5][0], "1", "2", "q"])),
    "wrong_number.csv": text(changed(5, [ROWS[5][0], "one", "2", "a"])),
    "title.csv": f"{SECRET}\n\n{text()}",
    "cut.jsonl": lines() + f'{{"who": "{SECRET}',
    "duplicate_key.jsonl": LINE.replace("}", f', "{SECRET}": 1, "{SECRET}": 2}}') + "\n",
    "duplicate_who.jsonl": LINE.replace("}", f', "who": "{SECRET}"}}') + "\n",
    "nested.jsonl": lines() + LINE.replace(f'"{SECRET}-0"', f'{{"{SECRET}": 1}}') + "\n",
    "word.jsonl": lines() + f"{SECRET}\n",
    "list.jsonl": lines() + f'["{SECRET}"]\n',
    "cut.parquet": None,
    "good.parquet": None,
    "lists.parquet": None,
    "good.xlsx": None,
    "duplicate.xlsx": None,
    "headerless.xlsx": None,
    "failed.xlsx": None,
}
GATHERED = "--id who --code cf --status y --map 0=exclusion --map 1=exact --map 2=ignore --map 4=nothing".split()
TRIES = (
    ("init", "{file}", "--cf", "cf"),
    ("check", "{file}", "-s", "s.yml"),
    ("check", "{file}", "-s", "s.yml", "--format", "json"),
    ("check", "{file}", "-s", "s.yml", "--rename-columns", "--ragged", "fill"),
    ("impute", "{file}", "-s", "s.yml", "-o", "out.csv", "--report", "report.json", "--verbose"),
    ("impute", "{file}", "-s", "s.yml", "-o", "out2.csv", "--on-bad-row", "set-aside"),
    ("mask", "{file}", "-s", "s.yml", "-o", "out3.csv"),
    ("evaluate", "answers.csv", "--truth", "{file}", "-s", "s.yml", "--key", "who"),
    ("explain", "{file}", "-s", "s.yml", "--where", "who={secret}"),
    ("explain", "{file}", "-m", "m.cfl", "--row", "2"),
    ("apply", "{file}", "-m", "m.cfl", "-o", "out4.csv"),
    ("gather", "{file}", *GATHERED, "--cf", "d", "-o", "out5.csv"),
    ("gather", "data.csv", *GATHERED, "--cf", "d", "--with", "{file}", "-o", "out6.csv"),
)


def write(name):
    content = FILES[name]
    if isinstance(content, bytes):
        Path(name).write_bytes(content)
    elif content is not None:
        Path(name).write_text(content, encoding="utf-8", newline="")
    elif name.endswith(".parquet"):
        frame = pl.DataFrame(ROWS, HEADER, orient="row")
        if name.startswith("lists"):
            frame = frame.with_columns(pl.concat_list("who"), x=pl.concat_list("who", "x"))
        frame.write_parquet(name)
        if name.startswith("cut"):
            Path(name).write_bytes(Path(name).read_bytes()[:-20])
    else:
        header = {"duplicate": [*HEADER, SECRET, SECRET]}.get(name.partition(".")[0], HEADER)
        rows = [[*row, row[0], row[0]][: len(header)] for row in ROWS]
        with xlsxwriter.Workbook(name) as book:
            sheet = book.add_worksheet()
            for at, row in enumerate(rows if name.startswith("headerless") else [header, *rows]):
                sheet.write_row(at, 0, row)
            if name.startswith("failed"):
                sheet.write_formula(5, 0, f'="{SECRET}"/0', None, "#DIV/0!")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("secret")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        Path("data.csv").write_text(text(), encoding="utf-8")
        Path("s.yml").write_text(SCHEMA)
        done = cfl("impute", "data.csv", "-s", "s.yml", "-o", "answers.csv", "--model", "m.cfl")
        assert done.exit_code == 0, done.output
    return made


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("file", FILES)
def test_no_output_shows_a_cell_of_an_identifier(folder, monkeypatch, file, schema):
    monkeypatch.chdir(folder)
    Path("s.yml").write_text(SCHEMAS[schema])
    write(file)
    for command in TRIES if schema == "marked" else TRIES[1:6:2]:
        for old in (*Path().glob("out*"), *Path().glob("report.json")):
            old.unlink()
        arguments = [one.format(file=file, secret=SECRET) for one in command]
        for form in ("text", "json") if command[0] != "impute" else ("json",):
            if "--where" in arguments:
                arguments[-1] = "who=Nobody"
            ran = cfl(
                *arguments, "--log-format", form, *(["--overwrite"] if "-o" in command else [])
            )
            said = ran.stdout + ran.stderr
            if command[0] == "init" and "role: identifier" not in ran.stdout:
                continue  # nothing says that it is one
            for path in (*Path().glob("*report.json"),):
                said += path.read_text(encoding="utf-8")
            assert ran.exit_code in (0, 1, 2, 3), said
            for hint in ("47110815", "Grünbaum", "Gr\\u00fcnbaum", "baum"):
                assert hint not in said, f"{' '.join(arguments)}: {said}"
