"""Where axe-core is: CFL_AXE names its `axe.min.js`, or it is in a cache that this script fills.

`python tests/builders/axe.py` runs `npm pack`, once; no Node is needed afterwards.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "4.14.0"
NAMED = os.environ.get("CFL_AXE")  # before a test clears its environment
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cfl-tests"
FILE = "axe.min.js"


def place():
    path = Path(NAMED) if NAMED else CACHE / f"axe-core-{VERSION}" / FILE
    return path if path.is_file() else None


def fetch():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["npm", "pack", "--silent", f"axe-core@{VERSION}"],
            cwd=folder,
            check=True,
            timeout=120,
            stdout=subprocess.DEVNULL,
        )
        with tarfile.open(Path(folder) / f"axe-core-{VERSION}.tgz") as packed:
            text = packed.extractfile(f"package/{FILE}").read()
    target = CACHE / f"axe-core-{VERSION}" / FILE
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(f".{os.getpid()}")
    part.write_bytes(text)
    part.replace(target)


if __name__ == "__main__":
    if place() is None:
        fetch()
    print(place())
    sys.exit(place() is None)
