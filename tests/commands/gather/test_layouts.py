"""The presets on tables as hospitals, FHIR servers, REDCap and survey tools export them."""

import itertools
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from builders.command_line import cfl, done
from scipy.stats import chi2

from cfl_cli import DataError, UsageError, gather
from cfl_cli.commands.gather.design import design
from cfl_cli.tables.frames import as_polars


def found(table, **given):
    wide = as_polars(gather(table, **given))
    ids = given.get("id", "patient")
    return dict(zip(wide[ids].to_list(), wide[wide.columns[-1]].to_list(), strict=True))


# ICD-10-GM.

ICD = {"preset": "icd-10-gm", "id": "case", "code": "icd"}


def test_certainty_marks_of_icd_10_gm_stand_behind_the_code_or_in_a_column():
    marked = pl.DataFrame(
        {
            "case": ["a", "a", "b", "b", "c", "d", "e", "f", "f"],
            "icd": [
                *("J10.1 A", "j45.9A", "J20.- V", "J18.9 V L", "M17.1 GR", "H60.0 L G"),
                *("J10.1Z", "J101 A", "A17.0† A"),
            ],
        }
    )
    expected = {
        "a": "J10.1;J45.9",
        "b": "A17.0;H60.0;J10.1;J45.9;M17.1",
        "c": "=M17.1",
        "d": "=H60.0",
        "e": None,
        "f": "A17.0;J10.1",
    }
    assert found(marked, **ICD) == expected
    split = marked.with_columns(
        pl.col("icd").str.replace(r"\s*[AVGZ]?\s*[RL]?\s*[AVGZ]?$", ""),
        mark=pl.Series(["A", "A", "V", "V", "G", "G", "Z", "A", "a"]),
    )
    assert found(split, **ICD, status="mark") == expected
    assert found(marked, **ICD, level=3)["b"] == "A17;H60;J10;J45;M17"


def test_a_code_without_a_mark_is_refused_until_the_user_says_what_it_means():
    table = pl.DataFrame({"case": ["a", "b"], "icd": ["J10.1", "J18.9 A"]})
    with pytest.raises(DataError, match=r"'icd': 1 row without a meaning.*'=MEANING'.*exclusion"):
        found(table, **ICD)
    assert found(table, **ICD, map={"": "exact"})["a"] == "=J10.1"


# FHIR.

GM, SNOMED = "http://fhir.de/CodeSystem/bfarm/icd-10-gm", "http://snomed.info/sct"
CERTAINTY = "http://fhir.de/StructureDefinition/icd-10-gm-diagnosesicherheit"


def condition(patient, code, status=None, *, mark=None, others=(), **more):
    coding = {"system": GM, "code": code}
    if mark:
        coding["extension"] = [{"url": CERTAINTY, "valueCoding": {"code": mark}}]
    facts = {
        "resourceType": "Condition",
        "subject": {"reference": patient},
        "code": {"coding": [*others, coding], "text": "…"},
        "clinicalStatus": {"coding": [{"code": "active"}]},
    }
    if status:
        system = "http://terminology.hl7.org/CodeSystem/condition-ver-status"
        facts["verificationStatus"] = {"coding": [{"system": system, "code": status}]}
    return facts | more


CONDITIONS = [
    condition("Patient/p1", "J10", "refuted"),
    condition("https://host/fhir/Patient/p1/_history/2", "J18", "differential"),
    condition("Patient/p1", "J20", "provisional"),
    condition("Patient/p2", "J10", "confirmed", recordedDate="2024-03"),
    condition("Patient/p3", "J18", "entered-in-error"),
    condition("Patient/p3", "J20", "refuted"),
    condition("Patient/p4", "J45", mark="A"),
    condition("Patient/p5", "J45", "confirmed", mark="G"),
    condition("urn:uuid:7", "J45", "unconfirmed"),
]
CELLS = {
    "p1": "J10;J45",
    "p2": "=J10",
    "p3": "J20",
    "p4": "J45",
    "p5": "=J45",
    "urn:uuid:7": None,
}


