import platform

import numpy as np

from cfl_cli.trust import verdict
from cfl_cli.trust.verdict import versions


def test_versions_are_those_that_packages_name_themselves():
    found = versions()
    assert found["python"] == platform.python_version()
    assert found["numpy"] == np.__version__
    assert [*found] == ["python", *verdict.DECIDING]


def test_a_package_without_metadata_has_an_unknown_version(monkeypatch):
    monkeypatch.setattr(verdict, "DECIDING", ("numpy", "no-such-package"))
    assert versions()["no-such-package"] == "unknown"
