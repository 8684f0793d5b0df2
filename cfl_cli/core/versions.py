"""Which versions an answer was made with: those of Python and of what decides its digits."""

import platform
from importlib.metadata import PackageNotFoundError, version

DECIDING = ("numpy", "scipy", "osqp", "lightgbm", "polars", "pyarrow")


def versions() -> dict[str, str]:
    """Return the version of each by its name."""
    found = {"python": platform.python_version()}
    for package in DECIDING:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # put on the path by other means than an installer
            found[package] = "unknown"
    return found
