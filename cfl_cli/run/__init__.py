"""One file per job on a data frame."""
