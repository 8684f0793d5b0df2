"""The public door: what `from cfl_cli import …` offers is a promise."""

import doctest
import inspect
import json
import pickle
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from xml.etree.ElementTree import fromstring

import numpy as np
import pandas as pd
import polars as pl
import pytest
from builders import signatures
from builders.command_line import ROWS, done, on_command_line
from builders.command_line import impute as command_of_impute

import cfl_cli
from cfl_cli import CflError, Schema, evaluate, fit, impute, init, mask, tune
from cfl_cli.cli.pages import render
from cfl_cli.cli.pages.report import page
from cfl_cli.cli.progress import NotebookBar, progress_in_python
from cfl_cli.commands.suspects.job import page as suspects_page
from cfl_cli.core import Watched
from cfl_cli.core.progress import Stage, Work
from cfl_cli.tables.frames import as_polars, names

PUBLIC = {
    "CflError": [],
    "Checked": None,
    "DataError": [],
    "Evaluation": ["rows", "columns", "warnings", "key"],
    "Masked": ["frame", "warnings"],
    "Model": None,
    "Report": None,
    "ResourceError": [],
    "Risk": None,
    "Result": [
        *("frame", "confidences", "report", "diagnostics", "model", "explainer", "drawable"),
    ],
    "RunSettings": None,
    "Schema": None,
    "SchemaError": [],
    "Settings": None,
    "Tuning": None,
    "UsageError": [],
    "Audited": None,
    "Explanation": None,
    "SuspectCells": None,
    "audit": [*("result", "checked", "draw", "seed", "cf", "key", "show_answers", "schema")],
    "check": None,
    "evaluate": ["frame", "true", "schema", "name", "true_name", "key"],
    "explain": None,
    "fit": None,
    "gather": [
        *("frame", "id", "code", "status", "map", "preset", "cf", "persons", "with_id", "keep"),
        *("values", "other", "level", "finer", "one_candidate", "time", "time_format"),
        *("conflict", "shown", "none", "separator", "stem", "system", "drawn", "name"),
    ],
    "impute": None,
    "init": ["frame", "cf", "ignore", "name"],
    "indicators": ["frame", "schema", "cf", "infer", "name"],
    "mask": ["frame", "schema", "exclusions", "exact_share", "empty_share", "seed", "name"],
    "pool": ["fits"],
    "report": ["result"],
    "risk": None,
    "suspects": ["result", "cf"],
    "tabulate": [
        *("frame", "schema", "cf", "by", "mean", "weight", "bias", "infer"),
        *("audit", "with_model", "name"),
    ],
    "tune": None,
}
# Beside the settings, which come from their own list.
OWN = {
    "check": ["frame", "schema", "name"],
    "explain": ["frame", "schema", "row", "cf", "name", "progress"],
    "fit": ["frame", "schema", "reference", "sources", "name", "progress"],
    "impute": [
        *("frame", "schema", "keep_model", "diagnostics", "reference", "sources"),
        *("name", "progress"),
    ],
    "risk": ["frame", "schema", "rows", "name", "progress"],
    "tune": ["frame", "schema", "budget", "trials", "name", "progress"],
}


def test_the_door_offers_these_names_which_take_what_they_always_took():
    assert {*cfl_cli.__all__} == {*PUBLIC, "__version__"}
    assert all(getattr(cfl_cli, name) is not None for name in cfl_cli.__all__)
    assert not hasattr(cfl_cli, "imputation")
    for name, parameters in PUBLIC.items():
        if parameters:
            assert [*inspect.signature(getattr(cfl_cli, name)).parameters] == parameters
    assert cfl_cli.draft is cfl_cli.init  # its former name


def test_the_settings_of_functions_and_their_docs_are_those_of_the_one_list():
    for path, text in signatures.all_renewed().items():
        assert path.read_text() == text, "python tests/builders/signatures.py writes them anew"


