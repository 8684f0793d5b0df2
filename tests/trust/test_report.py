"""The facts of a report, its JSON, and the ways it is shown."""

import csv
import io
import json
import math
import re

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from cfl_cli import impute
from cfl_cli.cli.show import report as render
from cfl_cli.errors import DataError
from cfl_cli.estimators.interface import Estimate, Hidden, Null, Origin
from cfl_cli.schema.model import Complementary, Ordinary, Schema
from cfl_cli.steps.encode import Block, Encoded
from cfl_cli.trust.calibration import Bin, Calibration
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.report import ColumnReport, Confident, Report
from cfl_cli.trust.verdict import build

FLAGS = ("small-entropy-reduction", "fallback-rows")


def column(name="job", **facts):
    """Return the report of a CF about which nothing is remarkable."""
    plain = {
        "domain_size": 3,
        "exclusions_per_cell": 1.0,
        "exact_cells": 0,
        "empty_cells": 0,
        "entropy_start": 0.69,
        "entropy_end": 0.23,
        "entropy_reduction": 2 / 3,
        "entropy_reduction_null": None,
        "mean_confidence": 0.9,
        "commonest_share": 0.5,
        "heldout_score": None,
        "estimated_accuracy": None,
        "flags": (),
        "flagged": False,
        "action": "imputed",
        "fallback_rows": 0,
        "low_confidence_cells": 0,
    }
    return ColumnReport(name, **{**plain, **facts})


def report(*columns, **facts):
    return Report("0.1.0", 1234, {"k": 20}, columns, **facts)


def built(candidates, confidences, *, fell_back=None, keep_flagged=False, mass=None, **judged):
    """Return what a report says about one CF."""
    candidates = np.array(candidates, dtype=bool)
    rows, size = candidates.shape
    block = Block("cf", tuple("abcdefghijklmnop"[:size]), 0, 1.5, 2, 3)
    encoded = Encoded(np.zeros((rows, 1)), candidates, (block,), {}, ("beware",))
    fell = np.zeros((rows, 1), dtype=bool) if fell_back is None else np.array(fell_back)[:, None]
    allowed = np.ones((rows, 1)) if mass is None else np.array(mass)[:, None]
    origin = Origin("graph", round=2, iterations=8)
    min_confidence = judged.pop("min_confidence", 0.0)
    found = build(
        encoded,
        Estimate(
            np.array(confidences),
            fell,
            allowed,
            (origin,),
            rescued_rows=4,
            steps=(9, 8),
            **judged,
        ),
        cfl_version="9",
        settings={"k": 1},
        k=1,
        always_second_round=False,
        keep_flagged=keep_flagged,
        min_confidence=min_confidence,
    )
    assert (found.rows, found.warnings, found.rescued_rows) == (rows, ("beware",), 4)
    return found.columns[0]


# The facts


def test_the_facts_of_a_cf_are_those_worked_by_hand():
    found = built([[1, 1, 0], [1, 1, 1]], [[0.5, 0.5, 0.0], [0.7, 0.2, 0.1]])
    start = (math.log(2) + math.log(3)) / 2
    end = (math.log(2) + 0.801819) / 2
    assert found.entropy_start == pytest.approx(start)
    assert found.entropy_end == pytest.approx(end, abs=1e-6)
    assert found.entropy_reduction == pytest.approx(1 - end / start, abs=1e-6)
    assert found.mean_confidence == pytest.approx((0.5 + 0.7) / 2)
    assert (found.domain_size, found.exclusions_per_cell) == (3, 1.5)
    assert (found.exact_cells, found.empty_cells) == (2, 3)
    assert found.flags == ("small-entropy-reduction",)


def test_a_cf_that_was_certain_from_the_start_is_reduced_in_full_and_not_flagged():
    found = built([[1, 0], [0, 1]], [[1.0, 0.0], [0.0, 1.0]])
    assert (found.entropy_start, found.entropy_end, found.entropy_reduction) == (0, 0, 1)
    assert (found.flags, found.flagged, found.mean_confidence) == ((), False, 1)


