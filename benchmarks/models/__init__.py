"""Whether fitted models keep what they promise of new rows."""
