import json
import os
import stat
from contextlib import contextmanager

import polars as pl
import pytest
from builders.command_line import cfl, done, failed, refused
from builders.tables import SCHEMA, table
from polars.testing import assert_frame_equal

from cfl_cli import Model, UsageError, fit
from cfl_cli.commands.apply import batch
from cfl_cli.core.parallel import Workers
from cfl_cli.large.run_directory import RunDirectory
from cfl_cli.large.stored import Stored, Threads
from cfl_cli.run import result
from cfl_cli.run import result as row_filler
from cfl_cli.tables import files, folders

pytestmark = pytest.mark.usefixtures("learning_quickly")


@pytest.fixture
def fitted(folder):
    assert cfl("fit", "data.csv", "-s", "schema.yml", "-m", "m.cfl", "-q").exit_code == 0
    rows = [f"{n / 2},{n},{'abc'[n % 3]},more" for n in range(9)]
    (folder / "new.csv").write_text("\n".join(["x,y,cf,note", *rows]) + "\n")
    return folder


def apply(*options, new="new.csv", model="m.cfl", out="out.csv"):
    return cfl("apply", new, "--model", model, "--out", out, *options)


def test_new_rows_get_new_columns_and_a_report_beside_them(fitted):
    assert done(apply()).stdout == ""
    lines = (fitted / "out.csv").read_text().splitlines()
    assert lines[0] == "x,y,cf,note,cf_imputed,cf_confidence"
    given = (fitted / "new.csv").read_text().splitlines()
    assert [line.rsplit(",", 2)[0] for line in lines] == given
    assert cfl("report", "out.csv", "--details").stdout.startswith("9 rows of a batch, 1 CF")


@pytest.mark.parametrize("form", ["csv", "csv.gz", "jsonl", "parquet", "arrow"])
def test_the_bytes_depend_on_neither_blocks_nor_threads_nor_the_run(fitted, form, monkeypatch):
    written = []
    for rows, jobs in ((8192, 1), (1, 2), (4, 2)):
        monkeypatch.setattr(row_filler, "ROWS_AT_ONCE", rows)
        done(apply("--jobs", jobs, "--overwrite", out=f"out.{form}"))
        written.append((fitted / f"out.{form}").read_bytes())
    assert written[0] == written[1] == written[2]


def test_any_split_of_the_rows_into_files_gives_the_same_rows(fitted):
    apply("-q")
    head, *rows = (fitted / "new.csv").read_text().splitlines()
    parts = []
    for number, part in enumerate((rows[:4], rows[4:])):
        (fitted / f"part{number}.csv").write_text("\n".join([head, *part]) + "\n")
        apply("-q", new=f"part{number}.csv", out=f"out{number}.csv")
        parts += (fitted / f"out{number}.csv").read_text().splitlines()[1:]
    assert parts == (fitted / "out.csv").read_text().splitlines()[1:]


def test_a_table_goes_through_a_pipe(fitted, forked):
    apply("-q")
    new = (fitted / "new.csv").read_bytes()
    piped = forked.run("apply", "-", "-m", "m.cfl", "-o", "-", stdin=new)
    assert piped.stdout == (fitted / "out.csv").read_bytes()


def test_parquet_keeps_types_and_carries_the_report(fitted):
    frame = pl.read_csv("new.csv").with_columns(day=pl.date(2024, 1, 1))
    frame.write_parquet("new.parquet")
    assert apply("--mode", "both", new="new.parquet", out="out.parquet").exit_code == 0
    assert pl.read_parquet("out.parquet").select(frame.columns).equals(frame)
    assert json.loads(pl.read_parquet_metadata("out.parquet")["cfl.report"])["rows"] == 9
    assert cfl("report", "out.parquet").exit_code == 0


