import json
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from builders.tables import SCHEMA, table
from scipy.optimize import minimize

from cfl_cli import Schema, UsageError, fit, impute
from cfl_cli.cli.pages import render
from cfl_cli.cli.pages.layout import html_fragment
from cfl_cli.commands.explain.job import explain, explain_frame
from cfl_cli.commands.explain.page import page
from cfl_cli.commands.explain.work import column_and_cell, matches
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.encode.encode import encode
from cfl_cli.methods import blend
from cfl_cli.methods.graph import metric
from cfl_cli.run import Arguments, Context
from cfl_cli.trust.mechanism import ExactAudit, rates
from cfl_cli.trust.report import Report, Sources

pytestmark = pytest.mark.usefixtures("learning_quickly")
FRAME = table(60).with_columns(
    pl.when(pl.int_range(60) % 9 == 1).then(pl.lit("")).otherwise("one").alias("one"),
    pl.when(pl.int_range(60) == 11).then(None).otherwise("x").alias("x"),
)
ROWS = (0, 1, 2, 11, 59)  # exact; empty; an exclusion; a missing OF; the last
TWO_VALUES = Schema.parse(
    """\
version: 1
columns:
  x: {role: ordinary, type: numeric}
  place: {role: ordinary, type: categorical}
  smokes: {role: complementary, values: [no, yes]}
  two:
    role: complementary
    values: [p, q, r, s]
    mechanism:
      p: {q: 0.5, r: 0.25, s: 0.25}
      q: {p: 0.2, r: 0.4, s: 0.4}
      r: {p: 0.3, q: 0.3, s: 0.4}
      s: {r: 0.2, p: 0.6, q: 0.2}
settings: {k: 5, iterations: 10}
"""
)
ENCODED = encode(FRAME, SCHEMA)
SETTINGS = [
    {"gamma": 0},
    {"gamma": 0.25, "calibration": False},
    pytest.param({"gamma": "auto", "iterations": "auto"}, marks=pytest.mark.slow),  # seconds
    {"folds": 0},
    {"correction": False, "gamma": 0},
    {"correction": False},
    {"min_confidence": 0.9, "folds": 0},
    {"keep_flagged": True},
    {"method": "ipal"},
    {"method": "commonest"},
    {"method": "observed"},
]


def assert_written(result, explained, *, within=1e-9):
    row = result.frame[explained.row]
    for cf in explained.cfs:
        soft = [row[f"{cf.name}__{value}"].item() for value in cf.values]
        np.testing.assert_allclose(cf.confidences, soft, rtol=0, atol=within)
        assert cf.written == row[f"{cf.name}_imputed"].item()
        assert cf.confidence == pytest.approx(row[f"{cf.name}_confidence"].item(), abs=within)


def assert_explained(schema, given):
    result = impute(FRAME, schema, mode="both", **given)
    for row in ROWS:
        assert_written(result, result.explain(row))


@pytest.mark.parametrize("given", SETTINGS, ids=str)
def test_what_is_explained_is_what_impute_wrote(given):
    assert_explained(SCHEMA, given)


@pytest.mark.parametrize("given", [{}, {"gamma": 0, "calibration": False}], ids=str)
def test_so_it_is_with_two_values_and_a_mechanism(given):
    assert_explained(TWO_VALUES, given)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"calibration": False},
        {"folds": 0, "gamma": 0},
        {"gamma": "auto", "iterations": "auto"},
        pytest.param({"method": "ipal"}, marks=pytest.mark.slow),  # seconds
    ],
    ids=str,
)
def test_a_row_is_explained_alike_with_and_without_a_result(given):
    result = impute(FRAME, SCHEMA, mode="both", **given)
    assert explain(FRAME, SCHEMA, 2, **given).as_dict() == result.explain(2).as_dict()


def test_threads_change_nothing():
    one, two = (explain(FRAME, SCHEMA, 2, jobs=jobs).to_json() for jobs in (1, 2))
    assert one == two


def test_single_precision_of_a_larger_table_agrees():
    frame = table(4100)
    given = {"folds": 0, "iterations": 6, "mode": "both"}
    result = impute(frame, SCHEMA, **given)
    assert_written(result, result.explain(3999), within=1e-6)


@pytest.mark.parametrize(
    "method", ["boost", "net", "forest", pytest.param("auto", marks=pytest.mark.slow)]
)
def test_methods_that_learn_agree_within_the_table_and_as_a_model(method):
    result = impute(FRAME, SCHEMA, mode="both", method=method, keep_model=True)
    for row in ROWS[:3]:
        assert_written(result, result.explain(row))
    applied = result.model.apply(table(9, seed=4), mode="both")
    for row in (0, 4, 8):
        assert_written(applied, applied.explain(row))


