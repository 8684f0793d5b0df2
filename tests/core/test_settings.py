"""Settings are read strictly, and what is wrong is quoted beside what was expected."""

from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest

from cfl_cli.core.progress import Expected, Stage, Work, forecast
from cfl_cli.core.settings import (
    AUTO,
    COUNT,
    SHARE,
    ByteSize,
    Choice,
    FileName,
    Number,
    RunSettings,
    Settings,
    Switch,
    Whole,
    override,
    raise_flaws,
    read_settings,
)
from cfl_cli.errors import SchemaError, UsageError
from cfl_cli.schema.model import Schema

MODES = Choice(("hard", "soft", "both"))


@pytest.mark.parametrize(
    ("kind", "value", "read"),
    [
        *((COUNT, "20", 20), (COUNT, "+20", 20), (COUNT, np.int64(20), 20)),
        (Whole(auto=True), "auto", AUTO),
        *((SHARE, ".5", 0.5), (SHARE, "1e-1", 0.1), (SHARE, 1, 1.0), (SHARE, np.float32(0.5), 0.5)),
        *((SHARE, Fraction(1, 4), 0.25), (Switch(), "True", True), (Switch(), False, False)),
        (MODES, "soft", "soft"),
        (ByteSize(), "1.5 GiB", 3 << 29),
        (ByteSize(), "500MB", 500_000_000),
        *((ByteSize(), 7, 7), (FileName(), "-", "-"), (COUNT, np.array(5), 5)),
        *((COUNT, np.str_("5"), 5), (SHARE, np.int8(1), 1.0), (Switch(), np.True_, True)),
        (Switch(), np.str_("false"), False),
        (MODES, np.str_("hard"), "hard"),
        (ByteSize(), "1000", 1000),
        (ByteSize(), np.int64(10), 10),
        (ByteSize(), np.str_("2kB"), 2000),
        (FileName(), np.str_("a.csv"), "a.csv"),
        (Whole(auto=True), np.str_("auto"), "auto"),
    ],
)
def test_a_value_is_read_as_text_or_as_what_it_is(kind, value, read):
    assert kind.read(value) == read
    assert type(kind.read(value)) is type(read)


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (COUNT, "1_000", "expected a whole number, found '1_000'"),
        (COUNT, " 20 ", "expected a whole number, found ' 20 '"),
        (COUNT, True, "expected a whole number, found True"),
        (COUNT, "00", "expected at least 1, found 00"),
        (Number(more_than=7), "7", "expected more than 7, found 7"),
        (Number(more_than=7), 7, "expected more than 7, found 7"),
        (Number(least=0, auto=True), "-1", "expected at least 0 or auto, found -1"),
        (SHARE, "1.50", "expected at most 1, found 1.50"),
        (SHARE, np.float64(1.5), "expected at most 1, found 1.5"),
        (SHARE, "nan", "expected a number, found 'nan'"),
        (SHARE, float("nan"), "expected a finite number, found nan"),
        (Whole(less_than=8), 8, "expected less than 8, found 8"),
        (Switch(), "on", "expected true or false, found 'on'"),
        (Switch(), 1, "expected true or false, found 1"),
        (ByteSize(), "0MB", "expected at least 1, found 0MB"),
        (ByteSize(), 0, "expected at least 1, found 0"),
        (ByteSize(), "2 stones", "expected a size such as 500MB or 2GB, found '2 stones'"),
        (MODES, "hrd", "expected hard, soft or both, found 'hrd' (did you mean 'hard'?)"),
        (MODES, "loud", "expected hard, soft or both, found 'loud'"),
        (MODES, ["hard"], "expected hard, soft or both, found a list"),
        (MODES, None, "expected hard, soft or both, found nothing"),
        (FileName(), "", "expected at least one character, found nothing"),
        (FileName(), 3, "expected text, found 3"),
        (COUNT, np.True_, "expected a whole number, found True"),
        (COUNT, np.float64(2.0), "expected a whole number, found 2.0"),
        (SHARE, np.False_, "expected a number, found False"),
        (SHARE, np.float64("nan"), "expected a finite number, found nan"),
        (SHARE, "1e999", "expected a finite number, found '1e999'"),
        (Switch(), np.int64(1), "expected true or false, found 1"),
        (MODES, np.str_("hrd"), "expected hard, soft or both, found 'hrd' (did you mean 'hard'?)"),
        *(
            (ByteSize(), odd, f"expected a size such as 500MB or 2GB, found {odd!r}")
            for odd in ("GB", "-1GB", "2 XB", "1e9")
        ),
    ],
)
def test_a_wrong_value_is_quoted_as_it_was_written_beside_what_was_expected(kind, value, said):
    with pytest.raises(ValueError, match="expected") as caught:
        kind.read(value)
    assert str(caught.value) == said


def test_a_number_without_end_is_cut():
    with pytest.raises(ValueError, match=r"^expected at most 1, found 9{59}…$"):
        SHARE.read("9" * 300)


COLUMNS = {
    "age": {"role": "ordinary", "type": "numeric"},
    "job": {"role": "complementary", "values": ["a", "b"]},
}


def chosen(given):
    values, flaws = read_settings(given)
    raise_flaws(flaws)
    return override(Settings(), RunSettings(), values)