@pytest.mark.parametrize("name", OWN)
def test_every_setting_is_a_keyword_and_none_leaves_it_to_the_schema(name):
    module = "commands" if (f"commands/{name}/job.py", name) in signatures.FUNCTIONS else "run"
    path = f"{module}/{name}/job.py" if module == "commands" else f"run/{name}.py"
    settings, _ = signatures.FUNCTIONS[path, name]
    parameters = inspect.signature(getattr(cfl_cli, name)).parameters
    assert [one for one in parameters if one not in [it.name for it in settings]] == OWN[name]
    for setting in settings:
        assert parameters[setting.name].default is None
        assert parameters[setting.name].kind is inspect.Parameter.KEYWORD_ONLY


DOCUMENTED = (
    *("impute", "fit", "check", "init", "explain", "mask", "evaluate", "tune", "risk"),
    *("tabulate", "indicators", "pool", "gather"),
    *("report", "suspects", "audit", "Report.to_frame", "Report.save"),
    *(
        "Result",
        "Result.explain",
        "Result.draws",
        "Model.apply",
        "Model.explain",
        "Model.save",
        "Model.load",
    ),
)


def test_the_examples_of_the_door_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner, names = doctest.DocTestRunner(verbose=False), {}
    for name in DOCUMENTED:
        thing = cfl_cli
        for part in name.split("."):
            thing = getattr(thing, part)
        text = inspect.getdoc(thing)
        if name not in {"Result", "Report.to_frame", "Report.save"}:
            assert "Parameters\n----------\n" in text, name
            assert "Returns\n-------\n" in text, name
            assert ">>> " in text, name
        example = doctest.DocTestParser().get_doctest(text, names, name, None, None)
        runner.run(example, clear_globs=False)
        names = example.globs
    assert runner.failures == 0


TABLE = pl.read_csv("\n".join(ROWS).encode(), infer_schema=False)
GIVEN = {
    "columns": {
        "x": {"role": "ordinary", "type": "numeric"},
        "y": {"role": "ordinary", "type": "numeric"},
        "cf": {"role": "complementary", "values": ["a", "b", "c"]},
    },
    "settings": {"k": 3, "iterations": 5, "folds": 0},
}
KINDS = [lambda frame: frame, lambda frame: frame.to_pandas(), lambda frame: frame.to_arrow()]


@pytest.fixture(scope="module")
def result():
    return impute(TABLE, GIVEN)


def problem(call, *arguments, **keywords):
    with pytest.raises(CflError) as caught:
        call(*arguments, **keywords)
    return str(caught.value)