def test_entropy_that_grew_counts_as_no_reduction():
    found = built([[1, 1, 0]], [[0.4, 0.3, 0.3]])  # without correction, exclusions come back
    assert found.entropy_end > found.entropy_start
    assert found.entropy_reduction == 0


def test_confidence_that_rounds_above_1_leaves_no_entropy_below_0():
    found = built([[1, 1, 0]], [[1.0000000000000002, 0.0, 0.0]])
    assert f"{found.entropy_end:.2f}" == "0.00"
    assert found.entropy_reduction == pytest.approx(1)


@pytest.mark.parametrize(("left", "flagged"), [(9, True), (7, False)])
def test_a_reduction_under_a_quarter_is_flagged(left, flagged):
    # From 16 values alike to `left` values alike: 1 − ln 9 / ln 16 = 0.21, 1 − ln 7 / ln 16 = 0.30.
    confidences = [[1 / left] * left + [0.0] * (16 - left)]
    found = built([[1] * 16], confidences)
    assert found.flagged == flagged
    assert found.flags == (("small-entropy-reduction",) if flagged else ())


@pytest.mark.parametrize(("keep", "action"), [(True, "kept"), (False, "imputed")])
def test_only_a_flagged_cf_is_kept_and_only_if_asked(keep, action):
    useless, useful = [[1 / 3] * 3], [[1.0, 0.0, 0.0]]
    assert built([[1, 1, 1]], useless, keep_flagged=keep).action == action
    assert built([[1, 1, 1]], useful, keep_flagged=keep).action == "imputed"


def test_rows_that_fell_back_are_counted_and_do_not_flag_alone():
    certain = [[1.0, 0.0, 0.0]] * 3
    found = built([[1, 1, 1]] * 3, certain, fell_back=[True, False, True])
    assert (found.fallback_rows, found.flags, found.flagged) == (2, ("fallback-rows",), False)


def test_the_commonest_share_is_none_when_no_cell_says_anything():
    assert built([[1, 1, 1]] * 4, [[1 / 3] * 3] * 4).commonest_share is None


def test_the_commonest_share_of_exact_cells_is_their_share():
    exact = np.eye(3)[[0, 2, 2, 1, 2]]
    found = built(exact, exact)
    assert found.commonest_share == pytest.approx(3 / 5)
    assert found.commonest_share_interval.low < 0.6 < found.commonest_share_interval.high


def test_the_commonest_share_stays_within_0_and_1():
    never = built([[1, 1, 0], [1, 1, 0]], [[0.5, 0.5, 0.0]] * 2)
    assert never.commonest_share == 1  # 1 − 2 · 0/2; the third would be 1 − 2 · 2/2 = −1


def cells(rng, truth, size):
    """One exclusion per cell, at random."""
    excluded = (truth + rng.integers(1, size, len(truth))) % size
    return np.arange(size) != excluded[:, None]


def judged(right, *, n=1500, size=4, skew=0.0, entropy=0.3, shuffled=0.9, hidden=None, **options):
    """Return the report of a CF whose priors are right with a probability, the rest by chance."""
    rng = np.random.default_rng(0)
    shares = np.full(size, (1 - skew) / size) + np.eye(size)[0] * skew
    truth = rng.choice(size, n, p=shares)
    candidates = cells(rng, truth, size)
    top = np.where(rng.random(n) < right, truth, rng.choice(size, n, p=shares))
    prior = 0.9 * np.eye(size)[top] + 0.1 / size
    confidences = prior * candidates / (prior * candidates).sum(axis=1, keepdims=True)
    rows = np.arange(n) if hidden is None else np.arange(hidden)
    found = built(
        candidates,
        confidences,
        hidden=Hidden(rows, prior[rows]),
        null=Null(np.array([entropy]), np.array([shuffled]), n),
        **options,
    )
    return found, (confidences.argmax(axis=1) == truth).mean()


