import json
import os
import shutil
from contextlib import suppress
from functools import partial

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
    with (
        begun(tmp_path / "run"),
        pytest.raises(UsageError, match="another run is using this folder"),
    ):
        begun(tmp_path / "run", resume=True)
    with pytest.raises(
        UsageError,
        match=r"holds a checkpoint of an earlier run: resume it with --resume, or remove",
    ):
        begun(tmp_path / "run")
    (tmp_path / "mine").mkdir()
    (tmp_path / f"{PREFIX}x").symlink_to(tmp_path / "mine")
    with RunDirectory.make_temporary(tmp_path):
        assert names(tmp_path / "mine") == []
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").touch()
    with pytest.raises(
        UsageError, match=r"not empty, and not a folder of a run: give --run-dir an empty"
    ):
        begun(tmp_path / "other", resume=True)
    with pytest.raises(UsageError, match="needs a folder"):
        begun(tmp_path / "other" / "letter.txt")
    assert names(tmp_path / "other") == ["letter.txt"]


@pytest.mark.parametrize("plant", [os.symlink, *([os.link] if hasattr(os, "link") else [])])
@pytest.mark.parametrize("name", ["run.json", "run.json.new", "lock", "work", "work/x.npy"])
def test_a_planted_link_is_refused_and_what_it_points_to_stays(tmp_path, name, plant):
    (tmp_path / "theirs").write_text("precious")
    place = tmp_path / "run" / name
    place.parent.mkdir(parents=True)
    plant(tmp_path / "theirs", place)
    for attempt in (begun, partial(RunDirectory.check, identity=IDENTITY, resume=False)):
        with pytest.raises(UsageError, match=rf"run: {name} is a link: --run-dir needs a folder"):
            attempt(tmp_path / "run")
    assert (tmp_path / "theirs").read_text() == "precious"
    assert names(tmp_path / "run") == [name.partition("/")[0]]


@pytest.mark.unix
def test_a_folder_of_others_or_open_to_others_or_reached_by_a_link_is_refused(
    tmp_path, monkeypatch
):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "gone").symlink_to("nothing")
    for name in ("link", "gone"):
        with pytest.raises(UsageError, match="it is a link"):
            begun(tmp_path / name)
    for mode in (0o770, 0o707):
        (tmp_path / "real").chmod(mode)
        with pytest.raises(UsageError, match=r"others may write to it: .* use chmod -R go-w"):
            begun(tmp_path / "real")
    (tmp_path / "real").chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(UsageError, match=r"it belongs to another user: .* name a new folder"):
        begun(tmp_path / "real")
    assert names(tmp_path / "real") == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"settings": '{"k": 30, "seed": 0}'}, "the settings differ: k: 20 → 30"),
        ({"data": "cd" * 32}, "the data are not the same"),
        ({"cfl": "0.2.0"}, "cfl: 0.1.0 → 0.2.0"),
        ({"schema": "ef" * 32}, "the schema is not the same"),
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
    assert "remove the folder, or choose another" in caught.value.texts[-1]
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


@pytest.mark.parametrize(
    "head",
    [
        b"{'descr': '<f8', 'shape': (3,",  # a bracket that nothing closes
        b"(" * 120,
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999999999999999,), }",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }",
        b"{'descr': [('a',)], 'fortran_order': False, 'shape': (3,), }",
        b"\xff\x00",
    ],
)
def test_a_damaged_head_of_an_array_is_refused_by_name(tmp_path, head):
    with begun(tmp_path / "run") as run:
        path = run.folder.array("x", (3,), float).path
        data = path.read_bytes()
        path.write_bytes(data[:10] + head.ljust(4096 - 11) + b"\n" + data[4096:])
        with pytest.raises(DataError, match=r"x\.npy: cannot be read: remove the run's folder"):
            run.folder.array("x", (3,), float)


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "[]", '{"facts": {"step": 38}}', "\x00"])
def test_damaged_facts_are_refused_by_name(tmp_path, text):
    with begun(tmp_path / "run") as run:
        run.folder.keep("steps", {"step": 37})
        path = run.folder.path / "steps.json"
        written = path.read_text()
        for damaged in (text, written.replace("37", "39")):
            path.write_text(damaged)
            with pytest.raises(DataError, match=r"steps\.json: cannot be read"):
                run.folder.facts("steps")
    (tmp_path / "run" / "run.json").write_text(text)
    with pytest.raises(DataError, match=r"run\.json: cannot be read"):
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
