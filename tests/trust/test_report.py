import json
import math
from pathlib import Path

import polars as pl
import pytest
from builders.reports import CONTRACT_COLUMN, REPORTS, column, report, without_checksums
from hypothesis import given

from cfl_cli import impute
from cfl_cli.errors import DataError
from cfl_cli.schema.model import Complementary, Ordinary, Schema
from cfl_cli.trust.heldout import Bin
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.report import FLAGGING, Report, failing, is_flagged

CONTRACT = {
    "version", "cfl_version", "rows", "settings", "warnings", "timings", "peak_memory_mb",
    "columns",
}  # fmt: skip


@given(REPORTS)
def test_json_gives_the_same_report_back(facts):
    assert Report.from_json(facts.to_json(), name="r") == facts
    assert Report.from_json(facts.to_json().encode(), name="r") == facts


def test_the_report_of_a_run_has_every_key_of_the_contract_and_no_cell_of_the_table():
    frame = pl.DataFrame(
        {
            "person": ["alice-1", "bob-2", "carol-3", "dave-4", "erin-5"],
            "income": ["51111", "52222", "", "54444", "55555"],
            "town": ["ulm", "bonn", "ulm", "trier", "bonn"],
            "job": ["clerk;nurse", "=farmer", "nurse", "", "clerk"],
            "ward": ["east", "west", "east", "north", "west"],
        }
    )
    schema = Schema(
        columns={
            "income": Ordinary(type="numeric"),
            "town": Ordinary(type="categorical"),
            "job": Complementary(values=["clerk", "nurse", "farmer"], separator=";", exact="="),
            "ward": Complementary(),
        }
    )
    text = impute(frame, schema, k=2, mode="both").report.to_json()
    facts = json.loads(text)
    assert set(facts) >= CONTRACT
    assert all(set(one) >= CONTRACT_COLUMN for one in facts["columns"])
    assert [one["name"] for one in facts["columns"]] == ["job", "ward"]
    assert (facts["version"], facts["rows"], len(facts["warnings"])) == (1, 5, 2)
    cells = {cell for row in frame.rows() for cell in row if cell}
    unlabelled = text.replace('"label": "clerk"', "").replace('"label": "nurse"', "")
    for word in cells | {"east", "west", "north"}:  # of which no schema says that they are values
        assert word not in unlabelled
    labels = [[value["label"] for value in one["values"]] for one in facts["columns"]]
    assert labels == [["clerk", "nurse", "farmer"], [None] * 3]
    assert Report.from_json(text, name="r").to_json() == text


GOOD = json.loads(report(column(), column("ward"), timings={"encode": 0.1}).to_json())


@pytest.mark.parametrize(
    "text",
    ["", "garbage", "null", "[]", "{}", "1", '"text"', "{", "[" * 100_000, '{"version": 1}', "NaN",
     b"\xff\xfe", b"\0", b"PAR1", b'{"rows": "\xff"}', '{"a": ' * 5000, json.dumps([GOOD])],
)  # fmt: skip
def test_what_is_no_report_is_refused_with_its_name(text):
    with pytest.raises(DataError, match=r"^some\.json: not a report of cfl \("):
        Report.from_json(text, name="some.json")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("rows",), "5"),
        (("rows",), 1.5),
        (("rows",), True),
        (("columns",), {}),
        (("columns",), ["job"]),
        (("columns", 0, "name"), None),
        (("columns", 0, "flags"), "fallback-rows"),
        (("columns", 0, "entropy_reduction"), 1e300),  # would draw an endless bar
        (("columns", 0, "entropy_reduction"), -0.1),
        (("columns", 0, "entropy_start"), math.nan),
        (("columns", 0, "estimated_accuracy"), {"value": "high"}),
        (("settings",), {"k": math.inf}),
        (("settings",), {"k": [1]}),
        (("timings",), {"encode": math.nan}),
        (("peak_memory_mb",), math.inf),
        (("warnings",), [1]),
    ],
)
def test_a_fact_of_the_wrong_kind_is_refused_with_its_place(path, value):
    facts = json.loads(json.dumps(GOOD))
    place = facts
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    with pytest.raises(DataError) as caught:
        Report.from_json(json.dumps(facts), name="r")
    assert str(caught.value).startswith(f"r: not a report of cfl ({'.'.join(map(str, path))}")


def test_a_report_of_another_version_is_refused_but_a_fact_that_a_later_one_adds_passed_over():
    with pytest.raises(DataError, match="r: a report of version 2; this cfl reads version 1"):
        Report.from_json(json.dumps({**GOOD, "version": 2}), name="r")
    facts = {**without_checksums(GOOD), "new": 1}
    assert Report.from_json(json.dumps(facts), name="r").columns[0].name == "job"


OLD = (Path(__file__).parent / "report_of_0.1.0.json").read_text()


def within(old, new):
    """Return whether every fact of one JSON value is in another, which may have further keys."""
    if isinstance(old, dict):
        return all(key in new and within(value, new[key]) for key, value in old.items())
    if isinstance(old, list):
        return len(old) == len(new) and all(map(within, old, new))
    return old == new


def test_a_report_that_version_0_1_0_wrote_is_read_and_written_again_with_every_fact():
    read = Report.from_json(OLD, name="old")
    assert within(json.loads(OLD), json.loads(read.to_json()))
    assert (read.rows, read.settings["method"]) == (150, "auto")
    assert [column.flags for column in read.columns] == [(), ("no-better-than-commonest",)]
    # What is nested has the types of today.
    facts, found = json.loads(OLD)["columns"][0], read.columns[0]
    assert found.gain == Interval(**facts["gain"])
    assert found.confident.accuracy == Interval(**facts["confident"]["accuracy"])
    assert found.calibration.overconfidence == Interval(**facts["calibration"]["overconfidence"])
    first = {**facts["calibration"]["bins"][0]}
    assert found.calibration.bins[0] == Bin(**{**first, "accuracy": Interval(**first["accuracy"])})
    nothing = {"round": None, "stops": (), "metric": None}
    assert [vars(part) for part in found.parts] == [part | nothing for part in facts["parts"]]


@pytest.mark.parametrize(
    ("flags", "better", "flagged"),
    [
        ((), False, False),
        (("fallback-rows",), False, False),
        (("no-better-than-commonest",), False, True),
        (("exclusions-not-uniform",), True, True),
        (("small-entropy-reduction",), True, False),
        (("small-entropy-reduction",), False, True),
    ],
)
def test_a_small_reduction_flags_only_answers_that_are_not_clearly_better(flags, better, flagged):
    assert is_flagged(flags, clearly_better=better) == flagged


@pytest.mark.parametrize(
    ("then", "now", "new"),
    [
        ((), ("drifted",), ("drifted",)),
        (("no-better-than-commonest",), ("no-better-than-commonest",), ()),
        (("no-better-than-commonest",), ("no-better-than-commonest", "drifted"), ("drifted",)),
        # What does not make a CF flagged is no reason, however new.
        (("small-entropy-reduction",), ("small-entropy-reduction", "drifted"), ("drifted",)),
        ((), ("new-categories", "out-of-range", "fallback-rows"), ()),
    ],
)
def test_a_night_fails_on_what_a_cf_is_newly_flagged_for(then, now, new):
    def of(flags):
        return report(column("job", flags=flags, flagged=not FLAGGING.isdisjoint(flags)))

    found = failing(of(now), "new", fitted=of(then))
    assert found == ({"job": new} if new else {})
    assert failing(of(now), "drifted", fitted=of(then)) == (
        {"job": ("drifted",)} if "drifted" in now else {}
    )