@pytest.mark.parametrize("given", [{}, {"gamma": 0}, {"method": "ipal"}], ids=str)
def test_a_model_explains_what_it_applies(given):
    model, new = fit(FRAME, SCHEMA, **given), table(9, seed=4)
    applied = model.apply(new, mode="both")
    for row in range(9):
        found = model.explain(new, row)
        assert_written(applied, found)
        assert {one.row for near in found.near for one in near.neighbors} == {None}
        assert all(one.cells is None for near in found.near for one in near.neighbors)


@pytest.fixture
def always_learned(monkeypatch):
    """Let every CF have a metric of grade 1, whatever held-out cells say."""
    scores = iter(range(10**6))  # each is better than those before
    monkeypatch.setattr(metric, "GRADES", (1.0,))
    monkeypatch.setattr(metric, "scored", lambda rows, _: np.full(len(rows), float(next(scores))))


@pytest.mark.usefixtures("always_learned")
@pytest.mark.parametrize("gamma", [0, 0.25])
def test_a_learned_metric_is_explained_by_what_each_of_counts(gamma, monkeypatch):
    given = {"metric": "learned", "gamma": gamma}
    result = impute(FRAME, SCHEMA, keep_model=True, mode="both", **given)
    assert [column.metric for column in result.report.columns] == [1.0] * len(ENCODED.blocks)
    for row in ROWS:
        found = result.explain(row)
        assert_written(result, found)
        assert found.as_dict() == explain(FRAME, SCHEMA, row, **given).as_dict()
    assert Report.from_json(result.report.to_json(), name="r") == result.report
    monkeypatch.setattr("cfl_cli.commands.explain.job.learn", lambda *_, **__: pytest.fail("a run"))
    sources = Sources(table_sha256="t", schema_sha256="s")
    object.__setattr__(result.report, "sources", sources)
    recorded = result.report, "out.report.json", sources
    asked = Arguments.of_call({"schema": SCHEMA, **given})
    again = explain_frame(FRAME, asked, Context(), row + 1, recorded=recorded)
    assert again.as_dict()["cfs"] == found.as_dict()["cfs"]
    for number, cf in enumerate(found.cfs):
        counts = found.near[cf.rounds[-1].near].counts
        assert sum(counts.values()) == pytest.approx(1)
        scales = result.model.fitted.scaled[number].scales
        usual = np.square(ENCODED.features - ENCODED.features[-1]).mean(axis=0)
        assert (counts["x"] > 0) == (scales[0] * usual[0] > 0)
        assert counts.get(cf.name, 0) == 0  # its own confidences are none of its features
    shown = render(page(found), "table")
    assert f"compares rows by a metric learned for {found.cfs[0].name}" in " ".join(shown.split())
    applied = result.model.apply(table(9, seed=4), mode="both")
    for row in range(9):
        assert_written(applied, applied.explain(row))


@pytest.mark.usefixtures("always_learned")
def test_a_learned_metric_in_a_blend_is_explained_too(monkeypatch):
    monkeypatch.setattr(blend, "_weights", lambda parts, *_: np.full(len(parts), 1 / len(parts)))
    monkeypatch.setattr(blend.Right, "clearly_more", lambda *_: None)
    result = impute(FRAME, SCHEMA, mode="both", method="auto", metric="learned", keep_model=True)
    for column in result.report.columns:
        (part,) = [part for part in column.parts if part.name == "graph"]
        assert (part.metric, part.round, len(part.stops)) == (1.0, 2, 2)
    assert Report.from_json(result.report.to_json(), name="r") == result.report
    assert_written(result, result.explain(2))
    applied = result.model.apply(table(9, seed=4), mode="both")
    assert_written(applied, applied.explain(4))


