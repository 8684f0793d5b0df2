"""The rules of the house, from one list: a spine that imports upward, and slices beside it."""

import ast
import re
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from conftest import long_ends

import cfl_cli

PACKAGE = Path(__file__).parents[1] / "cfl_cli"

# Each part of the spine imports only parts before it.
SPINE = (
    *("errors", "core", "large", "texts", "tables", "schema", "encode"),
    *("methods", "models", "trust", "run", "cli"),
)
TOGETHER = {"errors": "core"}  # errors word themselves by core.messages, and core raises them
# What imports a slice beside slices: registries, and doors that do so when they are asked.
DOORS = {"", "__main__", "sklearn", "commands", "cli.app", "cli.pages", "run.result", "large"}
# Beside the standard library, mathematics imports these packages, and of ours these parts.
ARRAYS = {"numpy", "scipy", "osqp", "numba", "threadpoolctl", "lightgbm"}
MATHEMATICS = {
    *("core", "methods", "commands.risk.disclosure", "commands.explain.arrays"),
    *("commands.tabulate.estimates", "trust.tilted"),
    *("trust.bias", "trust.heldout", "trust.intervals", "trust.powers", "trust.wrong_cells"),
    "trust.shares",
}
LONGEST = 80  # lines of a function, without its docstring
COMPILED = {"methods.graph.kernels.scan_list"}  # one loop, of which numba makes machine code


def name_of(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts).removesuffix("__init__").removesuffix(".")


def part_of(module):
    """Return the part of the spine, or the slice with its folder: `commands.risk`, `cluster`."""
    first, *rest = module.split(".")
    return f"{first}.{rest[0]}" if first == "commands" and rest else first


TREES = {name_of(path): ast.parse(path.read_text()) for path in sorted(PACKAGE.glob("**/*.py"))}
SLICES = {part_of(m) for m in TREES if part_of(m).startswith("commands.")} | {"cluster"}


def ours(name):
    """Return the module of ours that has a name, behind a point; of others the package."""
    first, _, rest = name.partition(".")
    while first == "cfl_cli" and rest and rest not in TREES:
        rest = rest.rpartition(".")[0]
    return f".{rest}" if first == "cfl_cli" else first