def test_every_function_takes_a_schema_in_any_form(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("schema.yml").write_text(Schema.of(GIVEN).text)
    truth = TABLE.with_columns(cf=pl.Series(["b", "c", "a"] * 4))
    answers = set()
    for schema in (GIVEN, "schema.yml", Path("schema.yml"), Schema.of(GIVEN)):
        done, model = (job(TABLE, schema, method="commonest") for job in (impute, fit))
        answers.add(
            (
                done.frame.write_csv(),
                model.apply(TABLE).frame.write_csv(),
                mask(truth, schema).frame.write_csv(),
                evaluate(done.frame, truth, schema).to_json(),
            )
        )
    assert len(answers) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_confidences_are_a_table_of_the_kind_that_was_given(kind, result):
    frame = kind(TABLE)
    quick = {"method": "commonest", "mode": "soft"}
    for found in (impute(frame, GIVEN, **quick), fit(frame, GIVEN, **quick).apply(frame)):
        confidences = found.confidences["cf"]
        assert type(confidences) is type(frame)
        assert [*found.confidences] == ["cf"]
        assert names(confidences) == ["a", "b", "c"]
        soft = as_polars(found.frame).select(f"cf__{value}" for value in "abc").to_numpy()
        assert (as_polars(confidences).to_numpy() == soft).all()
        assert (found.confidences.arrays["cf"] == soft).all()
        assert found.confidences["cf"] is confidences  # made once
    with pytest.raises(KeyError, match=r"no CF 'CF' \(did you mean 'cf'\?\)"):
        result.confidences["CF"]
    assert repr(result.confidences) == "Confidences(cf: 3 values)"


def test_an_index_of_pandas_stays():
    frame = TABLE.to_pandas().set_index(np.arange(12)[::-1] * 10)
    found = impute(frame, GIVEN)
    assert found.frame.index.equals(frame.index)
    assert found.confidences["cf"].index.equals(frame.index)
    assert mask(frame.assign(cf="a"), GIVEN).frame.index.equals(frame.index)
    again = pickle.loads(pickle.dumps(found))
    assert again.confidences["cf"].equals(found.confidences["cf"])


def test_a_result_shows_its_suspect_cells_as_the_command_does(result):
    found = result.suspects
    assert repr(found).startswith("SuspectCells(12 rows, ")
    assert found.cells.columns[:4] == ["rank", "row", "cf", "value"]
    ranked = result.diagnostics.filter(pl.col("rank").is_not_null())
    assert found.cells["row"].to_list() == ranked["row"].to_list()
    assert str(found) == render(suspects_page(found), "table").rstrip("\n")
    assert "<table" in found._repr_html_()


def test_a_result_is_a_line_and_its_report_the_table_of_the_terminal(result):
    flagged = replace(result.report.columns[0], flagged=True)
    report = replace(result.report, columns=(flagged,))
    assert repr(result) == str(result) == "Result(12 rows, 5 columns, 1 CF: cf)"
    assert repr(replace(result, report=report)).endswith("1 CF: cf (flagged))")
    assert repr(report) == "Report(12 rows, 1 CF, 1 flagged)"
    assert repr(result.report) == "Report(12 rows, 1 CF)"
    with on_command_line():
        typed = render(page(report), "table")
    text = str(report)
    assert text.splitlines()[:4] == typed.splitlines()[:4]
    assert "--folds 0" in typed
    assert "no cells were held out (--folds 0)" in text  # as the command line has it


def test_a_notebook_shows_tables_in_which_every_name_is_escaped(result):
    odd = replace(result.report.columns[0], name="<b>&")
    report = replace(result.report, columns=(odd,))
    html = fromstring(report._repr_html_())
    (table,) = html.findall("table")
    heading, line = (["".join(cell.itertext()).strip() for cell in row] for row in table.iter("tr"))
    assert heading[0] == "CF"
    assert line[0] == "<b>&3 values"
    assert line[3].startswith(f"{100 - 100 * odd.entropy_reduction:.0f} % left")
    assert html.find("p").text == "12 rows, 1 CF, method graph"
    assert "no cells were held out (--folds 0)" in "".join(html.itertext())
    assert replace(result, report=report)._repr_html_() == (
        f"<p>Result(12 rows, 5 columns, 1 CF: &lt;b&gt;&amp;)</p>{report._repr_html_()}"
    )


def test_scores_and_trials_are_printed_as_well():
    truth = TABLE.with_columns(cf=pl.Series(["b", "c", "a"] * 4))
    scores = evaluate(impute(TABLE, GIVEN).frame, truth, GIVEN)
    assert str(scores).startswith("12 rows, 1 CF\n")
    assert "impute with --mode soft or both" in str(scores)
    assert "<table>" in scores._repr_html_()
    found = tune(TABLE, "# mine\n" + Schema.of(GIVEN).text, trials=1)
    assert str(found).startswith("1 trial, settings unchanged\n")
    assert "settings unchanged: iterations 5, k 3, gamma 0.25, ridge 0.3" in str(found)
    assert found.settings == {"iterations": 5, "k": 3, "gamma": 0.25, "ridge": 0.3}
    assert found.schema.settings.gamma == 0.25
    assert found.schema.text.startswith("# mine\n")
    assert impute(TABLE, found.schema).report.settings["gamma"] == 0.25


def test_a_draft_is_the_text_of_a_schema_and_speaks_of_arguments():
    schema = Schema.parse(init(TABLE.to_pandas(), cf="cf", ignore=["x"]))
    assert [column.role for column in schema.columns.values()] == [
        "ignore",
        "ordinary",
        "complementary",
    ]
    assert "run again with cf='COLUMN'" in init(TABLE)
    assert problem(init, TABLE, cf=["CF"]) == (
        "cf: no column 'CF' in the table (did you mean 'cf'?)"
    )
    assert problem(init, TABLE, cf="x,y") == "cf: name each column separately: cf=['x', 'y']"


def test_wrong_arguments_are_named():
    for call in (impute, fit, tune, cfl_cli.check, cfl_cli.risk):
        with pytest.raises(TypeError, match="unexpected keyword argument 'iteration'"):
            call(TABLE, GIVEN, iteration=5)
    assert problem(impute, TABLE, GIVEN, k=True).startswith("k: expected a whole number")
    assert problem(impute, TABLE, GIVEN, k=0, jobs=2) == "k: expected at least 1, found 0"
    assert problem(impute, TABLE, GIVEN, jobs=0) == "jobs: expected at least 1, found 0"
    assert problem(tune, TABLE, GIVEN, budget="x", trials=0) == (
        "budget: expected a number, found 'x'\ntrials: expected at least 1, found 0"
    )
    assert "found builtins.str 'data.csv': read the file first" in problem(
        impute, "data.csv", GIVEN
    )
    assert problem(impute, TABLE, "gone.yml").startswith("schema: no file 'gone.yml' in ")
    assert "the table comes first" in problem(impute, GIVEN, TABLE)


def test_numbers_of_numpy_are_settings(result):
    given = {**GIVEN, "settings": {"k": np.int64(3), "iterations": np.int32(5), "folds": 0}}
    same = impute(TABLE, given, calibration=np.True_, gamma=np.float64(0.25), jobs=np.int8(1))
    assert same.frame.equals(result.frame)
    assert same.report.settings["k"] == 3
    json.loads(same.report.to_json())


def test_only_public_names_are_listed():
    assert dir(cfl_cli) == sorted([*PUBLIC, "__version__"])


def test_rows_are_counted_as_the_table_counts_them():
    frame = TABLE.with_columns(x=pl.Series([*TABLE["x"][:9], "nine", "ten", "11"]))
    labelled = frame.to_pandas().set_index(pd.Index([f"p{n}" for n in range(12)]))
    for given, rows in ((frame, "9, 10"), (frame.to_arrow(), "9, 10"), (labelled, "p9, p10")):
        assert f"2 cells like 'nine' (rows {rows})" in problem(impute, given, GIVEN)
        assert f"(rows {rows})" in problem(fit, given, GIVEN, sample=11)
        assert f"(rows {rows})" in cfl_cli.check(given, GIVEN).problems[0].text
    by_label = TABLE.to_pandas().set_index(pd.Index([f"p{n}" for n in range(12)]))
    found, plain = impute(by_label, GIVEN), impute(TABLE, GIVEN)
    why = found.explain("p3")
    assert repr(why) == repr(plain.explain(3)).replace("row 3", "row p3")
    near = [one.row for one in why.near[0].neighbors]
    assert near == [f"p{one.row}" for one in plain.explain(3).near[0].neighbors]
    assert str(why).startswith("row p3: cf\n")
    assert json.loads(why.to_json())["row"] == "p3"
    assert cfl_cli.explain(by_label, GIVEN, "p3").as_dict() == why.as_dict()
    rows = [f"p{row}" for row in plain.diagnostics["row"]]
    assert found.diagnostics["row"].to_list() == rows
    assert "names no row of table, or several" in problem(found.explain, 3)
    twice = impute(TABLE.to_pandas().set_index(pd.Index([7] * 12)), GIVEN)
    assert "names no row of table, or several" in problem(twice.explain, 7)


def test_an_index_that_is_an_identifier_finds_rows_and_is_never_shown():
    ids = [f"secret{n}" for n in range(12)]
    schema = {**GIVEN, "columns": {**GIVEN["columns"], "id": {"role": "identifier"}}}
    frame = TABLE.to_pandas().assign(id=ids).set_index("id", drop=False)
    found = impute(frame, schema)
    why = found.explain("secret3")
    assert why.row == 3
    wrong = frame.assign(x=["?", *frame["x"][1:]])
    said = [str(why), why.to_json(), str(found.suspects), found.diagnostics.write_csv()]
    assert "(row 0)" in problem(impute, wrong, schema)
    assert "secret" not in "".join([*said, problem(impute, wrong, schema)])


def test_a_bar_is_shown_where_somebody_sees_it_and_only_then(monkeypatch):
    shown = []
    monkeypatch.setattr(Watched, "display", lambda: nullcontext(lambda *_: shown.append(1)))
    impute(TABLE, GIVEN, progress=False)
    assert not shown
    heard = []
    impute(TABLE, GIVEN, progress=lambda stage, *_: heard.append(stage.name))
    assert heard
    assert not shown
    impute(TABLE, GIVEN)
    assert shown
    assert isinstance(progress_in_python(), nullcontext)  # no terminal, no notebook


def test_a_notebook_has_a_bar_below_the_cell(monkeypatch):
    said, times = [], iter(range(0, 100, 2))
    handle = SimpleNamespace(update=said.append)
    screen = SimpleNamespace(HTML=str, display=lambda text, **_: said.append(text) or handle)
    notebook = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1), display=screen)
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", screen)
    assert isinstance(progress_in_python(), NotebookBar)
    with NotebookBar(clock=lambda: next(times)) as bar:
        bar(Stage("neighbors", Work.NEIGHBORS), 1, 4)
        bar(Stage("neighbors", Work.NEIGHBORS), 2, 4)
    assert said[0].startswith('<progress value="')
    assert "neighbors" in said[0]
    assert said[-1] == ""


