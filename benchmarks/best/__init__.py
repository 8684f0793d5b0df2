"""Which method answers best on small real tables: `python -m benchmarks.best --help`."""
