"""Fences stand where nearly all cells are, whatever the others hold."""

import numpy as np
import polars as pl
import pytest

from cfl_cli.core.state import StateError
from cfl_cli.encode.columns import fences
from cfl_cli.encode.encode import Encoding, encode
from cfl_cli.schema.model import Schema

STEPS = np.linspace(0, 1, 101)  # 0.00, 0.01 … 1.00


def table(numbers):
    cells = np.resize(["a", "b", "c"], len(numbers))
    return pl.DataFrame({"x": numbers, "y": np.arange(len(numbers)) % 7, "cf": cells})


def schema(**keys):
    numeric = {"role": "ordinary", "type": "numeric"}
    return Schema(
        columns={
            "x": numeric | keys,
            "y": numeric,
            "cf": {"role": "complementary", "values": ["a", "b", "c"]},
        }
    )


@pytest.mark.parametrize("wild", [[10.0], [-10.0], [10.0, -1e5], [1e5] * 5, [-7.0] * 5])
def test_up_to_a_twentieth_of_wild_cells_does_not_move_them(wild):
    assert fences(np.concatenate([STEPS, wild])) == (0.0, 1.0)


def test_one_wild_cell_of_a_short_column_does_not_either():
    assert fences(np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 50.0])) == (0.0, 0.5)


def test_a_number_that_nearly_all_cells_hold_is_inside_beside_most_of_the_others():
    # Of the twenty others, 1 to 19 and 5000, the ends are 2 and 19; with 0, that is 0 to 19.
    others = [*range(1, 20), 5000]
    assert fences(np.array([0.0] * 980 + others)) == (0.0, 19.0)


def test_two_different_numbers_are_never_fenced_into_one():
    rng = np.random.default_rng(0)
    for _ in range(500):
        numbers = rng.choice([-1e-300, 0.0, 1e-9, 0.5, 1.0], rng.integers(1, 60))
        lower, upper = fences(numbers)
        assert numbers.min() <= lower <= upper <= numbers.max()
        assert (lower < upper) == (len(np.unique(numbers)) > 1)


def test_a_robust_column_is_scaled_between_the_fences_and_ends_there():
    numbers = np.concatenate([[1000.0], STEPS[::4] * 40])  # 0 to 40, and 1000
    encoded = encode(table(numbers), schema(scale="robust"))
    np.testing.assert_allclose(encoded.features[:, 0], [1.0, *STEPS[::4]], rtol=1e-12)


def test_without_wild_cells_robust_and_min_max_give_the_same_features():
    numbers = STEPS * 40 - 3
    robust, plain = (encode(table(numbers), schema(scale=it)) for it in ("robust", "minmax"))
    np.testing.assert_array_equal(robust.features, plain.features)


def test_missing_cells_are_the_median_and_have_no_say_about_the_fences():
    numbers = [*range(21), 9000, *[None] * 78]
    encoded = encode(table(numbers), schema(scale="robust"))
    np.testing.assert_allclose(encoded.features[:21, 0], np.arange(21) / 20)
    np.testing.assert_allclose(encoded.features[22:, 0], 10.5 / 20)


def test_the_schema_may_scale_all_columns_and_a_column_otherwise():
    both = Schema(scale="robust", columns=schema(scale="minmax").columns)
    assert (both.scale_of("x"), both.scale_of("y")) == ("minmax", "robust")
    assert schema().scale_of("x") == "minmax"
    assert "scale" not in schema().plain_text


def test_later_rows_are_scaled_by_the_fences_of_the_fitted_ones():
    fitted = encode(table([*range(41), 5000]), how := schema(scale="robust"))
    kept = Encoding.from_facts(fitted.encoding.facts(how), how)
    new = encode(table([20, -7, 100, 6000]), how, encoding=kept)
    assert new.features[:, 0].tolist() == [0.5, 0.0, 1.0, 1.0]
    assert new.unusual.columns["x"].out_of_range == 2  # −7 and 6000; 100 lies in the fitted range


@pytest.mark.parametrize(
    "change",
    [
        *({"lower": -1.0}, {"upper": 2.0}, {"lower": 0.0, "upper": 0.0}, {"upper": float("nan")}),
        {"upper": "x"},
        {"lower": None},
    ],
)
def test_fences_that_no_column_can_have_are_refused(change):
    how = schema(scale="robust")
    facts = encode(table([*range(41), 5000]), how).encoding.facts(how)
    facts["ordinary"]["x"] |= change
    with pytest.raises(StateError, match="'x'"):
        Encoding.from_facts(facts, how)


def test_fences_are_refused_for_a_column_that_is_scaled_by_min_and_max():
    robust, plain = schema(scale="robust"), schema(scale="minmax")
    facts = encode(table([*range(41), 5000]), robust).encoding.facts(robust)
    with pytest.raises(StateError, match="more than what is fitted"):
        Encoding.from_facts(facts, plain)
