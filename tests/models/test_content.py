import base64
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from builders import models
from safetensors.numpy import load_file

from cfl_cli import models as content
from cfl_cli import models as safe_file
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.state import State, StateError
from cfl_cli.errors import DataError, ResourceError, UsageError
from cfl_cli.methods.interface import Layout
from cfl_cli.models import Content, is_model

BUILDERS = Path(models.__file__).parent
LAYOUT = Layout(2, (Mechanism(3),))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.cfl"


def commonest(shares=(0.2, 0.3, 0.5), **arrays):
    return models.content(fitted=State({"shares": np.array(shares), **arrays}))


def same(one, other):
    return (
        one.facts == other.facts
        and one.arrays.keys() == other.arrays.keys()
        and all(one.arrays[name].tobytes() == other.arrays[name].tobytes() for name in one.arrays)
        and one.parts.keys() == other.parts.keys()
        and all(same(one.parts[name], other.parts[name]) for name in one.parts)
    )


def test_what_was_written_is_read(path):
    made = models.content()
    checksum = made.write(path)
    read = Content.read(path)
    for name in ("method", "settings", "schema", "encoding", "report", "more", "versions"):
        assert getattr(read, name) == getattr(made, name)
    assert same(read.fitted, made.fitted)
    assert read.checksum == checksum
    assert is_model(path)


def test_the_safetensors_library_sees_arrays_and_texts(path):
    models.content().write(path)
    loaded = load_file(path)
    assert loaded["fitted/graph/points"].tolist() == [[1, 2.5], [3, 4]]
    assert loaded["text/schema"].tobytes().decode() == models.SCHEMA


def test_a_model_that_was_read_is_written_to_the_same_bytes(path, tmp_path):
    models.content().write(path)
    Content.read(path).write(tmp_path / "again.cfl")
    assert (tmp_path / "again.cfl").read_bytes() == path.read_bytes()


WRITE_TURNED = """
import sys
from pathlib import Path
import models
from cfl_cli.core.state import State
import numpy as np

def turned(facts):
    return {key: turned(facts[key]) for key in set(facts)} if isinstance(facts, dict) else facts

def other(state):
    arrays = {name: np.asfortranarray(state.arrays[name]) for name in set(state.arrays)}
    parts = {name: other(state.parts[name]) for name in set(state.parts)}
    return State(arrays, turned(state.facts), parts)

made = models.content()
made = models.content(
    fitted=other(made.fitted), settings=turned(made.settings), versions=turned(made.versions)
)
made.write(Path(sys.argv[1]))
"""


def test_a_process_with_another_hash_seed_writes_the_same_bytes(path, tmp_path):
    models.content().write(path)
    other = tmp_path / "other"
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    seeded = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(BUILDERS)}
    subprocess.run([sys.executable, "-c", WRITE_TURNED, other], check=True, env=seeded)
    assert other.read_bytes() == path.read_bytes()


def test_the_versions_of_what_it_was_made_with_are_recorded(path):
    replace(commonest(), versions={}).write(path)
    assert Content.read(path).versions.keys() == {"cfl", "numpy"}
    replace(commonest(), versions={}, method="boost").write(path, overwrite=True)
    assert Content.read(path).versions.keys() == {"cfl", "numpy", "lightgbm"}


@pytest.mark.parametrize(("method", "keeps"), [("graph", True), ("boost", False)])
def test_a_file_says_whether_it_holds_rows(path, method, keeps):
    replace(commonest(), method=method).write(path)
    assert models.header_of(path.read_bytes())[1]["keeps_rows"] is keeps


def test_an_existing_file_is_replaced_only_if_allowed(path):
    path.write_bytes(b"old")
    with pytest.raises(UsageError, match="already exists"):
        commonest().write(path)
    assert path.read_bytes() == b"old"
    commonest().write(path, overwrite=True)
    assert is_model(path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"more": {"a": list(range(200_001))}}, "more than 200,000 values"),
        ({"schema": "x" * (content.LONGEST_TEXT + 1)}, "its schema would take more than 4 MB"),
        ({"schema": "\ud800"}, "surrogates not allowed"),
        ({"more": {"a": "\ud800"}}, "half a character"),
        ({"report": "[]"}, "not a mapping"),
        ({"fitted": State(parts={"a/b": State()})}, "a part cannot be called 'a/b'"),
        ({"fitted": State({"A": np.zeros(1)})}, "an array cannot be called 'fitted/A'"),
        ({"fitted": State({"a": np.zeros(1, bool)})}, "'fitted/a' is bool"),
    ],
)
def test_what_could_not_be_read_is_not_written(path, changes, said):
    with pytest.raises(ResourceError, match=f"cannot be written: .*{said}"):
        models.content(**changes).write(path)
    assert not path.exists()


def test_parts_within_parts_have_a_limit(path):
    state = State()
    for _ in range(8):
        state = State(parts={"a": state})
    with pytest.raises(ResourceError, match="more than 8 parts within each other"):
        models.content(fitted=state).write(path)


def test_a_file_that_reads_back_otherwise_does_not_take_its_place(path, monkeypatch):
    path.write_bytes(b"old")
    plain = safe_file._plain

    def careless(name, array):
        made = plain(name, array)
        return made if made.ndim < 2 or wrote else made[::-1].copy()

    def write(*given):
        checksum = real(*given)
        wrote.append(True)
        return checksum

    wrote, real = [], safe_file.write
    monkeypatch.setattr(safe_file, "_plain", careless)
    monkeypatch.setattr(safe_file, "write", write)
    with pytest.raises(ResourceError, match="it reads back differently"):
        models.content().write(path, overwrite=True)
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]


