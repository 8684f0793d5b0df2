"""The command line: options in; tables, messages and an exit code out."""
