import errno
import os

import pytest
from builders.command_line import SCHEMA, cfl, done, impute, refused

from cfl_cli.cli import outputs
from cfl_cli.cli.outputs import Outputs
from cfl_cli.errors import ResourceError, UsageError
from cfl_cli.tables.table import Place


def test_an_existing_output_is_left_alone_unless_overwrite_is_given(folder):
    (folder / "result.csv").write_text("precious")
    refused(impute(out="result.csv"), 2, "--overwrite")
    assert (folder / "result.csv").read_text() == "precious"
    assert impute("--overwrite", out="result.csv").exit_code == 0
    assert (folder / "result.csv").read_text() != "precious"


def test_a_report_that_cannot_be_written_leaves_no_table(folder):
    refused(impute("--report", "/proc/report.json"), 4, "/proc/report.json")


def test_only_regular_files_are_replaced(folder):
    os.mkfifo("pipe")
    refused(impute("--report", "pipe", "--overwrite"), 2, "pipe", "regular file")
    assert (folder / "pipe").is_fifo()
    (folder / "loop.csv").symlink_to("loop.csv")
    refused(impute(out="loop.csv"), 2, "loop.csv")
    refused(impute(out=f"{'n' * 300}.csv"), 2, "too long")


def test_a_table_written_anew_does_not_keep_an_old_report_beside_it(folder):
    impute()
    assert impute("--overwrite", "--report", "elsewhere.json").exit_code == 0
    assert cfl("report", "out.csv").exit_code == 1
    assert cfl("report", "elsewhere.json").exit_code == 0


@pytest.mark.parametrize("content", ["precious", SCHEMA, "x,y\n1,2\n", "{}"])
def test_a_file_that_is_no_report_of_ours_is_never_removed(folder, content):
    (folder / "out.csv.report.json").write_text(content)
    for options in ([], ["--overwrite"]):
        done(impute("--report", "r.json", *options))
    assert (folder / "out.csv.report.json").read_text() == content


def test_the_usual_place_of_the_report_may_be_spelled_in_any_way(folder):
    path = folder / "out.csv.report.json"
    done(impute("--report", str(path), "--overwrite"))
    assert path.exists()


def test_a_folder_in_the_usual_place_of_the_report_does_no_harm(folder):
    (folder / "out.csv.report.json").mkdir()
    for _ in range(2):
        done(impute("--report", "r.json", "--overwrite"))


def test_a_broken_link_is_blamed_on_the_file_that_it_is(folder):
    (folder / "loop.csv").symlink_to("loop.csv")
    run = impute(data="loop.csv")
    assert (run.exit_code, "loop.csv: cannot be read" in run.stderr) == (1, True)
    (folder / "dangling.csv").symlink_to("nowhere/else.csv")
    run = impute(out="dangling.csv")
    assert (run.exit_code, "does not exist" in run.stderr) == (2, True)
    run = cfl("report", "a" * 300 + ".csv")
    assert (run.exit_code, "csv: cannot be read: " in run.stderr) == (1, True)


def test_binary_data_is_not_written_to_a_terminal(folder, monkeypatch):
    monkeypatch.setattr(outputs, "is_terminal", lambda _: True)
    for form, name in {"parquet": "Parquet", "arrow": "Arrow"}.items():
        target = Outputs.of(Place.to_write("-", form), None, reject=False)
        said = f"not writing binary {name} to a terminal: use --out FILE or a pipe"
        with pytest.raises(UsageError, match=said):
            target.check(sources=[], overwrite=False)
    Outputs.of(Place.to_write("-", "csv"), None, reject=False).check(sources=[], overwrite=False)


def test_table_and_report_cannot_both_go_to_standard_output(folder):
    refused(impute("--report", "-", out="-"), 2, "both standard output")
    refused(impute("--on-bad-row", "set-aside", out="-"), 2, "name a file, not -")


@pytest.mark.parametrize(
    "command", ["init - --cf cf", "report -", "evaluate - --truth truth.csv -s schema.yml"]
)
def test_what_is_read_from_standard_input_is_never_replaced(folder, forked, command):
    (folder / "truth.csv").write_text("cf\na\n")
    (folder / "source.csv").write_text("precious")
    with (folder / "source.csv").open() as source:
        run = forked.run(*command.split(), "-o", "source.csv", "--overwrite", stdin=source)
    assert (run.returncode, b"source.csv: this is an input file" in run.stderr) == (2, True)
    assert (folder / "source.csv").read_text() == "precious"


