"""One rule between the rooms, and a second one: mathematics knows arrays only."""

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import cfl_cli

PACKAGE = Path(__file__).parents[1] / "cfl_cli"

# A room imports only rooms above it in this list.
ROOMS = (
    "core",
    "engines",
    "texts",
    "tables",
    "schema",
    "steps",
    "estimators",
    "models",
    "trust",
    "jobs",
    "cli",
)
DOOR = {"", "errors"}  # what stands beside the rooms, and everybody may know
ENTRANCES = {"__main__", "sklearn"}  # what stands there too, and nobody imports

ARRAYS = {"numpy", "scipy", "osqp", "numba", "threadpoolctl", "lightgbm"}
# Of the steps, those that know tables.
TABLES = {
    f"steps.{name}"
    for name in (
        *("encode", "encoding", "ordinary", "dated", "cells", "decode"),
        *("findings", "causes", "cf_causes", "number_causes", "number_pitfalls", "type_causes"),
        "pitfalls",
    )
}
MATHEMATICS = ("core", "steps", "estimators")
TRUST = {
    f"trust.{name}"
    for name in ("possible_cells", "intervals", "calibration", "heldout", "scores", "audit")
}


def name_of(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts).removesuffix("__init__").removesuffix(".")


MODULES = {name_of(path): path for path in sorted(PACKAGE.glob("**/*.py"))}


def room_of(module):
    return module.partition(".")[0]


@cache
def imports(module):
    """Packages imported by a module, and modules of ours as `.name`, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cfl_cli"):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        for name in names:
            first, _, rest = name.partition(".")
            if first != "cfl_cli":
                found.add(first)
                continue
            while rest and rest not in MODULES:
                rest = rest.rpartition(".")[0]  # a name that a module has
            found.add(f".{rest}")
    return found


def own(module):
    return {name[1:] for name in imports(module) if name.startswith(".")} - {module}


def test_every_module_stands_in_a_room():
    assert {room_of(module) for module in MODULES} == {*ROOMS, *DOOR, *ENTRANCES}


@pytest.mark.parametrize("module", [m for m in MODULES if room_of(m) in ROOMS])
def test_the_map_names_every_module_in_its_room(module):
    room, _, rest = module.partition(".")
    entry = re.search(
        rf"^    {room}/(.*?)(?=^    \w+/|^\w)", cfl_cli.__doc__, re.MULTILINE | re.DOTALL
    )[1]
    if rest and not rest.startswith("commands"):
        assert re.search(rf"\b{rest.rpartition('.')[2]}\b", entry), f"the map lacks {module}"


@pytest.mark.parametrize("module", [m for m in MODULES if room_of(m) in ROOMS])
def test_a_room_imports_only_rooms_above_it(module):
    above = {*ROOMS[: ROOMS.index(room_of(module)) + 1], *DOOR}
    for name in own(module):
        assert room_of(name) in above, f"{module} imports {name}"


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_short_and_a_command_shorter(module):
    lines = len(MODULES[module].read_text().splitlines())
    assert lines <= (120 if module.startswith("cli.commands") else 350)


@pytest.mark.parametrize("module", [m for m in MODULES if m not in ENTRANCES])
def test_nobody_imports_an_entrance_or_the_library_that_one_is_for(module):
    assert not own(module) & ENTRANCES
    assert "sklearn" not in imports(module)


def test_no_module_imports_itself_by_a_detour():
    graph = {module: own(module) - {""} for module in MODULES if module}
    TopologicalSorter(graph).prepare()  # raises if modules import each other in a circle


@pytest.mark.parametrize(
    "module",
    sorted(
        {m for m in MODULES if room_of(m) in MATHEMATICS and m not in TABLES}
        | {m for m in MODULES if m in TRUST}
    ),
)
def test_mathematics_knows_arrays_only(module):
    foreign = {name for name in imports(module) if not name.startswith(".")}
    assert foreign - sys.stdlib_module_names <= ARRAYS
    assert {room_of(name) for name in own(module)} <= {*MATHEMATICS, "trust", "errors"}
    assert not own(module) & TABLES


@pytest.mark.parametrize("module", [m for m in MODULES if room_of(m) in ROOMS[:-1]])
def test_only_the_command_line_prints_and_logs(module):
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(MODULES[module].read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert "print" not in calls
    assert not {"logging", "rich", "typer"} & set(imports(module))


def test_help_imports_no_heavy_package():
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, cfl_cli.cli.app; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert not {"numpy", "scipy", "polars", "osqp", "pydantic", "yaml", "rich"} & set(loaded)
