"""How good the answers are, with and without the truth."""
