"""A history is read strictly, appended to whole, and counts the same batch once."""

import json
import os
from dataclasses import replace

import pytest
from builders.batches import FittedModel, Rows

from cfl_cli.errors import DataError, ResourceError
from cfl_cli.trust import history
from cfl_cli.trust.drift import BETS, DriftCourse, compare_cells
from cfl_cli.trust.facts import ColumnFacts
from cfl_cli.trust.history import History, Line, read, to_append

CFS = ["sure", "weak"]


@pytest.fixture(scope="module")
def model():
    return FittedModel()


def apply(model, path, rows, checksum, *, fitted="m1"):
    """What a run with a history does."""
    with to_append(path) as opened:
        before = opened.history.before(fitted, checksum, CFS, name="new.csv")
        judged = model.judge(
            rows, before.courses, number=before.number, model=fitted, checksum=checksum
        )
        if not before.repeated:
            opened.append(Line.of(judged, name="new.csv"))
    return judged


@pytest.fixture(scope="module")
def lines(model, tmp_path_factory):
    """The lines of three batches, the last one with drift."""
    path = tmp_path_factory.mktemp("history") / "h.jsonl"
    for number, scrambled in enumerate([0, 0, 1.0]):
        apply(model, path, Rows(400, number, scrambled=scrambled), f"b{number}")
    return path.read_text().splitlines()


@pytest.fixture
def path(lines, tmp_path):
    path = tmp_path / "h.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_every_batch_has_a_line_with_all_that_the_next_one_needs(path):
    first, _, last = read(path).lines
    assert [line.batch for line in read(path).lines] == [1, 2, 3]
    assert (first.model, first.checksum, first.name, first.rows) == ("m1", "b0", "new.csv", 400)
    sure, weak = last.columns
    assert (sure.drifted, weak.drifted) == (True, False)
    assert sure.course == DriftCourse(drifted_since=3)
    assert (sure.flags, sure.evidence > 10_000) == (("drifted",), True)
    assert first.columns[0].accuracy.low < first.columns[0].accuracy.value


def test_evidence_is_carried_from_line_to_line(model, path):
    rows, (_, second, third) = Rows(400, 2, scrambled=1.0), read(path).lines
    cells = ColumnFacts(rows.encoded, rows.estimate(model.shares), 1).hidden_cells
    ratios = compare_cells(cells, model.reference, 1).evidence.ratios
    before = second.columns[1].course.evidence
    grown = [(m + 1) * ratio for m, ratio in zip(before, ratios, strict=True)]
    assert third.columns[1].evidence == pytest.approx(sum(grown) / len(BETS))
    assert min(before) > 0


def test_the_same_batch_again_has_the_same_report_and_counts_once(model, path):
    text = path.read_bytes()
    for number, scrambled in ((2, 1.0), (0, 0)):  # the last one, and the first one
        rows = Rows(400, number, scrambled=scrambled)
        again = apply(model, path, rows, f"b{number}")
        assert path.read_bytes() == text
        line = read(path).lines[number]
        assert tuple(column.course for column in line.columns) == again.courses
        assert again.report.batch.number == line.batch
    fourth = apply(model, path, Rows(400, 9), "b9")
    assert fourth.report.columns[0].drift.drifted_since == 3


def test_another_model_starts_anew(model, path):
    judged = apply(model, path, Rows(400, 7), "b0", fitted="m2")
    assert judged.report.batch.number == 1
    assert [line.model for line in read(path).lines] == ["m1"] * 3 + ["m2"]
    assert "drifted" not in judged.report.columns[0].flags
    # And the old one goes on where it was.
    assert apply(model, path, Rows(400, 8), "b8").report.batch.number == 4


def test_lines_hold_no_cell_and_no_date(lines):
    assert set(json.loads(lines[0])) == {
        "version", "cfl_version", "model", "batch", "checksum", "name", "rows", "columns",
    }  # fmt: skip


def broken(lines, change):
    line = json.loads(lines[1])
    change(line)
    return json.dumps(line)


@pytest.mark.parametrize(
    "change",
    [
        lambda line: line.pop("rows"),
        lambda line: line.update(rows="400"),
        lambda line: line.update(rows=-1),
        lambda line: line.update(batch=3),
        lambda line: line.update(batch=0),
        lambda line: line.update(checksum="b0"),
        lambda line: line.update(version=2),
        lambda line: line["columns"][0].update(loss=float("nan")),
        lambda line: line["columns"][0].update(course=None),
        lambda line: line["columns"][0]["course"].update(evidence=[0.0] * (len(BETS) - 1)),
        lambda line: line["columns"][0]["course"].update(evidence=[-1.0] * len(BETS)),
        lambda line: line["columns"][0]["course"].update(evidence=[float("inf")] * len(BETS)),
        lambda line: line["columns"][0]["course"].update(evidence=[0.0] * (len(BETS) + 1)),
        lambda line: line["columns"][0]["course"].update(drifted_since=0),
    ],
)
def test_a_line_that_is_not_one_is_named(lines, tmp_path, change):
    path = tmp_path / "h.jsonl"
    path.write_text(f"{lines[0]}\n{broken(lines, change)}\n{lines[2]}\n")
    with pytest.raises(DataError, match=r"h\.jsonl, line 2: "):
        read(path)


@pytest.mark.parametrize("text", [b"\n", b"{}\n", b"\xff\n", b"[" * 100_000 + b"\n", b"null\n"])
def test_what_is_no_history_is_refused(text):
    with pytest.raises(DataError, match="line 1: "):
        History.from_text(text, name="x")


def test_a_line_that_was_cut_is_named_with_the_way_out_and_not_appended_to(model, path):
    whole = path.read_bytes()
    for cut in (whole[:-1], whole[:-50]):
        path.write_bytes(cut)
        with pytest.raises(DataError, match=r"line 3: it is cut off.*remove that line"):
            apply(model, path, Rows(10, 0), "new")
        assert path.read_bytes() == cut


def test_a_missing_line_and_other_cfs_are_noticed(path, lines):
    with pytest.raises(DataError, match="batch 3 of its model, where batch 2 is next"):
        History.from_text(f"{lines[0]}\n{lines[2]}\n".encode(), name="x")
    with pytest.raises(DataError, match="other CFs"):
        read(path).before("m1", "new", ["sure"])


def test_what_cannot_be_written_whole_leaves_the_file_as_it_was(path, monkeypatch):
    before = path.read_bytes()
    write = os.write
    monkeypatch.setattr(history.os, "write", lambda handle, data: write(handle, data[:20]))
    with to_append(path) as opened, pytest.raises(ResourceError, match="cannot be written"):
        opened.append(replace(opened.history.lines[-1], batch=4, checksum="new"))
    assert path.read_bytes() == before


def test_a_second_run_waits_for_the_first(path, monkeypatch):
    monkeypatch.setattr(history, "PATIENCE", 0.1)
    with to_append(path), pytest.raises(ResourceError, match="another run has it"), to_append(path):
        pass
    with to_append(path) as opened:
        assert len(opened.history.lines) == 3


def test_only_a_regular_file_is_a_history(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in (".", "pipe", "no/file", "a\0b"):
        with pytest.raises(DataError), to_append(tmp_path / name):
            pass
    with pytest.raises(DataError, match="cannot be opened"):
        read(tmp_path / "missing")
