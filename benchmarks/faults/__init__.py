"""Attacks on a run: signals and errors at chosen calls of the system, and damaged files."""
