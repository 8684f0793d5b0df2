import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.models.file import DEEPEST, MOST_VALUES, facts_of, text_of

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abé"), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text("abé\0"), values, max_size=4))
def test_facts_survive_to_the_bit(facts):
    text = text_of(facts)
    assert text.isascii()
    assert facts_of(text) == facts
    assert text_of(facts_of(text)) == text


def test_the_order_of_insertion_does_not_matter():
    assert text_of({"b": 1, "a": {"d": 2, "c": 3}}) == text_of({"a": {"c": 3, "d": 2}, "b": 1})


def test_a_numpy_float_is_written_as_a_float():
    assert text_of({"a": np.float64(0.1)}) == '{"a":0.1}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no valid JSON"),
        ("[1]", "no mapping"),
        ('{"a":1}x', "no valid JSON"),
        ('{"a":1,"a":1}', "duplicate key"),
        ('{"a":{"b":1,"b":2}}', "duplicate key"),
        ('{"a":NaN}', "not finite"),
        ('{"a":-Infinity}', "not finite"),
        ('{"a":1e999}', "not finite"),
        (f'{{"a":{2**63}}}', "beyond 64 bits"),
        ('{"a":' + "9" * 5000 + "}", "beyond 64 bits"),
        ('{"a":"\\ud800"}', "half a character"),
        ('{"a":"\\uDC00"}', "half a character"),
        ('{"a":' + "[" * DEEPEST + "]" * DEEPEST + "}", "nested too deeply"),
        ('{"a":' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ('{"a":[' + "{}," * MOST_VALUES + "{}]}", "more than 200,000 values"),
        ('{"a":"\n"}', "no valid JSON"),
    ],
)
@pytest.mark.parametrize("ours", [True, False])
def test_what_other_readers_let_pass_is_refused(text, said, ours):
    with pytest.raises(ValueError, match=said):
        facts_of(text, ours=ours)


@pytest.mark.parametrize(
    "text", ['{"a": 1}', '{"b":1,"a":1}', '{"a":1.00}', '{"a":"é"}', '{"a":-0}', '{"a":"\\u0061"}']
)
def test_another_spelling_of_the_same_facts_is_not_ours(text):
    assert facts_of(text, ours=False) == json.loads(text)
    with pytest.raises(ValueError, match="not as cfl writes it"):
        facts_of(text)
