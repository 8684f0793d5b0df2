import random
import warnings
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from builders.command_line import cfl, done, failed, refused

from cfl_cli import CflError, DataError, Schema, UsageError, gather
from cfl_cli.commands.gather.asked import Asked
from cfl_cli.commands.gather.job import gathered
from cfl_cli.errors import CflWarning

MAP = {"ruled out": "exclusion", "confirmed": "exact", "suspected": "candidate", "past": "nothing"}
COLUMNS = {"id": "patient", "code": "code", "status": "status", "map": MAP}
VALUES = ["A", "B", "C", "D"]


def long(*rows, names=("patient", "code", "status")):
    return pl.DataFrame(rows, names, orient="row")


def cells(table, **given):
    found = gather(table, **{**COLUMNS, "values": VALUES, "cf": "cf", **given})
    return dict(zip(found["patient"], found["cf"], strict=True))


def problems(table, **given):
    with pytest.raises(CflError) as caught:
        cells(table, **given)
    return [(one.code, str(one)) for one in caught.value.problems]


def test_statuses_become_exclusions_exact_cells_and_complements_of_candidates():
    table = long(
        ("p1", "C", "ruled out"),
        ("p2", "B", "confirmed"),
        ("p3", "A", "suspected"),
        ("p1", "A", "Ruled Out "),
        ("p3", "C", "suspected"),
        ("p4", None, None),
        ("p5", "D", "past"),
    )
    assert cells(table) == {"p1": "A;C", "p2": "=B", "p3": "B;D", "p4": None, "p5": None}


def test_candidates_that_are_ruled_out_are_none_and_a_confirmed_value_ends_suspicion():
    table = long(
        *(("p1", code, "suspected") for code in "ABC"),
        ("p1", "B", "ruled out"),
        ("p2", "A", "suspected"),
        ("p2", "B", "confirmed"),
        ("p2", "C", "ruled out"),
    )
    assert cells(table) == {"p1": "B;D", "p2": "=B"}


def test_a_single_candidate_is_no_finding_unless_the_user_says_so():
    table = long(("p1", "A", "suspected"), ("p1", "D", "ruled out"))
    assert cells(table) == {"p1": "D"}
    assert cells(table, one_candidate="exact") == {"p1": "=A"}


def plain(rows):
    """Return the cells of a table without contradictions by a loop over ids, as the docs have it."""
    found = {}
    for person in dict.fromkeys(row[0] for row in rows):
        own = [(code, status) for name, code, status in rows if name == person]
        out = {code for code, status in own if status == "ruled out"}
        exact = [code for code, status in own if status == "confirmed"]
        maybe = {code for code, status in own if status == "suspected"} - out
        if exact:
            found[person] = f"={exact[0]}"
        else:
            ruled = {*VALUES} - maybe if len(maybe) > 1 else out
            found[person] = ";".join(sorted(ruled)) or None
    return found


def test_cells_are_those_of_a_plain_loop_however_the_rows_are_cut_into_blocks():
    draw = random.Random(1)
    rows = []
    for person in range(200):
        true, asked = draw.choice(VALUES), draw.sample(VALUES, draw.randrange(1, 4))
        says = {v: ["suspected"] + (["confirmed"] if v == true else ["ruled out"]) for v in VALUES}
        rows += [(f"p{person}", v, draw.choice(says[v])) for v in asked]
    draw.shuffle(rows)
    expected = plain(rows)
    table = long(*rows)
    assert cells(table) == expected
    assert len({*expected.values()}) > 10
    asked = Asked.of(**COLUMNS, values=VALUES, cf="cf")
    for size in (1, 7, 1000):
        blocks = [(table[n : n + size], n + 1) for n in range(0, len(rows), size)]
        wide = gathered(blocks, asked).frame
        assert dict(wide.select("patient", "cf").rows()) == expected


