import json
from dataclasses import replace
from hashlib import sha256

import numpy as np
import polars as pl
import pytest
from builders.reports import without_checksums
from builders.tables import SCHEMA, table
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from cfl_cli import DataError, Model, UsageError, check, fit, impute
from cfl_cli.commands.apply import batch
from cfl_cli.core.draws import FITTED, JUDGED, draw
from cfl_cli.core.settings import METHODS
from cfl_cli.run import fit as fitting
from cfl_cli.run import result as row_filler
from cfl_cli.run.fit import Sample, compact
from cfl_cli.schema.model import Schema
from cfl_cli.tables import table as tables

pytestmark = pytest.mark.usefixtures("learning_quickly")
LEARNING = [name for name, traits in METHODS.items() if traits.learns]
NEW = table(23, seed=5)


@pytest.fixture(scope="module", params=LEARNING)
def model(request):
    return fit(table(), SCHEMA, method=request.param)


@pytest.fixture(scope="module")
def quickest():
    return fit(table(), SCHEMA, method="commonest")


def confidences(result):
    return np.hstack([*result.confidences.values()])


def test_a_model_says_the_same_after_a_file_for_any_block_any_split_and_any_order(
    model, tmp_path, monkeypatch
):
    whole = model.apply(NEW, mode="both", jobs=1)
    assert confidences(whole).shape == (23, 7)
    loaded = Model.load(_saved(model, tmp_path))
    assert_frame_equal(loaded.apply(NEW, mode="both", jobs=2).frame, whole.frame)
    parts = [loaded.apply(NEW[part], mode="both").frame for part in (slice(8), slice(8, 23))]
    assert_frame_equal(pl.concat(parts), whole.frame)
    order = np.random.default_rng(0).permutation(23)
    assert_frame_equal(loaded.apply(NEW[order], mode="both").frame, whole.frame[order])
    for rows in (1, 7):
        monkeypatch.setattr(row_filler, "ROWS_AT_ONCE", rows)
        again = model.apply(NEW, mode="both")
        assert_frame_equal(again.frame, whole.frame)
        assert again.report.columns == whole.report.columns


def _saved(model, folder):
    model.save(folder / "m.cfl")
    return folder / "m.cfl"


@pytest.mark.parametrize("name", ["boost", "net", "commonest"])
def test_what_keeps_no_rows_says_of_fitted_ones_what_imputing_says(name):
    imputed = impute(table(), SCHEMA, method=name, mode="both", keep_model=True)
    assert_frame_equal(imputed.model.apply(table(), mode="both").frame, imputed.frame)


def test_an_own_cell_never_changes_the_prior_of_its_cf(model, workers):
    changed = NEW.with_columns(one=pl.Series(["a"] * 11 + ["=c"] * 12))
    answers = []
    for frame in (NEW, changed):
        new = batch.NewRows(model, model.settings, workers, name="new")
        [*new.add([(0, frame)], batch.Here(model, workers))]
        answers.append(new.sample.drawn()[2]["priors"])
    np.testing.assert_array_equal(answers[0][:, :3], answers[1][:, :3])


def test_models_of_one_table_are_one_file(tmp_path):
    files = []
    for jobs in (1, 4):
        fit(table(), SCHEMA, method="graph", jobs=jobs).save(tmp_path / "m.cfl")
        files.append((tmp_path / "m.cfl").read_bytes())
    assert files[0] == files[1]
    loaded = Model.load(tmp_path / "m.cfl")
    loaded.save(tmp_path / "again.cfl")
    assert (tmp_path / "again.cfl").read_bytes() == files[0]
    assert loaded.checksum == fit(table(), SCHEMA, method="graph").checksum


def test_what_is_unusual_in_new_rows_is_counted_and_answered(quickest):
    odd = NEW.with_columns(
        x=pl.Series(["7.5", "", *NEW["x"][2:]]),
        place=pl.Series(["moon"] * 12 + [*NEW["place"][12:]]),
    )
    result = quickest.apply(odd.with_columns(more=pl.lit(1)))
    assert result.frame.columns[-1] == "two_confidence"
    assert result.frame["two_imputed"].null_count() == 0
    warnings = "\n".join(result.report.warnings)
    assert "column 'x': 1 missing cell filled in" in warnings
    assert "column 'x': 2 numbers outside the fitted range" in warnings
    assert "column 'place': 12 cells" in warnings
    assert result.report.batch.new_categories == {"place": pytest.approx(12 / 23)}
    assert "new-categories" in result.report.columns[0].flags


def test_a_missing_column_is_named_with_a_way_out(quickest):
    with pytest.raises(DataError, match=r"new: column 'place' .*the model needs it"):
        quickest.apply(NEW.drop("place"), name="new")


def test_a_cell_outside_the_domain_is_named_by_its_row_in_the_whole_table(quickest, monkeypatch):
    monkeypatch.setattr(row_filler, "ROWS_AT_ONCE", 4)
    wrong = NEW.with_columns(two=pl.Series([*NEW["two"][:21], "z", "p"]))
    with pytest.raises(DataError, match=r"column 'two': 'z' \(row 21\) is not in the domain"):
        quickest.apply(wrong)


