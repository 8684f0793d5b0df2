"""Columns as people have them, and what a draft makes of them."""

import random

import polars as pl

from cfl_cli.commands.init.draft import draft_schema
from cfl_cli.schema.model import Schema

ROWS = 240
BRANDS = ["Adidas", "Asics", "Nike", "Puma", "Reebok"]


def some(values, *, rows=ROWS):
    return [*values, *random.Random(1).choices(values, k=rows - len(values))]


def lists(joint, values=BRANDS):
    draw = random.Random(2)
    return [joint.join(draw.sample(values, draw.randint(1, 3))) for _ in range(ROWS)]


class Drafted:
    def __init__(self, cells, *others, name="it", file=None):
        of = [str(number % 89 + 7) for number in range(len(cells))]
        table = {name: cells, "of": of, "cf": some(BRANDS, rows=len(cells))}
        table |= {f"other {number}": other for number, other in enumerate(others)}
        self.text = draft_schema(pl.DataFrame(table), cfs=["cf"], ignored=[], file=file)
        self.schema = Schema.parse(self.text)
        self.column = self.schema.columns[name]
        lines = self.text.splitlines()
        self.line = next(line for line in lines if line.startswith((f"  {name}:", f'  "{name}":')))
        self.is_marked = "# ?" in self.line
        self.missing = self.schema.missing_in(name)


def cf(cells):
    table = pl.DataFrame({"of": [str(n % 89 + 7) for n in range(len(cells))], "it": cells})
    text = draft_schema(table, cfs=["it"], ignored=[])
    line = next(line for line in text.splitlines() if line.startswith("  it:"))
    return Schema.parse(text).columns["it"], line