def test_a_history_gets_a_line_per_batch_and_counts_a_batch_once(fitted):
    for expected in ("batch 1 was added", "batch 1 was already there"):
        assert expected in apply("--history", "h.jsonl", "--overwrite").stderr
    (fitted / "next.csv").write_text("x,y,cf\n1,2,a\n2,2,b\n")
    assert "batch 2 was added" in apply("--history", "h.jsonl", new="next.csv", out="o.csv").stderr
    lines = [json.loads(line) for line in (fitted / "h.jsonl").read_text().splitlines()]
    assert [(line["batch"], line["rows"], line["name"]) for line in lines] == [
        (1, 9, "new.csv"),
        (2, 2, "next.csv"),
    ]
    shown = done(cfl("report", "--history", "h.jsonl"))
    assert shown.stdout.startswith("2 batches, 1 CF, none drifted")


def test_a_report_is_asked_of_one_thing(fitted):
    for arguments in ((), ("out.csv", "--history", "h.jsonl")):
        result = cfl("report", *arguments)
        assert result.exit_code == 2
        assert "name a table, a report or a model, or a history" in result.stderr


def test_a_damaged_history_is_named_and_left_as_it_is(fitted):
    (fitted / "h.jsonl").write_text("{}\n")
    refused(apply("--history", "h.jsonl"), 1, "h.jsonl, line 1: not a line of a cfl history")
    assert (fitted / "h.jsonl").read_text() == "{}\n"


@pytest.mark.parametrize("history", ["m.cfl", "new.csv", "out.csv"])
def test_a_history_is_a_file_of_its_own(fitted, history):
    before = (fitted / "m.cfl").read_bytes()
    refused(apply("--history", history), 2, "this is an input file")
    assert (fitted / "m.cfl").read_bytes() == before


def test_the_model_is_never_written_over(fitted):
    before = (fitted / "m.cfl").read_bytes()
    refused(apply("--overwrite", "--output-format", "csv", out="m.cfl"), 2, "this is an input file")
    assert (fitted / "m.cfl").read_bytes() == before


def test_a_wrong_cell_is_named_and_nothing_is_written(fitted):
    (fitted / "new.csv").write_text("x,y,cf\n1,2,a\n2,3,z\n")
    refused(apply(), 1, "new.csv: column 'cf': 'z' (row 2) is not in the domain")


def test_a_column_that_is_there_already_is_refused(fitted):
    (fitted / "new.csv").write_text("x,y,cf,cf_imputed\n1,2,a,b\n")
    refused(apply(), 1, "column 'cf_imputed'")


def test_bad_records_are_set_aside_if_asked(fitted):
    (fitted / "new.csv").write_text("x,y,cf\n1,2,a\n2,3\n4,5,b\n")
    result = done(apply("--on-bad-row", "set-aside"))
    assert "1 bad record of new.csv set aside" in result.stderr
    assert len((fitted / "out.csv").read_text().splitlines()) == 3


def test_a_cf_flagged_at_fitting_fails_the_run_if_asked(folder):
    rows = ["x,y,cf", *(f"{n % 2},0,{'abc'[n % 3]}" for n in range(30))]
    (folder / "data.csv").write_text("\n".join(rows) + "\n")
    cfl("fit", "data.csv", "-s", "schema.yml", "-m", "m.cfl", "-q", "--gamma", "0")
    result = apply("--fail-on-flag", "--keep-flagged", "-q", new="data.csv")
    failed(result, 3, "flagged: cf (small-entropy-reduction", "because of --fail-on any")
    assert pl.read_csv("out.csv")["cf_imputed"].null_count() == 30
    assert len(result.stderr.splitlines()) == 1


def test_a_cf_flagged_at_fitting_alone_does_not_fail_a_night_that_looks_for_new_flags(folder):
    rows = ["x,y,cf", *(f"{n % 2},0,{'abc'[n % 3]}" for n in range(30))]
    (folder / "data.csv").write_text("\n".join(rows) + "\n")
    cfl("fit", "data.csv", "-s", "schema.yml", "-m", "m.cfl", "-q", "--gamma", "0")
    for fail_on in ("new", "drifted", "never"):
        done(apply("--fail-on", fail_on, "--overwrite", new="data.csv"))
    refused(apply("--fail-on-flag", "--fail-on", "new", "--overwrite"), 2, "leave one", out=".out")


