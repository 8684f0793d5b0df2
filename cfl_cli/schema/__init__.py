"""YAML ↔ Schema: what the columns of a table mean."""
