import importlib
import pickle
import sys

import numpy as np
import polars as pl
import pytest

from benchmarks.tables import generated
from cfl_cli import Model, Schema, fit, impute
from cfl_cli.encode.encode import new_names
from cfl_cli.tables import frames

try:
    import pandas as pd
    from sklearn.base import clone
    from sklearn.compose import ColumnTransformer
    from sklearn.exceptions import NotFittedError
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.utils import estimator_checks
    from sklearn.utils.validation import _check_feature_names_in

    from cfl_cli.sklearn import ComplementaryImputer
except ImportError:
    pytest.skip(
        "scikit-learn and pandas are extras: pip install '.[test]'", allow_module_level=True
    )

SCHEMA = """
version: 1
missing: ["", "?"]
columns:
  age:  {role: ordinary, type: numeric}
  sex:  {role: ordinary, type: categorical}
  job:  {role: complementary, values: [clerk, nurse, farmer], separator: ";"}
  ward: {role: complementary, values: [A, B]}
  id:   {role: ignore}
settings: {k: 5}
"""
SOFT = ["job__clerk", "job__nurse", "job__farmer", "ward__A", "ward__B"]
HARD = ["job_imputed", "job_confidence", "ward_imputed", "ward_confidence"]
OFS = ["sex", "age"]  # in the order of the table
QUICK = {"folds": 0, "iterations": 10}
ROWS, NEW = 60, 20


def tables(kind="pandas"):
    """Return rows in which the job follows from the age, and whether it is the nurse's."""
    rng = np.random.default_rng(0)
    count = ROWS + NEW
    age = rng.integers(20, 80, count)
    job = age // 20 - 1
    excluded = (job + rng.integers(1, 3, count)) % 3
    table = {
        "sex": np.array(["f", "m"])[rng.integers(0, 2, count)],
        "age": [str(number) for number in age],
        "id": [f"P{number}" for number in range(count)],
        "job": np.array(["clerk", "nurse", "farmer"])[excluded],
        "ward": np.array(["A", "B"])[(age > 50).astype(int)],
    }
    table["age"][ROWS + 3] = "?"
    table["job"][ROWS + 4] = ""
    frame = pl.DataFrame(table) if kind == "polars" else pd.DataFrame(table)
    return frame[:ROWS], frame[ROWS:], job[:ROWS] == 1


def imputer(**parameters):
    return ComplementaryImputer(**{"schema": SCHEMA, **QUICK, **parameters})


class WithExclusions(ComplementaryImputer):
    """Adds a CF, which follows from what a row holds, to any rows that a check comes with."""

    def _rows(self, X, *, reset):  # noqa: N803 — scikit-learn's name
        rows = super()._rows(X, reset=reset)
        first = frames.as_polars(rows).to_series(0).cast(pl.Float64).fill_nan(None).fill_null(0)
        level = (first.abs() * 7).floor() % 3
        return frames.append(rows, [level.replace_strict({0: "a", 1: "b", 2: "c"}).alias("cf")])

    def _schema(self):
        ofs = {name: {"role": "ordinary", "type": "numeric"} for name in self._names}
        return Schema(columns={**ofs, "cf": {"role": "complementary", "values": list("abc")}})

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False  # or numbers are rounded, and most rows are copies
        return tags

    def get_feature_names_out(self, input_features=None):
        ofs = _check_feature_names_in(self, input_features)
        return np.array([*ofs, *new_names("cf", "abc", self.mode)], dtype=object)


COMMONEST = WithExclusions(method="commonest", folds=0)


def ended(estimator, expected=None):
    """Return the names of scikit-learn's checks by how they ended."""
    found = estimator_checks.check_estimator(
        estimator, expected_failed_checks=expected, on_fail=None, on_skip=None
    )
    names = {}
    for check in found:
        names.setdefault(check["status"], []).append(check["check_name"])
    assert {*names.pop("skipped", ())} <= {"check_array_api_input"}  # it asks for a variable
    return names


def test_every_check_of_scikit_learn_passes_without_cfs():
    names = ended(ComplementaryImputer())
    assert names.keys() == {"passed"}
    assert len(names["passed"]) >= 45  # those of release 1.9; with wrong tags hardly any would run


@pytest.mark.slow  # some 45 checks once more
def test_of_the_checks_with_a_cf_exactly_those_fail_that_cannot_hold():
    itself = "a fitted row would be its own neighbor: fit_transform is not fit and then transform"
    expected = {"check_transformer_general": itself, "check_transformer_data_not_an_array": itself}
    names = ended(WithExclusions(k=3, folds=0, iterations=5, gamma=0), expected)
    assert names.keys() == {"passed", "xfail"}
    assert {*names["xfail"]} == {*expected}
    assert not {*names["passed"]} & {*expected}
    assert len(names["passed"]) >= 42