def test_settings_of_the_model_hold_unless_others_are_given(folder):
    cfl("fit", "data.csv", "-s", "schema.yml", "-m", "m.cfl", "-q", "--mode", "soft")
    apply("-q", new="data.csv")
    assert pl.read_csv("out.csv").columns[3:] == ["cf__a", "cf__b", "cf__c"]
    apply("-q", "--overwrite", "--mode", "hard", new="data.csv")
    assert pl.read_csv("out.csv").columns[3:] == ["cf_imputed", "cf_confidence"]


def test_a_night_without_rows_adds_no_line_and_is_never_the_same_as_another(fitted):
    (fitted / "empty.csv").write_text("x,y,cf\n")
    for _ in range(2):
        said = apply("--history", "h.jsonl", "--overwrite", new="empty.csv").stderr
        assert "batch 1 has no rows and was not added" in said
    assert (fitted / "h.jsonl").read_text() == ""


def test_equal_rows_of_another_file_are_another_batch(fitted):
    (fitted / "next.csv").write_bytes((fitted / "new.csv").read_bytes())
    apply("-q", "--history", "h.jsonl")
    assert "batch 2 was added" in apply("--history", "h.jsonl", new="next.csv", out="o.csv").stderr
    assert cfl("report", "--history", "h.jsonl").exit_code == 0


def test_a_table_that_cannot_be_put_in_place_leaves_the_history_as_it_was(fitted, monkeypatch):
    apply("-q", "--history", "h.jsonl")
    before = (fitted / "h.jsonl").read_bytes()

    def fails(self):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.Staged, "place", fails)
    (fitted / "next.csv").write_text("x,y,cf\n1,2,a\n")
    result = apply("--history", "h.jsonl", new="next.csv", out="o.csv")
    assert result.exit_code == 4
    assert "No space left" in result.stderr
    assert (fitted / "h.jsonl").read_bytes() == before
    assert not (fitted / "o.csv").exists()


def test_the_line_of_a_history_comes_when_the_files_are_in_their_places(fitted, monkeypatch):
    place, seen = files.Staged.place, []

    def watched(self):
        seen.append((self.path.name, (fitted / "h.jsonl").read_bytes()))
        place(self)

    monkeypatch.setattr(files.Staged, "place", watched)
    done(apply("-q", "--history", "h.jsonl"))
    assert dict(seen) == {"out.csv": b"", "out.csv.report.json": b""}
    assert (fitted / "h.jsonl").read_bytes().count(b"\n") == 1


def test_a_history_that_cannot_take_its_line_lets_the_files_go_back(fitted, monkeypatch):
    apply("-q", "--history", "h.jsonl")
    before = {path.name: path.read_bytes() for path in fitted.iterdir()}
    sync, handle_of = os.fsync, (fitted / "h.jsonl").stat().st_ino

    def fails(handle):
        if os.fstat(handle).st_ino == handle_of:
            raise OSError(5, "Input/output error")
        sync(handle)

    monkeypatch.setattr(os, "fsync", fails)
    (fitted / "next.csv").write_text("x,y,cf\n1,2,a\n")
    result = apply("-q", "--history", "h.jsonl", "--overwrite", new="next.csv")
    failed(result, 4, "h.jsonl: cannot be written: Input/output error")
    after = {path.name: path.read_bytes() for path in fitted.iterdir() if path.name != "next.csv"}
    assert after == before