@pytest.mark.parametrize("hidden", [None, 300])
def test_the_accuracy_is_estimated_from_hidden_cells(hidden):
    found, accuracy = judged(0.7, hidden=hidden)
    low, value, high = (getattr(found.estimated_accuracy, end) for end in ("low", "value", "high"))
    assert low < accuracy < high
    assert low < value < high
    assert high - low < (0.3 if hidden else 0.15)
    assert found.hidden_cells == (hidden or 1500)
    assert found.heldout_score < 0
    assert found.gain.low > 0
    assert (found.flags, found.round, found.iterations) == ((), 2, 8)


def test_rows_that_judged_each_other_leave_more_to_chance():
    in_turn, _ = judged(0.7)
    apart, _ = judged(0.7, hidden=1499)
    widths = [
        found.estimated_accuracy.high - found.estimated_accuracy.low for found in (in_turn, apart)
    ]
    assert widths[0] / widths[1] == pytest.approx(2**0.5, rel=0.02)


def test_answers_like_the_commonest_are_flagged():
    found, _ = judged(0.0, skew=0.6)
    assert found.commonest_share == pytest.approx(0.7, abs=0.05)
    assert found.commonest_accuracy.value > found.estimated_accuracy.low
    assert found.flags == ("no-better-than-commonest",)
    assert found.flagged


@pytest.mark.parametrize(
    ("entropy", "flagged"), [(0.3, False), (0.75, False), (0.85, True), (0.9, True), (1.0, True)]
)
def test_entropy_that_shuffled_cells_lose_too_is_flagged(entropy, flagged):
    found, _ = judged(0.7, entropy=entropy)
    assert ("small-entropy-reduction" in found.flags) == flagged
    left, null = 1 - found.entropy_reduction, 1 - found.entropy_reduction_null
    assert null == pytest.approx(min(1, left * 0.9 / entropy))


def test_in_a_small_table_entropy_must_differ_by_more():
    assert "small-entropy-reduction" not in judged(0.7, n=1500, entropy=0.75)[0].flags
    assert "small-entropy-reduction" in judged(0.7, n=60, entropy=0.75)[0].flags


def test_exclusions_that_cannot_be_uniform_are_told_by_place():
    rng = np.random.default_rng(0)
    truth = rng.choice(3, 600, p=[0.5, 0.3, 0.2])
    excluded = np.where(truth == 1, 0, 1)  # the second value is ruled out wherever it can be
    candidates = np.arange(3) != excluded[:, None]
    found = built(candidates, candidates / 2)
    assert "exclusions-not-uniform" in found.flags
    assert found.impossible_values == (2,)


def test_cells_below_the_least_confidence_are_counted_and_the_rest_is_judged():
    found, _ = judged(0.7, min_confidence=0.5)
    every, _ = judged(0.7)
    assert 0 < found.low_confidence_cells < 1500
    assert found.confident.share == pytest.approx(1 - found.low_confidence_cells / 1500)
    assert found.confident.accuracy.low < found.confident.accuracy.value
    assert (every.low_confidence_cells, every.confident) == (0, None)


def test_cells_that_the_neighbors_contradict_are_counted():
    certain = [[1.0, 0.0, 0.0]] * 3
    assert built([[1, 1, 0]] * 3, certain, mass=[0.001, 0.5, 1.0]).suspect_cells == 1


def test_calibration_is_told_in_bins_and_as_a_plot():
    found, accuracy = judged(0.7)
    calibration = found.calibration
    assert len(calibration.plot) == 10
    assert {place for place, sign in enumerate(calibration.plot) if sign != " "} == {
        round(part.low * 10) for part in calibration.bins
    }
    assert sum(part.cells for part in calibration.bins) == pytest.approx(1500, abs=5)
    gap = found.mean_confidence - accuracy
    assert calibration.overconfidence.low < gap < calibration.overconfidence.high


