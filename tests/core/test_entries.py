"""A table of settings is a frozen dataclass that cannot be built invalid."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

from cfl_cli.core.settings import (
    COUNT,
    EVERY_COMMAND,
    SHARE,
    FileName,
    Flaw,
    SettingsTable,
    entries,
    entry,
)
from cfl_cli.errors import SchemaError, UsageError


@dataclass(frozen=True)
class House(SettingsTable):
    decides: ClassVar[bool] = True

    rooms: int = entry("method", COUNT, 3, "build")("How many rooms.", short="r")
    lit_share: float = entry("method", SHARE, 0.5, EVERY_COMMAND)("How many are lit.")
    plan: str | None = entry("output", FileName(), None)("Its plan.", variable=False)

    def contradictions(self) -> list[Flaw]:
        return [("lit_share", "one room is lit or not")] if self.rooms == 1 > self.lit_share else []


def test_an_entry_knows_its_option_its_variable_and_its_commands():
    rooms, lit, plan = entries(House)
    assert (rooms.option, rooms.env, rooms.short) == ("--rooms", "CFL_ROOMS", "r")
    assert (lit.option, lit.env) == ("--lit-share", "CFL_LIT_SHARE")
    assert (plan.env, plan.read(None)) == (None, None)
    assert [s.belongs_to("build") for s in (rooms, lit, plan)] == [True, True, False]
    assert [s.belongs_to("paint") for s in (rooms, lit, plan)] == [False, True, False]
    assert all(setting.decides for setting in (rooms, lit, plan))


def test_a_table_reads_its_values_and_names_all_that_are_wrong():
    assert House(rooms="4") == House(4, 0.5, None)
    with pytest.raises(SchemaError) as caught:
        House(rooms=0, lit_share="most")
    assert caught.value.texts == (
        "rooms: expected at least 1, found 0",
        "lit_share: expected a number, found 'most'",
    )
    with pytest.raises(SchemaError, match="lit_share: one room"):
        House(rooms=1)


def test_what_is_given_takes_its_place_and_none_is_not_given():
    house = House(rooms=2)
    assert house.override(lit_share="1", rooms=None) == House(2, 1.0)
    assert house.as_dict() == {"rooms": 2, "lit_share": 0.5, "plan": None}
    assert house.replaced({"rooms": 5, "doors": 9}) == House(5)
    with pytest.raises(UsageError) as caught:
        house.override(lit_share=2, romos=1)
    assert caught.value.texts == (
        "lit_share: expected at most 1, found 2",
        "romos: unknown key 'romos' (did you mean 'rooms'?)",
    )
    with pytest.raises(UsageError, match="lit_share: one room"):
        house.override(rooms=1)
