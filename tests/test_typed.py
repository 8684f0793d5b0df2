"""A stranger's type checker sees our types."""

import subprocess
import sys
from importlib.resources import files

import pytest

import cfl_cli

RIGHT = """
import cfl_cli
from cfl_cli import Schema

schema: Schema = Schema.of("schema.yml")
result = cfl_cli.impute(None, schema, folds=0, jobs=1)
reveal_type(result.report)
share: float = result.report.columns[0].mean_confidence
"""
WRONG = """
import cfl_cli

schema: int = cfl_cli.Schema.of("schema.yml")
cfl_cli.impute(None, schema=schema, jobs="many")
"""


def test_the_package_says_that_it_has_types():
    assert files(cfl_cli).joinpath("py.typed").is_file()


@pytest.mark.slow
def test_a_strict_mypy_elsewhere_finds_what_is_wrong_and_only_that(tmp_path):
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(WRONG)
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = true\n")
    command = [sys.executable, "-m", "mypy", "right.py", "wrong.py"]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    errors = [line for line in told.splitlines() if "error:" in line]
    assert 'Revealed type is "cfl_cli.trust.report.Report"' in told
    assert [line.partition(": ")[0] for line in errors] == [
        "wrong.py:4",
        "wrong.py:5",
        "wrong.py:5",
    ]
    assert "[assignment]" in errors[0]
    assert all("[arg-type]" in line for line in errors[1:])