def test_without_hidden_cells_nothing_is_estimated():
    found = built([[1, 1, 0]] * 3, [[1.0, 0.0, 0.0]] * 3)
    nothing = (found.heldout_score, found.estimated_accuracy, found.entropy_reduction_null)
    assert nothing == (None, None, None)
    assert (found.calibration, found.gain, found.commonest_accuracy) == (None, None, None)


# JSON

CONTRACT = {
    "version", "cfl_version", "rows", "settings", "warnings", "timings", "peak_memory_mb",
    "columns",
}  # fmt: skip
CONTRACT_COLUMN = {
    "name", "domain_size", "exclusions_per_cell", "exact_cells", "empty_cells", "entropy_start",
    "entropy_end", "entropy_reduction", "entropy_reduction_null", "mean_confidence",
    "commonest_share", "heldout_score", "estimated_accuracy", "flags", "flagged", "action",
    "fallback_rows", "low_confidence_cells",
}  # fmt: skip

FINITE = st.floats(allow_nan=False, allow_infinity=False)
COUNT = st.integers(0, 2**70)
ESTIMATED = st.builds(Interval, FINITE, FINITE, FINITE)
REPORTS = st.builds(
    Report,
    cfl_version=st.text(),
    rows=COUNT,
    settings=st.dictionaries(
        st.text(), st.none() | st.booleans() | st.integers() | FINITE | st.text()
    ),
    columns=st.lists(
        st.builds(
            ColumnReport,
            name=st.text(),
            domain_size=COUNT,
            exclusions_per_cell=FINITE,
            exact_cells=COUNT,
            empty_cells=COUNT,
            entropy_start=FINITE,
            entropy_end=FINITE,
            entropy_reduction=st.floats(0, 1),
            entropy_reduction_null=st.none() | FINITE,
            mean_confidence=FINITE,
            commonest_share=st.none() | FINITE,
            heldout_score=st.none() | FINITE,
            estimated_accuracy=st.none() | ESTIMATED,
            flags=st.lists(st.sampled_from(FLAGS)).map(tuple),
            flagged=st.booleans(),
            action=st.sampled_from(["imputed", "kept"]),
            fallback_rows=COUNT,
            low_confidence_cells=COUNT,
            gain=st.none() | ESTIMATED,
            confident=st.none() | st.builds(Confident, FINITE, st.none() | ESTIMATED),
            calibration=st.none()
            | st.builds(
                Calibration,
                FINITE,
                ESTIMATED,
                st.lists(st.builds(Bin, FINITE, FINITE, COUNT, FINITE, ESTIMATED), max_size=2).map(
                    tuple
                ),
                st.text(),
            ),
            impossible_values=st.lists(COUNT, max_size=2).map(tuple),
        ),
        max_size=3,
    ).map(tuple),
    warnings=st.lists(st.text()).map(tuple),
    rescued_rows=COUNT,
    timings=st.dictionaries(st.text(), FINITE),
    peak_memory_mb=st.none() | FINITE,
)


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
    for word in cells | {"clerk", "nurse", "farmer", "east", "west", "north"}:
        assert word not in text
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


def test_a_report_of_another_version_is_refused():
    with pytest.raises(DataError, match="r: a report of version 2; this cfl reads version 1"):
        Report.from_json(json.dumps({**GOOD, "version": 2}), name="r")


def test_a_fact_that_a_later_version_adds_is_passed_over():
    assert Report.from_json(json.dumps({**GOOD, "new": 1}), name="r").columns[0].name == "job"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(sorted({*GOOD, *CONTRACT_COLUMN} - {"columns"})), JSON)
