import importlib.util
import re
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).parents[1]
LOCKS = ("constraints.txt", ".ci/release-tools.txt")
_spec = importlib.util.spec_from_file_location("sbom", ROOT / ".ci" / "sbom.py")
sbom = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sbom)


def lines(lock):
    text = (ROOT / lock).read_text()
    return [it for it in re.split(r"\n(?=\S)", text) if not it.startswith("#")]


@pytest.mark.parametrize("lock", LOCKS)
def test_every_entry_is_one_version_with_hashes(lock):
    for entry in lines(lock):
        assert re.match(r"[\w.-]+==[\w.+!-]+( ; [^\\]+)? \\\n    --hash=sha256:[0-9a-f]{64}", entry)


@pytest.mark.parametrize("lock", LOCKS)
def test_no_registry_and_no_folder_is_named(lock):
    text = (ROOT / lock).read_text().replace(".ci/lock", "")
    assert not re.search(r"--index|--extra-index|--find-links|/", text)


def test_all_that_the_package_and_its_tests_need_is_locked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], "hatchling"]
    wanted += [line for extra in extras if extra != "bench" for line in extras[extra]]
    names = {sbom.normal(re.match(r"[\w.-]+", line)[0]) for line in wanted}
    assert names <= {name for name, _ in sbom.locked((ROOT / "constraints.txt").read_text())}


SMALL = """# made by hand
numpy==9.9 ; python_version < '4' \\
    --hash=sha256:{one} \\
    --hash=sha256:{two}
    # via x
Some_Thing==1.0 \\
    --hash=sha256:{one}
""".format(one="a" * 64, two="b" * 64)


def test_hashes_are_read_from_a_lock_file():
    assert sbom.locked(SMALL) == {
        ("numpy", "9.9"): ["a" * 64, "b" * 64],
        ("some-thing", "1.0"): ["a" * 64],
    }


SHAPE = {
    "required": ["bomFormat", "specVersion", "version", "metadata", "components", "dependencies"],
    "properties": {
        "bomFormat": {"const": "CycloneDX"},
        "components": {
            "minItems": 10,
            "items": {
                "required": ["type", "name", "version", "purl", "bom-ref"],
                "properties": {"purl": {"pattern": "^pkg:pypi/[a-z0-9-]+@.+$"}},
            },
        },
    },
}


def test_the_sbom_names_what_is_installed_and_who_needs_it():
    packages = [it for it in distributions() if sbom.normal(it.name) not in sbom.TOOLS]
    packages = [*{sbom.normal(it.name): it for it in packages}.values()]
    made = sbom.sbom(packages, {})
    jsonschema.validate(made, SHAPE)
    assert made["metadata"]["component"]["name"] == "cfl-cli"
    needed = {it["ref"].partition("@")[0]: it["dependsOn"] for it in made["dependencies"]}
    names = {ref.partition("@")[0] for ref in needed["pkg:pypi/cfl-cli"]}
    assert {"pkg:pypi/numpy", "pkg:pypi/polars", "pkg:pypi/typer"} <= names
    assert "pkg:pypi/pytest" not in names  # of an extra
