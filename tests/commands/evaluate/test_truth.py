"""True values become places in the domain; what does not fit is refused with its row."""

import polars as pl
import pytest

from cfl_cli.commands.evaluate import job
from cfl_cli.encode.cells import Cells
from cfl_cli.encode.findings import Problems
from cfl_cli.errors import DataError
from cfl_cli.schema.model import Schema

OF = {"role": "ordinary", "type": "numeric"}


def schema(**entries):
    return Schema(columns={"x": OF, "cf": {"role": "complementary", **entries}}, missing=["", "?"])


def read(cells, **entries):
    return job.read_truths(pl.DataFrame({"cf": cells}), schema(**entries), name="t.csv")


def refused(cells, **entries):
    with pytest.raises(DataError) as caught:
        read(cells, **entries)
    return list(caught.value.texts)


def test_cells_become_places_in_the_listed_domain_in_its_order():
    (cf,), warnings = read(["b", "?", "a", None], values=["c", "b", "a"])
    assert cf.values == ("c", "b", "a")
    assert cf.places.tolist() == [1, -1, 2, -1]
    assert warnings == []


def test_without_a_list_the_values_seen_are_the_domain_with_a_warning():
    (cf,), (warning,) = read(["b", "a", "b"])
    assert cf.values == ("a", "b")
    assert cf.places.tolist() == [1, 0, 1]
    assert "column 'cf': the schema gives no values" in warning


def test_values_outside_the_domain_are_named_with_their_rows_by_cause():
    first, second = refused(["a", "B", "b", "d", "d"], values=["a", "b"])
    assert first == (
        "t.csv: column 'cf': 2 cells like 'd' (rows 4, 5) are not in the domain: correct them or "
        "add it to the column's `values`"
    )
    assert second == (
        "t.csv: column 'cf': 'B' (row 2) matches a value but for blanks or case: write 'b'"
    )


def test_cells_that_hold_several_values_are_not_true_ones():
    (message,) = refused(["a", "a;b", "b; c"], values=["a", "b", "c"], separator=";")
    assert message == (
        "t.csv: column 'cf': 2 cells like 'a;b' (rows 2, 3) hold several values, as exclusions do: "
        "pass a table of true values, one in each cell"
    )


def test_one_value_seen_is_not_a_domain():
    (message,) = refused(["a", "a"])
    assert message.startswith("t.csv: column 'cf': 1 different value seen")


def test_a_value_that_a_cell_could_not_rule_out_is_refused():
    (message,) = refused(["a", "b;c", "c"], separator=";", exact="=")
    assert message.startswith(
        "t.csv: column 'cf': 'b;c' (row 2) holds a mark, and no cell in which"
    )
    assert "';' and '=' are marks" in message
    (message,) = refused(["a", "=b", "c"], exact="=")
    assert "'=' is a mark" in message


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(DataError, match="t: column 'cf' is in the schema but not in the table"):
        job.read_truths(pl.DataFrame({"x": ["1"]}), schema(values=["a", "b"]), name="t")


def test_places_notes_what_does_not_fit_and_goes_on():
    problems = Problems("t", schema(values=["a", "b"]))
    cells = Cells.of(pl.Series("cf", ["a", "z", "b"]), schema(values=["a", "b"]))
    assert job.value_indices(cells, ("a", "b"), problems).tolist() == [0, -1, 1]
    assert len(problems.found) == 1
