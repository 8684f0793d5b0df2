"""One door to the system: what it does on Windows is simulated here, and so is what it lacks."""

import io
import os
import stat
import subprocess
import sys
from pathlib import Path, PureWindowsPath
from types import SimpleNamespace

import pytest
from builders.command_line import ROWS, SCHEMA

from cfl_cli.cli.log import let_streams_write_all
from cfl_cli.cli.several import system as seen_by_several
from cfl_cli.core import system
from cfl_cli.errors import ResourceError, UsageError
from cfl_cli.large.run_directory import not_own
from cfl_cli.tables import files, formats
from cfl_cli.tables.formats import Place

BUILDERS = Path(__file__).parents[1] / "builders"


class InUseError(PermissionError):
    winerror = 32


@pytest.fixture
def windows(monkeypatch):
    monkeypatch.setattr(system, "WINDOWS", True)


def test_a_file_that_another_program_has_open_for_a_moment_is_replaced(tmp_path, monkeypatch):
    (tmp_path / "new").write_text("new")
    left, replace = [1, 1, 1], Path.replace

    def busy(path, target):
        if left:
            left.pop()
            raise InUseError(13, "Sharing violation")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", busy)
    system.replace(tmp_path / "new", tmp_path / "old")
    assert (tmp_path / "old").read_text() == "new"


def test_a_file_that_stays_open_elsewhere_is_refused_with_what_to_do_and_stays(
    tmp_path, monkeypatch
):
    (tmp_path / "out.csv").write_text("old")

    def busy(*_):
        raise InUseError(13, "Sharing violation")

    monkeypatch.setattr(system, "_RETRIES", 0.1)
    monkeypatch.setattr(Path, "replace", busy)

    def write():
        with files.Staging(overwrite=True) as staging, staging.file(tmp_path / "out.csv") as file:
            file.write(b"new")

    with pytest.raises(ResourceError, match=r"out\.csv: is open in another program: close it"):
        write()
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
    assert (tmp_path / "out.csv").read_text() == "old"


def test_other_refusals_are_not_tried_again(tmp_path):
    with pytest.raises(FileNotFoundError):
        system.replace(tmp_path / "gone", tmp_path / "old")
    assert not system.is_busy(PermissionError(13, "Permission denied"))


@pytest.mark.parametrize(
    "name", ["NUL", "nul.csv", "con.parquet", "x/COM1", "LPT¹.csv", "aux .csv"]
)
@pytest.mark.usefixtures("windows")
def test_a_name_that_windows_keeps_for_a_device_is_refused_there(name):
    with pytest.raises(UsageError, match="Windows keeps this name for a device"):
        formats.local(name)


@pytest.mark.parametrize("name", ["null.csv", "console.csv", "com10.csv", "xnul", "a.nul"])
@pytest.mark.usefixtures("windows")
def test_names_like_those_of_devices_are_files(name):
    assert formats.local(name) == Path(name)


@pytest.mark.parametrize("name", ["nul.csv", "COM1"])
def test_elsewhere_they_are_files(name):
    if sys.platform != "win32":
        assert formats.local(name) == Path(name)


@pytest.mark.parametrize(
    "name", [r"C:\data.csv", "C:/data.csv", r"\\server\share\data.csv", "d:x.csv"]
)
def test_a_drive_is_no_address_on_the_network(name):
    assert formats.local(name)
    assert Place.to_read(name).format.kind.name == "csv"


def test_a_sheet_is_named_behind_a_path_with_a_drive():
    place = Place.to_read(r"C:\My data\book.xlsx#Sheet 1")
    assert PureWindowsPath(place.path).name == "book.xlsx"
    assert place.sheet == "Sheet 1"


def test_a_backslash_at_the_end_names_a_folder_where_it_separates_folders(monkeypatch):
    assert seen_by_several.is_folder_name("out/")
    assert not system.is_folder_name("out.csv")
    monkeypatch.setattr(os, "sep", "\\")
    assert system.is_folder_name("out\\")


def test_a_path_of_300_characters_is_read_and_written(tmp_path):
    folder = tmp_path.joinpath(*["x" * 60] * 5)
    folder.mkdir(parents=True)
    with files.Staging(overwrite=False) as staging, staging.file(folder / "out.csv") as file:
        file.write(b"a\n1\n")
    assert (folder / "out.csv").read_bytes() == b"a\n1\n"
    assert [path.name for path in folder.iterdir()] == ["out.csv"]


@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "ascii", "utf-8"])
def test_every_text_can_be_written_in_the_encoding_of_any_console(encoding):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, newline="")
    let_streams_write_all(stream, None)
    stream.write("█░ 0.96 (0.93–0.98) … Zürich 日本\n")
    stream.flush()
    written = raw.getvalue().decode(encoding)
    assert "0.96 (0.93" in written
    if encoding == "ascii":
        assert written == "#. 0.96 (0.93-0.98) ... Z\\xfcrich \\u65e5\\u672c\n"
    if encoding == "utf-8":
        assert written.startswith("█░")