def test_text_is_read_as_its_kind():
    given = {"k": "7", "gamma": "1e-1", "iterations": AUTO, "correction": "false", "jobs": "2"}
    values, flaws = read_settings(given)
    assert not flaws
    assert values == {"k": 7, "gamma": 0.1, "iterations": AUTO, "correction": False, "jobs": 2}
    chosen, run = override(Settings(k=3, ridge=1.0), RunSettings(quiet=True), values)
    assert chosen == Settings(k=7, gamma=0.1, iterations=AUTO, correction=False, ridge=1.0)
    assert run == RunSettings(jobs=2, quiet=True)
    assert chosen.override(k=None) == chosen  # which is not given


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"k": "twenty"}, "k: expected a whole number, found 'twenty'"),
        ({"iterations": 1.5}, "iterations: expected a whole number or auto, found 1.5"),
        ({"gamma": "-1"}, "gamma: expected at least 0 or auto, found -1"),
        ({"budget": 0}, "budget: expected more than 0, found 0"),
        ({"min_confidence": 2}, "min_confidence: expected at most 1, found 2"),
        ({"max_memory": "two"}, "max_memory: expected a size such as 500MB or 2GB, found 'two'"),
        ({"seed": 2**63}, f"seed: expected less than {2**63}, found {2**63}"),
        ({"kk": 3}, "kk: unknown key 'kk' (did you mean 'k'?)"),
        ({"resume": True}, "resume: needs a folder to resume from: add run_dir"),
        ({"workers": 2}, "workers: needs engine='dask': add it, or leave workers out"),
        (
            {"scheduler": "tcp://localhost:8786", "engine": "local"},
            "scheduler: needs engine='dask': add it, or leave scheduler out",
        ),
        (
            {"scheduler": "tcp://localhost:8786", "engine": "dask", "workers": 2},
            "workers: cannot be given with scheduler, which has its own workers: leave one out",
        ),
        ({"folds": 1}, "folds: one fold would hold out every row: expected 0, 2 or more, or auto"),
        (
            {"folds": 0, "gamma": AUTO},
            "gamma: auto chooses on held-out cells, so folds cannot be 0",
        ),
        (
            {"folds": 0, "method": "net"},
            "method: net needs held-out cells to stop training, so folds cannot be 0",
        ),
    ],
)
def test_a_wrong_setting_is_named_with_what_was_expected_and_found(given, problem):
    with pytest.raises(UsageError) as caught:
        chosen(given)
    assert caught.value.texts == (problem,)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("engine", "dask"),
        ("scheduler", "tcp://localhost:8786"),
        *(("workers", 2), ("run_dir", "run"), ("resume", True)),
    ],
)
def test_where_one_run_is_done_is_not_for_a_schema_which_others_wrote(name, value):
    with pytest.raises(
        SchemaError, match=f"{name}: not a key of the schema but of a single run: use {name}"
    ):
        Schema(columns=COLUMNS, settings={name: value})


def test_settings_cannot_be_changed_and_a_schema_holds_both_types():
    with pytest.raises(FrozenInstanceError):
        Settings().k = 3
    assert {Settings(k=3): 1}[Settings().override(k="3")] == 1
    schema = Schema(columns=COLUMNS, settings={"k": 5, "jobs": 2, "max_memory": "2GB"})
    assert schema.settings == Settings(k=5)
    assert schema.run == RunSettings(jobs=2, max_memory=2 * 10**9)
    assert schema != Schema(columns=COLUMNS, settings={"k": 5})


NEAR = Stage("round 1: neighbors", Work.NEIGHBORS, "round 1, finding neighbors")
WALK = Stage("round 1: propagation", Work.PROPAGATION)
TREES = Stage("boosting", Work.BOOSTING)


def test_a_forecast_scales_every_stage_by_its_kind_of_work():
    assert forecast({WALK: 2.0}, rows=1000, more=8000) == 16
    with_fixed = forecast({TREES: 2.0}, rows=1000, more=8000)
    assert 2 < with_fixed < 16  # as many trees are grown for few rows as for many
    both = forecast({WALK: 2.0, TREES: 2.0}, rows=1000, more=8000)
    assert both == pytest.approx(16 + with_fixed)
    assert forecast({}, rows=1000, more=8000) == 0
    assert forecast({WALK: 2.0, TREES: 3.0, NEAR: 1.0}, rows=500, more=500) == pytest.approx(6)


def test_what_is_expected_of_a_stage_follows_the_same_growth():
    for stage in (NEAR, WALK, TREES):
        few, many = (Expected.of(stage, rows, 1e-3).seconds for rows in (2000, 15_000))
        assert forecast({stage: few}, rows=2000, more=15_000) == pytest.approx(many)


@pytest.mark.parametrize(
    ("work", "measured"),
    [
        *((Work.NEIGHBORS, 18.2), (Work.WEIGHTS, 19.5), (Work.PROPAGATION, 24.2)),
        (Work.BOOSTING, 13.9),
        (Work.NETWORK, 3.8),
    ],
)
def test_the_growth_is_about_what_was_measured_from_2000_to_45211_rows(work, measured):
    grown = forecast({Stage("", work): 1.0}, rows=2000, more=45_211)
    assert grown == pytest.approx(measured, rel=0.1)
