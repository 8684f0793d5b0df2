"""At its end a command says what it wrote and what to check."""

from pathlib import Path

from builders.reports import column, report

from cfl_cli.cli.outputs import Outputs, note_rejects, summarise
from cfl_cli.tables.table import Place


def test_the_summary_says_rows_time_and_flagged_cfs_after_the_warnings(capsys):
    facts = report(column(), column("ward"), warnings=("odd",), timings={"encode": 1, "decode": 2})
    summarise(facts, "out.csv", None)
    assert capsys.readouterr().err.splitlines() == [
        "warning: odd",
        "out.csv: 1,234 rows, 2 CFs in 3.0 s",
    ]
    flagged = column(flags=("fallback-rows",), flagged=True)
    summarise(report(flagged), "out.csv", Path("out.csv.report.json"))
    assert capsys.readouterr().err.splitlines()[-1] == (
        "flagged, check before use: job; see `cfl report out.csv.report.json`"
    )
    summarise(report(flagged), "standard output", None)
    assert capsys.readouterr().err.endswith("flagged, check before use: job\n")
    summarise(report(column(flags=("exclusions-not-uniform",), flagged=True)), "out.csv", None)
    said = "accuracy not known, exclusions are not random (audit it): job"
    assert said in capsys.readouterr().err.splitlines()


def test_bad_records_are_counted_with_their_place(capsys):
    outputs = Outputs.without_report(Place.to_write("out.csv"), reject=True)
    source = Place.to_read("data.csv")
    note_rejects(outputs, 0, source)
    assert capsys.readouterr().err == ""
    note_rejects(outputs, 2, source)
    said = "out.csv.rejects.csv: 2 bad records of data.csv set aside\n"
    assert capsys.readouterr().err == said