@pytest.mark.parametrize(("tag", "leads"), [(0xA0000003, True), (0x9000001A, False), (0, False)])
def test_a_junction_leads_elsewhere_and_a_file_in_the_cloud_does_not(tag, leads):
    found = SimpleNamespace(st_mode=stat.S_IFDIR | 0o755, st_reparse_tag=tag)
    assert system.is_link(found) == leads


def test_without_owners_modes_of_files_say_nothing(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "geteuid", raising=False)
    tmp_path.chmod(0o777)
    assert not_own(tmp_path) is None


def test_ctrl_break_ends_a_run_like_ctrl_c(monkeypatch):
    monkeypatch.setattr(system, "_BREAK", 21)
    assert system.exit_code(21) == 130
    assert system.exit_code(15) == 143


def test_bytes_are_read_at_a_place_without_pread_and_the_position_stays(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"0123456789")
    monkeypatch.delattr(os, "pread", raising=False)
    with (tmp_path / "a").open("rb", buffering=0) as file:
        file.seek(2)
        assert system.read_at(file.fileno(), 3, 5) == b"567"
        assert file.read(2) == b"23"


@pytest.mark.parametrize("lacking", ["posix_fallocate", "link"])
def test_what_the_system_lacks_is_done_by_hand(tmp_path, monkeypatch, lacking):
    monkeypatch.delattr(os, lacking, raising=False)
    (tmp_path / "a").write_bytes(b"abc")
    system.keep_copy(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == b"abc"
    with (tmp_path / "c").open("w+b", buffering=0) as file:
        system.allocate(file.fileno(), 3 << 20)
    assert (tmp_path / "c").stat().st_size == 3 << 20


LOCKS = """
import os, sys
from pathlib import Path
from cfl_cli.core import system
assert system.WINDOWS and system.HANGUP is None and not hasattr(os, "link")
Path("a").write_text("abc")
one, two = (system.open_file(Path("a"), os.O_RDWR) for _ in "ab")
system.lock(one)
try:
    system.lock(two)
except BlockingIOError:
    print("locked")
os.close(one)
system.lock(two)
from cfl_cli.__main__ import main
sys.argv = ["cfl", "impute", "data.csv", "-s", "schema.yml", "--out", "out.csv", "-q", *sys.argv[1:]]
main()
"""


def test_without_what_only_unix_has_a_run_writes_the_same_bytes(tmp_path):
    """The suite can run so as a whole: `pytest --portable`."""
    (tmp_path / "schema.yml").write_text(SCHEMA)
    (tmp_path / "data.csv").write_text("\n".join(ROWS) + "\n")
    plain = [sys.executable, "-m", "cfl_cli", "impute", "data.csv", "-s", "schema.yml", "-q"]
    env = {**os.environ, "PYTHONPATH": str(BUILDERS.parents[1])}
    subprocess.run([*plain, "--out", "plain.csv"], cwd=tmp_path, env=env, check=True)
    env["PYTHONPATH"] = os.pathsep.join([str(BUILDERS / "portable_site"), env["PYTHONPATH"]])
    hidden = [sys.executable, "-c", LOCKS]
    done = subprocess.run(hidden, cwd=tmp_path, env=env, check=True, capture_output=True)
    assert done.stdout.split() == [b"locked"]
    again = subprocess.run([*hidden, "--overwrite"], cwd=tmp_path, env=env, check=True)
    assert again.returncode == 0
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "plain.csv").read_bytes()
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {
        *("a", "schema.yml", "data.csv", "plain.csv", "plain.csv.report.json"),
        *("out.csv", "out.csv.report.json"),
    }


@pytest.mark.unix
@pytest.mark.skipif(getattr(os, "geteuid", int)() != 0, reason="only root can be somebody else")
def test_a_link_of_another_user_in_a_folder_for_all_is_not_followed(tmp_path):
    (tmp_path / "theirs").write_text("precious")
    (tmp_path / "all").mkdir()
    (tmp_path / "all").chmod(0o1777)
    link = tmp_path / "all" / "out.csv"
    link.symlink_to(tmp_path / "theirs")
    os.chown(tmp_path / "all", 12345, 12345)
    os.chown(link, 12346, 12346, follow_symlinks=False)
    with pytest.raises(ResourceError, match="a link of another user, in a folder that all may"):
        files.Staging(overwrite=True).begin(link)
    os.chown(link, 12345, 12345, follow_symlinks=False)  # the folder's own
    staging = files.Staging(overwrite=True)
    staging.begin(link)
    staging.give_up()
    assert (tmp_path / "theirs").read_text() == "precious"
