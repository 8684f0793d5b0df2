import os

import pytest

from cfl_cli.tables import files, table

OTHER = f"{files.NEW}0123456789abcdef-0123456789abcdef"  # of another machine, or start of it


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def named(monkeypatch):
    """Let the system have no files without a name."""
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)


@pytest.mark.usefixtures("named")
def test_what_a_killed_run_left_is_swept_by_the_next(tmp_path):
    handle, _ = files.create(tmp_path)
    os.close(handle)  # as a kill does
    table.write_text("new", tmp_path / "a")
    assert names(tmp_path) == ["a"]


@pytest.mark.usefixtures("named")
def test_what_a_run_is_writing_is_not_swept(tmp_path):
    with files.Staging(overwrite=True) as staging, staging.file(tmp_path / "slow") as file:
        file.write(b"slow")
        table.write_text("new", tmp_path / "quick")
        assert len(names(tmp_path)) == 2
    assert names(tmp_path) == ["quick", "slow"]


def test_what_another_machine_left_is_swept_when_it_is_a_month_old(tmp_path):
    (tmp_path / OTHER).touch()
    table.write_text("new", tmp_path / "a")
    assert names(tmp_path) == [OTHER, "a"]
    os.utime(tmp_path / OTHER, (0, 0))
    table.write_text("new", tmp_path / "b")
    assert names(tmp_path) == ["a", "b"]


def test_what_is_not_ours_stays(tmp_path):
    others = sorted([".cfl-new-", ".cfl-new-x-1", ".cfl-notes", f"{OTHER}.txt"])
    for name in others:
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (0, 0))
    (tmp_path / OTHER).mkdir()
    os.utime(tmp_path / OTHER, (0, 0))
    table.write_text("new", tmp_path / "a")
    assert names(tmp_path) == sorted([*others, OTHER, "a"])