def test_a_report_is_a_table_and_a_page_and_a_file_of_any_of_them(result, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = result.report.to_frame()
    assert frame["name"].to_list() == ["cf"]
    assert frame["entropy_end"].item() == result.report.columns[0].entropy_end
    assert result.report.to_html().startswith("<!DOCTYPE html>")
    for name in ("r.html", "r.json", "r.csv", "r.md", "r.txt"):
        result.report.save(name)
    assert Path("r.html").read_text() == result.report.to_html()
    assert cfl_cli.report("r.json") == cfl_cli.report(result) == result.report
    assert pl.read_csv("r.csv").columns == frame.columns
    assert Path("r.txt").read_text().rstrip("\n") == str(result.report)
    assert "end the name in .html, .json, .csv, .md or .txt" in problem(result.report.save, "r.xls")
    with pytest.raises(CflError, match="exists"):
        result.report.save("r.md", overwrite=False)


def test_files_of_the_command_line_are_audited_from_python(tmp_path, monkeypatch, result):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("\n".join(ROWS))
    Path("schema.yml").write_text(Schema.of(GIVEN).text)
    done(command_of_impute("--diagnostics", "listed.csv"))
    assert cfl_cli.report("out.csv").columns == result.report.columns
    assert cfl_cli.suspects("out.csv").cells.height == result.suspects.cells.height
    for of in ("out.csv", result):
        rows = cfl_cli.audit(of, draw=5, key="x")
        assert rows.columns == ["cfl_row", "x", "cf", "cfl_draw"]
        assert rows["x"].cast(pl.Int64).to_list() == (rows["cfl_row"] - 1).to_list()
        found = cfl_cli.audit(of, [rows.with_columns(cf=pl.lit("a"))], cf="cf")
        assert found.audits["cf"].checked == 5
    assert "give either draw or checked" in problem(cfl_cli.audit, result)


def test_columns_with_levels_are_named_as_such():
    columns = pd.MultiIndex.from_product([["a"], ["x", "cf"]])
    frame = pd.DataFrame([[1, "b"], [2, "c"]], columns=columns)
    with pytest.raises(cfl_cli.DataError, match="its columns have 2 levels, a MultiIndex"):
        cfl_cli.init(frame)
