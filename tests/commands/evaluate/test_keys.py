import numpy as np
import pandas as pd
import polars as pl
import pytest

from cfl_cli import Schema, evaluate
from cfl_cli.commands.evaluate.job import match
from cfl_cli.errors import DataError
from cfl_cli.schema.model import Complementary, Ordinary

SCHEMA = Schema(
    missing=("", "NA"),
    columns={"x": Ordinary(type="numeric"), "cf": Complementary(values=("a", "b", "c"))},
)
OUT = pl.DataFrame(
    {
        "id": ["7", "8", "9", "10"],
        "x": range(4),
        "cf": ["a", "b", "c", ""],
        "cf_imputed": ["b", "a", "b", "a"],
        "cf_confidence": [0.75, 0.5, 0.75, 0.5],
    }
)
TRUTH = pl.DataFrame({"id": ["7", "8", "9", "10"], "cf": ["b", "c", "a", "a"]})


def rows(one, other, *key, schema=SCHEMA):
    found, warnings = match(one, other, key or ("id",), schema, name="out", other_name="truth")
    return found.tolist(), tuple(warnings)


def test_the_order_of_the_truth_does_not_matter_if_rows_are_matched_by_a_key():
    expected = evaluate(OUT, TRUTH, SCHEMA)
    found = evaluate(OUT, TRUTH[[2, 0, 3, 1]], SCHEMA, key="id")
    assert found.columns == expected.columns
    assert (found.key, found.warnings) == (("id",), ())
    numbers = pd.DataFrame({"id": [9.0, 7.0, 10.0, 8.0], "cf": ["a", "b", "a", "c"]})
    assert evaluate(OUT.to_pandas(), numbers, SCHEMA, key=["id"]).columns == expected.columns


def test_matching_is_that_of_a_double_loop_over_two_columns():
    rng = np.random.default_rng(0)
    pairs = [(str(a), str(b)) for a in range(12) for b in range(12)]
    one, other = (
        pl.DataFrame(
            [pairs[place] for place in rng.permutation(144)[:90]], ["a", "b"], orient="row"
        )
        for _ in range(2)
    )
    listed = other.rows()
    expected = [listed.index(row) if row in listed else -1 for row in one.rows()]
    found, warnings = rows(one, other, "a", "b")
    assert found == expected
    missing = expected.count(-1)
    assert [words.split(" (")[0] for words in warnings] == [
        f"out: {missing} rows not in truth",
        f"truth: {missing} rows not in out",
    ]


def test_blanks_and_decimals_of_whole_numbers_count_only_if_they_tell_keys_apart():
    numbers = pl.DataFrame({"id": [1.0, 2.0, 30.0]})
    assert rows(pl.DataFrame({"id": [" 2", "30\u00a0", "1"]}), numbers)[0] == [1, 2, 0]
    versions = pl.DataFrame({"id": ["1", "1.0"]})
    assert rows(versions, versions[::-1])[0] == [1, 0]


def test_rows_without_a_partner_are_counted_and_named():
    one = pl.DataFrame({"id": ["1", "2", None, "NA", "5"]})
    other = pl.DataFrame({"id": ["5", "6", "", "1", "7", "8", "9"]})
    assert rows(one, other) == (
        [3, -1, -1, -1, 0],
        (
            "out: 2 rows without a key (rows 3, 4): counted without a true value",
            "out: 1 row not in truth (row 2): counted without a true value",
            "truth: 1 row without a key (row 3): not used",
            "truth: 4 rows not in out (rows 2, 5, 6 …): not used",
        ),
    )


def test_rows_that_the_truth_lacks_are_not_known():
    part = evaluate(OUT, TRUTH[[3, 1]], SCHEMA, key="id")
    alone = evaluate(OUT[[1, 3]], TRUTH[[1, 3]], SCHEMA)
    assert (part.rows, part.columns[0].known) == (4, 2)
    assert part.columns[0].accuracy == alone.columns[0].accuracy


def test_keys_that_name_no_single_row_are_refused():
    twice = pl.DataFrame({"id": ["1", "2", "1", "2", "3", "1"]})
    once = pl.DataFrame({"id": ["1", "2"]})
    with pytest.raises(DataError, match=r"truth: 2 keys occur in several rows, in column 'id': "):
        rows(once, twice)
    with pytest.raises(
        DataError, match=r"'1' in rows 1, 3, 6; '2' in rows 2, 4: remove the copies"
    ):
        rows(twice, once)
    later = pl.DataFrame({"id": ["1", "2", "2"]})  # the first key of the table stands once
    with pytest.raises(DataError, match=r"a key occurs in several rows, .*'2' in rows 2, 3"):
        rows(later, once)
    with pytest.raises(DataError, match=r"truth: no column 'id' \(did you mean 'ID'\?\)"):
        rows(once, once.rename({"id": "ID"}))
    with pytest.raises(DataError, match="out: none of its keys is in truth: compare column 'id'"):
        rows(once, once.with_columns(id=pl.lit("x") + pl.col("id")))
    with pytest.raises(DataError, match="out: column 'id' holds List"):
        rows(pl.DataFrame({"id": [[1]]}), once)
    with pytest.raises(DataError, match="out: the table has no rows to score"):
        rows(once.clear(), once)