@pytest.mark.parametrize(
    "command",
    [
        "init bad.csv --cf cf",
        "report bad.csv",
        "evaluate bad.csv --truth bad.csv -s schema.yml",
        "tune bad.csv -s schema.yml",
        "impute bad.csv -s schema.yml",
        "mask bad.csv -s schema.yml",
    ],
)
def test_targets_are_checked_before_the_work(folder, command):
    (folder / "bad.csv").write_text('"')
    (folder / "kept.csv").write_text("precious")
    run = cfl(*command.split(), "--out", "kept.csv")
    assert (run.exit_code, "kept.csv: already exists" in run.stderr) == (2, True)
    assert (folder / "kept.csv").read_text() == "precious"


FAULTS = {
    errno.EACCES: (UsageError, "o.csv: directory .* is not writable: choose another name"),
    errno.EROFS: (UsageError, "o.csv: directory .* is not writable: choose another name"),
    errno.ENOSPC: (
        ResourceError,
        "o.csv: cannot be written: No space left .*: free some space, or choose",
    ),
    errno.EDQUOT: (
        ResourceError,
        "o.csv: cannot be written: .*uota.*: free some space, or choose another place",
    ),
    errno.EIO: (ResourceError, "o.csv: cannot be written: Input/output error$"),
}


@pytest.mark.parametrize("call", ["open", "write", "fsync"])
@pytest.mark.parametrize("fault", FAULTS)
def test_what_cannot_be_written_is_found_before_the_work(tmp_path, monkeypatch, call, fault):
    def fails(*_):
        raise OSError(fault, os.strerror(fault))

    monkeypatch.setattr(f"cfl_cli.tables.files.os.{call}", fails)
    error, words = FAULTS[fault]
    with pytest.raises(error, match=words):
        outputs.check_targets([tmp_path / "o.csv"], sources=[], overwrite=False)
    monkeypatch.undo()
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("nameless", [True, False])
def test_trying_to_write_leaves_nothing_behind(tmp_path, monkeypatch, nameless):
    if not nameless:
        monkeypatch.delattr("cfl_cli.tables.files.os.O_TMPFILE", raising=False)
    (tmp_path / "old.csv").write_text("precious")
    targets = [tmp_path / "old.csv", tmp_path / "new.csv"]
    outputs.check_targets(targets, sources=[], overwrite=True)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"old.csv": "precious"}


def test_a_disk_with_room_for_a_part_is_full(tmp_path, monkeypatch):
    def takes_a_part(_, data):
        if len(data) < 4096:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return 1000

    monkeypatch.setattr("cfl_cli.tables.files.os.write", takes_a_part)
    with pytest.raises(ResourceError, match="No space left on device"):
        outputs.check_targets([tmp_path / "o.csv"], sources=[], overwrite=False)


def test_a_report_lists_no_name_of_a_column_that_the_schema_does_not_know(folder):
    rows = (folder / "data.csv").read_text().splitlines()
    body = [
        f"Ann Smith,{rows[0]},Ann Smith",
        *(f"Bob {n},{row},x" for n, row in enumerate(rows[1:])),
    ]
    (folder / "data.csv").write_text("\n".join(body) + "\n")  # a file whose first row may be data
    given = ["impute", "data.csv", "-s", "schema.yml", "--out", "out.csv", "-q"]
    done(cfl(*given, "--rename-columns"))
    assert "Ann Smith" not in (folder / "out.csv.report.json").read_text()
    assert "Ann Smith" in (folder / "out.csv").read_text()
    assert cfl("report", "out.csv", "--verify").exit_code == 0
    table = (folder / "out.csv").read_text().replace("Bob 3", "Bob 4")
    (folder / "out.csv").write_text(table)
    assert "its cells differ" in cfl("report", "out.csv", "--verify").stdout
    (folder / "out.csv").write_text(table.replace("Ann Smith,", "Eve,", 1))
    told = cfl("report", "out.csv", "--verify").stdout
    assert "lacks 1 column that the schema does not list" in told
