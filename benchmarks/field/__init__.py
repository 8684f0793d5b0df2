"""Whether the report holds in the field: real tables, biased exclusions, copies, wrong cells."""