def test_a_mechanism_that_was_fitted_is_explained_by_its_own_run(monkeypatch):
    monkeypatch.setattr(ExactAudit, "clearly_better_than", lambda *_: True)
    rng, n = np.random.default_rng(7), 400
    x = rng.random(n)
    truth = np.where(rng.random(n) < 0.6, (x * 4).astype(int), rng.integers(4, size=n))
    how = Mechanism.of(4, rates(np.array([8.0, 1, 1, 1])))
    out = (~how.draw(truth, np.ones(n, dtype=int), rng.random((n, 4)))).argmax(axis=1)
    exact = rng.random(n) < 0.3
    cells = np.where(exact, [f"={'abcd'[v]}" for v in truth], np.take([*"abcd"], out))
    other = np.take([*"abcd"], (truth + rng.integers(1, 4, n)) % 4)
    frame = pl.DataFrame({"x": x, "cf": cells, "other": other})
    listed = {"role": "complementary", "values": [*"abcd"]}
    columns = {
        "x": {"role": "ordinary", "type": "numeric"},
        "cf": {**listed, "exact": "=", "exact_cells": "random", "mechanism": "fit"},
        "other": listed,
    }
    schema = {"version": 1, "columns": columns}
    given = {"k": 15, "iterations": 20, "gamma": 0.25, "seed": 1, "mode": "both"}
    result = impute(frame, schema, **given)
    assert result.report.columns[0].fitted_mechanism.taken
    assert_written(result, result.explain(4))
    assert explain(frame, schema, 4, **given).as_dict() == result.explain(4).as_dict()


