"""Bytes ↔ data frame, strictly and whole."""
