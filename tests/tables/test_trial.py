import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from cfl_cli.tables import files


@contextmanager
def somebody_else():
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
@pytest.mark.parametrize("make", [Path.touch, Path.mkdir])
def test_what_is_somebody_elses_in_a_sticky_folder_may_not_be_replaced(make):
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        folder = Path(made)
        folder.chmod(0o1777)
        make(folder / "theirs")
        with somebody_else():
            make(folder / "own")
            files.try_to_replace(folder / "own")
            with pytest.raises(PermissionError):
                files.try_to_replace(folder / "theirs")
        assert {path.name for path in folder.iterdir()} == {"own", "theirs"}


def test_a_trial_removes_nothing(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    for name in ("file", "folder", "neither"):
        files.try_to_replace(tmp_path / name)
    assert {path.name for path in tmp_path.iterdir()} == {"file", "folder"}