@pytest.mark.parametrize(
    "check", ["check_transformer_general", "check_transformer_data_not_an_array"]
)
def test_these_hold_too_if_no_fitted_rows_are_kept(check):
    getattr(estimator_checks, check)("WithExclusions", COMMONEST)


@pytest.mark.filterwarnings("ignore:X .* feature names")  # places count then, not names
@pytest.mark.parametrize(
    "check",
    [
        "check_dataframe_column_names_consistency",
        "check_transformer_get_feature_names_out",
        "check_transformer_get_feature_names_out_pandas",
        "check_set_output_transform",
        "check_set_output_transform_pandas",
        "check_global_output_transform_pandas",
        "check_set_output_transform_polars",
        "check_global_set_output_transform_polars",
    ],
)
@pytest.mark.parametrize("estimator", [ComplementaryImputer(), COMMONEST], ids=["no CF", "a CF"])
def test_checks_of_names_and_frames_pass_that_scikit_learn_keeps_for_itself(check, estimator):
    getattr(estimator_checks, check)(type(estimator).__name__, estimator)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("method", ["graph", "commonest"])
def test_new_rows_get_what_the_model_says(kind, method):
    rows, new, _ = tables(kind)
    found = imputer(method=method).set_output(transform=kind).fit(rows).transform(new)
    said = fit(rows, Schema.parse(SCHEMA), method=method, **QUICK).apply(new, mode="soft").frame
    assert [*found.columns] == [*OFS, *SOFT]
    assert (found[SOFT].to_numpy() == said[SOFT].to_numpy()).all()
    assert (found["sex"] == new["sex"]).all()
    ages = [float(age) for age in new["age"].replace("?", "nan")]
    assert found["age"].to_numpy() == pytest.approx(ages, nan_ok=True, abs=0)


@pytest.mark.parametrize("mode", ["soft", "hard", "both"])
def test_fitted_rows_get_what_impute_says(mode):
    rows, _, _ = tables()
    columns = {"soft": SOFT, "hard": HARD, "both": [*HARD[:2], *SOFT[:3], *HARD[2:], *SOFT[3:]]}
    found = imputer(mode=mode).set_output(transform="pandas").fit_transform(rows)
    said = impute(rows, Schema.parse(SCHEMA), mode=mode, **QUICK).frame
    pd.testing.assert_frame_equal(found[columns[mode]], said[columns[mode]], check_dtype=False)
    assert [*found.columns] == [*OFS, *columns[mode]]


def test_a_fitted_row_transformed_as_a_new_one_reads_its_own_cell():
    rows, _, _ = tables()
    graph = imputer(keep_ordinary=False)
    assert abs(graph.fit_transform(rows) - graph.transform(rows)).max() > 0.1
    commonest = imputer(keep_ordinary=False, method="commonest")
    assert (commonest.fit_transform(rows) == commonest.transform(rows)).all()


def test_what_is_said_of_a_row_does_not_depend_on_those_beside_it():
    rows, new, _ = tables()
    fitted = imputer(keep_ordinary=False).fit(rows)
    together = fitted.transform(new)
    for place in range(NEW):
        assert (fitted.transform(new[place : place + 1]) == together[place]).all()
    assert (fitted.set_params(n_jobs=2).transform(new) == together).all()


def test_labels_are_not_looked_at_and_settings_are_checked_without_a_schema_too():
    rows, _, _ = tables()
    with pytest.raises(ValueError, match="mode: expected"):
        ComplementaryImputer(mode="loud").fit(rows)
    rows, _, target = tables()
    without, with_labels = imputer().fit(rows), imputer().fit(rows, target)
    assert without.model_.checksum == with_labels.model_.checksum


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("given", ["pandas", "polars"])
def test_frames_of_either_kind_come_out_of_frames_of_either_kind(given, kind):
    rows, new, _ = tables(given)
    fitted = imputer(mode="both", method="commonest").set_output(transform=kind).fit(rows)
    found = fitted.transform(new)
    assert isinstance(found, {"pandas": pd.DataFrame, "polars": pl.DataFrame}[kind])
    assert [*found.columns] == [*fitted.get_feature_names_out()]
    texts = ["sex", "job_imputed", "ward_imputed"]
    assert (
        {column for column in found.columns if found[column].dtype.kind != "f"} == {*texts}
        if kind == "pandas"
        else {*found.select(pl.col(pl.String)).columns} == {*texts}
    )
    if given == kind == "pandas":
        assert (found.index == new.index).all()


