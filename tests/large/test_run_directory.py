import json
import os
import shutil
from contextlib import suppress

import numpy as np
import pytest

from cfl_cli.errors import DataError, ResourceError, UsageError
from cfl_cli.large.run_directory import PREFIX, RunDirectory, safe

pytestmark = pytest.mark.usefixtures("for_the_command_line")
IDENTITY = {"cfl": "0.1.0", "settings": '{"k": 20, "seed": 0}', "data": "ab" * 32}


def names(folder):
    return [path.name for path in folder.iterdir()]


def begun(path, *, resume=False, **changes):
    return RunDirectory.begin(path, IDENTITY | changes, resume=resume)


def test_a_run_that_ended_badly_is_resumed_with_its_arrays_and_facts(tmp_path):
    with begun(tmp_path / "run") as run:
        run.folder.within("round 1").array("found", (3,), int)[:] = [1, 2, 3]
        run.folder.keep("steps", {"step": 37, "motion": 0.1})
        assert not run.resumed
    with begun(tmp_path / "run", resume=True) as run:
        assert run.resumed
        assert run.folder.within("round 1").array("found", (3,), int).tolist() == [1, 2, 3]
        assert run.folder.facts("steps") == {"step": 37, "motion": 0.1}
        assert run.folder.facts("others") is None
    with begun(tmp_path / "not begun", resume=True) as run:
        assert not run.resumed


def test_a_finished_run_leaves_nothing_but_a_folder_that_was_there(tmp_path):
    (tmp_path / "mine").mkdir()
    for name in ("mine", "new"):
        with begun(tmp_path / name) as run:
            run.folder.array("x", (3,), int)
            run.finish()
    assert names(tmp_path) == ["mine"]
    assert names(tmp_path / "mine") == []


def test_a_temporary_folder_goes_however_the_run_ends(tmp_path):
    with suppress(KeyError), RunDirectory.make_temporary(tmp_path) as run:
        run.folder.array("x", (3,), int)
        assert names(tmp_path)
        raise KeyError
    assert names(tmp_path) == []


def test_what_a_killed_run_left_is_removed_by_the_next_but_not_what_is_in_use(tmp_path):
    left = RunDirectory.make_temporary(tmp_path)
    with RunDirectory.make_temporary(tmp_path) as used:
        assert left.path.exists()
        os.close(left._lock)
        with RunDirectory.make_temporary(tmp_path):
            assert left.path.exists()  # it is so new that it may not be locked yet
        for path in (left.path, used.path):
            os.utime(path, (0, 0))
        with RunDirectory.make_temporary(tmp_path):
            assert not left.path.exists()
            assert used.path.exists()


def test_only_a_folder_of_a_run_is_swept_shared_or_taken_over(tmp_path):
    with begun(tmp_path / "run"), pytest.raises(UsageError, match="another run is at work in it"):
        begun(tmp_path / "run", resume=True)
    with pytest.raises(UsageError, match=r"another run has done: --resume goes on.*or remove it"):
        begun(tmp_path / "run")
    (tmp_path / "mine").mkdir()
    (tmp_path / f"{PREFIX}x").symlink_to(tmp_path / "mine")
    with RunDirectory.make_temporary(tmp_path):
        assert names(tmp_path / "mine") == []
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").touch()
    with pytest.raises(UsageError, match=r"not empty, and not of a run: --run-dir needs"):
        begun(tmp_path / "other", resume=True)
    with pytest.raises(UsageError, match="needs a folder"):
        begun(tmp_path / "other" / "letter.txt")
    assert names(tmp_path / "other") == ["letter.txt"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"settings": '{"k": 30, "seed": 0}'}, "the settings differ: k: 20 → 30"),
        ({"data": "cd" * 32}, "the data have changed"),
        ({"cfl": "0.2.0"}, "cfl: 0.1.0 → 0.2.0"),
        ({"schema": "ef" * 32}, "the schema has changed"),
    ],
)
def test_a_run_of_something_else_is_not_resumed_and_the_difference_is_named(
    tmp_path, changes, told
):
    with begun(tmp_path / "run"):
        pass
    with pytest.raises(UsageError) as caught:
        begun(tmp_path / "run", resume=True, **changes)
    assert told in caught.value.texts[0]
    assert "remove the folder, or name another" in caught.value.texts[-1]
    with begun(tmp_path / "run", resume=True):
        pass


def test_an_array_of_another_shape_or_a_damaged_one_is_refused(tmp_path):
    with begun(tmp_path / "run") as run:
        path = run.folder.array("x", (3,), int).path
        with pytest.raises(DataError, match=r"int64 \(3,\) instead of int64 \(4,\): remove the"):
            run.folder.array("x", (4,), int)
        path.write_bytes(b"")
        with pytest.raises(DataError, match="cannot be read: remove the run's folder"):
            run.folder.array("x", (3,), np.int64)
    (tmp_path / "run" / "run.json").write_text("{")
    with pytest.raises(DataError, match="cannot be read"):
        begun(tmp_path / "run", resume=True)


def test_a_disk_that_is_too_small_is_told_with_numbers_before_anything_is_written(
    tmp_path, monkeypatch
):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10_000))
    with begun(tmp_path / "run") as run:
        with pytest.raises(ResourceError, match=r"84,096 bytes are needed, 10,000 are.*--run-dir"):
            run.folder.array("x", (10_000,), float)
        assert names(run.folder.path) == []


def test_names_are_safe_and_stay_different():
    names = ["a", "../a", "a/b", "a b", "a%20b", "ä", ".hidden", "x" * 300, "x" * 299 + "y"]
    coded = [safe(name) for name in names]
    assert len(set(coded)) == len(names)
    assert all(len(name) < 130 and name.isascii() for name in coded)
    assert not any(set("/. ") & set(name) for name in coded)


def test_everything_in_a_run_directory_is_json_or_a_plain_array(tmp_path):
    with begun(tmp_path / "run") as run:
        run.folder.array("x", (3,), int)
        run.folder.keep("f", [1])
    for path in (tmp_path / "run").rglob("*"):
        if path.suffix == ".npy":
            np.load(path, allow_pickle=False)
        elif path.suffix == ".json":
            json.loads(path.read_text())
        else:
            assert path.name in {"lock", "work"}
