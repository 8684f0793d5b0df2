"""A frozen type that is made in less time is as the standard library would make it."""

import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, dataclass, field, replace
from typing import Any

import pytest

from cfl_cli.core import quick

EITHER = pytest.mark.parametrize("made", [dataclass, quick.dataclass])


def places(made: Callable[..., Any]) -> tuple[Any, Any]:
    """Return a type with a field of each sort, and one with another field that inherits it."""

    @made(frozen=True)
    class Place:
        """Somewhere."""

        north: int
        east: float = 0.5
        seen: list[int] = field(default_factory=list, compare=False)
        secret: str = field(default="s", repr=False)

    @made(frozen=True)
    class Named(Place):
        """Somewhere with a name."""

        name: str = ""

    return Place, Named


@quick.dataclass(frozen=True)
class Known:
    """Pickle finds types of a module only."""

    number: int


@EITHER
def test_fields_are_set_by_its_making_and_by_nothing_else(made: Callable[..., Any]) -> None:
    for place in (places(made)[0](1), places(made)[1](1, name="x")):
        for name in ("north", "east", "other"):
            with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
                setattr(place, name, 2)
            with pytest.raises(FrozenInstanceError, match=f"cannot delete field '{name}'"):
                delattr(place, name)
        assert (place.north, place.east) == (1, 0.5)


@EITHER
def test_equal_are_those_of_one_type_with_equal_fields_that_count(made: Callable[..., Any]) -> None:
    place, named = places(made)
    assert place(1, seen=[1]) == place(1, seen=[2])
    assert hash(place(1, seen=[1])) == hash(place(1)) == hash((1, 0.5, "s"))
    assert place(1) != place(2)
    assert place(1) != named(1)
    assert place(1) != (1, 0.5, "s")


@EITHER
def test_its_text_has_the_fields_that_are_shown(made: Callable[..., Any]) -> None:
    place, named = places(made)
    assert repr(place(1)) == "places.<locals>.Place(north=1, east=0.5, seen=[])"
    assert repr(named(1, name="x")).endswith("Named(north=1, east=0.5, seen=[], name='x')")
    round_about: list[Any] = []
    round_about.append(place(1, seen=round_about))
    assert repr(round_about[0]).endswith("Place(north=1, east=0.5, seen=[...])")


@EITHER
def test_what_is_left_out_or_written_by_hand_is_not_made(made: Callable[..., Any]) -> None:
    @made(frozen=True, eq=False)
    class Alone:
        """Equal to itself only."""

        number: int

        def __repr__(self) -> str:
            return "by hand"

    assert Alone(1) != Alone(1)
    assert repr(Alone(1)) == "by hand"


@EITHER
def test_one_that_compares_by_hand_has_the_hash_of_its_fields(made: Callable[..., Any]) -> None:
    @made(frozen=True)
    class Modest:  # noqa: PLW1641 — the decorator makes it
        """Equal to all."""

        number: int

        def __eq__(self, other: object) -> bool:
            return True

    assert Modest(1) == Modest(2)
    assert hash(Modest(1)) == hash((1,))


@EITHER
def test_the_functions_of_the_standard_library_know_it(made: Callable[..., Any]) -> None:
    place = places(made)[0]
    assert replace(place(1), east=2.0) == place(1, 2.0)
    assert asdict(place(1)) == {"north": 1, "east": 0.5, "seen": [], "secret": "s"}


def test_it_survives_a_pickle() -> None:
    assert pickle.loads(pickle.dumps(Known(3))) == Known(3)  # noqa: S301 — our own