def test_a_call_that_fails_or_kills_leaves_the_old_model_or_the_new(tmp_path):
    old = b"the old model"
    models.content().write(tmp_path / "new")
    new = (tmp_path / "new").read_bytes()
    (tmp_path / "out").mkdir()
    target = tmp_path / "out" / "model.cfl"
    target.write_bytes(old)
    given = [sys.executable, BUILDERS / "faulty_model.py", target.parent, "--", target]
    output = subprocess.run(given, check=True, capture_output=True).stdout
    runs = [json.loads(line) for line in output.splitlines()]
    for run in runs:
        found = {name: base64.b64decode(data) for name, data in run["files"].items()}
        assert found.pop(target.name) in {old, new}
        if run["fault"] == "kill":
            assert run["code"] in {-signal.SIGKILL, 99}
            # A file that has a name of its own cannot take it along.
            assert run["way"] == "named" or len(found) <= (run["call"] == "replace")
        else:
            assert run["code"] == 99 or "No space left on device" in run["stderr"]
            assert not found
    harmed = {(run["call"], run["way"]) for run in runs if run["code"] != 99}
    assert len(harmed) == 9  # five calls, two ways; a file with a name is not linked


def test_what_was_fitted_is_restored_from_the_file(path):
    commonest().write(path)
    assert Content.read(path).restore(LAYOUT).shares.tolist() == [0.2, 0.3, 0.5]


@pytest.mark.parametrize(
    "made",
    [
        commonest([0.2, 0.3]),
        commonest([0.2, 0.3, np.nan]),
        commonest([0.2, 0.3, np.inf]),
        commonest([1e308, 1e308, 1e308]),
        commonest([0.2, 0.3, 0.6]),
        commonest([-0.2, 0.7, 0.5]),
        commonest(other=np.zeros(1)),
        models.content(fitted=State()),
        models.content(fitted=State({"shares": np.array([0.2, 0.3, 0.5], "f4")})),
        models.content(fitted=State({"shares": np.array([[0.2, 0.3, 0.5]])})),
        models.content(fitted=State({"shares": np.array([0.2, 0.3, 0.5])}, {"k": 1})),
    ],
)
def test_a_state_that_nothing_fitted_can_have_had_is_a_damaged_file(path, made):
    made.write(path)
    read = Content.read(path)
    with pytest.raises(DataError, match=r"model\.cfl: is damaged \((array|fact) '"):
        read.restore(LAYOUT)


def test_a_state_that_came_from_no_file_stays_a_state_error():
    with pytest.raises(StateError):
        commonest([0.2, 0.3]).restore(LAYOUT)


def rewritten(path, facts=None, **arrays):
    """Write the small model with other facts in its header, and with other arrays; None: without.

    Checksum and header are right, as whoever means harm would make them.
    """
    models.content().write(path, overwrite=True)
    opened = safe_file.read(path)
    kept = {
        name: arrays.pop(name.replace("/", "_"), array) for name, array in opened.arrays.items()
    }
    kept = {name: array for name, array in (kept | arrays).items() if array is not None}
    with path.open("wb") as file:
        safe_file.write(file, {**opened.facts, **(facts or {})}, kept)


def text(data):
    return np.frombuffer(data if isinstance(data, bytes) else json.dumps(data).encode(), np.uint8)


def facts(**changes):
    """Return the facts of the small model as an array, in the one way in which cfl writes them."""
    leaf = {"facts": {}, "parts": {}}
    tree = {"facts": {}, "parts": {"graph": leaf}}
    made = {"settings": {}, "encoding": {}, "fitted": tree, "more": {}} | changes
    return text(json.dumps(made, sort_keys=True, separators=(",", ":")).encode())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"text_schema": None}, "its schema is missing"),
        ({"text_report": np.zeros(3)}, "its report is missing"),
        ({"text_schema": text(b"\xff")}, "its schema is not UTF-8"),
        ({"text_report": text(b'{"a": NaN}')}, "not finite"),
        ({"text_facts": text(b"{")}, "invalid JSON"),
        ({"text_facts": text({"a": 1})}, "not as cfl writes it"),
        ({"text_facts": facts(surplus=1)}, "its facts has surplus 'surplus'"),
        ({"text_facts": facts(settings=[])}, "its settings are not a mapping"),
        ({"text_facts": facts(fitted=[])}, "do not form a valid tree"),
        ({"text_facts": facts(fitted={"facts": {}, "parts": {}})}, "'fitted/graph/near' is not"),
        (
            {"text_facts": facts(fitted={"facts": {}, "parts": {}, "x": 1})},
            "do not form a valid tree",
        ),
        (
            {"text_facts": facts(fitted={"facts": {}, "parts": {"\x1b": {}}})},
            r"a part cannot be called '\\x1b'",
        ),
        ({"surplus": np.zeros(1)}, "'/surplus' is not known"),
        ({"facts": {"method": "observed"}}, "names a method"),
        ({"facts": {"method": ["graph"]}}, "names a method"),
        ({"facts": {"method": "graph"}}, "whether it keeps fitted rows"),
        ({"facts": {"versions": {"cfl": 1}}}, "name the versions that made it"),
        ({"facts": {"surplus": 1}}, "its header has surplus 'surplus'"),
    ],
)
def test_content_that_makes_no_sense_is_a_damaged_file(path, changes, said):
    rewritten(path, **changes)
    with pytest.raises(DataError, match=rf"model\.cfl: is damaged \(.*{said}") as caught:
        Content.read(path)
    assert str(caught.value).isprintable()