def test_contradictions_are_counted_by_kind_with_the_rows_of_the_first():
    table = long(
        ("p1", "A", "ruled out"),
        ("p1", "A", "confirmed"),
        ("p2", "A", "confirmed"),
        ("p2", "B", "confirmed"),
        ("p3", "B", "confirmed"),
        ("p3", "C", "confirmed"),
        *(("p4", value, "ruled out") for value in VALUES),
        ("p5", "A", "ruled out"),
    )
    found = dict(problems(table))
    assert [*found] == ["gather-both", "gather-two-exact", "gather-all-excluded"]
    assert "1 id: a value is both ruled out and confirmed (first in row 0)" in found["gather-both"]
    assert "2 ids: two values are confirmed (first in row 2)" in found["gather-two-exact"]
    with pytest.warns(CflWarning, match="4 ids with contradictory rows: cells left empty"):
        empty = cells(table, conflict="empty")
    assert empty == {"p1": None, "p2": None, "p3": None, "p4": None, "p5": "A"}


DATED = ("patient", "code", "status", "day")


@pytest.mark.parametrize(
    "days",
    [("2024-01-31", "2024-02-01"), ("31.1.2024", "1.2.2024"), ("9", "10"), (9, 10), (9.5, 10.0)],
)
def test_with_a_time_the_latest_status_of_a_code_counts(days):
    earlier, later = days
    table = long(
        ("p1", "A", "confirmed", later),
        ("p1", "A", "ruled out", earlier),
        ("p2", "A", "confirmed", earlier),
        ("p2", "A", "ruled out", later),
        ("p3", "A", "ruled out", earlier),
        ("p3", "A", "past", later),
        ("p4", "A", "confirmed", earlier),
        ("p4", "B", "confirmed", later),
        names=DATED,
    )
    form = "%d.%m.%Y" if "." in str(earlier)[2:] and isinstance(earlier, str) else None
    expected = {"p1": "=A", "p2": "A", "p3": None, "p4": "=B"}
    assert cells(table, time="day", time_format=form) == expected
    with pytest.warns(CflWarning, match="1 id with contradictory"):
        found = cells(table, time="day", time_format=form, conflict="empty")
    assert found == expected | {"p4": None}  # two confirmed values, whatever the days


def test_statuses_of_the_same_time_contradict_and_times_must_be_readable():
    rows = [("p1", "A", "confirmed"), ("p1", "A", "ruled out")]
    same = long(*((*row, "2024-01-01") for row in rows), names=DATED)
    assert problems(same, time="day")[0][0] == "gather-both"
    for cell, code in (("May", "gather-time"), ("", "gather-no-time"), ("3", "gather-time")):
        odd = long((*rows[0], "2024-01-01"), (*rows[1], cell), names=DATED)
        assert problems(odd, time="day")[0][0] == code
    with pytest.raises(UsageError, match="conflict='latest' needs time"):
        cells(same, conflict="latest")


def test_every_status_needs_a_meaning_and_the_message_says_how_to_give_one():
    table = long(("p1", "A", "Refuted"), ("p2", "A", "Refuted"), ("p3", "B", "confirmed"))
    ((code, text),) = problems(table)
    assert code == "gather-status"
    assert "column 'status': 'Refuted' in 2 rows without a meaning (first in row 0)" in text
    assert cells(table, map={**MAP, "refuted": "exclusion"})["p1"] == "A"
    assert cells(table, map=["refuted=exclusion", "confirmed=exact"])["p3"] == "=B"
    blank = long(("p1", "A", None), ("p2", "B", "confirmed"))
    assert problems(blank)[0][0] == "gather-status"
    assert cells(blank, map={**MAP, "": "exclusion"})["p1"] == "A"
    with pytest.raises(UsageError, match=r"expected STATUS=MEANING.*did you mean 'exact'"):
        cells(table, map=["refuted=exactly"])
    with pytest.raises(UsageError, match="two meanings"):
        cells(table, map=["Refuted=exact", "refuted =exclusion"])


def test_a_column_of_names_in_the_place_of_statuses_is_not_printed():
    table = long(*((f"p{n}", "A", f"Grünbaum {n}") for n in range(30)))
    ((_, text),) = problems(table)
    assert "30 different texts in 30 rows without a meaning" in text
    assert "Grünbaum" not in text