@example("flags", ["\x1b[31m"])
@example("action", "\x1b[2J")
@example("name", "\x1b]0;title\x07")
@example("rows", 10**4000)
@example("mean_confidence", 1e308)
def test_a_forged_fact_is_refused_or_shown_without_harm(key, value):
    facts = json.loads(json.dumps(GOOD))
    (facts if key in facts else facts["columns"][0])[key] = value
    try:
        read = Report.from_json(json.dumps(facts), name="r")
    except DataError:
        return
    assert Report.from_json(read.to_json(), name="r") == read
    assert printable(render.table(read, color=False, width=None))
    assert printable(render.markdown(read))
    assert render.comma_separated(read).startswith("name,")


# How it is shown


def printable(text):
    return all(line.isprintable() for line in text.split("\n"))


TWO = report(column(flags=FLAGS, flagged=True, action="kept"), column("ward", domain_size=40))


def test_the_table_has_a_line_for_every_cf():
    assert render.table(TWO, color=False, width=None).splitlines()[:6] == [
        "1,234 rows, 2 CFs, 1 flagged",
        "",
        "CF   values entropy                  reduction conf. flags                    action",
        "job       3 0.69 → 0.23 ████░░░░░░░░       67%  0.90 small-entropy-reduction, kept",
        "                                                     fallback-rows",
        "ward     40 0.69 → 0.23 ████░░░░░░░░       67%  0.90 -                        imputed",
    ]


@pytest.mark.parametrize("width", [72, 92, 100, 112, 200])
def test_flags_are_never_broken_and_facts_of_hidden_cells_are_shown(width):
    told = Interval(0.5, 0.4, 0.6)
    facts = column(
        flags=("small-entropy-reduction", "no-better-than-commonest"),
        flagged=True,
        estimated_accuracy=told,
        commonest_accuracy=told,
        entropy_reduction_null=0.11,
    )
    text = render.table(report(facts), color=False, width=width)
    for whole in ("small-entropy-reduction", "no-better-than-commonest", "0.50 (0.40–0.60)"):
        assert whole in text
    assert ("11%" in text) == (width >= 92)
    assert ("█" in text) == (width >= 112)
    assert max(map(len, text.splitlines())) <= width


def test_every_flag_that_fired_is_explained_once_and_warnings_follow():
    text = render.table(TWO, color=False, width=400)
    for flag in FLAGS:
        assert len(re.findall(f"^{flag}: .", text, flags=re.MULTILINE)) == 1
    quiet = report(column(), warnings=("column 'x': odd",))
    assert render.table(quiet, color=False, width=None).splitlines()[-1] == (
        "warning: column 'x': odd."
    )


NASTY = [
    "a\nb",
    "a\r\nb",
    "\x1b[31mred",
    "a\tb",
    "a\u2028b",
    "a\x85b",
    "\u202egnp.exe",
    "\x07",
    "a\0b",
]


@pytest.mark.parametrize("name", NASTY)
@pytest.mark.parametrize("color", [True, False])
def test_a_name_cannot_steer_the_terminal_or_break_its_line(name, color):
    facts = report(column(name), column("ward"), warnings=(f"column {name}",))
    text = re.sub(r"\x1b\[[0-9;]*m", "", render.table(facts, color=color, width=None))
    assert printable(text)
    assert len(text.splitlines()) == len(
        render.table(
            report(column("x"), column("ward"), warnings=("y",)), color=False, width=None
        ).splitlines()
    )


def test_color_is_only_there_when_asked_for():
    assert "\x1b[" in render.table(TWO, color=True, width=None)
    assert "\x1b[" not in render.table(TWO, color=False, width=None)


@pytest.mark.parametrize("width", [72, 80, 99, 100, 120, 200])
def test_a_long_name_is_folded_within_the_width_and_nothing_of_it_is_lost(width):
    text = render.table(report(column("q" * 500), column("ward")), color=False, width=width)
    assert text.count("q") == 500
    assert max(map(len, text.splitlines())) <= width
    assert "imputed" in text