@cache
def imports(module):
    """Packages imported by a module, and modules of ours as `.name`, also inside functions."""
    found, typed = set(), set()
    for node in ast.walk(TREES[module]):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            typed |= {*ast.walk(node)}  # of annotations alone
        elif isinstance(node, ast.Import) and node not in typed:
            found |= {ours(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node not in typed:
            found |= {ours(f"{node.module or ''}.{alias.name}") for alias in node.names}
    return found


def own(module):
    return {name[1:] for name in imports(module) if name.startswith(".")} - {module}


def of(part):
    return [module for module in TREES if part_of(module) == part]


def test_every_module_is_in_the_spine_or_in_a_slice():
    parts = {part_of(module) for module in TREES} - SLICES - {*SPINE}
    assert parts <= {"", "__main__", "sklearn", "commands"}


@pytest.mark.parametrize("part", SPINE)
def test_the_spine_imports_only_upward_and_no_slice(part):
    above = {*SPINE[: SPINE.index(part) + 1], TOGETHER.get(part, part), ""}
    above |= {"commands"} if part == "cli" else set()  # the registry
    for module in of(part):
        others = {name for name in own(module) if part_of(name) not in above}
        assert {part_of(name) for name in others} <= (SLICES if module in DOORS else set()), module


@pytest.mark.parametrize("part", sorted(SLICES))
def test_a_slice_imports_the_spine_and_the_slices_that_its_first_line_names(part):
    first = ast.get_docstring(TREES[part]).splitlines()[0]
    named = re.search(r"uses: ([a-z, ]+)", first)
    used = {f"commands.{one}" for one in named[1].split(", ")} if named else set()
    found = {part_of(name) for module in of(part) for name in own(module)}
    assert (found & SLICES) - {part} == used


def test_nothing_imports_an_entrance():
    for module in TREES:
        assert not own(module) & {"__main__", "sklearn"}, module
        assert module == "sklearn" or "sklearn" not in imports(module)


def test_no_module_imports_itself_by_a_detour():
    graph = {m: own(m) - {"", "commands"} for m in TREES if m and m not in DOORS}
    TopologicalSorter(graph).prepare()  # raises if modules import each other in a circle


def test_mathematics_knows_arrays_only():
    for module in TREES:
        if module in MATHEMATICS or part_of(module) in MATHEMATICS:
            foreign = {name for name in imports(module) if not name.startswith(".")}
            assert foreign - {*sys.stdlib_module_names} <= ARRAYS, module
            others = own(module) - MATHEMATICS - {"", "errors"}
            assert {part_of(one) for one in others} <= {"core", "methods"}, module


def test_only_the_command_line_and_the_commands_print():
    for module, tree in TREES.items():
        if part_of(module) in SPINE[:-1]:
            calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
            assert "print" not in {getattr(call, "id", "") for call in calls}, module
            assert not {"logging", "rich", "typer"} & imports(module), module


def test_a_function_fits_a_screen():
    for module, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and f"{module}.{node.name}" not in COMPILED:
                begin = node.body[1 if ast.get_docstring(node) and len(node.body) > 1 else 0]
                assert node.end_lineno - begin.lineno < LONGEST, f"{module}.{node.name}"


def test_the_map_names_every_folder_in_thirty_lines():
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert {*re.findall(r"\b([a-z]+)/ ", cfl_cli.__doc__)} == folders
    assert len(cfl_cli.__doc__.splitlines()) <= 30


ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / "cfl_cli").glob("**/*.py"),
    *ROOT.glob("*.md"),
    *(ROOT / "docs").glob("**/*.md"),
    ROOT / "docs" / "cfl.1",
]
DIALECT = re.compile(
    r"fore(tell|told)|told best|stands (here )?twice|is nothing for|all but contradict|goes without"
    r"|drawn by lot|environment twin|whole or not there|without a look|make it first"
    r"|there is no column|told of|nothing is written|ways on\b|bears? on it|do no harm"
    r"|class (Pupil|Lesson|Climb|Enough|Race|Bench)\b|hasty"
)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_words_are_plain(path):
    lines = path.read_text().splitlines()
    assert not [line for line in lines if DIALECT.search(line)]


# What users see: texts of the package beside docstrings, and the templates of pages.
SHOWN = re.compile(
    r"hidden (cell|together|whole)|(cells|rows) (were|was) hidden|as readily|answered rightly"
    r"|told best|would have been answered|commonest candidate|guessing the commonest"
    r"|honest cells|\bare others\b|is another one\b|judging the answers|answers (are|is) right"
    r"|go on with what|way out:|there twice|all but contradict|unanswered;"
    r"|rule something out|good enough (with|for)|is no CF\b|: it is closed|above all its"
)
STORED = {  # by earlier versions, in reports and models
    *("no cells were hidden (--folds 0)", "no hidden cell says anything"),
    "no cells were hidden at fitting (--folds 0)",
}
TEMPLATES = sorted(PACKAGE.glob("**/templates/*.html"))


def texts(tree):
    """Return the texts of a module that are not docstrings."""
    docs = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return [n.value for n in nodes if isinstance(n.value, str) and n not in docs]


def test_sentences_that_users_see_have_the_words_of_the_field():
    shown = {module: texts(tree) for module, tree in TREES.items()}
    shown |= {path.name: path.read_text().splitlines() for path in TEMPLATES}
    found = {module: [one for one in some if SHOWN.search(one)] for module, some in shown.items()}
    assert {text for some in found.values() for text in some} <= STORED


HERE = Path(__file__).parent


@pytest.mark.parametrize("name", sorted(long_ends()))
def test_every_line_names_a_test(name):
    file, _, test = name.partition("::")
    assert f"def {test.partition('[')[0]}(" in (HERE / file).read_text()