def test_codes_outside_the_values_are_an_error_or_left_out_and_counted():
    table = long(("p1", "A", "ruled out"), ("p1", "X", "confirmed"), ("p2", "X", "past"))
    assert problems(table)[0][0] == "gather-value"
    with pytest.warns(CflWarning, match="1 row with codes outside values left out"):
        assert cells(table, other="skip") == {"p1": "A", "p2": None}
    assert problems(long(("p1", "A", "ruled out")), values=None)[0][0] == "gather-domain"


def test_a_level_makes_classes_of_codes():
    table = long(
        ("p1", "J10.1", "ruled out"),
        ("p1", "J10.9", "confirmed"),
        ("p2", "J10.1", "ruled out"),
        ("p3", "J10", "ruled out"),
        ("p4", "J18.0", "suspected"),
        ("p4", "J20.0", "suspected"),
    )
    given = {"values": None, "level": 3}
    expected = {"p1": "=J10", "p2": "J10", "p3": "J10", "p4": "J10"}
    assert cells(table, **given) == expected
    assert cells(table, **given, finer="nothing") == expected | {"p2": None}
    both = long(
        ("p1", "J10.1", "ruled out"), ("p1", "J10.1", "confirmed"), ("p2", "K", "confirmed")
    )
    assert problems(both, **given)[0][0] == "gather-both"


def test_columns_that_are_constant_per_id_are_kept_and_those_that_follow_from_codes_are_not():
    names = ("patient", "age", "sex", "ward", "code", "text", "status")
    texts = {"A": "flu", "B": "cold", "C": "asthma"}
    rows = [
        (f"p{n}", str(30 + n % 7), "fm"[n % 2], f"w{n % 3}", code, texts[code], "ruled out")
        for n in range(30)
        for code in ["ABC"[n % 3], *("ABC"[(n + 1) % 3] for _ in range(n % 2))]
    ]
    rows[1] = (*rows[1][:2], None, *rows[1][3:])  # another row of the same id has it
    # One row per id would make the texts constant; the wards differ within one id.
    table = long(*rows, names=names)
    table = table.filter(pl.int_range(pl.len()).over("patient") == 0).with_columns(age=pl.lit("x"))
    alone = gather(table, **COLUMNS, cf="cf")
    assert [*alone.columns] == ["patient", "age", "sex", "cf"]  # ward and text follow from the code
    table = long(*rows, names=names)
    whole = gather(table, **COLUMNS, cf="cf")
    assert [*whole.columns] == ["patient", "age", "sex", "ward", "cf"]
    assert whole["sex"].to_list() == ["f", "m"] * 15
    chosen = gather(table, **COLUMNS, cf="cf", keep=["age"])
    assert [*chosen.columns] == ["patient", "age", "cf"]
    with pytest.raises(DataError, match="'text' holds several cells for one id"):
        gather(table, **COLUMNS, cf="cf", keep=["text"])


def test_columns_may_have_any_name():
    names = ["id", "_id", "_row", "c0", "code", "row", "icd", "status"]
    rows = [(f"p{n}", n % 5, n % 7, "x", n % 3, "y", "AB"[n % 2], "ruled out") for n in range(20)]
    table = long(*rows, names=names)
    wide = gather(table, id="id", code="icd", status="status", map=MAP, values=VALUES)
    assert wide.columns == [*names[:6], "icd"]
    assert wide.drop("icd").equals(table.select(names[:6]))
    assert wide["icd"].to_list() == ["A", "B"] * 10


