"""One file per command; each holds a function of the command's name, and an example.

A new command is a new file here and its name in the list below, in the order of the first page.
"""

COMMANDS = (
    "init",
    "check",
    "impute",
    "report",
    "suspects",
    "fit",
    "apply",
    "explain",
    "tune",
    "mask",
    "evaluate",
    "audit",
    "risk",
    "schema",
)
