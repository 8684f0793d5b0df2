"""Write a model again and again, with a system call that fails; see `faulty.py`.

python faulty_model.py FOLDER -- PATH
"""

import sys
from pathlib import Path

import faulty
import models

from cfl_cli.errors import CflError


def write(arguments: list[str]) -> None:
    try:
        models.content().write(Path(arguments[0]), overwrite=True)
    except CflError as error:
        print(error, file=sys.stderr, flush=True)
        sys.exit(error.exit_code)
    sys.exit(0)


if __name__ == "__main__":
    faulty.main(write)