def test_a_table_of_persons_gets_the_column_in_its_own_order():
    table = long(("p2", "A", "ruled out"), ("p9", "B", "confirmed"), ("p1", "C", "ruled out"))
    persons = pl.DataFrame({"no": ["p1", "p2", "p3"], "age": [1, 2, 3]})
    found = gather(table, **COLUMNS, values=VALUES, cf="cf", persons=persons, with_id="no")
    assert found.rows() == [
        ("p1", 1, "C"),
        ("p2", 2, "A"),
        ("p3", 3, None),
        ("p9", None, "=B"),
    ]
    twice = pl.concat([persons, persons])
    with pytest.raises(DataError, match="holds the same id in several of its rows"):
        gather(table, **COLUMNS, persons=twice, with_id="no")
    with pytest.raises(UsageError, match="no column 'patient' in persons"):
        gather(table, **COLUMNS, persons=persons)
    taken = persons.rename({"age": "cf"})
    with pytest.raises(UsageError, match="'cf' exists already"):
        gather(table, **COLUMNS, cf="cf", persons=taken, with_id="no")


def test_every_kind_of_frame_gives_one_of_its_kind():
    table = long(("p1", "A", "ruled out"), ("p2", "B", "confirmed"))
    given = {**COLUMNS, "values": VALUES}
    as_pandas, as_arrow = gather(table.to_pandas(), **given), gather(table.to_arrow(), **given)
    assert isinstance(as_pandas, pd.DataFrame)
    assert as_pandas["code"].to_list() == as_arrow["code"].to_pylist() == ["A", "=B"]


def test_numbers_stay_numbers_where_a_format_has_them(folder):
    table = long((7, "A", "ruled out"), (8, "B", "confirmed")).with_columns(age=pl.Series([3.5, 4]))
    assert gather(table, **COLUMNS).schema == {
        "patient": pl.Int64,
        "age": pl.Float64,
        "code": pl.String,
    }
    table.write_parquet("long.parquet")
    done(run(data="long.parquet", out="out.parquet"))
    assert pl.read_parquet("out.parquet").rows() == [(7, 3.5, "A"), (8, 4.0, "=B")]


def test_signs_that_values_hold_are_not_used():
    table = long(("p1", "A;1", "ruled out"), ("p1", "B", "ruled out"), ("p2", "=C", "confirmed"))
    assert cells(table, values=None) == {"p1": "A;1|B", "p2": "!=C"}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"status": None}, "status is required"),
        ({"id": "patient", "code": "patient"}, "both name 'patient'"),
        ({"cf": "patient"}, "both name 'patient'"),
        ({"code": "cod"}, "no column 'cod' in the table \\(did you mean 'code'"),
        ({"stem": "x"}, "stem has no effect here"),
        ({"values": ["A", "A"]}, "two different values or more"),
        ({"conflict": "last"}, "expected error, latest or empty"),
        ({"preset": "icd"}, "expected icd-10-gm, fhir or redcap"),
    ],
)
def test_wrong_arguments_are_refused(given, text):
    with pytest.raises(UsageError, match=text):
        gather(long(("p1", "A", "ruled out")), **{**COLUMNS, **given})


def test_rows_need_an_id_and_a_table_needs_rows():
    table = long((None, "A", "ruled out"), ("", "A", "ruled out"), ("p", "A", "ruled out"))
    ((code, text),) = problems(table)
    assert (code, "2 rows without an id" in text) == ("gather-id", True)
    assert problems(table.clear())[0][0] == "table-no-rows"
    without = long(("p1", None, "confirmed"), ("p2", "A", "ruled out"))
    with pytest.warns(CflWarning, match="1 row without a code left out"):
        assert cells(without) == {"p1": None, "p2": "A"}


# The command.

LONG = "patient;age;code;status\nP1;30;A;ruled out\nP2;40;B;confirmed\nP1;30;C;ruled out\nP3;50;;\n"
MAPS = ("--map", "ruled out=exclusion", "--map", "confirmed=exact", "--map", "suspected=candidate")
ARGUMENTS = ("--id", "patient", "--code", "code", "--status", "status", *MAPS, "--cf", "cf")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("long.csv").write_text(LONG)
    return tmp_path


def run(*options, data="long.csv", out="out.csv"):
    return cfl("gather", data, *ARGUMENTS, "--out", out, *options)


