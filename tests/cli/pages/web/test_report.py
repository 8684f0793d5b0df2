import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from builders.markup import check, parsed
from builders.reports import ESTIMATED, FINITE, REPORTS, column, report
from builders.web_reports import (
    AUDITED,
    HOSTILE,
    as_old,
    full_column,
    full_report,
    history,
    hostile,
    poor,
    several,
    unknown,
    unmeasured,
)
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.cli.pages.report import report_notes
from cfl_cli.cli.pages.web import visible
from cfl_cli.cli.pages.web.report import fragment, history_page, page
from cfl_cli.methods.interface import Part, Tried
from cfl_cli.trust import HEADINGS, verdict_on
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.report import BatchFacts, Coverage, Drift, Report, ValueShare

FOUR = full_report(full_column(audit=AUDITED), poor(), unknown(), unmeasured())
PLACES = {"x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height", "points"}
OLD = Path(__file__).parents[3] / "trust" / "report_of_0.1.0.json"


@pytest.fixture(scope="module")
def four():
    return parsed(page(FOUR, batches=history().lines))


def test_the_page_is_well_formed_and_has_one_heading_of_each_level_above(four):
    check(four)
    assert len([*four.all("h1")]) == 1
    assert [one.text for one in four.all("h2")] == [
        "What you can use",
        "Details for analysts",
        "All CFs at a glance",
        "Each CF",
        "Glossary",
        "How it was made",
    ]
    levels = [int(one.tag[1]) for one in four.all() if re.fullmatch("h[1-6]", one.tag)]
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_cards_and_details_agree_with_the_verdicts(four):
    cards = [li.text for li in four.all("li", cls="card")]
    said = {p.text for p in four.all("p", cls="verdict")}
    for one, card in zip(FOUR.columns, cards, strict=True):
        verdict = verdict_on(one, FOUR.rows)
        assert card.split(" ", 1)[1].startswith(f"{HEADINGS[verdict.verdict]} {one.name}")
        opening = verdict.sentence[:1].upper() + verdict.sentence[1:]
        assert " ".join([opening, *verdict.look_at]) in said


def test_the_upper_part_says_what_to_do_without_options_flags_and_methods(four):
    upper = four.one("section", id="use").text
    assert [li.text for li in four.one("ul", cls="steps").all("li")] == [
        "Use job. Give more weight to values with a high confidence.",
        "Leave coat_rack as recorded. The other columns do not predict it better than the most common value does.",
        "The details say what to do about the other columns.",
    ]
    assert not re.search(r"--|`|no-better|small-entropy|graph|boost|auto\b", upper)
    assert not four.one("details", id="details").attributes.get("open")


def test_the_page_bears_a_title_a_date_and_an_example_of_no_row():
    made = parsed(page(FOUR, title="Ward <audit>", date="2026-11-01"))
    assert made.one("h1").text == "Ward <audit>"
    header = made.one("header").text
    assert "2026-11-01 · 3,000 rows · 4 estimated columns" in header
    assert re.search(r"For example, a cell of \w+ that says “not \w+” becomes “\w+”", header)


def test_the_table_has_a_row_per_cf_with_problems_first(four):
    table = four.one("table", cls="overview")
    rows = [
        [cell.text for cell in row.children if not isinstance(cell, str)] for row in table.all("tr")
    ]
    assert [row[0] for row in rows] == [
        "CF", "coat_rack 4 values", "ward 4 values", "blood_group 4 values", "job 4 values",
    ]  # fmt: skip
    assert rows[4][1:] == [
        "✓ Use",
        "90 % (87–93) baseline: 50 % (46–54)",
        "30 % left shuffled: 88 %",
        "none",
        "filled in",
    ]
    assert rows[1][4] == "small-entropy-reduction no-better-than-commonest"
    assert rows[2][2] == "not known"
    assert rows[3][2] == "not measured"


def test_flags_lead_to_what_to_do(four):
    links = [a.attributes["href"][1:] for a in four.one("table", cls="overview").all("a")]
    targets = {one.attributes["id"]: one for one in four.all() if "id" in one.attributes}
    advice = [targets[link].text for link in links if link.startswith("flag")]
    assert len(advice) == 3
    assert all("keep" in text or "audit" in text for text in advice)


