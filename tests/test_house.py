"""The rules of the house, from one list: a spine that imports upward, and slices beside it."""

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

# Each part of the spine imports only parts before it.
SPINE = (
    *("errors", "core", "large", "texts", "tables", "schema", "encode"),
    *("methods", "models", "trust", "run", "cli"),
)
TOGETHER = {"errors": "core"}  # errors word themselves by core.messages, and core raises them
# What imports a slice beside slices: registries, and doors that do so when they are asked.
DOORS = {
    "",
    "__main__",
    "sklearn",
    "commands",
    "cli.app",
    "cli.pages",
    "run.result",
    "large",
}
# Beside the standard library, mathematics imports these packages, and of ours these parts.
ARRAYS = {"numpy", "scipy", "osqp", "numba", "threadpoolctl", "lightgbm"}
MATHEMATICS = {
    *("core", "methods", "commands.risk.disclosure", "commands.explain.arrays"),
    *("trust.bias", "trust.heldout", "trust.intervals", "trust.powers", "trust.wrong_cells"),
}
HEAVY = {"numpy", "scipy", "polars", "pyarrow", "osqp", "pydantic", "yaml", "rich", "jinja2"}
LONGEST = 80  # lines of a function, without its docstring
COMPILED = {"methods.graph.kernels.scan_list"}  # one loop, of which numba makes machine code


def name_of(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts).removesuffix("__init__").removesuffix(".")


MODULES = {name_of(path): path for path in sorted(PACKAGE.glob("**/*.py"))}


@cache
def tree(module):
    return ast.parse(MODULES[module].read_text())


def part_of(module):
    """Return the part of the spine, or the slice with its folder: `commands.risk`, `cluster`."""
    first, *rest = module.split(".")
    return f"{first}.{rest[0]}" if first == "commands" and rest else first


def is_slice(module):
    return part_of(module).startswith("commands.") or part_of(module) == "cluster"


@cache
def imports(module):
    """Packages imported by a module, and modules of ours as `.name`, also inside functions."""
    found, typed = set(), set()
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            typed |= {*ast.walk(node)}
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cfl_cli"):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        if node in typed:  # of annotations alone
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


def test_every_module_is_in_the_spine_or_in_a_slice():
    others = {part_of(m) for m in MODULES if not is_slice(m)} - {*SPINE}
    assert others <= {"", "__main__", "sklearn", "commands"}


@pytest.mark.parametrize("part", SPINE)
def test_the_spine_imports_only_upward_and_no_slice(part):
    above = {*SPINE[: SPINE.index(part) + 1], TOGETHER.get(part, part), ""}
    wrong = {
        f"{module} imports {name}"
        for module in MODULES
        if part_of(module) == part
        for name in own(module)
        if part_of(name) not in above
        and not (module in DOORS and is_slice(name))
        and not (part == "cli" and name == "commands")  # the registry
    }
    assert not wrong


@pytest.mark.parametrize("part", sorted({part_of(m) for m in MODULES if is_slice(m)}))
def test_a_slice_imports_the_spine_and_the_slices_that_its_first_line_names(part):
    first = ast.get_docstring(tree(part)).splitlines()[0]
    named = re.search(r"uses: ([a-z, ]+)", first)
    used = {f"commands.{one}" for one in named[1].split(", ")} if named else set()
    found = {
        part_of(name)
        for module in MODULES
        if part_of(module) == part
        for name in own(module)
        if is_slice(name)
    }
    assert found - {part} == used


def test_nothing_imports_an_entrance():
    for module in MODULES:
        assert not own(module) & {"__main__", "sklearn"}, module
        assert module == "sklearn" or "sklearn" not in imports(module)


def test_no_module_imports_itself_by_a_detour():
    graph = {m: own(m) - {"", "commands"} for m in MODULES if m and m not in DOORS}
    TopologicalSorter(graph).prepare()  # raises if modules import each other in a circle


@pytest.mark.parametrize(
    "module", [m for m in MODULES if m in MATHEMATICS or part_of(m) in MATHEMATICS]
)
def test_mathematics_knows_arrays_only(module):
    foreign = {name for name in imports(module) if not name.startswith(".")}
    assert foreign - {*sys.stdlib_module_names} <= ARRAYS
    others = {one for one in own(module) if one not in MATHEMATICS | {"", "errors"}}
    assert {part_of(one) for one in others} <= MATHEMATICS | {"core", "methods"}


def test_only_the_command_line_and_the_commands_print():
    for module in MODULES:
        if part_of(module) in SPINE[:-1]:
            calls = {
                node.func.id
                for node in ast.walk(tree(module))
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            }
            assert "print" not in calls, module
            assert not {"logging", "rich", "typer"} & imports(module), module


def test_a_function_fits_a_screen():
    long = []
    for module in MODULES:
        for node in ast.walk(tree(module)):
            if isinstance(node, ast.FunctionDef):
                begin = node.body[1 if ast.get_docstring(node) and len(node.body) > 1 else 0]
                if node.end_lineno - begin.lineno >= LONGEST:
                    long.append(f"{module}.{node.name}")
    assert {*long} <= COMPILED


def test_the_map_names_every_folder_in_thirty_lines():
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert {*re.findall(r"\b([a-z]+)/ ", cfl_cli.__doc__)} == folders
    assert len(cfl_cli.__doc__.splitlines()) <= 30


def test_help_imports_no_heavy_package():
    code = "import sys, cfl_cli.cli.app as app; app.app(['--help'], standalone_mode=False)"
    loaded = subprocess.run(
        [sys.executable, "-c", f"{code}; print(*sys.modules, file=sys.stderr)"],
        capture_output=True,
        text=True,
        check=True,
    ).stderr.split()
    assert not HEAVY & {*loaded}
