"""Tables of one column under test, and what becomes of them."""

import polars as pl
import pytest

from cfl_cli.encode.encode import encode
from cfl_cli.errors import DataError
from cfl_cli.schema.model import Complementary, Ordinary, Schema

NUMERIC = Ordinary(type="numeric")
ABC = Complementary(values=["a", "b", "c"])


def features(cells, of, **schema):
    """Return the columns that one OF becomes; another OF that varies stands beside it."""
    frame = pl.DataFrame({"of": cells, "row": range(len(cells)), "cf": ["a"] * len(cells)})
    found = encode(frame, Schema(columns={"of": of, "row": NUMERIC, "cf": ABC}, **schema))
    return found.features[:, :-1].T.tolist()


def encoded(cells, cf, **schema):
    frame = pl.DataFrame({"of": range(len(cells)), "cf": cells})
    return encode(frame, Schema(columns={"of": NUMERIC, "cf": cf}, **schema))


def candidates(cells, cf, **schema):
    """Return a string per row, 1 for a candidate and 0 for an exclusion, in the domain's order."""
    mask = encoded(cells, cf, **schema).candidates
    return ["".join("01"[possible] for possible in row) for row in mask.tolist()]


def problem(call):
    [one] = problems(call)
    return one


def problems(call):
    with pytest.raises(DataError) as caught:
        call()
    return list(caught.value.texts)
