"""What results depend on besides the table: machine, versions, and the source of `cfl`."""

import hashlib
import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT
from cfl_cli.core.parallel import available_cores

Facts = dict[str, Any]
PACKAGES = ("cfl-cli", "numpy", "scipy", "osqp", "polars", "lightgbm", "scikit-learn")


def machine() -> Facts:
    """Return what results depend on: results of different machines or code are never mixed."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": available_cores(),
        "processor": processor(),
        "memory_gb": round(memory / 1e9),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
        "sources": fingerprint(*sorted((ROOT / "cfl_cli").glob("**/*.py"))),
    }


def fingerprint(*files: Path) -> str:
    content = hashlib.sha256()
    for path in files:
        content.update(path.read_bytes())
    return content.hexdigest()[:12]


def processor() -> str:
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