@pytest.mark.parametrize("rows", [0, 1])
def test_no_rows_and_one_row_are_answered(model, rows):
    result = model.apply(NEW.head(rows))
    assert result.frame.height == result.report.rows == rows
    assert result.confidences["one"].shape == (rows, 3)
    assert result.report.to_json()


def test_only_what_is_written_may_differ_from_fitting(quickest):
    with pytest.raises(TypeError, match="unexpected keyword argument 'k'"):
        quickest.apply(NEW, k=3)
    assert quickest.apply(NEW, min_confidence=0.99).frame["two_imputed"].null_count() == 23
    assert quickest.apply(NEW, mode="soft").frame.columns[6:8] == ["one__a", "one__b"]


def test_pandas_and_pyarrow_tables_come_back_as_such(quickest):
    whole = quickest.apply(NEW).frame
    assert quickest.apply(NEW.to_pandas()).frame.columns.tolist() == whole.columns
    arrow = quickest.apply(NEW.to_arrow()).frame
    assert arrow.column_names == whole.columns
    assert arrow["two_imputed"].to_pylist() == whole["two_imputed"].to_list()


def test_without_folds_there_is_no_test_of_drift_and_the_report_says_so():
    result = fit(table(), SCHEMA, method="graph", folds=0).apply(NEW)
    assert result.report.columns[0].drift is None
    assert "no cells were held out at fitting" in result.report.columns[0].drift_reason


def test_rows_that_the_model_was_fitted_to_are_warned_of():
    known = table(1500, seed=2).with_columns(two=pl.Series([*"pqrs"] * 375))  # noise
    model = fit(known, SCHEMA, gamma=0.0)
    assert not any("far better" in said for said in model.apply(table(500, 3)).report.warnings)
    (warned,) = (said for said in model.apply(known).report.warnings if "far better" in said)
    assert warned.startswith("two: predicted far better than at fitting")


def test_what_is_no_table_is_refused_as_such_and_a_model_shows_nothing_of_one(quickest):
    assert repr(quickest) == "Model(commonest, 60 rows, 2 CFs)"
    with pytest.raises(UsageError, match="expected a polars, pandas or pyarrow table"):
        quickest.apply([1, 2])


CONTENT = fit(table(), SCHEMA, method="commonest").content
COLUMNS = CONTENT.more["reference"]["columns"]
OTHER_CFS = json.dumps(without_checksums(json.loads(CONTENT.report))).replace('"one"', '"three"')