@pytest.mark.parametrize("width", [1, 20, 71])
def test_a_terminal_that_is_too_narrow_gets_the_narrowest_table_there_is(width):
    narrowest = render.table(TWO, color=False, width=72)
    assert render.table(TWO, color=False, width=width) == narrowest
    for fact in ("67%", "0.90", "kept", "imputed"):
        assert fact in narrowest


def cells_of_markdown(text):
    """Return the cells of the one table in a Markdown text, as another library reads them."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    assert [token.type for token in tokens].count("table_open") == 1
    rows = [[]]
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and token.level > 2:
            assert {child.type for child in token.children} <= {"text", "text_special"}
            rows[-1].append("".join(child.content for child in token.children))
    return rows[1:]


def test_markdown_is_a_table_with_a_row_for_every_cf():
    assert cells_of_markdown(render.markdown(TWO)) == [
        ["CF", "values", "entropy", "reduction", "conf.", "flags", "action"],
        ["job", "3", "0.69 → 0.23", "67%", "0.90", ", ".join(FLAGS), "kept"],
        ["ward", "40", "0.69 → 0.23", "67%", "0.90", "-", "imputed"],
    ]


def test_an_underscore_within_a_name_is_not_escaped():
    assert "| heart_rate_2 |" in render.markdown(report(column("heart_rate_2")))


@given(st.text(alphabet="ab_*`|\\<>[]()!&#~-:;. \n", min_size=1) | st.text(min_size=1))
@example("a|b")
@example("a\\|b")
@example("\\")
@example("__init__")
@example("*a* **b** `c` <script> [x](y) &lt; ~~d~~")
@example("a\nb\r\n| c |")
def test_any_name_comes_back_from_markdown_as_it_is_printed(name):
    text = render.markdown(report(column(name), column("ward")))
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    assert printable(text)
    rows = cells_of_markdown(text)
    assert [row[0] for row in rows] == ["CF", escaped.strip(" "), "ward"]
    assert {len(row) for row in rows} == {7}


def test_a_warning_does_not_become_markup():
    text = render.markdown(report(column(), warnings=("column '<b>*x*': `y`",)))
    html = MarkdownIt("commonmark").enable("table").render(text)
    assert "<p>warning: column '&lt;b&gt;*x*': `y`.</p>" in html


@given(REPORTS.filter(lambda facts: facts.columns))
def test_csv_holds_every_fact_of_every_cf(facts):
    rows = list(csv.DictReader(io.StringIO(render.comma_separated(facts), newline="")))
    assert len(rows) == len(facts.columns)
    for row, one in zip(rows, facts.columns, strict=True):
        assert list(row) == list(rows[0])
        assert set(row) >= CONTRACT_COLUMN - {"estimated_accuracy"} | {
            f"{name}_{part}"
            for name in ("estimated_accuracy", "gain", "confident_accuracy")
            for part in ("value", "low", "high")
        }
        assert row["name"] == one.name
        assert row["flags"] == ";".join(one.flags)
        assert row["flagged"] == ("true" if one.flagged else "false")
        assert int(row["exact_cells"]) == one.exact_cells
        assert float(row["entropy_end"]) == one.entropy_end
        share = one.commonest_share
        assert row["commonest_share"] == ("" if share is None else repr(share))
        accuracy = one.estimated_accuracy
        assert row["estimated_accuracy_low"] == ("" if accuracy is None else repr(accuracy.low))


def test_csv_is_a_line_for_every_cf_that_ends_as_lines_do_here():
    text = render.comma_separated(TWO)
    assert "\r" not in text
    assert [line.split(",")[0] for line in text.split("\n")] == ["name", "job", "ward", ""]


def test_json_is_the_report_and_ends_its_line():
    assert Report.from_json(render.json_text(TWO), name="r") == TWO
    assert render.json_text(TWO).endswith("}\n")
