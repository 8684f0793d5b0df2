"""What was measured, kept in a file after every measurement, and what follows from it."""

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

Facts = dict[str, Any]

GROWN = 10_000  # rows; below this the time to start hides how the work grows


@dataclass
class Results:
    """Facts by the name of their measurement; one that was skipped holds only the reason."""

    path: Path
    machine: Facts
    measurements: dict[str, Facts] = field(default_factory=dict)

    @classmethod
    def resume(cls, path: Path, machine: Facts) -> "Results":
        """Return what the file holds, or raise if another machine or other code wrote it."""
        if not path.exists():
            return cls(path, machine)
        held = json.loads(path.read_text())
        changed = [key for key, value in machine.items() if held["machine"].get(key) != value]
        if changed:
            raise ValueError(
                f"{path} was measured with another {', '.join(changed)}: "
                "start again with --fresh, or choose another --out"
            )
        return cls(path, machine, held["measurements"])

    def save(self) -> None:
        """Write everything, whole or not at all."""
        facts = {
            "machine": self.machine,
            "measurements": self.measurements,
            "comparisons": [vars(each) for each in self.comparisons()],
        }
        draft = self.path.with_suffix(".part")
        draft.write_text(json.dumps(facts, indent=1) + "\n")
        draft.replace(self.path)

    def turns(self, name: str) -> float:
        """Return how often a measurement was taken; what was skipped needs no more turns."""
        facts = self.measurements.get(name, {"runs": []})
        return math.inf if "skipped" in facts else len(facts["runs"])

    def add(self, name: str, facts: Facts) -> None:
        """Keep one more turn of a measurement; the quickest one's facts count."""
        held = self.measurements.get(name)
        runs = [*(held["runs"] if held else []), facts.get("seconds")]
        best = held if held and held["seconds"] < facts["seconds"] else facts
        self.measurements[name] = best if "skipped" in best else best | {"runs": runs}
        self.save()

    def of(self, tool: str, table: str | None = None) -> list[Facts]:
        found = [
            facts
            for facts in self.measurements.values()
            if facts["tool"] == tool and table in (None, facts["table"]) and "skipped" not in facts
        ]
        return sorted(found, key=lambda facts: facts["rows"])

    def foresee(self, tool: str, rows: int, what: str) -> float | None:
        """Return a tool's seconds or memory by a line through two tables it was run on, log-log.

        They are the longest, and the longest of at most half its rows: nearer ones say little.
        """
        known = {facts["rows"]: facts[what] for facts in self.of(tool)}
        many = max(known, default=0)
        few = max((each for each in known if each <= many / 2), default=0)
        if not few:
            return None
        less, more = known[few], known[many]
        return float(more * (rows / many) ** exponent(few, less, many, more))

    def comparisons(self) -> "list[Comparison]":
        """Return every ratio and exponent that the measurements allow."""
        return [*self._by_tree(), *self._by_plain(), *self._by_slsqp(), *self._growth()]

    def _by_tree(self) -> "list[Comparison]":
        """Compare turn by turn, since a busy machine slows what runs at the same time."""
        wanted = {"bank": "≤ 12", "adult": "≤ 24"}
        return [
            Comparison(
                f"`cfl` against one k-d tree query, {tree['table']}, {tree['rows']:,} rows",
                median(one / other for one, other in zip(ours["runs"], tree["runs"], strict=False)),
                wanted.get(tree["table"], ""),
            )
            for tree in self.of("tree")
            for ours in self.of("cfl", tree["table"])
            if ours["rows"] == tree["rows"]
        ]

    def _by_plain(self) -> "list[Comparison]":
        """Compare with the whole command, and with its rounds alone, as the recipe is timed."""
        found = []
        for plain in self.of("plain"):
            for ours in self.of("cfl", plain["table"]):
                if ours["rows"] != plain["rows"]:
                    continue
                place = f"{plain['table']}, {plain['rows']:,} rows"
                wanted = "≥ 60" if (plain["table"], plain["rows"]) == ("bank", 2000) else ""
                for what, seconds in (
                    ("`cfl`", ours["seconds"]),
                    ("`cfl` once started", rounds(ours)),
                ):
                    name = f"the plain recipe against {what}, {place}"
                    found.append(Comparison(name, plain["seconds"] / seconds, wanted))
        return found

    def _by_slsqp(self) -> "list[Comparison]":
        found = []
        for facts in self.of("weights"):
            per_row = facts["per_row"]
            place = f"weights on one core, {facts['table']}, {facts['rows']:,} rows"
            for solver, wanted in (("SLSQP", "≥ 100"), ("SLSQP, gradient given", "")):
                ratio = per_row[solver] / per_row["cfl, one thread"]
                found.append(Comparison(f"{solver} against `cfl`, {place}", ratio, wanted))
        return found

    def _growth(self) -> "list[Comparison]":
        found = []
        for table in ("bank", "generated"):
            long = [facts for facts in self.of("cfl", table) if facts["rows"] >= GROWN]
            if len(long) > 1:
                few, many = long[0], long[-1]
                power = exponent(few["rows"], few["seconds"], many["rows"], many["seconds"])
                name = f"growth exponent of `cfl`, {table}, {few['rows']:,} → {many['rows']:,} rows"
                found.append(Comparison(name, power, ""))
        return found


@dataclass(frozen=True)
class Comparison:
    """One number that follows from others, and what the project wants of it."""

    name: str
    value: float
    wanted: str


def rounds(facts: Facts) -> float:
    """Return the seconds of both rounds, without starting, reading, reporting and writing."""
    stages = facts["stages"].items()
    return float(sum(seconds for stage, seconds in stages if stage.startswith("round ")))


def exponent(few: int, less: float, many: int, more: float) -> float:
    """Return a, where the cost grows as rows to the power of a."""
    return math.log(more / less) / math.log(many / few)
