"""Settings go into a schema's text, and every other byte of it stays."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.errors import SchemaError
from cfl_cli.schema.edit import put, spelled
from cfl_cli.schema.model import Schema

COLUMNS = """\
version: 1  # of the format
columns:
  x: {role: ordinary, type: numeric}   # a number
  # what it is not
  cf:
    role: complementary
    values: [a, "b", 'ü']
"""
NEW = {"k": 30, "gamma": "auto"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "settings: {k: 30, gamma: auto}\n"),
        ("# the end", "# the end\nsettings: {k: 30, gamma: auto}"),
        ("...\n", "settings: {k: 30, gamma: auto}\n...\n"),
        ("settings: {k: 20}\n", "settings: {k: 30, gamma: auto}\n"),
        ("settings: {}", "settings: {k: 30, gamma: auto}"),
        ("settings: { k: '20', seed: 7, }", "settings: { k: 30, seed: 7, gamma: auto, }"),
        (
            "settings: {\n  gamma: 0, # first\n  seed: 7 # last\n}\n",
            "settings: {\n  gamma: auto, # first\n  seed: 7, k: 30 # last\n}\n",
        ),
        (
            "settings:\n  # n\n  k: 20  # few\n\n  seed: 7  # luck\n# end\n",
            "settings:\n  # n\n  k: 30  # few\n\n  seed: 7  # luck\n  gamma: auto\n# end\n",
        ),
        ("settings:\n k: 20", "settings:\n k: 30\n gamma: auto"),
        ("settings:\n k: |-\n  20\n", "settings:\n k: 30\n gamma: auto\n"),
        ("settings:\n ? k\n : 20\n", "settings:\n ? k\n : 30\n gamma: auto\n"),
        ("settings: {k: 30, gamma: auto}", "settings: {k: 30, gamma: auto}"),
    ],
)
def test_settings_are_put_where_they_belong(before, after):
    assert put(COLUMNS + before, NEW) == COLUMNS + after
    windows = (COLUMNS + before).replace("\n", "\r\n")
    assert put(windows, NEW) == (COLUMNS + after).replace("\n", "\r\n")
    assert put("\ufeff" + COLUMNS + before, NEW) == "\ufeff" + COLUMNS + after


def test_settings_in_the_middle_and_an_indented_schema_are_found():
    text = "settings:\n  k: 20\n" + COLUMNS
    assert put(text, NEW) == "settings:\n  k: 30\n  gamma: auto\n" + COLUMNS
    indented = "".join(f"  {line}\n" for line in COLUMNS.splitlines())
    assert put(indented, NEW) == indented + "  settings: {k: 30, gamma: auto}\n"


@pytest.mark.parametrize("settings", [None, {}, {"k": 20}, {"seed": 1, "gamma": 0.5}])
@pytest.mark.parametrize("indent", [None, 2])
def test_json_stays_json(settings, indent):
    schema = {
        "version": 1,
        "columns": {
            "x": {"role": "ordinary", "type": "numeric"},
            "cf": {"role": "complementary", "values": ["a", "b"]},
        },
    }
    if settings is not None:
        schema["settings"] = settings
    written = json.loads(put(json.dumps(schema, indent=indent), NEW))
    assert written.pop("settings") == {**(settings or {}), **NEW}
    assert written == {key: value for key, value in schema.items() if key != "settings"}


def test_a_value_is_spelled_so_that_it_is_read_back():
    for value in (20, 0.25, 1e-6, 1 / 3, 0.0, 1.0, 123456.789, 1e6, "auto"):
        text = put(COLUMNS, {"ridge": value} if value not in (0.0, "auto") else {"gamma": value})
        settings = Schema.parse(text).settings
        assert value in (settings.ridge, settings.gamma)
    assert [spelled(value) for value in (0.0, 3.0, 0.3, "auto")] == ["0", "3", "0.3", "auto"]


def test_a_schema_that_is_wrong_or_cannot_be_changed_alone_is_refused():
    open_ended = COLUMNS + "missing:\n  - |\n   x"
    Schema.parse(open_ended)
    with pytest.raises(SchemaError, match=r"schema: its settings .* settings: {k: 30, gamma"):
        put(open_ended, NEW)
    with pytest.raises(SchemaError, match=r"s\.yml:1:1"):
        put("version: 2\n", NEW, name="s.yml")


COMMENTS = st.sampled_from(["", "  # why", "   #: x, {y} 'z"])
VALUES = {
    "k": st.integers(1, 99),
    "iterations": st.one_of(st.integers(1, 500), st.just("auto")),
    "gamma": st.one_of(st.sampled_from([0, 0.25, 1.5]), st.just("auto")),
    "ridge": st.sampled_from([0.01, 0.3, 1.0, 2.5e-5]),
    "seed": st.integers(0, 9),
    "mode": st.sampled_from(["hard", "both"]),
}
SETTINGS = st.fixed_dictionaries({}, optional=VALUES)


@st.composite
def layouts(draw):
    """Return the parts of a schema's text: before its settings, the settings, and behind them."""
    settings = draw(SETTINGS)
    items = []
    for key, value in draw(st.permutations(list(settings.items()))):
        title = draw(st.sampled_from(["{}", '"{}"', "'{}'"])).format(key)
        said = draw(st.sampled_from(["{}", '"{}"', "'{}'"])).format(value)
        items.append(f"{title}: {said}")
    if not settings or draw(st.booleans()):
        comma = draw(st.sampled_from([",", ", ", " ,\n   ", ", # here\n  "]))
        text = "settings: {" + comma.join(items) + "}" + draw(COMMENTS) + "\n"
    else:
        indent = " " * draw(st.integers(1, 5))
        text = "settings:" + draw(COMMENTS) + "\n"
        for item in items:
            text += draw(st.sampled_from(["", "\n", f"{indent}# above\n", "# left\n"]))
            text += indent + item + draw(COMMENTS) + "\n"
    parts = ["", text, COLUMNS] if draw(st.booleans()) else [COLUMNS, text, ""]
    parts[2] += draw(st.sampled_from(["", "\n\n", "# the end\n"]))
    line_break = draw(st.sampled_from(["\n", "\r\n"]))
    parts = [part.replace("\n", line_break) for part in parts]
    if not parts[2] and draw(st.booleans()):
        parts[1] = parts[1].removesuffix(line_break)
    return parts, settings


@given(layouts(), SETTINGS)
def test_whatever_the_layout_all_else_stays(layout, new):
    (before, text, behind), old = layout
    written = put(before + text + behind, new)
    assert written.startswith(before)
    assert written.endswith(behind)
    middle = written[len(before) : len(written) - len(behind)]
    assert middle.endswith("\n") == text.endswith("\n")
    for mark in ("# why", "#: x, {y} 'z", "# above", "# left", "# here", "\r\n\r\n"):
        assert middle.count(mark) == text.count(mark)
    if "\r\n" in text:
        assert middle.count("\r\n") == middle.count("\n")
    expected = Schema.parse(before + text + behind).settings.override(**new)
    assert Schema.parse(written).settings == expected
    assert {*yaml.safe_load(written)["settings"]} == {*old, *new}
    assert put(written, new) == written
