"""The slices: a folder per command, with its mathematics, its job, its page and its options.

A folder's `__init__` holds the command itself and loads quickly: `cfl --help` imports all of them.
A new command is a new folder here and an entry below.
"""

# The headings of the first page, in order; under each, the folder of every command.
GROUPS = {
    "First steps": {
        "init": "init",
        "check": "check",
        "impute": "impute",
        "report": "report",
        "run": "run",
    },
    "Models for new rows": {"fit": "apply", "apply": "apply"},
    "Preparing": {"gather": "gather"},
    "Counting": {"tabulate": "tabulate"},
    "Evaluating": {
        "explain": "explain",
        "suspects": "suspects",
        "audit": "audit",
        "evaluate": "evaluate",
    },
    "Experiments": {"tune": "tune", "mask": "evaluate"},
    "Other": {"risk": "risk", "schema": "init"},
}
COMMANDS = {name: folder for group in GROUPS.values() for name, folder in group.items()}