def test_each_cf_shows_its_figures(four):
    job = four.one("details", id="cf1").text
    for expected in (
        "Use it. About 90 in 100",
        "0.50 98 % 90 % (87–93)",
        "0.95 35 % –",
        "nurse 48.0 % 17.3 %",
        "boost 75 % -0.3100",
        "graph, round 2 25 %",
        "Chosen: round 2, after 50 steps.",
        "since batch 8",
        "accuracy by the audit 92 % (87–97)",
        "held-out cells 1,502",
    ):
        assert expected in job
    assert "ruled out too often" in four.one("details", id="cf3").text
    assert "no cells were hidden (--folds 0)" in four.one("details", id="cf4").text


def test_how_it_was_made_can_be_repeated(four):
    made = four.one("section", id="made").text
    for expected in (
        "SHA-256 of the table 0123456789abcdef",
        "table clinic.csv",
        "read with delimiter ;",
        "gamma 0.25",
        "budget not set",
        "calibration yes",
        "numpy 2.3.1",
        "memory, at most 312 MB",
        "time: round 1: neighbors 1.2 s",
        "column 'age': 3 cells are empty.",
    ):
        assert expected in made


def test_no_note_of_the_terminal_is_lost_or_said_twice(four):
    text = four.text.lower()
    for note in "\n".join(report_notes(FOUR)).splitlines():
        own = whole = note.removeprefix("warning: ").removeprefix("- ").lower()
        flag, _, advice = whole.partition(": ")
        if any(flag in one.flags for one in FOUR.columns):
            own = advice
            assert text.count(own) >= 1
        elif "blended" not in own and own[:-1] not in {c.name for c in FOUR.columns}:
            assert text.count(own) == 1, own


def test_past_twelve_cfs_names_are_listed_by_state_the_best_first():
    root = parsed(page(several(20)))
    check(root)
    use = root.one("section", id="use")
    assert not [*use.all("ul", cls="sentences")]
    names = [li.text for li in next(use.all("ul", cls="names")).all("li")]
    assert names[0] == "column_18 91 %"
    assert sorted(names, key=lambda one: -int(one.split()[1])) == names
    assert sum(len([*ul.all("li")]) for ul in use.all("ul", cls="names")) == 20


@pytest.mark.parametrize(("cfs", "opened"), [(5, 5), (6, 0)])
def test_sections_are_open_up_to_five_cfs(cfs, opened):
    sections = [*parsed(page(several(cfs))).all("details", cls="cf")]
    assert sum("open" in one.attributes for one in sections) == opened
    assert len(sections) == cfs


def test_rare_values_are_folded_but_marked_ones_are_not():
    many = full_column(labels=[f"v{place}" for place in range(1, 41)], impossible_values=(40,))
    shown, folded = (
        [tr.text for tr in table.all("tr")][1:]
        for table in parsed(page(full_report(many))).all("table", cls="plain")
        if "alue" in table.one("caption").text and "alues of" in table.one("caption").text
    )
    assert len(shown) == 16
    assert shown[-1].startswith("v40 ruled out too often under 1 %")
    assert len(folded) == 24
    assert "24 less frequent values" in parsed(page(full_report(many))).text


def test_rare_shares_point_at_nobody():
    shares = (ValueShare("a", 0.999, None), ValueShare(None, None, 0.5))
    for rows, words in ((3000, "under 1 %"), (120, "under 10 rows")):
        cf = full_column(values=shares, empty_cells=0, exact_cells=0)
        text = parsed(page(replace(full_report(cf), rows=rows))).text
        assert f"a 99.9 % {words}" in text
        assert f"a rare value {words} 50.0 %" in text
    cf = full_column(values=shares, empty_cells=2700, exact_cells=0)  # 300 cells rule values out
    assert "a 99.9 % under 10 rows" in parsed(page(replace(full_report(cf), rows=3000))).text


@pytest.mark.parametrize(
    "old",
    [Report.from_json(OLD.read_text(), name="old"), as_old(FOUR), report(column()), report()],
    ids=["0.1.0", "without new fields", "bare", "no CF"],
)
def test_what_an_older_version_did_not_record_is_said_to_be_so(old):
    root = parsed(page(old))
    check(root)
    text = root.text
    assert "not recorded by cfl 0.1.0" in text
    assert not re.search(r"\b(None|nan|inf|Undefined)\b", text)


def check_any(text):
    root = parsed(text)
    check(root)
    text.encode()
    for svg in root.all("svg"):
        for one in svg.all():
            for name, value in one.attributes.items():
                if name in PLACES:
                    assert not re.search("[a-z]", value), (name, value)


@given(REPORTS)
def test_any_report_has_a_page_and_a_piece(made):
    check_any(page(made))
    check_any(fragment(made))