def solved(differences, *, ridge):
    """The weights of a row's neighbors by another solver."""
    gram = differences @ differences.T
    k, mean = len(gram), np.trace(gram) / len(gram)
    gram = gram / (mean or 1) + ridge * np.eye(k)
    found = minimize(
        lambda w: w @ gram @ w,
        np.full(k, 1 / k),
        jac=lambda w: 2 * gram @ w,
        bounds=[(0, None)] * k,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return found.x


def test_neighbors_and_weights_are_those_of_a_search_by_hand_and_another_solver():
    result = impute(FRAME, SCHEMA, gamma=0, folds=0)
    points = ENCODED.features
    found = result.explain(2)
    (near,) = found.near
    distances = np.linalg.norm(points - points[2], axis=1)
    distances[2] = np.inf
    rows = [one.row for one in near.neighbors]
    assert {*rows} == {*np.argsort(distances)[:5].tolist()}
    np.testing.assert_allclose([one.distance for one in near.neighbors], distances[rows])
    weights = solved(points[rows] - points[2], ridge=0.3)
    np.testing.assert_allclose([one.weight for one in near.neighbors], weights, atol=1e-6)
    for cf in found.cfs:
        (only,) = cf.rounds
        said = np.array([one.confidences for one in only.said])
        np.testing.assert_allclose(weights @ said, cf.prior, atol=1e-6)
        own = np.array(cf.prior) * [value not in cf.cell.ruled_out for value in cf.values]
        np.testing.assert_allclose(own / own.sum(), cf.raw, atol=1e-12)


def test_neighbors_pass_on_what_a_dense_walk_gives_them_one_step_before():
    result = impute(FRAME, SCHEMA, gamma=0, folds=0, iterations=4)
    every = [result.explain(row) for row in range(60)]
    dense = np.zeros((60, 60))
    for one in every:
        for neighbor in one.near[0].neighbors:
            dense[one.row, neighbor.row] = neighbor.weight
    for number, block in enumerate(ENCODED.blocks):
        cells = ENCODED.candidates[:, block.columns]
        before = cells / cells.sum(axis=1, keepdims=True)
        for _ in range(3):
            before = dense @ before * cells
            before /= before.sum(axis=1, keepdims=True)
        for one in every[::7]:
            said = [said.confidences for said in one.cfs[number].rounds[0].said]
            rows = [neighbor.row for neighbor in one.near[0].neighbors]
            np.testing.assert_allclose(said, before[rows], atol=1e-12)


def test_decisive_neighbors_are_the_fewest_whose_loss_changes_the_answer_by_another_solver():
    result = impute(FRAME, SCHEMA, gamma=0, folds=0, iterations=3)
    points, sizes = ENCODED.features, []
    for row in range(15):
        found = result.explain(row)
        (near,) = found.near
        rows = [one.row for one in near.neighbors]
        weights = np.array([one.weight for one in near.neighbors])
        for cf in found.cfs:
            said = np.array([one.confidences for one in cf.rounds[0].said])
            allowed = np.array([value not in cf.cell.ruled_out for value in cf.values])

            def others(left, rows=rows, weights=weights, said=said, allowed=allowed, row=row):
                again = solved(points[np.take(rows, left)] - points[row], ridge=0.3)
                ways = (weights[left] / weights[left].sum(), again)
                return [int(((way @ said[left]) * allowed).argmax()) for way in ways]

            changing = [
                out
                for size in (1, 2, 3)
                for out in combinations(np.flatnonzero(weights > 0).tolist(), size)
                if size < (weights > 0).sum()
                and all(
                    cf.values[place] != cf.value
                    for place in others([at for at in range(5) if at not in out])
                )
            ]
            if cf.decisive is None:
                assert not changing or cf.cell.kind == "exact"
            else:
                assert len(cf.decisive.neighbors) == len(changing[0])
                assert cf.decisive.neighbors in changing
                assert cf.decisive.value != cf.value
                sizes.append(len(changing[0]))
    assert {1, 2} <= {*sizes}


def test_a_distance_is_shared_among_the_ofs_and_kept_in_the_picture():
    found = impute(FRAME, SCHEMA, gamma=0.25, folds=0).explain(2)
    first, second = found.near
    assert [*first.neighbors[0].apart] == ["x", "place", "smokes"]
    assert [*second.neighbors[0].apart] == ["x", "place", "smokes", "one", "two"]
    for near in found.near:
        for one in near.neighbors:
            assert sum(one.apart.values()) == pytest.approx(1)
            assert np.hypot(*one.position) <= one.distance + 1e-9
        assert sum(near.nearness.values()) == pytest.approx(1)
        assert 0 < sum(near.spread) <= 1 + 1e-9


@pytest.mark.parametrize("method", ["net", "forest", "boost"])
def test_what_moves_an_answer_adds_up_and_is_named(method):
    result = impute(FRAME, SCHEMA, method=method, mode="both")
    for row in (1, 3):
        for cf in result.explain(row).cfs:
            score = np.array(cf.start) + np.sum([one.moves for one in cf.contributions], axis=0)
            prior = np.exp(score) / np.exp(score).sum()
            np.testing.assert_allclose(prior, cf.prior, atol=1e-5)
            others = {"one", "two"} - {cf.name} if method == "boost" else {*()}
            assert {one.name for one in cf.contributions} <= {"x", "place", "smokes", *others}
            for one in cf.contributions:
                at = cf.values.index(cf.value)
                without = (np.array(cf.raw) / np.exp(one.moves)) ** cf.power
                assert one.without == pytest.approx(without[at] / without.sum())


def test_parts_of_a_blend_add_up_by_their_weights():
    result = impute(FRAME, SCHEMA, method="auto", mode="both")
    for cf in result.explain(2).cfs:
        assert sum(part.weight for part in cf.parts) == pytest.approx(1)
        if not cf.cautious:
            score = np.array(cf.start) + sum(np.array(one.moves) for one in cf.contributions)
            np.testing.assert_allclose(np.exp(score) / np.exp(score).sum(), cf.prior, atol=1e-5)


def test_reports_and_models_remember_when_each_round_stopped():
    result = impute(FRAME, SCHEMA, iterations="auto", keep_model=True)
    for column, origin in zip(result.report.columns, result.model.origins, strict=True):
        assert len(column.stops) == 2
        assert column.iterations == column.stops[-1]
        assert origin.stops == column.stops
    again = Report.from_json(result.report.to_json(), name="report")
    assert again.columns == result.report.columns
    blended = impute(FRAME, SCHEMA, method="auto").report.columns[0]
    (part,) = [part for part in blended.parts if part.name == "graph"]
    assert part.round in (1, 2)
    assert 1 <= len(part.stops) <= 2


def test_json_is_complete_and_never_shows_ignored_columns():
    found = impute(FRAME, SCHEMA).explain(2, cf="two")
    facts = json.loads(found.to_json(), parse_constant=pytest.fail)
    assert facts["version"] == 1
    assert facts["row"] == 2
    assert [cf["name"] for cf in facts["cfs"]] == ["two"]
    assert facts["cells"].keys() == {"x", "place", "smokes"}
    assert '"id"' not in found.to_json()
    assert FRAME["id"][2] not in found.to_json()
    assert "row 2: two" in str(found)
    assert "<table" in found._repr_html_()


def test_what_becomes_of_the_table_later_does_not_matter():
    table = FRAME.to_pandas()
    result = impute(table, SCHEMA)
    before = result.explain(2)
    table["x"] = "0.5"
    table.loc[:, "place"] = "north"
    assert result.explain(2) == before
    model = fit(FRAME, SCHEMA)
    rows = FRAME.to_pandas().head(5)
    answered = model.apply(rows)
    before = answered.explain(1)
    rows.loc[:, "x"] = "0.5"
    assert answered.explain(1) == before


def test_a_flagged_cf_is_kept_as_observed_without_hidden_rows_too():
    rng = np.random.default_rng(0)
    noise = FRAME.with_columns(two=pl.Series([*"pqrs"]).gather(rng.integers(4, size=60)))
    settings = {"folds": 0, "keep_flagged": True, "k": 40, "iterations": 1, "gamma": 0}
    result = impute(noise, SCHEMA, **settings)
    assert "two" in result.report.kept
    alone = explain(noise, SCHEMA, 2, **settings)
    for found in (result.explain(2), alone):
        [two] = [cf for cf in found.cfs if cf.name == "two"]
        assert (two.written, two.left_empty) == (None, "flagged")


def test_a_value_with_or_in_it_is_listed_as_it_is():
    schema = {
        "version": "1",
        "columns": {
            "x": {"role": "ordinary", "type": "numeric"},
            "cf": {
                "role": "complementary",
                "values": ["this or that", "b", "c", "d"],
                "separator": ";",
            },
        },
    }
    cells = ["this or that", "b;c", "b", "c"] * 10
    frame = pl.DataFrame({"x": [str(n) for n in range(40)], "cf": cells})
    result = impute(frame, schema, k=5, iterations=2, folds=0)
    assert "Cell: rules out this or that\n" in str(result.explain(0))
    assert "Cell: rules out b and c\n" in str(result.explain(1))


def test_a_row_is_a_whole_number_of_any_kind_and_nothing_else():
    result = impute(FRAME, SCHEMA, folds=0)
    assert result.explain(np.int64(2)).to_json() == result.explain(2).to_json()
    for row in (60, 61, -1, True, 1.0, "3", None):
        with pytest.raises(
            UsageError,
            match="names no row of table, or several rows: its rows are counted from 0 to 59",
        ):
            result.explain(row)
        with pytest.raises(
            UsageError,
            match="names no row of table, or several rows: its rows are counted from 0 to 59",
        ):
            explain(FRAME, SCHEMA, row)


HOSTILE = ["<script>alert(1)</script>", "a | b\n*c*", "\x1b[31mred", "x" * 300]


@pytest.fixture(scope="module")
def explained():
    rows = 30
    frame = pl.DataFrame(
        {
            "size & <b>": [str(n % 7) for n in range(rows)],
            "kind": ["<i>", "y" * 90][:2] * (rows // 2),
            "cf": [HOSTILE[n % 4] for n in range(rows)],
            "other": ["pq"[n % 2] for n in range(rows)],
        }
    )
    schema = {
        "version": 1,
        "columns": {
            "size & <b>": {"role": "ordinary", "type": "numeric"},
            "kind": {"role": "ordinary", "type": "categorical"},
            "cf": {"role": "complementary", "values": HOSTILE},
            "other": {"role": "complementary", "values": ["p", "q", "r"]},
        },
    }
    return impute(frame, schema, k=4, iterations=5, folds=0).explain(2)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal_and_nothing_steers_it(explained, width):
    text = render(page(explained), "table", width=width)
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text
    assert text.count("row 2: ") == 2  # both CFs
    words = " ".join(text.split())
    assert words.count("by weight") == 2
    assert "Feature columns of the row and of the neighbors with most weight" in words


def test_every_section_is_in_markdown_and_html_and_all_is_escaped(explained):
    shown = page(explained)
    markdown, html = render(shown, "md"), html_fragment(shown)
    assert html.count("<table>") == len(shown.sections) == 5
    assert markdown.count("---") >= 5
    assert "<script>" not in html
    assert "<i>" not in html


LARGE = [9007199254740992, 9007199254740993, 9007199254740994]  # no float has the second


@pytest.mark.parametrize(
    ("cells", "cell", "rows"),
    [
        (["P1", "P2", None], "P2", [2]),
        ([17, 18, None], "17", [1]),
        ([17, 18, None], "17.0", [1]),
        ([17, 18, None], "17.5", []),
        ([17.0, 17.5], "17", [1]),
        ([17.0, 17.5], "17.50", [2]),
        (LARGE, "9007199254740993", [2]),
        (LARGE, "9007199254740992", [1]),
        ([True, False], "true", [1]),
        (["017", "17"], "17", [2]),
        ([None, None], "17", []),
    ],
)
def test_numbers_are_compared_as_numbers_and_texts_as_texts(cells, cell, rows):
    assert matches(pl.Series("id", cells), cell) == rows
    assert matches(pl.Series("id", cells), cell, first=10) == [10 + row for row in rows]


def test_a_name_may_hold_an_equals_sign():
    assert column_and_cell("a=b=c", ["a", "a=b"]) == ("a=b", "c")
    assert column_and_cell("a=", ["a"]) == ("a", "")
    with pytest.raises(UsageError, match="COLUMN=CELL"):
        column_and_cell("a", ["a"])
    with pytest.raises(UsageError, match="did you mean 'patient'"):
        column_and_cell("pateint=1", ["patient"])