def ndjson(resources):
    return "".join(f"{json.dumps(one)}\n" for one in resources)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_conditions_of_fhir_are_read_from_ndjson_and_from_frames(folder):
    Path("c.ndjson").write_text(ndjson([*CONDITIONS, {"resourceType": "Patient", "id": "p1"}]))
    result = done(cfl("gather", "c.ndjson", "--preset", "fhir", "--out", "w.csv"))
    wide = pl.read_csv("w.csv")
    assert dict(wide.rows()) == CELLS
    assert wide.columns == ["patient", "diagnosis"]
    assert "1 resource other than Condition left out" in result.stderr
    assert "drawn: by-people" in result.stderr
    frame = pl.read_ndjson("c.ndjson")
    assert found(frame, preset="fhir") == CELLS
    assert found(frame.to_arrow(), preset="fhir") == CELLS
    pandas = pl.DataFrame({"n": range(len(CONDITIONS))}).to_pandas()
    for key in ("resourceType", "subject", "code", "verificationStatus"):
        pandas[key] = [one.get(key) for one in CONDITIONS]
    assert found(pandas, preset="fhir") == CELLS


def test_a_refuted_condition_whose_german_mark_says_confirmed_is_not_guessed(folder):
    table = [*CONDITIONS, condition("Patient/p1", "J99", "confirmed", mark="A")]
    Path("c.ndjson").write_text(ndjson(table))
    refused = cfl("gather", "c.ndjson", "--preset", "fhir", "--out", "w.csv")
    assert refused.exit_code == 1
    assert "'verificationStatus': 'confirmed A' in 1 row without a meaning" in refused.stderr
    more = ("--map", "confirmed A=exclusion")
    done(cfl("gather", "c.ndjson", "--preset", "fhir", *more, "--out", "w.csv"))
    assert pl.read_csv("w.csv").rows()[0] == ("p1", "J10;J45;J99")


def test_codes_of_several_systems_need_a_choice(folder):
    both = [
        condition("Patient/p1", "J10", "refuted", others=[{"system": SNOMED, "code": "6142004"}])
    ]
    Path("c.ndjson").write_text(ndjson([*CONDITIONS, *both]))
    refused = cfl("gather", "c.ndjson", "--preset", "fhir", "--out", "w.csv")
    assert f"codes of 2 systems, such as '{GM}' and '{SNOMED}': --system URL" in refused.stderr
    for system in (GM, "icd-10-gm"):
        options = ("--preset", "fhir", "--system", system, "--overwrite")
        done(cfl("gather", "c.ndjson", *options, "--out", "w.csv"))
        assert dict(pl.read_csv("w.csv").rows()) == CELLS


def test_patients_of_fhir_give_features_and_their_names_are_left_out(folder):
    Path("c.ndjson").write_text(ndjson(CONDITIONS[:2]))
    patients = [
        {"resourceType": "Patient", "id": one, "gender": sex, "name": [{"family": "Grünbaum"}]}
        for one, sex in (("p9", "male"), ("p1", "female"))
    ]
    Path("p.ndjson").write_text(ndjson(patients))
    words = ("--preset", "fhir", "--with", "p.ndjson", "--out", "w.csv", "--values", "J10,J18")
    result = done(cfl("gather", "c.ndjson", *words))
    assert pl.read_csv("w.csv").select("id", "gender", "diagnosis").rows() == [
        ("p9", "male", None),
        ("p1", "female", "J10"),
    ]
    assert "name" not in pl.read_csv("w.csv").columns
    assert "Grünbaum" not in result.stderr


def test_other_files_than_conditions_are_refused(folder):
    Path("o.ndjson").write_text(
        ndjson([{"resourceType": "Observation", "subject": {}, "code": {}}])
    )
    for text, words in (
        (ndjson([{"resourceType": "Patient", "id": "p1"}]), "no Conditions of FHIR"),
        (Path("o.ndjson").read_text(), "no resource is a Condition"),
        (json.dumps(CONDITIONS, indent=1), "one JSON document"),
    ):
        Path("o.ndjson").write_text(text)
        refused = cfl("gather", "o.ndjson", "--preset", "fhir", "--out", "w.csv")
        assert (refused.exit_code, words in refused.stderr) == (1, True), refused.stderr


# REDCap.