def test_arrays_are_of_numbers_if_all_columns_are():
    rows, new, _ = tables()
    numbers = imputer(keep_ordinary=False, method="commonest").fit(rows)
    assert numbers.transform(new).dtype == np.float64
    assert numbers.set_params(mode="hard").transform(new).dtype == object
    with_texts = imputer(method="commonest").fit(rows).transform(new)
    assert with_texts.dtype == object
    assert [type(cell) for cell in with_texts[0, :3]] == [str, float, float]


def test_columns_of_an_array_are_numbered():
    rows, new, _ = tables()
    columns = ["age", "job"]
    schema = {
        "columns": {
            "x0": {"role": "ordinary", "type": "numeric"},
            "x1": {"role": "complementary", "values": ["clerk", "nurse", "farmer"]},
        }
    }
    numbered = ComplementaryImputer(schema, k=5, **QUICK).fit(rows[columns].to_numpy()[:ROWS])
    values = ["clerk", "nurse", "farmer"]
    assert [*numbered.get_feature_names_out()] == ["x0", *(f"x1__{value}" for value in values)]
    assert [*numbered.get_feature_names_out(columns)] == ["age", *SOFT[:3]]
    named = ComplementaryImputer(
        {"columns": dict(zip(columns, schema["columns"].values(), strict=True))}, k=5, **QUICK
    )
    some = new[columns][5:]
    assert (numbered.transform(some.to_numpy()) == named.fit(rows[columns]).transform(some)).all()


def test_a_schema_may_be_a_schema_a_mapping_a_text_or_a_file_and_stays_as_it_is(tmp_path):
    rows, new, _ = tables()
    path = tmp_path / "schema.yml"
    path.write_text(SCHEMA)
    schema = Schema.parse(SCHEMA)
    mapping = schema.model_dump(exclude_none=True, exclude={"settings"})
    before = pickle.dumps(mapping)
    given = [SCHEMA, schema, mapping, path, str(path)]
    found = [ComplementaryImputer(one, k=5, **QUICK).fit(rows).transform(new) for one in given]
    for other in found[1:]:
        assert (other[:, 2:] == found[0][:, 2:]).all()
    assert pickle.dumps(mapping) == before
    with pytest.raises(ValueError, match=r"found builtins\.int"):
        ComplementaryImputer(3).fit(rows)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 0}, "k: expected"),
        ({"method": "grap"}, "did you mean 'graph'"),
        ({"mode": "loud"}, "mode: expected"),
        ({"schema": "nowhere.yml"}, "nowhere.yml"),
        ({"schema": "{version: 1}"}, "columns"),
        ({"k": ROWS}, f"X: k = {ROWS} needs more than {ROWS} rows"),
        ({"method": "observed"}, "has no model to save"),
    ],
)
def test_what_is_wrong_is_a_value_error_as_scikit_learn_has_it(parameters, message):
    rows, _, _ = tables()
    with pytest.raises(ValueError, match=message):
        imputer(**parameters).fit(rows)


def test_wrong_cells_other_columns_and_another_order_are_refused():
    rows, new, _ = tables()
    fitted = imputer(method="commonest").fit(rows)
    with pytest.raises(ValueError, match="must be in the same order"):
        fitted.transform(new[[*reversed(new.columns)]])
    with pytest.raises(ValueError, match="seen at fit time, yet now missing"):
        fitted.transform(new.drop(columns="job"))
    with pytest.raises(ValueError, match="column 'job' is in the schema but not in the table"):
        imputer().fit(rows.drop(columns="job"))
    with pytest.raises(NotFittedError):
        imputer().transform(new)
    rows, new, _ = tables()
    fitted = imputer(method="commonest").fit(rows)
    with pytest.raises(
        ValueError, match=r"X: column 'job': 'nures' \(row 2\) is not in the domain"
    ):
        fitted.transform(new.assign(job=["nurse", "nures", *new["job"][2:]]))


def test_a_score_is_the_mean_of_the_batch_reports_scores():
    rows, new, _ = tables()
    fitted = imputer(k=15).fit(rows)
    columns = fitted.model_.apply(new).report.columns
    assert fitted.score(new) == pytest.approx(np.mean([cf.heldout_score for cf in columns]))
    assert fitted.score(new) > imputer(method="commonest").fit(rows).score(new)
    assert fitted.score(new.assign(ward="")) == pytest.approx(columns[0].heldout_score)
    with pytest.raises(ValueError, match="nothing to score"):
        fitted.score(new.assign(ward="", job=""))


