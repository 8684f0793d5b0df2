"""Dependencies run one way, and the numeric core knows arrays only."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "cfl_cli"
CORE = {
    *("arrays", "parallel", "blocks", "draws", "index", "neighbors", "weights", "propagate"),
    *("exclusions", "known", "heldout", "scores"),
    *(f"estimators.{path.stem}" for path in (PACKAGE / "estimators").glob("[!_]*.py")),
}
ARRAYS_ONLY = {"numpy", "scipy", "osqp", "threadpoolctl"}
LAYERS = [
    {"arrays", "errors", "words", "memory", "parallel", "listing", "settings"},
    {
        "yamltext",
        "checked",
        "index",
        "weights",
        "blocks",
        "exclusions",
        "utf8",
        "formats",
        "scores",
    },
    {"rates", "draws", "files", "jsonl", "packing", "columnar"},
    {"known", "propagate"},
    {"separated", "neighbors", "heldout", "estimators.interface"},
    {"estimators", *(f"estimators.{name}" for name in ("blend", "graph", "net", "observed"))},
    {"schema", *(f"estimators.{name}" for name in ("boost", "commonest", "ipal"))},
    {"frames", "methods", "estimators.auto"},
    {"encode", "tables"},
    {"truth"},
    {"decode", "report", "masking"},
    {"verdict", "evaluation"},
    {"render", "scored", "progress", "footprint", "draft", "rewrite"},
    {"imputation"},
    {"plan", "outputs", "tuning"},
    {"tried", "targets", "options"},
    {"cli"},
    {"__main__"},
]


def path_of(module):
    path = PACKAGE.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def imports(module):
    """Packages imported by a module, and modules of ours as `.name`, also inside functions."""
    for node in ast.walk(ast.parse(path_of(module).read_text())):
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
            if first == "cfl_cli" and rest and not path_of(rest).exists():
                rest = rest.rpartition(".")[0]  # a name that a module has
            if first != "cfl_cli":
                yield first
            elif rest:
                yield f".{rest}"


MODULES = sorted(
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
    for path in PACKAGE.glob("**/*.py")
    if path != PACKAGE / "__init__.py"
)


def level(module):
    return next((n for n, names in enumerate(LAYERS) if module in names), None)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_has_a_layer_and_imports_only_from_lower_ones(module):
    assert level(module) is not None, f"give {module} a layer"
    own = {name.removeprefix(".") for name in imports(module) if name.startswith(".")}
    for name in own:
        assert level(name) < level(module), f"{module} imports {name}"


@pytest.mark.parametrize("module", sorted(CORE))
def test_the_numeric_core_knows_arrays_only(module):
    foreign = {name for name in imports(module) if not name.startswith(".")}
    assert foreign - sys.stdlib_module_names <= ARRAYS_ONLY
    own = {name.removeprefix(".") for name in imports(module) if name.startswith(".")}
    assert own <= CORE | {"errors"}


@pytest.mark.parametrize(
    "module",
    sorted(CORE | {"schema", "encode", "report", "imputation", "tuning", "masking", "evaluation"}),
)
def test_logic_neither_prints_nor_logs(module):
    tree = ast.parse(path_of(module).read_text())
    calls = {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert "print" not in calls
    assert not {"logging", "rich", "typer"} & set(imports(module))


def test_help_imports_no_heavy_package():
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, cfl_cli.cli; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert not {"numpy", "scipy", "polars", "osqp", "pydantic", "yaml", "rich"} & set(loaded)
