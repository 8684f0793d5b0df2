"""Whether what `cfl risk` says holds: each of its figures beside what a known truth shows."""
