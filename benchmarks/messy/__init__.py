"""Messy tables whose right schema is known, and what `cfl` makes of them."""
