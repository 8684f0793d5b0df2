"""Models report everything that is wrong at once, each with its path and the way out."""

from typing import Literal

import pytest
from pydantic import Field, ValidationError, field_validator

from cfl_cli.errors import SchemaError
from cfl_cli.schema.validation import (
    FrozenModel,
    problem,
    refuse,
    rejection,
    schema_problems,
    validate_and_refuse,
)


class Crate(FrozenModel):
    """A model of three entries."""

    where = " for a crate"

    fruit: Literal["apple", "pear"]
    """What is in it."""
    label: str = Field("", max_length=3)
    numbers: tuple[int, ...] = ()

    @field_validator("numbers", mode="wrap")
    @classmethod
    def _few(cls, numbers, validate):
        many = [problem("too many")] if len(numbers) > 2 else []
        return validate_and_refuse(numbers, validate, many)


def said(**entries):
    with pytest.raises(SchemaError) as caught:
        Crate(**entries)
    return list(caught.value.texts)


def test_a_call_raises_all_flaws_as_one_error():
    assert said(fruit="aple", labl="x") == [
        "fruit: unknown fruit 'aple' for a crate (did you mean 'apple'?)",
        "labl: unknown key 'labl' for a crate (did you mean 'label'?)",
    ]


def test_an_entry_that_is_missing_is_named_with_its_choices():
    (message,) = said()
    assert "'fruit'" in message
    assert "apple" in message


def test_an_entry_under_a_misspelt_name_is_not_missing_too():
    assert said(friut="apple") == ["friut: unknown key 'friut' for a crate (did you mean 'fruit'?)"]
    assert len(said(color="red")) == 2


def test_problems_of_ours_come_together_with_those_of_pydantic():
    assert len(said(fruit="pear", numbers=("x", 1, 2))) == 2
    assert said(fruit="pear", numbers=(1, 2, 3)) == ["numbers: too many"]


def test_no_problem_is_no_error():
    refuse([])
    assert Crate(fruit="pear", numbers=(1, 2)).numbers == (1, 2)


def test_all_problems_are_raised_at_their_places():
    with pytest.raises(ValidationError) as caught:
        refuse([problem("one", "a", 0), problem("two", code="schema-no-weight")])
    assert [(e["loc"], e["msg"], e["type"]) for e in caught.value.errors()] == [
        (("a", 0), "one", "schema-value"),
        ((), "two", "schema-no-weight"),
    ]


def test_one_problem_is_an_error_to_raise():
    (detail,) = rejection("wrong {x}", "a", code="schema-x").errors()
    assert (detail["loc"], detail["msg"], detail["type"]) == (("a",), "wrong {x}", "schema-x")


def test_problems_have_their_code_and_path():
    with pytest.raises(ValidationError) as caught:
        Crate.model_validate({"fruit": "pear", "x\n": 1, "label": 5})
    found = {
        (one.code, one.facts["path"]): str(one) for one in schema_problems(caught.value, Crate)
    }
    assert found == {
        (
            "schema-unknown-key",
            "x\n",
        ): "x\\n: unknown key 'x\\n' for a crate (fruit, label or numbers)",
        ("schema-type", "label"): "label: expected text, found 5",
    }


def test_the_text_below_an_entry_describes_it():
    properties = Crate.model_json_schema()["properties"]
    assert properties["fruit"]["description"] == "What is in it."
    assert "description" not in properties["label"]


def test_models_are_frozen():
    with pytest.raises(ValidationError):
        Crate(fruit="pear").fruit = "apple"
