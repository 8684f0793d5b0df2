import pytest
from builders.command_line import ROWS, SCHEMA


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.yml").write_text(SCHEMA)
    (tmp_path / "data.csv").write_text("\n".join(ROWS) + "\n")
    return tmp_path
