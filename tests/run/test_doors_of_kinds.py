"""What commands say of cells that are blocks, noisy or learned from a reference."""

import numpy as np
import polars as pl
import pytest

import cfl_cli
from cfl_cli.encode.encode import encode
from cfl_cli.errors import DataError, UsageError
from cfl_cli.methods.interface import Estimate, Hidden, Origin
from cfl_cli.run import learn
from cfl_cli.schema.model import Schema

VALUES = [*"abcd"]
TREE = {"ab": ["a", "b"], "cd": ["c", "d"]}
BLOCKS = {"hierarchy": TREE}
NOISY = {"values": VALUES, "mechanism": {"keep": 0.5}}


def table(cells, n=150, spread=0.8):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, n)
    x = truth + rng.normal(0, spread, n)
    return truth, pl.DataFrame({"x": x, "cf": [cells(v, rng) for v in truth]})


def schema(**cf):
    x = {"role": "ordinary", "type": "numeric"}
    return {"version": 1, "columns": {"x": x, "cf": {"role": "complementary", **cf}}}


def block(v, _):
    return "ab" if v < 2 else "cd"


def stated(v, rng):
    return VALUES[v] if rng.random() < 0.5 else VALUES[(v + rng.integers(1, 4)) % 4]


def right(result, truth):
    return float((result.frame["cf_imputed"].to_numpy() == np.array(VALUES)[truth]).mean())


@pytest.mark.parametrize("mode", ["hard", "soft"])
def test_an_audit_counts_values_imputed_together_as_correct_if_one_of_them_is_true(mode):
    truth, cells = table(block)
    result = cfl_cli.impute(cells, schema(**BLOCKS), mode=mode)
    drawn = cfl_cli.audit(result, draw=20)
    rows = drawn["cfl_row"].to_numpy() - 1
    checked = drawn.with_columns(cf=pl.Series(np.array(VALUES)[truth[rows]]))
    assert cfl_cli.audit(result, checked=checked).audits["cf"].right == 20


def test_columns_of_ancestors_are_empty_where_a_column_is_kept():
    _, cells = table(lambda v, rng: VALUES[rng.integers(0, 4)], 60)
    schema_of = schema(**BLOCKS)
    result = cfl_cli.impute(cells, schema_of, keep_flagged=True)
    assert result.frame.columns[-2:] == ["cf_ancestor", "cf_ancestor_confidence"]


def test_noisy_cells_are_imputed_as_they_were_judged():
    """A method that has seen a cell says it again, so that the cell would count twice."""
    _, cells = table(stated, 200)
    encoded = encode(cells, Schema.of(schema(**NOISY)))
    seen = np.eye(4)[[VALUES.index(cell) for cell in cells["cf"]]]
    one = np.ones((200, 1))
    origins = (Origin("graph"),)
    hidden = Hidden(np.arange(200)[::-1], np.full((200, 4), 0.25))
    estimate = Estimate(seen, one == 0, one, origins, hidden=hidden)
    found = learn.out_of_sample(encoded, estimate).confidences
    assert found == pytest.approx(np.where(seen == 1, 0.5, 0.5 / 3))


def test_the_accuracy_of_answers_that_are_the_cells_has_the_error_of_the_draw():
    _, cells = table(stated, 200, spread=1e6)
    known = cfl_cli.impute(cells, schema(**NOISY), method="boost").report["cf"].estimated_accuracy
    assert known.high - known.low > 2 * 1.9 * (0.25 / 200) ** 0.5


def test_blocks_are_not_flagged_for_what_nothing_could_tell_apart():
    _, cells = table(block)
    column = cfl_cli.impute(cells, schema(**BLOCKS)).report["cf"]
    assert not column.flagged
    assert column.imputed_together == {"ab": (1, 2), "cd": (3, 4)}


def test_an_explanation_names_the_imputed_value_as_the_output_does():
    _, cells = table(block)
    (cf,) = cfl_cli.explain(cells, schema(**BLOCKS), 1).cfs
    assert cf.written == cf.together.values == cells["cf"][0]
    (cf,) = cfl_cli.explain(table(stated)[1], schema(**NOISY), 1).cfs
    assert cf.cell.kind == "stated"
    assert cf.cell.ruled_out == ()


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        (pl.DataFrame({"x": [1.0, 2.0]}), "reference-no-column"),
        (pl.DataFrame({"x": [], "cf": []}, schema={"x": float, "cf": str}), "reference-empty"),
    ],
)
def test_a_reference_that_cannot_be_learned_from_is_refused(reference, code):
    _, cells = table(block)
    with pytest.raises(DataError) as caught:
        cfl_cli.impute(cells, schema(**BLOCKS), reference=reference)
    assert [one.code for one in caught.value.problems] == [code]


def test_a_reference_is_refused_before_there_is_a_run_directory(tmp_path):
    truth, cells = table(block)
    known = cells.with_columns(cf=pl.Series([VALUES[v] for v in truth]))
    with pytest.raises(UsageError, match="leave run_dir and engine out, or reference"):
        cfl_cli.impute(cells, schema(**BLOCKS), reference=known, run_dir=str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_a_risk_of_noisy_cells_proposes_no_further_exclusion():
    found = cfl_cli.risk(table(stated)[1], schema(**NOISY), method="forest")
    (column,) = found.columns
    assert not any("exclusion" in one.way for one in column.otherwise)


def test_an_evaluation_says_which_rows_name_several_values():
    truth, cells = table(block)
    result = cfl_cli.impute(cells, schema(**BLOCKS))
    known = pl.DataFrame({"cf": np.array(VALUES)[truth]})
    (scores,) = cfl_cli.evaluate(result.frame, known, schema(**BLOCKS)).columns
    assert scores.several == scores.unanswered == len(truth)


def test_a_table_of_codes_has_two_columns(tmp_path):
    (tmp_path / "codes.csv").write_text("old,new,label\nA,a,one\nA,b,two\n")
    with pytest.raises(cfl_cli.SchemaError, match="keep two, the old code and the new one"):
        cfl_cli.Schema.of(schema(codes=str(tmp_path / "codes.csv")))
