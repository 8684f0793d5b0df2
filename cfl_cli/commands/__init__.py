"""The slices: a folder per command, with its mathematics, its job, its page and its options.

A folder's `__init__` holds the command itself and loads quickly: `cfl --help` imports all of them.
A new command is a new folder here and an entry below, in the order of the first page.
"""

# By command, the folder that has it.
COMMANDS = {
    "init": "init",
    "check": "check",
    "impute": "impute",
    "report": "report",
    "tabulate": "tabulate",
    "suspects": "suspects",
    "fit": "apply",
    "apply": "apply",
    "explain": "explain",
    "tune": "tune",
    "mask": "evaluate",
    "evaluate": "evaluate",
    "audit": "audit",
    "risk": "risk",
    "schema": "init",
}
