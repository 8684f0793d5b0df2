"""Run `cfl` several times at once, each in a process forked when everything is imported.

    python side_by_side.py < LINES

A line is a list in JSON of the arguments of runs that start together. Prints a line for each: the
list of their exit codes.
"""

import json
import os
import sys

from faulty import Act, cfl


def start(act: Act, arguments: list[str]) -> int:
    """Start a run and return its process."""
    child = os.fork()
    if child == 0:
        try:
            act(arguments)
        except SystemExit as end:
            os._exit(int(end.code or 0))
        os._exit(1)
    return child


def main(act: Act) -> None:
    """Run what the lines say."""
    for line in sys.stdin:
        children = [start(act, arguments) for arguments in json.loads(line)]
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        print(json.dumps(codes), flush=True)


if __name__ == "__main__":
    main(cfl())