@pytest.mark.parametrize("exchanges", [True, False])
@pytest.mark.parametrize("is_new", [True, False])
def test_a_folder_goes_back_too_if_the_history_cannot_take_its_line(
    fitted, monkeypatch, is_new, exchanges
):
    def content():
        return {str(path): path.read_bytes() for path in fitted.rglob("*") if path.is_file()}

    (fitted / "next.csv").write_text("x,y,cf\n1,2,a\n")
    apply("-q", "--history", "h.jsonl", out="first/" if is_new else "out/")
    before, sync, history = content(), os.fsync, (fitted / "h.jsonl").stat().st_ino
    if not exchanges:
        monkeypatch.setattr(folders, "_exchanged", lambda *_: False)

    def fails(handle):
        if os.fstat(handle).st_ino == history:
            raise OSError(5, "Input/output error")
        sync(handle)

    monkeypatch.setattr(os, "fsync", fails)
    result = apply("-q", "--history", "h.jsonl", "--overwrite", new="next.csv", out="out/")
    failed(result, 4, "h.jsonl: cannot be written: Input/output error")
    assert content() == before
    assert not [path.name for path in fitted.iterdir() if path.name.startswith(".cfl")]
    monkeypatch.setattr(os, "fsync", sync)
    done(apply("-q", "--history", "h.jsonl", "--overwrite", new="next.csv", out="out/"))
    assert (fitted / "h.jsonl").read_bytes().count(b"\n") == 2
    assert not [path.name for path in fitted.iterdir() if path.name.startswith(".cfl")]


def test_a_folder_that_cannot_be_synced_keeps_files_and_line_and_warns(fitted, monkeypatch):
    sync = os.fsync

    def fails(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(5, "Input/output error")
        sync(handle)

    monkeypatch.setattr(os, "fsync", fails)
    result = done(apply("-q", "--history", "h.jsonl"))
    assert "everything was written, but a power cut could still undo it" in result.stderr
    assert (fitted / "h.jsonl").read_bytes().count(b"\n") == 1
    assert (fitted / "out.csv").exists()


NEW = table(60, seed=5)


@contextmanager
def stored_engine(limits, **_):
    """An engine whose arrays are files, and whose kernels are run by threads."""
    with RunDirectory.make_temporary(None) as made, Workers(2) as threads:
        yield Stored(made.folder, Threads(threads), threads, durable=False)


@pytest.mark.parametrize(
    "method",
    [
        "graph",
        pytest.param("ipal", marks=pytest.mark.slow),
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("boost", "net", "forest", "auto")
        ),
    ],
)
def test_an_engine_says_what_threads_say_in_blocks_of_any_size(method, monkeypatch):
    model = fit(table(), SCHEMA, method=method)
    here = model.apply(NEW, mode="both")
    monkeypatch.setattr(batch, "open_engine", stored_engine)
    for rows in (3, 8192):  # more blocks than are answered together, and one
        monkeypatch.setattr(result, "ROWS_AT_ONCE", rows)
        there = model.apply(NEW, mode="both")
        assert_frame_equal(there.frame, here.frame)
        assert there.report.columns == here.report.columns
        assert there.report.answers_sha256 == here.report.answers_sha256
    assert model.apply(NEW[:0]).frame.height == 0


def test_dask_says_the_same():
    pytest.importorskip("distributed")
    model = fit(table(), SCHEMA, method="commonest")
    here, there = model.apply(NEW), model.apply(NEW, engine="dask", workers=1)
    assert_frame_equal(there.frame, here.frame)
    assert there.report.columns == here.report.columns


@pytest.mark.slow
@pytest.mark.parametrize("method", ["graph", "auto"])
def test_dask_says_the_same_by_any_number_of_workers(method, monkeypatch, tmp_path):
    pytest.importorskip("distributed")
    fit(table(), SCHEMA, method=method).save(tmp_path / "m.cfl")
    model = Model.load(tmp_path / "m.cfl")
    here = model.apply(NEW, mode="both")
    monkeypatch.setattr(result, "ROWS_AT_ONCE", 7)
    for workers in (1, 2):
        there = model.apply(NEW, mode="both", engine="dask", workers=workers)
        assert_frame_equal(there.frame, here.frame)


def test_where_the_work_is_done_is_checked():
    model = fit(table(), SCHEMA, method="commonest")
    with pytest.raises(UsageError, match="workers: needs engine='dask'"):
        model.apply(NEW, workers=2)
