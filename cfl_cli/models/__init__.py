"""What was fitted ↔ one safe file: arrays and JSON, checked before use; nothing in it is run."""
