import errno
import os
import signal
import stat
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from cfl_cli import models
from cfl_cli.errors import DataError, ResourceError, UsageError
from cfl_cli.tables import files, folders, table
from cfl_cli.tables.files import Staging

OTHER = f"{files.NEW}0123456789abcdef-0123456789abcdef"  # of another machine, or start of it


@pytest.fixture(params=["nameless", "named"], autouse=True)
def way(request, monkeypatch):
    """Both ways of making a new file: without a name where Linux allows it, and with one."""
    if request.param == "nameless" and not hasattr(os, "O_TMPFILE"):
        pytest.skip("this system has no files without a name")
    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    return request.param


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def placed(paths, data):
    with Staging(overwrite=True) as staging:
        for path in paths:
            with staging.file(path) as file:
                file.write(data)
        return names(path.parent)


def test_files_appear_together_and_leave_no_trace_of_what_was_there(tmp_path):
    paths = [tmp_path / "one", tmp_path / "two"]
    assert not {"one", "two"} & {*placed(paths, b"first")}
    assert names(tmp_path) == ["one", "two"]
    placed(paths, b"second")
    assert names(tmp_path) == ["one", "two"]
    assert paths[1].read_bytes() == b"second"


def test_an_error_leaves_the_old_files_and_no_rubbish(tmp_path):
    target = tmp_path / "out.csv"
    target.write_text("old")

    def broken():
        with Staging(overwrite=True) as staging:
            with staging.file(tmp_path / "report") as file:
                file.write(b"whole")
            with staging.file(target) as file:
                file.write(b"half")
                raise OSError(28, "No space left on device")

    with pytest.raises(ResourceError, match=r"out\.csv: cannot be written: No space left"):
        broken()
    assert target.read_text() == "old"
    assert names(tmp_path) == ["out.csv"]


def test_a_file_that_appeared_meanwhile_is_not_replaced_unasked(tmp_path):
    target = tmp_path / "out.csv"

    def late():
        with Staging(overwrite=False) as staging, staging.file(target) as file:
            file.write(b"ours")
            target.write_text("theirs")

    with pytest.raises(UsageError, match="already exists"):
        late()
    assert target.read_text() == "theirs"
    assert names(tmp_path) == ["out.csv"]


@pytest.mark.unix
def test_a_new_file_has_the_permissions_of_the_replaced_one_or_of_any_new_file(tmp_path):
    target = tmp_path / "out.csv"
    target.write_text("old")
    target.chmod(0o640)
    table.write_text("new", target)
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    (tmp_path / "other").touch()
    table.write_text("new", tmp_path / "new")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_link_stays_a_link_to_the_new_content(tmp_path):
    target, link = tmp_path / "real.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    table.write_text("new", link)
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_another_run_that_is_placing_files_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "PATIENCE", 0.1)
    with files.locked(tmp_path):  # as another run would hold it
        table.write_text("new", tmp_path / "a")  # and not for ever
    assert (tmp_path / "a").read_text() == "new"


def test_what_cannot_be_read_is_refused_with_its_name(tmp_path):
    for name in ("missing", ".", "x" * 300, "nul\0"):
        with pytest.raises(DataError, match="cannot be read: "):
            files.read(tmp_path / name)


def test_an_interrupt_waits_until_all_files_are_in_place(tmp_path):
    def interrupted():
        with Staging(overwrite=True) as staging:
            for name in ("one", "two"):
                with staging.file(tmp_path / name) as file:
                    file.write(b"new")
            place = staging.staged[0].place
            staging.staged[0].place = lambda: (signal.raise_signal(signal.SIGINT), place())

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert names(tmp_path) == ["one", "two"]


def test_what_a_killed_run_left_is_swept_by_the_next(tmp_path):
    handle, _ = files.create_file(tmp_path)
    os.close(handle)  # as a kill does
    files.name_in(tmp_path, files.PLACING).touch()
    (tmp_path / ".cfl-of-another-run").touch()
    table.write_text("new", tmp_path / "a")
    assert names(tmp_path) == [".cfl-of-another-run", "a"]


def test_what_a_run_is_writing_is_not_swept(tmp_path, way):
    with Staging(overwrite=True) as staging, staging.file(tmp_path / "slow") as file:
        file.write(b"slow")
        table.write_text("new", tmp_path / "quick")
        assert len(names(tmp_path)) == (2 if way == "named" else 1)
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


@pytest.mark.parametrize("report", [b"old report", None])
def test_a_report_goes_back_if_its_table_cannot_take_its_place(tmp_path, monkeypatch, report):
    out, beside = tmp_path / "out.csv", tmp_path / "out.csv.report.json"
    out.write_bytes(b"old table")
    if report:
        beside.write_bytes(report)
    replace = Path.replace

    def sticky(self, target):
        if Path(target).name == "out.csv":  # somebody else's, in a folder with the sticky bit
            raise PermissionError(1, "Operation not permitted")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", sticky)
    with pytest.raises(ResourceError, match=r"out\.csv: cannot be written"):
        placed([beside, out], b"new")
    assert out.read_bytes() == b"old table"
    assert names(tmp_path) == (["out.csv", "out.csv.report.json"] if report else ["out.csv"])
    if report:
        assert beside.read_bytes() == report


def test_a_file_that_failed_once_takes_nothing_more(tmp_path, monkeypatch):
    raw = files.Raw(os.open(tmp_path / "a", os.O_WRONLY | os.O_CREAT))

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            raw.write(b"header")
    with pytest.raises(KeyboardInterrupt):
        raw.write(b"header")  # as polars does, which has swallowed the first
    with pytest.raises(KeyboardInterrupt):
        raw.check()
    raw.close()
    assert (tmp_path / "a").read_bytes() == b""


@contextmanager
def somebody_else():
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(getattr(os, "geteuid", int)() != 0, reason="only root can be somebody else")
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


@pytest.mark.parametrize("lacking", [errno.EMFILE, errno.ENFILE])
def test_a_file_that_no_handle_is_left_for_is_not_to_blame(tmp_path, monkeypatch, lacking):
    def fails(*_, **__):
        raise OSError(lacking, os.strerror(lacking))

    (tmp_path / "t.csv").write_text("a\n1\n")
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / folders.MANIFEST).write_text('{"files": []}')
    monkeypatch.setattr(os, "open", fails)
    monkeypatch.setattr("io.open", fails)
    for attempt in (
        lambda: files.read(tmp_path / "t.csv"),
        lambda: models.read(tmp_path / "m.cfl"),
        lambda: folders.in_the_way(tmp_path / "set"),
    ):
        with pytest.raises(ResourceError, match="cannot be read: Too many open files"):
            attempt()