REDCAP = {"preset": "redcap", "id": "record_id", "stem": "x"}
TICKS = pl.DataFrame(
    {
        "record_id": [1, 2, 3, 4, 5],
        "age": [30, 40, 50, 60, 70],
        "x___1": ["1", "0", "0", "0", None],
        "x___2": ["1", "0", "0", None, None],
        "x____3": ["0", "1", "0", "0", None],
        "x___99": ["0", "0", "0", "1", None],
    }
)


def test_boxes_say_what_was_ruled_out_and_an_empty_one_was_not_seen():
    cells = {1: "1;2", 2: "-3", 3: None, 4: None, 5: None}
    assert found(TICKS, **REDCAP, none="99") == cells
    labels = TICKS.with_columns(pl.col("^x_.*$").replace({"1": "Checked", "0": "Unchecked"}))
    assert found(labels, **REDCAP, none="99") == found(TICKS, **REDCAP, none="99")


def test_boxes_of_a_survey_say_what_was_picked_and_none_of_these_rules_out_what_was_seen():
    survey = {**REDCAP, "none": "99", "map": {"1": "exact", "0": "exclusion"}}
    table = TICKS[1:]  # nothing was ticked in row 3, so it was not answered
    assert found(table, **survey) == {2: "=-3", 3: None, 4: "1;-3", 5: None}
    with pytest.raises(DataError, match="two values are confirmed"):
        found(TICKS, **survey)
    wide = gather(table, **survey, cf="y")
    assert [*wide.columns] == ["record_id", "age", "y"]
    with pytest.raises(UsageError, match="no column 'z___1'"):
        gather(table, **{**survey, "stem": "z"})


# Options that were shown.

SHOWN = {"id": "who", "code": "picked", "shown": "shown", "none": "none of these"}


def test_options_that_were_shown_and_not_picked_are_excluded():
    table = pl.DataFrame(
        {
            "who": ["a", "b", "c", "d"],
            "shown": ["car|bus", "bus | walk", "car|walk", "tram|bus"],
            "picked": ["None of these", "walk", None, "none of these"],
        }
    )
    expected = {"a": "bus;car", "b": "=walk", "c": None, "d": "bus;tram"}
    assert found(table, **SHOWN) == expected
    lists = table.with_columns(pl.col("shown").str.split("|"))
    assert found(lists, **SHOWN) == expected
    columns = table.with_columns(
        pl.col("shown").str.split("|").list.get(n).alias(f"shown_{n}") for n in (0, 1)
    ).drop("shown")
    assert found(columns, **{**SHOWN, "shown": ["shown_0", "shown_1"]}) == expected
    with pytest.raises(DataError, match="'None of these' in 1 row picked, although"):
        found(table, **{**SHOWN, "none": "other"})


def answers(n, draw):
    r = np.random.default_rng(3)
    values = np.array([*"abcdef"])
    true = r.choice(6, size=n, p=[0.1, 0.2, 0.15, 0.15, 0.15, 0.25])
    sets = [draw(r, value) for value in true]
    rows = [
        (who, "|".join(values[one]), values[value] if value in one else "none of these")
        for who, (value, one) in enumerate(zip(true, sets, strict=True))
    ]
    return pl.DataFrame(rows, ["who", "shown", "picked"], orient="row")


def at_random(r, _):
    return r.permutation(6)[:3]


def the_same(_, __):
    return np.arange(3)


def popular_first(r, _):
    return r.choice(6, size=3, replace=False, p=[0.1, 0.2, 0.15, 0.15, 0.15, 0.25])


def guessed(r, value):
    others = r.permutation([one for one in range(6) if one != value])
    return [value, *others[:2]] if r.random() < 0.7 else others[:3]


@pytest.mark.parametrize(
    ("draw", "why"),
    [
        (the_same, "all saw the same options"),
        (popular_first, "one option was shown to"),
        (guessed, "picked one, "),
    ],
)
def test_options_that_were_not_drawn_at_random_are_noticed(draw, why):
    table = answers(600, draw)
    given = {**SHOWN, "values": [*"abcdef"]}
    found(table, **given)
    with pytest.raises(DataError, match=why) as caught:
        found(table, **given, drawn="at-random")
    assert caught.value.code == "gather-not-drawn"


