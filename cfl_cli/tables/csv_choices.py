"""The words that say how a delimited text is written, without heavy imports."""

NONE = "none"  # no quote, no escape, no header
FILL, RETURNS, YES = "fill", "cr", "yes"
CHOICES = {"ragged": ("fail", FILL), "line_end": ("lf", RETURNS), "rename_columns": ("no", YES)}