def more(**changes):
    return replace(CONTENT, more={**CONTENT.more, **changes})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (more(powers=[1.0]), "it does not have one calibration power per CF"),
        (more(powers=[0.0, 1.0]), "a power must be a number"),
        (more(powers=["1", None]), "a power must be a number"),
        (more(reference={"columns": [{**COLUMNS[0], "shares": [1.0]}, COLUMNS[1]]}), "shares are"),
        (more(reference={"columns": [{**COLUMNS[0], "low": 0}, COLUMNS[1]]}), "and nothing else"),
        (more(reference={"columns": []}), "drift has 0 CFs"),
        (replace(CONTENT, settings={**CONTENT.settings, "k": 0}), "its settings: k:"),
        (replace(CONTENT, settings={**CONTENT.settings, "x": 0}), "do not fit this cfl"),
        (replace(CONTENT, settings={**CONTENT.settings, "method": "graph"}), "another method"),
        (replace(CONTENT, schema="version: 1\n"), "its schema: "),
        (replace(CONTENT, schema="a: &x [*x]\n"), "its schema: "),
        (replace(CONTENT, encoding={}), "'ordinary'"),
        (replace(CONTENT, report=OTHER_CFS), "its report has other CFs"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(content, words, tmp_path):
    path = tmp_path / "m.cfl"
    content.write(path)
    with pytest.raises(DataError) as refusal:
        Model.load(path)
    assert words in str(refusal.value)
    assert str(refusal.value).startswith(f"{path}: is damaged")
    assert "\n" not in str(refusal.value)


def test_the_schema_is_kept_without_its_comments(tmp_path):
    written = Schema.parse(f"# dates like '25.2.1962'\n{SCHEMA.text}# Miller, ward 7\n")
    fit(table(), written, method="commonest").save(tmp_path / "m.cfl")
    held = (tmp_path / "m.cfl").read_bytes()
    assert b"1962" not in held
    assert b"Miller" not in held
    kept = Model.load(tmp_path / "m.cfl")
    assert (kept.schema, kept.schema.run) == (written, written.run)
    assert kept.sources.schema_sha256 == sha256(written.text.encode()).hexdigest()


def test_a_part_of_a_list_that_counts_as_missing_says_nothing():
    ages = [3, 4, 5, 6, 7, 8] * 4
    cells = ["a|b", "b|unknown", "unknown|NA", "c", "unknown", "c| unknown"] * 4
    plain = ["a|b", "b", None, "c", None, "c"] * 4
    cf = {"role": "complementary", "separator": "|", "missing": ["unknown"]}
    age = {"role": "ordinary", "type": "numeric"}
    for values in ({"values": ["a", "b", "c"]}, {}):
        schema = {"missing": ["", "NA"], "columns": {"dx": {**cf, **values}, "age": age}}
        frames = [
            pl.DataFrame({"dx": dx, "age": ages})
            for dx in (cells, plain, [cell.split("|") for cell in cells])
        ]
        assert not check(frames[0], schema).problems
        written, said, listed = (impute(one, schema, method="observed").frame for one in frames)
        for column in ("dx_imputed", "dx_confidence"):
            assert written[column].equals(said[column])
            assert listed[column].equals(said[column])


def drawn(cuts, *, size, seed=3):
    sample = Sample(size, seed)
    first = 0
    for length in cuts:
        numbers = np.arange(first, first + length)
        sample.add(pl.DataFrame({"x": numbers}), squares=numbers**2)
        first += length
    return sample.drawn()


@given(st.lists(st.integers(0, 30), min_size=1, max_size=8), st.integers(1, 40))
def test_the_rows_are_those_with_the_smallest_random_numbers_however_the_stream_is_cut(cuts, size):
    (rows, cells, arrays), n = drawn(cuts, size=size), sum(cuts)
    expected = np.sort(np.argsort(draw(np.arange(n), JUDGED, 3))[:size])
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_array_equal(cells["x"], expected)
    np.testing.assert_array_equal(arrays["squares"], expected**2)
    assert size < n or rows.tolist() == list(range(n))  # all of a short stream


@pytest.mark.parametrize("cut", [1, 7, 1000])
def test_never_more_than_twice_the_rows_and_a_block_are_held(cut):
    sample = Sample(20, 0)
    for _ in range(1000 // cut):
        sample.add(pl.DataFrame({"x": np.zeros(cut)}))
        assert len(sample) <= 40


def test_texts_of_rows_that_are_gone_are_not_held():
    sample = Sample(50, 0)
    for _ in range(100):
        sample.add(pl.DataFrame({"x": ["text" * 50] * 500}))
    assert sample.drawn()[1].estimated_size() < 50 * 300
    assert compact(pl.DataFrame({"x": ["text" * 50] * 500})[:2]).estimated_size() < 1000


@pytest.mark.parametrize("cuts", [[30], [7, 0, 11, 12]])
def test_rows_that_are_left_out_never_stay(cuts):
    sample, first = Sample(10, 3), 0
    sample.left_out = np.array([0, 6, 7, 20, 29])
    for length in cuts:
        sample.add(pl.DataFrame({"x": np.arange(first, first + length)}))
        first += length
    others = np.setdiff1d(np.arange(30), sample.left_out)
    expected = np.sort(others[np.argsort(draw(others, JUDGED, 3))[:10]])
    assert sample.drawn()[1]["x"].to_list() == expected.tolist()


ROWS = np.sort(np.argsort(draw(np.arange(60), FITTED, 0))[:40])


def part(frame, size=40):
    settings = SCHEMA.settings.override(sample=size)
    return fitting.part_of(frame, SCHEMA, settings, name="table", progress=lambda *_: None)


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_rows_of_any_kind_of_table_are_drawn_by_their_numbers(kind):
    frame = {"polars": table(), "pandas": table().to_pandas(), "pyarrow": table().to_arrow()}[kind]
    found = part(frame)
    assert found.rows.tolist() == ROWS.tolist()
    assert found.frame["x"].to_list() == table()["x"][ROWS].to_list()
    assert found.frame.columns == table().columns
    assert found.frame["id"].is_null().all()


@pytest.mark.parametrize("rows", [7, 32_768])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_on_disk_has_the_same_rows_in_blocks_of_any_size(
    tmp_path, monkeypatch, rows, ending
):
    monkeypatch.setattr(fitting, "AT_ONCE", rows)
    path = tmp_path / f"table.{ending}"
    write = pl.DataFrame.write_csv if ending == "csv" else pl.DataFrame.write_parquet
    write(table(), path)
    with tables.reading(tables.Place.to_read(str(path))) as stored:
        found = part(stored).frame
    for column in ("x", "one", "two"):
        assert found[column].to_list() == table()[column][ROWS].to_list()


def test_a_sample_of_all_rows_is_the_table_and_another_seed_draws_other_rows():
    frame = table()
    assert part(frame, 60).frame is frame
    assert part(frame, 61).facts is None
    settings = SCHEMA.settings.override(sample=40, seed=1)
    other = fitting.part_of(table(), SCHEMA, settings, name="t", progress=lambda *_: None)
    assert other.rows.tolist() != ROWS.tolist()


def test_a_sample_is_learned_from_as_a_table_of_these_rows():
    sampled = fit(table(), SCHEMA, method="commonest", sample=40)
    alone = fit(table()[ROWS], SCHEMA, method="commonest")
    assert sampled.report.columns == alone.report.columns
    assert (sampled.report.sample.rows, sampled.report.sample.of) == (40, 60)
    assert (sampled.fitted.shares == alone.fitted.shares).all()
