"""What the command does without, so that it starts sooner."""

import sys
from types import ModuleType

import pytest

from cfl_cli.cli.start import Unwanted


def test_a_package_that_nobody_needs_is_not_found():
    with pytest.raises(ModuleNotFoundError, match="pandas"):
        Unwanted.find_spec("pandas")
    assert Unwanted.find_spec("polars") is None  # others look for it


def test_it_is_found_if_the_dashboard_of_dask_needs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "bokeh", ModuleType("bokeh"))
    assert Unwanted.find_spec("pandas") is None
