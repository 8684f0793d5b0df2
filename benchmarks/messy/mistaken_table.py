"""The table and schema that mistakes are made with, both right, and what a mistake is."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

VALUES = ("asthma", "cold", "covid", "flu")
SCHEMA = """\
version: 1
columns:
  id: {role: ignore}
  age: {role: ordinary, type: numeric}
  temp: {role: ordinary, type: numeric}
  region: {role: ordinary, type: categorical}
  smoker: {role: ordinary, type: binary, values: [no, yes]}
  diagnosis: {role: complementary, values: [asthma, cold, covid, flu], separator: ";"}
settings: {k: 5, iterations: 5}
"""


@dataclass(frozen=True)
class Mistake:
    """A mistake: a command in a folder with these files, and what should be said."""

    name: str
    command: str
    names: tuple[str, ...] = ()  # what the line must name: place, value
    suggests: tuple[str, ...] = ()  # one of these must stand in it: what to type
    codes: tuple[int, ...] = (1,)
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    before: tuple[str, ...] = ()  # commands that are run first
    text: bytes | None = None  # standard input
    understood: bool = False  # to do what was meant is as good as a line
    astray: tuple[str, ...] = ()  # what must not be said
    lines: int = 1
    kind: str = ""


def rows(**changed: Mapping[int, str]) -> list[list[str]]:
    """Return the cells of the table, with some changed: column → row → cell."""
    rng = random.Random(3)
    header = ["id", "age", "temp", "region", "smoker", "diagnosis"]
    table = [header]
    for number in range(1, 61):
        out = ";".join(sorted(rng.sample(VALUES, rng.choice([1, 1, 2]))))
        row = [
            str(number),
            str(rng.randint(18, 90)),
            f"{rng.gauss(37.5, 0.6):.1f}",
            rng.choice(["north", "south", "east"]),
            rng.choice(["yes", "no"]),
            out,
        ]
        for column, cells in changed.items():
            if number in cells:
                row[header.index(column)] = cells[number]
        table.append(row)
    return table


def csv(delimiter: str = ",", **changed: Mapping[int, str]) -> str:
    lines = []
    for row in rows(**changed):
        cells = [f'"{cell}"' if delimiter in cell or '"' in cell else cell for cell in row]
        lines.append(delimiter.join(cells))
    return "\n".join(lines) + "\n"


def schema(**changed: str) -> str:
    lines = []
    for line in SCHEMA.splitlines():
        name = line.strip().partition(":")[0]
        lines.append(f"  {name}: {changed[name]}" if name in changed else line)
    return "\n".join(lines) + "\n"


def cells(column: str, *, every: int = 1) -> dict[int, str]:
    table = rows()
    place = table[0].index(column)
    return {number: table[number][place] for number in range(1, 61, every)}


def lay_out(folder: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in {"people.csv": csv(), "people.yml": SCHEMA, **files}.items():
        data = content.encode() if isinstance(content, str) else content
        (folder / name).write_bytes(data)
