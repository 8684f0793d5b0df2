"""The public door: what `from cfl_cli import …` offers is a promise."""

import doctest
import inspect
import json
import pickle
from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import fromstring

import numpy as np
import polars as pl
import pytest
from builders.command_line import ROWS, on_command_line

import cfl_cli
from cfl_cli import CflError, Schema, draft, evaluate, fit, impute, mask, tune
from cfl_cli.cli.pages import render
from cfl_cli.cli.pages.report import page
from cfl_cli.commands.suspects.job import page as suspects_page
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
    "Result": ["frame", "confidences", "report", "diagnostics", "model", "explainer"],
    "RunSettings": None,
    "Schema": None,
    "SchemaError": [],
    "Settings": None,
    "Tuning": None,
    "UsageError": [],
    "check": ["frame", "schema", "name", "jobs", "max_memory", "settings"],
    "draft": ["frame", "cf", "ignore", "name"],
    "evaluate": ["frame", "true", "schema", "name", "true_name", "key"],
    "fit": ["frame", "schema", "name", "progress", "jobs", "max_memory", "sources", "settings"],
    "impute": [
        *("frame", "schema", "name", "progress", "jobs", "max_memory"),
        *("sources", "keep_model", "diagnostics", "settings"),
    ],
    "indicators": ["frame", "schema", "cf", "infer", "name"],
    "mask": ["frame", "schema", "exclusions", "exact_share", "empty_share", "seed", "name"],
    "risk": [*("frame", "schema", "name", "rows", "progress", "jobs", "max_memory"), "settings"],
    "tabulate": [
        *("frame", "schema", "cf", "by", "mean", "weight", "bias", "infer"),
        *("audit", "with_model", "name"),
    ],
    "tune": [
        *("frame", "schema", "name", "budget", "trials", "progress", "jobs", "max_memory"),
        "settings",
    ],
}


def test_the_door_offers_these_names_which_take_what_they_always_took():
    assert {*cfl_cli.__all__} == {*PUBLIC, "__version__"}
    assert all(getattr(cfl_cli, name) is not None for name in cfl_cli.__all__)
    assert not hasattr(cfl_cli, "imputation")
    for name, parameters in PUBLIC.items():
        if parameters:
            assert [*inspect.signature(getattr(cfl_cli, name)).parameters] == parameters


DOCUMENTED = (
    *("impute", "fit", "check", "draft", "mask", "evaluate", "tune", "risk", "tabulate"),
    "indicators",
    *("Result", "Result.explain", "Model.apply", "Model.explain", "Model.save", "Model.load"),
)


def test_the_examples_of_the_door_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner, names = doctest.DocTestRunner(verbose=False), {}
    for name in DOCUMENTED:
        thing = cfl_cli
        for part in name.split("."):
            thing = getattr(thing, part)
        text = inspect.getdoc(thing)
        if name != "Result":
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
    assert "no cells were hidden (--folds 0)" in text  # as the command line has it


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
    assert "no cells were hidden (--folds 0)" in "".join(html.itertext())
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
    assert str(found).startswith("1 trial, the start kept\n")
    assert "kept: iterations: 5, k: 3, gamma: 0.25, ridge: 0.3" in str(found)
    assert found.settings == {"iterations": 5, "k": 3, "gamma": 0.25, "ridge": 0.3}
    assert found.schema.settings.gamma == 0.25
    assert found.schema.text.startswith("# mine\n")
    assert impute(TABLE, found.schema).report.settings["gamma"] == 0.25


def test_a_draft_is_the_text_of_a_schema_and_speaks_of_arguments():
    schema = Schema.parse(draft(TABLE.to_pandas(), cf="cf", ignore=["x"]))
    assert [column.role for column in schema.columns.values()] == [
        "ignore",
        "ordinary",
        "complementary",
    ]
    assert "run again with cf='COLUMN'" in draft(TABLE)
    assert problem(draft, TABLE, cf=["CF"]) == (
        "cf: no column 'CF' in the table (did you mean 'cf'?)"
    )
    assert problem(draft, TABLE, cf="x,y") == "cf: name each column by itself: cf=['x', 'y']"


def test_wrong_arguments_are_named_with_those_that_may_be_meant():
    assert problem(impute, TABLE, GIVEN, iteration=5) == (
        "iteration: unknown argument (did you mean 'iterations'?)"
    )
    assert problem(fit, TABLE, GIVEN, maxmemory=5) == (
        "maxmemory: unknown argument (did you mean 'max_memory'?)"
    )
    assert problem(tune, TABLE, GIVEN, trial=5) == (
        "trial: unknown argument (did you mean 'trials'?)"
    )
    model = fit(TABLE, GIVEN, method="commonest")
    assert problem(model.apply, TABLE, mod="soft") == (
        "mod: unknown argument (did you mean 'mode'?)"
    )
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


def test_all_public_names_are_listed_before_they_are_used():
    kept = {name: vars(cfl_cli).pop(name) for name in PUBLIC if name in vars(cfl_cli)}
    try:
        assert {*PUBLIC} <= {*dir(cfl_cli)}
    finally:
        vars(cfl_cli).update(kept)


def test_columns_with_levels_are_named_as_such():
    pd = pytest.importorskip("pandas")
    columns = pd.MultiIndex.from_product([["a"], ["x", "cf"]])
    frame = pd.DataFrame([[1, "b"], [2, "c"]], columns=columns)
    with pytest.raises(cfl_cli.DataError, match="its columns have 2 levels, a MultiIndex"):
        cfl_cli.draft(frame)
