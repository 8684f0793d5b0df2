import datetime as dt
import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from builders.command_line import cfl, impute
from hypothesis import example, given
from hypothesis import strategies as st

from cfl_cli.commands.init import cfs as cf_guess
from cfl_cli.commands.init.columns import Guess
from cfl_cli.commands.init.draft import draft_schema
from cfl_cli.core import forecast
from cfl_cli.core.process import Allowance
from cfl_cli.core.settings import Settings
from cfl_cli.encode.encode import encode
from cfl_cli.errors import DataError, UsageError
from cfl_cli.schema.model import Complementary, Ignored, Ordinary, Schema
from cfl_cli.texts import BLANKS
from cfl_cli.texts.matching import is_missing_code

pytestmark = pytest.mark.usefixtures("for_the_command_line")
NUMERIC = Ordinary(type="numeric")
OF = ["1.5", "2", "7", "2"]


def drafted(table, *cfs, ignored=()):
    return Schema.parse(draft_schema(pl.DataFrame(table), cfs=cfs, ignored=ignored))


def guess(cells):
    table = {"it": cells, "of": OF * (len(cells) // 4), "cf": ["a", "b"] * (len(cells) // 2)}
    return drafted(table, "cf").columns["it"]


def cf(cells):
    return drafted({"of": OF * (len(cells) // 4), "cf": cells}, "cf").columns["cf"]


def test_the_sample_is_drafted_as_its_own_schema_says(sample):
    frame = pl.read_csv(sample / "triage.csv", infer_schema=False)
    found = drafted(frame, "diagnosis", "ward", "coat_rack")
    written = Schema.load(sample / "triage.yml")
    assert list(found.columns) == list(frame.columns)
    for name, column in written.columns.items():
        guessed = found.columns[name]
        if isinstance(column, Complementary):
            assert sorted(column.values) == list(guessed.values)
            assert (guessed.separator, guessed.exact) == (column.separator, column.exact)
        else:
            assert guessed == column
    assert encode(frame, found).features.shape == encode(frame, written).features.shape


def test_each_cf_asks_how_its_exclusions_came_about():
    text = draft_schema(
        pl.DataFrame({"of": OF, "a": [*"pqpr"], "b": [*"xyzx"]}), cfs=["a", "b"], ignored=[]
    )
    lines = text.splitlines()
    for name in "ab":
        [place] = [n for n, line in enumerate(lines) if line.startswith(f"  {name}:")]
        assert lines[place + 1].startswith("    # If you know how exclusions arose")


def test_values_of_a_cf_that_look_ordered_are_drafted_in_order():
    found = cf(["very good", "good", "fair", "poor"])
    assert (found.values, found.ordered) == (("poor", "fair", "good", "very good"), True)
    assert cf(["red", "green", "blue", "red"]).ordered is None


def test_a_column_whose_rows_share_cells_is_drafted_as_the_group():
    rng = np.random.default_rng(0)
    who, cells = np.tile(np.arange(60), 5), rng.choice(["a", "b", "c", "d"], 60)
    table = {"of": rng.random(300).round(3), "who_id": who, "cf": cells[who]}
    text = draft_schema(pl.DataFrame(table), cfs=["cf"], ignored=[])
    assert "\ngroup: who_id  # ? rows with the same cell share exclusions, " in text
    assert Schema.parse(text).group == ("who_id",)
    table["cf"] = rng.choice(["a", "b", "c", "d"], 300)
    assert "group:" not in draft_schema(pl.DataFrame(table), cfs=["cf"], ignored=[])


def test_a_draft_without_cfs_says_how_to_go_on():
    text = draft_schema(pl.DataFrame({"of": OF}), cfs=[], ignored=[])
    assert text.splitlines()[-1] == (
        "# No column is a CF yet: run again with --cf COLUMN, or change a role above."
    )


def test_a_column_to_ignore_is_ignored_whatever_it_holds():
    table = {"of": OF, "cf": ["a", "b"] * 2, "x": OF}
    assert drafted(table, "cf", ignored=["x"]).columns["x"] == Ignored()


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "2", "3", "2"], NUMERIC),
        ([" 1", "2.5 ", "-3e2", "2"], NUMERIC),
        ([1, 2, 3, 2], NUMERIC),
        ([1.5, None, 3.0, 2.0], NUMERIC),
        (["no", "yes", "no", "no"], Ordinary(type="binary", values=["no", "yes"])),
        (["0", "1", "1", "0"], Ordinary(type="binary", values=["0", "1"])),
        ([True, False, None, True], Ordinary(type="binary", values=["false", "true"])),
        (["n", "s", "e", "n"], Ordinary(type="categorical")),
        (["1", "2", "x", "2"], Ordinary(type="categorical")),
        (["1", "2", "inf", "2"], Ordinary(type="numeric", missing=["inf"])),
        (["x", "x", "x", "x"], Ignored()),
        (["z", "z", "", None], Ignored()),
        (["x", "x", "", None], Ordinary(type="binary", values=["", "x"])),
        (["", "", None, ""], Ignored()),
        ([None] * 4, Ignored()),
        ([float("nan"), 1.0, 1.0, 1.0], Ignored()),
        (["p1", "p2", "p3", "p4"], Ignored()),  # an id
        (["7", "8", "9", "10"], Ignored()),  # row numbers
        ([7, 8, 9, 10], Ignored()),
        (["8", "7", "9", "10"], NUMERIC),  # all different, but not in order
        ([7, 9, 11, 13], NUMERIC),
        ([1.5, 2.5, 3.5, 4.5], NUMERIC),
        ([[1], [2], [3], [3]], Ignored()),
        ([{"a\nb": 1}] * 4, Ignored()),
        ([b"\xff", b"a", b"b", b"b"], Ignored()),
        ([dt.timedelta(1)] * 4, Ignored()),
        (pl.Series([object()] * 4, dtype=pl.Object), Ignored()),
        ([dt.date(2024, 5, day) for day in (1, 2, 3, 3)], Ordinary(type="date")),
        ([dt.datetime(2024, 5, day, tzinfo=dt.UTC) for day in (1, 2, 3, 3)], Ordinary(type="date")),
        (pl.Series(["p", "q", "r", "p"], dtype=pl.Categorical), Ordinary(type="categorical")),
    ],
)
def test_the_cells_say_what_a_column_is(cells, expected):
    assert guess(cells) == expected


def test_many_different_texts_are_taken_for_names():
    assert guess([f"town {number % 50}" for number in range(100)]) == Ordinary(type="categorical")
    assert guess([f"town {number % 51}" for number in range(104)]) == Ignored()


def test_tokens_that_spoil_a_number_are_listed_as_missing():
    table = {"x": ["1", "NA", "3", "?"], "y": ["", "-", "2", "5"], "cf": ["a", "b", "NA", "c"]}
    found = drafted(table, "cf")
    assert found.missing == ("", "NA")  # those of several columns
    assert found.columns["x"].type == found.columns["y"].type == "binary"
    assert found.missing_in("x") == ("", "NA", "?")
    assert found.missing_in("y") == ("", "NA", "-")
    assert found.columns["cf"].values == ("a", "b", "c")


def test_a_token_in_a_column_to_ignore_is_no_missing_one():
    table = {"x": ["NA", "b", "c", "b"], "y": ["1", "?", "2", "1"], "of": OF, "cf": [*"abc", "?"]}
    found = drafted(table, "cf", ignored=["y"])
    assert found.missing == ("",)
    assert found.missing_in("x") == ("", "NA")
    assert found.missing_in("cf") == ("", "?")


def test_a_token_that_is_a_value_somewhere_is_missing_only_where_it_is_none():
    table = {"x": ["+", "-", "+", "-"], "y": ["1", "-", "2", "5"], "cf": ["a", "-", "b", "c"]}
    found = drafted(table, "cf")
    assert found.columns["x"].values == ("+", "-")
    assert found.missing == ("",)
    assert found.missing_in("y") == found.missing_in("cf") == ("", "-")


@pytest.mark.parametrize(
    ("cells", "values", "separator", "exact"),
    [
        (["a", "b", "c", "a"], "abc", None, None),
        (["a", "b", "a;b", "c"], "abc", ";", None),
        (["a", "b", "b|a", "c"], "abc", "|", None),
        (["a", "b", "b,a", "c"], "abc", ",", None),
        (["a", "b", "b/a", "c"], "abc", "/", None),
        (["a", "=b", "c", "a"], "abc", None, "="),
        (["a", "=b", "a;c", "c"], "abc", ";", "="),
        (["a", "", None, "b"], "ab", None, None),
        (["and/or", "either", "both", "both"], ["and/or", "both", "either"], None, None),
        (["a", "b", "a;b;", "c"], "abc", ";", None),
        (["a", "b", "a ; b", "c "], "abc", ";", None),
        (["=a", "a", "c", "a;c;=b"], "ac", ";", "="),  # the last cell is for `cfl check` to refuse
        (["=", "<", ">", "<"], "<=>", None, None),  # a comparison, no exact mark
        (["==", "=", ">", "<"], ["<", "=", "==", ">"], None, None),
        ([1, 2, None, 3], "123", None, None),
        ([1.0, float("nan"), 2.0, 1.0], ["1", "2"], None, None),
        ([["a", "b"], [], ["c"], None], "abc", None, None),
        (["a", "a", "a", "a"], None, None, None),
        (["", "", "", ""], None, None, None),
    ],
)
def test_the_cells_say_how_a_cf_is_written(cells, values, separator, exact):
    values = None if values is None else list(values)
    assert cf(cells) == Complementary(values=values, separator=separator, exact=exact)


def test_a_missing_token_between_separators_is_no_value():
    table = {"of": ["1", "2", "3", "NA"], "cf": ["a", "b", "a;NA", "b;a"]}
    assert drafted(table, "cf").columns["cf"] == Complementary(values=["a", "b"], separator=";")


def test_more_than_200_values_are_not_listed():
    assert len(cf([f"v{number}" for number in range(200)]).values) == 200
    assert cf([f"v{number}" for number in range(204)]) == Complementary()


@pytest.mark.parametrize(
    "text",
    ["-", "- a", "{", "}", "[a]", "#", "a #b", "a: b", ":", "'", '"', '"a"', "\\", "\\n", "&a",
     "*a", "!a", "|", ">", "%", "@", "`", "?", "? a", "a\nb", "a\r", "\t", " ", " a ", "~", "null",
     "no", "01", "1e3", "12:30", "<<", "---", "...", "=", "é", "日本", "😀", "\0", "\x1b", "\x7f",
     "\x85", "\u2028", "\ufeff", "\ufffe", "\u202e", "x" * 1000, "x" * 1030, "é" * 5000],
)  # fmt: skip
def test_any_name_and_any_value_comes_back_to_the_letter(text):
    table = {text: [text, "b", "c", "b", "d"], "it": [text, "b", "b", "e", "e"], "of": [*OF, "9"]}
    found = drafted(table, text)
    assert list(found.columns) == [text, "it", "of"]
    if is_missing_code(text) or not text.strip(BLANKS):
        assert found.columns[text].values == ("b", "c", "d")
    else:
        assert text.strip(BLANKS) in found.columns[text].values
    assert encode(pl.DataFrame(table), found).candidates.shape[0] == 5


NAMES = st.lists(st.text(max_size=5), min_size=2, max_size=4, unique=True)
CELLS = st.lists(
    st.none()
    | st.text(max_size=4)
    | st.text(alphabet="ab;=|,/- 1", max_size=4)
    | st.sampled_from(["['a', 'b']", "['a/b']", "[]", "x: a", "x: b", "x: a/b", "X: a", "a and b"]),
    min_size=6,
    max_size=6,
)


@given(
    names=NAMES.filter(lambda names: "of" not in names),
    columns=st.lists(CELLS, min_size=4, max_size=4),
    numbers=st.lists(st.sampled_from(["NA", "-", "?", "3"]), min_size=2, max_size=2),
)
@example(["cf", "a"], [["=A;B", "A", "B", "C;A", "=", "A;=B"], ["1"] * 6, [], []], ["NA", "-"])
@example(["cf", "a"], [["==A", "=B", "A", "B", "A;NA", "=NA"], ["1"] * 6, [], []], ["NA", "NA"])
@example(
    ["cf", "a"],
    [["x: a", "x: b", "x: c", "a/b/c", "x: a/b", "X: a"], ["1"] * 6, [], []],
    ["3", "3"],
)
def test_any_table_with_an_of_and_a_cf_has_a_draft_that_can_be_read_back(names, columns, numbers):
    table = dict(zip(names, columns, strict=False)) | {"of": ["1", "2", "4", "2", *numbers]}
    frame = pl.DataFrame(table, schema=dict.fromkeys(table, pl.String))
    found = drafted(frame, names[0])
    assert list(found.columns) == list(table)
    assert isinstance(found.columns[names[0]], Complementary)
    assert found.columns["of"].type == "numeric"
    problems = ()
    try:
        encode(frame, found)
    except DataError as error:
        problems = error.texts
    # A guess may be wrong about cells of the CF, and about nothing else.
    assert all(f"column {names[0]!r}" in problem for problem in problems)


@pytest.mark.parametrize(
    ("cfs", "ignored", "said"),
    [
        (["Of"], [], ["--cf: no column 'Of' in the table (did you mean 'of'?)"]),
        ([], ["xyz"], ["--ignore: no column 'xyz' in the table"]),
        (["of"], ["of"], ["--cf and --ignore: both name 'of'; name it once"]),
        (["deep"], [], ["--cf: column 'deep' holds List(List(String)), not text or numbers"]),
        (["of,tags"], [], ["--cf: name each column separately: --cf of --cf tags"]),
        (
            [],
            ["of, tags"],
            ["--ignore: name each column separately: --ignore of --ignore tags"],
        ),
        (["of,tag"], [], ["--cf: no column 'of,tag' in the table (did you mean 'tags'?)"]),
        (
            ["gone", "deep"],
            ["go"],
            [
                "--cf: no column 'gone' in the table",
                "--ignore: no column 'go' in the table",
                "--cf: column 'deep' holds List(List(String)), not text or numbers",
            ],
        ),
    ],
)
def test_a_column_that_cannot_be_meant_is_a_wrong_call(cfs, ignored, said):
    frame = pl.DataFrame({"of": OF, "tags": [["a"]] * 4, "deep": [[["a"]]] * 4})
    with pytest.raises(UsageError) as caught:
        draft_schema(frame, cfs=cfs, ignored=ignored)
    assert list(caught.value.texts) == said


def test_a_cf_may_be_named_twice():
    table = {"of": OF, "cf": ["a", "b", "a", "b"]}
    assert drafted(table, "cf", "cf") == drafted(table, "cf")


def test_a_table_without_rows_can_be_drafted():
    text = draft_schema(pl.DataFrame({"of": [], "cf": []}), cfs=["cf"], ignored=[])
    assert "of: {role: ignore}  # every cell is missing" in text


def test_an_entry_that_the_schema_refuses_is_left_to_the_user(monkeypatch):
    refused = Guess({"role": "complementary", "values": ["a", "a;b"], "separator": ";"})
    monkeypatch.setattr(cf_guess, "guess_cf", lambda _: refused)
    frame = pl.DataFrame({"of": ["1", "2", "4"], "cf": ["a", "b", "a;b"]})
    text = draft_schema(frame, cfs=["cf"], ignored=[])
    assert (
        "cf: {role: complementary}  # ? cfl could not draft this entry: write it yourself" in text
    )
    assert Schema.parse(text).columns["of"].type == "numeric"


CFS = pl.DataFrame({"of": [str(n % 17) for n in range(60)], "cf": [*"abc"] * 20})


def test_a_draft_runs_auto_and_says_when_to_choose_graph():
    text = draft_schema(CFS, cfs=["cf"], ignored=[])
    assert Schema.parse(text).settings == Settings(method="auto")
    assert (
        "# auto is usually the most accurate method. graph, the paper's method, is faster" in text
    )


def test_a_draft_runs_graph_where_auto_needs_more_memory_than_there_is(monkeypatch):
    few = Allowance(1_000_000, "this machine", 1_000_000)
    monkeypatch.setattr("cfl_cli.core.process.allowance", lambda: few)
    text = draft_schema(CFS, cfs=["cf"], ignored=[])
    assert Schema.parse(text).settings == Settings(method="graph")
    assert re.search(
        r"^# graph, the paper's method, because auto needs about \d+ MB of memory, "
        r"more than this machine allows\.$",
        text,
        re.MULTILINE,
    )


def test_a_draft_runs_graph_where_auto_takes_many_times_as_long(folder, monkeypatch):
    seconds = {"graph": 100.0, "auto": 2400.0}
    monkeypatch.setattr(forecast, "run_seconds", lambda method, *_, **how: seconds[method])
    text = draft_schema(CFS, cfs=["cf"], ignored=[])
    assert "# graph, the paper's method, because auto takes about 24 times as long.\n" in text
    assert Schema.parse(text).settings == Settings(method="graph")
    said = cfl("init", "data.csv", "--cf", "cf", "--out", "draft.yml").stderr
    assert "data.csv: graph, the paper's method, because auto takes about 24 times as long." in said
    seconds["auto"] = 550.0  # nobody waits much longer for that
    assert "{method: auto}" in draft_schema(CFS, cfs=["cf"], ignored=[])


def test_rows_that_repeat_the_header_are_named_and_not_looked_at():
    frame = pl.DataFrame({"of": ["1", "2", "of", "4"], "cf": ["a", "b", "cf", "b"]})
    text = draft_schema(frame, cfs=["cf"], ignored=[])
    assert "# ? row 3 repeats the header: delete it" in text
    columns = Schema.parse(text).columns
    assert (columns["of"].type, columns["cf"].values) == ("numeric", ("a", "b"))


@pytest.mark.parametrize(
    "name", ["religion", "Health: status", "income # 1", "x" * 1100 + " income", "wage\n2"]
)
def test_a_private_cf_has_a_line_that_says_it_was_blurred_once_its_sign_is_gone(name):
    text = draft_schema(
        pl.DataFrame({"age": [1, 2, 5] * 9, name: [*"abc"] * 9}), cfs=[name], ignored=[]
    )
    assert Schema.parse(text).blurred == {}
    [line] = [one for one in text.splitlines() if one.startswith("    #blurred: privacy  # ? ")]
    blurred = Schema.parse(text.replace(line, line.replace("#", "", 1)))
    assert blurred.blurred == {name: "privacy"}
    assert blurred.complementary[name].values == ("a", "b", "c")


def test_init_drafts_a_schema_that_works(folder):
    assert cfl("init", "data.csv", "--cf", "cf", "--out", "draft.yml").exit_code == 0
    assert impute("--k", 3, schema="draft.yml").exit_code == 0


def test_init_knows_its_columns(folder):
    result = cfl("init", "data.csv", "--cf", "cff")
    assert result.exit_code == 2
    assert "did you mean 'cf'?" in result.stderr


WRITTEN = [
    ("utf-8", ",", ""),
    ("cp1252", ";", 'file: {delimiter: ";", encoding: cp1252'),
    ("utf-16", "\t", "file: {delimiter: tab, encoding: utf-16"),
    ("utf-8-sig", "|", 'file: {delimiter: "|"'),
]


@pytest.mark.parametrize(("encoding", "sign", "entry"), WRITTEN)
def test_a_file_is_drafted_as_it_is_written_and_then_passes_without_options(
    tmp_path, monkeypatch, encoding, sign, entry
):
    monkeypatch.chdir(tmp_path)
    rows = [
        ("ort", "alter", "dx"),
        *((["Köln", "Bonn"][n % 2], n, "abc"[n % 3]) for n in range(40)),
    ]
    text = "".join(sign.join(map(str, row)) + "\n" for row in rows)
    Path("d.csv").write_bytes(text.encode(encoding))
    run = cfl("init", "d.csv", "--cf", "dx", "--out", "s.yml")
    assert run.exit_code == 0, run.stderr
    draft = Path("s.yml").read_text()
    assert entry in draft
    assert ("file:" in draft) == bool(entry)
    assert ("d.csv: " in run.stderr) == (sign != ",")
    assert ("# ? encoding" in draft) == (encoding == "cp1252")
    assert cfl("check", "d.csv", "--schema", "s.yml").exit_code == 0


def test_schema_prints_a_json_schema(folder):
    assert json.loads(cfl("schema").stdout)["$schema"].startswith("https://json-schema.org/")