def test_a_schema_says_that_options_were_drawn_only_if_the_user_says_so(folder):
    answers(600, at_random).write_csv("a.csv")
    words = ("--id", "who", "--code", "picked", "--shown", "shown", "--none", "none of these")
    result = done(cfl("gather", "a.csv", *words, "--out", "w.csv"))
    assert "3 of 6 options: each about equally often" in result.stderr
    assert "drawn:" not in result.stderr
    more = ("--drawn", "at-random", "--overwrite", "--out", "w.csv")
    result = done(cfl("gather", "a.csv", *words, *more))
    assert "exact_cells: random, drawn: at-random}" in result.stderr


def test_the_tests_of_a_design_are_pearsons_and_refute_a_random_one_as_seldom_as_they_should():
    sets = dict(zip(itertools.combinations(range(4), 2), [12, 9, 8, 11, 10, 10], strict=True))
    form = design(sets, 30, 4)
    assert form.among_sets == pytest.approx(chi2.sf((4 + 1 + 4 + 1) / 10, 5))
    assert (form.respondents, form.expected_picks, form.sizes) == (60, 30, (2,))
    assert form.picked == pytest.approx(1)
    r = np.random.default_rng(0)
    chances = []
    for _ in range(400):
        drawn = np.sort(np.argsort(r.random((200, 6)))[:, :3])
        keys, counts = np.unique(np.sort(drawn, axis=1), axis=0, return_counts=True)
        one = design(dict(zip(map(tuple, keys), counts, strict=True)), r.binomial(200, 0.5), 6)
        chances.append((one.equally, one.among_sets, one.picked))
    for share in (0.05, 0.2):
        for column in np.array(chances).T:
            assert (column < share).mean() == pytest.approx(share, abs=0.05)


@pytest.mark.parametrize(("draw", "refused"), [(at_random, False), (popular_first, True)])
def test_a_row_for_each_option_is_tested_as_a_list_of_them_is(draw, refused):
    wide = answers(600, draw)
    table = wide.with_columns(option=pl.col("shown").str.split("|")).explode("option")
    table = table.with_columns(ticked=(pl.col("option") == pl.col("picked")).cast(pl.Int8))
    asked = {"id": "who", "code": "option", "status": "ticked", "drawn": "at-random", "cf": "way"}
    asked |= {"map": {"1": "exact", "0": "exclusion"}, "values": [*"abcdef"]}
    if refused:
        with pytest.raises(DataError, match="drawn='at-random': respondents saw 3 of 6 options"):
            found(table, **asked)
    else:
        given = {**SHOWN, "values": [*"abcdef"]}
        assert found(table.drop("shown", "picked"), **asked) == found(wide, **given)


def test_the_same_patients_have_the_same_cells_in_every_layout(folder):
    r = np.random.default_rng(5)
    codes, marks = np.array([f"J{n}" for n in range(10, 16)]), [*"AVZG"]
    words = {"A": "refuted", "V": "differential", "Z": "unknown", "G": "confirmed"}
    rows = []
    for patient in range(120):
        chosen = r.permutation(codes)[: r.integers(1, 5)]
        drawn = r.choice(marks, size=len(chosen), p=[0.5, 0.35, 0.1, 0.05])
        if (drawn == "G").sum() < 2:
            rows += [(f"p{patient}", *both) for both in zip(chosen, drawn, strict=True)]
    table = pl.DataFrame(rows, ["patient", "code", "mark"], orient="row")
    given = {"id": "patient", "code": "code", "values": [*codes]}
    meanings = {"A": "exclusion", "V": "candidate", "Z": "nothing", "G": "exact"}
    plain = found(table, **given, status="mark", map=meanings)
    assert len({*plain.values()}) > 30
    assert found(table, **given, status="mark", preset="icd-10-gm") == plain
    behind = table.select("patient", code=pl.col("code") + " " + pl.col("mark"))
    assert found(behind, **given, preset="icd-10-gm") == plain
    resources = [condition(f"Patient/{who}", code, words[mark]) for who, code, mark in rows]
    Path("c.ndjson").write_text(ndjson(resources))
    values = ",".join(codes)
    done(cfl("gather", "c.ndjson", "--preset", "fhir", "--values", values, "--out", "w.csv"))
    assert dict(pl.read_csv("w.csv").rows()) == plain