def test_the_command_writes_the_table_and_says_what_it_did(folder):
    result = done(run("--values", "A,B,C,D"))
    assert Path("out.csv").read_text() == 'patient;age;cf\nP1;30;"A;C"\nP2;40;=B\nP3;50;\n'
    assert "out.csv: 3 rows from 4; cf: 1 exact, 1 exclusions, 1 empty" in result.stderr
    part = result.stderr.split("in the schema:\n")[1]
    schema = Schema.parse(f"version: 1\ncolumns:\n  age: {{role: ordinary, type: numeric}}\n{part}")
    cf = schema.complementary["cf"].model_dump(exclude_none=True)
    assert (cf["values"], cf["separator"], cf["exact"]) == (("A", "B", "C", "D"), ";", "=")
    refused(run(out="out.csv"), 2, "--overwrite", out="other")
    assert done(run("--quiet", "--overwrite")).stderr == ""


def test_the_schema_that_it_writes_runs_and_init_reads_the_same(folder):
    people = [(f"P{n}", n % 50, "ABCD"[n % 4]) for n in range(300)]
    rows = [
        (p, age, "ABCD"[(n + k) % 4], "ruled out")
        for n, (p, age, _) in enumerate(people)
        for k in range(1, 1 + n % 3)
    ]
    rows += [(p, age, true, "confirmed") for p, age, true in people if age % 10 == 0]
    frame = pl.DataFrame(rows, ["patient", "age", "code", "status"], orient="row")
    frame.write_csv("many.csv")
    done(run("--schema-out", "s.yml", data="many.csv"))
    text = Path("s.yml").read_text()
    assert "  patient: {role: identifier}\n" in text
    entry = '{role: complementary, values: [A, B, C, D], separator: ";", exact: "="'
    assert f"  cf: {entry}, drawn: by-people}}\n" in text
    drafted = done(cfl("init", "out.csv", "--cf", "cf")).stdout
    assert f"  cf: {entry}}}" in drafted
    filled = cfl("impute", "out.csv", "--schema", "s.yml", "--out", "f.csv", "--method", "graph")
    done(filled)
    assert done(run("--schema-out", "s.yml", "--overwrite", data="many.csv"))
    before = Path("out.csv").read_bytes()
    done(run("--overwrite", data="many.csv"))
    assert Path("out.csv").read_bytes() == before


def test_values_come_from_a_list_or_from_a_file(folder):
    Path("v.txt").write_text("D\nC\n\nB\nA\n")
    assert "values: [D, C, B, A]" in done(run("--values", "v.txt")).stderr
    assert Path("out.csv").read_text().splitlines()[1].endswith('"C;A"')
    assert "cannot be read" in run("--values", "w.txt").stderr
    failed(run("--values", "A,B,A"), 2, "'A' is listed twice")


def test_odd_text_files_are_read_as_they_are(folder):
    text = "Fall;Alter;Code;Status\nMüller;30;Ä;ja\nMüller;30;B;ja\nWeiß;41;Ü;ja\n"
    options = ("--id", "Fall", "--code", "Code", "--status", "Status", "--map", "ja=exclusion")
    for encoding in ("cp1252", "utf-8-sig", "utf-16"):
        Path("odd.csv").write_bytes(text.encode(encoding))
        result = done(cfl("gather", "odd.csv", *options, "--out", "odd.parquet", "--overwrite"))
        assert "Müller" not in result.stderr
        found = pl.read_parquet("odd.parquet")
        assert found["Code"].to_list() == ["B;Ä", "Ü"]
        assert found["Fall"].to_list() == ["Müller", "Weiß"]


def test_tables_come_and_go_through_pipes_and_in_other_formats(folder, forked):
    words = ["gather", "-", *ARGUMENTS, "--out", "-", "--quiet"]
    piped = forked.run(*words, stdin=LONG.encode())
    assert piped.stdout == b'patient;age;cf\nP1;30;"A;C"\nP2;40;=B\nP3;50;\n'
    assert (piped.stderr, piped.returncode) == (b"", 0)
    pl.read_csv("long.csv", separator=";", infer_schema=False).write_ndjson("long.jsonl")
    done(run(data="long.jsonl", out="out.jsonl"))
    assert pl.read_ndjson("out.jsonl")["cf"].to_list() == ["A;C", "=B", None]