def test_without_a_method_it_is_auto_unless_the_schema_or_no_folds_say_otherwise():
    X, _, _ = tables()  # noqa: N806 — scikit-learn's name

    def method(schema=SCHEMA, **parameters):
        found = ComplementaryImputer(schema, **{"folds": 2, **parameters}).fit(X)
        return found.report_.settings["method"]

    assert method() == "auto"
    assert method(SCHEMA.replace("{k: 5}", "{k: 5, method: graph}")) == "graph"
    assert method(method="boost") == "boost"
    assert method(folds=0) == "graph"
    assert method(SCHEMA.replace("{k: 5}", "{k: 5, folds: 0}"), folds=None) == "graph"


def test_a_score_is_the_same_whether_or_not_confidences_are_calibrated():
    table = generated(400, seed=0)
    rows, new = table.masked[:300], table.masked[300:]
    how = {"method": "graph", "k": 2, "keep_ordinary": False}
    too_sure = ComplementaryImputer(table.schema, **how)  # by so few neighbors
    raw, calibrated = (clone(too_sure).set_params(folds=folds).fit(rows) for folds in (0, 2))
    assert raw.score(new) == calibrated.score(new)
    assert abs(raw.transform(new) - calibrated.transform(new)).max() > 0.01


def test_a_clone_has_the_parameters_and_nothing_that_was_learned():
    rows, _, _ = tables()
    fitted = imputer(gamma=0.5).set_output(transform="pandas").fit(rows)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "model_")
    assert not hasattr(copy, "report_")
    assert isinstance(copy.fit_transform(rows), pd.DataFrame)


@pytest.mark.parametrize("schema", [SCHEMA, Schema.parse(SCHEMA)], ids=["text", "schema"])
def test_pickles_hold_parameters_and_what_was_learned(schema):
    rows, new, _ = tables()
    fitted = pickle.loads(pickle.dumps(imputer(schema=schema))).fit(rows)
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.transform(new)[:, 2:] == fitted.transform(new)[:, 2:]).all()
    assert again.report_ == fitted.report_


def test_a_fitted_model_is_saved_and_applied_without_scikit_learn(tmp_path):
    rows, new, _ = tables()
    fitted = imputer(keep_ordinary=False).fit(rows)
    fitted.model_.save(tmp_path / "m.cfl")
    loaded = Model.load(tmp_path / "m.cfl")
    assert (loaded.apply(new).frame[SOFT].to_numpy() == fitted.transform(new)).all()


def learner():
    """Return a pipeline that takes the sexes apart and predicts from all that is known."""
    sexes = ColumnTransformer(
        [("sex", OneHotEncoder(), ["sex"])],
        remainder=StandardScaler(),
        verbose_feature_names_out=False,
    )
    filled = imputer(method="commonest").set_output(transform="pandas")
    return make_pipeline(filled, sexes, LogisticRegression())


def test_a_pipeline_predicts_rows_that_nothing_has_seen():
    rows, new, target = tables()
    complete = new[new["age"] != "?"]
    assert learner().fit(rows, target).predict(complete).shape == (len(complete),)
    scores = cross_val_score(learner(), rows, target, cv=3)
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()


def test_settings_are_searched_without_labels():
    rows, _, _ = tables()
    graph = {"method": ["graph"], "k": np.array([3, 9]), "gamma": [0, 0.25]}
    settings = [graph, {"method": ["commonest"]}]
    search = GridSearchCV(imputer(), settings, cv=2, error_score="raise").fit(rows)
    tried = search.cv_results_
    assert search.best_params_["method"] == "graph"
    assert search.best_score_ == max(tried["mean_test_score"])
    half = ROWS // 2
    by_hand = [
        clone(search.estimator).set_params(**tried["params"][0]).fit(seen).score(unseen)
        for seen, unseen in [(rows[half:], rows[:half]), (rows[:half], rows[half:])]
    ]
    assert tried["mean_test_score"][0] == pytest.approx(np.mean(by_hand))


def test_settings_are_searched_with_labels():
    rows, _, target = tables()
    settings = {"complementaryimputer__method": ["graph", "commonest"]}
    search = GridSearchCV(learner(), settings, cv=2, error_score="raise").fit(rows, target)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_without_scikit_learn_the_door_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    monkeypatch.delitem(sys.modules, "cfl_cli.sklearn")
    with pytest.raises(ImportError, match=r"pip install 'cfl-cli\[sklearn\]'"):
        importlib.import_module("cfl_cli.sklearn")