@given(
    st.builds(
        full_column,
        values=st.lists(
            st.builds(ValueShare, *[st.none() | one for one in (st.text(), FINITE, FINITE)])
        ).map(tuple),
        confidence_shares=st.lists(FINITE, max_size=12).map(tuple),
        coverage=st.lists(
            st.builds(Coverage, FINITE, FINITE, st.none() | ESTIMATED), max_size=12
        ).map(tuple),
        tried=st.lists(
            st.builds(
                Tried,
                st.integers(),
                st.lists(st.integers(), max_size=4).map(tuple),
                st.lists(FINITE, max_size=4).map(tuple),
            ),
            max_size=3,
        ).map(tuple),
        round=st.none() | st.integers(),
        iterations=st.none() | st.integers(),
        parts=st.lists(st.builds(Part, st.text(), FINITE, FINITE), max_size=2).map(tuple),
        commonest_accuracy=st.none() | ESTIMATED,
        impossible_values=st.lists(st.integers(), max_size=2).map(tuple),
    )
)
def test_drawings_bear_any_number(one):
    check_any(page(full_report(one)))


def test_names_and_values_stay_text_wherever_they_stand():
    for text in (page(hostile()), fragment(hostile())):
        root = parsed(text)
        check(root)
        assert len([*root.all("script")]) == text.count("<script") <= 1
        assert not [*root.all("img")]
        assert "onerror=" in root.text
        for one in HOSTILE:
            assert " ".join(visible(one).split()) in root.text
        for sign in "\u202e\0\a\u2028\ud800":
            assert sign not in text
    assert "{{ 7*7 }}" in parsed(page(hostile())).text


def test_a_history_may_hold_hostile_names():
    for name in HOSTILE:
        check(parsed(history_page(history(name))))


def test_the_page_is_small_whatever_the_number_of_rows():
    pages = {rows: page(replace(several(20, 10), rows=rows)) for rows in (1_000, 9_999_999)}
    assert abs(len(pages[1_000]) - len(pages[9_999_999])) < 20
    assert len(pages[1_000].encode()) < 500_000


def test_the_same_report_is_the_same_page():
    again = Report.from_json(FOUR.to_json(), name="again")
    assert page(again) == page(FOUR)
    assert fragment(again) == fragment(FOUR)


def test_a_batch_shows_its_figures_beside_those_at_fitting():
    drift = Drift(
        200, 0.11, 0.05, 0.08, 0.01, 0.05, 0.05, 0.02, 1e6, 40.0, alarm=True, drifted_since=3
    )
    drifted = full_column(
        flags=("drifted",), flagged=True, drift=drift, fitting_accuracy=Interval(0.95, 0.93, 0.97),
        fitting_score=-0.2, score_change=Interval(-0.1, -0.15, -0.05),
    )  # fmt: skip
    batch = BatchFacts(200, {"city": 0.02}, {}, "f" * 64, "e" * 64, 3)
    root = parsed(page(replace(full_report(drifted), batch=batch)))
    check(root)
    assert "3,000 rows of batch 3" in root.text
    assert "at fitting: 95 % (93–97)" in root.one("table", cls="overview").text
    section = root.one("details", id="cf1").text
    assert "loss at fitting 0.0500 loss of this batch 0.1100 limit of the loss 0.0800" in section
    assert "Share of the rows with new categories: city 2.0 %." in root.text
    assert [*root.one("table", cls="overview").all("rect", cls="fitting")]


def test_a_piece_for_notebooks_has_no_script_no_id_and_no_link():
    text = fragment(several(20))
    root = parsed(text)
    tags = {one.tag for one in root.all()}
    assert not tags & {"script", "meta", "a", "h1", "link"}
    assert not [one for one in root.all() if "id" in one.attributes]
    assert len(text.encode()) < 100_000
    fromstring(text)
    assert root.text.startswith("3,000 rows, 20 CFs, method graph ✓ Use 12 CFs")


def test_a_kept_cf_is_said_to_be_left_as_observed():
    assert (
        "left as observed"
        in parsed(page(full_report(poor(action="kept")))).one("table", cls="overview").text
    )


def test_the_page_of_a_history_shows_every_cf():
    root = parsed(history_page(history()))
    check(root)
    assert "12 batches, 1 CF, 1 drifted" in root.text
    assert "since 8" in root.one("section", id="all").text
    assert "night12.csv" in root.one("section", id="made").text
    assert "There is no batch yet." in parsed(history_page(replace(history(), lines=()))).text