def test_persons_are_joined_and_their_file_is_not_written_over(folder):
    Path("persons.csv").write_text("patient,height\nP3,170\nP1,180\nP2,160\n")
    done(run("--with", "persons.csv"))
    lines = Path("out.csv").read_text().splitlines()
    assert lines == ["patient;height;age;cf", "P3;170;50;", 'P1;180;30;"A;C"', "P2;160;40;=B"]
    failed(run("--with", "persons.csv", "--overwrite", out="persons.csv"), 2, "input file")
    failed(run("--schema-out", "long.csv", "--overwrite", out="o.csv"), 2, "input file")
    failed(run("--with-id", "x", out="o.csv"), 2, "--with-id needs --with")


SECRET = "Grünbaum47110815"


@pytest.mark.parametrize(
    "text",
    [
        f"patient,code,status\n{SECRET},A,odd\n",
        f"patient,code,status\n{SECRET},A,ruled out\n{SECRET},A,confirmed\n",
        f"patient,code,status\n{SECRET},A\n",
        f'patient,code,status\n"{SECRET},A,b\n',
        f"{SECRET},A,ruled out\n{SECRET},B,ruled out\n",
        f"patient,code,status,{SECRET},{SECRET}\nx,A,ruled out,1,2\n",
        f"{SECRET}\n\npatient,code,status\n{SECRET},A,ruled out\n{SECRET},B,ruled out\n",
        f"patient,code,status\n{SECRET},A,ruled out\n{SECRET}\n",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_no_message_shows_a_cell_of_an_id(folder, text, encoding):
    Path("secret.csv").write_bytes(text.encode(encoding))
    for form in ("text", "json"):
        for more in ((), ("--with", "secret.csv"), ("--on-bad-row", "set-aside", "--overwrite")):
            result = run("--log-format", form, *more, data="secret.csv")
            assert "Traceback" not in result.output
            for hint in ("47110815", "baum"):
                assert hint not in result.stderr, result.stderr


def test_python_warns_of_rows_that_are_left_out_and_is_silent_otherwise():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cells(long(("p1", "A", "ruled out"))) == {"p1": "A"}


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16-le"])
def test_a_large_file_is_read_in_blocks_and_its_form_is_seen_in_its_head(
    folder, monkeypatch, encoding
):
    rows = [f"Ü{n % 90};{n % 90 % 7};{'ABCD'[n % 4]};ja\n" for n in range(400) if n % 90 != 5]
    mark = "\ufeff" if encoding == "utf-16-le" else ""
    text = f"{mark}Nr;Größe;Code;Status\n{''.join(rows)}"
    Path("big.csv").write_bytes(text.encode(encoding))
    words = ("--id", "Nr", "--code", "Code", "--status", "Status", "--map", "ja=candidate")
    done(cfl("gather", "big.csv", *words, "--out", "whole.parquet"))
    monkeypatch.setattr("cfl_cli.commands.gather.work._ROWS_AT_ONCE", 7)
    monkeypatch.setattr("cfl_cli.commands.gather.work._HEAD", 300)
    done(cfl("gather", "big.csv", *words, "--out", "blocks.parquet"))
    whole, blocks = pl.read_parquet("whole.parquet"), pl.read_parquet("blocks.parquet")
    assert whole.equals(blocks)
    assert whole.columns == ["Nr", "Größe", "Code"]
    assert whole.height == 89


def test_candidates_among_very_many_values_are_refused_before_memory_runs_out(monkeypatch):
    monkeypatch.setattr("cfl_cli.commands.gather.cells._MOST", 3)
    table = long(*(("p1", code, "suspected") for code in "AB"), ("p2", "C", "ruled out"))
    assert cells(table)["p1"] == "C;D"
    more = pl.concat([table, table.with_columns(patient=pl.lit("p3"))])
    ((code, text),) = problems(more)
    assert code == "gather-too-long"
    assert "would rule out 4 values in all" in text
