import json
import re
from functools import partial

import numpy as np
import pytest

from benchmarks import tables
from benchmarks.measure import ROOT
from benchmarks.tried import __main__ as script
from benchmarks.tried import blends, boosts, graphs, nets
from benchmarks.tried.lab import Lab
from benchmarks.tried.page import page
from benchmarks.tried.results import Results, Run
from benchmarks.tried.variants import VARIANTS, Variant
from cfl_cli.core.settings import Settings
from cfl_cli.methods import auto, boost, net

DOCS = ROOT / "docs"


@pytest.fixture
def hurried(monkeypatch):
    monkeypatch.setattr(net, "STEPS", 30)
    monkeypatch.setattr(boost, "MOST_ROUNDS", 20)


@pytest.fixture
def lab(hurried, workers):
    return Lab(tables.generated(150, seed=0), seed=0, workers=workers)


def test_the_page_is_made_of_what_the_file_holds():
    results = Results.load(DOCS / "tried.json")
    assert (DOCS / "tried.md").read_text() == page(results)


def test_every_variant_was_run_on_both_tables_with_two_seeds():
    results = Results.load(DOCS / "tried.json")
    assert results.tables == ["bank", "adult"]
    for variant in VARIANTS:
        for table in results.tables:
            assert [run.seed for run in results.of(variant.name, table)] == [0, 1], variant.name


def test_numbers_of_the_page_are_means_worked_out_from_the_file():
    facts = json.loads((DOCS / "tried.json").read_text())
    told = next(
        line for line in (DOCS / "tried.md").read_text().splitlines() if line.startswith("| auto |")
    )
    found = [
        [
            np.mean([cf[metric] for cf in run["cfs"].values()])
            for run in facts["runs"]
            if (run["table"], run["variant"]) == (table, "auto")
        ]
        for table in ("bank", "adult")
        for metric in ("score", "accuracy", "cross_entropy")
    ]
    numbers = [float(cell) for cell in re.findall(r"-?\d+\.\d+", told)]
    np.testing.assert_allclose(numbers, np.mean(found, axis=1), atol=0.0006)


@pytest.mark.slow
def test_the_script_tries_everything_and_does_not_do_it_twice(
    hurried, tmp_path, monkeypatch, capsys
):
    out = tmp_path / "tried.json"
    arguments = ["tried", "--rows", "150", "--seeds", "0", "--out", str(out)]
    monkeypatch.setattr("sys.argv", arguments)
    script.main()
    assert "| auto, own distances |" in (tmp_path / "tried.md").read_text()
    before = out.read_bytes()
    capsys.readouterr()
    script.main()
    assert out.read_bytes() == before
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_parts_put_together_are_what_boost_and_auto_answer(lab, workers):
    boosts.run(lab)
    nets.run(lab)
    graphs.steps(lab)
    lab.answers["auto"] = blends.auto(lab)
    for name, module in {"boost": boost.BoostMethod(), "auto": auto.AutoMethod()}.items():
        found = module.estimate(
            lab.known,
            Settings(name, seed=0),
            folds=lab.folds,
            workers=workers,
            progress=lambda *_: None,
        )
        np.testing.assert_allclose(lab.answers[name].hidden_priors, found.hidden.priors, atol=1e-6)
        np.testing.assert_allclose(lab.answers[name].confidences, found.confidences, atol=1e-6)


def other_cells(lab):
    """Return the same lab with the hidden cells ruling out something else."""
    altered = Lab(tables.generated(150, seed=0), seed=0, workers=lab.workers)
    candidates = altered.known.candidates.copy()
    for block in altered.known.columns:
        candidates[altered.hidden, block] = np.roll(candidates[altered.hidden, block], 1, axis=1)
    altered.known.candidates[...] = candidates
    return altered


@pytest.mark.slow
def test_hidden_cells_reach_neither_what_feeds_a_graph_nor_a_search(lab):
    altered = other_cells(lab)
    assert (lab.known.candidates != altered.known.candidates).any()
    for own, other in zip(boosts.hidden(lab), boosts.hidden(altered), strict=True):
        np.testing.assert_array_equal(own, other)
    np.testing.assert_array_equal(graphs.search(lab), graphs.search(altered))


def test_a_score_is_the_likelihood_worked_out_by_hand(lab):
    m, width = len(lab.hidden), lab.known.candidates.shape[1]
    uniform = np.full((m, width), 1 / 5)
    np.testing.assert_allclose(lab.logs(uniform), np.log((1 - 1 / 5) / 4))


def test_a_mixture_finds_the_part_that_tells_the_cells():
    mass = np.array([[0.9, 0.8, 0.9], [0.1, 0.2, 0.1]])
    np.testing.assert_allclose(blends._em(mass), [1, 0], atol=1e-6)  # noqa: SLF001 — what is tested


def test_a_gain_that_is_clear_is_bold():
    cfs = {"cf": {"score": -1.0, "accuracy": 0.5, "cross_entropy": 1.0}}
    make = partial(Run, "bank", 0, cfs=cfs)
    runs = [
        make(variant=variant.name, gain=0.01 if variant.against else None, gain_error=0.004)
        for variant in VARIANTS
    ]
    told = page(Results(100, {}, tuple(runs)))
    assert "**+0.0100 ± 0.0040**" in told


def test_a_variant_is_compared_with_one_that_is_run():
    names = {variant.name for variant in VARIANTS}
    assert len(names) == len(VARIANTS)
    assert {variant.against for variant in VARIANTS if variant.against} <= names
    assert Variant("a", "b").kept == "no"
