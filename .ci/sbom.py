"""Writes what is installed beside this Python as an SBOM: CycloneDX 1.6, JSON, no dates.

    python .ci/sbom.py constraints.txt

cfl is the component that the others are for. Hashes are those that the lock file has for a version.
"""

import json
import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

OWN = "cfl-cli"
TOOLS = {"pip", "setuptools", "wheel"}  # of the environment, not of the package


def normal(name: str) -> str:
    """Return a package's name as registries compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(text: str) -> dict[tuple[str, str], list[str]]:
    """Return the SHA-256 of the files of every version in a lock file."""
    entries = re.split(r"\n(?=[A-Za-z0-9])", text)
    found = {}
    for entry in entries:
        if named := re.match(r"([A-Za-z0-9._-]+)==([^\s;\\]+)", entry):
            hashes = sorted(re.findall(r"--hash=sha256:([0-9a-f]{64})", entry))
            found[normal(named[1]), named[2]] = hashes
    return found


def needs(package: Distribution, installed: dict[str, str]) -> Iterator[str]:
    """Yield the installed packages that one needs, extras aside."""
    for line in package.requires or ():
        name = normal(re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0])
        if "extra ==" not in line and name in installed:
            yield installed[name]


def licence(package: Distribution) -> list[dict[str, Any]]:
    """Return what a package says of its licence, as CycloneDX has it."""
    told = package.metadata.get("License-Expression")
    if told:
        return [{"expression": told}]
    names = [
        line.rsplit(" :: ", 1)[-1]
        for line in package.metadata.get_all("Classifier", [])
        if line.startswith("License ::")
    ]
    return [{"license": {"name": name}} for name in sorted(names)]


def sbom(packages: list[Distribution], hashes: dict[tuple[str, str], list[str]]) -> dict[str, Any]:
    """Return the document."""
    refs = {normal(it.name): f"pkg:pypi/{normal(it.name)}@{it.version}" for it in packages}
    components = {}
    for package in packages:
        name = normal(package.name)
        component: dict[str, Any] = {
            "type": "application" if name == OWN else "library",
            "bom-ref": refs[name],
            "name": name,
            "version": package.version,
            "purl": refs[name],
        }
        if found := licence(package):
            component["licenses"] = found
        if files := hashes.get((name, package.version)):
            component["properties"] = [
                {"name": "cfl:sha256-of-a-file", "value": it} for it in files
            ]
        components[name] = component
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": components.pop(OWN)},
        "components": [components[name] for name in sorted(components)],
        "dependencies": [
            {"ref": refs[name], "dependsOn": sorted({*needs(package, refs)})}
            for name, package in sorted((normal(it.name), it) for it in packages)
        ],
    }


if __name__ == "__main__":
    here = [it for it in distributions() if normal(it.name) not in TOOLS]
    print(json.dumps(sbom(here, locked(Path(sys.argv[1]).read_text())), indent=1, sort_keys=True))
