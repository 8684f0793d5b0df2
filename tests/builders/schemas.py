"""Schemas that are right: the contract's example as text, and two columns for Python."""

EXAMPLE = """\
version: 1
missing: ["", "NA"]                    # cells that hold nothing; default [""]
columns:
  age:       {role: ordinary, type: numeric}
  housing:   {role: ordinary, type: binary, values: [no, yes]}      # text, never booleans
  region:    {role: ordinary, type: categorical}
  job:       {role: complementary, values: [clerk, nurse, teacher, farmer]}
  diagnosis: {role: complementary, values: [A, B, C, D], separator: ";", exact: "="}
  id:        {role: ignore}            # columns not listed are ignored too
settings: {k: 20, iterations: 100, gamma: 0.25, ridge: 0.3, seed: 0}
"""

GOOD = {
    "age": {"role": "ordinary", "type": "numeric"},
    "job": {"role": "complementary", "values": ["clerk", "nurse"]},
}
