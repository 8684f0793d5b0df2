import numpy as np
import pytest

from cfl_cli.core.state import State, StateError

STATE = State(
    {"points": np.ones((2, 3)), "near": np.array([[1], [0]]), "none": np.zeros((3, 0), np.int64)},
    {"k": 1, "share": 0.5, "huge": 10**400, "on": True, "nan": np.nan},
    {"graph": State({"a": np.zeros(1)})},
)


def test_arrays_and_facts_are_given_if_they_are_as_asked():
    assert STATE.array("points", np.float64, 2, None).shape == (2, 3)
    assert STATE.places("near", 2, None, 1).tolist() == [[1], [0]]
    assert STATE.places("none", 0, 3, None).shape == (3, 0)
    assert STATE.fact("k", int) == 1
    assert STATE.fact("share", float) == 0.5
    assert STATE.fact("on", bool) is True
    assert isinstance(STATE.fact("k", float), float)


@pytest.mark.parametrize(
    ("name", "kind", "shape", "said"),
    [
        ("other", np.float64, (2, 3), "'other' is missing"),
        ("points", np.float32, (2, 3), "'points' is float64, 2 × 3; it must be float32, 2 × 3"),
        ("points", np.float64, (None, 2), "it must be float64, any × 2"),
        ("points", np.float64, (2,), "it must be float64, 2"),
    ],
)
def test_an_array_that_is_not_as_asked_is_refused(name, kind, shape, said):
    with pytest.raises(StateError, match=said):
        STATE.array(name, kind, *shape)


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_an_array_of_numbers_that_are_not_finite_is_refused_unless_allowed(odd):
    state = State({"a": np.array([0, odd])})
    assert state.array("a", np.float64, 2, finite=False)[1] == pytest.approx(odd, nan_ok=True)
    with pytest.raises(StateError, match="not finite"):
        state.array("a", np.float64, 2)


@pytest.mark.parametrize("kind", [np.int64, np.int32])
@pytest.mark.parametrize("place", [-1, 2])
def test_places_beyond_their_range_are_refused(place, kind):
    state = State({"near": np.array([[0, place]], kind)})
    with pytest.raises(StateError, match="places beyond 0 to 1"):
        state.places("near", 2, None, None, kind=kind)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("share", int), ("on", int), ("on", float), ("k", str), ("huge", float), ("nan", float)),
        ("other", list),
    ],
)
def test_a_fact_of_another_kind_is_refused(name, kind):
    with pytest.raises(StateError, match=f"fact {name!r} is not"):
        STATE.fact(name, kind)


def test_a_missing_part_is_refused_and_what_nobody_asked_for_is_surplus():
    with pytest.raises(StateError, match="part 'net' is missing"):
        STATE.part("net")
    state = State({"a": np.zeros(1)}, {"k": 1}, {"part": State({"b": np.zeros(1)}, {"x": 1})})
    for said, ask in {
        "array 'a'": lambda: state.array("a", np.float64, 1),
        "fact 'k'": lambda: state.fact("k", int),
        "part 'part'": lambda: state.part("part"),
        "array 'b'": lambda: state.part("part").array("b", np.float64, 1),
        "fact 'x'": lambda: state.part("part").fact("x", int),
    }.items():
        with pytest.raises(StateError, match=f"{said} is not known"):
            state.refuse_surplus()
        ask()
    state.refuse_surplus()
