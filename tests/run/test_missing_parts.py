"""A part of a CF's cell that counts as missing is as if it were not there."""

import polars as pl

from cfl_cli import check, impute


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
